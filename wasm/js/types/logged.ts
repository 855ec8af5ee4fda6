// The types of what a dump holds of one event: nodes of the program and values.
import type { DType } from "./tensor.js";

/** A node of the graph that events are associated with. */
export interface InspectorNode {
  /** Its name in the graph. */
  name: string;
  /** Its operator. */
  op: string;
  /** The debug handle, by which events refer to it. */
  handle: number;
  /** The user's own line: "model.py:12 in forward: return self.fc(x)"; empty where it is unknown. */
  source: string;
  /** The whole traceback, as it was recorded at export. */
  stackTrace: string;
  /** The modules that it is in, outermost first. */
  modules: { path: string; class: string }[];
}

/** A value that was logged, or one to compare it with. */
export interface LoggedValue {
  /** The kind of the value; only a "tensor" has a dtype and a shape. */
  kind: "none" | "int" | "bool" | "double" | "tensor" | "string";
  /** The element type of a tensor. */
  dtype?: DType;
  /** The sizes of a tensor, outermost first. */
  shape?: number[];
  /** The smallest element that is a number; null where there is none, or the bytes are not at hand. */
  min: number | null;
  /** The largest element, as for `min`. */
  max: number | null;
  /** The mean of the elements, as for `min`. */
  mean: number | null;
  /** The number of elements that are NaN. */
  nans: number;
  /** The number of elements that are infinite. */
  infinities: number;
  /** The bytes are at hand. */
  hasData: boolean;
  /** The first elements in row-major order, 16 at most. */
  first: number[];
  /** All of them, of gaps that were asked for with `values`; empty where they are not at hand. */
  data?: Float64Array;
}
