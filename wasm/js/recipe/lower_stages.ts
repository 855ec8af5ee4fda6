// The stages that lower: edge programs, passes over them, parts for backends, the executorch program.
import { delegationInfoOf } from "../lower/delegation_info.js";
import { isPartitionersByMethod } from "./check.js";
import { asked, loweringOf, resolveEach, take } from "./stage_given.js";
import type {
  CallOptions,
  CompileConfig,
  EdgeProgramManager,
  Engine,
  ExecutorchProgramManager,
  OpenedPrograms,
  Partitioner,
  Partitioners,
  Pass,
  Passes,
  PipelineArtifact,
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

/** Nothing goes to it: it stands for passes before decomposition. */
const passesAlone = (passes: readonly Pass[]): Partitioner => ({
  backend: "null",
  tags: [],
  transformForPreDecomposition: passes,
});

/** The partitioners, after the passes that come before decomposition; undefined without either. */
function partitionersOf(
  opened: OpenedPrograms,
  artifact: PipelineArtifact,
  partitioners: Partitioners | undefined,
): Partitioners | undefined {
  const { atenTransformPasses: functions } = artifact.context.exportRecipe;
  const passes = resolveEach("atenTransformPasses", functions, opened);
  const given = roundsOf(partitioners, opened.methods);
  const rounds = opened.methods.map((method): [string, Rounds] => [
    method,
    [...first(passes, method), ...(Object.hasOwn(given, method) ? given[method]! : [])],
  ]);
  return rounds.some(([, round]) => round.length > 0) ? Object.fromEntries(rounds) : undefined;
}

function first(passes: Record<string, Pass[]> | undefined, method: string): Partitioner[] {
  const list = passes?.[method] ?? [];
  return list.length > 0 ? [passesAlone(list)] : [];
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
  const field = "edgeTransformPasses";
  const transformPasses = resolveEach(field, recipe[field], opened);
  const partitioner = partitionersOf(opened, artifact, recipe.partitioners);
  const options = edgeOptions(artifact, call);
  const edge =
    partitioner === undefined && transformPasses === undefined
      ? opened.toEdge(options)
      : opened.toEdgeTransformAndLower({
          ...options,
          ...(partitioner && { partitioner }),
          ...(transformPasses && { transformPasses }),
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
  const partitioner = partitionersOf(opened, artifact, undefined);
  const options = edgeOptions(artifact, call);
  const edge = partitioner
    ? opened.toEdgeTransformAndLower({ ...options, partitioner })
    : opened.toEdge(options);
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

/** `edge_program_manager_transform`: edge passes that have not run, and those over all programs. */
export function managerTransform(_engine: Engine, artifact: PipelineArtifact): PipelineArtifact {
  const edge = take("edge_program_manager_transform", "EdgeProgramManager", artifact);
  const { edgeTransformPasses, edgeManagerTransformPasses } = loweringOf(artifact);
  const chain = new Chain(edge);
  const wanted = artifact.context.areEdgePassesDone ? [] : edgeTransformPasses;
  const passes = resolveEach("edgeTransformPasses", wanted, edge);
  if (passes) chain.step((last) => last.transform(passes));
  for (const [i, one] of (edgeManagerTransformPasses ?? []).entries()) {
    const given = asked(`edgeManagerTransformPasses[${i}]`, () => one(chain.last)) as
      Passes | null | undefined;
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
