// The public types of a record's stages and of memory plans: graphs, how they differ, and the places of
// their values.
import type { MethodSummary, NodeRow } from "./report.js";
import type { DType } from "./tensor.js";

/** A graph that a record holds: a stage of a method. */
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
  /** Whether the record has the values of the weights. */
  hasWeights: boolean;
}

/** A node of a stage, with where it comes from. */
export interface StageNode extends NodeRow {
  /** The whole Python traceback, as it was recorded at export; empty where there is none. */
  stackTrace: string;
}

/** A line of what has become of a graph: nodes that correspond stand side by side. */
export interface StageDiffRow {
  /** Whether the node is the same in both, differs, or is in one of them only. */
  kind: "same" | "changed" | "removed" | "added";
  /** In the first stage; null for what was added. */
  a: StageNode | null;
  /** The node in the second stage; null for one that was removed. */
  b: StageNode | null;
}

/** Two stages of a method side by side. */
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
  /** As the file spells it ("aten::add.out"), of delegates the backend; empty for moves and jumps. */
  op: string;
  /** Names in the record's edge program, by debug handle; none without a record. */
  nodes: string[];
  /** The user's own line, or empty. */
  source: string;
}

/** A tensor in planned memory, and what its first writer computes. */
export interface PlannedValue extends PlannedWork {
  /** Its number in the file. */
  value: number;
  /**
   * The writer: an instruction ("value"; without a `writer` its contents are unknown), the
   * caller ("input"), an earlier run or the file ("state"), or nobody. A "view" shows bytes of another
   * value, and no instruction names a value that is "unused".
   */
  kind: "value" | "input" | "state" | "view" | "unused";
  /** Whether the method returns it. */
  isOutput: boolean;
  /** The memory id. */
  memory: number;
  /** Its first byte in the memory. */
  offset: number;
  /** Its size in bytes. */
  bytes: number;
  /** Its element type. */
  dtype: DType;
  /** Upper bounds where it is dynamic. */
  shape: number[];
  /** Whether its shape is known only when the method runs. */
  isDynamic: boolean;
  /** The first and the last instruction that name it; null where none does. */
  first: number | null;
  /** The last instruction that names it, as for `first`. */
  last: number | null;
  /**
   * From when to when what it holds matters, views and loops around it included: until then nobody
   * else may be there. Null for what is unused.
   */
  from: number | null;
  /** The instruction until which it matters, as for `from`. */
  until: number | null;
  /** The first instruction that writes it. */
  writer: number | null;
  /** The value that a view shows. */
  base: number | null;
}

/** The places of a method's values, and their times. Instructions count through all of its chains. */
export interface MemoryPlan {
  /** The method. */
  method: string;
  /** The memories that the method asks for, with their sizes in bytes. */
  memories: { id: number; bytes: number }[];
  /** The first of the instructions with the most bytes in use; null where no memory is planned. */
  peak: ({ instruction: number; bytes: number } & PlannedWork) | null;
  /** Bytes in use by instruction, each byte once: views add none. */
  live: number[];
  /** In the order of the file. */
  values: PlannedValue[];
}
