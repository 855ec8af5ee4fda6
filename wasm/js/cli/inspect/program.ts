// sconce inspect of a .pt2, a .pte or a .bpte: methods, signatures, operators, sizes, memory plan.
import { counted } from "../../base/counted.js";
import { delegated, SconceError } from "../../base/errors.js";
import { formatBytes } from "../../base/size.js";
import type {
  CompilationReport,
  Engine,
  MemoryPlan,
  MethodSummary,
  Program,
  ProgramMethodInfo,
  ProgramReport,
  ProgramValueInfo,
  TensorInfo,
} from "../../types/index.js";
import { printWarnings, warnOf } from "../print/errors.js";
import { sayMemory } from "./memory.js";
import { printJson } from "../print/json.js";
import { sourceOf } from "../files/streams.js";
import { isJson, say } from "../print/terminal.js";

function shapeOf(info: { kind: string; dtype?: string; shape?: (number | string)[] }): string {
  return info.kind === "tensor" ? `${info.dtype} [${info.shape!.join(", ")}]` : info.kind;
}

function writeOps(ops: Record<string, number>): void {
  const sorted = Object.entries(ops).sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  for (const [op, count] of sorted) say(`    ${String(count).padStart(5)} ${op}`);
}

function bound(value: number | null, absent: string): string {
  return value === null ? absent : String(value);
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
  const count = (role: string): number => method.inputs.filter((i) => i.role === role).length;
  const mutated = method.outputs.filter((o) => o.role.endsWith("_mutation")).map((o) => o.target);
  say(
    `  ${counted(count("parameter"), "parameter")}, ${counted(count("buffer"), "buffer")}, ${counted(count("constant_tensor"), "constant")}`,
  );
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

/** The parts of a method in lines; or why they cannot be shown. */
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
    say(`    and ${counted(lines.length - shown.length, "more line")}, which --nodes shows`);
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

const KINDS = { pte: "executorch", bpte: "bundled", packed: "packed" } as const;

function writePte(
  program: Program,
  report: ProgramReport,
  memory: readonly MemoryPlan[],
  dataFiles: readonly string[],
  allNodes: boolean,
  kind: keyof typeof KINDS,
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
  say(`${KINDS[kind]} program: ${sizes.join(", ")}`);
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

/** Prints what is in a .pt2. */
export function inspectPt2(engine: Engine, path: string): void {
  const report = engine.inspect(sourceOf(path));
  printWarnings(report.diagnostics);
  if (isJson()) printJson({ kind: "pt2", ...report });
  else writePt2(report);
}

/** The memory plans of a program, and what is wrong with its record. */
function memoryOf(
  engine: Engine,
  path: string,
  etrecord: string | undefined,
): { plans: MemoryPlan[]; warnings: string[] } {
  const record = etrecord === undefined ? {} : { etrecord: sourceOf(etrecord) };
  const files = { program: sourceOf(path), ...record };
  const inspector = engine.inspector(files);
  try {
    const { warnings } = inspector.report();
    return { plans: inspector.memory(), warnings };
  } finally {
    inspector.dispose();
  }
}

/** The flags that choose what is shown of a .pte. */
export interface PteFlags {
  readonly data?: string[] | undefined;
  readonly nodes?: boolean | undefined;
  readonly etrecord?: string[] | undefined;
}

/** Prints what is in a .pte. */
export function inspectPte(
  engine: Engine,
  kind: keyof typeof KINDS,
  path: string,
  { data: dataFiles = [], nodes: allNodes = false, etrecord }: PteFlags,
): void {
  const program = engine.load(sourceOf(path), { dataFiles: dataFiles.map(sourceOf) });
  try {
    const report = program.inspect();
    const { plans: memory, warnings } = memoryOf(engine, path, etrecord?.[0]);
    warnOf(warnings);
    const cases = kind === "bpte" ? { testCases: casesOf(program) } : {};
    if (isJson())
      printJson({ kind, ...(allNodes ? withLines(program, report) : report), ...cases, memory });
    else {
      writePte(program, report, memory, dataFiles, allNodes, kind);
      writeNamed(report);
    }
  } finally {
    program.dispose();
  }
}
