// sconce export: a .pt2, or several as methods, to a .pte, as a recipe says.
import { SconceError } from "../errors.js";
import { formatBytes } from "../size.js";
import { isCalibrated, mayCalibrate } from "../quantize.js";
import { decibelsOf, rangesOfNodes, worstOf } from "../quantization_report.js";
import { GROUP_SIZE_OR_NONE, isQuantizing, quantizationOf, skipping } from "../recipe_check.js";
import { combineRecipes } from "../recipe_combine.js";
import { RecipeRegistry } from "../registry.js";
import type {
  AOBaseConfig,
  Delegation,
  DelegationRow,
  Engine,
  ExportOptions,
  ExportRecipe,
  ExportSession,
  MethodSummary,
  Programs,
  QuantizationRecipe,
  QuantizationReport,
  QuantizedNode,
  QuantizedRange,
  Quantizer,
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
import { checkPlace, inFolders, isFolder, keepApart, keepInputs, outputAt } from "./files.js";
import { chosenBy, flagHelp, flagsOf } from "./flags.js";
import { constantOf, dataPath, pairs, recordFiles, writeProgram } from "./lower.js";
import { reportOf, sayDelegation } from "./report.js";

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

// --- Recipes -----------------------------------------------------------------------------------------

const WEIGHTS: Record<AOBaseConfig["kind"], string> = {
  int8_dynamic_activation_int4_weight:
    "weights of linear layers in 4 bits, activations in 8 bits, by what they are in each run",
  int8_weight_only: "weights of linear layers and embeddings in 8 bits",
  int4_weight_only: "weights of linear layers and embeddings in 4 bits",
  fp16_weights: "weights of linear layers, convolutions and embeddings as halves",
};

const ofQuantizer = ({ isDynamic, isPerChannel }: Quantizer): string =>
  `8 bits, a scale per ${isPerChannel ? "channel" : "tensor"}, ` +
  (isDynamic ? "activations by what they are in each run" : "calibrated");

function ofConfig(config: AOBaseConfig): string {
  const group = "groupSize" in config ? config.groupSize : undefined;
  return WEIGHTS[config.kind] + (group ? `, a scale per ${group}` : "");
}

/** What a recipe does, in a line. */
function described({ quantizationRecipe: quantization, loweringRecipe }: ExportRecipe): string {
  const { quantizers = [], aoQuantizationConfigs = [] } = (quantization ??
    {}) as QuantizationRecipe;
  const parts = [
    ...quantizers.map(ofQuantizer),
    ...aoQuantizationConfigs.map(({ aoBaseConfig }) => ofConfig(aoBaseConfig)),
  ];
  const { partitioners } = loweringRecipe ?? {};
  const where = partitioners ? `for ${JSON.stringify(partitioners).replace(/[["\]]/g, "")}` : "";
  const kept = parts.length > 0 ? parts : ["nothing is quantized"];
  return [...kept, where || "for the portable kernels"].join("; ");
}

function listRecipes(): number {
  const registry = RecipeRegistry.shared;
  const names = registry.getSupportedRecipes();
  const width = Math.max(...names.map((name) => name.length));
  for (const name of names) say(`${name.padEnd(width)}  ${described(registry.createRecipe(name))}`);
  return EXIT.done;
}

/** Whether a recipe has groups, of whichever sizes. */
function isGrouped(name: string): boolean {
  try {
    RecipeRegistry.shared.createRecipe(name, undefined, { groupSize: 32 });
    return true;
  } catch (error) {
    if (error instanceof SconceError && error.code === "option") return false;
    throw error;
  }
}

/** The recipe of a name, and whether it has groups. */
function named(name: string, groupSize: number | undefined): [ExportRecipe, boolean] {
  const hasGroups = groupSize !== undefined && isGrouped(name);
  const options = hasGroups ? { groupSize } : {};
  return [RecipeRegistry.shared.createRecipe(name, undefined, options), hasGroups];
}

interface RecipeFlags {
  readonly names: readonly string[];
  readonly groupSize: number | undefined;
  readonly skip: readonly string[];
  readonly compile: object;
  readonly executorch: object;
}

/** The recipes of the names, as one; names that nobody knows, and conflicts, are wrong usage. */
function combined(
  names: readonly string[],
  groupSize: number | undefined,
): [ExportRecipe, boolean] {
  try {
    const found = names.map((name) => named(name, groupSize));
    return [combineRecipes(found.map(([one]) => one)), found.some(([, hasGroups]) => hasGroups)];
  } catch (error) {
    if (!(error instanceof SconceError)) throw error;
    throw new UsageError(error.message, error.hint);
  }
}

/** One recipe of all names; flags have the last word. */
function recipeOf({ names, groupSize, skip, compile, executorch }: RecipeFlags): ExportRecipe {
  const [recipe, hasGroups] = combined(names, groupSize);
  if (groupSize !== undefined && !hasGroups)
    throw new UsageError(
      `--group-size is for recipes with groups, and ${names.join(", ")} has none`,
    );
  const { quantizationRecipe: quantization, loweringRecipe, executorchBackendConfig } = recipe;
  if (skip.length > 0 && quantization === undefined)
    throw new UsageError(`--skip is for recipes that quantize, and ${names.join(", ")} does not`);
  return {
    ...recipe,
    ...(quantization && { quantizationRecipe: skipping(quantization, skip) }),
    loweringRecipe: {
      ...loweringRecipe,
      edgeCompileConfig: { ...loweringRecipe?.edgeCompileConfig, ...compile },
    },
    executorchBackendConfig: { ...executorchBackendConfig, ...executorch },
  };
}

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

/** What of `--skip` fits something in one method need not in another. */
function warnOfNotes({ methods }: QuantizationReport): void {
  const reports = Object.entries(methods);
  const isEverywhere = (note: string): boolean =>
    reports.every(([, { notes }]) => notes.includes(note));
  const told = new Set<string>();
  for (const [name, { notes }] of reports)
    for (const note of notes) {
      const isSkip = note.startsWith("skip: ");
      if (isSkip && (told.has(note) || !isEverywhere(note))) continue;
      told.add(note);
      warn(isSkip ? `note: --${note}` : `note: method ${name}: ${note}`);
    }
}

/** Which methods need calls shows only when their weights are looked at. */
function warnOfUnused({ methods }: QuantizationReport, calls: object, isCompared: boolean): void {
  const unused = Object.entries(methods)
    .filter(([name, { calibrationBatches }]) => Object.hasOwn(calls, name) && !calibrationBatches)
    .map(([name]) => name);
  if (unused.length > 0 && !isCompared)
    warn(
      `note: method ${unused.join(", ")}: nothing had to be calibrated, so --calibrate is unused`,
    );
}

/** The node that quantizing has changed the most, where both programs were compared. */
function worstWords(nodes: readonly QuantizedNode[]): string {
  const worst = worstOf(nodes);
  if (!worst) return "";
  const decibels = decibelsOf(worst)!;
  const words = decibels === -Infinity ? "-∞" : decibels.toFixed(1);
  return `; farthest off is ${worst.node}, at ${words} dB`;
}

function sayQuantization(report: QuantizationReport): void {
  for (const [name, { calibrationBatches, nodes }] of Object.entries(report.methods)) {
    const done = nodes.filter(({ isQuantized }) => isQuantized).length;
    const calls = calibrationBatches === 1 ? "1 call" : `${calibrationBatches} calls`;
    const on = calibrationBatches > 0 ? `, calibrated on ${calls}` : "";
    say(`  ${name}: ${done} of ${nodes.length} nodes quantized${on}${worstWords(nodes)}`);
  }
}

/** Where what was made of a node went, and why not. */
function placeOf(rows: readonly DelegationRow[]): object {
  const outside = rows.find(({ delegate }) => delegate === null);
  if (rows.length === 0 || outside?.backend === "") return {};
  return outside ? { delegated: false, outside: outside.reason } : { delegated: true };
}

/** How its result is quantized. */
function scalesOf(range: QuantizedRange | undefined): object {
  if (!range || range.isDynamic) return {};
  const { low, high, scale, zeroPoint } = range;
  return { low, high, scale, zeroPoint };
}

const isHelper = ({ op }: DelegationRow): boolean => /^(quantized_decomposed|torchao)::/.test(op);

/** The nodes of each method with their scales and places. */
function withPlaces(
  { methods }: QuantizationReport,
  delegation: Delegation,
): QuantizationReport["methods"] {
  return Object.fromEntries(
    Object.entries(methods).map(([name, report]) => {
      const made = (delegation[name]?.nodes ?? []).filter((row) => !isHelper(row));
      const rowsOf = new Map<string, DelegationRow[]>();
      for (const row of made) rowsOf.set(row.origin, [...(rowsOf.get(row.origin) ?? []), row]);
      const ranges = rangesOfNodes(report);
      const nodes = report.nodes.map((node) => ({
        ...node,
        ...scalesOf(ranges.get(node.node)),
        ...placeOf(rowsOf.get(node.node) ?? []),
      }));
      return [name, { ...report, nodes }];
    }),
  );
}

function reportBytes(session: ExportSession, recipe: ExportRecipe): Uint8Array {
  const quantization = session.quantizationReport();
  const delegation = session.getExecutorchProgramManager().delegation();
  const report = {
    recipe: recipe.name,
    stages: session.stages(),
    ...reportOf(delegation, undefined),
    ...(quantization && {
      quantization: withPlaces(quantization, delegation),
      qparams: quantization.qparams,
    }),
  };
  return new TextEncoder().encode(`${JSON.stringify(report, null, 2)}\n`);
}

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
    const folders = [values.report ?? [], values.etrecord ?? []].flat().filter(isFolder);
    await inFolders(folders, () => exportTo(engine, programs, options, places, fileOf));
    return EXIT.done;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    printError(error, fileOf);
    return EXIT.failed;
  }
}
