// The public types of delegation: the parts of a program that go to backends, the report about
// them, and backends that are written in JavaScript.
import type { BackendConfig } from "../border/options.gen.js";
import type { CallOptions } from "./call_options.js";
import type { GraphNode, Pass, PassProgram, SignatureRow, SymbolRange } from "./pass.js";
import type { NodeRow, TensorInfo } from "./report.js";
import type { DType, InputTensor, InputValue, Value } from "./tensor.js";

/** A setting that a backend gets with a part, unchanged. */
export interface CompileSpec {
  /** A name that the backend knows. */
  readonly key: string;
  /** Bytes, or text, which is encoded as UTF-8. */
  readonly value: Uint8Array | string;
}

/** Nodes that go to one part, by name. */
export interface TaggedNodes {
  /** The name of the part. */
  readonly tag: string;
  /**
   * The names of its nodes in the edge program. A node of a body of control flow is named by the
   * body's path: "true_graph_0/mul".
   */
  readonly nodes: readonly string[];
  /** Replaces the compile specs of the partitioner. */
  readonly compileSpecs?: readonly CompileSpec[];
}

/**
 * How the numbers of an operator are stored: in floats, in integers whose scales the file has, or in
 * integers whose scales each run finds.
 */
export type Precision = "fp32" | "static_quant" | "dynamic_quant";

/** A backend and the nodes that go to it. */
export interface PartitionerOptions {
  /** The backend's id in files ("XnnpackBackend"), or its short name ("xnnpack"). */
  readonly backend: string;
  /** Settings that the backend gets with each part. */
  readonly compileSpecs?: readonly CompileSpec[];
  /** Makes these parts and no others. A part that the backend does not take is an error. */
  readonly tags?: readonly TaggedNodes[];
  /**
   * Gives the whole method to the backend as one part. If it does not take all of it, the error
   * lists the nodes that it refuses.
   */
  readonly whole?: boolean;
  /**
   * The precisions of the operators that XNNPACK takes; by default all of them. Fails with the code
   * "option" for other backends.
   */
  readonly configPrecisions?: Precision | readonly Precision[];
  /**
   * Gives each operator that XNNPACK takes a part of its own, with the quantization that belongs to it.
   * Fails with the code "option" for other backends.
   */
  readonly perOpMode?: boolean;
  /**
   * Passes over the exported method, in order, before it is decomposed. Only
   * `toEdgeTransformAndLower` runs them. By default they are those of the backend. Fails with the
   * code "argument" for passes that work on decomposed programs, and for methods that write in
   * place.
   */
  readonly transformForPreDecomposition?: readonly Pass[];
}

/** Nodes of a method that a partitioner of your own puts into one part, and the backend that gets it. */
export interface PartitionTag {
  /** The name of the part. No two tags of a method may have the same name. */
  readonly tag: string;
  /** The backend's id or name. */
  readonly backend: string;
  /**
   * Nodes of the program, or their names. If a tag has nodes of several bodies, it becomes a part
   * in each.
   */
  readonly nodes: readonly (GraphNode | string)[];
  /** Settings that the backend gets with the part. */
  readonly compileSpecs?: readonly CompileSpec[];
}

/**
 * A partitioner of your own. It reads the edge program of a method, and says which nodes go to
 * which backend. It cannot change the program. A node that its backend does not take is an error.
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

/** A partitioner of your own that also has requests for decomposition. */
export interface OwnPartitioner {
  /** Tags nodes, for each method. */
  readonly partition: PartitionFunction;
  /**
   * Operators of the exported program, such as "aten::silu". Decomposition leaves them whole if a
   * tag takes them. Only `toEdgeTransformAndLower` reads this.
   */
  readonly opsToNotDecompose?: readonly string[];
  /** As in `PartitionerOptions`. */
  readonly transformForPreDecomposition?: readonly Pass[];
}

/**
 * A backend, which gets every node that it takes, in as few parts as possible. Or a choice of nodes
 * for a backend. Or a partitioner of your own, by name if it is registered.
 */
export type Partitioner = string | PartitionerOptions | PartitionFunction | OwnPartitioner;

/**
 * Partitioners for all methods, or by method. Methods that are not named stay as they are. In a
 * list, each partitioner works on the nodes that the earlier ones did not take.
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
  /**
   * The body of control flow that the part was cut out of, with those around it. Empty: the
   * method's own graph.
   */
  graph: string;
  /** The number of nodes in the part. */
  nodes: number;
  /** Multiplications with an addition, in matrix products and convolutions. */
  macs: number;
  /** Bytes of the tensors that its nodes read and write. Dynamic sizes are those of the example. */
  bytes: number;
  /** Bytes that the backend made of the part. */
  processedBytes: number;
  /** Bytes that the backend stores under names. Parts may share them. */
  dataBytes: number;
  /**
   * The nodes (`debugHandle`) of each thing that the backend reports on, by name or number. Null if
   * the backend does not say.
   */
  debugHandleMap: Record<string, number[]> | null;
}

/**
 * The result of delegation for one node: the part that it is in, or the reason why it is in no
 * part.
 */
export interface DelegationRow {
  /** The name of the node in the edge program. */
  name: string;
  /**
   * The node of the exported program that it was made of. A node of a body is named by path:
   * "true_graph_0/mul".
   */
  origin: string;
  /** Its operator: "aten::addmm". */
  op: string;
  /** The body of control flow that it is in. Empty: the method's own graph. */
  graph: string;
  /** As in `NodeRow`. */
  source: string;
  /** The name of its part. Null if it stayed outside. */
  delegate: string | null;
  /**
   * The backend of the part, or the last one that refused the node. Empty if no backend was asked.
   */
  backend: string;
  /** The reason why it is outside; else empty. */
  reason: string;
  /** A change that would make the backend take it. Empty if none is known. */
  hint: string;
  /** Multiplications with an addition, as in `DelegateInfo`. */
  macs: number;
  /** Bytes of the tensors that it reads and writes, as in `DelegateInfo`. */
  bytes: number;
}

/** For each method its delegates, and every node that it had before delegation. */
export type Delegation = Record<string, { delegates: DelegateInfo[]; nodes: DelegationRow[] }>;

/** The difference between a result and its expected value. */
export interface Closeness {
  /**
   * The largest difference of all elements. Null if only one of two elements is finite, or sizes
   * differ.
   */
  difference: number | null;
  /** The largest magnitude of the expected value. */
  largest: number;
  /**
   * The largest difference that the precision allows. It is a share of `largest`, and at least that
   * share of 1. A value that was quantized may differ by one more step for each time.
   */
  tolerance: number;
  /** True if `difference` is within `tolerance`. */
  isClose: boolean;
}

/**
 * For each method the comparison of a run with delegates and a run without them, on the same
 * inputs.
 */
export type Verification = Record<
  string,
  {
    /** The example inputs of the file, or random ones, which are the same each time. */
    inputs: "example" | "random";
    outputs: ({ output: number } & Closeness)[];
    /**
     * Each delegate, compared with the kernels on its own inputs. If that cannot be done, `reason`
     * says why. Name and graph are those of `DelegateInfo`.
     */
    delegates: ({ name: string; backend: string; graph: string } & (
      Closeness | { reason: string }
    ))[];
  }
>;

/** An argument of a node. The floats that JSON lacks are "Infinity", "-Infinity" and "NaN". */
export type NodeArg =
  | { readonly value: string }
  /** A body of a control-flow node. */
  | { readonly graph: string }
  /** A part of another backend. */
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
  /** Its name in nodes and text. */
  readonly name: string;
  /** Its name in the model: "fc.weight". */
  readonly target: string;
  /** Its element type. */
  readonly dtype: DType;
  /** Its sizes, outermost first. */
  readonly shape: readonly number[];
  /** Reads the row-major bytes from the file. Only while the part is preprocessed. */
  bytes(): Uint8Array<ArrayBuffer>;
}

/** A buffer that a part keeps. The bytes are its first value. */
export interface PartState extends PartConstant {
  /** The value of the part that becomes the buffer's next value, by its name in nodes. */
  readonly result: string;
}

/** Nodes of a method that a backend takes, as a graph of their own. */
export interface Part {
  /** The method that it was cut out of. */
  readonly method: string;
  /**
   * Its name, such as "lowered_module_0" in the text of the program. In a body of control flow it
   * has the path of the body: "true_graph_0/lowered_module_0". No two parts of a method have the
   * same name.
   */
  readonly name: string;
  /** The inputs of `execute`, in order. A size that is text is known only then. */
  readonly inputs: readonly TensorInfo[];
  /** The outputs of `execute`, in order. */
  readonly outputs: readonly TensorInfo[];
  /**
   * The inputs and outputs of the part's graph, with their roles. An operand or a result is "user".
   * A constant is "parameter", "buffer" or "constant_tensor". The new value of a state is
   * "buffer_mutation".
   */
  readonly signature: {
    readonly inputs: readonly SignatureRow[];
    readonly outputs: readonly SignatureRow[];
  };
  /** The bounds of the symbols in its sizes, by name. */
  readonly rangeConstraints: Readonly<Record<string, SymbolRange>>;
  /** Its weights and other constants. */
  readonly constants: readonly PartConstant[];
  /** The buffers that the backend keeps (`ownsState`). The method no longer has them. */
  readonly states: readonly PartState[];
  /** Its nodes, in the order in which they run. Only while the part is preprocessed. */
  nodes(): BackendNode[];
  /** The IR as text. Only while the part is preprocessed. */
  text(): string;
}

/** The tensor in named bytes, as a data file (.ptd) describes it. */
export interface TensorLayout {
  /** Its element type. */
  readonly dtype: DType;
  /** Its sizes. */
  readonly shape: readonly number[];
  /** Its dims in the order of memory, outermost first; row-major by default. */
  readonly dimOrder?: readonly number[];
}

/** Bytes that a backend stores under a name. */
export interface NamedBytes {
  /** The contents. For a tensor these are its elements in row-major order. */
  readonly bytes: Uint8Array | InputTensor;
  /**
   * The tensor in the bytes; by default that in `bytes`. Data files describe it, so that other
   * readers of the file find the tensor by its name. The .pte itself has no room for it.
   */
  readonly tensorLayout?: TensorLayout;
  /** The alignment in the file; 16 by default. */
  readonly alignment?: number;
  /**
   * The .ptd file for the bytes, without its ending. By default they are in the .pte. Text with a
   * slash, a backslash or a control character is an error, and so are "", "." and "..".
   */
  readonly externalTag?: string;
}

/** The bytes that a backend makes of a part. */
export interface PreprocessResult {
  /**
   * The bytes that `init` gets; empty by default. The file contains these and no others, so that
   * the backend's own runtime on another device can read them.
   */
  readonly processedBytes?: Uint8Array;
  /** The nodes (`debugHandle`) of each thing that the backend reports on, by name or number. */
  readonly debugHandleMap?: Readonly<Record<string, readonly number[]>>;
  /**
   * Data that the file contains once, even if several parts give it. `toBackend` fails with the
   * code "delegate" if two parts give one name different bytes, layouts or files.
   */
  readonly namedData?: Readonly<Record<string, Uint8Array | InputTensor | NamedBytes>>;
}

/** The reason why a backend does not take a node. */
export interface Refusal {
  /** A clause about the node, without a capital or a period: "its input is not two-dimensional". */
  reason: string;
  /** A sentence with a change that would make the backend take it. */
  hint?: string;
}

/**
 * A backend of your own. Its functions are called during another call, and must finish their work
 * before they return: a promise is an error. They may use other objects of the engine. A call on an
 * object that is at work fails with the code "busy". A function that throws or returns a wrong
 * value fails the call with the code "delegate", and the engine stays usable. A plain object may
 * have these members and no others.
 */
export interface Backend<State = unknown> {
  /** The backend's name in files. A program that has it runs where the backend is registered. */
  readonly id: string;
  /** The passes of partitioners that list no passes of their own. */
  readonly transformForPreDecomposition?: readonly Pass[];
  /**
   * True for a call that must stay whole instead of being decomposed. Only
   * `toEdgeTransformAndLower` asks.
   */
  keeps?(node: BackendNode, method: string): boolean;
  /**
   * True, or the reason why the backend does not take the node, perhaps with a hint. The compile
   * specs are those of the partitioner. Specs of a tag come with its part.
   */
  supports(
    node: BackendNode,
    method: string,
    compileSpecs: readonly CompileSpec[],
  ): boolean | string | Refusal;
  /**
   * True if a buffer that the method writes becomes state of the part. `target` is its name in the
   * model. `states` of the part has its first bytes. The buffer is then neither an input nor an
   * output. One part must read and write all of it, or lowering fails with the code "argument".
   * Other buffers stay with the program. It passes them to the part, and takes their new values as
   * outputs.
   */
  ownsState?(target: string, method: string): boolean;
  /** Makes the bytes of one part. Needed unless there is `preprocessMultimethod`. */
  preprocess?(part: Part, compileSpecs: readonly CompileSpec[]): PreprocessResult;
  /**
   * Makes the bytes of all parts of all methods in one call. Gives as many results for each method.
   */
  preprocessMultimethod?(
    parts: Readonly<Record<string, readonly Part[]>>,
    compileSpecs: Readonly<Record<string, readonly (readonly CompileSpec[])[]>>,
  ): Readonly<Record<string, readonly PreprocessResult[]>>;
  /**
   * Starts one part of a program, when its method is loaded: at the first run at the latest.
   * `processedBytes` are what `preprocess` gave. `namedData` has the named
   * data of the program and of its data files. It is read on request, and only during this call.
   */
  init(
    processedBytes: Uint8Array<ArrayBuffer>,
    compileSpecs: readonly CompileSpec[],
    namedData: Readonly<Record<string, Uint8Array<ArrayBuffer>>>,
  ): State;
  /**
   * Computes the outputs. Inputs and outputs are in the part's order. Dynamic outputs have the
   * sizes of this call.
   */
  execute(state: State, inputs: readonly Value[]): readonly InputValue[];
  /** Resets the part's state to that after `init`. Needed with `ownsState`. */
  reset?(state: State): void;
  /** Called after the program was disposed of, or if it could not be loaded. */
  destroy?(state: State): void;
}
