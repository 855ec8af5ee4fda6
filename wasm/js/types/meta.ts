// The tables of the module: operators and how much of PyTorch they cover, passes and backends.
import type { DType } from "./tensor.js";

/** The kind of work that an operator does, roughly: for grouping and colours. */
export type OpFamily =
  "matrix" | "conv" | "reduce" | "pointwise" | "shape" | "index" | "create" | "other";

/**
 * How an operator runs: it has a kernel, has one and becomes other operators in calls that this
 * refuses, or always becomes others that have one.
 */
export type HowItRuns = "kernel" | "mended" | "expanded" | "no";

/** An operator of the table: one overload. Forms that write in place have no rows of their own. */
export interface OperatorInfo {
  /** As programs call it: "aten::add.Tensor". */
  name: string;
  /** The name that a .pte calls; empty where it never does. */
  out: string;
  /** The kind of work that it does. */
  family: OpFamily;
  /** By this runtime. One that does not run here, and not there either, is refused when lowered. */
  here: HowItRuns;
  /**
   * By the official runtime, lowered with the target "executorch". "no" also where only some of its
   * calls end in an operator that it has no kernel for.
   */
  official: HowItRuns;
  /** Does one of the two run it? */
  lowers: boolean;
  /** The operator without a kernel, itself or one of what it becomes; empty where it runs on both. */
  lacks: string;
  /**
   * Which calls the official runtime runs, if not all: those within each of these limits, such as
   * "images of known size".
   */
  limits: string[];
  /** Is it one of those that `OperatorCoverage` counts? */
  pytorch: boolean;
  /** The library that brings it: "torchvision"; empty of PyTorch's, and of what only lowering makes. */
  library: string;
}

/** How many operators work in a feature that is no operator itself, such as `torch.vmap`. */
export interface FeatureCoverage {
  /** By torch.vmap, a whole batch at once. */
  vmap: number;
  /** The most samples of a batch for which torch.vmap calls most of the others one by one. */
  vmapSamples: number;
  /** By torch.func.jvp. */
  jvp: number;
  /** With float8 numbers, in this runtime. */
  float8: number;
}

/**
 * How much of PyTorch is covered, counted from the table. It counts the overloads of `aten` that
 * torch.export can leave in a program: those that compute tensors and write to none. Overloads for
 * gradients, for one device or library, and for sparse, nested, named or (in PyTorch's old way)
 * quantized tensors are not counted.
 */
export interface OperatorCoverage {
  /** The release of PyTorch whose operators these are. */
  version: string;
  /** The number of operators that are counted. */
  operators: number;
  /** How many of them lower. */
  lowers: number;
  /** How many run in this runtime. */
  here: number;
  /** How many run on the official runtime. */
  official: number;
  /** How many of those on the official runtime have a limit. */
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
  /** How many of PyTorch's operators those are. */
  pytorch: OperatorCoverage;
  /** Coverage of vmap, jvp and float8. */
  features: FeatureCoverage;
  /**
   * Passes, in the order in which lowering runs them. Those of the stage "executorch" run when the
   * file is made. `transform` and recipes take those that can be `named`.
   */
  passes: { name: string; summary: string; stage: "edge" | "executorch"; named: boolean }[];
  /** Backends that can take over parts of a program and run them here. Files name the id. */
  backends: { name: string; id: string; summary: string }[];
}
