// Operators by family, for colour only: eight hues that colour-blind people can tell apart. The
// name of the operator always stands beside the colour. The engine says which family is whose.
import type { OpFamily } from "@sconce/types/index.js";
import { app } from "../state.js";

export const FAMILY_LABELS: Record<OpFamily, string> = {
  matrix: "matrix products",
  conv: "convolution, pooling",
  reduce: "reductions, norms",
  pointwise: "element by element",
  shape: "shape and moves",
  index: "indexing",
  create: "constants",
  other: "sizes, control",
};

/** Family of "aten::add.Tensor", of its in-place twin, and of "aten::add.out" in a program. */
export function familyOf(op: string): OpFamily {
  const families = app.families.value;
  return families.get(op) ?? families.get(op.replace(/_(?=\.|$)/, "")) ?? "other";
}
