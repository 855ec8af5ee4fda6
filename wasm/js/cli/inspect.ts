// sconce inspect: what is in a .pt2 or a .pte, what a run has logged, what a record holds.
import type {
  CompilationReport,
  Engine,
  EventBlock,
  FileRef,
  Inspector,
  InspectorFiles,
  InspectorOptions,
  MemoryPlan,
  MethodSummary,
  Program,
  ProgramMethodInfo,
  ProgramReport,
  ProgramValueInfo,
  TensorInfo,
  TimeScale,
} from "../types.js";
import { counted } from "../counted.js";
import { delegated, SconceError } from "../errors.js";
import { formatBytes } from "../size.js";
import { EXIT, makeEngine, parse, printWarnings, say, UsageError, warn } from "./common.js";
import { checkPlace, inFolders, isFolder, keepApart, outputAt } from "./files.js";
import { showComparison } from "./inspect_compare.js";
import { showDump } from "./inspect_dump.js";
import { metricOf } from "./inspect_gap.js";
import { sayMemory } from "./inspect_memory.js";
import { showRecord } from "./inspect_record.js";

export const INSPECT_HELP = `sconce inspect: methods, signatures, operators, sizes, memory plan; what ran, and how long it took

  sconce inspect model.pt2
  sconce inspect model.pte --json
  sconce inspect model.pte --etrecord model.etrecord
  sconce inspect run.etdp --etrecord model.etrecord --debug-output run.bin --gap snr
  sconce inspect before.etdp after.etdp --etrecord model.etrecord
  sconce inspect model.etrecord --stage exported_program --stage edge_dialect_exported_program

  --json            the report as JSON, with --nodes what is in delegates, too
  --nodes           all that is in delegates, not only their first nodes
  --data FILE       a .ptd to look for the weights of a .pte in; may be repeated
  --etrecord FILE   the record of a .pte: what nodes of the model the values in its memory are

  of a dump (.etdp):
  --etrecord FILE   the record of the program: which node and line each event is; given twice for
                    two dumps, each has its own
  --debug-output FILE  the values that the dump points to
  --program FILE    the .pte that ran: its memory plan, too
  --gap HOW         how far values are from the record's program, the worst first by HOW: snr, mse,
                    l1, cosine or max; the run must have had the record's inputs (--input example)
  --reference NAME  the stage that is compared with: exported_program, or that of a record; by
                    default edge_dialect_exported_program
  --method NAME     only the runs of this method; where methods cannot be told, all runs are of it
  --time SCALE      of what is shown: ns, us, ms, s or cycles; ms by default
  --source-time SCALE  of the dump's ticks; ns by default
  --trace FILE      write the timeline of all runs for Perfetto and chrome://tracing
  --tsv FILE        write the table of events as tab-separated values

  of a record (.etrecord):
  --stage NAME      the nodes of a stage; given twice, what differs between two
  --node NAME       a node, with the Python lines that it comes from
`;

function writeJson(report: object): void {
  process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
}

function shapeOf(info: { kind: string; dtype?: string; shape?: (number | string)[] }): string {
  return info.kind === "tensor" ? `${info.dtype} [${info.shape!.join(", ")}]` : info.kind;
}

function writeOps(ops: Record<string, number>): void {
  const sorted = Object.entries(ops).sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  for (const [op, count] of sorted) say(`    ${String(count).padStart(5)} ${op}`);
}

function bound(value: number | null, none: string): string {
  return value === null ? none : String(value);
}

function writeMethod(method: MethodSummary): void {
  say(`method ${method.name}: ${counted(method.nodes, "node")}`);
  const user = (list: (TensorInfo & { role: string; target: string })[], role: string): void => {
    for (const v of list.filter(
      (item) => item.role === role || (role === "user_input" && item.role === "constant_input"),
    )) {
      say(`  ${role === "user_input" ? "in " : "out"} ${v.name ?? ""}: ${shapeOf(v)}`);
    }
  };
  user(method.inputs, "user_input");
  user(method.outputs, "user_output");
  const count = (role: string, noun: string): string =>
    counted(method.inputs.filter((i) => i.role === role).length, noun);
  const mutated = method.outputs.filter((o) => o.role.endsWith("_mutation")).map((o) => o.target);
  const constants = count("constant_tensor", "constant");
  say(`  ${count("parameter", "parameter")}, ${count("buffer", "buffer")}, ${constants}`);
  if (mutated.length > 0) say(`  writes ${mutated.join(", ")}`);
  for (const s of method.symbols) {
    const place = s.size ? `, ${s.size}` : s.place ? `, seen in ${s.place}` : "";
    say(`  ${s.name} in [${bound(s.min, "-inf")}, ${bound(s.max, "inf")}]${place}`);
  }
  say("  operators");
  writeOps(method.ops);
}

function writePt2(report: CompilationReport): void {
  say(`exported program, ${formatBytes(report.constantBytes)} of weights`);
  for (const method of report.stages[0]!.methods) writeMethod(method);
}

function valueText(value: ProgramValueInfo): string {
  const size =
    value.kind === "tensor"
      ? ` ${value.dynamic ? "at most " : ""}${formatBytes(value.bytes!)}`
      : "";
  const frozen =
    value.value !== undefined && value.value !== null ? ` = ${String(value.value)}` : "";
  const written = value.ofInput === undefined ? "" : `, input ${value.ofInput} after the call`;
  return `${value.name}: ${shapeOf(value)}${size}${frozen}${written}`;
}

/** Lines of a delegate that are shown unless all are asked for: nodes, which are numbered. */
const LINES_MAX = 12;

/** What is in the parts of a method, in lines; or why that cannot be told. */
function linesOf(program: Program, method: ProgramMethodInfo): PartLines[] {
  return method.parts.map((_, i) => {
    try {
      return { lines: program.partText(method.name, i).split("\n").slice(0, -1) };
    } catch (error) {
      if (!(error instanceof SconceError)) throw error;
      return { lines: [], fault: error.message };
    }
  });
}

interface PartLines {
  lines: string[];
  fault?: string;
}

function writeLines({ lines, fault }: PartLines, all: boolean): void {
  const shown = all ? lines : lines.filter((line) => /^\d/.test(line)).slice(0, LINES_MAX);
  for (const line of shown) say(`    ${line}`);
  if (shown.length < lines.length)
    say(`    and ${lines.length - shown.length} more lines, which --nodes shows`);
  if (fault !== undefined) say(`    cannot be shown: ${fault}`);
}

/** The report with what is in the parts. */
function withLines(program: Program, report: ProgramReport): object {
  const methods = report.methods.map((method) => {
    const lines = linesOf(program, method);
    return { ...method, parts: method.parts.map((part, i) => ({ ...part, ...lines[i]! })) };
  });
  return { ...report, methods };
}

/** How many test cases each method of a bundled program comes with. */
const casesOf = (program: Program): Record<string, number> =>
  Object.fromEntries(
    program.testSuites().map(({ methodName, testCases }) => [methodName, testCases.length]),
  );

function writePte(
  program: Program,
  report: ProgramReport,
  memory: readonly MemoryPlan[],
  dataFiles: readonly string[],
  allNodes: boolean,
  kind: Kind,
): void {
  const parts: [number, string][] = [
    [report.programBytes, "program"],
    [report.constantBytes, "constants"],
    [report.mutableBytes, "initial state"],
    [report.delegateBytes, "delegates"],
    [report.namedBytes, "named data"],
    [report.otherBytes, "other data"],
  ];
  const present = parts.filter(([bytes], i) => i < 2 || bytes > 0);
  const sizes = present.map(([bytes, name]) => `${formatBytes(bytes)} of ${name}`);
  const cases = kind === "bpte" ? casesOf(program) : {};
  say(`${kind === "bpte" ? "bundled" : "executorch"} program: ${sizes.join(", ")}`);
  for (const [name, count] of Object.entries(cases))
    say(`  ${counted(count, "test case")} of method ${name}`);
  for (const method of report.methods) {
    say(`method ${method.name}: ${counted(method.instructions, "instruction")}`);
    method.inputs.forEach((value) => say(`  in  ${valueText(value)}`));
    method.outputs.forEach((value) => say(`  out ${valueText(value)}`));
    if (method.plannedBytes.length > 0)
      say(`  planned memory ${method.plannedBytes.map((bytes) => formatBytes(bytes)).join(" + ")}`);
    const plan = memory.find((item) => item.method === method.name);
    if (plan) sayMemory(plan);
    for (const { key, dataFile } of method.externalData)
      say(
        `  needs ${key}${dataFile === null ? " of a .ptd" : `, found in ${dataFiles[dataFile]}`}`,
      );
    const lines = linesOf(program, method);
    method.parts.forEach(({ backend, bytes }, i) => {
      say(`  delegate of ${backend}, ${formatBytes(bytes)}`);
      writeLines(lines[i]!, allNodes);
    });
    const fault = delegated(method);
    if (fault) say(`  cannot run here: ${fault.message}`);
    if (Object.keys(method.ops).length > 0) {
      say("  operators");
      writeOps(method.ops);
    }
  }
}

function writeNamed({ named }: ProgramReport): void {
  if (named.length === 0) return;
  say("data that delegates look up");
  for (const { key, bytes } of named) say(`  ${key}: ${formatBytes(bytes)}`);
}

const FLAGS = {
  json: { type: "boolean" },
  nodes: { type: "boolean" },
  data: { type: "string", multiple: true },
  etrecord: { type: "string", multiple: true },
  program: { type: "string" },
  "debug-output": { type: "string" },
  gap: { type: "string" },
  reference: { type: "string" },
  method: { type: "string" },
  time: { type: "string" },
  "source-time": { type: "string" },
  trace: { type: "string" },
  tsv: { type: "string" },
  stage: { type: "string", multiple: true },
  node: { type: "string" },
  help: { type: "boolean", short: "h" },
} as const;

const parseFlags = (args: string[]): ReturnType<typeof parse<ParseConfig>> =>
  parse({ args, allowPositionals: true, options: FLAGS });
interface ParseConfig {
  args: string[];
  allowPositionals: true;
  options: typeof FLAGS;
}
type Flags = ReturnType<typeof parseFlags>["values"];
type Kind = ReturnType<Engine["detect"]>;

/** Which files a flag is for. */
const OF: Readonly<Record<string, readonly Kind[]>> = {
  nodes: ["pte", "bpte"],
  data: ["pte", "bpte"],
  etrecord: ["etdump", "pte", "bpte"],
  program: ["etdump"],
  "debug-output": ["etdump"],
  gap: ["etdump"],
  reference: ["etdump"],
  method: ["etdump", "etrecord"],
  time: ["etdump"],
  "source-time": ["etdump"],
  trace: ["etdump"],
  tsv: ["etdump"],
  stage: ["etrecord"],
  node: ["etrecord"],
};
const KIND_NAMES: Readonly<Record<Kind, string>> = {
  pt2: "a .pt2",
  pte: "a .pte",
  ptd: "a .ptd",
  bpte: "a .bpte",
  etdump: "a dump (.etdp)",
  etrecord: "a record (.etrecord)",
  unknown: "none of the files that are known here",
};
/** What only goes with a single dump. */
const OF_ONE_DUMP = ["gap", "reference", "debug-output", "program", "trace", "tsv"] as const;

function checkFlags(flags: Flags, path: string, kind: Kind): void {
  for (const [flag, kinds] of Object.entries(OF))
    if (flag in flags && !kinds.includes(kind)) {
      const owners = kinds.map((name) => KIND_NAMES[name]).join(" or ");
      throw new UsageError(`--${flag} belongs to ${owners}; ${path} is ${KIND_NAMES[kind]}`);
    }
}

const SCALES: readonly TimeScale[] = ["ns", "us", "ms", "s", "cycles"];

/** The scale that a flag says. */
function scaleOf(flags: Flags, flag: "time" | "source-time"): TimeScale | undefined {
  const text = flags[flag];
  const found = SCALES.find((scale) => scale === text);
  if (text !== undefined && !found)
    throw new UsageError(`--${flag} is one of ${SCALES.join(", ")}, not '${text}'`);
  return found;
}

const fileOf = (path: string | undefined): FileRef | undefined =>
  path === undefined ? undefined : { path };

/** An object without what is not there. */
const given = <T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined),
  ) as ReturnType<typeof given<T>>;

/** Where --trace and --tsv go, with the flags; neither replaces a file that is read. */
function outputsOf(path: string, flags: Flags): Flags {
  const named: Flags = { ...flags };
  for (const [flag, extension] of [
    ["trace", ".json"],
    ["tsv", ".tsv"],
  ] as const) {
    const given = flags[flag];
    if (given === "") throw new UsageError(`say which file: --${flag} events${extension}`);
    if (given !== undefined) named[flag] = outputAt(given, path, extension);
  }
  const debug = flags["debug-output"] ?? [];
  const inputs = [path, ...(flags.etrecord ?? []), debug].flat();
  keepApart(inputs, [named.trace ?? [], named.tsv ?? []].flat());
  return named;
}

/**
 * Opens the dump and asks for the method's runs: told apart by themselves, or else all are of the
 * method that is named.
 */
function openDump(
  engine: Engine,
  files: InspectorFiles,
  options: InspectorOptions,
  method: string | undefined,
): Inspector {
  const inspector = engine.inspector(files, options);
  const isOf = (block: EventBlock): boolean => block.method === method;
  if (method === undefined || inspector.events().some(isOf)) return inspector;
  inspector.dispose();
  return engine.inspector(files, { ...options, method });
}

async function inspectDump(engine: Engine, path: string, given: Flags): Promise<number> {
  const flags = outputsOf(path, given);
  const { json = false, reference, method, trace, tsv } = flags;
  if (reference !== undefined && flags.gap === undefined)
    throw new UsageError("--reference goes with --gap, which compares with it");
  const gap = flags.gap === undefined ? undefined : metricOf(flags.gap);
  const folders = [given.trace ?? [], given.tsv ?? []].flat().filter(isFolder);
  return inFolders(folders, async () => {
    for (const file of [trace ?? [], tsv ?? []].flat()) checkPlace(file);
    const inspector = openDump(engine, filesOf(path, flags), scalesOf(flags), method);
    try {
      const hasProgram = flags.program !== undefined;
      const shown = { json, gap, reference, method, trace, tsv, hasProgram };
      return await showDump(inspector, shown);
    } finally {
      inspector.dispose();
    }
  });
}

const filesOf = (path: string, flags: Flags): InspectorFiles => ({
  etdump: { path },
  ...given({
    etrecord: fileOf(flags.etrecord?.[0]),
    debugBuffer: fileOf(flags["debug-output"]),
    program: fileOf(flags.program),
  }),
});

const scalesOf = (flags: Flags): InspectorOptions =>
  given({
    targetTimeScale: scaleOf(flags, "time"),
    sourceTimeScale: scaleOf(flags, "source-time"),
  });

function compareDumps(engine: Engine, path: string, second: string, flags: Flags): number {
  for (const flag of OF_ONE_DUMP)
    if (flag in flags) throw new UsageError(`--${flag} is of one dump: inspect them one by one`);
  const options = { ...scalesOf(flags), ...given({ method: flags.method }) };
  const inspector = engine.inspector(filesOf(path, flags), options);
  try {
    const other = { etdump: { path: second }, ...given({ etrecord: fileOf(flags.etrecord?.[1]) }) };
    showComparison(inspector.compare(other), flags.json ?? false);
    return EXIT.done;
  } finally {
    inspector.dispose();
  }
}

function inspectDumps(engine: Engine, paths: string[], flags: Flags): Promise<number> | number {
  const [path, second] = paths as [string, string | undefined];
  if ((flags.etrecord?.length ?? 0) > paths.length)
    throw new UsageError("--etrecord is given once for each dump");
  if (second !== undefined) return compareDumps(engine, path, second, flags);
  return inspectDump(engine, path, flags);
}

function inspectRecord(engine: Engine, path: string, flags: Flags): void {
  const inspector = engine.inspector({ etrecord: { path } });
  try {
    const { json = false, stage: stages = [], method, node } = flags;
    showRecord(inspector, { json, stages, method, node });
  } finally {
    inspector.dispose();
  }
}

function inspectPt2(engine: Engine, path: string, flags: Flags): void {
  const report = engine.inspect({ path });
  printWarnings(report.diagnostics);
  if (flags.json) writeJson({ kind: "pt2", ...report });
  else writePt2(report);
}

/** The memory plans of a program, and what is wrong with the record beside it. */
function memoryOf(
  engine: Engine,
  path: string,
  etrecord: string | undefined,
): { plans: MemoryPlan[]; warnings: string[] } {
  const files = { program: { path }, ...given({ etrecord: fileOf(etrecord) }) };
  const inspector = engine.inspector(files);
  try {
    const { warnings } = inspector.report();
    return { plans: inspector.memory(), warnings };
  } finally {
    inspector.dispose();
  }
}

function inspectPte(engine: Engine, kind: Kind, path: string, flags: Flags): void {
  const dataFiles = flags.data ?? [];
  const allNodes = flags.nodes ?? false;
  const program = engine.load({ path }, { dataFiles: dataFiles.map((file) => ({ path: file })) });
  try {
    const report = program.inspect();
    const { plans: memory, warnings } = memoryOf(engine, path, flags.etrecord?.[0]);
    for (const text of warnings) warn(`warning: ${text}`);
    const cases = kind === "bpte" ? { testCases: casesOf(program) } : {};
    if (flags.json)
      writeJson({ kind, ...(allNodes ? withLines(program, report) : report), ...cases, memory });
    else {
      writePte(program, report, memory, dataFiles, allNodes, kind);
      writeNamed(report);
    }
  } finally {
    program.dispose();
  }
}

function inspectFile(engine: Engine, kind: Kind, path: string, flags: Flags): void {
  if (kind === "pt2") inspectPt2(engine, path, flags);
  else if (kind === "pte" || kind === "bpte") inspectPte(engine, kind, path, flags);
  else if (kind === "etrecord") inspectRecord(engine, path, flags);
  else
    throw new SconceError(
      "format",
      `${path} is neither a .pt2 nor a .pte, and no .etdp or .etrecord`,
      "Pass a file of torch.export.save or of ExecuTorch.",
    );
}

export async function inspectCommand(args: string[]): Promise<number> {
  const { values, positionals } = parseFlags(args);
  if (values.help) {
    process.stdout.write(INSPECT_HELP);
    return EXIT.done;
  }
  if (positionals.length < 1 || positionals.length > 2)
    throw new UsageError("say which file to inspect, and only one, or two dumps");
  const engine = await makeEngine();
  const kinds = positionals.map((path) => engine.detect({ path }));
  checkFlags(values, positionals[0]!, kinds[0]!);
  if (positionals.length === 2 && kinds.some((kind) => kind !== "etdump"))
    throw new UsageError("two files are compared if both are dumps (.etdp)");
  if (kinds[0] === "etdump") return inspectDumps(engine, positionals, values);
  inspectFile(engine, kinds[0]!, positionals[0]!, values);
  return EXIT.done;
}
