// What happened over time, run by run: moved and zoomed along time, walked by keyboard.
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { TimelineSpan } from "@sconce/types/inspector.js";
import { selectEvent } from "../actions.js";
import { eventName, familyOfEvent, tickOf } from "../profile.js";
import { app, type Profile } from "../state.js";
import { Canvas, type Pen } from "../ui/Canvas.js";
import {
  boxOfSpan,
  drawFlame,
  FLAME_WIDTH,
  planFlame,
  runsOf,
  spanAt,
  viewOfRun,
  walkFlame,
  type FlamePlan,
  type FlameRun,
} from "../ui/flame.js";
import { plural } from "../ui/format.js";
import { inkOf, type Ink } from "../ui/ink.js";
import { reveal, type Room, type View } from "../ui/viewport.js";
import { formatTime, tellTimes, type Tell } from "./times.js";

const ARROWS = /^Arrow(Left|Right|Up|Down)$/;

function matching(plan: FlamePlan): ReadonlySet<number> | null {
  const words = app.search.value.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return null;
  const found = new Set<number>();
  plan.spans.forEach(({ name, ops, backend }, i) => {
    const text = `${name} ${ops.join(" ")} ${backend ?? ""}`.toLowerCase();
    if (words.every((word) => text.includes(word))) found.add(i);
  });
  return found;
}

/** Loading is no run: "run 3 of 10" counts those of methods. */
function runName(runs: readonly FlameRun[], at: number, { blocks }: Profile): string {
  const isRun = ({ block }: FlameRun): boolean => blocks[block]!.name === "Execute";
  const found = runs[at];
  if (!found || !isRun(found)) return "loading";
  const count = runs.filter(isRun).length;
  return `run ${runs.slice(0, at + 1).filter(isRun).length} of ${count}`;
}

function wordsOf(span: TimelineSpan | undefined, run: string, tell: Tell): string {
  if (!span) return "";
  const { ops, backend, duration } = span;
  const name = eventName(span);
  const words = [name, ops.join(", "), backend === name ? "" : backend, tell(duration), run];
  return words.filter(Boolean).join(" · ");
}

/** Goes from run to run, or shows all of them. */
function Runs(props: { name: string; go: (by: -1 | 0 | 1) => void }): JSX.Element {
  return (
    <div class="flame-runs" role="group" aria-label="Runs">
      <button type="button" class="icon" aria-label="The run before" onClick={() => props.go(-1)}>
        ‹
      </button>
      <span class="num">{props.name}</span>
      <button type="button" class="icon" aria-label="The run after" onClick={() => props.go(1)}>
        ›
      </button>
      <button type="button" class="quiet" onClick={() => props.go(0)}>
        All
      </button>
    </div>
  );
}

export function Flame(props: { shown: Profile }): JSX.Element {
  const { shown } = props;
  const { timeline } = shown;
  const plan = useMemo(() => planFlame(timeline, shown.blocks), [timeline]);
  const runs = useMemo(() => runsOf(plan), [plan]);
  const tell = tellTimes(timeline.scale, tickOf(timeline));
  // Between runs nothing happens: the last one, which is warm, says more than all of them at once.
  const [run, setRun] = useState(runs.length - 1);
  const pen = useRef<Pen | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const [hovered, setHovered] = useState(-1);
  const [selected, setSelected] = useState(-1);
  const [ink, setInk] = useState<{ ink: Ink; mono: string } | null>(null);
  const matched = useMemo(() => matching(plan), [plan, app.search.value]);

  useEffect(() => {
    const style = getComputedStyle(box.current!);
    setInk({ ink: inkOf(box.current!), mono: style.getPropertyValue("--mono") });
  }, [app.isDark.value]);

  // What is selected elsewhere, such as in the table, is shown in its first run.
  const at = app.event.value;
  useEffect(() => {
    const isIt = (span: TimelineSpan | undefined): boolean =>
      at !== null && span?.block === at.block && span.event === at.event;
    if (!isIt(plan.spans[selected])) setSelected(plan.spans.findIndex(isIt));
  }, [at, plan]);

  const pick = (index: number): void => {
    const span = plan.spans[index];
    setSelected(index);
    if (span) selectEvent(span.block, span.event);
    else app.event.value = null;
  };
  const width = pen.current?.room.width || 400;
  const limits = {
    width: FLAME_WIDTH,
    height: plan.height,
    minScale: width / FLAME_WIDTH,
    maxScale: 1e5,
    isFlat: true,
  };
  const said = plan.spans[hovered] ?? plan.spans[selected];
  const runOf = (span: TimelineSpan): string =>
    runName(
      runs,
      runs.findIndex((one) => one.run === span.run),
      shown,
    );
  const start = (room: Room): View => {
    const first = runs[run];
    return first
      ? viewOfRun(plan, first, room)
      : { left: 0, top: 0, scaleX: room.width / FLAME_WIDTH, scaleY: 1 };
  };
  const go = (by: -1 | 0 | 1): void => {
    const now = pen.current;
    if (!now) return;
    const next = by === 0 ? -1 : Math.max(0, Math.min(runs.length - 1, run + by));
    const chosen = runs[next];
    setRun(next);
    now.show(
      chosen
        ? viewOfRun(plan, chosen, now.room)
        : { left: 0, top: 0, scaleX: now.room.width / FLAME_WIDTH, scaleY: 1 },
    );
  };
  if (plan.spans.length === 0)
    return (
      <p class="waiting">No event of this dump has a place in time. The table has them all.</p>
    );
  return (
    <div class="flame" ref={box} style={{ "--flame": `${Math.max(96, plan.height + 8)}px` }}>
      <Canvas
        pen={pen}
        label="Flame chart: arrows walk from event to event, plus and minus zoom"
        describedBy="flame-status"
        limits={limits}
        drawing={String(shown.id)}
        start={start}
        marks={[plan, hovered, selected, matched, ink, run]}
        data={{ "data-spans": String(plan.spans.length), "data-selected": String(selected) }}
        draw={(g, { view, room }) => {
          if (!ink) return;
          const look = {
            plan,
            selected,
            hovered,
            matched,
            family: (span: TimelineSpan) => familyOfEvent(span),
            name: eventName,
            origin: runs[run]?.start ?? 0,
            unit: (time: number) => formatTime(time, timeline.scale),
            ...ink,
          };
          drawFlame(g, look, view, room);
        }}
        onPoint={(x, y, { view }) => setHovered(spanAt(plan, x, y, 2 / view.scaleX))}
        onLeave={() => setHovered(-1)}
        onPick={(x, y, { view }) => pick(spanAt(plan, x, y, 2 / view.scaleX))}
        onDouble={(x, y, now) => {
          const index = spanAt(plan, x, y, 2 / now.view.scaleX);
          if (index < 0) return;
          const target = boxOfSpan(plan, index);
          const scaleX = (0.9 * now.room.width) / Math.max(target.w, 1e-6);
          const left = target.x - 0.05 * (now.room.width / scaleX);
          now.show({ ...now.view, scaleX, left });
        }}
        onKey={(event, now) => {
          if (!ARROWS.test(event.key)) return false;
          const next = walkFlame(plan, selected, event.key);
          if (next < 0) return true;
          pick(next);
          now.show(reveal(now.view, boxOfSpan(plan, next), now.room));
          return true;
        }}
      />
      <div class="flame-foot">
        <p id="flame-status" class="mono" role="status">
          {(said && wordsOf(said, runOf(said), tell)) || (
            <span class="soft">
              {plural(plan.spans.length, "event")} in all runs. Turn the wheel to zoom, drag to
              move, double click to fill the width.
              {timeline.unplaced > 0
                ? ` ${plural(timeline.unplaced, "event")} with a length and no place are in the table.`
                : ""}
            </span>
          )}
        </p>
        {runs.length > 1 ? (
          <Runs name={run < 0 ? "all runs" : runName(runs, run, shown)} go={go} />
        ) : null}
      </div>
    </div>
  );
}
