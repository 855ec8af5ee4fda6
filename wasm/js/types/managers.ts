// The types of programs between a .pt2 and a .pte. Names are those of ExecuTorch's export API
// (toEdge, toExecutorch, method, buffer).
import type {
  CompileSpec,
  Delegation,
  Partitioners,
  ToBackendOptions,
  Verification,
} from "./backend.js";
import type { CallOptions } from "./call_options.js";
import type { ExecutorchProgram } from "./executorch_program.js";
import type { ExportedProgram } from "./exported_program.js";
import type { HostBlob } from "./host.js";
import type {
  ExecutorchBackendConfig,
  ToEdgeOptions,
  TransformAndLowerOptions,
} from "./lowering.js";
import type { Passes } from "./pass.js";
import type { ETRecord, ETRecordMaps, RecordValue } from "./record.js";
import type { CompilationReport, NodeRow } from "./report.js";
import type { Resource } from "./resource.js";
import type { Sink } from "./source.js";

/** Opened files as methods, as PyTorch exported them. They can be inspected and lowered. */
export interface OpenedPrograms extends Resource {
  /** Names of the methods. */
  readonly methods: readonly string[];
  /** An empty record, for programs of this compilation. */
  createEtrecord(): ETRecord;
  /** The program of a method. The name may be left out for `forward` or the only method. */
  exportedProgram(method?: string): ExportedProgram;
  /** Methods, operators and sizes of the opened programs, and of all that were made from them. */
  inspect(): CompilationReport;
  /**
   * The inputs that a method was exported with. Those by name come last. Null if the file has no
   * inputs, or they are compressed. A container among the inputs is a list.
   */
  exampleInputs(method?: string): RecordValue[] | null;
  /**
   * Decomposes and rewrites a copy of the opened programs, so that they can be lowered again with
   * other options.
   */
  toEdge(options?: ToEdgeOptions): EdgeProgramManager;
  /**
   * Does toEdge, transform and toBackend in one call, as the engine's function does.
   */
  toEdgeTransformAndLower(options?: TransformAndLowerOptions): EdgeProgramManager;
  /** The IR text of any program of the compilation, by its number. The opened program is 0. */
  text(program: number, method?: string): string;
  /** The nodes of a method of a program by its number. */
  nodes(program: number, method: string): NodeRow[];
}

/** Methods in the edge dialect. A manager never changes: transform gives a new one. */
export interface EdgeProgramManager extends Resource {
  /** Names of the methods that have instructions. */
  readonly methods: readonly string[];
  /**
   * The record that `generateEtrecord` requested, with all that is known so far. It lives as long
   * as this manager. Managers of `transform` and `toBackend` have records of their own. Fails with
   * the code "state" without that option.
   */
  readonly etrecord: ETRecord;
  /** The same as `etrecord`; a client has only this one. */
  getEtrecord(): ETRecord;
  /** An empty record, for programs of this compilation. */
  createEtrecord(): ETRecord;
  /** Names of the constant methods. */
  readonly configMethods: readonly string[];
  /** The edge program of a method. The name may be left out for `forward` or the only method. */
  exportedProgram(method?: string): ExportedProgram;
  /** Runs passes in order, and gives a new manager. `Engine.meta().passes` lists their names. */
  transform(passes: Passes): EdgeProgramManager;
  /**
   * Gives parts of the methods to backends, for all methods at once, and gives a manager of the
   * result. Fails with the code "not_found" for an unknown backend or method, "argument" for tags
   * that cannot be cut out, and "delegate" if a backend fails. A method called "backend" needs a
   * list: `{ backend: ["xnnpack"] }`.
   *
   * `toBackend(id, method?, compileSpecs)` gives the whole of a method, or of each method, as one
   * part or not at all, as a partitioner with `whole` does.
   */
  toBackend(
    partitioner: Partitioners,
    options?: ToBackendOptions | string,
    compileSpecs?: readonly CompileSpec[],
  ): EdgeProgramManager;
  /**
   * The result of delegation for each node of each method. If no backend was asked about a program,
   * there are no rows.
   */
  delegation(): Delegation;
  /**
   * Runs the last passes, plans memory and writes the program. It may be called again with another
   * config.
   */
  toExecutorch(config?: ExecutorchBackendConfig & CallOptions): ExecutorchProgramManager;
  /**
   * Methods, operators, sizes, passes and warnings of this program and of those that it was made
   * from.
   */
  inspect(): CompilationReport;
  /** The IR text of any program of the compilation, by its number. */
  text(program: number, method?: string): string;
  /** The nodes of a method of a program by its number. */
  nodes(program: number, method: string): NodeRow[];
}

/** Options of `dump`. */
export interface DumpOptions {
  /** Adds values and instructions. */
  readonly verbose?: boolean;
}

/** A .ptd file that belongs to a program. */
export interface DataFile {
  /** Its name: "foundation.ptd". */
  readonly name: string;
  /** Its size in bytes. */
  readonly size: number;
  /** The caller gave it its name, by `externalConstants`, so that other programs may share it. */
  readonly isShared?: true;
}

/** The emitted program: a .pte, and .ptd files when weights are external. */
export interface ExecutorchProgramManager extends Resource {
  /** Names of the methods that have instructions. */
  readonly methods: readonly string[];
  /**
   * The complete record that `generateEtrecord` requested, separate from that of the edge manager.
   * It lives as long as this manager. Fails with the code "state" without that option.
   */
  readonly etrecord: ETRecord;
  /** The same as `etrecord`; a client has only this one. */
  getEtrecord(): ETRecord;
  /** An empty record, for programs of this compilation. */
  createEtrecord(): ETRecord;
  /** Names of the constant methods. */
  readonly configMethods: readonly string[];
  /** The size of the .pte in bytes. */
  readonly size: number;
  /** The whole .pte, built on each call. For large programs use `writeTo` or `toBlob`. */
  readonly buffer: Uint8Array<ArrayBuffer>;
  /**
   * The .pte, or one of `dataFiles`, as a Blob. If the platform can, weights stay slices of the
   * opened Files.
   */
  toBlob(file?: string, options?: CallOptions): HostBlob;
  /** The .ptd files that belong to the .pte. */
  readonly dataFiles: readonly DataFile[];
  /** One of `dataFiles`, whole. */
  dataFile(name: string): Uint8Array<ArrayBuffer>;
  /**
   * Writes the .pte, or one of `dataFiles`. If a stream fails, the call rejects with the code "io".
   * If it is cancelled, the call no longer waits for the sink, which may have a part of the file by
   * then. A WritableStream is aborted and unlocked. The caller must close other sinks.
   * @example
   * const handle = await showSaveFilePicker({ suggestedName: "model.pte" });
   * await lowered.writeTo(await handle.createWritable());
   */
  writeTo(sink: Sink, file?: string, options?: CallOptions): Promise<void>;
  /** Writes synchronously, for Node scripts. Calls `write` with pieces in order. */
  writeSync(write: (chunk: Uint8Array<ArrayBuffer>) => void, file?: string): void;
  /** The program of a method. The name may be left out for `forward` or the only method. */
  exportedProgram(method?: string): ExportedProgram;
  /**
   * The result of delegation for each node of each method. If no backend was asked about a program,
   * there are no rows.
   */
  delegation(): Delegation;
  /** The result of `lower` with the option `verify`; null without that option. */
  readonly verification: Verification | null;
  /**
   * Runs the lowered program and the same program without delegates. If a difference is larger than
   * the precision allows, `inspect()` has a warning that names the delegate.
   */
  verify(options?: CallOptions): Verification;
  /**
   * The program as in its file: methods, values, instructions and segments. Built on each call.
   * @example
   * const plan = lowered.executorchProgram.execution_plan?.[0];
   * console.log(plan?.values?.length, plan?.chains?.[0]?.instructions?.length);
   */
  readonly executorchProgram: ExecutorchProgram;
  /** The nodes (`debugHandle`) of each instruction, by method, as in a record. */
  readonly debugHandleMap: ETRecordMaps["debugHandleMap"];
  /**
   * The delegates of each method, and the nodes of each thing that they report on, as in a record.
   */
  readonly delegateMap: ETRecordMaps["delegateMap"];
  /**
   * The program after the executorch passes, as text. With `verbose`, the values and instructions
   * of the file follow, with the place of each value in memory.
   */
  dump(options?: DumpOptions): string;
  /** Methods, operators, memory plans, sizes and warnings. */
  inspect(): CompilationReport;
}
