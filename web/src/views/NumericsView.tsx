// How far the values of a run are from those that the record's graph gives, node by node.
import type { JSX } from "preact";
import type { Gap, GapMethod, GapReport, GapRow, LoggedValue } from "@sconce/types/index.js";
import { compareHere, selectEvent, selectNode, setReference, showNode } from "../actions.js";
import { methodNames, runFault } from "../derived.js";
import {
  badness,
  gapProfile,
  methodGap,
  nodeNameOf,
  profile,
  ranIn,
  worstGap,
} from "../profile.js";
import { app, type Profile } from "../state.js";
import {
  formatCount,
  formatFigure,
  formatNumber,
  formatSnr,
  plural,
  splitSource,
} from "../ui/format.js";
import { Bar, Figure } from "../ui/parts.js";
import { SortedTable, type Column, type Room } from "../ui/SortedTable.js";
import { Warnings } from "./ProfileView.js";
import { STAGES } from "../words.js";

/** The node whose value it is comes last; those that were run with it are counted. */
const nodesOf = (row: GapRow): string => row.nodes.map(({ name }) => name).join(", ");
function ownNode({ nodes }: GapRow): JSX.Element {
  return (
    <>
      {nodes.at(-1)?.name}
      {nodes.length > 1 ? <span class="soft"> and {nodes.length - 1} with it</span> : null}
    </>
  );
}
const opOfRow = (row: GapRow): string => row.nodes.at(-1)?.op ?? "";
const opsOf = (row: GapRow): string => [...new Set(row.nodes.map(({ op }) => op))].join(", ");
const sourceOf = (row: GapRow): string => row.nodes.at(-1)?.source ?? "";

function range({ min, max, nans }: LoggedValue): string {
  if (min === null || max === null) return nans > 0 ? "only NaN" : "";
  return `${formatNumber(min)} … ${formatNumber(max)}${nans > 0 ? `, ${nans} NaN` : ""}`;
}

const metric = (id: keyof Gap, name: string, from: Room = "wide"): Column<GapRow> => ({
  id,
  name,
  key: (row) => worstGap(row)?.[id] ?? null,
  show: (row) => {
    const value = worstGap(row)?.[id];
    if (value === undefined) return "";
    if (id === "snr") return formatSnr(value);
    // A cosine is nearly 1, so it needs more digits.
    return id === "cosine" ? value.toFixed(7) : formatFigure(value);
  },
  isNumber: true,
  from,
  width: "5.75rem",
});

const COLUMNS: readonly Column<GapRow>[] = [
  {
    id: "node",
    name: "Node",
    key: nodesOf,
    show: ownNode,
    title: nodesOf,
    width: "minmax(9rem, 1.3fr)",
  },
  {
    id: "op",
    name: "Operator",
    key: opsOf,
    show: opOfRow,
    title: opsOf,
    width: "minmax(8rem, 1.1fr)",
  },
  metric("snr", "SNR", "phone"),
  {
    id: "bar",
    name: "",
    key: (row) => worstGap(row)?.snr ?? null,
    show: (row) => {
      const worst = worstGap(row);
      return worst ? <Bar share={badness(worst)} class="is-bad" /> : null;
    },
    from: "wide",
    width: "4rem",
  },
  metric("mse", "MSE"),
  metric("l1", "L1"),
  metric("cosine", "Cosine"),
  metric("max", "Largest", "phone"),
  {
    id: "found",
    name: "Found",
    key: (row) => row.outputs[0]?.found.min ?? null,
    show: (row) => (row.outputs[0] ? range(row.outputs[0].found) : ""),
    title: (row) =>
      row.outputs[0]
        ? `found ${range(row.outputs[0].found)}, reference ${range(row.outputs[0].reference)}`
        : "",
    from: "wide",
    width: "minmax(7rem, 1fr)",
  },
  {
    id: "source",
    name: "Source line",
    key: sourceOf,
    show: (row) => splitSource(sourceOf(row)).place,
    title: sourceOf,
    from: "wide",
    width: "minmax(7rem, 1fr)",
  },
];

function pick(row: GapRow): void {
  selectEvent(row.block, row.event);
}

function Outputs(props: { report: GapReport }): JSX.Element | null {
  const { outputs, methods } = props.report;
  if (outputs.length === 0) return null;
  return (
    <dl class="figures">
      {outputs.map(({ block, output, gap: found }) => (
        <Figure
          key={`${block}/${output}`}
          name={outputs.length > 1 ? `output ${output}` : "the method's output"}
          title={
            methods[0]!.outputsFrom === "recorded"
              ? "compared with the reference outputs of the record"
              : "compared with the results of the record's graph"
          }
        >
          {found ? formatSnr(found.snr) : "not compared"}
        </Figure>
      ))}
    </dl>
  );
}

function Skipped(props: { report: GapReport }): JSX.Element | null {
  const { skipped } = props.report;
  if (skipped.length === 0) return null;
  return (
    <details class="skipped">
      <summary>{plural(skipped.length, "event")} not compared</summary>
      <ul>
        {skipped.map(({ block, event, name, reason }) => (
          <li key={`${block}/${event}`}>
            <span class="mono">{name}</span> <span class="soft">{reason}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}

function CompareButton(): JSX.Element | null {
  if (!app.program.value) return null;
  return (
    <button
      type="button"
      disabled={app.busy.value !== null || runFault.value !== undefined}
      title={
        runFault.value?.message ?? "Runs the method once as the file has it and keeps all values"
      }
      onClick={() => void compareHere()}
    >
      Compare {methodNames.value.length > 1 ? <span class="mono">{app.method.value}</span> : null}{" "}
      here
    </button>
  );
}

/** The stages of the record that values can be compared with. */
function Reference(): JSX.Element | null {
  const { value: shown } = gapProfile;
  const stages = [...new Set(shown?.report.etrecord?.stages.map(({ stage }) => stage))];
  if (!shown || stages.length === 0) return null;
  const edge = stages.find((stage) => stage === "edge_dialect_exported_program") ?? stages[0];
  return (
    <label class="inline">
      <span class="soft">compared with</span>
      <select
        class="reference"
        value={methodGap.value?.report?.reference ?? edge}
        onChange={(event) => void setReference(shown.id, event.currentTarget.value)}
      >
        {stages.map((stage) => (
          <option key={stage} value={stage} title={stage}>
            {STAGES[stage] ?? stage}
          </option>
        ))}
      </select>
    </label>
  );
}

const snrOf = (row: GapRow): number => {
  const snr = worstGap(row)?.snr ?? Infinity;
  return Number.isNaN(snr) ? -Infinity : snr;
};

/** The row that is farthest off. */
const worstRow = (report: GapReport): GapRow | undefined =>
  [...report.rows].sort((a, b) => snrOf(a) - snrOf(b))[0];

/** The worst node in the graph. */
function toGraph(report: GapReport): void {
  const node = worstRow(report)?.nodes.at(-1);
  showNode("edge", app.method.value, node ? nodeNameOf(node) : "", "graph");
  // Names are those of the version that is shown, and that was another one until now.
  if (node) selectNode(nodeNameOf(node));
}

const INPUTS: Readonly<Record<GapMethod["inputs"], string>> = {
  representative: "on the inputs that the record was given",
  example: "on the inputs that the model was exported with",
};

/** How many of the values are equal. */
function equality(count: number, equal: number): string {
  if (count === 0) return "No logged value could be compared";
  if (count === 1)
    return equal === 1 ? "The one value is equal to the last bit" : "One value was logged";
  const are = equal === 0 ? "none is" : equal === 1 ? "one is" : `${formatCount(equal)} are`;
  return `Of ${plural(count, "value")}, ${are} equal to the last bit`;
}

/** The comparison in words: the two sides, and the outcome. */
function Words(props: { report: GapReport; shown: Profile }): JSX.Element {
  const { report, shown } = props;
  const worst = worstRow(report);
  const equal = report.rows.filter((row) => snrOf(row) === Infinity).length;
  const backends = new Set(shown.blocks.flatMap(({ events }) => events.map((e) => e.backend)));
  backends.delete(null);
  const isSame = backends.size === 0 && equal === report.rows.length && equal > 0;
  const stage = STAGES[report.reference] ?? report.reference;
  return (
    <p class="numerics-words">
      Results of the recorded run, compared with the portable kernels on {stage},{" "}
      {INPUTS[report.methods[0]!.inputs]}. {equality(report.rows.length, equal)}
      {worst && snrOf(worst) !== Infinity ? (
        <>
          {report.rows.length === 1 ? ": " : "; farthest off is "}
          <span class="mono">{worst.nodes.at(-1)?.name}</span>, at {formatSnr(worstGap(worst)!.snr)}{" "}
          (every 20 dB is one more correct digit)
        </>
      ) : null}
      .{isSame ? " No backend took part, so that is as it should be." : ""}
    </p>
  );
}

/** Why there is nothing to show for the method, and what to do. */
function lacking(): string {
  const method = app.method.value;
  const { value: shown } = profile;
  const isRun = shown !== undefined && ranIn(shown, method);
  if (methodGap.value?.fault) return methodGap.value.fault;
  if (gapProfile.value) return "Comparing.";
  if (app.program.value)
    return `No values of ${method} are recorded yet. Compare it here with the reference of its record, on the inputs of Call, or drop an .etdp, its debug buffer (.bin) and the .etrecord.`;
  if (!shown)
    return "The record is here. Drop the .etdp that a run on your device has written, together with its debug buffer (.bin).";
  if (!isRun) return `${method} was not run in ${shown.title}.`;
  if (!shown.report.etrecord)
    return `${shown.title} is here without the .etrecord of its program, which has the expected values: drop that, too.`;
  return shown.report.etdump?.values
    ? `${shown.title} points to values: drop the debug buffer (.bin) that was written with it.`
    : `No values were logged in ${shown.title}: record it with intermediate outputs in a debug buffer.`;
}

export function NumericsView(): JSX.Element {
  const { value: found } = methodGap;
  const { value: shown } = gapProfile;
  const report = found?.report;
  if (!report || !shown)
    return (
      <div class="waiting">
        <p>{lacking()}</p>
        {found?.fault ? <Reference /> : null}
        <CompareButton />
      </div>
    );
  const at = app.event.value;
  return (
    <div class="profile">
      <div class="profile-head">
        <p>
          <span class="mono">{shown.title}</span>
        </p>
        <Reference />
        <CompareButton />
        <button type="button" class="quiet" onClick={() => toGraph(report)}>
          Show on the graph
        </button>
      </div>
      <Words report={report} shown={shown} />
      <Warnings shown={shown} />
      {report.methods[0]!.inputs === "example" ? (
        <p class="profile-warning">
          Differences mean something only if the run got those inputs, too: the record has no other
          ones.
        </p>
      ) : null}
      <Outputs report={report} />
      <SortedTable
        label="Gaps"
        rows={report.rows}
        columns={COLUMNS}
        by="snr"
        isDescending={false}
        isActive={({ block, event }) => at?.block === block && at.event === event}
        onPick={pick}
        empty="Nothing that was logged could be compared."
      />
      <Skipped report={report} />
    </div>
  );
}
