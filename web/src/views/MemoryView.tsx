// The memory plan of a method: every value as a rectangle over time and addresses.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { computed } from "@preact/signals";
import type { MethodPlan, PlanItem } from "@sconce/types.js";
import { selectNode } from "../actions.js";
import { app, plan, rows } from "../state.js";
import { FAMILY_LABELS, familyOf, type Family } from "../ui/families.js";
import { formatBytes, formatCount } from "../ui/format.js";
import { drawPlan, frameOf, itemAt, type Ink } from "../ui/memory.js";
import { Figure, Swatch } from "../ui/parts.js";

/** Which operator made a value; inputs have none. */
const makers = computed(
  () =>
    new Map(
      (rows.value ?? []).flatMap((row) => row.outputs.map((out) => [out.name, row] as const)),
    ),
);

function familyOfItem(item: PlanItem): Family | "input" {
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

function Legend(props: { plan: MethodPlan }): JSX.Element {
  const present = new Set(props.plan.items.map(familyOfItem));
  const labels: Record<string, string> = { ...FAMILY_LABELS, input: "inputs and state" };
  return (
    <ul class="legend soft">
      {Object.keys(labels)
        .filter((family) => present.has(family as Family))
        .map((family) => (
          <li key={family}>
            <Swatch family={family} />
            {labels[family]}
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
      <figcaption class="mono">
        {shown ? placeOf(shown, props.plan) : "Point at a rectangle to see which value it is."}
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
