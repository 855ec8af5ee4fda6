// The memory plan of a method as lowering has made it, beside what else it could have been.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { MethodPlan, OpFamily } from "@sconce/types/index.js";
import { selectNode } from "../actions.js";
import { makers, plan, rows } from "../derived.js";
import { app } from "../state.js";
import { familyOf } from "../ui/families.js";
import { formatBytes, formatCount } from "../ui/format.js";
import { plotOfPlan, type PlanSlot } from "../ui/memory.js";
import { Figure } from "../ui/parts.js";
import { PlanPicture } from "./PlanPicture.js";

function familyOfItem({ of }: PlanSlot): OpFamily | "input" {
  const row = makers.value.get(of.value);
  return row ? familyOf(row.op) : "input";
}

const nodeOf = (item: PlanSlot | undefined): string =>
  item ? (makers.value.get(item.of.value)?.name ?? "") : "";

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

function placeOf({ of, bytes, offset, first, last }: PlanSlot, moments: number): string {
  const when = `moments ${first} to ${last} of ${moments}`;
  return `${of.value}: ${formatBytes(bytes)} at ${formatCount(offset)}, ${when}`;
}

export function MemoryView(): JSX.Element {
  const { value } = plan;
  const plot = useMemo(() => value && plotOfPlan(value), [value]);
  if (!value || !plot) return <p class="waiting">This method needs no memory of its own.</p>;
  return (
    <div class="scroll memory-view">
      <Figures plan={value} />
      {plot.items.length === 0 ? (
        <p class="waiting">Every value lives outside the plan.</p>
      ) : (
        <PlanPicture
          plot={plot}
          hueOf={familyOfItem}
          selected={plot.items.find(
            (item) => app.node.value !== "" && nodeOf(item) === app.node.value,
          )}
          onSelect={(item) => selectNode(nodeOf(item))}
          tell={(item) => placeOf(item, value.moments)}
          known={rows.value}
        />
      )}
    </div>
  );
}
