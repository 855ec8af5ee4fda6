// sconce inspect: what is in a .pt2 or a .pte.
import type {
  CompilationReport,
  MethodSummary,
  Program,
  ProgramMethodInfo,
  ProgramReport,
  ProgramValueInfo,
  TensorInfo,
} from "../types.js";
import { delegated, SconceError } from "../errors.js";
import { formatBytes } from "../size.js";
import { EXIT, makeEngine, parse, printWarnings, say, UsageError } from "./common.js";

export const INSPECT_HELP = `sconce inspect: methods, signatures, operators, sizes, memory plan

  sconce inspect model.pt2
  sconce inspect model.pte --json

  --json            the report as JSON, with --nodes what is in delegates, too
  --nodes           all that is in delegates, not only their first nodes
  --data FILE       a .ptd to look for the weights of a .pte in; may be repeated
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
  say(`method ${method.name}: ${method.nodes} nodes`);
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
    `  ${count("parameter")} parameters, ${count("buffer")} buffers, ${count("constant_tensor")} constants`,
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
  return `${shapeOf(value)}${size}${frozen}${written}`;
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

function writePte(
  program: Program,
  report: ProgramReport,
  dataFiles: readonly string[],
  allNodes: boolean,
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
  say(`executorch program: ${sizes.join(", ")}`);
  for (const method of report.methods) {
    say(`method ${method.name}: ${method.instructions} instructions`);
    method.inputs.forEach((value) => say(`  in  ${valueText(value)}`));
    method.outputs.forEach((value) => say(`  out ${valueText(value)}`));
    if (method.plannedBytes.length > 0)
      say(`  planned memory ${method.plannedBytes.map((bytes) => formatBytes(bytes)).join(" + ")}`);
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

export async function inspectCommand(args: string[]): Promise<number> {
  const { values, positionals } = parse({
    args,
    allowPositionals: true,
    options: {
      json: { type: "boolean" },
      nodes: { type: "boolean" },
      data: { type: "string", multiple: true },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help) {
    process.stdout.write(INSPECT_HELP);
    return EXIT.done;
  }
  if (positionals.length !== 1) throw new UsageError("say which file to inspect, and only one");
  const engine = await makeEngine();
  const source = { path: positionals[0]! };
  const kind = engine.detect(source);
  const isProgram = kind === "pte" || kind === "bpte";
  const dataFiles = values.data ?? [];
  if (dataFiles.length > 0 && !isProgram) throw new UsageError("--data belongs to a .pte");
  if (values.nodes && !isProgram) throw new UsageError("--nodes belongs to a .pte");
  if (kind === "pt2") {
    const report = engine.inspect(source);
    printWarnings(report.diagnostics);
    if (values.json) writeJson({ kind, ...report });
    else writePt2(report);
  } else if (isProgram) {
    const program = engine.load(source, { dataFiles: dataFiles.map((path) => ({ path })) });
    try {
      const report = program.inspect();
      if (values.json) writeJson({ kind, ...(values.nodes ? withLines(program, report) : report) });
      else {
        writePte(program, report, dataFiles, values.nodes ?? false);
        writeNamed(report);
      }
    } finally {
      program.dispose();
    }
  } else {
    throw new SconceError(
      "format",
      `${source.path} is neither a .pt2 nor a .pte`,
      "Pass a file of torch.export.save or of ExecuTorch.",
    );
  }
  return EXIT.done;
}
