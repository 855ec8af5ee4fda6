// The public types of delegation: which parts of a program go to which backend, what has become of
// them, and what a backend that is written in JavaScript is.
import type { BackendConfig } from "../border/options.gen.js";
import type { CallOptions } from "./call_options.js";
import type { GraphNode, Pass, PassProgram, SignatureRow, SymbolRange } from "./pass.js";
import type { NodeRow, TensorInfo } from "./report.js";
import type { DType, InputTensor, InputValue, Value } from "./tensor.js";

/** A setting that a backend gets with a part, verbatim. */
export interface CompileSpec {
  /** A name that the backend knows. */
  readonly key: string;
  /** Bytes, or text, which becomes its bytes in UTF-8. */
  readonly value: Uint8Array | string;
}

/** Nodes that go to one part, by name. */
export interface TaggedNodes {
  /** The name of the part. */
  readonly tag: string;
  /**
   * Names of the nodes in it, as the edge program has them. A node of a body of control flow follows the
   * body's path: "true_graph_0/mul".
   */
  readonly nodes: readonly string[];
  /** Instead of those of the partitioner. */
  readonly compileSpecs?: readonly CompileSpec[];
}

/** A backend, and which nodes go to it. */
export interface PartitionerOptions {
  /** The id that files have ("XnnpackBackend"), or the name that people use ("xnnpack"). */
  readonly backend: string;
  /** Settings that the backend gets with each part. */
  readonly compileSpecs?: readonly CompileSpec[];
  /** These parts and no others; one that the backend does not take is an error. */
  readonly tags?: readonly TaggedNodes[];
  /** The whole method as one part, or an error that lists what the backend does not take of it. */
  readonly whole?: boolean;
  /**
   * Passes over the method as it was exported, in order, before it is decomposed; only of
   * `toEdgeTransformAndLower`, and those of the backend itself by default. Fails with the code
   * "argument" for passes that work on what decomposition makes, and for methods that write in place.
   */
  readonly transformForPreDecomposition?: readonly Pass[];
}

/** Nodes of a method that a partitioner of your own puts into one part, and the backend that gets it. */
export interface PartitionTag {
  /** The name of the part; no two tags have the same. */
  readonly tag: string;
  /** The backend's id or name. */
  readonly backend: string;
  /** Nodes of the program, or their names. A tag with nodes of several bodies is a part in each. */
  readonly nodes: readonly (GraphNode | string)[];
  /** Settings that the backend gets with the part. */
  readonly compileSpecs?: readonly CompileSpec[];
}

/**
 * A partitioner of your own: it reads the edge program of a method, and says which nodes go to which
 * backend. The program cannot be changed. A node that its backend does not take is an error.
 * @example
 * engine.lower("model.pt2", {
 *   partitioner: ({ graph }) => ({
 *     tags: graph
 *       .find("aten::convolution")
 *       .map((node) => ({ tag: node.name, backend: "xnnpack", nodes: [node] })),
 *   }),
 * });
 */
export type PartitionFunction = (program: PassProgram) => {
  readonly tags: readonly PartitionTag[];
};

/** A partitioner of your own, with its wishes for the time before it runs. */
export interface OwnPartitioner {
  /** Tags nodes, for each method. */
  readonly partition: PartitionFunction;
  /**
   * Operators that decomposition leaves whole where a tag takes them, as the exported program names them:
   * "aten::silu". Only of `toEdgeTransformAndLower`.
   */
  readonly opsToNotDecompose?: readonly string[];
  /** As in `PartitionerOptions`. */
  readonly transformForPreDecomposition?: readonly Pass[];
}

/**
 * A backend, which gets every node that it takes, in as few parts as possible; or more exactly; or a
 * partitioner of your own, by name where it was registered.
 */
export type Partitioner = string | PartitionerOptions | PartitionFunction | OwnPartitioner;

/**
 * Partitioners of all methods, or by method; methods that are not named stay as they are. In a
 * list, each one gets the nodes that those before it have left.
 */
export type Partitioners =
  | Partitioner
  | readonly Partitioner[]
  | Readonly<Record<string, Partitioner | readonly Partitioner[]>>;

/** Options of `EdgeProgramManager.toBackend`. */
export interface ToBackendOptions extends CallOptions, BackendConfig {}

/** A part that a backend took over. */
export interface DelegateInfo {
  /** "lowered_module_0", as in the text of the program. */
  name: string;
  /** The id that the file names. */
  backend: string;
  /** The body that the part was cut out of, with those around it; empty: the method's own graph. */
  graph: string;
  /** The number of nodes in it. */
  nodes: number;
  /** Multiplications with an addition, of matrix products and convolutions. */
  macs: number;
  /** Bytes of the tensors that its nodes read and write; dynamic sizes are those of the example. */
  bytes: number;
  /** Bytes that the backend made of it. */
  processedBytes: number;
  /** Bytes that the backend keeps under names, which parts may share. */
  dataBytes: number;
  /**
   * The nodes (`debugHandle`) behind each thing that the backend reports on, by name or number; null
   * when it does not say.
   */
  debugHandleMap: Record<string, number[]> | null;
}

/** The fate of a node: the part that it is in, or the reason why it is in none. */
export interface DelegationRow {
  /** The node, as the edge program names it. */
  name: string;
  /** The node of the exported program that it was made of, in bodies by path: "true_graph_0/mul". */
  origin: string;
  /** Its operator: "aten::addmm". */
  op: string;
  /** The body of control flow that it is in; empty: the method's own graph. */
  graph: string;
  /** As in `NodeRow`. */
  source: string;
  /** The name of the part that the node is in; null: it stayed outside. */
  delegate: string | null;
  /** The backend of the part, or the one that refused the node last; empty: no backend was asked. */
  backend: string;
  /** Why it is outside; empty when it is not. */
  reason: string;
  /** A change that would make the backend take it; empty when none is known. */
  hint: string;
  /** Multiplications with an addition that it makes, as in `DelegateInfo`. */
  macs: number;
  /** Bytes of the tensors that it reads and writes, as in `DelegateInfo`. */
  bytes: number;
}

/** By method: its delegates, and every node that it had before. */
export type Delegation = Record<string, { delegates: DelegateInfo[]; nodes: DelegationRow[] }>;

/** How far a result is from what it should be. */
export interface Closeness {
  /** The largest of all elements; null where only one of two is a finite number, or sizes differ. */
  difference: number | null;
  /** The largest magnitude of what it should be. */
  largest: number;
  /**
   * The largest difference that the precision allows: a share of `largest`, and no less than that of
   * 1. A value that was quantized on the way may be a step further away for each time.
   */
  tolerance: number;
  /** Whether `difference` is within `tolerance`. */
  isClose: boolean;
}

/** By method: what comes of running it with and without delegates, on the same inputs. */
export type Verification = Record<
  string,
  {
    /** Those that the file was exported with, or random ones, which are the same each time. */
    inputs: "example" | "random";
    outputs: ({ output: number } & Closeness)[];
    /**
     * Each on the inputs that it got, compared with the kernels; or the reason why that cannot be done. Name
     * and graph are those of `DelegateInfo`.
     */
    delegates: ({ name: string; backend: string; graph: string } & (
      Closeness | { reason: string }
    ))[];
  }
>;

/** An argument of a node; floats that JSON does not have are "Infinity", "-Infinity" and "NaN". */
export type NodeArg =
  | { readonly value: string }
  /** A body of a control-flow node. */
  | { readonly graph: string }
  /** A part that another backend has. */
  | { readonly part: string }
  | number
  | boolean
  | string
  | null
  | readonly NodeArg[];

/** A node as a backend sees it. */
export interface BackendNode extends NodeRow {
  /** By parameter of the operator's schema. */
  args: Record<string, NodeArg>;
}

/** A weight that belongs to a part. */
export interface PartConstant {
  /** As nodes and text name it. */
  readonly name: string;
  /** Its name in the model: "fc.weight". */
  readonly target: string;
  /** Its element type. */
  readonly dtype: DType;
  /** Its sizes, outermost first. */
  readonly shape: readonly number[];
  /** Row-major; read from the file now, and only while the part is preprocessed. */
  bytes(): Uint8Array<ArrayBuffer>;
}

/** A buffer that a part keeps: it starts with these bytes. */
export interface PartState extends PartConstant {
  /** The value of the part that the buffer is set to by a call, as nodes name it. */
  readonly result: string;
}

/** Nodes of a method that a backend has taken, as a graph of their own. */
export interface Part {
  /** The method that it was cut out of. */
  readonly method: string;
  /**
   * "lowered_module_0", as in the text of the program. In a body of control flow it follows the path of
   * the body: "true_graph_0/lowered_module_0". No two parts of a method have the same name.
   */
  readonly name: string;
  /** The inputs that `execute` will get, in order; sizes that are text are known only then. */
  readonly inputs: readonly TensorInfo[];
  /** The outputs that `execute` has to give, in order. */
  readonly outputs: readonly TensorInfo[];
  /**
   * The inputs and outputs of its graph, and their roles: "user" for operands and results, "parameter",
   * "buffer" and "constant_tensor" for constants, "buffer_mutation" for the new value of a state.
   */
  readonly signature: {
    readonly inputs: readonly SignatureRow[];
    readonly outputs: readonly SignatureRow[];
  };
  /** The bounds of the symbols in its sizes, by name. */
  readonly rangeConstraints: Readonly<Record<string, SymbolRange>>;
  /** Its weights and other constants. */
  readonly constants: readonly PartConstant[];
  /** Buffers that the backend keeps (`ownsState`). The method no longer sees them. */
  readonly states: readonly PartState[];
  /** Its nodes, in the order in which they run; only while the part is preprocessed. */
  nodes(): BackendNode[];
  /** The IR as text; only while the part is preprocessed. */
  text(): string;
}

/** The tensor that named bytes hold, as a data file (.ptd) describes it. */
export interface TensorLayout {
  /** Its element type. */
  readonly dtype: DType;
  /** Its sizes. */
  readonly shape: readonly number[];
  /** Its dims in the order of memory, outermost first; row-major by default. */
  readonly dimOrder?: readonly number[];
}

/** Bytes that a backend keeps under a name. */
export interface NamedBytes {
  /** The contents; of a tensor, its elements in row-major order. */
  readonly bytes: Uint8Array | InputTensor;
  /**
   * The tensor that the bytes hold; that of a tensor in `bytes` by default. Data files describe it, so that
   * other readers of the file find the tensor by its name. The .pte itself has no place for it.
   */
  readonly tensorLayout?: TensorLayout;
  /** The alignment of their place in the file; 16 by default. */
  readonly alignment?: number;
  /**
   * The .ptd that they go to, without its ending; the .pte itself by default. A file's name: text
   * with a slash, a backslash or a control character, "", "." and ".." are errors.
   */
  readonly externalTag?: string;
}

/** The bytes that a backend makes of a part. */
export interface PreprocessResult {
  /**
   * The bytes that `init` gets; no bytes by default. The file holds these and no others, so that the
   * backend's own runtime on another device can read them.
   */
  readonly processedBytes?: Uint8Array;
  /** The nodes (`debugHandle`) behind each thing that the backend reports on, by name or number. */
  readonly debugHandleMap?: Readonly<Record<string, readonly number[]>>;
  /**
   * Data that the file holds once, however many parts give it. `toBackend` fails with the code
   * "delegate" where two parts give one name different bytes, layouts or files.
   */
  readonly namedData?: Readonly<Record<string, Uint8Array | InputTensor | NamedBytes>>;
}

/** Why a backend does not take a node. */
export interface Refusal {
  /** A clause about the node, without a capital or a period: "its input is not two-dimensional". */
  reason: string;
  /** A sentence that says what would make the backend take it. */
  hint?: string;
}

/**
 * A backend of your own. Its functions are called while another call is under way, and must have
 * done their work when they return: a promise is an error. They may use other objects of the engine,
 * while a call on the one at work fails with the code "busy". A function that throws or returns a
 * wrong value fails the call with the code "delegate", and the engine stays usable. An object without a class has these members and no others.
 */
export interface Backend<State = unknown> {
  /** The name in files. A program that has it runs where the backend is registered. */
  readonly id: string;
  /** Passes for partitioners that name none of their own. */
  readonly transformForPreDecomposition?: readonly Pass[];
  /** True for a call that is to stay whole instead of being decomposed; asked only by `toEdgeTransformAndLower`. */
  keeps?(node: BackendNode, method: string): boolean;
  /**
   * True, or why the backend does not take the node: a reason alone, or with a hint at what to do. The
   * compile specs are those of the partitioner; what tags have instead comes with their parts.
   */
  supports(
    node: BackendNode,
    method: string,
    compileSpecs: readonly CompileSpec[],
  ): boolean | string | Refusal;
  /**
   * True for a buffer that the method writes, by its name in the model, that becomes state of the part.
   * `states` of the part has its first bytes. The buffer is then neither an input nor an output.
   * That part has to read and write all of it, or lowering fails with the code "argument". Buffers
   * that nobody owns stay with the program, which passes them, and takes what they become as outputs.
   */
  ownsState?(target: string, method: string): boolean;
  /** Needed unless there is `preprocessMultimethod`. */
  preprocess?(part: Part, compileSpecs: readonly CompileSpec[]): PreprocessResult;
  /** Called once with all parts of all methods; gives as many results for each. */
  preprocessMultimethod?(
    parts: Readonly<Record<string, readonly Part[]>>,
    compileSpecs: Readonly<Record<string, readonly (readonly CompileSpec[])[]>>,
  ): Readonly<Record<string, readonly PreprocessResult[]>>;
  /**
   * Starts one part of a loaded program. The bytes are the backend's own. `namedData` has all named data
   * of the program and of its data files; each is read when it is asked for, and only during this call.
   */
  init(
    processedBytes: Uint8Array<ArrayBuffer>,
    compileSpecs: readonly CompileSpec[],
    namedData: Readonly<Record<string, Uint8Array<ArrayBuffer>>>,
  ): State;
  /** Inputs and outputs are in the part's order; dynamic outputs have the sizes of this call. */
  execute(state: State, inputs: readonly Value[]): readonly InputValue[];
  /** State that the part owns, back to what it was after `init`; needed with `ownsState`. */
  reset?(state: State): void;
  /** The program was disposed, or could not be loaded after all. */
  destroy?(state: State): void;
}
