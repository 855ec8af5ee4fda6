// Places and times of a method's values in the file's own plan; as a picture and as a table.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { MemoryPlan, PlannedValue, PlannedWork } from "@sconce/types/index.js";
import { selectPlanned, showNode } from "../actions.js";
import { backendName } from "../delegates.js";
import { app } from "../state.js";
import { familyOf } from "../ui/families.js";
import {
  formatBytes,
  formatCount,
  formatType,
  sentence,
  shortOp,
  splitSource,
} from "../ui/format.js";
import { plotOfMemory, type FileSlot } from "../ui/memory.js";
import { Figure, Swatch, type Hue } from "../ui/parts.js";
import { SortedTable, type Column, type Room } from "../ui/SortedTable.js";
import { PlanPicture } from "./PlanPicture.js";

const isOfCall = ({ kind }: PlannedValue): boolean => kind === "input" || kind === "state";

/** True for the name of an operator, false for that of a backend. */
const isOp = (op: string): boolean => op === "" || op.includes("::");

const opName = (op: string): string => (isOp(op) ? shortOp(op) : backendName(op));

function hueOf(value: PlannedValue): Hue {
  if (isOfCall(value)) return "input";
  return isOp(value.op) ? familyOf(value.op) : "delegate";
}

/** The writer of a value, in words if that is no instruction. */
function writerOf({ kind, op, base }: PlannedValue): string {
  if (kind === "view") return base === null ? "a view" : `a view of ${base}`;
  if (kind === "unused") return "unused";
  if (kind === "input") return "an input";
  if (kind === "state") return "state";
  return op ? opName(op) : "a move";
}

const typeOf = ({ dtype, shape }: PlannedValue): string =>
  formatType({ name: "", kind: "tensor", dtype, shape }, app.dtypes.value);

function when({ from, until }: PlannedValue): string {
  if (from === null || until === null) return "never in use";
  return from === until ? `instruction ${from}` : `instructions ${from} to ${until}`;
}

function tell(value: PlannedValue): string {
  const { bytes, offset, isOutput, nodes } = value;
  const words = [
    nodes.at(-1) ?? `value ${value.value}`,
    writerOf(value),
    typeOf(value),
    `${formatBytes(bytes)} at ${formatCount(offset)}`,
    when(value),
    isOutput ? "an output" : "",
  ];
  return words.filter(Boolean).join(" · ");
}

const number = (
  id: "value" | "bytes" | "offset" | "from" | "until",
  name: string,
  from: Room,
  width: string,
): Column<PlannedValue> => ({
  id,
  name,
  key: (value) => value[id],
  show: (value) => {
    const found = value[id];
    if (found === null) return "";
    return id === "bytes" ? formatBytes(found) : formatCount(found);
  },
  isNumber: true,
  from,
  width,
});

const node: Column<PlannedValue> = {
  id: "node",
  name: "Node",
  key: ({ nodes }) => nodes.at(-1) ?? "",
  show: ({ nodes }) => nodes.at(-1) ?? "",
  title: ({ nodes }) => nodes.join(", "),
  from: "wide",
  width: "minmax(7rem, 1.2fr)",
};

const source: Column<PlannedValue> = {
  id: "source",
  name: "Source line",
  key: (value) => value.source,
  show: (value) => splitSource(value.source).place,
  title: (value) => value.source,
  from: "wide",
  width: "minmax(7rem, 1fr)",
};

const columnsOf = (hasNames: boolean): Column<PlannedValue>[] => [
  number("value", "#", "wide", "4rem"),
  {
    id: "writer",
    name: "Written by",
    key: writerOf,
    show: (value) => (
      <>
        <Swatch family={hueOf(value)} />
        {writerOf(value)}
        {value.isOutput ? <span class="soft"> output</span> : null}
      </>
    ),
    title: ({ op }) => op,
    width: "minmax(8rem, 1.2fr)",
  },
  ...(hasNames ? [node] : []),
  {
    id: "type",
    name: "Type",
    key: typeOf,
    show: (value) => `${typeOf(value)}${value.isDynamic ? " at most" : ""}`,
    title: typeOf,
    width: "minmax(6rem, 1.3fr)",
  },
  number("bytes", "Size", "phone", "5.5rem"),
  number("offset", "At", "wide", "6rem"),
  number("from", "From", "wide", "4.5rem"),
  number("until", "Until", "wide", "4.5rem"),
  ...(hasNames ? [source] : []),
];

const NAMED = columnsOf(true);
const NAMELESS = columnsOf(false);

const workName = ({ nodes, op }: PlannedWork): string =>
  nodes.at(-1) ?? (op ? opName(op) : "a move");

function Figures(props: { plan: MemoryPlan }): JSX.Element {
  const { memories, peak, values, live } = props.plan;
  const isSingle = memories.length === 1;
  const views = values.filter(({ kind }) => kind === "view").length;
  return (
    <dl class="figures">
      {memories.map(({ id, bytes }) => (
        <Figure
          key={id}
          name={isSingle ? "planned" : `memory ${id}`}
          title="The block of memory that the runtime has to give this method"
        >
          {formatBytes(bytes)}
        </Figure>
      ))}
      {peak ? (
        <Figure name="most in use" title={`by instruction ${peak.instruction}`}>
          {formatBytes(peak.bytes)} <span class="soft">by</span>{" "}
          <span class="mono">{workName(peak)}</span>
        </Figure>
      ) : null}
      <Figure name="values">{formatCount(values.length - views)}</Figure>
      {views > 0 ? (
        <Figure
          name="views"
          title="They show the bytes of another value and need no bytes of their own"
        >
          {formatCount(views)}
        </Figure>
      ) : null}
      <Figure name="instructions">{formatCount(live.length)}</Figure>
    </dl>
  );
}

/** The selected value, with the way to its node. */
function Selected(props: { value: PlannedValue }): JSX.Element | null {
  const { nodes, source: line } = props.value;
  const name = nodes.at(-1);
  if (!name || isOfCall(props.value)) return null;
  const { place, code } = splitSource(line);
  return (
    <p class="planned-node">
      {app.steps.value.edge.status === "done" ? (
        <button
          type="button"
          class="link mono"
          title="Show it in the graph"
          onClick={() => showNode("edge", app.method.value, name, "graph")}
        >
          {name}
        </button>
      ) : (
        <span class="mono">{name}</span>
      )}{" "}
      <span class="soft">{place}</span> {code ? <code>{code}</code> : null}
    </p>
  );
}

function Plan(props: { plan: MemoryPlan }): JSX.Element {
  const { plan } = props;
  const plot = useMemo(() => plotOfMemory(plan), [plan]);
  const hasNames = plan.values.some(({ nodes }) => nodes.length > 0);
  const selected = plan.values.find(({ value }) => value === app.planned.value);
  // A view lies at the place of the value that it shows.
  const owner = selected?.kind === "view" ? selected.base : selected?.value;
  return (
    <div class="scroll memory-view is-planned">
      <Figures plan={plan} />
      {plot.items.length === 0 ? (
        <p class="soft">Nothing of this method lies in planned memory.</p>
      ) : (
        <PlanPicture
          plot={plot}
          hueOf={({ of }: FileSlot) => hueOf(of)}
          selected={plot.items.find(({ of }) => of.value === owner)}
          onSelect={(item) => selectPlanned(item?.of.value ?? null)}
          tell={({ of }) => tell(of)}
          known={app.families.value}
        />
      )}
      {selected ? <Selected value={selected} /> : null}
      {app.filePlans.value?.warnings.map((warning) => (
        <p key={warning} class="profile-warning">
          {sentence(warning)}
        </p>
      ))}
      {hasNames || app.recordName.value ? null : (
        <p class="soft">
          Names of nodes and source lines are in the .etrecord of the program: drop it.
        </p>
      )}
      <SortedTable
        key={String(hasNames)}
        label="Planned values"
        rows={plan.values}
        columns={hasNames ? NAMED : NAMELESS}
        by=""
        isDescending={false}
        isActive={({ value }) => value === app.planned.value}
        onPick={({ value }) => selectPlanned(value)}
        empty="The method plans no memory."
      />
    </div>
  );
}

export function PlannedView(): JSX.Element {
  const { value: plans } = app.filePlans;
  if (!plans) return <p class="waiting">Reading the plan.</p>;
  if (plans.fault) return <p class="waiting">{plans.fault}</p>;
  const plan = plans.plans.find(({ method }) => method === app.method.value);
  return plan ? (
    <Plan key={plan.method} plan={plan} />
  ) : (
    <p class="waiting">
      The program has no method <span class="mono">{app.method.value}</span>.
    </p>
  );
}
