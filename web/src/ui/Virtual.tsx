// A long list of which only the rows in sight exist. Rows have one height; the container scrolls.
import type { ComponentChildren, JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

interface VirtualProps {
  count: number;
  /** In CSS pixels, where text has its usual size. */
  rowHeight: number;
  /** Row to keep in sight when it changes; -1 for none. */
  active: number;
  render(index: number): ComponentChildren;
  class?: string;
  header?: ComponentChildren;
  label: string;
  role?: "table" | "list";
  /** Moves the active row by keyboard. */
  onMove?(index: number): void;
}

const OVERSCAN = 8;

function moveTo(key: string, active: number, count: number, page: number): number | undefined {
  const moves: Record<string, number> = {
    ArrowDown: active + 1,
    ArrowUp: active - 1,
    PageDown: active + page,
    PageUp: active - page,
    Home: 0,
    End: count - 1,
  };
  const next = moves[key];
  return next === undefined ? undefined : Math.max(0, Math.min(count - 1, next));
}

/** Rows grow with the text that people set. */
function textScale(): number {
  return parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
}

export function Virtual(props: VirtualProps): JSX.Element {
  const { count, active, render, header } = props;
  const rowHeight = props.rowHeight * textScale();
  const box = useRef<HTMLDivElement>(null);
  const [sight, setSight] = useState({ top: 0, height: 600 });

  useLayoutEffect(() => {
    const element = box.current!;
    const measure = (): void => setSight({ top: element.scrollTop, height: element.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, []);

  useLayoutEffect(() => {
    const element = box.current!;
    if (active < 0) return;
    const room = element.clientHeight - (header ? rowHeight : 0);
    const above = active * rowHeight - element.scrollTop;
    if (above >= 0 && above + 1.5 * rowHeight <= room) return;
    // One step beyond the edge scrolls by that step; a jump from afar lands in the middle.
    const isNear = above > -2 * rowHeight && above < room + rowHeight;
    const target = !isNear ? room / 2 : above < 0 ? 0 : room - 1.5 * rowHeight;
    element.scrollTop = active * rowHeight - target;
  }, [active]);

  const first = Math.max(0, Math.floor(sight.top / rowHeight) - OVERSCAN);
  const last = Math.min(count, Math.ceil((sight.top + sight.height) / rowHeight) + OVERSCAN);
  const page = Math.max(1, Math.floor(sight.height / rowHeight) - 2);
  const onKeyDown = (event: KeyboardEvent): void => {
    const next = moveTo(event.key, active, count, page);
    if (next === undefined || !props.onMove || count === 0) return;
    event.preventDefault();
    props.onMove(next);
  };
  return (
    <div
      class={`virtual ${props.class ?? ""}`}
      ref={box}
      tabIndex={0}
      role={props.role ?? "list"}
      aria-label={props.label}
      aria-rowcount={props.role === "table" ? count + 1 : undefined}
      onKeyDown={onKeyDown}
      onScroll={(event) =>
        setSight({ top: event.currentTarget.scrollTop, height: event.currentTarget.clientHeight })
      }
    >
      {header}
      <div class="virtual-space" role="presentation" style={{ height: `${count * rowHeight}px` }}>
        <div
          class="virtual-rows"
          role="presentation"
          style={{ transform: `translateY(${first * rowHeight}px)` }}
        >
          {Array.from({ length: Math.max(0, last - first) }, (_, i) => render(first + i))}
        </div>
      </div>
    </div>
  );
}
