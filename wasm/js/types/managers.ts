// The types of programs on their way from a .pt2 to a .pte. Names follow ExecuTorch's export API (toEdge,
// toExecutorch, method, buffer), so that what people know carries over.
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

/** Files opened as methods, as PyTorch exported them: for looking at, and for lowering. */
export interface OpenedPrograms extends Resource {
  /** Names of the methods. */
  readonly methods: readonly string[];
  /** An empty record, for programs of this compilation. */
  createEtrecord(): ETRecord;
  /** The program of a method; the name may be left out for `forward` or the only method. */
  exportedProgram(method?: string): ExportedProgram;
  /** Methods, operators and sizes of all programs of this compilation. */
  inspect(): CompilationReport;
  /**
   * The inputs that a method was exported with, those by name after the others; null where the file
   * has none, or has compressed them. A container's inputs are a list.
   */
  exampleInputs(method?: string): RecordValue[] | null;
  /** Decomposes and rewrites; once. If it fails, the opened programs can still be looked at. */
  toEdge(options?: ToEdgeOptions): EdgeProgramManager;
  /** toEdge, transform and toBackend in one, as the engine has it; once. */
  toEdgeTransformAndLower(options?: TransformAndLowerOptions): EdgeProgramManager;
  /** IR text of any version by its program number; what was opened is 0. */
  text(program: number, method?: string): string;
  /** The nodes of a method of a program by its number. */
  nodes(program: number, method: string): NodeRow[];
}

/** Methods in the edge dialect. Never changes: transform gives a new manager. */
export interface EdgeProgramManager extends Resource {
  /** Names of the methods that have instructions. */
  readonly methods: readonly string[];
  /**
   * The record that `generateEtrecord` asked for, which lives as long as this manager: what is
   * known so far. Managers that `transform` and `toBackend` make have records of their own.
   * Fails with the code "state" where it was not asked for.
   */
  readonly etrecord: ETRecord;
  /** The same as `etrecord`; a client has only this one. */
  getEtrecord(): ETRecord;
  /** An empty record, for programs of this compilation. */
  createEtrecord(): ETRecord;
  /** Names of the constant methods. */
  readonly configMethods: readonly string[];
  /** The edge program of a method; the name may be left out for `forward` or the only method. */
  exportedProgram(method?: string): ExportedProgram;
  /** Runs passes, in order. `Engine.meta().passes` lists their names. Gives a new manager. */
  transform(passes: Passes): EdgeProgramManager;
  /**
   * Hands parts of the methods to backends, the parts of all methods at once, and gives a manager of
   * what that makes. Fails with the code "not_found" for a backend or a method that does not exist,
   * "argument" for tags that cannot be cut out, "delegate" when a backend does not do its work.
   * A method called "backend" is given a list: `{ backend: ["xnnpack"] }`.
   *
   * `toBackend(id, method?, compileSpecs)` hands over the whole of a method, or of each, as one part
   * or not at all, as `whole` of a partitioner does.
   */
  toBackend(
    partitioner: Partitioners,
    options?: ToBackendOptions | string,
    compileSpecs?: readonly CompileSpec[],
  ): EdgeProgramManager;
  /** The fate of each node of each method. A program that no backend was asked about has no rows. */
  delegation(): Delegation;
  /**
   * Runs the last passes, plans memory and writes the program. May be called again with another
   * config.
   */
  toExecutorch(config?: ExecutorchBackendConfig & CallOptions): ExecutorchProgramManager;
  /** Methods, operators, sizes, passes and warnings of all programs of this compilation. */
  inspect(): CompilationReport;
  /** IR text of any version by its program number. */
  text(program: number, method?: string): string;
  /** The nodes of a method of a program by its number. */
  nodes(program: number, method: string): NodeRow[];
}

/** Options of `dump`. */
export interface DumpOptions {
  /** Whether values and instructions follow. */
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
   * The record that `generateEtrecord` asked for, which lives as long as this manager: complete,
   * and apart from that of the edge manager.
   * Fails with the code "state" where it was not asked for.
   */
  readonly etrecord: ETRecord;
  /** The same as `etrecord`; a client has only this one. */
  getEtrecord(): ETRecord;
  /** An empty record, for programs of this compilation. */
  createEtrecord(): ETRecord;
  /** Names of the constant methods. */
  readonly configMethods: readonly string[];
  /** Bytes of the .pte. */
  readonly size: number;
  /** The whole .pte; built on each call. Large programs go through `writeTo` or `toBlob` instead. */
  readonly buffer: Uint8Array<ArrayBuffer>;
  /** The .pte (or one of `dataFiles`) as a Blob; weights stay slices of the opened Files where the platform can. */
  toBlob(file?: string, options?: CallOptions): HostBlob;
  /** The .ptd files that belong to the .pte. */
  readonly dataFiles: readonly DataFile[];
  /** One of `dataFiles`, whole. */
  dataFile(name: string): Uint8Array<ArrayBuffer>;
  /**
   * Writes the .pte, or one of `dataFiles`. A stream that fails rejects with the code "io". Once
   * cancelled, the call waits no longer for the sink, which may hold a part of the file by then; a
   * WritableStream is aborted and unlocked, other sinks are the caller's to close.
   * @example
   * const handle = await showSaveFilePicker({ suggestedName: "model.pte" });
   * await lowered.writeTo(await handle.createWritable());
   */
  writeTo(sink: Sink, file?: string, options?: CallOptions): Promise<void>;
  /** Writes in one go, for Node scripts: calls back with pieces in order. */
  writeSync(write: (chunk: Uint8Array<ArrayBuffer>) => void, file?: string): void;
  /** The program of a method; the name may be left out for `forward` or the only method. */
  exportedProgram(method?: string): ExportedProgram;
  /** The fate of each node of each method. A program that no backend was asked about has no rows. */
  delegation(): Delegation;
  /** The result of `lower` with the option `verify`; null where that was not asked for. */
  readonly verification: Verification | null;
  /**
   * Runs the lowered program and the same program without delegates. A difference larger than the
   * precision allows is a warning of `inspect()`, too, which names the delegate.
   */
  verify(options?: CallOptions): Verification;
  /**
   * The program as its file has it: methods, values, instructions and segments. Made on each call.
   * @example
   * const plan = lowered.executorchProgram.execution_plan?.[0];
   * console.log(plan?.values?.length, plan?.chains?.[0]?.instructions?.length);
   */
  readonly executorchProgram: ExecutorchProgram;
  /** The nodes (`debugHandle`) behind each instruction, by method; as in a record. */
  readonly debugHandleMap: ETRecordMaps["debugHandleMap"];
  /** The delegates of each method, and the nodes behind what each reports on; as in a record. */
  readonly delegateMap: ETRecordMaps["delegateMap"];
  /**
   * The program after the executorch passes, as text. With `verbose`, the values and instructions of the
   * file follow, with the place of each value in memory.
   */
  dump(options?: DumpOptions): string;
  /** Methods, operators, memory plans, sizes and warnings. */
  inspect(): CompilationReport;
}
