// Passes that make a quantized method take and give integers, as QuantizeInputs and QuantizeOutputs
// of ExecuTorch do: https://github.com/pytorch/executorch/blob/main/exir/passes/quantize_io_pass.py
import { badArgument, isPlain, KINDS } from "../base/check.js";
import { SconceError } from "../base/errors.js";
import type {
  DType,
  GraphArg,
  GraphNode,
  InputQuantization,
  PassFunction,
  PassProgram,
} from "../types/index.js";
import { functional } from "./functional.js";
import { isGraphNode } from "./replace.js";

const QUANTIZE = "quantized_decomposed::quantize_per_tensor";
const DEQUANTIZE = "quantized_decomposed::dequantize_per_tensor";

/** The largest integer of the dtype, and the smallest. */
const LIMITS: Readonly<Record<InputQuantization["dtype"], readonly [min: number, max: number]>> = {
  int8: [-128, 127],
  uint8: [0, 255],
  int16: [-32768, 32767],
  uint16: [0, 65535],
};

/** Arguments 1 to 5 of both operators: scale, zero point, smallest and largest integer, dtype. */
const parametersOf = ({ args }: GraphNode): readonly GraphArg[] => args.slice(1, 6);

const numberOf = (arg: GraphArg | undefined): number =>
  typeof arg === "object" && arg !== null && "float" in arg ? arg.float : Number(arg);

const isSame = (a: readonly GraphArg[], b: readonly GraphArg[]): boolean =>
  a.every((arg, i) => (i === 4 ? arg === b[i] : numberOf(arg) === numberOf(b[i])));

/** In a list of passes, the function itself gets a program. */
function refuseProgram(name: string, given: unknown): void {
  if (typeof given === "object" && given !== null && "graph" in given)
    throw new SconceError(
      "argument",
      `${name} is not a pass: it makes one`,
      `Call it in the list of passes: [${name}()].`,
    );
}

/**
 * Adds constant methods with the parameters of the integers. ExecuTorch adds a prefix only on request.
 * Here every method but `forward` gets its name as a prefix, so that the names differ.
 */
function addConstantMethods(
  program: PassProgram,
  place: string,
  parameters: readonly GraphArg[],
): void {
  const prefix = program.method === "forward" ? "" : `${program.method}_`;
  const [scale, zero, min, max, dtype] = parameters;
  const add = program.addConstantMethod;
  add(`${prefix}${place}_scale`, { double: numberOf(scale) });
  add(`${prefix}${place}_zp`, numberOf(zero));
  add(`${prefix}${place}_quant_min`, numberOf(min));
  add(`${prefix}${place}_quant_max`, numberOf(max));
  add(`${prefix}${place}_dtype`, { dtype: dtype as DType });
}

function refusal(place: string, why: string): SconceError {
  return new SconceError(
    "argument",
    `${place} ${why}`,
    "Quantize the model first, run the pass before delegation, or name other inputs and outputs.",
  );
}

// --- Inputs --------------------------------------------------------------------------------------

/** The calls that quantize an input, all alike; a text says why there are none. */
function quantizersOf(input: GraphNode): readonly [GraphNode, ...GraphNode[]] | string {
  const [first, ...more] = [...input.graph.nodes].filter((node) => node.inputs.includes(input));
  if (!first) return "is not used";
  const other = input.users.find(({ target }) => target !== QUANTIZE);
  if (other) return `is used by '${other.name}' (${other.target}), which takes floats`;
  const odd = more.find((node) => !isSame(parametersOf(node), parametersOf(first)));
  if (odd) return `is quantized in two ways, by '${first.name}' and '${odd.name}'`;
  return [first, ...more];
}

/** Makes an input integers that its quantizers give, or others, which are converted to these. */
function takeIntegers(
  program: PassProgram,
  input: GraphNode,
  quantizers: readonly [GraphNode, ...GraphNode[]],
  wanted: InputQuantization | undefined,
): readonly GraphArg[] {
  const { graph } = program;
  const own = parametersOf(quantizers[0]);
  const given = wanted && [
    { float: wanted.scale },
    wanted.zeroPoint,
    ...LIMITS[wanted.dtype],
    wanted.dtype,
  ];
  const parameters = given && !isSame(given, own) ? given : own;
  program.setInputDType(input, parameters[4] as DType);
  if (parameters === own) {
    for (const node of quantizers) {
      node.replaceAllUsesWith(input);
      graph.erase(node);
    }
    return own;
  }
  const floats = graph.insertBefore(quantizers[0], DEQUANTIZE, [input, ...parameters]);
  for (const node of quantizers) node.replaceInput(input, floats);
  return parameters;
}

type InputChoice = readonly number[] | Readonly<Record<number, InputQuantization | null>>;

function checkWanted(at: number, wanted: InputQuantization | null): InputQuantization | undefined {
  if (wanted === null) return undefined;
  const what = `input ${at} of quantizeInputs()`;
  if (!isPlain(wanted)) throw badArgument(what, "{ scale, zeroPoint, dtype }", wanted);
  const { scale, zeroPoint, dtype } = wanted;
  if (!Object.hasOwn(LIMITS, dtype))
    throw badArgument(`the dtype of ${what}`, Object.keys(LIMITS).join(", "), dtype);
  if (!(scale > 0 && scale < Infinity))
    throw badArgument(`the scale of ${what}`, "a number above 0", scale);
  const [min, max] = LIMITS[dtype];
  if (!Number.isInteger(zeroPoint) || zeroPoint < min || zeroPoint > max)
    throw badArgument(`the zeroPoint of ${what}`, `an integer from ${min} to ${max}`, zeroPoint);
  return wanted;
}

function checkIndices(what: string, given: unknown): readonly number[] {
  if (Array.isArray(given) && given.every((at) => KINDS.index.test(at))) return given as number[];
  throw badArgument(what, "a list of indices", given);
}

/** The choice as pairs; undefined stands for all that are quantized. */
function wantedOf(choice: InputChoice): ReadonlyMap<number, InputQuantization | undefined> {
  if (!isPlain(choice))
    return new Map(
      checkIndices("what quantizeInputs() takes", choice).map((at) => [at, undefined]),
    );
  const entries = Object.entries(choice as Record<number, InputQuantization | null>);
  checkIndices(
    "what quantizeInputs() takes",
    entries.map(([at]) => Number(at)),
  );
  return new Map(entries.map(([at, one]) => [Number(at), checkWanted(Number(at), one)]));
}

function inputsOf({ graph, signature }: PassProgram): GraphNode[] {
  const names = new Set(signature.inputs.filter((row) => row.kind === "user").map((r) => r.name));
  return [...graph.nodes].filter(({ op, name }) => op === "placeholder" && names.has(name));
}

/**
 * A pass that makes a quantized method take integers: its inputs are no longer quantized inside. It
 * takes the indices of inputs, or for each index the integers that callers will pass (null for those
 * that the model quantizes to). Without an argument it takes all inputs that are quantized first; the
 * name "quantizeInputs" in a list of passes means that.
 *
 * Constant methods say what the integers mean: `input0_scale`, `input0_zp`, `input0_quant_min`,
 * `input0_quant_max`, `input0_dtype`. Those of a method other than `forward` begin with its name:
 * `encode_input0_scale`. Run it before delegation.
 *
 * The pass fails with the code "argument" for an input that is not quantized first.
 *
 * @example
 * const edge = engine.toEdge("quantized.pt2").transform([quantizeInputs([0]), quantizeOutputs([0])]);
 */
export function quantizeInputs(inputs?: InputChoice): PassFunction {
  refuseProgram("quantizeInputs", inputs);
  const wanted = inputs === undefined ? undefined : wantedOf(inputs);
  return functional("quantizeInputs", (program) => {
    const nodes = inputsOf(program);
    let count = 0;
    for (const at of wanted?.keys() ?? nodes.keys()) {
      const input = nodes[at];
      if (!input)
        throw refusal(`input ${at}`, `does not exist: the method has ${nodes.length} inputs`);
      const quantizers = quantizersOf(input);
      if (typeof quantizers === "string") {
        if (!wanted) continue;
        throw refusal(`input ${at}, '${input.name}',`, quantizers);
      }
      addConstantMethods(
        program,
        `input${at}`,
        takeIntegers(program, input, quantizers, wanted?.get(at)),
      );
      count++;
    }
    if (!wanted && count === 0) throw refusal("no input", "goes straight into a quantize node");
  });
}

// --- Outputs -------------------------------------------------------------------------------------

/** The call that makes an output floats; undefined for any other output. */
function dequantizerOf(value: GraphArg | undefined): GraphNode | undefined {
  return isGraphNode(value) && value.target === DEQUANTIZE ? value : undefined;
}

/**
 * A pass that makes a quantized method give integers: the outputs with these indices are no longer
 * dequantized. Without an argument it takes all outputs that are; the name "quantizeOutputs" in
 * a list of passes means that. Constant methods as those of `quantizeInputs` say what the integers
 * mean: `output0_scale` and so on. Run it before delegation.
 *
 * The pass fails with the code "argument" for an output that is not dequantized last.
 *
 * @example
 * const edge = engine.toEdge("quantized.pt2").transform([quantizeInputs(), quantizeOutputs()]);
 */
export function quantizeOutputs(outputs?: readonly number[]): PassFunction {
  refuseProgram("quantizeOutputs", outputs);
  const wanted = outputs && checkIndices("what quantizeOutputs() takes", outputs);
  return functional("quantizeOutputs", (program) => {
    const { graph, signature } = program;
    const rows = signature.outputs.flatMap(({ kind }, i) => (kind === "user" ? [i] : []));
    let count = 0;
    for (const at of wanted ?? rows.keys()) {
      const row = rows[at];
      if (row === undefined)
        throw refusal(`output ${at}`, `does not exist: the method has ${rows.length} outputs`);
      const returned = graph.output.args[0] as readonly GraphArg[];
      const node = dequantizerOf(returned[row]);
      if (!node) {
        if (!wanted) continue;
        throw refusal(`output ${at}`, "does not come from a dequantize node");
      }
      const integers = node.args[0]!;
      graph.output.setArg(
        0,
        returned.map((value, i) => (i === row ? integers : value)),
      );
      addConstantMethods(program, `output${at}`, parametersOf(node));
      count++;
    }
    if (!wanted && count === 0) throw refusal("no output", "comes from a dequantize node");
    graph.eraseDead();
  });
}
