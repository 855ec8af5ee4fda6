// The stages of an export, a row each: what may stand before it, whether it may begin, and what makes
// one artifact of another. Sequences are checked by the rows alone, before anything runs.
import { SconceError } from "../base/errors.js";
import {
  managerTransform,
  toBackend,
  toEdge,
  toExecutorch,
  transformAndLower,
} from "./lower_stages.js";
import { isPartitioning, isQuantizing } from "./check.js";
import { quantize } from "./quantize/stage.js";
import type {
  CallOptions,
  Engine,
  ExportRecipe,
  PipelineArtifact,
  Stage,
  StageName,
  StageType,
} from "../types/index.js";

// --- Stages of Python --------------------------------------------------------------------------------

const PYTHON: Partial<Record<StageType, string>> = {
  source_transform:
    "Do it in Python before exporting: from torchao.quantization import quantize_; " +
    "quantize_(model, config). What needs no Python is a stage here: quantize.",
  torch_export:
    "Do it in Python: program = torch.export.export(model.eval(), (x,)); " +
    'torch.export.save(program, "model.pt2"). Then leave the stage out.',
};

// --- The table ---------------------------------------------------------------------------------------

type Run = (
  engine: Engine,
  artifact: PipelineArtifact,
  call: CallOptions,
) => PipelineArtifact | Promise<PipelineArtifact>;

interface Row {
  readonly follows: readonly StageType[];
  readonly mayStart: boolean;
  /** Absent for what is Python's. */
  readonly run?: Run;
}

const ROWS: Readonly<Record<StageType, Row>> = {
  source_transform: { follows: [], mayStart: true },
  quantize: { follows: ["source_transform"], mayStart: true, run: quantize },
  torch_export: { follows: ["source_transform", "quantize"], mayStart: true },
  to_edge_transform_and_lower: {
    follows: ["torch_export", "quantize"],
    mayStart: true,
    run: transformAndLower,
  },
  to_edge: { follows: ["torch_export", "quantize"], mayStart: true, run: toEdge },
  edge_program_manager_transform: {
    follows: ["to_edge", "to_edge_transform_and_lower"],
    mayStart: false,
    run: managerTransform,
  },
  to_backend: {
    follows: ["to_edge", "edge_program_manager_transform"],
    mayStart: false,
    run: toBackend,
  },
  to_executorch: {
    follows: ["to_edge_transform_and_lower", "to_backend", "edge_program_manager_transform"],
    mayStart: false,
    run: toExecutorch,
  },
};

/** The stages that there are, by name, for one engine. Those that are Python's are not among them. */
export function stagesOf(engine: Engine): Record<string, Stage> {
  const own = Object.entries(ROWS).filter(([, { run }]) => run);
  return Object.fromEntries(
    own.map(([name, { follows, mayStart, run }]): [string, Stage] => [
      name,
      {
        validPredecessors: follows,
        canStartPipeline: mayStart,
        run: (artifact, call) => run!(engine, artifact, call),
      },
    ]),
  );
}

// --- Settings of a recipe ---------------------------------------------------------------------------

/** A setting of a recipe, and the stages of which one carries it out. */
interface Wish {
  readonly field: string;
  readonly isSet: (recipe: ExportRecipe) => boolean;
  readonly stages: readonly StageType[];
}

const isList = (list: readonly unknown[] | undefined): boolean => (list?.length ?? 0) > 0;

const isGiven = (settings: object | undefined): boolean =>
  Object.values(settings ?? {}).some((value) => value !== undefined);

const WISHES: readonly Wish[] = [
  { field: "quantizationRecipe", isSet: isQuantizing, stages: ["quantize", "source_transform"] },
  {
    field: "atenTransformPasses",
    isSet: ({ atenTransformPasses: list }) => isList(list),
    stages: ["to_edge_transform_and_lower", "to_edge", "torch_export"],
  },
  {
    field: "loweringRecipe.partitioners",
    isSet: ({ loweringRecipe }) => isPartitioning(loweringRecipe?.partitioners),
    stages: ["to_edge_transform_and_lower", "to_backend"],
  },
  {
    field: "loweringRecipe.edgeTransformPasses",
    isSet: ({ loweringRecipe }) => isList(loweringRecipe?.edgeTransformPasses),
    stages: ["to_edge_transform_and_lower", "edge_program_manager_transform"],
  },
  {
    field: "loweringRecipe.edgeManagerTransformPasses",
    isSet: ({ loweringRecipe }) => isList(loweringRecipe?.edgeManagerTransformPasses),
    stages: ["edge_program_manager_transform"],
  },
  {
    field: "loweringRecipe.edgeCompileConfig",
    isSet: ({ loweringRecipe }) => isGiven(loweringRecipe?.edgeCompileConfig),
    stages: ["to_edge_transform_and_lower", "to_edge"],
  },
  {
    field: "executorchBackendConfig",
    isSet: ({ executorchBackendConfig: config }) => isGiven(config),
    stages: ["to_executorch"],
  },
];

/**
 * Throws where a recipe asks for what none of the stages carries out. Stages of the caller's own, `own`, may
 * carry out anything: with one of these among the stages, no setting is refused.
 */
export function checkWishes(
  recipe: ExportRecipe,
  names: readonly StageName[],
  own: ReadonlySet<StageName>,
): void {
  if (names.some((name) => own.has(name))) return;
  const idle = WISHES.find(
    ({ isSet, stages }) => isSet(recipe) && !stages.some((stage) => names.includes(stage)),
  );
  if (!idle) return;
  const { field, stages } = idle;
  const able = stages.filter((stage) => ROWS[stage].run);
  throw new SconceError(
    "argument",
    `the recipe has '${field}', but none of the stages carries it out: ${names.join(", ")}`,
    `Add the stage ${able.join(" or ")}, or leave '${field}' out.`,
  );
}

// --- Sequences ---------------------------------------------------------------------------------------

function stageNamed(name: StageName, stages: Readonly<Record<string, Stage>>): Stage {
  if (Object.hasOwn(stages, name)) return stages[name]!;
  const python = Object.hasOwn(PYTHON, name) ? PYTHON[name as StageType] : undefined;
  if (python !== undefined)
    throw new SconceError("unsupported", `stage ${name} works on a Python module`, python);
  throw new SconceError(
    "not_found",
    `there is no stage '${name}'`,
    `Register it first, with registerStage(), or use one of: ${Object.keys(stages).join(", ")}.`,
  );
}

/** A change that would make the step right, where one is known. */
const INSTEAD: Readonly<Record<string, string>> = {
  "to_edge to_executorch":
    "Put to_backend between the two, which without partitioners changes nothing, or take " +
    "to_edge_transform_and_lower instead of to_edge.",
};

function checkStep(
  before: StageName,
  name: StageName,
  stages: Readonly<Record<string, Stage>>,
): void {
  const { validPredecessors } = stageNamed(name, stages);
  const { validSuccessors = [] } = stages[before]!;
  if (validPredecessors.includes(before) || validSuccessors.includes(name)) return;
  const may =
    validPredecessors.length > 0 ? `It follows ${validPredecessors.join(", ")}.` : "It begins.";
  throw new SconceError(
    "argument",
    `stage ${name} cannot follow ${before}`,
    INSTEAD[`${before} ${name}`] ?? may,
  );
}

/** Throws unless stages can run in this order. */
export function checkSequence(
  names: readonly StageName[],
  stages: Readonly<Record<string, Stage>>,
): void {
  const [first] = names;
  if (first === undefined)
    throw new SconceError("argument", "there are no stages to run", "Name one or more.");
  if (!stageNamed(first, stages).canStartPipeline)
    throw new SconceError(
      "argument",
      `stage ${first} cannot begin`,
      `Begin with one of: ${Object.keys(stages)
        .filter((name) => stages[name]!.canStartPipeline)
        .join(", ")}.`,
    );
  names.slice(1).forEach((name, i) => {
    if (names.indexOf(name) <= i)
      throw new SconceError("argument", `stage ${name} is listed twice`, "Name each stage once.");
    checkStep(names[i]!, name, stages);
  });
}
