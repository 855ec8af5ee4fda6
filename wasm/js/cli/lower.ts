// sconce lower: one file, several files each on its own, or several files as methods of one program.
import { basename, join } from "node:path";
import { parseConstant } from "../constant.js";
import type { SconceError } from "../errors.js";
import { formatBytes } from "../size.js";
import type {
  CallOptions,
  ConstantValue,
  Engine,
  ExecutorchProgramManager,
  LowerOptions,
  Programs,
} from "../types.js";
import {
  EXIT,
  makeEngine,
  parse,
  printError,
  printWarnings,
  type FileOf,
  say,
  terminalProgress,
  UsageError,
  warn,
} from "./common.js";
import {
  checkPlace,
  inFolders,
  isFolder,
  keepApart,
  keepInputs,
  outputAt,
  statsOf,
  writeFiles,
  type Writer,
} from "./files.js";
import { backendsOf, importBackends, readBackends, type BackendFlags } from "./backends.js";
import { chosenBy, flagHelp, flagsOf } from "./flags.js";
import { reportOf, sayDelegation, sayVerification } from "./report.js";

export const LOWER_HELP = `sconce lower: .pt2 files to .pte files

  sconce lower model.pt2 -o model.pte
  sconce lower a.pt2 b.pt2 -o folder/          each on its own; a failure does not stop the rest
  sconce lower --method prefill=p.pt2 --method decode=d.pt2 -o both.pte

  -o, --output PATH        the .pte to write, or a folder (ends in / or exists)
  --method NAME=FILE       FILE as method NAME; may be repeated
  --constant NAME=VALUE    a method that returns VALUE: an integer (256, -0 is 0), a float (0.5, 1e3, -0.0,
                           inf, nan), true, false, a JSON list of these ([1, 2]), a JSON string
                           ("256"), or any other text as it is
  --backend NAME           hand every method to this backend, as far as it takes it; --backend METHOD=NAME
                           one method; repeated, the next one gets what those before it have left
  --import FILE            a JavaScript module whose default export is a backend; may be repeated
  --report FILE            what became of every node, and why, as JSON
  --etrecord FILE          an ETRecord for debugging and profiling: the programs of all stages, and
                           which node each instruction computes
  --etrecord-light         leave weights out of it: enough for all but computing values again
  --etrecord-per-method DIR
                           also a record for each method, DIR/METHOD.etrecord, with the method named
                           forward: the official inspector opens no other
  --verify                 run what was lowered beside what it would be without delegates, on the
                           example inputs of the file or random ones, and compare
${flagHelp("toEdge", "toBackend", "toExecutorch")}`;

export function constantOf(text: string): ConstantValue {
  try {
    return parseConstant(text);
  } catch (error) {
    const { message, hint } = error as SconceError;
    throw new UsageError(message, hint);
  }
}

function splitPair(text: string, what: string): [string, string] {
  const at = text.indexOf("=");
  if (at <= 0 || at === text.length - 1)
    throw new UsageError(
      `--${what} takes NAME=${what === "method" ? "FILE" : "VALUE"}, not '${text}'`,
    );
  return [text.slice(0, at), text.slice(at + 1)];
}

export function pairs(list: readonly string[], what: string): Record<string, string> {
  // Without a prototype, so that any name is just a name.
  const result = Object.create(null) as Record<string, string>;
  for (const text of list) {
    const [name, value] = splitPair(text, what);
    if (Object.hasOwn(result, name)) throw new UsageError(`--${what} ${name} is given twice`);
    result[name] = value;
  }
  return result;
}

/** Where a .ptd goes: named after the .pte, so that programs in one folder keep theirs apart. */
export function dataPath(output: string, name: string, count: number): string {
  const stem = output.replace(/\.pte$/, "");
  if (/[/\\]/.test(name))
    throw new UsageError(`the data file '${name}' would leave the folder of ${output}`);
  return count === 1 ? `${stem}.ptd` : `${stem}.${name}`;
}

/** The records that are asked for: one of all methods, and one of each. */
export function recordFiles(
  program: ExecutorchProgramManager,
  { etrecord, perMethod }: Pick<Extras, "etrecord" | "perMethod">,
  options: CallOptions,
): Parameters<typeof writeFiles>[0] {
  const write = (path: string, method?: string): Parameters<typeof writeFiles>[0][number] => ({
    path,
    write: (writer: Writer) =>
      program.etrecord.save(writer, { ...options, ...(method && { method }) }),
  });
  return [
    ...(etrecord === undefined ? [] : [write(etrecord)]),
    ...(perMethod === undefined
      ? []
      : program.methods.map((method) => write(recordPath(perMethod, method), method))),
  ];
}

/** Where the record of a method goes. */
function recordPath(folder: string, method: string): string {
  if (/[/\\]|^\.\.?$/.test(method))
    throw new UsageError(`the record of method '${method}' would leave the folder ${folder}`);
  return join(folder, `${method}.etrecord`);
}

function reportFile({ report }: Extras, findings: Findings): Parameters<typeof writeFiles>[0] {
  if (report === undefined) return [];
  const bytes = new TextEncoder().encode(`${JSON.stringify(findings.report, null, 2)}\n`);
  return [{ path: report, write: (writer: Writer) => writer(bytes) }];
}

/** The .pte with its .ptd files, all or none: weights of one lowering never meet those of another. */
export function writeProgram(
  program: ExecutorchProgramManager,
  output: string,
  inputs: readonly string[],
  options: CallOptions,
  beside: Parameters<typeof writeFiles>[0],
): Promise<void> {
  const files = program.dataFiles.map(({ name }) => ({
    path: dataPath(output, name, program.dataFiles.length),
    write: (writer: Writer) => program.writeTo(writer, name, options),
  }));
  files.push({ path: output, write: (writer) => program.writeTo(writer, undefined, options) });
  for (const { path } of files) keepInputs(inputs, path);
  return writeFiles([...files, ...beside]);
}

/** What is asked for beside the program itself. */
interface Extras {
  readonly backends: BackendFlags;
  readonly report: string | undefined;
  readonly verify: boolean;
  readonly etrecord: string | undefined;
  /** The folder for a record of each method. */
  readonly perMethod: string | undefined;
}

/** What is known of a program that was lowered, before it is written. */
interface Findings {
  readonly report: object;
  say(): void;
}

function findingsOf(
  program: ExecutorchProgramManager,
  extras: Extras,
  listening: CallOptions,
): Findings {
  const delegation = program.delegation();
  const verification = extras.verify ? program.verify(listening) : undefined;
  return {
    report: reportOf(delegation, verification),
    say: () => {
      sayDelegation(delegation);
      if (verification) sayVerification(verification);
    },
  };
}

async function lowerOne(
  engine: Engine,
  subject: string,
  programs: Programs,
  options: LowerOptions,
  extras: Extras,
  output: string,
  inputs: readonly string[],
  fileOf: FileOf,
): Promise<void> {
  for (const path of [output, extras.report ?? [], extras.etrecord ?? []].flat()) checkPlace(path);
  const progress = terminalProgress(subject);
  const begin = performance.now();
  try {
    const listening = progress.onProgress ? { onProgress: progress.onProgress } : {};
    const partitioner = backendsOf(extras.backends, engine, programs);
    const program = engine.lower(programs, {
      ...options,
      ...(partitioner && { partitioner }),
      ...listening,
    });
    try {
      const ms = performance.now() - begin;
      const findings = findingsOf(program, extras, listening);
      const records = recordFiles(program, extras, listening);
      for (const { path } of records) keepInputs(inputs, path);
      const beside = [...reportFile(extras, findings), ...records];
      await inFolders(extras.perMethod === undefined ? [] : [extras.perMethod], () =>
        writeProgram(program, output, inputs, listening, beside),
      );
      progress.clear();
      printWarnings(program.inspect().diagnostics, fileOf);
      const methods = [...program.methods, ...program.configMethods].join(", ");
      const data = program.dataFiles.map(
        ({ name, size }) =>
          `, ${dataPath(output, name, program.dataFiles.length)}: ${formatBytes(size)}`,
      );
      say(
        `${output}: ${formatBytes(program.size)}${data.join("")}, methods ${methods}, lowered in ${ms.toFixed(1)} ms`,
      );
      findings.say();
    } finally {
      program.dispose();
    }
  } finally {
    progress.clear();
  }
}

function outputFor(file: string, output: string, single: boolean): string {
  if (single && !isFolder(output)) return output;
  return join(output, basename(file).replace(/\.pt2$/, "") + ".pte");
}

/** What can be told before anything is lowered: an output is not an input, and each goes to its own place. */
function checkTargets(
  inputs: readonly string[],
  targets: readonly string[],
  options: LowerOptions,
  { report, etrecord }: Extras,
): void {
  keepApart(inputs, [report ?? [], etrecord ?? [], targets].flat());
  if (options.externalConstants)
    for (const target of targets) keepInputs(inputs, dataPath(target, "", 1));
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

/** Folders that flags name for what goes beside the program. */
const foldersOf = ({ report, etrecord }: Extras): string[] =>
  [report ?? [], etrecord ?? []].flat().filter(isFolder);

async function lowerEach(
  engine: Engine,
  files: readonly string[],
  options: LowerOptions,
  extras: Extras,
  output: string,
): Promise<number> {
  const single = files.length === 1;
  if (!single && !isFolder(output) && (output.endsWith(".pte") || statsOf(output)?.isFile())) {
    throw new UsageError(
      `several files need a folder to go to, not ${output}: -o folder/ lowers each on its own, ` +
        "--method NAME=FILE makes them methods of one program",
    );
  }
  for (const [flag, path] of Object.entries({
    report: extras.report,
    etrecord: extras.etrecord,
    "etrecord-per-method": extras.perMethod,
  }))
    if (!single && path !== undefined)
      throw new UsageError(`--${flag} is of one program: lower the files one by one`);
  const targets = files.map((file) => outputFor(file, output, single));
  const beside = placed(extras, targets[0]!);
  checkTargets(files, targets, options, beside);
  let code: number = EXIT.done;
  const folders = [...(!single || isFolder(output) ? [output] : []), ...foldersOf(extras)];
  await inFolders(folders, async () => {
    for (const [i, path] of files.entries()) {
      const fileOf: FileOf = () => path;
      try {
        await lowerOne(engine, path, { path }, options, beside, targets[i]!, files, fileOf);
      } catch (error) {
        printError(error, fileOf);
        code = EXIT.failed;
      }
    }
  });
  return code;
}

async function lowerTogether(
  engine: Engine,
  methods: Record<string, string>,
  options: LowerOptions,
  extras: Extras,
  output: string,
): Promise<number> {
  const files = Object.values(methods);
  if (isFolder(output)) throw new UsageError("one program needs the name of a file: -o model.pte");
  const beside = placed(extras, output);
  checkTargets(files, [output], options, beside);
  // The engine knows methods, people know files.
  const fileOf: FileOf = (method) => methods[method] ?? "";
  const programs = Object.fromEntries(
    Object.entries(methods).map(([name, path]) => [name, { path }]),
  );
  try {
    await inFolders(foldersOf(extras), () =>
      lowerOne(engine, output, programs, options, beside, output, files, fileOf),
    );
    return EXIT.done;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    printError(error, fileOf);
    return EXIT.failed;
  }
}

export async function lowerCommand(args: string[]): Promise<number> {
  const { values, positionals } = parse({
    args,
    allowPositionals: true,
    options: {
      output: { type: "string", short: "o" },
      method: { type: "string", multiple: true },
      constant: { type: "string", multiple: true },
      backend: { type: "string", multiple: true },
      import: { type: "string", multiple: true },
      report: { type: "string" },
      etrecord: { type: "string" },
      "etrecord-light": { type: "boolean" },
      "etrecord-per-method": { type: "string" },
      verify: { type: "boolean" },
      ...flagsOf("toEdge", "toBackend", "toExecutorch"),
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help) {
    process.stdout.write(LOWER_HELP);
    return EXIT.done;
  }
  if (values.output === "-")
    throw new UsageError("a .pte goes to a file, not to the standard output: -o model.pte");
  if (!values.output) throw new UsageError("say where the .pte goes: -o model.pte");
  const methods = pairs(values.method ?? [], "method");
  if (Object.keys(methods).length > 0 && positionals.length > 0) {
    throw new UsageError("give files as methods (--method NAME=FILE) or on their own, not both");
  }
  if (Object.keys(methods).length === 0 && positionals.length === 0)
    throw new UsageError("say which .pt2 to lower");
  const constants = Object.entries(pairs(values.constant ?? [], "constant"));
  const options: LowerOptions = {
    constantMethods: Object.fromEntries(constants.map(([name, text]) => [name, constantOf(text)])),
    compileConfig: chosenBy(values, "toEdge"),
    ...chosenBy(values, "toBackend"),
    ...chosenBy(values, "toExecutorch"),
  };
  if (values.report === "" || values.report === "-")
    throw new UsageError("say which file the report goes to: --report report.json");
  const etrecord = values.etrecord;
  const perMethod = values["etrecord-per-method"];
  if (etrecord === "" || etrecord === "-")
    throw new UsageError("say which file the record goes to: --etrecord model.etrecord");
  if (perMethod === "")
    throw new UsageError("say which folder the records go to: --etrecord-per-method records");
  const isLight = values["etrecord-light"] ?? false;
  const isRecorded = etrecord !== undefined || perMethod !== undefined;
  if (isLight && !isRecorded)
    throw new UsageError("--etrecord-light is of a record: say where it goes with --etrecord FILE");
  if (isRecorded) options.etrecord = isLight ? "light" : true;
  const extras: Extras = {
    backends: readBackends(values.backend ?? []),
    report: values.report,
    verify: values.verify ?? false,
    etrecord,
    perMethod,
  };
  if (options.targetRuntime !== undefined && extras.backends.length === 0)
    warn("note: --target-runtime says what backends may use: without --backend it changes nothing");
  const engine = await makeEngine();
  await importBackends(engine, values.import ?? []);
  if (positionals.length > 0) return lowerEach(engine, positionals, options, extras, values.output);
  return lowerTogether(engine, methods, options, extras, values.output);
}
