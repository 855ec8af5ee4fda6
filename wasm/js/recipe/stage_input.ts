// Inputs of stages, and answers of the functions of a recipe: of the right kind, or an error that
// says whose it was.
import { badArgument, isObject } from "../base/check.js";
import { messageOf, SconceError, withCause } from "../base/errors.js";
import { isPassList } from "../pass/lists.js";
import { noMethod } from "./inputs.js";
import { isByMethod, isPartitionersByMethod } from "./check.js";
import type {
  EdgeProgramManager,
  ExportedProgram,
  ExportRecipe,
  LoweringRecipe,
  OpenedPrograms,
  Pass,
  Passes,
  PipelineArtifact,
  ResolvePasses,
  StageType,
} from "../types/index.js";

/** A method for each kind of object between stages that no other kind has. */
const TOLD_BY = { OpenedPrograms: "exampleInputs", EdgeProgramManager: "toExecutorch" } as const;

interface Made {
  OpenedPrograms: OpenedPrograms;
  EdgeProgramManager: EdgeProgramManager;
}

/** True if data is of the kind. */
export const isMade = <K extends keyof Made>(kind: K, data: unknown): data is Made[K] =>
  isObject(data) && typeof data[TOLD_BY[kind]] === "function";

/** The data of an artifact, which a stage needs to be of the kind. */
export function take<K extends keyof Made>(
  stage: StageType,
  kind: K,
  artifact: PipelineArtifact,
): Made[K] {
  const { data } = artifact;
  if (isMade(kind, data)) return data;
  throw badArgument(`what stage ${stage} is given`, kind, data);
}

/** The lowering settings of the recipe. */
export const loweringOf = ({ context }: PipelineArtifact): LoweringRecipe =>
  context.exportRecipe.loweringRecipe ?? {};

/** Calls a function of a recipe. Its error becomes one that names the function. */
export function asked(what: string, body: () => unknown): unknown {
  try {
    return body();
  } catch (error) {
    throw withCause(
      new SconceError(
        "argument",
        `${what} failed: ${messageOf(error)}`,
        "Correct the function, whose error is the `cause`. A pass goes into a list of its own: [[pass]].",
      ),
      error,
    );
  }
}

/** Passes of all methods, or those of the method. */
function ofMethod(passes: Passes, method: string): readonly Pass[] {
  if (isPassList(passes)) return passes;
  return Object.hasOwn(passes, method) ? passes[method]! : [];
}

/** The passes that a function gives for a method; none, if it gives no list. */
export function resolveOne(what: string, one: ResolvePasses, program: ExportedProgram): Pass[] {
  const { method } = program;
  if (typeof one !== "function") return [...ofMethod(one, method)];
  const where = `${what} of method '${method}'`;
  const passes = asked(where, () => one(method, program)) ?? [];
  if (isPassList(passes)) return [...passes];
  throw badArgument(`what ${where} gives`, "a list of names and functions", passes);
}

/** The passes that functions give for a method. */
export function resolve(
  field: string,
  functions: readonly ResolvePasses[] | undefined,
  program: ExportedProgram,
): Pass[] {
  return (functions ?? []).flatMap((one, i) => resolveOne(`${field}[${i}]`, one, program));
}

/** The same of every method; undefined without functions. */
export function resolveEach(
  field: string,
  functions: readonly ResolvePasses[] | undefined,
  programs: OpenedPrograms | EdgeProgramManager,
): Record<string, Pass[]> | undefined {
  if (!functions || functions.length === 0) return undefined;
  return Object.fromEntries(
    programs.methods.map((method) => [
      method,
      resolve(field, functions, programs.exportedProgram(method)),
    ]),
  );
}

const namesIn = (passes: readonly ResolvePasses[] = []): string[] =>
  passes.flatMap((one) =>
    typeof one === "function" || Array.isArray(one) ? [] : Object.keys(one),
  );

/** The methods that passes are for. Those of managers are checked when they run. */
const passesByMethod = ({
  atenTransformPasses,
  loweringRecipe,
}: ExportRecipe): [string, string[]][] => [
  ["'atenTransformPasses'", namesIn(atenTransformPasses)],
  ["'edgeTransformPasses'", namesIn(loweringRecipe?.edgeTransformPasses)],
];

/** The methods that a recipe names, by the field that names them; of partitioners, unless for all. */
function namedMethods(recipe: ExportRecipe): [string, string[]][] {
  const { quantizationRecipe, loweringRecipe } = recipe;
  const { partitioners } = loweringRecipe ?? {};
  const isByName = partitioners !== undefined && isPartitionersByMethod(partitioners);
  const isQuantizedByName = quantizationRecipe !== undefined && isByMethod(quantizationRecipe);
  return [
    ...passesByMethod(recipe),
    ["'quantizationRecipe'", isQuantizedByName ? Object.keys(quantizationRecipe) : []],
    ["'partitioners'", isByName ? Object.keys(partitioners) : []],
  ];
}

/** Throws unless the methods that a recipe names are there. */
export function checkNamed(recipe: ExportRecipe, methods: readonly string[]): void {
  for (const [field, names] of namedMethods(recipe)) {
    const unknown = names.find((name) => !methods.includes(name));
    if (unknown !== undefined)
      throw noMethod(
        field,
        unknown,
        methods.map((name) => ({ name })),
      );
  }
}
