// sconce inspect of what ran: an .etdp, with the record of its program and the values it logged.
import { counted } from "../../base/counted.js";
import type {
  EventBlock,
  GapMetric,
  GapReport,
  Inspector,
  InspectorEvent,
  InspectorTotal,
} from "../../types/index.js";
import { warnOf } from "../print/errors.js";
import { EXIT } from "../usage.js";
import { writeFiles } from "../files/files.js";
import { blockLabels, some, sourceOf } from "./blocks.js";
import { gapsOf, emptyComparison, sayGap } from "./gap.js";
import { sayMemory } from "./memory.js";
import { printJson } from "../print/json.js";
import { sayTable, tsvOf, type Cell } from "../print/table.js";
import { isJson, say, warn } from "../print/terminal.js";

// --- Events --------------------------------------------------------------------------------------

const TIMES = ["p10", "p50", "p90", "min", "max", "avg"] as const;
const HEADS = ["event", ...TIMES, "threads", "operators", "backend", "line"];

const nameOf = (e: InspectorEvent): string =>
  e.parent !== null && e.isDelegated ? `  ${e.name}` : e.name;

const rowOf = (e: InspectorEvent): Cell[] => [
  nameOf(e),
  ...TIMES.map((name) => e.perf?.[name] ?? null),
  e.threads,
  some(e.ops),
  e.backend ?? "",
  sourceOf(e.nodes),
];

const shownEvents = (block: EventBlock): InspectorEvent[] =>
  block.events.filter((event) => !event.isWrapper);

/** Terminals are too narrow for all times. */
const TIMES_SHOWN = ["p50", "min", "max", "avg"] as const;

/** All times of a single run would be the same one. */
function sayEvents(block: EventBlock): void {
  const events = shownEvents(block);
  if (events.length === 0) return say("  no events");
  const isSingle = block.runs === 1;
  const times = isSingle ? (["avg"] as const) : TIMES_SHOWN;
  const tellsThreads = events.some(({ threads }) => threads !== null);
  const heads = [...(isSingle ? ["time"] : times), ...(tellsThreads ? ["threads"] : [])];
  sayTable(
    ["event", ...heads, "operators", "backend", "line"],
    events.map((e) => [
      nameOf(e),
      ...times.map((name) => e.perf?.[name] ?? null),
      ...(tellsThreads ? [e.threads] : []),
      some(e.ops),
      e.backend ?? "",
      sourceOf(e.nodes),
    ]),
  );
}

function sayBlock(block: EventBlock, label: string, scale: string): void {
  const runs = counted(block.runs, "run");
  say(`${label}: ${runs}, times in ${scale}`);
  sayEvents(block);
  for (const { allocator, count, bytes } of block.allocations)
    say(`  allocator ${allocator}: ${counted(bytes, "byte")} in ${counted(count, "allocation")}`);
}

function sayTotals(
  title: string,
  totals: readonly InspectorTotal[],
  labels: readonly string[],
): void {
  if (totals.length === 0) return;
  say(title);
  const rows = totals.map((t): Cell[] => [
    t.name === "" ? "(root)" : t.name,
    t.class,
    t.events,
    t.time,
    `${(100 * t.share).toFixed(1)} %`,
    labels[t.block]!,
  ]);
  sayTable(["name", "class", "events", "avg", "share", "of"], rows);
}

/** The table of events as tab-separated values. */
function eventsTsv(blocks: readonly EventBlock[]): string {
  return tsvOf(
    ["block", "method", ...HEADS],
    blocks.flatMap((block) =>
      shownEvents(block).map((e) => [block.name, block.method, ...rowOf(e)]),
    ),
  );
}

// --- The command ---------------------------------------------------------------------------------

/** The flags that choose what is shown of a dump. */
export interface DumpFlags {
  gap: GapMetric | undefined;
  reference: string | undefined;
  /** The method whose runs are shown; all by default. */
  method: string | undefined;
  trace: string | undefined;
  tsv: string | undefined;
  /** There is a .pte, whose memory plan is shown, too. */
  hasProgram: boolean;
}

function filesOf(
  inspector: Inspector,
  blocks: readonly EventBlock[],
  { trace, tsv }: DumpFlags,
): Parameters<typeof writeFiles>[0] {
  const file = (path: string, text: string): Parameters<typeof writeFiles>[0][number] => ({
    path,
    write: (to) => to(new TextEncoder().encode(text)),
  });
  return [
    ...(trace === undefined ? [] : [file(trace, inspector.trace())]),
    ...(tsv === undefined ? [] : [file(tsv, eventsTsv(blocks))]),
  ];
}

/** Prints what is in a dump, and writes the files that are asked for; returns the exit code. */
export async function showDump(inspector: Inspector, flags: DumpFlags): Promise<number> {
  const report = inspector.report();
  const all = inspector.events();
  const labels = blockLabels(all);
  const isShown = (block: EventBlock): boolean =>
    flags.method === undefined || block.method === flags.method;
  const blocks = all.filter(isShown);
  const totalsOf = (totals: InspectorTotal[]): InspectorTotal[] =>
    totals.filter(({ block }) => isShown(all[block]!));
  warnOf(report.warnings);
  await writeFiles(filesOf(inspector, blocks, flags));
  const { gap: metric, method, reference } = flags;
  const gaps = metric && gapsOf(inspector, all, method, reference);
  const [ops, modules] = [totalsOf(inspector.ops()), totalsOf(inspector.modules())];
  const memory = flags.hasProgram ? inspector.memory() : undefined;
  const isEmpty = ({ rows, outputs }: GapReport): boolean =>
    !rows.length && !outputs.some(({ gap }) => gap);
  const isEmptyGap = gaps && (gaps.reports.length === 0 || gaps.reports.some(isEmpty));
  const code = gaps?.areAll === false || isEmptyGap ? EXIT.failed : EXIT.done;
  if (isEmptyGap) for (const line of emptyComparison(all)) warn(line);
  if (isJson()) {
    const rest = { ops, modules, memory, ...(gaps && { gaps: gaps.reports }) };
    // Totals name blocks by their places, so that all of them are there.
    const whole = { kind: "etdump", ...report, events: all, ...rest };
    printJson(whole);
    return code;
  }
  if (gaps && metric) {
    for (const gap of gaps.reports) sayGap(gap, metric, all);
    return code;
  }
  for (const [i, block] of all.entries())
    if (isShown(block)) sayBlock(block, labels[i]!, report.targetTimeScale);
  sayTotals("by operator", ops, labels);
  sayTotals("by module", modules, labels);
  for (const plan of memory ?? []) {
    say(`method ${plan.method}`);
    sayMemory(plan);
  }
  return code;
}
