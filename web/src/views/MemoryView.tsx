// The memory plan of a method: every value as a rectangle over time and addresses.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { MethodPlan, OpFamily, PlanItem } from "@sconce/types.js";
import { selectNode } from "../actions.js";
import { makers, plan, rows } from "../derived.js";
import { app } from "../state.js";
import { FAMILY_LABELS, familyOf } from "../ui/families.js";
import { formatBytes, formatCount } from "../ui/format.js";
import { drawPlan, frameOf, itemAt, type Ink } from "../ui/memory.js";
import { Figure, Swatch } from "../ui/parts.js";

function familyOfItem(item: PlanItem): OpFamily | "input" {
  const row = makers.value.get(item.value);
  return row ? familyOf(row.op) : "input";
}

function inkOf(element: Element): Ink {
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
      const family = familyOfItem(item);
      if (!fills.has(family)) fills.set(family, color(`family-${family}`));
      return fills.get(family)!;
    },
  };
}

const LEGEND = Object.entries({ ...FAMILY_LABELS, input: "inputs and state" }) as [
  OpFamily | "input",
  string,
][];

function Legend(props: { plan: MethodPlan }): JSX.Element {
  const present = new Set(props.plan.items.map(familyOfItem));
  return (
    <ul class="legend soft">
      {LEGEND.filter(([family]) => present.has(family)).map(([family, label]) => (
        <li key={family}>
          <Swatch family={family} />
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

function Figures(props: { plan: MethodPlan }): JSX.Element {
  const { plannedBytes, liveBytes, naiveBytes, algorithm, items } = props.plan;
  return (
    <dl class="figures">
      <Figure name="planned" title="Size of the block of memory that this method needs">
        {formatBytes(plannedBytes)}
      </Figure>
      <Figure name="lower bound" title="Most bytes alive at once: no plan can be smaller">
        {formatBytes(liveBytes)}
      </Figure>
      <Figure name="without reuse">{formatBytes(naiveBytes)}</Figure>
      <Figure name="values">{formatCount(items.length)}</Figure>
      <Figure name="algorithm">{algorithm.replaceAll("_", " ")}</Figure>
    </dl>
  );
}

function placeOf(item: PlanItem, plan: MethodPlan): string {
  const { value, bytes, offset, first, last } = item;
  const when = `moments ${first} to ${last} of ${plan.moments}`;
  return `${value}: ${formatBytes(bytes)} at ${formatCount(offset)}, ${when}`;
}

function Picture(props: { plan: MethodPlan }): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [hovered, setHovered] = useState<PlanItem | undefined>();
  const [size, setSize] = useState("");
  const selected = props.plan.items.find(
    (item) => makers.value.get(item.value)?.name === app.node.value,
  );
  const shown = hovered ?? selected;

  useEffect(() => {
    const observer = new ResizeObserver(([entry]) =>
      setSize(`${entry!.contentRect.width}x${entry!.contentRect.height}`),
    );
    observer.observe(canvas.current!);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    drawPlan(canvas.current!, props.plan, inkOf(canvas.current!), hovered, selected, formatBytes);
  }, [props.plan, hovered, selected, size, app.isDark.value, rows.value]);

  const itemUnder = (event: MouseEvent): PlanItem | undefined => {
    const { clientWidth, clientHeight } = canvas.current!;
    return itemAt(
      props.plan,
      frameOf(props.plan, clientWidth, clientHeight),
      event.offsetX,
      event.offsetY,
    );
  };
  return (
    <figure class="memory">
      <canvas
        ref={canvas}
        role="img"
        aria-label={`Memory plan of ${formatBytes(props.plan.plannedBytes)}`}
        onPointerMove={(event) => setHovered(itemUnder(event))}
        onPointerLeave={() => setHovered(undefined)}
        onClick={(event) => {
          const item = itemUnder(event);
          selectNode(item ? (makers.value.get(item.value)?.name ?? "") : "");
        }}
      />
      <figcaption>
        {shown ? (
          <span class="mono">{placeOf(shown, props.plan)}</span>
        ) : (
          <span class="soft">
            Each rectangle is a value: from left to right the time it is alive, from bottom to top
            its place. Point at one to see which.
          </span>
        )}
      </figcaption>
    </figure>
  );
}

export function MemoryView(): JSX.Element {
  const { value } = plan;
  if (!value) return <p class="waiting">This method needs no memory of its own.</p>;
  return (
    <div class="scroll memory-view">
      <Figures plan={value} />
      {value.items.length === 0 ? (
        <p class="waiting">Every value lives outside the plan.</p>
      ) : (
        <Picture plan={value} />
      )}
      {value.items.length === 0 ? null : <Legend plan={value} />}
    </div>
  );
}
