// sconce lower: one file, several files each on its own, or several files as methods of one program.
import { basename, join } from "node:path";
import type { CallOptions, Diagnostic, Engine, LowerOptions, Programs } from "../../types/index.js";
import { namesByMethod, checkBackends, importModules, importPlanners } from "../shell/backends.js";
import { readByMethod, type MethodFlags } from "../shell/by_method.js";
import { defineCommand, type ValuesOf } from "../shell/command.js";
import { makeEngine } from "../engine.js";
import { printError, printWarnings, type FileOf } from "../print/errors.js";
import { terminalProgress } from "../print/progress.js";
import { EXIT, UsageError } from "../usage.js";
import {
  checkPlace,
  inFolders,
  isFolder,
  keepApart,
  keepInputs,
  outputAt,
  statsOf,
} from "../files/files.js";
import { chosenBy } from "../shell/flags.js";
import { errorJson, printJson, type JsonError } from "../print/json.js";
import {
  dataPath,
  lineOf,
  recordFiles,
  reportFile,
  writeProgram,
  writtenOf,
  type Records,
  type WrittenProgram,
} from "./files.js";
import { constantsOf, outputOf, pairs, PROGRAM_FLAGS } from "./flags.js";
import { isAsWithout, reportOf, sayDelegation, sayVerification } from "./report.js";
import {
  claimInputs,
  claimOutputs,
  isInputStream,
  isOutputStream,
  sourceOf,
} from "../files/streams.js";
import { isJson, isQuiet, note, tell, warn } from "../print/terminal.js";

const FLAGS = {
  output: {
    type: "string",
    short: "o",
    value: "PATH",
    text: "the .pte to write, a folder (ends in / or exists), or - for the standard output",
  },
  method: PROGRAM_FLAGS.method,
  constant: PROGRAM_FLAGS.constant,
  backend: {
    type: "string",
    multiple: true,
    value: "NAME",
    suggests: () => ["xnnpack"],
    text:
      "let this backend run the nodes that it supports; the portable kernels run the rest. " +
      "METHOD=NAME is for one method. A further --backend gets the nodes that those before it left",
  },
  import: PROGRAM_FLAGS.import,
  pass: {
    type: "string",
    multiple: true,
    value: "NAME",
    text:
      "run a pass over the edge program, one of --import or of the library; METHOD=NAME is for one " +
      "method. Given again, the passes run in order",
  },
  report: PROGRAM_FLAGS.report,
  etrecord: PROGRAM_FLAGS.etrecord,
  "etrecord-light": {
    type: "boolean",
    text: "leave the weights out of the record; inspect --gap needs them, other uses do not",
  },
  "etrecord-per-method": PROGRAM_FLAGS["etrecord-per-method"],
  verify: {
    type: "boolean",
    text:
      "run the program with delegates and without them, and compare the results; the inputs are the examples " +
      "of the file, or random. A difference ends the command with 1, after the files are written. With " +
      "--pass, only differences of delegates do so",
  },
} as const;

/** Files that are asked for besides the program itself. */
interface Extras extends Records {
  readonly backends: MethodFlags;
  readonly passes: MethodFlags;
  readonly report: string | undefined;
  readonly verify: boolean;
}

/** A program to be made. */
interface Task {
  /** The name in the line of progress. */
  readonly subject: string;
  readonly programs: Programs;
  readonly output: string;
  /** Files that no output may replace. */
  readonly inputs: readonly string[];
  readonly fileOf: FileOf;
}

/** A program that was made, as it stands in JSON. */
interface Lowered extends WrittenProgram {
  readonly inputs: readonly string[];
  readonly diagnostics: readonly Diagnostic[];
  readonly report: object;
}

/** A program that was made, and whether it computes the same as without delegates, if that was asked. */
interface Outcome {
  readonly program: Lowered;
  readonly isVerified: boolean;
}

// --- Lowering --------------------------------------------------------------------------------------

async function writeLowered(
  program: ReturnType<Engine["lower"]>,
  { output, inputs, fileOf }: Task,
  extras: Extras,
  listening: CallOptions,
  milliseconds: number,
): Promise<[Outcome, () => void]> {
  const delegation = program.delegation();
  const verification = extras.verify ? program.verify(listening) : undefined;
  const report = reportOf(delegation, verification);
  const records = recordFiles(program, extras, listening);
  for (const { path } of records) keepInputs(inputs, path);
  const extra = [...reportFile(extras.report, () => report), ...records];
  await inFolders(extras.perMethod === undefined ? [] : [extras.perMethod], () =>
    writeProgram(program, output, inputs, listening, extra),
  );
  const { diagnostics } = program.inspect();
  const written = writtenOf(program, output, milliseconds);
  const isVerified = !verification || isAsWithout(verification, extras.passes.length > 0);
  const show = (): void => {
    printWarnings(diagnostics, fileOf);
    tell(lineOf(written, "lowered"));
    sayDelegation(delegation);
    if (verification) sayVerification(verification);
    if (!isVerified && isQuiet())
      warn("mismatch: results with delegates differ from those without; leave out -q for details");
  };
  return [{ program: { inputs, ...written, diagnostics, report }, isVerified }, show];
}

async function lowerOne(
  engine: Engine,
  task: Task,
  options: LowerOptions,
  extras: Extras,
): Promise<Outcome> {
  for (const path of [task.output, extras.report ?? [], extras.etrecord ?? []].flat())
    checkPlace(path);
  const progress = terminalProgress(task.subject);
  const begin = performance.now();
  try {
    const listening = progress.onProgress ? { onProgress: progress.onProgress } : {};
    const partitioner = namesByMethod(extras.backends, engine, task.programs);
    const transformPasses = namesByMethod(extras.passes, engine, task.programs);
    const all = {
      ...options,
      ...(partitioner && { partitioner }),
      ...(transformPasses && { transformPasses }),
      ...listening,
    };
    const program = engine.lower(task.programs, all);
    try {
      const ms = performance.now() - begin;
      const [outcome, show] = await writeLowered(program, task, extras, listening, ms);
      progress.clear();
      show();
      return outcome;
    } finally {
      program.dispose();
    }
  } finally {
    progress.clear();
  }
}

// --- Files -----------------------------------------------------------------------------------------

function outputFor(file: string, output: string, single: boolean): string {
  if (single && !isFolder(output)) return output;
  if (isInputStream(file))
    throw new UsageError(`the program that comes from ${file} needs a name: -o folder/model.pte`);
  return join(output, basename(file).replace(/\.pt2$/, "") + ".pte");
}

/** Checks before anything is lowered that no output is an input, and that each has its own place. */
function checkTargets(
  inputs: readonly string[],
  targets: readonly string[],
  options: LowerOptions,
  { report, etrecord }: Extras,
): void {
  claimInputs(inputs);
  claimOutputs([etrecord ?? [], targets].flat(), true);
  claimOutputs([etrecord ?? [], targets, report ?? []].flat(), false);
  keepApart(inputs, [report ?? [], etrecord ?? [], targets].flat());
  if (options.externalConstants)
    for (const target of targets) keepInputs(inputs, dataPath(target, { name: "" }, 1));
}

/** The extras with files that are named where a flag names a folder: after the program. */
function placed(extras: Extras, output: string): Extras {
  const { report, etrecord } = extras;
  return {
    ...extras,
    report: report === undefined ? undefined : outputAt(report, output, ".json"),
    etrecord: etrecord === undefined ? undefined : outputAt(etrecord, output, ".etrecord"),
  };
}

/** Folders that flags name for the files next to the program. */
const foldersOf = ({ report, etrecord }: Extras): string[] =>
  [report ?? [], etrecord ?? []].flat().filter(isFolder);

/** Several files cannot go to one place, and what is of one program goes with one program. */
function checkSeveral(output: string, extras: Extras): void {
  const isOne =
    isOutputStream(output) || output.endsWith(".pte") || (statsOf(output)?.isFile() ?? false);
  if (!isFolder(output) && isOne)
    throw new UsageError(
      `several files need a folder to go to, not ${output}: -o folder/ lowers each on its own, ` +
        "--method NAME=FILE makes them methods of one program",
    );
  for (const [flag, path] of Object.entries({
    report: extras.report,
    etrecord: extras.etrecord,
    "etrecord-per-method": extras.perMethod,
  }))
    if (path !== undefined)
      throw new UsageError(`--${flag} works with one program only: lower the files one by one`);
}

// --- Several results -------------------------------------------------------------------------------

/** Prints what became of every program; gives the exit code. */
function concluded(lowered: readonly Outcome[], errors: readonly JsonError[]): number {
  const [error] = errors;
  const programs = lowered.map(({ program }) => program);
  if (isJson()) printJson({ kind: "lower", programs, ...(error && { error, errors }) });
  return error || !lowered.every(({ isVerified }) => isVerified) ? EXIT.failed : EXIT.done;
}

async function lowerAll(
  engine: Engine,
  tasks: readonly Task[],
  options: LowerOptions,
  extras: Extras,
): Promise<number> {
  const lowered: Outcome[] = [];
  const errors: JsonError[] = [];
  for (const task of tasks) {
    try {
      lowered.push(await lowerOne(engine, task, options, extras));
    } catch (error) {
      // The other files go on.
      if (error instanceof UsageError && tasks.length === 1) throw error;
      printError(error, task.fileOf);
      errors.push(errorJson(error, task.fileOf));
    }
  }
  return concluded(lowered, errors);
}

function lowerEach(
  engine: Engine,
  files: readonly string[],
  options: LowerOptions,
  extras: Extras,
  output: string,
): Promise<number> {
  const single = files.length === 1;
  if (!single) checkSeveral(output, extras);
  const targets = files.map((file) => outputFor(file, output, single));
  const extra = placed(extras, targets[0]!);
  checkTargets(files, targets, options, extra);
  const folders = [...(!single || isFolder(output) ? [output] : []), ...foldersOf(extras)];
  return inFolders(folders, () => {
    const tasks = files.map((path, i): Task => ({
      subject: path,
      programs: sourceOf(path),
      output: targets[i]!,
      inputs: [path],
      fileOf: () => path,
    }));
    return lowerAll(engine, tasks, options, extra);
  });
}

function lowerTogether(
  engine: Engine,
  methods: Record<string, string>,
  options: LowerOptions,
  extras: Extras,
  output: string,
): Promise<number> {
  const files = Object.values(methods);
  if (isFolder(output))
    throw new UsageError("-o is a folder, but one program is written: name its file, -o model.pte");
  const extra = placed(extras, output);
  checkTargets(files, [output], options, extra);
  const programs = Object.entries(methods).map(([name, path]) => [name, sourceOf(path)] as const);
  const task: Task = {
    subject: output,
    programs: Object.fromEntries(programs),
    output,
    inputs: files,
    // The engine knows methods, people know files.
    fileOf: (method) => methods[method] ?? "",
  };
  return inFolders(foldersOf(extras), () => lowerAll(engine, [task], options, extra));
}

// --- The command -----------------------------------------------------------------------------------

function optionsOf(values: ValuesOf<typeof FLAGS>): LowerOptions {
  const isLight = values["etrecord-light"] ?? false;
  const isRecorded = (values.etrecord ?? values["etrecord-per-method"]) !== undefined;
  if (isLight && !isRecorded)
    throw new UsageError("--etrecord-light needs a record: --etrecord FILE");
  return {
    constantMethods: constantsOf(values.constant ?? []),
    compileConfig: chosenBy(values, "toEdge"),
    ...chosenBy(values, "toBackend"),
    ...chosenBy(values, "toExecutorch"),
    ...(isRecorded && { etrecord: isLight ? ("light" as const) : true }),
  };
}

function extrasOf(values: ValuesOf<typeof FLAGS>): Extras {
  return {
    backends: readByMethod("backend", values.backend ?? []),
    passes: readByMethod("pass", values.pass ?? []),
    report: values.report,
    verify: values.verify ?? false,
    etrecord: values.etrecord,
    perMethod: values["etrecord-per-method"],
  };
}

async function lower(values: ValuesOf<typeof FLAGS>, files: string[]): Promise<number> {
  const output = outputOf(values);
  const methods = pairs(values.method ?? [], "method");
  const isTogether = Object.keys(methods).length > 0;
  if (isTogether && files.length > 0)
    throw new UsageError("give files as methods (--method NAME=FILE) or on their own, not both");
  if (!isTogether && files.length === 0) throw new UsageError("name a .pt2 file to lower");
  const options = optionsOf(values);
  const extras = extrasOf(values);
  if (options.targetRuntime !== undefined && extras.backends.length === 0)
    note("note: --target-runtime says what backends may use: without --backend it changes nothing");
  const engine = await makeEngine();
  if (values.import) await importModules(engine, values.import);
  else checkBackends(extras.backends, engine);
  await importPlanners(engine, values.import ?? [], options.memoryPlanning);
  if (isTogether) return lowerTogether(engine, methods, options, extras, output);
  return lowerEach(engine, files, options, extras, output);
}

/** The command sconce lower. */
export const LOWER = defineCommand({
  name: "lower",
  summary: "lowers .pt2 files to .pte files",
  examples: [
    "sconce lower model.pt2 -o model.pte",
    "sconce lower a.pt2 b.pt2 -o folder/          each on its own; a failure does not stop the rest",
    "sconce lower --method prefill=p.pt2 --method decode=d.pt2 -o both.pte",
    "cat model.pt2 | sconce lower - -o - > model.pte",
  ],
  files: "FILE.pt2",
  flags: FLAGS,
  options: ["toEdge", "toBackend", "toExecutorch"],
  run: lower,
});
