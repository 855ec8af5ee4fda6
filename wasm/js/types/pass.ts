// The public types of passes: the graph of one method, which a pass of the user's own reads and
// changes.
import type { ConstantValue } from "./constant.js";
import type { DType, InputTensor, Tensor } from "./tensor.js";

/**
 * A size: a number, or an expression over symbols that are known only in a run ("s77", "2*s77").
 */
export type Size = number | string;

/** The type of a value of a graph. */
export interface ValueMeta {
  /** A tensor, a number that a node computes, or neither. */
  readonly kind: "tensor" | "int" | "float" | "bool" | "none" | "opaque";
  /** The element type of a tensor. */
  readonly dtype?: DType;
  /** The sizes of a tensor, outermost first. */
  readonly shape?: readonly Size[];
  /** The strides of a tensor, in elements. */
  readonly strides?: readonly Size[];
  /** The dims of a tensor by stride, outermost first. Null if the strides do not decide it. */
  readonly dimOrder?: readonly number[] | null;
  /** An integer's value: a number, or an expression over symbols. */
  readonly value?: Size;
}

/** The origin and type of a node. Members with other names belong to the pass, and end with it. */
export interface NodeMeta {
  /** The type of its result. A node with several results has a list of them. */
  readonly val: ValueMeta | readonly ValueMeta[];
  /** The user's own Python traceback. */
  readonly stackTrace: string;
  /** The modules around it: "L['self'].layers.0", innermost last. */
  readonly module: string;
  /** The node of the exported program that it was made of. */
  readonly fromNode: string;
  /**
   * The number by which profiles and records find it. It is 0 before `to_edge` numbers the nodes.
   */
  readonly debugHandle: number;
  [fact: string]: unknown;
}

/** One result of a node with several. */
export interface NodeOutput {
  /** The node that computes it. */
  readonly node: GraphNode;
  /** Its index among the results. */
  readonly index: number;
  /** Its name in the text of the graph. */
  readonly name: string;
  /** Its type. */
  readonly val: ValueMeta;
  /** The nodes that use it. */
  readonly users: readonly GraphNode[];
  /** Replaces it by another value in all nodes that use it. */
  replaceAllUsesWith(value: GraphValue): void;
}

/** A value of a graph: the only result of a node, or one of several. */
export type GraphValue = GraphNode | NodeOutput;

/** A float that must not become an integer, for operators that take either: 1.0 instead of 1. */
export interface FloatArg {
  /** The number. */
  readonly float: number;
}

/**
 * An argument of a node. A whole number is an integer; `{ float: 1 }` is 1.0. Integers beyond 2^53
 * are bigints. Dtypes, memory formats and devices are text: "float32", "channels_last", "cpu".
 */
export type GraphArg =
  | GraphValue
  /** A body of control flow. */
  | Graph
  | FloatArg
  | number
  | bigint
  | boolean
  | string
  | null
  | readonly GraphArg[];

/** A node of a graph, as in `torch.fx`. */
export interface GraphNode {
  /** Its name. No other node of the graph has it. */
  readonly name: string;
  /** An input of the graph, a call, or the node of the graph's results. */
  readonly op: "placeholder" | "call_function" | "output";
  /** The operator of a call ("aten::add.Tensor"); the name of an input; "output". */
  readonly target: string;
  /**
   * Arguments by position, with defaults filled in. The output has one list of the graph's results.
   */
  readonly args: readonly GraphArg[];
  /** Arguments by name. */
  readonly kwargs: Readonly<Record<string, GraphArg>>;
  /** The nodes that use a result of it, each once, in any order. */
  readonly users: readonly GraphNode[];
  /** The nodes whose results it uses, each once. */
  readonly inputs: readonly GraphNode[];
  /** Its origin and type, and facts that the pass adds. */
  readonly meta: NodeMeta;
  /** Its results. For a node with one result, that is the node itself. */
  readonly outputs: readonly GraphValue[];
  /** The graph that it is in. */
  readonly graph: Graph;
  /** True if it was erased. */
  readonly isErased: boolean;
  /**
   * True for a call that writes into an operand, as aten::add_ does. Only programs before
   * decomposition have such calls.
   */
  readonly mutates: boolean;
  /** True for a call of random numbers: two equal calls have different results. */
  readonly isRandom: boolean;
  /** The node before it; null for the first. */
  readonly prev: GraphNode | null;
  /** The node after it; null for the last. */
  readonly next: GraphNode | null;
  /**
   * Replaces its result by another value in all nodes that use it, except for the node of the other
   * value.
   */
  replaceAllUsesWith(value: GraphValue): void;
  /** Replaces a value that this node uses by another one. */
  replaceInput(from: GraphValue, to: GraphValue): void;
  /** Sets an argument, by position or name. */
  setArg(at: number | string, value: GraphArg): void;
}

/** A graph: nodes in the order in which they run. */
export interface Graph {
  /** Its name in the text of the program; empty for a method's own graph. */
  readonly name: string;
  /**
   * The names of the bodies around it and its own name, with slashes between. Empty for a method's
   * own graph.
   */
  readonly path: string;
  /**
   * Inputs, calls and the output, in order. Nodes may be inserted and erased during a loop. An
   * erased node is not reached any more. An inserted node is reached if it comes after the current
   * one.
   */
  readonly nodes: Iterable<GraphNode> & { readonly length: number };
  /** The node of its results. */
  readonly output: GraphNode;
  /** The calls of an operator in this graph, in order. "aten.relu.default" means "aten::relu", too. */
  find(target: string): GraphNode[];
  /**
   * Inserts a new call before a node. The operator's shape rule gives its type. It inherits the
   * stack trace and the origin of that node. Fails with the code "argument" if an argument does not
   * fit.
   */
  insertBefore(
    node: GraphNode,
    target: string,
    args?: readonly GraphArg[],
    kwargs?: Readonly<Record<string, GraphArg>>,
  ): GraphNode;
  /** Inserts a new call after a node, in the same way. */
  insertAfter(
    node: GraphNode,
    target: string,
    args?: readonly GraphArg[],
    kwargs?: Readonly<Record<string, GraphArg>>,
  ): GraphNode;
  /** Erases a call whose results are not used. Fails with the code "state" otherwise. */
  erase(node: GraphNode): void;
  /** Erases calls without use or effect, and gives their number. */
  eraseDead(): number;
  /** The body of a call of control flow: the argument at that index. */
  subgraph(node: GraphNode, index: number): Graph;
}

/** An input or an output of a method. */
export interface SignatureRow {
  /** Its name in the graph. Null for an output that is a constant. */
  readonly name: string | null;
  /** Its role. */
  readonly kind: string;
  /** Its parameter, buffer or input. Empty if it has none. */
  readonly target: string;
}

/** The smallest and the largest value of a symbol. Null if there is no bound. */
export interface SymbolRange {
  readonly min: number | null;
  readonly max: number | null;
}

/** One method, as a pass gets it. It is valid only during the call of the pass. */
export interface PassProgram {
  /** The name of the method. */
  readonly method: string;
  /** Its graph. */
  readonly graph: Graph;
  /** The graph's inputs and outputs, with their roles. */
  readonly signature: {
    readonly inputs: readonly SignatureRow[];
    readonly outputs: readonly SignatureRow[];
  };
  /** The bounds of the symbols in its sizes, by name. */
  readonly rangeConstraints: Readonly<Record<string, SymbolRange>>;
  /** Parameters, buffers and other constants, in the order of their inputs. */
  readonly constants: readonly PassConstant[];
  /** Parameters and persistent buffers, by name. */
  stateDict(): Readonly<Record<string, PassConstant>>;
  /**
   * Adds a constant as an input of the graph. Its data is copied. Fails with the code "argument" if
   * the program has a constant of that name.
   */
  addConstant(name: string, tensor: InputTensor): GraphNode;
  /**
   * Adds a value after the method's outputs, for example to look at a value in the middle of a
   * model. The outputs are a flat list from then on.
   */
  addOutput(value: GraphValue): void;
  /**
   * Gives an input that callers pass another dtype. The nodes that use it are inferred again. A node
   * that cannot take the dtype must be replaced before the pass ends. Fails with the code "argument"
   * for a weight, and with "unsupported" for an input that the method writes.
   */
  setInputDType(input: GraphNode, dtype: DType): void;
  /**
   * Adds a constant method to the program, as `constantMethods` of `toEdge` does. Its result cannot
   * contain tensors. Fails with the code "argument" if the program has a method of that name.
   */
  addConstantMethod(name: string, value: ConstantValue): void;
  /** The current text of the method. */
  text(): string;
}

/** A constant of a method. */
export interface PassConstant {
  /** Its full name: "layers.0.weight". */
  readonly name: string;
  /** "parameter", "buffer" or "constant_tensor". */
  readonly kind: string;
  /** The input of the graph for it. */
  readonly node: GraphNode;
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** A copy of its elements, row-major and little-endian. */
  bytes(): Uint8Array<ArrayBuffer>;
  /** A copy of it as a tensor. */
  tensor(): Tensor;
}

/**
 * A pass of your own: a function that changes a method. It must finish its work before it returns,
 * because promises are not awaited.
 *
 * @example
 * engine.toEdge("model.pt2").transform([
 *   function geluForRelu({ graph }) {
 *     for (const node of graph.find("aten::relu")) {
 *       const gelu = graph.insertBefore(node, "aten::gelu", node.args, { approximate: "tanh" });
 *       node.replaceAllUsesWith(gelu);
 *       graph.erase(node);
 *     }
 *   },
 * ]);
 */
export type PassFunction = (program: PassProgram) => void;

/**
 * A pass: the name of a built-in or registered one, or a function of your own. A client takes
 * names; `client.importPasses()` brings functions to its worker.
 */
export type Pass = string | PassFunction;

/** The scale, zero point and dtype of integers that callers pass. */
export interface InputQuantization {
  /** The float of one step. It is above 0. */
  readonly scale: number;
  /** The integer for 0. */
  readonly zeroPoint: number;
  /** The type of the integers. */
  readonly dtype: "int8" | "uint8" | "int16" | "uint16";
}

/** Passes for all methods, or by method. */
export type Passes = readonly Pass[] | Readonly<Record<string, readonly Pass[]>>;
