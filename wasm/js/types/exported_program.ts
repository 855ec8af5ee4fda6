// The type of one method as a graph, for reading.
import type { NodeRow } from "./report.js";

/** A program of one method, for looking at. */
export interface ExportedProgram {
  /** The name of the method. */
  readonly method: string;
  /** The IR as text. */
  text(): string;
  /** Its nodes, in the order in which they run. */
  nodes(): NodeRow[];
}
