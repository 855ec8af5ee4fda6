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

/** An object of the engine, or the client's for one. */
export type Handed<T> = T | Remote<T>;

/** Inputs or outputs of a program; whole numbers become integers. */
export type RecordValue = Value | readonly RecordValue[];

/** The handle of the node that an instruction computes, or those of a delegate, by method. */
export type DebugHandleMap = Record<string, Record<string, number | number[]>>;

/** Delegates by method and instruction; `delegate_map` is null where the backend gives no map. */
export type DelegateMap = Record<
  string,
  Record<string, { name: string; delegate_map: Record<string, number[]> | null }>
>;

/** Results of delegates by method and instruction. */
export type NumOutsMap = Record<string, Record<string, number>>;

/** The maps as they are in the file; null where the record has none. */
export interface ETRecordMaps {
  /** The nodes behind each instruction. */
  debugHandleMap: DebugHandleMap | null;
  /** The nodes behind each thing that a delegate reports on. */
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
  /** A number by which the official tools know the exported graph; 0 where there is none. */
  exportGraphId: number;
  /** Whether it says what methods should return. */
  hasReferenceOutputs: boolean;
  /** Whether it has inputs to run its program on. */
  hasRepresentativeInputs: boolean;
  /** Entries of the file that this version does not know. */
  unknownEntries: string[];
  /** Damaged entries of the file, which the record goes without. */
  unreadEntries: UnreadEntry[];
  /** Warnings about the file. */
  diagnostics: Diagnostic[];
}

/** Options of `save`, `toBlob` and `bytes` of a record. */
export interface SaveOptions extends CallOptions {
  /** Leaves weights out: enough for all but computing values again. */
  light?: boolean;
  /** Writes this method alone, under the name `forward`: the official inspector opens no other. */
  method?: string;
}

/**
 * An ETRecord. Records name programs that never change, so that a change to one, or to the
 * managers, never shows in another. Adding the same thing twice fails with the code "state".
 */
export interface ETRecord extends Resource {
  /** The program as it was exported: of `forward`, or of the only method. */
  readonly exportedProgram: ExportedProgram | null;
  /** The program before passes and delegation; of several methods, by name. */
  readonly edgeDialectProgram: ExportedProgram | Readonly<Record<string, ExportedProgram>> | null;
  /** Further stages as "stage/method". */
  readonly graphMap: Readonly<Record<string, ExportedProgram>>;
  /** A program by its stage and method; a stage of one program needs none. */
  program(stage: string, method?: string): ExportedProgram;
  /** The contents of the record. */
  inspect(): ETRecordReport;
  /** The maps between instructions and nodes. */
  maps(): ETRecordMaps;
  /** Outputs of each case, by method. */
  referenceOutputs(): Record<string, RecordValue[]> | null;
  /** The inputs of one case: those that the program was exported with, unless others were given. */
  representativeInputs(): RecordValue[] | null;
  /** The inputs that a method was exported with; null where the record does not say. */
  exampleInputs(method: string): RecordValue[] | null;

  /** Adds the program as it was exported. Files have a place for `forward` only. Null has no effect. */
  addExportedProgram(programs: Handed<OpenedPrograms> | null): void;
  /** Adds the edge programs of all methods, as they are now. */
  addEdgeDialectProgram(edge: Handed<EdgeProgramManager>): void;
  /**
   * The maps of what was emitted, and from a bundled program (.bpte) that was made of it, what its
   * calls expect and take.
   */
  addExecutorchProgram(program: Handed<ExecutorchProgramManager>, bundled?: Source): void;
  /** Programs of the same compilation as further stages, by name. */
  addExtraExportModules(
    modules: Readonly<Record<string, Handed<OpenedPrograms> | Handed<EdgeProgramManager>>>,
  ): void;
  /**
   * Replaces the inputs. A bundled program gives those of its first call of `forward`, or null where
   * it has no such call.
   */
  updateRepresentativeInputs(inputs: readonly RecordValue[] | Source | null): void;
  /**
   * Outputs of each case, by method; a list is for `forward`. From a bundled program: the results
   * that its calls expect. Fails with the code "argument" when a call expects no results.
   */
  updateReferenceOutputs(
    outputs:
      Readonly<Record<string, readonly RecordValue[]>> | readonly RecordValue[] | Source | null,
  ): void;
  /** The programs alone, as a record of its own, without the facts that emitting adds. */
  copy(): ETRecord;

  /** Writes the file. Fails with the code "state" where something is missing, and says what. */
  save(sink: Sink, options?: SaveOptions): Promise<void>;
  /** The file; weights stay slices of the opened files where the platform can. */
  toBlob(options?: SaveOptions): HostBlob;
  /** The file, whole. */
  bytes(options?: SaveOptions): Uint8Array<ArrayBuffer>;
}
