// What the page and the worker that lays graphs out tell each other.
import type { NodeRow } from "@sconce/types/index.js";

/** A node that a graph begins or ends with. */
export interface Terminal {
  name: string;
  type: string;
  /** Outputs: the value that it is. */
  value?: string;
  /** Outputs: it is written to a buffer or an input, and not returned. */
  isState?: boolean;
}

/** A part that a backend took, with the nodes that it is made of. */
export interface PartSource {
  /** The node that calls it. */
  caller: string;
  label: string;
  /** One line: who runs it, how much of the method it is. */
  reason: string;
  rows: readonly NodeRow[];
}

/** A method's graph, as the worker is given it once. */
export interface GraphSource {
  rows: readonly NodeRow[];
  inputs: readonly Terminal[];
  outputs: readonly Terminal[];
  parts: readonly PartSource[];
  /** Short names of dtypes. */
  dtypes: ReadonlyMap<string, string>;
}

/**
 * "module": by the path of the author's modules. "stack": blocks that are alike. "run": nodes in a
 * row, where modules do not divide them. "part": what a backend took.
 */
export type GroupKind = "module" | "stack" | "run" | "part";
export type BoxKind = GroupKind | "node" | "input" | "output";

/** A rectangle of the picture; those of groups that are open hold others. */
export interface SceneBox {
  id: string;
  kind: BoxKind;
  x: number;
  y: number;
  w: number;
  h: number;
  /** Index of the box around it; -1 for none. */
  parent: number;
  isOpen: boolean;
  label: string;
  /** The second line: a node's name, what a group is. */
  sub: string;
  /** Node, input or output: what the program calls it. */
  name: string;
  op: string;
  /** Type of the result, where there is one. */
  type: string;
  /** Groups: nodes in it, and how often each operator is called. */
  nodes: number;
  ops: readonly (readonly [op: string, count: number])[];
  /** How many blocks a stack stands for. */
  count: number;
  /** Index among the parts; -1 for none. */
  part: number;
}

/** One value or several from a box to another; drawn as segments, which edges share. */
export interface SceneEdge {
  from: number;
  to: number;
  values: readonly string[];
  segments: readonly number[];
}

export interface Scene {
  boxes: readonly SceneBox[];
  edges: readonly SceneEdge[];
  /** Points of each segment: x, y, x, y, ... */
  segments: readonly (readonly number[])[];
  /** What comes in by a segment that is only the end of a line; else empty. */
  tags: readonly string[];
  width: number;
  height: number;
  /** Groups that are open, those opened last at the end. */
  open: readonly string[];
  /** The box that shows a node: its own, or that of the group that hides it. */
  boxOf: ReadonlyMap<string, number>;
  ms: number;
}

/** What shall be shown of a graph. */
export interface Wish {
  /** Groups to open, the last ones with precedence; null: as many as are easy to look at. */
  open: readonly string[] | null;
  /** A node whose groups are opened, too; empty for none. */
  reveal: string;
}

/** What the worker does, as the page calls it. */
export interface Graphs {
  take(key: string, source: GraphSource): void;
  lay(key: string, wish: Wish): Scene;
  forget(): void;
}
