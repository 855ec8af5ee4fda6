// A memory plan as a picture: pointed at, clicked, and walked by keyboard.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { app } from "../state.js";
import { FAMILY_LABELS } from "../ui/families.js";
import { formatBytes } from "../ui/format.js";
import { drawPlan, frameOf, itemAt, type Ink, type Plot, type Slot } from "../ui/memory.js";
import { Swatch, type Hue } from "../ui/parts.js";

interface PictureProps<T extends Slot> {
  plot: Plot<T>;
  hueOf: (item: T) => Hue;
  selected: T | undefined;
  onSelect: (item: T | undefined) => void;
  /** An item in words. */
  tell: (item: T) => ComponentChildren;
  /** Changes with what hues are known. */
  known: unknown;
}

function inkOf<T extends Slot>(element: Element, hueOf: (item: T) => Hue): Ink<T> {
  const style = getComputedStyle(element);
  const color = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  const fills = new Map<string, string>();
  return {
    text: color("ink"),
    soft: color("ink-soft"),
    line: color("line"),
    accent: color("accent"),
    paper: color("paper"),
    fill: (item) => {
      const hue = hueOf(item);
      if (!fills.has(hue)) fills.set(hue, color(`family-${hue}`));
      return fills.get(hue)!;
    },
  };
}

const LABELS: Record<Hue, string> = {
  ...FAMILY_LABELS,
  delegate: "delegates",
  input: "inputs and state",
};
const LEGEND = Object.entries(LABELS) as [Hue, string][];

function Legend(props: { present: ReadonlySet<Hue> }): JSX.Element {
  return (
    <ul class="legend soft">
      {LEGEND.filter(([hue]) => props.present.has(hue)).map(([hue, label]) => (
        <li key={hue}>
          <Swatch family={hue} />
          {label}
        </li>
      ))}
      <li>
        <span class="swatch is-line" aria-hidden="true" />
        bytes in use at that moment
      </li>
    </ul>
  );
}

/** The size of an element, as a text that changes with it. */
function useSize(element: { current: Element | null }): string {
  const [size, setSize] = useState("");
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) =>
      setSize(`${entry!.contentRect.width}x${entry!.contentRect.height}`),
    );
    observer.observe(element.current!);
    return () => observer.disconnect();
  }, []);
  return size;
}

const STEPS: Readonly<Record<string, number>> = {
  ArrowLeft: -1,
  ArrowUp: -1,
  ArrowRight: 1,
  ArrowDown: 1,
};

/** In the order of time, and of addresses at the same moment. */
function neighbour<T extends Slot>(items: readonly T[], at: T | undefined, by: number): T {
  const sorted = [...items].sort((a, b) => a.first - b.first || a.offset - b.offset);
  if (!at) return sorted[by > 0 ? 0 : sorted.length - 1]!;
  const next = sorted.findIndex((item) => item === at) + by;
  return sorted[Math.max(0, Math.min(sorted.length - 1, next))]!;
}

export function PlanPicture<T extends Slot>(props: PictureProps<T>): JSX.Element {
  const { plot, hueOf } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const [hovered, setHovered] = useState<T | undefined>();
  // Some have nothing to be selected by elsewhere.
  const [picked, setPicked] = useState<T | undefined>();
  const selected = props.selected ?? picked;
  const size = useSize(canvas);
  const shown = hovered ?? selected;
  useEffect(() => {
    setHovered(undefined);
    setPicked(undefined);
  }, [plot]);
  useEffect(() => {
    const ink = inkOf(canvas.current!, hueOf);
    drawPlan(canvas.current!, plot, ink, hovered, selected, formatBytes);
  }, [plot, hovered, selected, size, app.isDark.value, props.known]);

  const select = (item: T | undefined): void => {
    setPicked(item);
    props.onSelect(item);
  };
  const itemUnder = (event: MouseEvent): T | undefined => {
    const { clientWidth, clientHeight } = canvas.current!;
    const frame = frameOf(plot, clientWidth, clientHeight);
    return itemAt(plot, frame, event.offsetX, event.offsetY);
  };
  return (
    <>
      <figure class="memory">
        <canvas
          ref={canvas}
          role="application"
          tabIndex={0}
          aria-label={`Memory plan of ${formatBytes(plot.bytes)}: arrow keys go from value to value`}
          aria-describedby="memory-status"
          data-values={plot.items.length}
          onPointerMove={(event) => setHovered(itemUnder(event))}
          onPointerLeave={() => setHovered(undefined)}
          onClick={(event) => select(itemUnder(event))}
          onKeyDown={(event) => {
            if (event.key === "Escape") setPicked(undefined);
            const by = STEPS[event.key];
            if (by === undefined) return;
            event.preventDefault();
            setHovered(undefined);
            select(neighbour(plot.items, selected, by));
          }}
        />
        <figcaption>
          <p id="memory-status" role="status">
            {shown ? (
              <span class="mono">{props.tell(shown)}</span>
            ) : (
              <span class="soft">
                Each rectangle is a value: from left to right the time it is alive, from bottom to
                top its place. Point at one to see which.
              </span>
            )}
          </p>
        </figcaption>
      </figure>
      <Legend present={new Set(plot.items.map(hueOf))} />
    </>
  );
}
