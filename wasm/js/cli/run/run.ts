// sconce run: execute methods of a .pte on arrays, numbers, or made-up inputs.
import { dirname } from "node:path";
import { SconceError } from "../../base/errors.js";
import { isCount } from "../../call/options.js";
import { toRandomAccess } from "../../source/access.js";
import type {
  Engine,
  LoadOptions,
  Program,
  ProgramMethodInfo,
  RandomAccess,
  Value,
} from "../../types/index.js";
import { importModules } from "../shell/backends.js";
import { readCalls, type Call } from "../files/calls.js";
import { defineCommand, type ValuesOf } from "../shell/command.js";
import { PROGRAM_FLAGS } from "../shell/program_flags.js";
import { makeEngine } from "../engine.js";
import { terminalProgress } from "../print/progress.js";
import { EXIT, UsageError } from "../usage.js";
import { inFolders, isFolder } from "../files/files.js";
import { chosenBy } from "../shell/flags.js";
import { printJson } from "../print/json.js";
import { outputLabel } from "./named.js";
import { isRecorded, recordingOf, RECORDING_FLAGS, type Recording } from "./recording.js";
import { callInputs, checkExamples, commandInputs, examplesOf, methodInfo } from "./inputs.js";
import { jsonOutputs, type JsonOutput } from "./json.js";
import { checkOutputs, Results, type Place } from "./results.js";
import {
  claimInputs,
  claimOutputs,
  isInputStream,
  isOutputStream,
  sourceOf,
} from "../files/streams.js";
import { isJson, note, say, tell } from "../print/terminal.js";
import { describe } from "../files/values.js";
import { checkTokens, runTokens, TOKEN_FLAGS } from "../llm/tokens.js";
import { tolerancesOf, verifyBundle, VERIFY_FLAGS, type Tolerances } from "./verify.js";

const FLAGS = {
  method: {
    type: "string",
    value: "NAME",
    text: "the method to run; by default the only one that computes something, or forward",
  },
  input: {
    type: "string",
    multiple: true,
    value: "VALUE",
    suggests: () => ["zeros", "ones", "random:1", "example", "true", "false", "none"],
    text:
      "a value for each input that inspect shows, in its order, or each with its name: mask=x.npy. A value is " +
      "an .npy file, 3.5, 7, true, none, - (an .npy on the standard input), zeros, ones, or random:SEED " +
      "(floats of a normal distribution, integers 0 or 1). Sizes may follow: zeros:1x3x8, " +
      "random:SEED:1x3x8; without them a dynamic size has its upper bound. A single zeros, ones or " +
      "random:SEED fills all inputs. example takes all inputs from the record of --etrecord; " +
      "inspect --gap needs that",
  },
  etrecord: { type: "string", value: "FILE", text: "the record for --input example" },
  out: {
    type: "string",
    value: "FOLDER",
    text: "write the outputs to output_0.npy, output_1.npy, ... in this folder; bfloat16 has the .npy type V2",
  },
  ...PROGRAM_FLAGS,
  calls: {
    type: "string",
    value: "FILE",
    text:
      'make several calls, and keep the state between them. FILE is JSON: [{"method": "m", "inputs": ' +
      '["x.npy", 3, true, null], "out": "folder"}, ...]. Inputs by name are {"x": "x.npy"}. Files are ' +
      "looked up in the working folder, then in the folder of FILE",
  },
  repeat: {
    type: "string",
    value: "N",
    text: "run all calls N times, each time from the initial state of the program",
  },
  ...RECORDING_FLAGS,
  ...VERIFY_FLAGS,
  ...TOKEN_FLAGS,
} as const;
type Values = ValuesOf<typeof FLAGS>;

// --- Calls -----------------------------------------------------------------------------------------

/** A call that was made, as it stands in JSON. */
interface JsonCall {
  readonly method: string;
  /** One for each repetition. */
  readonly milliseconds: number[];
  outputs: JsonOutput[];
}

/** The settings that all calls share. */
interface Runs {
  program: Program;
  results: Results;
  recording: Recording;
  /** True if outputs are shown. The last of several repetitions shows them. */
  isLast: boolean;
  /** Called after each run, with its report in JSON. */
  ran(method: string, milliseconds: number, outputs: () => JsonOutput[]): void;
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
  ran(info.name, ms, () => jsonOutputs(outputs, info, out));
  if (out !== undefined) results.add(out, outputs, info);
  tell(`${info.name}: ${ms.toFixed(2)} ms`);
  if (!isLast) return;
  outputs.forEach((value, i) => {
    const input = info.outputs[i]!.ofInput;
    const written = input === undefined ? "" : ` (input ${input} after the call)`;
    say(`  ${outputLabel(info, i)}: ${describe(value)}${written}`);
  });
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

// --- The program -------------------------------------------------------------------------------------

/** A .ptd that knows whether tensors were read from it, or only the directory at its beginning. */
class DataFile implements RandomAccess {
  private readonly file: RandomAccess;
  isUsed = false;

  constructor(readonly path: string) {
    this.file = toRandomAccess(sourceOf(path), path);
  }

  get size(): number {
    return this.file.size;
  }

  read(offset: number, length: number): Uint8Array {
    if (offset > 0) this.isUsed = true;
    return this.file.read(offset, length);
  }
}

function loadProgram(engine: Engine, path: string, options: LoadOptions): Program {
  const progress = terminalProgress(path);
  const source = sourceOf(path);
  try {
    if (engine.detect(source) === "pt2")
      throw new SconceError(
        "format",
        `${path} is a .pt2, which is lowered before it runs`,
        `Lower it first: sconce lower ${path} -o ${isInputStream(path) ? "model" : path.replace(/\.pt2$/, "")}.pte`,
      );
    return engine.load(source, options);
  } finally {
    progress.clear();
  }
}

async function writeDump(program: Program, recording: Recording, results: Results): Promise<void> {
  for (const { path, bytes } of recording.files(program)) results.addDump(path, bytes);
  await results.write();
}

// --- The command -------------------------------------------------------------------------------------

/** All that flags tell without the program. */
interface Job {
  readonly path: string;
  readonly calls: readonly Call[] | undefined;
  readonly count: number;
  readonly recording: Recording;
  readonly tolerances: Tolerances | undefined;
  readonly texts: readonly string[];
  readonly dataFiles: readonly DataFile[];
  /** Files that no result replaces. */
  readonly inputs: readonly string[];
  /** Arrays that are read: no dump replaces them. */
  readonly arrays: readonly string[];
}

/** The flags of other ways to run a program. */
const BESIDE_TOKENS = ["calls", "input", "method", "out", "repeat", "verify", "etdump"] as const;

function checkFlags(values: Values, files: readonly string[]): void {
  if (files.length !== 1) throw new UsageError("name one .pte or .bpte file to run");
  if (values.calls !== undefined && (values.input || values.method || values.out))
    throw new UsageError(
      "--calls names methods, inputs and outputs itself: leave out --method, --input and --out",
    );
  if (values.out === "") throw new UsageError("say which folder: --out results/");
  if (values.out !== undefined && isOutputStream(values.out))
    throw new UsageError(
      "--out must be a folder, because a method may have several outputs",
      "--json prints the outputs on the standard output.",
    );
  const given = values.calls ?? values.input ?? values.out;
  if (values.verify && given !== undefined)
    throw new UsageError("--verify runs the calls that the bundle comes with, and no others");
  checkExamples(values.input ?? [], values.etrecord);
  checkTokens(values);
  const other =
    values.tokens === undefined ? undefined : BESIDE_TOKENS.find((flag) => values[flag]);
  if (other !== undefined)
    throw new UsageError(`--tokens runs a language model, which --${other} does not fit`);
}

function jobOf(values: Values, files: readonly string[]): Job {
  const path = files[0]!;
  const data = values.data ?? [];
  const inputs = [path, data, values.calls ?? [], values.etrecord ?? []].flat();
  const texts = values.input ?? [];
  claimInputs([...inputs, ...texts]);
  const calls = values.calls === undefined ? undefined : readCalls(values.calls);
  const given = [...texts, ...(calls ?? []).flatMap((call) => Object.values(call.inputs))];
  const named = given.filter((text) => typeof text === "string");
  claimInputs([...inputs, ...named]);
  return {
    path,
    calls,
    count: repetitions(values.repeat),
    recording: recordingOf(values, path),
    tolerances: tolerancesOf(values),
    texts,
    dataFiles: data.map((file) => new DataFile(file)),
    inputs,
    // A value may have its input's name before it.
    arrays: named
      .filter((text) => text.endsWith(".npy"))
      .flatMap((text) => [text, text.replace(/^[^=]*=/, "")]),
  };
}

async function verify(
  program: Program,
  { tolerances, count, recording, path }: Job,
  method: string | undefined,
  results: Results,
): Promise<number> {
  let verdicts: ReturnType<typeof verifyBundle> = { isRight: false, cases: [] };
  const areAll = isRecorded(() => {
    verdicts = verifyBundle(program, tolerances!, count, method, recording);
  });
  await writeDump(program, recording, results);
  if (isJson()) printJson({ kind: "verify", program: path, ...verdicts, isComplete: areAll });
  return verdicts.isRight && areAll ? EXIT.done : EXIT.failed;
}

/** Runs everything as often as is asked; false where the recording became too large. */
function runAll(
  engine: Engine,
  program: Program,
  values: Values,
  job: Job,
  results: Results,
): { areAll: boolean; calls: JsonCall[] } {
  const { calls, count, recording, texts } = job;
  const made: JsonCall[] = [];
  let done = 0;
  const places = (calls ?? [{ method: values.method, out: values.out }]).map(
    ({ method, out }): Place => ({ info: methodInfo(program, method), folder: out }),
  );
  checkOutputs(places, recording.paths);
  const { etrecord } = values;
  const examples =
    etrecord === undefined ? undefined : examplesOf(engine, etrecord, places[0]!.info);
  const ran = (method: string, milliseconds: number, outputs: () => JsonOutput[]): void => {
    const place = done++ % places.length;
    const call = (made[place] ??= { method, milliseconds: [], outputs: [] });
    call.milliseconds.push(milliseconds);
    if (isJson() && done > (count - 1) * places.length) call.outputs = outputs();
  };
  const repeat = (): void => {
    for (let i = 1; i <= count; i++) {
      const runs = { program, results, recording, isLast: i === count, ran };
      if (i > 1) program.reset();
      if (calls) runCalls(runs, calls, dirname(values.calls!));
      else {
        const { info } = places[0]!;
        runOnce(runs, info, commandInputs(info, texts, examples), values.out);
      }
    }
  };
  return { areAll: isRecorded(repeat, () => done), calls: made };
}

async function runProgram(values: Values, files: string[]): Promise<number> {
  checkFlags(values, files);
  const job = jobOf(values, files);
  const { path, recording, dataFiles, inputs } = job;
  claimOutputs(recording.paths, true);
  const engine = await makeEngine();
  await importModules(engine, values.import ?? []);
  const program = loadProgram(engine, path, {
    dataFiles: [...dataFiles],
    ...chosenBy(values, "load"),
    ...recording.load,
  });
  if (values.tokens !== undefined) {
    const { seed } = chosenBy(values, "load") as { seed?: number };
    await runTokens(program, path, values, seed);
    program.dispose();
    return EXIT.done;
  }
  const results = new Results(inputs);
  const folders = job.calls ? job.calls.flatMap(({ out }) => out ?? []) : [values.out ?? []].flat();
  const dumps = [values.etdump ?? [], values["debug-output"] ?? []].flat().filter(isFolder);
  const code = await inFolders([...folders, ...dumps], async () => {
    for (const file of recording.paths) results.check(file, job.arrays);
    if (job.tolerances) return verify(program, job, values.method, results);
    const { areAll, calls } = runAll(engine, program, values, job, results);
    // Outputs from before the recording was full are not those that were asked for.
    await writeDump(program, recording, areAll ? results : new Results(inputs));
    if (isJson()) printJson({ kind: "run", program: path, calls, isComplete: areAll });
    return areAll ? EXIT.done : EXIT.failed;
  });
  for (const file of dataFiles.filter(({ isUsed }) => !isUsed))
    note(`warning: ${file.path} has no weights that the program needs`);
  program.dispose();
  return code;
}

/** The command sconce run. */
export const RUN = defineCommand({
  name: "run",
  summary: "runs a .pte or .bpte program",
  examples: [
    "sconce run model.pte --input x.npy --out results/",
    "sconce run model.pte --method decode --input tokens.npy --input 7",
    "sconce run model.pte --input random:1        one filler for all inputs",
    "sconce run model.pte --input random:1 --json | jq .calls[0].outputs[0].data",
    "sconce run model.pte --input example --etrecord model.etrecord --etdump run.etdp",
    "sconce run model.pte --calls calls.json      several calls, state kept between them",
    'sconce run model.pte --tokens "Once upon a time" --tokenizer tokenizer.json',
    "sconce run model.bpte --verify               the calls that a bundled program comes with",
  ],
  files: "FILE.pte",
  flags: FLAGS,
  options: ["load"],
  run: runProgram,
});
