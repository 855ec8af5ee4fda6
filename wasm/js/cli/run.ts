// sconce run: execute methods of a .pte on arrays, numbers, or made-up inputs.
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { missingData, SconceError } from "../errors.js";
import { fill } from "../fill.js";
import { isCount } from "../options.js";
import { flatValues } from "../record.js";
import { toRandomAccess } from "../source/access.js";
import { isTensor } from "../tensor.js";
import type {
  Engine,
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
import {
  checkPlace,
  inFolders,
  isFolder,
  keepInputs,
  readWhole,
  realOf,
  writeFiles,
} from "./files.js";
import { chosenBy, flagHelp, flagsOf } from "./flags.js";
import { writeNpy, writeNpyText } from "./npy.js";
import {
  isRecorded,
  recordingOf,
  RECORDING_FLAGS,
  RECORDING_HELP,
  type Recording,
} from "./recording.js";
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
  sconce run model.pte --input example --etrecord model.etrecord --etdump run.etdp
  sconce run model.pte --calls calls.json      several calls, state kept between them
  sconce run model.bpte --verify               the calls that a bundled program comes with

  --method NAME     which method; default: the only one, or forward
  --input VALUE     one per flattened input, in order: x.npy, 3.5, 7, true, none, or a filler:
                    zeros, ones, random:SEED (floats of a normal distribution, integers 0 or 1);
                    a single filler stands for all inputs; dynamic sizes take their upper bound
                    example: all inputs as a record has them, on which inspect --gap relies
  --etrecord FILE   the record for --input example
  --out FOLDER      write output_0.npy, output_1.npy, ... there (bfloat16 as V2)
  --data FILE       a .ptd that the program needs; may be repeated
  --import FILE     a JavaScript module whose default export is a backend; may be repeated
  --calls FILE      JSON: [{"method": "m", "inputs": ["x.npy", 3, true, null], "out": "folder"}, ...];
                    files are looked up from here, then beside FILE
  --repeat N        do all of it N times, each from the program's first state
${RECORDING_HELP}
${VERIFY_HELP}
${flagHelp("load")}`;

/** The method of that name, or the one that needs no name; `advice` says where to put one. */
export function methodInfo(
  program: Program,
  name: string | undefined,
  advice = "Name one with --method",
): ProgramMethodInfo {
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
    `${advice}: ${names}.`,
  );
}

function checkCount(info: ProgramMethodInfo, count: number): void {
  if (info.inputs.length === count) return;
  throw new SconceError(
    "input",
    `method '${info.name}' takes ${info.inputs.length} input${info.inputs.length === 1 ? "" : "s"}, not ${count}`,
    "Pass one --input per flattened input, or a single zeros, ones or random:1.",
  );
}

function commandInputs(
  info: ProgramMethodInfo,
  texts: readonly string[],
  examples?: readonly Value[],
): Value[] {
  if (examples) {
    checkCount(info, examples.length);
    return [...examples];
  }
  const single = texts.length === 1 && FILLERS.test(texts[0]!);
  if (single) return info.inputs.map((input, i) => fill(texts[0]!, input, i));
  checkCount(info, texts.length);
  return texts.map((text, i) => parseInput(text, info.inputs[i]!, i, readWhole));
}

const EXAMPLE = "example";

function fits(value: Value, { kind, dtype, shape = [], dynamic }: ProgramValueInfo): boolean {
  if (!isTensor(value)) return kind !== "tensor";
  const isSize = (size: number, d: number): boolean =>
    dynamic ? size <= shape[d]! : size === shape[d];
  return value.dtype === dtype && value.shape.length === shape.length && value.shape.every(isSize);
}

/** Whether they can be the inputs of the method: those of a record may be another method's. */
const areOf = (info: ProgramMethodInfo, values: readonly Value[]): boolean =>
  values.length === info.inputs.length && values.every((value, i) => fits(value, info.inputs[i]!));

/** The inputs that a record holds for a method, on which --gap runs the program that it compares with. */
function examplesOf(engine: Engine, path: string, info: ProgramMethodInfo): Value[] {
  const record = engine.parseEtrecord({ path });
  try {
    const { methods } = record.inspect();
    // Records of one method may call it forward, whichever it is.
    const only = methods.length === 1 && methods[0] === "forward" ? "forward" : info.name;
    if (!methods.includes(only))
      throw new SconceError(
        "not_found",
        `${path} is of ${methods.join(", ")}, and not of method '${info.name}'`,
        "Name the record of this program, or inputs as --input x.npy.",
      );
    const found = record.representativeInputs();
    const representative = found && flatValues(found);
    if (representative && areOf(info, representative)) return representative;
    const examples = record.exampleInputs(only);
    const flat = examples && flatValues(examples);
    if (flat && areOf(info, flat)) return flat;
    if (flat ?? representative)
      throw new SconceError(
        "input",
        `the inputs that ${path} holds do not fit method '${info.name}'`,
        "Name the record of this program, or inputs as --input x.npy.",
      );
    throw new SconceError(
      "not_found",
      `${path} holds no representative inputs, and none that method '${info.name}' was exported with`,
      methods.length > 1
        ? "Write a record of each method, sconce lower --etrecord-per-method FOLDER, or name inputs as --input x.npy."
        : "Lower a program that was exported with example inputs, or name inputs as --input x.npy.",
    );
  } finally {
    record.dispose();
  }
}

/** Whether inputs are those of a record; the two flags go together. */
function checkExamples(texts: readonly string[], etrecord: string | undefined): void {
  const isAsked = texts.includes(EXAMPLE);
  if (isAsked && texts.length > 1)
    throw new UsageError("--input example stands for all inputs, and for no single one");
  if (isAsked && etrecord === undefined)
    throw new UsageError("--input example needs the record: --etrecord model.etrecord");
  if (!isAsked && etrecord !== undefined)
    throw new UsageError("--etrecord is where the inputs of --input example come from");
}

// --- Outputs ---------------------------------------------------------------------------------------

function asTensor(value: number | bigint | boolean, kind: string): Tensor {
  if (typeof value === "boolean")
    return { dtype: "bool", shape: [], data: Uint8Array.of(value ? 1 : 0) };
  if (kind === "double")
    return { dtype: "float64", shape: [], data: Float64Array.of(Number(value)) };
  return { dtype: "int64", shape: [], data: BigInt64Array.of(BigInt(value)) };
}

const outputPath = (folder: string, index: number): string => join(folder, `output_${index}.npy`);

/** What a call is of, and where its outputs go. */
interface Place {
  info: ProgramMethodInfo;
  folder: string | undefined;
}

/** Throws, before anything runs, where outputs cannot be written, or two calls' would be one file. */
function checkOutputs(places: readonly Place[], dumps: readonly string[]): void {
  const owners = new Map(
    dumps.map((path): [string, number | undefined] => [realOf(path), undefined]),
  );
  for (const [call, { info, folder }] of places.entries())
    for (let i = 0; folder !== undefined && i < info.outputs.length; i++) {
      const path = outputPath(folder, i);
      const owner = owners.get(realOf(path));
      if (owner !== undefined)
        throw new UsageError(
          `calls ${owner} and ${call} would both write ${path}: give each an "out" of its own`,
        );
      if (owners.has(realOf(path)))
        throw new UsageError(`two of the files would be written to ${path}`);
      checkPlace(path);
      owners.set(realOf(path), call);
    }
}

/**
 * Results by the place that they go to, kept here until all calls are done: a later call may read
 * them, and a command that fails leaves the results of an earlier one alone.
 */
class Results {
  private readonly files = new Map<string, { path: string; bytes: Uint8Array }>();

  /** `inputs` are files that no result replaces. */
  constructor(private readonly inputs: readonly string[]) {}

  /** Throws where a file cannot be written, before there is anything to write. */
  check(path: string, more: readonly string[]): void {
    keepInputs([...this.inputs, ...more], path);
    checkPlace(path);
  }

  addFile(path: string, bytes: Uint8Array): void {
    keepInputs(this.inputs, path);
    this.files.set(realOf(path), { path, bytes });
  }

  addDump(path: string, bytes: Uint8Array): void {
    if (this.files.has(realOf(path)))
      throw new UsageError(`two of the files would be written to ${path}`);
    this.addFile(path, bytes);
  }

  add(folder: string, outputs: readonly Value[], info: ProgramMethodInfo): void {
    outputs.forEach((value, i) => {
      if (value === null) return;
      const path = outputPath(folder, i);
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
  /** Called after each run. */
  ran(): void;
}

function runOnce(
  { program, results, recording, isLast, ran }: Runs,
  info: ProgramMethodInfo,
  inputs: readonly Value[],
  out: string | undefined,
  testCase?: number,
): void {
  const begin = performance.now();
  const outputs = program.run(info.name, inputs, recording.of(testCase));
  const ms = performance.now() - begin;
  ran();
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
  engine: Engine,
  path: string,
  options: LoadOptions,
  backends: readonly string[],
): Promise<Program> {
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

async function writeDump(program: Program, recording: Recording, results: Results): Promise<void> {
  for (const { path, bytes } of recording.files(program)) results.addDump(path, bytes);
  await results.write();
}

async function verify(
  program: Program,
  tolerances: Tolerances,
  count: number,
  method: string | undefined,
  recording: Recording,
  results: Results,
): Promise<number> {
  let isRight = false;
  const areAll = isRecorded(() => {
    isRight = verifyBundle(program, tolerances, count, method, recording);
  });
  await writeDump(program, recording, results);
  return isRight && areAll ? EXIT.done : EXIT.failed;
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
      etrecord: { type: "string" },
      ...RECORDING_FLAGS,
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
  const folders = calls ? calls.flatMap(({ out }) => out ?? []) : [values.out ?? []].flat();
  const path = positionals[0]!;
  const count = repetitions(values.repeat);
  const recording = recordingOf(values, path);
  const tolerances = tolerancesOf(values);
  if (values.verify && (calls ?? values.input ?? values.out) !== undefined)
    throw new UsageError("--verify runs the calls that the bundle comes with, and no others");
  const texts = values.input ?? [];
  checkExamples(texts, values.etrecord);
  const dataFiles = (values.data ?? []).map((file) => new DataFile(file));
  const inputs = [path, values.data ?? [], values.calls ?? [], values.etrecord ?? []].flat();
  const results = new Results(inputs);
  const given = [...texts, ...(calls ?? []).flatMap((call) => call.inputs)];
  const arrays = given.flatMap((text) =>
    typeof text === "string" && text.endsWith(".npy") ? text : [],
  );
  const engine = await makeEngine();
  const options = { dataFiles, ...chosenBy(values, "load"), ...recording.load };
  const program = await loadProgram(engine, path, options, values.import ?? []);
  const beside = [values.etdump ?? [], values["debug-output"] ?? []].flat().filter(isFolder);
  const code = await inFolders([...folders, ...beside], async () => {
    for (const file of recording.paths) results.check(file, arrays);
    if (tolerances) return verify(program, tolerances, count, values.method, recording, results);
    const places = (calls ?? [{ method: values.method, out: values.out }]).map(
      ({ method, out }): Place => ({ info: methodInfo(program, method), folder: out }),
    );
    checkOutputs(places, recording.paths);
    const examples =
      values.etrecord === undefined
        ? undefined
        : examplesOf(engine, values.etrecord, places[0]!.info);
    let done = 0;
    const repeat = (): void => {
      for (let i = 1; i <= count; i++) {
        const runs = { program, results, recording, isLast: i === count, ran: () => done++ };
        if (i > 1) program.reset();
        if (calls) runCalls(runs, calls, dirname(values.calls!));
        else {
          const info = methodInfo(program, values.method);
          runOnce(runs, info, commandInputs(info, texts, examples), values.out);
        }
      }
    };
    const areAll = isRecorded(repeat, () => done);
    // What was returned before the recording was full is not what was asked for.
    await writeDump(program, recording, areAll ? results : new Results(inputs));
    return areAll ? EXIT.done : EXIT.failed;
  });
  for (const file of dataFiles.filter(({ isUsed }) => !isUsed))
    warn(`warning: ${file.path} holds nothing that was needed`);
  program.dispose();
  return code;
}
