// How far the values of a run are from those that the record's graph gives, node by node.
import type { JSX } from "preact";
import type { Gap, GapReport, GapRow, LoggedValue } from "@sconce/types_inspector.js";
import { compareHere, selectEvent, setReference, showNode } from "../actions.js";
import { runFault } from "../derived.js";
import { badness, gap, profile, worstGap } from "../profile.js";
import { app } from "../state.js";
import { formatFigure, formatNumber, plural, splitSource } from "../ui/format.js";
import { Bar, Figure } from "../ui/parts.js";
import { SortedTable, type Column } from "../ui/SortedTable.js";

/** Infinite where nothing differs. */
export function formatSnr(snr: number): string {
  if (Number.isNaN(snr)) return "not a number";
  return snr === Infinity ? "equal" : `${formatFigure(snr)}\u00a0dB`;
}

const nodesOf = (row: GapRow): string => row.nodes.map(({ name }) => name).join(", ");
const opsOf = (row: GapRow): string => [...new Set(row.nodes.map(({ op }) => op))].join(", ");
const sourceOf = (row: GapRow): string => row.nodes.at(-1)?.source ?? "";

function range({ min, max, nans }: LoggedValue): string {
  if (min === null || max === null) return nans > 0 ? "only NaN" : "";
  return `${formatNumber(min)} … ${formatNumber(max)}${nans > 0 ? `, ${nans} NaN` : ""}`;
}

const metric = (id: keyof Gap, name: string, isExtra = true): Column<GapRow> => ({
  id,
  name,
  key: (row) => worstGap(row)?.[id] ?? null,
  show: (row) => {
    const value = worstGap(row)?.[id];
    if (value === undefined) return "";
    if (id === "snr") return formatSnr(value);
    // Of what is nearly 1, the digits that tell.
    return id === "cosine" ? value.toFixed(7) : formatFigure(value);
  },
  isNumber: true,
  isExtra,
  width: "5.75rem",
});

const COLUMNS: readonly Column<GapRow>[] = [
  {
    id: "node",
    name: "Node",
    key: nodesOf,
    show: nodesOf,
    title: nodesOf,
    width: "minmax(9rem, 1.3fr)",
  },
  {
    id: "op",
    name: "Operator",
    key: opsOf,
    show: opsOf,
    title: opsOf,
    width: "minmax(8rem, 1.1fr)",
  },
  metric("snr", "SNR", false),
  {
    id: "bar",
    name: "",
    key: (row) => worstGap(row)?.snr ?? null,
    show: (row) => {
      const worst = worstGap(row);
      return worst ? <Bar share={badness(worst)} class="is-bad" /> : null;
    },
    isExtra: true,
    width: "4rem",
  },
  metric("mse", "MSE"),
  metric("l1", "L1"),
  metric("cosine", "Cosine"),
  metric("max", "Largest", false),
  {
    id: "found",
    name: "Found",
    key: (row) => row.outputs[0]?.found.min ?? null,
    show: (row) => (row.outputs[0] ? range(row.outputs[0].found) : ""),
    title: (row) =>
      row.outputs[0]
        ? `found ${range(row.outputs[0].found)}, reference ${range(row.outputs[0].reference)}`
        : "",
    isExtra: true,
    width: "minmax(7rem, 1fr)",
  },
  {
    id: "source",
    name: "Source line",
    key: sourceOf,
    show: (row) => splitSource(sourceOf(row)).place,
    title: sourceOf,
    isExtra: true,
    width: "minmax(7rem, 1fr)",
  },
];

function pick(row: GapRow): void {
  selectEvent(row.block, row.event);
}

function Outputs(props: { report: GapReport }): JSX.Element | null {
  const { outputs, outputsFrom } = props.report;
  if (outputs.length === 0) return null;
  return (
    <dl class="figures">
      {outputs.map(({ block, output, gap: found }) => (
        <Figure
          key={`${block}/${output}`}
          name={`output ${output}`}
          title={
            outputsFrom === "recorded"
              ? "beside the reference outputs of the record"
              : "beside what the record's graph gives"
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
      Compare here
    </button>
  );
}

/** The stages of the record that values can be compared with. */
function Reference(): JSX.Element | null {
  const { value: shown } = profile;
  const stages = [...new Set(shown?.report.etrecord?.stages.map(({ stage }) => stage))];
  if (!shown || stages.length === 0) return null;
  const edge = stages.find((stage) => stage === "edge_dialect_exported_program") ?? stages[0];
  return (
    <label class="inline">
      <span class="soft">beside</span>
      <select
        class="reference"
        value={shown.gap?.reference ?? edge}
        onChange={(event) => void setReference(shown.id, event.currentTarget.value)}
      >
        {stages.map((stage) => (
          <option key={stage} value={stage}>
            {stage}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The worst node in the graph. */
function toGraph(report: GapReport): void {
  const worst = [...report.rows].sort(
    (a, b) => (worstGap(a)?.snr ?? Infinity) - (worstGap(b)?.snr ?? Infinity),
  )[0];
  showNode("edge", app.method.value, worst?.nodes.at(-1)?.name ?? "", "graph");
}

export function NumericsView(): JSX.Element {
  const { value } = gap;
  const fault = profile.value?.gapFault;
  if (!value)
    return (
      <div class="waiting">
        <p>
          {fault ||
            (app.program.value
              ? "No values are recorded yet. Compare the program with its record here, with the inputs of Call, or drop an .etdp, its debug buffer and the .etrecord."
              : "Drop an .etdp together with its debug buffer (.bin) and the .etrecord.")}
        </p>
        {fault ? <Reference /> : null}
        <CompareButton />
      </div>
    );
  const at = app.event.value;
  return (
    <div class="profile">
      <div class="profile-head">
        <p>
          {plural(value.rows.length, "comparison")} of <span class="mono">{value.method}</span>
        </p>
        <Reference />
        <CompareButton />
        <button type="button" class="quiet" onClick={() => toGraph(value)}>
          Show on the graph
        </button>
      </div>
      {value.inputs === "example" ? (
        <p class="profile-warning">
          The reference ran on the inputs that the model was exported with: what differs says
          something only where the runtime got the same.
        </p>
      ) : null}
      <Outputs report={value} />
      <SortedTable
        label="Gaps"
        rows={value.rows}
        columns={COLUMNS}
        by="snr"
        isDescending={false}
        isActive={({ block, event }) => at?.block === block && at.event === event}
        onPick={pick}
        empty="Nothing that was logged could be compared."
      />
      <Skipped report={value} />
    </div>
  );
}
