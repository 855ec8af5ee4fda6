// A canvas that can be moved and zoomed: it draws when something has changed, at most once a frame.
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { panBy, within, zoomAt, type Limits, type Room, type View } from "./viewport.js";

/** The canvas in its owner's hands. */
export interface Pen {
  view: View;
  room: Room;
  /** Moves to another view, as near as the limits allow. */
  show(view: View): void;
  redraw(): void;
}

interface CanvasProps {
  label: string;
  class?: string;
  limits: Limits;
  /** Changes when something else is drawn: then the view begins at `start`. */
  drawing: string;
  start(room: Room): View;
  draw(g: CanvasRenderingContext2D, pen: Pen): void;
  /** Anything that the drawing shows beyond the view. */
  marks: readonly unknown[];
  pen: { current: Pen | null };
  describedBy?: string;
  data?: Record<string, string>;
  onPoint?(x: number, y: number, pen: Pen): void;
  onLeave?(): void;
  onPick?(x: number, y: number, pen: Pen, event: PointerEvent): void;
  onDouble?(x: number, y: number, pen: Pen, event: MouseEvent): void;
  onKey?(event: KeyboardEvent, pen: Pen): boolean;
}

/** Further than this, in pixels, a press is a drag. */
const SLACK = 4;
const STEP = 1.25;

interface Press {
  x: number;
  y: number;
  isDrag: boolean;
}

/** Turns of a wheel and of a track pad in pixels. */
function wheelOf(event: WheelEvent): { dx: number; dy: number } {
  const unit = event.deltaMode === 0 ? 1 : event.deltaMode === 1 ? 16 : 400;
  return { dx: event.deltaX * unit, dy: event.deltaY * unit };
}

function paintLater(paint: () => void): { ask(): void; stop(): void } {
  let frame = 0;
  return {
    ask() {
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        paint();
      });
    },
    stop: () => cancelAnimationFrame(frame),
  };
}

/** Fits the canvas' pixels to the screen's, so that lines are sharp. */
function sharpen(canvas: HTMLCanvasElement, { width, height }: Room): CanvasRenderingContext2D {
  const ratio = devicePixelRatio || 1;
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== h) Object.assign(canvas, { width: w, height: h });
  const g = canvas.getContext("2d")!;
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  return g;
}

const KEYS: Record<string, number> = { "+": STEP, "=": STEP, "-": 1 / STEP, _: 1 / STEP };

function zoomKey(event: KeyboardEvent, pen: Pen, props: CanvasProps): boolean {
  const { room, view } = pen;
  if (event.key === "0") pen.show(props.start(room));
  const factor = KEYS[event.key];
  if (factor) pen.show(zoomAt(view, factor, room.width / 2, room.height / 2, props.limits));
  return event.key === "0" || factor !== undefined;
}

export function Canvas(props: CanvasProps): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const latest = useRef(props);
  latest.current = props;
  const painter = useRef<ReturnType<typeof paintLater> | null>(null);
  const pointers = useRef(new Map<number, { x: number; y: number }>());
  const press = useRef<Press | null>(null);

  if (!props.pen.current) {
    const pen: Pen = {
      view: { left: 0, top: 0, scaleX: 1, scaleY: 1 },
      room: { width: 0, height: 0 },
      show(view) {
        pen.view = within(view, latest.current.limits, pen.room);
        pen.redraw();
      },
      redraw: () => painter.current?.ask(),
    };
    props.pen.current = pen;
  }
  const pen = props.pen.current;
  const shown = useRef("");

  const begin = (): void => {
    if (pen.room.width === 0 || shown.current === latest.current.drawing) return;
    shown.current = latest.current.drawing;
    pen.show(latest.current.start(pen.room));
  };

  useLayoutEffect(() => {
    const element = canvas.current!;
    painter.current = paintLater(() => {
      if (pen.room.width > 0) latest.current.draw(sharpen(element, pen.room), pen);
    });
    const measure = (): void => {
      pen.room = { width: element.clientWidth, height: element.clientHeight };
      begin();
      pen.show(pen.view);
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    const onWheel = (event: WheelEvent): void => {
      event.preventDefault();
      const { dx, dy } = wheelOf(event);
      const { limits } = latest.current;
      const isZoom = event.ctrlKey || event.metaKey || (limits.isFlat === true && !event.shiftKey);
      if (isZoom && Math.abs(dy) >= Math.abs(dx)) {
        const factor = Math.exp(-dy * (event.ctrlKey ? 0.01 : 0.002));
        pen.show(zoomAt(pen.view, factor, event.offsetX, event.offsetY, limits));
      } else pen.show(panBy(pen.view, -dx, -dy));
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => {
      observer.disconnect();
      painter.current?.stop();
      element.removeEventListener("wheel", onWheel);
    };
  }, []);

  useLayoutEffect(begin, [props.drawing]);
  useEffect(() => pen.redraw(), [...props.marks, props.drawing]);

  const place = (x: number, y: number): [number, number] => [
    pen.view.left + x / pen.view.scaleX,
    pen.view.top + y / pen.view.scaleY,
  ];

  /** Two fingers move and spread. */
  const pinch = (event: PointerEvent): void => {
    const [a, b] = [...pointers.current.values()];
    const [wasX, wasY] = [(a!.x + b!.x) / 2, (a!.y + b!.y) / 2];
    const was = Math.hypot(a!.x - b!.x, a!.y - b!.y);
    pointers.current.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    const [c, d] = [...pointers.current.values()];
    const [x, y] = [(c!.x + d!.x) / 2, (c!.y + d!.y) / 2];
    const now = Math.hypot(c!.x - d!.x, c!.y - d!.y);
    const moved = panBy(pen.view, x - wasX, y - wasY);
    pen.show(zoomAt(moved, was > 0 ? now / was : 1, x, y, props.limits));
  };

  const onMove = (event: PointerEvent): void => {
    const { offsetX: x, offsetY: y } = event;
    if (pointers.current.size === 2 && pointers.current.has(event.pointerId)) return pinch(event);
    const down = press.current;
    if (!down) return props.onPoint?.(...place(x, y), pen);
    if (!down.isDrag && Math.hypot(x - down.x, y - down.y) < SLACK) return;
    down.isDrag = true;
    pen.show(panBy(pen.view, x - down.x, y - down.y));
    Object.assign(down, { x, y });
  };

  return (
    <canvas
      ref={canvas}
      class={`canvas ${props.class ?? ""}`}
      tabIndex={0}
      role="application"
      aria-label={props.label}
      aria-describedby={props.describedBy}
      {...props.data}
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        canvas.current!.setPointerCapture(event.pointerId);
        pointers.current.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
        press.current = { x: event.offsetX, y: event.offsetY, isDrag: false };
      }}
      onPointerMove={onMove}
      onPointerUp={(event) => {
        pointers.current.delete(event.pointerId);
        const down = press.current;
        press.current = null;
        if (down && !down.isDrag && event.button === 0)
          props.onPick?.(...place(event.offsetX, event.offsetY), pen, event);
      }}
      onPointerCancel={(event) => {
        pointers.current.delete(event.pointerId);
        press.current = null;
      }}
      onPointerLeave={() => props.onLeave?.()}
      onDblClick={(event) => props.onDouble?.(...place(event.offsetX, event.offsetY), pen, event)}
      onKeyDown={(event) => {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        if (!props.onKey?.(event, pen) && !zoomKey(event, pen, props)) return;
        event.preventDefault();
        event.stopPropagation();
      }}
    />
  );
}
