// The types of the nodes and values in a dump's events.
import type { DType } from "./tensor.js";

/** A node of the graph that events are associated with. */
export interface InspectorNode {
  /** Its name in the graph. */
  name: string;
  /** Its operator. */
  op: string;
  /** The debug handle. Events refer to the node by it. */
  handle: number;
  /** The user's own line: "model.py:12 in forward: return self.fc(x)". Empty if it is unknown. */
  source: string;
  /** The whole traceback that the export recorded. */
  stackTrace: string;
  /** The modules that it is in, outermost first. */
  modules: { path: string; class: string }[];
}

/** A logged value, or a value to compare it with. */
export interface LoggedValue {
  /** The kind of the value; only a "tensor" has a dtype and a shape. */
  kind: "none" | "int" | "bool" | "double" | "tensor" | "string";
  /** The element type of a tensor. */
  dtype?: DType;
  /** The sizes of a tensor, outermost first. */
  shape?: number[];
  /**
   * The smallest element that is a number. Null if there is no number, or the bytes are not
   * available.
   */
  min: number | null;
  /** The largest element, as for `min`. */
  max: number | null;
  /** The mean of the elements, as for `min`. */
  mean: number | null;
  /** The number of elements that are NaN. */
  nans: number;
  /** The number of elements that are infinite. */
  infinities: number;
  /** True if the bytes are available. */
  hasData: boolean;
  /** The first elements in row-major order, at most 16. */
  first: number[];
  /** All elements, in gaps with the option `values`. Empty if they are not available. */
  data?: Float64Array;
}
