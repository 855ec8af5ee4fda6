// The public types of passes: the graph of one method, as a pass of the user's own sees and changes it.
import type { ConstantValue } from "./constant.js";
import type { DType, InputTensor, Tensor } from "./tensor.js";

/** A size: a number, or an expression over symbols that only a run knows ("s77", "2*s77"). */
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
  /** The dims of a tensor by stride, outermost first; null where the strides do not say it. */
  readonly dimOrder?: readonly number[] | null;
  /** An integer's value: a number, or an expression over symbols. */
  readonly value?: Size;
}

/** The origin and type of a node. Members with other names are the pass's own, and end with it. */
export interface NodeMeta {
  /** The type of its result; of a node with several results, one for each. */
  readonly val: ValueMeta | readonly ValueMeta[];
  /** The user's own Python traceback. */
  readonly stackTrace: string;
  /** The modules around it: "L['self'].layers.0", innermost last. */
  readonly module: string;
  /** The node of the exported program that it was made of. */
  readonly fromNode: string;
  /** The number by which profiles and records find it; 0 before `to_edge` has numbered the nodes. */
  readonly debugHandle: number;
  [fact: string]: unknown;
}

/** One result of a node that has several. */
export interface NodeOutput {
  /** The node that computes it. */
  readonly node: GraphNode;
  /** Its place among the results. */
  readonly index: number;
  /** Its name in the text of the graph. */
  readonly name: string;
  /** Its type. */
  readonly val: ValueMeta;
  /** The nodes that use it. */
  readonly users: readonly GraphNode[];
  /** Puts another value in its place wherever it is used. */
  replaceAllUsesWith(value: GraphValue): void;
}

/** A value of a graph: the only result of a node, or one of several. */
export type GraphValue = GraphNode | NodeOutput;

/** A float that must not become an integer: 1.0 and not 1, where an operator takes either. */
export interface FloatArg {
  /** The number. */
  readonly float: number;
}

/**
 * An argument of a node. Whole numbers are integers; `{ float: 1 }` is 1.0. Integers beyond 2^53 are
 * bigints. Dtypes, memory formats and devices are text: "float32", "channels_last", "cpu".
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
  /** Its name, which no other node of the graph has. */
  readonly name: string;
  /** An input of the graph, a call, or what the graph returns. */
  readonly op: "placeholder" | "call_function" | "output";
  /** The operator of a call ("aten::add.Tensor"); the name of an input; "output". */
  readonly target: string;
  /** Arguments by position, with defaults filled in; of the output, one list with what the graph returns. */
  readonly args: readonly GraphArg[];
  /** Arguments that go by name only. */
  readonly kwargs: Readonly<Record<string, GraphArg>>;
  /** The nodes that use a result of it, each once, in no certain order. */
  readonly users: readonly GraphNode[];
  /** The nodes whose results it uses, each once. */
  readonly inputs: readonly GraphNode[];
  /** Its origin and type, and facts of the pass's own. */
  readonly meta: NodeMeta;
  /** Its results; of a node with one result, the node itself. */
  readonly outputs: readonly GraphValue[];
  /** The graph that it is in. */
  readonly graph: Graph;
  /** Whether it has been erased. */
  readonly isErased: boolean;
  /** The node before it; null for the first. */
  readonly prev: GraphNode | null;
  /** The node after it; null for the last. */
  readonly next: GraphNode | null;
  /**
   * Puts another value in the place of its result wherever that is used, but for the node that makes
   * the other value.
   */
  replaceAllUsesWith(value: GraphValue): void;
  /** Puts another value in the place of one that this node uses. */
  replaceInput(from: GraphValue, to: GraphValue): void;
  /** Sets an argument, by position or name. */
  setArg(at: number | string, value: GraphArg): void;
}

/** A graph: nodes in the order in which they run. */
export interface Graph {
  /** Its name in the text of the program; empty for a method's own graph. */
  readonly name: string;
  /** The bodies around it and its own name, with slashes between; empty for a method's own graph. */
  readonly path: string;
  /**
   * Inputs, calls and the output, in order. Nodes may be inserted and erased while this is walked: an
   * erased node is not reached any more, and an inserted one is if it stands behind the walk.
   */
  readonly nodes: Iterable<GraphNode> & { readonly length: number };
  /** The node that stands for its results. */
  readonly output: GraphNode;
  /** The calls of an operator in this graph, in order. "aten.relu.default" means "aten::relu", too. */
  find(target: string): GraphNode[];
  /**
   * A new call before that node. Its type comes from the operator's shape rule. It inherits the stack
   * trace and the origin of that node. Fails with the code "argument" where an argument does not fit.
   */
  insertBefore(
    node: GraphNode,
    target: string,
    args?: readonly GraphArg[],
    kwargs?: Readonly<Record<string, GraphArg>>,
  ): GraphNode;
  /** The same behind that node. */
  insertAfter(
    node: GraphNode,
    target: string,
    args?: readonly GraphArg[],
    kwargs?: Readonly<Record<string, GraphArg>>,
  ): GraphNode;
  /** Erases a call whose results nobody uses; fails with the code "state" otherwise. */
  erase(node: GraphNode): void;
  /** Erases calls without use or effect; gives their number. */
  eraseDead(): number;
  /** A body of a call of control flow: the argument at that position. */
  subgraph(node: GraphNode, index: number): Graph;
}

/** An input or an output of a method. */
export interface SignatureRow {
  /** Its name in the graph; of an output that is a constant, null. */
  readonly name: string | null;
  /** The role that it has. */
  readonly kind: string;
  /** The parameter, buffer or input that it stands for; empty for none. */
  readonly target: string;
}

/** The smallest and the largest value of a symbol; null where there is no bound. */
export interface SymbolRange {
  readonly min: number | null;
  readonly max: number | null;
}

/** One method, as a pass gets it. All of it ends with the call of the pass. */
export interface PassProgram {
  /** The name of the method. */
  readonly method: string;
  /** Its graph. */
  readonly graph: Graph;
  /** The graph's inputs and outputs, and the parts that they play. */
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
   * A new constant, as an input of the graph. Its data is copied. Fails with the code "argument" when a
   * constant of the program has that name.
   */
  addConstant(name: string, tensor: InputTensor): GraphNode;
  /**
   * Returns one more value, behind the others: to look at a value in the middle of a model, for instance.
   * The outputs of the method are a flat list from then on.
   */
  addOutput(value: GraphValue): void;
  /**
   * Gives a tensor that callers pass another dtype. The nodes that use it are inferred again; one that
   * cannot take the dtype must be replaced before the pass ends. Fails with the code "argument" for a
   * weight, and with "unsupported" for an input that the method writes.
   */
  setInputDType(input: GraphNode, dtype: DType): void;
  /**
   * A new constant method of the program, as `constantMethods` of `toEdge` adds it; tensors cannot be in its
   * result. Fails with the code "argument" when the program has a method of that name.
   */
  addConstantMethod(name: string, value: ConstantValue): void;
  /** The method as text, as it is now. */
  text(): string;
}

/** A constant of a method. */
export interface PassConstant {
  /** Its full name: "layers.0.weight". */
  readonly name: string;
  /** "parameter", "buffer" or "constant_tensor". */
  readonly kind: string;
  /** The input of the graph that stands for it. */
  readonly node: GraphNode;
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** Its elements, row-major and little endian; a copy. */
  bytes(): Uint8Array<ArrayBuffer>;
  /** The same as a tensor. */
  tensor(): Tensor;
}

/**
 * A pass of your own: a function that changes a method. Nothing waits for a promise, so it must have
 * done its work when it returns.
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
 * A pass: the name of one that lowering has or that was registered, or a function of your own. A client
 * takes names: `client.importPasses()` brings functions to its worker.
 */
export type Pass = string | PassFunction;

/** The scale, zero point and dtype of integers that callers pass. */
export interface InputQuantization {
  /** The float of one step; above 0. */
  readonly scale: number;
  /** The integer that stands for 0. */
  readonly zeroPoint: number;
  /** The type of the integers. */
  readonly dtype: "int8" | "uint8" | "int16" | "uint16";
}

/** Passes for all methods, or by method. */
export type Passes = readonly Pass[] | Readonly<Record<string, readonly Pass[]>>;
