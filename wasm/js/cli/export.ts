// sconce export: a .pt2, or several as methods, to a .pte, as a recipe says.
import { isCalibrated, mayCalibrate } from "../quantize.js";
import { GROUP_SIZE_OR_NONE, isQuantizing, quantizationOf } from "../recipe_check.js";
import { formatBytes } from "../size.js";
import type {
  Engine,
  ExportOptions,
  ExportRecipe,
  ExportSession,
  MethodSummary,
  Programs,
  QuantizationRecipe,
} from "../types.js";
import { calibrationOf, filesOf, methodsIn } from "./calibrate.js";
import {
  EXIT,
  makeEngine,
  parse,
  printError,
  printWarnings,
  say,
  terminalProgress,
  UsageError,
  warn,
  type FileOf,
} from "./common.js";
import { listRecipes, recipeOf } from "./export_recipe.js";
import { reportBytes, sayQuantization, warnOfNotes, warnOfUnused } from "./export_report.js";
import { checkPlace, inFolders, isFolder, keepApart, keepInputs, outputAt } from "./files.js";
import { chosenBy, flagHelp, flagsOf } from "./flags.js";
import { constantOf, dataPath, pairs, recordFiles, writeProgram } from "./lower.js";
import { sayDelegation } from "./report.js";

export const EXPORT_HELP = `sconce export: .pt2 to .pte as a recipe says, quantized where it says so

  sconce export model.pt2 --recipe xnnpack_fp32 -o model.pte
  sconce export model.pt2 --recipe xnnpack_pt2e_int8_static_per_channel --calibrate x.npy -o model.pte
  sconce export --method encode=e.pt2 --method decode=d.pt2 --recipe portable -o both.pte

  -o, --output PATH        the .pte to write
  --recipe NAME            how to export; of several, which must not conflict, each has its say
  --list-recipes           the recipes that there are, and what they do
  --method NAME=FILE       FILE as method NAME; may be repeated
  --calibrate CALL         a call that shows the ranges of values, one value for each input: x.npy or
                           x.npy,3,random:1; repeated, a call each. Of several methods, NAME:x.npy.
                           Without it calls are the example inputs of the file
  --skip PATTERN           leave these as they are: nodes, modules (with all in them) or operators by
                           name, * is any text; may be repeated
  --group-size N           elements of a weight that share a scale, for recipes with groups: 32 if it is
                           not given; with 0 each channel has one scale
  --constant NAME=VALUE    a method that returns VALUE, as of sconce lower
  --report FILE            stages, what was quantized and what became of every node, as JSON
  --etrecord FILE          an ETRecord for debugging and profiling
  --etrecord-per-method DIR
                           also a record for each method, as of sconce lower
${flagHelp("toEdge", "toExecutorch")}`;

// --- Calibration -------------------------------------------------------------------------------------

/** The methods that the recipe quantizes in a certain way. */
const methodsThat = (
  test: (one: QuantizationRecipe) => boolean,
  { quantizationRecipe }: ExportRecipe,
  methods: readonly MethodSummary[],
): string[] =>
  methods
    .map(({ name }) => name)
    .filter((name) => {
      const one = quantizationOf(quantizationRecipe, name);
      return one !== undefined && test(one);
    });

/** The calls of --calibrate. Those that the recipe has no use for are an error. */
function callsOf(
  engine: Engine,
  programs: Programs,
  recipe: ExportRecipe,
  flags: readonly string[],
): ExportOptions["exampleInputs"] {
  if (flags.length === 0 && !isQuantizing(recipe)) return undefined;
  const methods = methodsIn(engine, programs);
  const may = methodsThat(mayCalibrate, recipe, methods);
  if (flags.length > 0 && may.length === 0)
    throw new UsageError("--calibrate is for recipes that calibrate, and this one does not");
  const calls = calibrationOf(engine, flags, methods);
  const without = methodsThat(isCalibrated, recipe, methods).filter(
    (name) => !Object.hasOwn(calls, name),
  );
  if (without.length > 0)
    warn(
      `note: method ${without.join(", ")}: no --calibrate, so ranges come from the example inputs of the file`,
    );
  return calls;
}

// --- What comes of it --------------------------------------------------------------------------------

interface Places {
  readonly output: string;
  readonly report: string | undefined;
  readonly etrecord: string | undefined;
  /** The folder for a record of each method. */
  readonly perMethod: string | undefined;
  /** Files that nothing may replace. */
  readonly inputs: readonly string[];
}

function reportFile(
  session: ExportSession,
  recipe: ExportRecipe,
  { report }: Places,
): Parameters<typeof writeProgram>[4] {
  if (report === undefined) return [];
  const bytes = reportBytes(session, recipe);
  return [{ path: report, write: (writer) => writer(bytes) }];
}

async function write(session: ExportSession, recipe: ExportRecipe, places: Places): Promise<void> {
  const { output, perMethod, inputs } = places;
  const program = session.getExecutorchProgramManager();
  const records = recordFiles(program, places, {});
  for (const { path } of records) keepInputs(inputs, path);
  const beside = [...reportFile(session, recipe, places), ...records];
  await inFolders(perMethod === undefined ? [] : [perMethod], () =>
    writeProgram(program, output, inputs, {}, beside),
  );
}

function tell(
  session: ExportSession,
  { exampleInputs = {}, sensitivity = false }: ExportOptions,
  { output }: Places,
  fileOf: FileOf,
): void {
  const program = session.getExecutorchProgramManager();
  printWarnings(program.inspect().diagnostics, fileOf);
  const methods = [...program.methods, ...program.configMethods].join(", ");
  const { dataFiles } = program;
  const data = dataFiles.map(
    ({ name, size }) => `, ${dataPath(output, name, dataFiles.length)}: ${formatBytes(size)}`,
  );
  const ms = session.stages().reduce((sum, { durationMs }) => sum + durationMs, 0);
  const size = formatBytes(program.size);
  say(`${output}: ${size}${data.join("")}, methods ${methods}, exported in ${ms.toFixed(1)} ms`);
  const quantization = session.quantizationReport();
  if (quantization) {
    warnOfNotes(quantization);
    warnOfUnused(quantization, exampleInputs, sensitivity);
    sayQuantization(quantization);
  }
  sayDelegation(program.delegation());
}

async function exportTo(
  engine: Engine,
  programs: Programs,
  options: ExportOptions & { recipe: ExportRecipe },
  places: Places,
  fileOf: FileOf,
): Promise<void> {
  for (const path of [places.output, places.report ?? [], places.etrecord ?? []].flat())
    checkPlace(path);
  const progress = terminalProgress(places.output);
  const { onProgress } = progress;
  try {
    const session = await engine.export(programs, {
      ...options,
      ...(onProgress && { onProgress }),
    });
    try {
      await write(session, options.recipe, places);
      progress.clear();
      tell(session, options, places, fileOf);
    } finally {
      session.dispose();
    }
  } finally {
    progress.clear();
  }
}

// --- The command -------------------------------------------------------------------------------------

const FLAGS = {
  output: { type: "string", short: "o" },
  recipe: { type: "string", multiple: true },
  "list-recipes": { type: "boolean" },
  method: { type: "string", multiple: true },
  calibrate: { type: "string", multiple: true },
  skip: { type: "string", multiple: true },
  "group-size": { type: "string" },
  constant: { type: "string", multiple: true },
  report: { type: "string" },
  etrecord: { type: "string" },
  "etrecord-per-method": { type: "string" },
  help: { type: "boolean", short: "h" },
} as const;

function sizeOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const size = /^[0-9]+$/.test(text) ? Number(text) : NaN;
  if (!GROUP_SIZE_OR_NONE.test(size))
    throw new UsageError(`--group-size takes ${GROUP_SIZE_OR_NONE.accepts}, not '${text}'`);
  return size;
}

/** The programs by method, or the one on its own; the files in both cases. */
function programsOf(
  flags: readonly string[],
  positionals: readonly string[],
): { programs: Programs; files: string[]; fileOf: FileOf } {
  const methods = pairs(flags, "method");
  const entries = Object.entries(methods);
  if (entries.length > 0 && positionals.length > 0)
    throw new UsageError("give files as methods (--method NAME=FILE) or one on its own, not both");
  if (entries.length > 0)
    return {
      programs: Object.fromEntries(entries.map(([name, path]) => [name, { path }])),
      files: entries.map(([, path]) => path),
      fileOf: (method) => methods[method] ?? "",
    };
  const [path] = positionals;
  if (path === undefined || positionals.length > 1)
    throw new UsageError(
      "say which .pt2 to export, and only one",
      "Several become methods of one program: --method NAME=FILE.",
    );
  return { programs: { path }, files: [path], fileOf: () => path };
}

function placesOf(
  values: {
    output?: string;
    report?: string;
    etrecord?: string;
    "etrecord-per-method"?: string;
  },
  inputs: readonly string[],
): Places {
  const { output, report, etrecord, "etrecord-per-method": perMethod } = values;
  if (perMethod === "")
    throw new UsageError("say which folder the records go to: --etrecord-per-method records");
  if (!output) throw new UsageError("say where the .pte goes: -o model.pte");
  if (output === "-")
    throw new UsageError("a .pte goes to a file, not to the standard output: -o model.pte");
  if (isFolder(output)) throw new UsageError("one program needs the name of a file: -o model.pte");
  for (const [flag, path] of Object.entries({ report, etrecord }))
    if (path === "" || path === "-") throw new UsageError(`say which file: --${flag} FILE`);
  if (report !== undefined && isFolder(report))
    throw new UsageError("the report needs the name of a file: --report report.json");
  const at = (path: string | undefined, ending: string): string | undefined =>
    path === undefined ? undefined : outputAt(path, output, ending);
  const places = { report: at(report, ".json"), etrecord: at(etrecord, ".etrecord") };
  keepApart(inputs, [output, places.report ?? [], places.etrecord ?? []].flat());
  return { output, inputs, perMethod, ...places };
}

export async function exportCommand(args: string[]): Promise<number> {
  const { values, positionals } = parse({
    args,
    allowPositionals: true,
    options: { ...FLAGS, ...flagsOf("toEdge", "toExecutorch") },
  });
  if (values.help) {
    process.stdout.write(EXPORT_HELP);
    return EXIT.done;
  }
  if (values["list-recipes"]) return listRecipes();
  const { programs, files, fileOf } = programsOf(values.method ?? [], positionals);
  const flags = values.calibrate ?? [];
  const places = placesOf(values, [...files, ...filesOf(flags)]);
  if (!values.recipe)
    throw new UsageError("say how to export: --recipe NAME", "--list-recipes tells the names.");
  const recipe = recipeOf({
    names: values.recipe,
    groupSize: sizeOf(values["group-size"]),
    skip: values.skip ?? [],
    compile: chosenBy(values, "toEdge"),
    executorch: chosenBy(values, "toExecutorch"),
  });
  const constants = Object.entries(pairs(values.constant ?? [], "constant"));
  const engine = await makeEngine();
  if (recipe.executorchBackendConfig?.externalConstants)
    keepInputs(places.inputs, dataPath(places.output, "", 1));
  try {
    const exampleInputs = callsOf(engine, programs, recipe, flags);
    const options = {
      recipe,
      constantMethods: Object.fromEntries(
        constants.map(([name, text]) => [name, constantOf(text)]),
      ),
      generateEtrecord: places.etrecord !== undefined || places.perMethod !== undefined,
      sensitivity: values.report !== undefined,
      ...(exampleInputs && { exampleInputs }),
    };
    const folders = [values.etrecord ?? []].flat().filter(isFolder);
    await inFolders(folders, () => exportTo(engine, programs, options, places, fileOf));
    return EXIT.done;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    printError(error, fileOf);
    return EXIT.failed;
  }
}
