// sconce inspect of what ran: an .etdp, with the record of its program and the values it logged, or
// two of them side by side.
import { writeFileSync } from "node:fs";
import type {
  ComparedEvent,
  DumpComparison,
  EventBlock,
  GapMetric,
  GapReport,
  Inspector,
  InspectorEvent,
  InspectorTotal,
} from "../types.js";
import { say, UsageError, warn } from "./common.js";
import { sayMemory } from "./inspect_memory.js";
import { sayTable, tsvOf, type Cell } from "./table.js";

const METRICS: readonly GapMetric[] = ["snr", "mse", "l1", "cosine", "max"];
const OPS_SHOWN = 3;

/** A metric by its name on the command line. */
export function metricOf(name: string): GapMetric {
  const found = METRICS.find((metric) => metric === name);
  if (!found) throw new UsageError(`--gap is one of ${METRICS.join(", ")}, not '${name}'`);
  return found;
}

function some(names: readonly string[]): string {
  const rest = names.length - OPS_SHOWN;
  return names.slice(0, OPS_SHOWN).join(", ") + (rest > 0 ? `, and ${rest} more` : "");
}

// --- Events --------------------------------------------------------------------------------------

const HEADS = ["event", "p10", "p50", "p90", "min", "max", "avg", "operators", "backend", "line"];

const rowOf = (e: InspectorEvent): Cell[] => {
  const { p10 = null, p50 = null, p90 = null, min = null, max = null, avg = null } = e.perf ?? {};
  const line = e.nodes.find(({ source }) => source !== "")?.source ?? "";
  const name = e.parent !== null && e.isDelegated ? `  ${e.name}` : e.name;
  return [name, p10, p50, p90, min, max, avg, some(e.ops), e.backend ?? "", line];
};

const shownEvents = (block: EventBlock): InspectorEvent[] =>
  block.events.filter((event) => !event.isWrapper);

function sayBlock(block: EventBlock, scale: string): void {
  const method = block.method === null ? "" : ` of method ${block.method}`;
  const runs = block.runs === 1 ? "1 run" : `${block.runs} runs`;
  say(`${block.name}${method}: ${runs}, times in ${scale}`);
  sayTable(HEADS, shownEvents(block).map(rowOf));
  for (const { allocator, count, bytes } of block.allocations)
    say(`  allocator ${allocator}: ${bytes} bytes in ${count} allocations`);
}

function sayTotals(title: string, totals: readonly InspectorTotal[], blocks: EventBlock[]): void {
  if (totals.length === 0) return;
  say(title);
  const rows = totals.map((t): Cell[] => [
    t.name === "" ? "(root)" : t.name,
    t.class,
    t.events,
    t.time,
    `${(100 * t.share).toFixed(1)} %`,
    blocks[t.block]!.method ?? blocks[t.block]!.name,
  ]);
  sayTable(["name", "class", "events", "avg", "share", "of"], rows);
}

/** The table of events as tab-separated values. */
export function eventsTsv(blocks: readonly EventBlock[]): string {
  return tsvOf(
    ["block", "method", ...HEADS],
    blocks.flatMap((block) =>
      shownEvents(block).map((e) => [block.name, block.method, ...rowOf(e)]),
    ),
  );
}

// --- Gaps ----------------------------------------------------------------------------------------

/**
 * Largest difference first: an SNR and a cosine are the smaller, the worse; what is not a number is
 * worse than all. Infinities are equal to each other, though their difference is not 0.
 */
export function worstFirst(metric: GapMetric): (a: number, b: number) => number {
  const sign = metric === "snr" || metric === "cosine" ? 1 : -1;
  return (a, b) => {
    if (Number.isNaN(a) || Number.isNaN(b))
      return Number(Number.isNaN(b)) - Number(Number.isNaN(a));
    return a === b ? 0 : a < b ? -sign : sign;
  };
}

function sayGap(report: GapReport, metric: GapMetric): void {
  say(`numeric gap of method ${report.method} to ${report.reference}, worst first`);
  const order = worstFirst(metric);
  const rows = report.rows.flatMap((row) => row.outputs.map((output) => ({ row, output })));
  rows.sort((x, y) => order(x.output.gap[metric], y.output.gap[metric]));
  sayTable(
    [...METRICS, "runtime", "nodes", "line"],
    rows.map(({ row, output }) => [
      ...METRICS.map((name) => output.gap[name]),
      some(row.runtimeOps),
      some(row.aotOps),
      row.nodes.find(({ source }) => source !== "")?.source ?? "",
    ]),
  );
  for (const { output, gap } of report.outputs)
    say(
      gap
        ? `  output ${output}: ${METRICS.map((name) => `${name} ${gap[name]}`).join(", ")} (${report.outputsFrom})`
        : `  output ${output} cannot be compared`,
    );
  for (const { name, reason } of report.skipped) say(`  not compared: ${name}: ${reason}`);
}

// --- The commands --------------------------------------------------------------------------------

export interface DumpFlags {
  json: boolean;
  gap: GapMetric | undefined;
  reference: string | undefined;
  method: string | undefined;
  trace: string | undefined;
  tsv: string | undefined;
  hasProgram: boolean;
}

const named = (name: string, value: string | undefined): object =>
  value === undefined ? {} : { [name]: value };

function gapOf(inspector: Inspector, flags: DumpFlags): GapReport | undefined {
  if (flags.gap === undefined) return undefined;
  return inspector.numericGap({
    ...named("reference", flags.reference),
    ...named("method", flags.method),
  });
}

/** Prints what is in a dump, and writes the files that are asked for. */
export function showDump(inspector: Inspector, flags: DumpFlags): void {
  const report = inspector.report();
  const blocks = inspector.events();
  for (const text of report.warnings) warn(`warning: ${text}`);
  if (flags.trace !== undefined) writeFileSync(flags.trace, inspector.trace());
  if (flags.tsv !== undefined) writeFileSync(flags.tsv, eventsTsv(blocks));
  const gap = gapOf(inspector, flags);
  const [ops, modules] = [inspector.ops(), inspector.modules()];
  const memory = flags.hasProgram ? inspector.memory() : undefined;
  if (flags.json) {
    const all = { kind: "etdump", ...report, events: blocks, ops, modules, gap, memory };
    process.stdout.write(`${JSON.stringify(all, withNumbers, 2)}\n`);
    return;
  }
  for (const block of blocks) sayBlock(block, report.targetTimeScale);
  sayTotals("by operator", ops, blocks);
  sayTotals("by module", modules, blocks);
  if (gap && flags.gap) sayGap(gap, flags.gap);
  for (const plan of memory ?? []) {
    say(`method ${plan.method}`);
    sayMemory(plan);
  }
}

/** JSON has no infinities: they stay what the core says. */
export function withNumbers(_: string, value: unknown): unknown {
  return typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
}

const sign = (row: ComparedEvent): string =>
  row.isSignificant === null ? "" : row.isSignificant ? "yes" : "noise";

const compared = (row: ComparedEvent): Cell[] => [
  row.name,
  row.a?.perf.avg ?? null,
  row.b?.perf.avg ?? null,
  row.difference,
  row.ratio,
  row.noise,
  sign(row),
  row.source,
];

/** Prints two dumps side by side. */
export function showComparison(comparison: DumpComparison, isJson: boolean): void {
  for (const text of comparison.warnings) warn(`warning: ${text}`);
  if (isJson) {
    const all = { kind: "comparison", ...comparison };
    process.stdout.write(`${JSON.stringify(all, withNumbers, 2)}\n`);
    return;
  }
  const { method, runsA, runsB, total, rows } = comparison;
  const of = method === null ? "" : ` of method ${method}`;
  say(`a: ${runsA} runs, b: ${runsB} runs${of}; averages in ${comparison.scale}`);
  sayTable(
    ["event", "a", "b", "b - a", "b / a", "noise", "differs", "line"],
    [...(total ? [total] : []), ...rows].map(compared),
  );
}
