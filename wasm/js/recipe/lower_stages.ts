// The stages that lower: edge programs, passes over them, parts for backends, the executorch program.
import { delegationInfoOf } from "../lower/delegation_info.js";
import { isPartitionersByMethod } from "./check.js";
import { transformSources } from "./source_passes.js";
import { asked, loweringOf, resolveEach, resolveOne, take } from "./stage_input.js";
import type {
  CallOptions,
  CompileConfig,
  EdgeProgramManager,
  Engine,
  ExecutorchProgramManager,
  ExportedProgram,
  OpenedPrograms,
  Partitioner,
  Partitioners,
  Pass,
  Passes,
  PipelineArtifact,
  ResolveManagerPasses,
  StageContext,
  ToEdgeOptions,
} from "../types/index.js";

/** The options of decomposition: those of the recipe, and the sizes that the call gives. */
export function compileConfigOf({ dynamicShapes, exportRecipe }: StageContext): CompileConfig {
  const given = exportRecipe.loweringRecipe?.edgeCompileConfig ?? {};
  const shapes = { ...given.dynamicShapes, ...dynamicShapes };
  return { ...given, ...(Object.keys(shapes).length > 0 && { dynamicShapes: shapes }) };
}

function edgeOptions({ context }: PipelineArtifact, call: CallOptions): ToEdgeOptions {
  const { constantMethods, generateEtrecord } = context;
  return { ...call, constantMethods, generateEtrecord, compileConfig: compileConfigOf(context) };
}

const EDGE = "edgeTransformPasses";

type Rounds = readonly Partitioner[];

/** The partitioners of a recipe, by method. */
function roundsOf(
  given: Partitioners | undefined,
  methods: readonly string[],
): Readonly<Record<string, Rounds>> {
  if (given === undefined) return {};
  const listed = (one: Partitioner | Rounds): Rounds =>
    Array.isArray(one) ? (one as Rounds) : [one as Partitioner];
  const named: [string, Partitioner | Rounds][] = isPartitionersByMethod(given)
    ? Object.entries(given)
    : methods.map((method) => [method, given as Partitioner | Rounds]);
  return Object.fromEntries(named.map(([method, one]) => [method, listed(one)]));
}

/** The programs after the recipe's passes before decomposition, one function after the other. */
function withAtenPasses(
  opened: OpenedPrograms,
  { context }: PipelineArtifact,
  call: CallOptions,
  body: (programs: OpenedPrograms) => EdgeProgramManager,
): EdgeProgramManager {
  const field = "atenTransformPasses";
  let programs = opened;
  try {
    for (const [i, one] of (context.exportRecipe[field] ?? []).entries()) {
      const before = programs;
      const ask = (program: ExportedProgram): Pass[] => resolveOne(`${field}[${i}]`, one, program);
      programs = transformSources(before, field, ask, call);
      if (before !== opened && before !== programs) before.dispose();
    }
    return body(programs);
  } finally {
    if (programs !== opened) programs.dispose();
  }
}

/** The artifact of edge programs, with what has become of their nodes. */
function lowered(artifact: PipelineArtifact, edge: EdgeProgramManager): PipelineArtifact {
  const made = artifact.copyWithNewData(edge);
  made.addContext("delegationInfoByMethod", delegationInfoOf(edge));
  return made;
}

/** `to_edge_transform_and_lower`: edge passes, and then parts for backends, all in one. */
export function transformAndLower(
  _engine: Engine,
  artifact: PipelineArtifact,
  call: CallOptions,
): PipelineArtifact {
  const opened = take("to_edge_transform_and_lower", "OpenedPrograms", artifact);
  const recipe = loweringOf(artifact);
  const edge = withAtenPasses(opened, artifact, call, (programs) => {
    const transformPasses = resolveEach(EDGE, recipe[EDGE], programs);
    const { split } = recipe.edgeCompileConfig ?? {};
    const rounds = roundsOf(recipe.partitioners, split ? Object.keys(split) : programs.methods);
    const isAny = Object.values(rounds).some((round) => round.length > 0);
    const options = edgeOptions(artifact, call);
    return isAny || transformPasses !== undefined
      ? programs.toEdgeTransformAndLower({
          ...options,
          ...(isAny && { partitioner: rounds }),
          ...(transformPasses && { transformPasses }),
        })
      : programs.toEdge(options);
  });
  const made = lowered(artifact, edge);
  made.addContext("areEdgePassesDone", true);
  return made;
}

/** `to_edge`: decomposed only; parts come with `to_backend`. */
export function toEdge(
  _engine: Engine,
  artifact: PipelineArtifact,
  call: CallOptions,
): PipelineArtifact {
  const opened = take("to_edge", "OpenedPrograms", artifact);
  const options = edgeOptions(artifact, call);
  const edge = withAtenPasses(opened, artifact, call, (programs) => programs.toEdge(options));
  return artifact.copyWithNewData(edge);
}

/** One manager after the other: those in between go at once. */
class Chain {
  constructor(
    private readonly first: EdgeProgramManager,
    public last = first,
  ) {}

  /** Lets go of what was made when a later step fails. */
  step(body: (edge: EdgeProgramManager) => EdgeProgramManager): void {
    const before = this.last;
    try {
      this.last = body(before);
    } finally {
      if (before !== this.first) before.dispose();
    }
  }
}

const managerPasses = (
  what: string,
  one: ResolveManagerPasses,
  edge: EdgeProgramManager,
): Passes | null | undefined =>
  typeof one === "function" ? (asked(what, () => one(edge)) as Passes | null | undefined) : one;

/** `edge_program_manager_transform`: edge passes that have not run, and those over all programs. */
export function managerTransform(_engine: Engine, artifact: PipelineArtifact): PipelineArtifact {
  const edge = take("edge_program_manager_transform", "EdgeProgramManager", artifact);
  const { edgeTransformPasses, edgeManagerTransformPasses } = loweringOf(artifact);
  const chain = new Chain(edge);
  const wanted = artifact.context.areEdgePassesDone ? [] : edgeTransformPasses;
  const passes = resolveEach(EDGE, wanted, edge);
  if (passes) chain.step((last) => last.transform(passes));
  for (const [i, one] of (edgeManagerTransformPasses ?? []).entries()) {
    const given = managerPasses(`edgeManagerTransformPasses[${i}]`, one, chain.last);
    if (given != null) chain.step((last) => last.transform(given));
  }
  const made = artifact.copyWithNewData(chain.last);
  made.addContext("areEdgePassesDone", true);
  return made;
}

/** `to_backend`: parts of programs that are decomposed; none without partitioners. */
export function toBackend(
  _engine: Engine,
  artifact: PipelineArtifact,
  call: CallOptions,
): PipelineArtifact {
  const edge = take("to_backend", "EdgeProgramManager", artifact);
  const rounds = roundsOf(loweringOf(artifact).partitioners, edge.methods);
  const isAny = Object.values(rounds).some((round) => round.length > 0);
  return lowered(artifact, isAny ? edge.toBackend(rounds, call) : edge);
}

/** `to_executorch`: the file. */
export function toExecutorch(
  _engine: Engine,
  artifact: PipelineArtifact,
  call: CallOptions,
): PipelineArtifact<ExecutorchProgramManager> {
  const edge = take("to_executorch", "EdgeProgramManager", artifact);
  const { executorchBackendConfig } = artifact.context.exportRecipe;
  return artifact.copyWithNewData(edge.toExecutorch({ ...executorchBackendConfig, ...call }));
}
