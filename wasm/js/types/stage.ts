// The public types of a record's stages and of memory plans: graphs, their differences, and the
// places of values.
import type { MethodSummary, NodeRow } from "./report.js";
import type { DType } from "./tensor.js";

/** A graph in a record: a stage of a method. */
export interface RecordStage {
  /** "exported_program", "edge_dialect_exported_program", or the name of an extra one. */
  stage: string;
  /** The method. */
  method: string;
  /** The number of nodes. */
  nodes: number;
  /** The inputs of the graph: those of the user, weights and state. */
  inputs: MethodSummary["inputs"];
  /** The outputs of the graph. */
  outputs: MethodSummary["outputs"];
  /** Calls per operator. */
  ops: Record<string, number>;
  /** True if the record has the values of the weights. */
  hasWeights: boolean;
}

/** A node of a stage, with its origin. */
export interface StageNode extends NodeRow {
  /** The whole Python traceback that the export recorded. Empty if there is none. */
  stackTrace: string;
}

/** A row of a comparison of two graphs. Corresponding nodes are in the same row. */
export interface StageDiffRow {
  /**
   * "same" and "changed" nodes are in both stages. "removed" and "added" nodes are in one of them
   * only.
   */
  kind: "same" | "changed" | "removed" | "added";
  /** The node in the first stage; null for one that was added. */
  a: StageNode | null;
  /** The node in the second stage; null for one that was removed. */
  b: StageNode | null;
}

/** The comparison of two stages of a method. */
export interface StageDiff {
  /** The method. */
  method: string;
  /** The first stage. */
  from: string;
  /** The second stage. */
  to: string;
  /** The number of nodes that are the same. */
  same: number;
  /** The number of nodes that differ. */
  changed: number;
  /** The number of nodes that only the first stage has. */
  removed: number;
  /** The number of nodes that only the second stage has. */
  added: number;
  /** All nodes of both, in order. */
  rows: StageDiffRow[];
}

/** The work of an instruction of a program. */
export interface PlannedWork {
  /**
   * The operator as the file spells it ("aten::add.out"), or the backend of a delegate. Empty for
   * moves and jumps.
   */
  op: string;
  /** The names of its nodes in the record's edge program. Empty without a record. */
  nodes: string[];
  /** The user's own line, or empty. */
  source: string;
}

/** A tensor in planned memory, with the work of its first writer. */
export interface PlannedValue extends PlannedWork {
  /** Its number in the file. */
  value: number;
  /**
   * The writer of its contents. A "value" is written by an instruction; without `writer` its
   * contents are unknown. An "input" is written by the caller. A "state" is written by an earlier
   * run, or by the file. A "view" shows bytes of another value. No instruction names an "unused" one.
   */
  kind: "value" | "input" | "state" | "view" | "unused";
  /** True if the method returns it. */
  isOutput: boolean;
  /** The memory id. */
  memory: number;
  /** Its first byte in the memory. */
  offset: number;
  /** Its size in bytes. */
  bytes: number;
  /** Its element type. */
  dtype: DType;
  /** The sizes, with upper bounds for dynamic ones. */
  shape: number[];
  /** True if its shape is known only when the method runs. */
  isDynamic: boolean;
  /** The first instruction that names it. Null if no instruction does. */
  first: number | null;
  /** The last instruction that names it, as for `first`. */
  last: number | null;
  /**
   * The first instruction at which its contents matter, views and loops around it included. From
   * here to `until` no other value may use its bytes. Null for an unused value.
   */
  from: number | null;
  /** The last instruction at which its contents matter. */
  until: number | null;
  /** The first instruction that writes it. */
  writer: number | null;
  /** The value whose bytes a view shows. */
  base: number | null;
}

/**
 * The places and times of a method's values. Instructions are counted through all of its chains.
 */
export interface MemoryPlan {
  /** The method. */
  method: string;
  /** The memories that the method asks for, with their sizes in bytes. */
  memories: { id: number; bytes: number }[];
  /** The first instruction with the most bytes in use. Null if no memory is planned. */
  peak: ({ instruction: number; bytes: number } & PlannedWork) | null;
  /** Bytes in use at each instruction. Each byte counts once, so views add none. */
  live: number[];
  /** The values, in the order of the file. */
  values: PlannedValue[];
}
