// A planner of the caller's own, which chooses the places of a method's values in memory.

/** A value that lives in planned memory. Values that share memory by design are one item. */
export interface PlanRequestItem {
  /** Its name in the text of the program. */
  readonly name: string;
  /**
   * An input of the method ("input"), a buffer that keeps its bytes between runs ("state"), or any
   * other value.
   */
  readonly kind: "input" | "state" | "value";
  /** Its largest size, in bytes. */
  readonly bytes: number;
  /** The first moment at which it is in use. */
  readonly first: number;
  /** The last moment at which it is in use. */
  readonly last: number;
}

/** The memory of one method, to be planned. */
export interface PlanRequest {
  /** The name of the method. */
  readonly method: string;
  /** Each offset is a multiple of it. */
  readonly alignment: number;
  /** The number of moments. A moment is an instruction, in order. */
  readonly momentCount: number;
  /** The values to place. */
  readonly items: readonly PlanRequestItem[];
}

/**
 * Gives each item an offset in bytes, in the order of the items. Two items that are in use at one moment
 * must not share bytes.
 */
export type PlanMemory = (request: PlanRequest) => readonly number[];

/** A planner: a built-in one or a registered one by name, or a function. */
// The empty intersection keeps the words in what editors offer.
export type MemoryPlanner<Word extends string> =
  Word | PlanMemory | (string & Readonly<Record<never, never>>);

/**
 * One planner for all methods, or planners by method. Methods that are not named get the default.
 */
export type MemoryPlanning<Word extends string> =
  MemoryPlanner<Word> | Readonly<Record<string, MemoryPlanner<Word>>>;
