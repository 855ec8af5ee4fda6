// sconce export: a .pt2, or several as methods, to a .pte, as a recipe says.
import { isCalibrated, mayCalibrate } from "../../recipe/quantize/config.js";
import { GROUP_SIZE_OR_NONE, isQuantizing, quantizationOf } from "../../recipe/check.js";
import type {
  CompileSpec,
  Engine,
  ExportOptions,
  ExportRecipe,
  ExportSession,
  MethodSummary,
  RecipeOptions,
  Programs,
  QuantizationRecipe,
} from "../../types/index.js";
import { calibrationOf, filesOf, methodsIn } from "./calibrate.js";
import { importModules, importPlanners } from "../shell/backends.js";
import { isRecipeFile } from "./recipe_file.js";
import { defineCommand, type ValuesOf } from "../shell/command.js";
import { makeEngine } from "../engine.js";
import { printError, printWarnings, type FileOf } from "../print/errors.js";
import { terminalProgress } from "../print/progress.js";
import { EXIT, UsageError } from "../usage.js";
import { listRecipes, recipeNames, recipeOf } from "./recipe.js";
import { reportOfExport, sayQuantization, warnOfNotes, warnOfUnused } from "./report.js";
import {
  checkPlace,
  inFolders,
  isFolder,
  keepApart,
  keepInputs,
  outputAt,
} from "../files/files.js";
import { chosenBy } from "../shell/flags.js";
import { errorJson, printJson } from "../print/json.js";
import {
  dataPath,
  lineOf,
  recordFiles,
  reportFile,
  writeProgram,
  writtenOf,
} from "../lower/files.js";
import { constantsOf, outputOf, pairs, PROGRAM_FLAGS } from "../lower/flags.js";
import { sayDelegation } from "../lower/report.js";
import { claimInputs, claimOutputs, sourceOf } from "../files/streams.js";
import { isJson, note, tell } from "../print/terminal.js";

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
    note(
      `note: method ${without.join(", ")}: no --calibrate, so ranges come from the example inputs of the file`,
    );
  return calls;
}

// --- Results -----------------------------------------------------------------------------------------

interface Places {
  readonly output: string;
  readonly report: string | undefined;
  readonly etrecord: string | undefined;
  /** The folder for a record of each method. */
  readonly perMethod: string | undefined;
  /** Files that no output may replace. */
  readonly inputs: readonly string[];
}

async function write(
  session: ExportSession,
  { output, perMethod, report, etrecord, inputs }: Places,
  reportOf: () => object,
): Promise<void> {
  const program = session.getExecutorchProgramManager();
  const records = recordFiles(program, { etrecord, perMethod }, {});
  for (const { path } of records) keepInputs(inputs, path);
  const extra = [...reportFile(report, reportOf), ...records];
  await inFolders(perMethod === undefined ? [] : [perMethod], () =>
    writeProgram(program, output, inputs, {}, extra),
  );
}

/** Prints a summary of the result; as JSON, all of it. */
function conclude(
  session: ExportSession,
  { exampleInputs = {}, sensitivity = false }: ExportOptions,
  { output, inputs }: Places,
  fileOf: FileOf,
  reportOf: () => object,
): void {
  const program = session.getExecutorchProgramManager();
  const { diagnostics } = program.inspect();
  const ms = session.stages().reduce((sum, { durationMs }) => sum + durationMs, 0);
  const written = writtenOf(program, output, ms);
  printWarnings(diagnostics, fileOf);
  tell(lineOf(written, "exported"));
  const quantization = session.quantizationReport();
  if (quantization) {
    warnOfNotes(quantization);
    warnOfUnused(quantization, exampleInputs, sensitivity);
    sayQuantization(quantization);
  }
  sayDelegation(program.delegation());
  if (isJson()) printJson({ kind: "export", inputs, ...written, diagnostics, report: reportOf() });
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
    const all = { ...options, ...(onProgress && { onProgress }) };
    const session = await engine.export(programs, all);
    const reportOf = (): object => reportOfExport(session, options.recipe);
    try {
      await write(session, places, reportOf);
      progress.clear();
      conclude(session, options, places, fileOf, reportOf);
    } finally {
      session.dispose();
    }
  } finally {
    progress.clear();
  }
}

// --- The command -------------------------------------------------------------------------------------

const FLAGS = {
  output: {
    type: "string",
    short: "o",
    value: "PATH",
    text: "the .pte to write; - is the standard output",
  },
  recipe: {
    type: "string",
    multiple: true,
    value: "NAME|FILE",
    suggests: recipeNames,
    text:
      "the recipe: backend and quantization by name, see --list-recipes, or a file with a recipe: .json, or " +
      ".mjs with one as its default export; several are combined, and must not conflict",
  },
  stages: {
    type: "string",
    value: "STAGE,...",
    text: "run these stages, in this order, instead of those that the recipe needs",
  },
  "compile-spec": {
    type: "string",
    multiple: true,
    value: "KEY=VALUE",
    text: "a setting for the backends of the recipe, which they know by the key",
  },
  import: PROGRAM_FLAGS.import,
  "list-recipes": { type: "boolean", text: "print all recipes and their effects" },
  method: PROGRAM_FLAGS.method,
  calibrate: {
    type: "string",
    multiple: true,
    value: "CALL",
    text:
      "run the model on these inputs to find the range of each value, which static quantization needs. " +
      "CALL has a value for each input: x.npy, or x.npy,3,random:1. " +
      "'x*.npy' in quotes, or a folder, makes a call for each file. NAME:x.npy is a call of method NAME. " +
      "Without the flag, the example inputs of the .pt2 are used",
  },
  skip: {
    type: "string",
    multiple: true,
    value: "PATTERN",
    text: "do not quantize these nodes, operators, or modules with all in them; * stands for any text",
  },
  "group-size": {
    type: "string",
    value: "N",
    text:
      "how many elements of a weight share a scale, for recipes with groups; 32 by default. 0 gives each " +
      "channel one scale",
  },
  "embedding-bits": {
    type: "string",
    value: "N",
    text: "4 or 8 bits for tables of embeddings, for recipes of language models; 8 by default",
  },
  constant: PROGRAM_FLAGS.constant,
  report: {
    ...PROGRAM_FLAGS.report,
    text: "write a JSON report: how long stages took, what was quantized, where each node ended up; - is the standard output",
  },
  etrecord: PROGRAM_FLAGS.etrecord,
  "etrecord-per-method": PROGRAM_FLAGS["etrecord-per-method"],
} as const;
type Values = ValuesOf<typeof FLAGS>;

function sizeOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const size = /^[0-9]+$/.test(text) ? Number(text) : NaN;
  if (!GROUP_SIZE_OR_NONE.test(size))
    throw new UsageError(`--group-size takes ${GROUP_SIZE_OR_NONE.accepts}, not '${text}'`);
  return size;
}

function bitsOf(text: string | undefined): 4 | 8 | undefined {
  if (text === undefined || text === "4" || text === "8")
    return text === undefined ? undefined : (Number(text) as 4 | 8);
  throw new UsageError(`--embedding-bits takes 4 or 8, not '${text}'`);
}

function recipeOptionsOf(values: Values): RecipeOptions {
  const [groupSize, embeddingBits] = [
    sizeOf(values["group-size"]),
    bitsOf(values["embedding-bits"]),
  ];
  return {
    ...(groupSize !== undefined && { groupSize }),
    ...(embeddingBits !== undefined && { embeddingBits }),
  };
}

/** The programs by method, or the one on its own; the files in both cases. `others` are read, too. */
function programsOf(
  flags: readonly string[],
  positionals: readonly string[],
  others: readonly string[],
): { programs: Programs; files: string[]; fileOf: FileOf } {
  const methods = pairs(flags, "method");
  const entries = Object.entries(methods);
  if (entries.length > 0 && positionals.length > 0)
    throw new UsageError("give files as methods (--method NAME=FILE) or one on its own, not both");
  claimInputs([...positionals, ...Object.values(methods), ...others]);
  if (entries.length > 0)
    return {
      programs: Object.fromEntries(entries.map(([name, path]) => [name, sourceOf(path)])),
      files: entries.map(([, path]) => path),
      fileOf: (method) => methods[method] ?? "",
    };
  const [path] = positionals;
  if (path === undefined || positionals.length > 1)
    throw new UsageError(
      "name one .pt2 file to export",
      "Several become methods of one program: --method NAME=FILE.",
    );
  return { programs: sourceOf(path), files: [path], fileOf: () => path };
}

function placesOf(values: Values, inputs: readonly string[]): Places {
  const output = outputOf(values);
  const { report, etrecord, "etrecord-per-method": perMethod } = values;
  if (isFolder(output))
    throw new UsageError("-o is a folder, but one program is written: name its file, -o model.pte");
  if (report !== undefined && isFolder(report))
    throw new UsageError("the report needs the name of a file: --report report.json");
  const at = (path: string | undefined, ending: string): string | undefined =>
    path === undefined ? undefined : outputAt(path, output, ending);
  const places = { report: at(report, ".json"), etrecord: at(etrecord, ".etrecord") };
  claimOutputs([output, places.etrecord ?? []].flat(), true);
  claimOutputs([output, places.etrecord ?? [], places.report ?? []].flat(), false);
  keepApart(inputs, [output, places.report ?? [], places.etrecord ?? []].flat());
  return { output, inputs, perMethod, ...places };
}

const stagesOf = (text: string | undefined): readonly string[] | undefined => {
  const names = text?.split(",").map((name) => name.trim());
  const hint = "Write --stages to_edge,to_backend,to_executorch.";
  if (names?.includes(""))
    throw new UsageError("--stages takes names with commas between them", hint);
  if (names && names.at(-1) !== "to_executorch")
    throw new UsageError("--stages must end with to_executorch, which writes the program", hint);
  return names;
};

const specsOf = (flags: readonly string[]): readonly CompileSpec[] =>
  Object.entries(pairs(flags, "compile-spec")).map(([key, value]) => ({ key, value }));

function recipeFor(values: Values): Promise<ExportRecipe> {
  if (!values.recipe)
    throw new UsageError(
      "name a recipe: --recipe NAME, or --recipe FILE",
      "sconce export --list-recipes shows all of them.",
    );
  return recipeOf({
    names: values.recipe,
    stages: stagesOf(values.stages),
    compileSpecs: specsOf(values["compile-spec"] ?? []),
    options: recipeOptionsOf(values),
    skip: values.skip ?? [],
    compile: chosenBy(values, "toEdge"),
    executorch: chosenBy(values, "toExecutorch"),
  });
}

async function exportPrograms(values: Values, positionals: string[]): Promise<number> {
  if (values["list-recipes"]) return listRecipes();
  const flags = values.calibrate ?? [];
  const calls = filesOf(flags);
  const { programs, files, fileOf } = programsOf(values.method ?? [], positionals, calls);
  const recipes = (values.recipe ?? []).filter(isRecipeFile);
  const places = placesOf(values, [...files, ...calls, ...recipes]);
  const recipe = await recipeFor(values);
  const constantMethods = constantsOf(values.constant ?? []);
  const engine = await makeEngine();
  if (recipe.executorchBackendConfig?.externalConstants)
    keepInputs(places.inputs, dataPath(places.output, { name: "" }, 1));
  try {
    const modules = values.import ?? [];
    await importModules(engine, modules);
    await importPlanners(engine, modules, recipe.executorchBackendConfig?.memoryPlanning);
    const exampleInputs = callsOf(engine, programs, recipe, flags);
    const options = {
      recipe,
      constantMethods,
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
    if (isJson()) printJson({ kind: "export", error: errorJson(error, fileOf) });
    return EXIT.failed;
  }
}

/** The command sconce export. */
export const EXPORT = defineCommand({
  name: "export",
  summary: "lowers .pt2 files by a recipe, which may quantize them",
  examples: [
    "sconce export model.pt2 --recipe xnnpack_fp32 -o model.pte",
    "sconce export model.pt2 --recipe xnnpack_pt2e_int8_static_per_channel --calibrate 'x*.npy' -o model.pte",
    "sconce export --method encode=e.pt2 --method decode=d.pt2 --recipe portable -o both.pte",
  ],
  files: "FILE.pt2",
  flags: FLAGS,
  options: ["toEdge", "toExecutorch"],
  run: exportPrograms,
});
