// The stage that quantizes: what the recipe says of each method, on which calls it is calibrated.
import { badArgument } from "../../base/check.js";
import { SconceError } from "../../base/errors.js";
import { countOf, isIterable } from "../../base/iterable.js";
import { checkedCalls } from "../inputs.js";
import {
  checkAsked,
  configsOf,
  type Counted,
  type MethodQuantization,
  type QuantizationHook,
  type QuantizationHooks,
} from "./config.js";
import { compileConfigOf } from "../lower_stages.js";
import { quantizeProgram } from "./run.js";
import { quantizationOf, type Hook } from "../check.js";
import { asked, resolve, take } from "../stage_input.js";
import type {
  CallOptions,
  Engine,
  InputTuples,
  MethodSummary,
  PipelineArtifact,
  QuantizationRecipe,
  StageContext,
} from "../../types/index.js";

/** Dimension 0 of every tensor has to be open for other sizes of it. */
function checkBatch(method: MethodSummary): void {
  const closed = method.inputs.find(
    ({ role, kind, shape }) =>
      role === "user_input" && kind === "tensor" && typeof shape?.[0] === "number",
  );
  if (!closed) return;
  throw new SconceError(
    "argument",
    `dynamicBatchSize: method '${method.name}' was exported for ${closed.shape![0]} as dimension 0 ` +
      `of input '${closed.name}'`,
    'Export it with dynamic_shapes={"' +
      closed.name +
      '": {0: torch.export.Dim("batch", min=1)}}, or leave dynamicBatchSize out.',
  ).ofMethod(method.name);
}

function calibrationOf(
  recipe: QuantizationRecipe,
  method: MethodSummary,
  { exampleInputs, exampleCalls }: StageContext,
): Counted {
  const { calibrationInputsFn } = recipe;
  if (!calibrationInputsFn) {
    const [examples, streamed] = [exampleInputs[method.name], exampleCalls[method.name]];
    if (streamed) {
      const calls = checkedCalls("example inputs", method, streamed);
      return { calls, count: countOf(streamed) };
    }
    if (examples && examples.length > 0) {
      const calls = checkedCalls("example inputs", method, examples);
      return { calls, count: examples.length };
    }
    throw new SconceError(
      "input",
      `the example inputs of method '${method.name}' are missing, so calibration has no data`,
      "Pass exampleInputs (--calibrate on the command line), or a calibrationInputsFn in the recipe.",
    ).ofMethod(method.name);
  }
  const what = `calibrationInputsFn of method '${method.name}'`;
  const calls = asked(what, () => calibrationInputsFn(method.name)) as InputTuples;
  if (!isIterable(calls)) throw badArgument(`what ${what} gives`, "an iterable of calls", calls);
  return { calls: checkedCalls("calibration inputs", method, calls), count: countOf(calls) };
}

const hookOf = (recipe: QuantizationRecipe, field: Hook): QuantizationHook => ({
  isAny: (recipe[field]?.length ?? 0) > 0,
  passes: (program) => resolve(field, recipe[field], program),
});

const hooksOf = (recipe: QuantizationRecipe): QuantizationHooks => ({
  prePrepare: hookOf(recipe, "prePreparePasses"),
  postPrepare: hookOf(recipe, "postPreparePasses"),
  preConvert: hookOf(recipe, "preConvertPasses"),
  postConvert: hookOf(recipe, "postConvertPasses"),
});

function planned(method: MethodSummary, context: StageContext): [string, MethodQuantization][] {
  const { name } = method;
  const recipe = quantizationOf(context.exportRecipe.quantizationRecipe, name);
  if (!recipe) return [];
  checkAsked(recipe, name);
  if (recipe.dynamicBatchSize) checkBatch(method);
  const quantization: MethodQuantization = {
    configs: (program) => configsOf(recipe, program),
    hooks: hooksOf(recipe),
    calibration: () => calibrationOf(recipe, method, context),
  };
  return [[name, quantization]];
}

/** The stage `quantize`. */
export async function quantize(
  _engine: Engine,
  artifact: PipelineArtifact,
  call: CallOptions,
): Promise<PipelineArtifact> {
  const opened = take("quantize", "OpenedPrograms", artifact);
  const { context } = artifact;
  const methods = opened.inspect().stages[0]!.methods;
  const plan = methods.flatMap((method) => planned(method, context));
  if (plan.length === 0) return artifact.copyWithNewData(opened);
  const { program, report } = await quantizeProgram(
    opened,
    Object.fromEntries(plan),
    context.exampleInputs,
    {
      ...call,
      sensitivity: context.sensitivity,
      compileConfig: compileConfigOf(context),
      executorch: context.exportRecipe.executorchBackendConfig ?? {},
    },
  );
  const made = artifact.copyWithNewData(program);
  made.addContext("quantizationReport", report);
  return made;
}
