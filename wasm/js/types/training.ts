// The types of training a loaded program.
import type { Resource } from "./resource.js";

/** Options of `sgd`, by the names of `torch.optim.SGD`. */
export interface SgdOptions {
  /** The learning rate. */
  lr: number;
  /** The share of the former steps in each step; 0 by default. */
  momentum?: number;
  /** The share of each gradient that the momentum leaves out; 0 by default. */
  dampening?: number;
  /** The share of each parameter that is added to its gradient; 0 by default. */
  weightDecay?: number;
  /** True for Nesterov momentum; false by default. */
  nesterov?: boolean;
  /** The method whose parameters are trained; may be left out if the program has one such method. */
  method?: string;
}

/** Stochastic gradient descent over the parameters of one method of a program. */
export interface SgdOptimizer extends Resource {
  /**
   * Moves every parameter against the gradient that `forwardBackward` kept. Fails with the code
   * "state" before its first call.
   */
  step(): void;
}
