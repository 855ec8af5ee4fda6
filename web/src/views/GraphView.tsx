// The graph of a version: folded by module, opened on demand, walked along its lines.
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { closeBox, followNode, foldGraph, openBox, selectBox, showMatch } from "../actions.js";
import { parts, partOf } from "../delegates.js";
import { selectedRow } from "../derived.js";
import {
  graphKey,
  litEdges,
  matchedBoxes,
  matches,
  nodeCount,
  scene,
  selectedBox,
} from "../graph.js";
import type { Scene, SceneBox } from "../graph/model.js";
import { badness, gapsOfNodes } from "../profile.js";
import { app } from "../state.js";
import { Canvas, type Pen } from "../ui/Canvas.js";
import { FAMILY_LABELS, familyOf } from "../ui/families.js";
import { formatCount, formatSnr, plural } from "../ui/format.js";
import { drawGraph, drawMap, mapFrame, type Look, type Mark } from "../ui/graph.js";
import { inkOf, type Ink } from "../ui/ink.js";
import { Swatch } from "../ui/parts.js";
import { closeUp, fit, holds, reveal, type Limits, type Room, type View } from "../ui/viewport.js";
import { SearchBox } from "./SearchBox.js";
import { Waiting } from "./Waiting.js";

const READABLE = 0.8;

/** How far nodes are from their reference, at their boxes; a group has the worst of its own. */
function gapMarks(shown: Scene): ReadonlyMap<number, Mark> {
  const marks = new Map<number, Mark & { snr: number }>();
  for (const [name, found] of gapsOfNodes.value) {
    const at = shown.boxOf.get(`n:${name}`);
    const before = at === undefined ? undefined : marks.get(at);
    if (at === undefined || (before && before.snr <= found.snr)) continue;
    // A correct result needs no words.
    const text = found.snr === Infinity ? "=" : formatSnr(found.snr);
    marks.set(at, { text, level: badness(found), snr: found.snr });
  }
  return marks;
}

/** The innermost box under a point; those of open groups count where nothing in them does. */
function boxUnder({ boxes }: Scene, x: number, y: number): number {
  return boxes.findLastIndex((box) => holds(box, x, y));
}

const WAYS: Readonly<Record<string, readonly [dx: number, dy: number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** The nearest box in a direction, in the same group where there is one. */
function inDirection({ boxes }: Scene, at: number, [ux, uy]: readonly [number, number]): number {
  const from = boxes[at]!;
  let [best, least] = [-1, Infinity];
  boxes.forEach((box, i) => {
    if (i === at || box.isOpen) return;
    const dx = box.x + box.w / 2 - from.x - from.w / 2;
    const dy = box.y + box.h / 2 - from.y - from.h / 2;
    const [along, across] = [ux * dx + uy * dy, Math.abs(uy * dx) + Math.abs(ux * dy)];
    if (along <= 0 || (ux !== 0 && across > from.h)) return;
    const distance = along + 2 * across + (box.parent === from.parent ? 0 : 200);
    if (distance < least) [best, least] = [i, distance];
  });
  return best;
}

/** The box that an arrow key leads to: along lines up and down, else a neighbour on the screen. */
function next(shown: Scene, at: number, key: string): number {
  if (at < 0) return shown.boxes.findIndex((box) => !box.isOpen);
  const { inputs, users } = litEdges.value;
  const along =
    key === "ArrowUp" ? inputs[0]?.from : key === "ArrowDown" ? users[0]?.to : undefined;
  return along ?? inDirection(shown, at, WAYS[key]!);
}

function hueOf(box: SceneBox): string {
  const at = box.part;
  const row = box.kind === "node" ? partOf(box) : undefined;
  const part = row ?? (at >= 0 && box.kind === "part" ? parts.value[at] : undefined);
  return part ? /--([\w-]+)/.exec(part.hue["--hue"])![1]! : "";
}

function wordsOf(shown: Scene, at: number): string {
  const box = shown.boxes[at];
  if (!box) return "";
  const [inputs, users] = [
    shown.edges.filter(({ to }) => to === at).length,
    shown.edges.filter(({ from }) => from === at).length,
  ];
  const around = `${plural(inputs, "line")} in, ${formatCount(users)} out`;
  if (box.kind === "node") return [box.name, box.op, box.type, around].filter(Boolean).join(" · ");
  if (box.kind === "input" || box.kind === "output")
    return [`${box.kind} ${box.name}`, box.type, around].filter(Boolean).join(" · ");
  const stack = box.kind === "stack" ? `${plural(box.count, "block")} alike` : "";
  const how = `Enter ${box.isOpen ? "closes" : "opens"} it`;
  return [box.label, box.sub, stack, how].filter(Boolean).join(" · ");
}

function Legend(props: { scene: Scene }): JSX.Element {
  const present = new Set<string>();
  for (const { kind, op, ops } of props.scene.boxes) {
    if (kind === "node") present.add(familyOf(op));
    for (const [each] of ops) present.add(familyOf(each));
  }
  const all = Object.entries(FAMILY_LABELS) as [keyof typeof FAMILY_LABELS, string][];
  return (
    <ul class="legend soft">
      {all
        .filter(([family]) => present.has(family))
        .map(([family, label]) => (
          <li key={family}>
            <Swatch family={family} />
            {label}
          </li>
        ))}
    </ul>
  );
}

function Tools(props: { pen: { current: Pen | null }; start: () => void }): JSX.Element {
  return (
    <div class="graph-tools" role="group" aria-label="Graph">
      <button type="button" class="quiet" onClick={() => foldGraph(true)}>
        Fold all
      </button>
      <button type="button" class="quiet" onClick={() => foldGraph(false)}>
        Reset view
      </button>
      <button type="button" class="quiet" onClick={props.start} title="Fit (0)">
        Fit
      </button>
    </div>
  );
}

const ENTER: Record<string, true> = { Enter: true, " ": true };
const FOLLOW: Record<string, -1 | 1> = { "<": -1, ">": 1, ",": -1, ".": 1 };

function Picture(props: { scene: Scene; marks: ReadonlyMap<number, Mark> }): JSX.Element {
  const { scene: shown, marks } = props;
  const pen = useRef<Pen | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const [hovered, setHovered] = useState(-1);
  const [ink, setInk] = useState<{ ink: Ink; mono: string } | null>(null);
  const selected = selectedBox.value;
  const matched = app.search.value.trim() ? matchedBoxes.value : null;

  useEffect(() => {
    const style = getComputedStyle(box.current!);
    setInk({ ink: inkOf(box.current!), mono: style.getPropertyValue("--mono") });
  }, [app.isDark.value]);

  const limits: Limits = {
    width: shown.width,
    height: shown.height,
    minScale: 0.02,
    maxScale: 2.5,
  };

  const start = (room: Room): View => {
    const first = shown.boxes.find(({ kind }) => kind === "input") ?? shown.boxes[0];
    return fit(limits, room, READABLE, first ? first.x + first.w / 2 : 0);
  };

  /** The box picked by the pointer stays under it, for the second click of two. */
  const picked = useRef("");
  // The selected box stays at its place when groups around it open, and else comes into sight.
  const was = useRef<{ scene: Scene; id: string; x: number; y: number } | null>(null);
  useEffect(() => {
    const [chosen, now] = [shown.boxes[selected], pen.current];
    if (!now || !chosen) return;
    const before = was.current;
    let { view } = now;
    if (before && before.scene !== shown && before.id === chosen.id)
      view = {
        ...view,
        left: view.left + chosen.x - before.x,
        top: view.top + chosen.y - before.y,
      };
    was.current = { scene: shown, id: chosen.id, x: chosen.x, y: chosen.y };
    // A user who looks for a node, or comes to it from elsewhere, wants to read it.
    if (app.search.value.trim() || !before) view = closeUp(view, chosen, now.room, READABLE);
    const isPicked = picked.current === chosen.id;
    now.show(isPicked || (chosen.isOpen && before) ? view : reveal(view, chosen, now.room));
  }, [selected, shown]);

  const look = useMemo(
    (): Omit<Look, "ink" | "mono"> => ({
      scene: shown,
      selected,
      hovered,
      ...litEdges.value,
      matched,
      marks,
      family: familyOf,
      hue: hueOf,
    }),
    [shown, selected, hovered, matched, marks, litEdges.value, parts.value],
  );

  const turn = (at: number): void => {
    const target = shown.boxes[at];
    if (!target || target.nodes === 0 || target.kind === "node") return;
    selectBox(at);
    if (target.isOpen) closeBox(target.id);
    else openBox(target.id);
  };
  const follow = (by: -1 | 1): void => {
    if (selectedRow.value) void followNode(selectedRow.value, by);
  };
  const intoMap = (x: number, y: number, now: Pen): boolean => {
    const frame = mapFrame(shown, now.view, now.room);
    const [px, py] = [(x - now.view.left) * now.view.scaleX, (y - now.view.top) * now.view.scaleY];
    if (!frame || !holds(frame, px, py)) return false;
    const { view, room } = now;
    now.show({
      ...view,
      left: ((px - frame.x) / frame.w) * shown.width - room.width / view.scaleX / 2,
      top: ((py - frame.y) / frame.h) * shown.height - room.height / view.scaleY / 2,
    });
    return true;
  };
  const status = app.said.value || wordsOf(shown, hovered >= 0 ? hovered : selected);
  return (
    <div class="graph" ref={box}>
      <Canvas
        pen={pen}
        label="Graph: arrows walk along lines, Enter opens and closes groups, plus and minus zoom"
        describedBy="graph-status"
        limits={limits}
        drawing={graphKey.value}
        start={start}
        marks={[look, ink]}
        data={{
          "data-boxes": String(shown.boxes.length),
          "data-marks": String(marks.size),
          "data-ms": shown.ms.toFixed(1),
          "data-selected": shown.boxes[selected]?.id ?? "",
        }}
        draw={(g, { view, room }) => {
          if (!ink) return;
          drawGraph(g, { ...look, ...ink }, view, room);
          drawMap(g, { ...look, ...ink }, view, room);
        }}
        onPoint={(x, y) => setHovered(boxUnder(shown, x, y))}
        onLeave={() => setHovered(-1)}
        onPick={(x, y, now) => {
          if (intoMap(x, y, now)) return;
          const at = boxUnder(shown, x, y);
          const target = shown.boxes[at];
          // The sign in the corner of a group that is open closes it.
          const isSign = target?.isOpen && x > target.x + target.w - 28 && y < target.y + 30;
          picked.current = target?.id ?? "";
          if (isSign) closeBox(target!.id);
          else selectBox(at);
        }}
        onDouble={(_x, _y, _pen, event) => {
          const at = shown.boxes.findIndex(({ id }) => id === picked.current);
          if (shown.boxes[at]?.kind === "node") follow(event.shiftKey ? -1 : 1);
          else turn(at);
        }}
        onKey={(event) => {
          picked.current = "";
          // Keys come faster than frames: what is selected by now counts.
          const at = selectedBox.value;
          const isOut = event.key === "Backspace";
          if (isOut || WAYS[event.key]) {
            const to = isOut ? (shown.boxes[at]?.parent ?? -1) : next(shown, at, event.key);
            if (to >= 0) selectBox(to);
            return true;
          }
          const by = FOLLOW[event.key];
          if (by) follow(by);
          if (ENTER[event.key]) turn(at);
          return by !== undefined || ENTER[event.key] === true;
        }}
      />
      <div class="graph-foot">
        <p id="graph-status" class="mono" role="status">
          {status || (
            <span class="soft">
              Double click opens a group, and follows a node to the next stage. Drag to move, pinch
              or Ctrl and wheel to zoom.
            </span>
          )}
        </p>
        <Tools pen={pen} start={() => pen.current!.show(start(pen.current!.room))} />
      </div>
      <Legend scene={shown} />
    </div>
  );
}

export function GraphView(): JSX.Element {
  const { value } = scene;
  if (!value) return <Waiting />;
  const total = nodeCount.value;
  const count = app.search.value.trim()
    ? `${formatCount(matches.value.length)} of ${formatCount(total)}`
    : `${plural(total, "node")}, ${plural(value.boxes.length, "box")}`.replace(/boxs$/, "boxes");
  return (
    <>
      <SearchBox
        label="Find nodes"
        placeholder="Find: name, operator, shape, source line"
        count={count}
        onEnter={showMatch}
      />
      <Picture scene={value} marks={gapMarks(value)} />
    </>
  );
}
