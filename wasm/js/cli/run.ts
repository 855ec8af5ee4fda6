// sconce run: execute methods of a .pte on arrays, numbers, or made-up inputs.
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { missingData, SconceError } from "../errors.js";
import { fill } from "../fill.js";
import { isCount } from "../options.js";
import { toRandomAccess } from "../source.js";
import { isTensor } from "../tensor.js";
import type {
  LoadOptions,
  Program,
  ProgramMethodInfo,
  ProgramValueInfo,
  RandomAccess,
  Tensor,
  Value,
} from "../types.js";
import { readCalls, type Call, type CallInput } from "./calls.js";
import { importBackends } from "./backends.js";
import { EXIT, makeEngine, parse, say, terminalProgress, UsageError, warn } from "./common.js";
import { inFolders, keepInputs, readWhole, realOf, writeFiles } from "./files.js";
import { chosenBy, flagHelp, flagsOf } from "./flags.js";
import { writeNpy, writeNpyText } from "./npy.js";
import { recordingOf, RECORD_FLAGS, RECORD_HELP, type Recording } from "./record.js";
import {
  tolerancesOf,
  verifyBundle,
  VERIFY_FLAGS,
  VERIFY_HELP,
  type Tolerances,
} from "./verify.js";
import { describe, FILLERS, parseInput, readArray } from "./values.js";

export const RUN_HELP = `sconce run: execute a .pte, or the one in a .bpte

  sconce run model.pte --input x.npy --out results/
  sconce run model.pte --method decode --input tokens.npy --input 7
  sconce run model.pte --input random:1        one filler for all inputs
  sconce run model.pte --calls calls.json      several calls, state kept between them
  sconce run model.bpte --verify               the calls that a bundled program comes with

  --method NAME     which method; default: the only one, or forward
  --input VALUE     one per flattened input, in order: x.npy, 3.5, 7, true, none, or a filler:
                    zeros, ones, random:SEED (floats of a normal distribution, integers 0 or 1);
                    a single filler stands for all inputs; dynamic sizes take their upper bound
  --out FOLDER      write output_0.npy, output_1.npy, ... there (bfloat16 as V2)
  --data FILE       a .ptd that the program needs; may be repeated
  --import FILE     a JavaScript module whose default export is a backend; may be repeated
  --calls FILE      JSON: [{"method": "m", "inputs": ["x.npy", 3, true, null], "out": "folder"}, ...];
                    files are looked up from here, then beside FILE
  --repeat N        do all of it N times, each from the program's first state
${RECORD_HELP}
${VERIFY_HELP}
${flagHelp("load")}`;

export function methodInfo(program: Program, name: string | undefined): ProgramMethodInfo {
  const { methods } = program.inspect();
  const runnable =
    methods.length === 1 ? methods[0] : methods.find((m) => m.name === (name ?? "forward"));
  const found = name === undefined ? runnable : methods.find((m) => m.name === name);
  if (found) {
    const lacking = missingData([found], "Name the .ptd that was made with it: --data model.ptd.");
    if (lacking) throw lacking;
    return found;
  }
  const names = methods.map((m) => m.name).join(", ");
  throw new SconceError(
    "not_found",
    name === undefined ? "the program has several methods" : `there is no method '${name}'`,
    `Name one with --method: ${names}.`,
  );
}

function checkCount(info: ProgramMethodInfo, count: number): void {
  if (info.inputs.length === count) return;
  throw new SconceError(
    "input",
    `method '${info.name}' takes ${info.inputs.length} inputs, not ${count}`,
    "Pass one --input per flattened input, or a single zeros, ones or random:1.",
  );
}

function commandInputs(info: ProgramMethodInfo, texts: readonly string[]): Value[] {
  const single = texts.length === 1 && FILLERS.test(texts[0]!);
  if (single) return info.inputs.map((input, i) => fill(texts[0]!, input, i));
  checkCount(info, texts.length);
  return texts.map((text, i) => parseInput(text, info.inputs[i]!, i, readWhole));
}

// --- Outputs ---------------------------------------------------------------------------------------

function asTensor(value: number | bigint | boolean, kind: string): Tensor {
  if (typeof value === "boolean")
    return { dtype: "bool", shape: [], data: Uint8Array.of(value ? 1 : 0) };
  if (kind === "double")
    return { dtype: "float64", shape: [], data: Float64Array.of(Number(value)) };
  return { dtype: "int64", shape: [], data: BigInt64Array.of(BigInt(value)) };
}

/**
 * Results by the place that they go to, kept here until all calls are done: a later call may read
 * them, and a command that fails leaves the results of an earlier one alone.
 */
class Results {
  private readonly files = new Map<string, { path: string; bytes: Uint8Array }>();

  /** `inputs` are files that no result replaces. */
  constructor(private readonly inputs: readonly string[]) {}

  addFile(path: string, bytes: Uint8Array): void {
    keepInputs(this.inputs, path);
    this.files.set(realOf(path), { path, bytes });
  }

  add(folder: string, outputs: readonly Value[], info: ProgramMethodInfo): void {
    outputs.forEach((value, i) => {
      if (value === null) return;
      const path = join(folder, `output_${i}.npy`);
      const whole = (): Tensor =>
        isTensor(value)
          ? value
          : asTensor(value as number | bigint | boolean, info.outputs[i]!.kind);
      const bytes = typeof value === "string" ? writeNpyText(value) : writeNpy(whole());
      this.addFile(path, bytes);
    });
  }

  has(path: string): boolean {
    return this.files.has(realOf(path)) || existsSync(path);
  }

  read(path: string): Uint8Array {
    return this.files.get(realOf(path))?.bytes ?? readWhole(path);
  }

  write(): Promise<void> {
    return writeFiles(
      [...this.files.values()].map(({ path, bytes }) => ({ path, write: (to) => to(bytes) })),
    );
  }
}

/** What all calls have in common. */
interface Runs {
  program: Program;
  results: Results;
  recording: Recording;
  /** Whether outputs are shown: by the last of several repetitions. */
  isLast: boolean;
}

function runOnce(
  { program, results, recording, isLast }: Runs,
  info: ProgramMethodInfo,
  inputs: readonly Value[],
  out: string | undefined,
  testCase?: number,
): void {
  const begin = performance.now();
  const outputs = program.run(info.name, inputs, recording.of(testCase));
  const ms = performance.now() - begin;
  if (out !== undefined) results.add(out, outputs, info);
  say(`${info.name}: ${ms.toFixed(2)} ms`);
  if (!isLast) return;
  outputs.forEach((value, i) => {
    const input = info.outputs[i]!.ofInput;
    const written = input === undefined ? "" : ` (input ${input} after the call)`;
    say(`  output_${i}: ${describe(value)}${written}`);
  });
}

// --- Calls -----------------------------------------------------------------------------------------

function callInput(
  value: CallInput,
  info: ProgramValueInfo,
  index: number,
  folder: string,
  results: Results,
): Value {
  if (value === null) return null;
  if (typeof value === "string" && info.kind === "string" && !value.endsWith(".npy")) return value;
  const read = (path: string): Uint8Array => results.read(path);
  const text = typeof value === "object" ? value.number : String(value);
  if (!text.endsWith(".npy")) return parseInput(text, info, index, read);
  return readArray(results.has(text) ? text : resolve(folder, text), info, read);
}

/** The inputs of a call, from files that are looked up from here, then from `folder`. */
export function callInputs(
  info: ProgramMethodInfo,
  given: readonly CallInput[],
  folder: string,
  results = new Results([]),
): Value[] {
  const filler =
    given.length === 1 && typeof given[0] === "string" && FILLERS.test(given[0])
      ? given[0]
      : undefined;
  if (filler !== undefined) return commandInputs(info, [filler]);
  checkCount(info, given.length);
  return given.map((value, i) => callInput(value, info.inputs[i]!, i, folder, results));
}

function runCalls(runs: Runs, calls: readonly Call[], folder: string): void {
  const { program, results } = runs;
  const counts = new Map<string, number>();
  for (const { method, inputs: given, out } of calls) {
    const info = methodInfo(program, method);
    const testCase = counts.get(info.name) ?? 0;
    counts.set(info.name, testCase + 1);
    const inputs = callInputs(info, given, folder, results);
    runOnce(runs, info, inputs, out, testCase);
  }
}

/** How often, of the text of a flag. */
function repetitions(text = "1"): number {
  if (!/^[0-9]+$/.test(text) || !isCount(Number(text)))
    throw new UsageError(`--repeat takes a positive whole number, not '${text}'`);
  return Number(text);
}

// --- Data files ------------------------------------------------------------------------------------

/** A .ptd that knows whether tensors were read from it, or only the directory at its beginning. */
class DataFile implements RandomAccess {
  private readonly file: RandomAccess;
  isUsed = false;

  constructor(readonly path: string) {
    this.file = toRandomAccess({ path }, path);
  }

  get size(): number {
    return this.file.size;
  }

  read(offset: number, length: number): Uint8Array {
    if (offset > 0) this.isUsed = true;
    return this.file.read(offset, length);
  }
}

async function loadProgram(
  path: string,
  options: LoadOptions,
  backends: readonly string[],
): Promise<Program> {
  const engine = await makeEngine();
  await importBackends(engine, backends);
  const progress = terminalProgress(path);
  try {
    if (engine.detect({ path }) === "pt2")
      throw new SconceError(
        "format",
        `${path} is a .pt2, which is lowered before it runs`,
        `Lower it first: sconce lower ${path} -o ${path.replace(/(\.pt2)?$/, ".pte")}`,
      );
    return engine.load({ path }, options);
  } finally {
    progress.clear();
  }
}

async function verify(
  program: Program,
  tolerances: Tolerances,
  count: number,
  recording: Recording,
  results: Results,
): Promise<number> {
  const isRight = verifyBundle(program, tolerances, count, recording);
  for (const { path, bytes } of recording.files(program)) results.addFile(path, bytes);
  await results.write();
  program.dispose();
  return isRight ? EXIT.done : EXIT.failed;
}

export async function runCommand(args: string[]): Promise<number> {
  const { values, positionals } = parse({
    args,
    allowPositionals: true,
    options: {
      method: { type: "string" },
      input: { type: "string", multiple: true },
      out: { type: "string" },
      data: { type: "string", multiple: true },
      calls: { type: "string" },
      import: { type: "string", multiple: true },
      repeat: { type: "string" },
      ...RECORD_FLAGS,
      ...VERIFY_FLAGS,
      ...flagsOf("load"),
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help) {
    process.stdout.write(RUN_HELP);
    return EXIT.done;
  }
  if (positionals.length !== 1) throw new UsageError("say which .pte to run, and only one");
  if (values.calls !== undefined && (values.input || values.method || values.out)) {
    throw new UsageError("--calls says method, inputs and out itself");
  }
  if (values.out === "") throw new UsageError("say which folder: --out results/");
  const calls = values.calls === undefined ? undefined : readCalls(values.calls);
  const folders = calls ? calls.flatMap(({ out }) => out ?? []) : (values.out ?? []);
  const path = positionals[0]!;
  const count = repetitions(values.repeat);
  const recording = recordingOf(values);
  const tolerances = tolerancesOf(values);
  if (values.verify && (calls ?? values.input ?? values.method ?? values.out) !== undefined)
    throw new UsageError("--verify runs the calls that the bundle comes with, and no others");
  const dataFiles = (values.data ?? []).map((file) => new DataFile(file));
  const results = new Results([
    path,
    ...(values.data ?? []),
    ...(values.calls ? [values.calls] : []),
  ]);
  const options = { dataFiles, ...chosenBy(values, "load"), ...recording.load };
  const program = await loadProgram(path, options, values.import ?? []);
  if (tolerances) return verify(program, tolerances, count, recording, results);
  await inFolders([folders].flat(), async () => {
    for (let i = 1; i <= count; i++) {
      const runs = { program, results, recording, isLast: i === count };
      if (i > 1) program.reset();
      if (calls) runCalls(runs, calls, dirname(values.calls!));
      else {
        const info = methodInfo(program, values.method);
        const inputs = commandInputs(info, values.input ?? []);
        runOnce(runs, info, inputs, values.out);
      }
    }
    for (const { path, bytes } of recording.files(program)) results.addFile(path, bytes);
    await results.write();
  });
  for (const file of dataFiles.filter(({ isUsed }) => !isUsed))
    warn(`warning: ${file.path} holds nothing that was needed`);
  program.dispose();
  return EXIT.done;
}
