// The public types of records: what the exporter knew of a program, for debugging and profiling.
import type { CallOptions } from "./call_options.js";
import type { Diagnostic } from "./error.js";
import type { ExportedProgram } from "./exported_program.js";
import type { HostBlob } from "./host.js";
import type { EdgeProgramManager, ExecutorchProgramManager, OpenedPrograms } from "./managers.js";
import type { Remote } from "./remote.js";
import type { Resource } from "./resource.js";
import type { Sink, Source } from "./source.js";
import type { Value } from "./tensor.js";

/** An object of the engine, or the client's object for it. */
export type Handed<T> = T | Remote<T>;

/** Inputs or outputs of a program. Whole numbers become integers. */
export type RecordValue = Value | readonly RecordValue[];

/** For each method and instruction the handle of its node, or the handles of a delegate. */
export type DebugHandleMap = Record<string, Record<string, number | number[]>>;

/** Delegates by method and instruction. `delegate_map` is null if the backend gives no map. */
export type DelegateMap = Record<
  string,
  Record<string, { name: string; delegate_map: Record<string, number[]> | null }>
>;

/** The number of results of each delegate, by method and instruction. */
export type NumOutsMap = Record<string, Record<string, number>>;

/** The maps as in the file. Null if the record lacks a map. */
export interface ETRecordMaps {
  /** The nodes of each instruction. */
  debugHandleMap: DebugHandleMap | null;
  /** The nodes of each thing that a delegate reports on. */
  delegateMap: DelegateMap | null;
  /** The number of results of each delegate. */
  instructionIdToNumOutsMap: NumOutsMap | null;
}

/** An entry of the file of a record that cannot be read. */
export interface UnreadEntry {
  /** The name of the entry: a map, or the stage and method of a program. */
  name: string;
  /** Why it cannot be read. */
  reason: string;
}

/** The contents of a record. */
export interface ETRecordReport {
  /** Methods of the edge programs. */
  methods: string[];
  /** Every program in it, by stage and method. */
  programs: {
    /** "exported_program", "edge_dialect_exported_program", or the name of an extra one. */
    stage: string;
    method: string;
    nodes: number;
    hasWeights: boolean;
  }[];
  /** The number by which the official tools know the exported graph. 0 if there is none. */
  exportGraphId: number;
  /** True if it has expected outputs of methods. */
  hasReferenceOutputs: boolean;
  /** True if it has inputs to run its program on. */
  hasRepresentativeInputs: boolean;
  /** Entries of the file that this version does not know. */
  unknownEntries: string[];
  /** Damaged entries of the file. The record has no content of them. */
  unreadEntries: UnreadEntry[];
  /** Warnings about the file. */
  diagnostics: Diagnostic[];
}

/** Options of `save`, `toBlob` and `bytes` of a record. */
export interface SaveOptions extends CallOptions {
  /** Leaves weights out. Only computing values again needs them. */
  light?: boolean;
  /** Writes only this method, under the name `forward`. The official inspector opens no other. */
  method?: string;
}

/**
 * An ETRecord. Its programs never change. So a change to one record, or to the managers, never
 * shows in another. Adding the same thing twice fails with the code "state".
 */
export interface ETRecord extends Resource {
  /** The exported program of `forward`, or of the only method. */
  readonly exportedProgram: ExportedProgram | null;
  /** The program before passes and delegation. If there are several methods, an object by name. */
  readonly edgeDialectProgram: ExportedProgram | Readonly<Record<string, ExportedProgram>> | null;
  /** Further stages as "stage/method". */
  readonly graphMap: Readonly<Record<string, ExportedProgram>>;
  /** A program by its stage and method. A stage with one program needs no method. */
  program(stage: string, method?: string): ExportedProgram;
  /** The contents of the record. */
  inspect(): ETRecordReport;
  /** The maps between instructions and nodes. */
  maps(): ETRecordMaps;
  /** Outputs of each case, by method. */
  referenceOutputs(): Record<string, RecordValue[]> | null;
  /** The inputs of one case: those that were set, or else those of the export. */
  representativeInputs(): RecordValue[] | null;
  /** The inputs that a method was exported with. Null if the record has none. */
  exampleInputs(method: string): RecordValue[] | null;

  /** Adds the exported program. A file has room for `forward` only. Null has no effect. */
  addExportedProgram(programs: Handed<OpenedPrograms> | null): void;
  /** Adds the edge programs of all methods in their current state. */
  addEdgeDialectProgram(edge: Handed<EdgeProgramManager>): void;
  /**
   * Adds the maps of the emitted program. From a bundled program (.bpte) made of it, also adds the
   * inputs and expected results of its calls.
   */
  addExecutorchProgram(program: Handed<ExecutorchProgramManager>, bundled?: Source): void;
  /** Programs of the same compilation as further stages, by name. */
  addExtraExportModules(
    modules: Readonly<Record<string, Handed<OpenedPrograms> | Handed<EdgeProgramManager>>>,
  ): void;
  /**
   * Replaces the inputs. A bundled program gives those of its first call of `forward`, or null if
   * it has no such call.
   */
  updateRepresentativeInputs(inputs: readonly RecordValue[] | Source | null): void;
  /**
   * Sets the outputs of each case, by method. A list is for `forward`. A bundled program gives the
   * results that its calls expect. Fails with the code "argument" if a call expects no results.
   */
  updateReferenceOutputs(
    outputs:
      Readonly<Record<string, readonly RecordValue[]>> | readonly RecordValue[] | Source | null,
  ): void;
  /** Copies the programs into a new record, without the facts that emitting adds. */
  copy(): ETRecord;

  /** Writes the file. Fails with the code "state" if something is missing, and says what. */
  save(sink: Sink, options?: SaveOptions): Promise<void>;
  /** The file as a Blob. If the platform can, weights stay slices of the opened files. */
  toBlob(options?: SaveOptions): HostBlob;
  /** The bytes of the file. */
  bytes(options?: SaveOptions): Uint8Array<ArrayBuffer>;
}
