// The types of training a loaded program.
import type { Resource } from "./resource.js";

/** Options of `sgd`, by the names of `torch.optim.SGD`. */
export interface SgdOptions {
  /** The learning rate. */
  lr: number;
  /** How much of the former steps each step keeps; 0 by default. */
  momentum?: number;
  /** How much of each gradient the momentum leaves out; 0 by default. */
  dampening?: number;
  /** How much of each parameter is added to its gradient; 0 by default. */
  weightDecay?: number;
  /** Looks ahead by the momentum; false by default. */
  nesterov?: boolean;
  /** The method whose parameters are trained; may be left out if the program has one such method. */
  method?: string;
}

/** Stochastic gradient descent over the parameters of one method of a program. */
export interface SgdOptimizer extends Resource {
  /**
   * Moves every parameter against the gradient that `forwardBackward` has kept. Fails with the code
   * "state" before the first one.
   */
  step(): void;
}
