// The tables of the module: operators, the coverage of PyTorch, passes and backends.
import type { DType } from "./tensor.js";

/** The kind of work that an operator does, for grouping and colours. */
export type OpFamily =
  "matrix" | "conv" | "reduce" | "pointwise" | "shape" | "index" | "create" | "other";

/**
 * How an operator runs. "kernel": it has a kernel. "mended": it has one, and calls that the kernel
 * refuses become other operators. "expanded": it always becomes operators that have one.
 */
export type HowItRuns = "kernel" | "mended" | "expanded" | "no";

/** An operator of the table, one overload. In-place forms have no rows of their own. */
export interface OperatorInfo {
  /** Its name in programs: "aten::add.Tensor". */
  name: string;
  /** The name that a .pte calls. Empty if no .pte calls it. */
  out: string;
  /** The kind of work that it does. */
  family: OpFamily;
  /** How this runtime runs it. Lowering refuses an operator that neither runtime runs. */
  here: HowItRuns;
  /**
   * How the official runtime runs it, lowered with the target "executorch". It is also "no" if only
   * some of its calls need an operator that has no kernel there.
   */
  official: HowItRuns;
  /** True if one of the two runs it. */
  lowers: boolean;
  /** The operator without a kernel: itself, or one that it becomes. Empty if it runs on both. */
  lacks: string;
  /**
   * The limits on its calls on the official runtime, such as "images of known size". Empty if all
   * calls run.
   */
  limits: string[];
  /** True if `OperatorCoverage` counts it. */
  pytorch: boolean;
  /**
   * The library that has it: "torchvision". Empty for PyTorch's own, and for those that only
   * lowering makes.
   */
  library: string;
}

/** How many operators work in a feature that is not an operator, such as `torch.vmap`. */
export interface FeatureCoverage {
  /** By torch.vmap, a whole batch at once. */
  vmap: number;
  /** The largest batch for which torch.vmap calls most of the others sample by sample. */
  vmapSamples: number;
  /** By torch.func.jvp. */
  jvp: number;
  /** With float8 numbers, in this runtime. */
  float8: number;
}

/**
 * How much of PyTorch is covered, counted from the table. It counts the overloads of `aten` that
 * torch.export can leave in a program: those that compute tensors and write to none. It does not
 * count overloads for gradients, or for one device or library. Nor does it count those for sparse,
 * nested, named or quantized tensors (in PyTorch's old way).
 */
export interface OperatorCoverage {
  /** The release of PyTorch with these operators. */
  version: string;
  /** The number of operators that are counted. */
  operators: number;
  /** The number of them that lower. */
  lowers: number;
  /** The number that run in this runtime. */
  here: number;
  /** The number that run on the official runtime. */
  official: number;
  /** The number of those on the official runtime that have a limit. */
  limited: number;
  /** Names of those that are not in the table. */
  missing: string[];
}

/** Tables of the module: operators, dtypes, passes, backends. */
export interface Meta {
  /** Error codes of the module. */
  statuses: string[];
  /** Element types with their codes in files, their short names in texts, and bytes per element. */
  dtypes: { code: number; name: DType; short: string; bytes: number }[];
  /** The table of operators. */
  ops: OperatorInfo[];
  /** The coverage of PyTorch's operators. */
  pytorch: OperatorCoverage;
  /** Coverage of vmap, jvp and float8. */
  features: FeatureCoverage;
  /**
   * Passes, in the order in which lowering runs them. Those of the stage "executorch" run when the
   * file is made. `transform` and recipes take the passes that are `named`.
   */
  passes: { name: string; summary: string; stage: "edge" | "executorch"; named: boolean }[];
  /** Backends that can take parts of a program and run them here. Files contain the id. */
  backends: { name: string; id: string; summary: string }[];
}
