// The graph of a method as the JSON of src/api/edit has it.
import type { ValueMeta } from "../types/index.js";

/** Strides and dim order are left out of row-major values of known sizes. */
export interface RawValue extends ValueMeta {
  readonly id: number;
  readonly name: string;
}

/** One of: a value, a graph, a part, a float, an integer beyond 2^53. */
export interface Tagged {
  readonly v?: number;
  readonly g?: number;
  readonly p?: string;
  readonly f?: number | string;
  readonly i?: string;
}

export type RawArg = Tagged | number | boolean | string | null | readonly RawArg[];

/** The names of an operator's arguments, and how many of them go by position. */
export interface RawParameters {
  readonly names: readonly string[];
  readonly positional: number;
  /** The operator writes into an operand. */
  readonly mutates?: true;
  /** Equal calls have other results. */
  readonly isRandom?: true;
}

export interface RawNode {
  readonly id: number;
  readonly name: string;
  readonly target: string;
  /** Only with the first node of an operator; always where the operator is not in the table. */
  readonly parameters?: RawParameters;
  readonly args: readonly RawArg[];
  readonly outs: readonly RawValue[];
  readonly debugHandle: number;
}

/** The place in the user's program that a node comes from. */
export interface RawOrigin {
  readonly stackTrace: string;
  readonly module: string;
  readonly fromNode: string;
}

export interface RawGraph {
  readonly id: number;
  readonly name: string;
  readonly path: string;
  readonly inputs: readonly RawValue[];
  readonly nodes: readonly RawNode[];
  readonly outputs: readonly RawArg[];
}

/** A row of a method's signature. */
export interface RawRow {
  readonly kind: string;
  readonly target: string;
}

/** An input's, with the size of the constant that it stands for. */
export interface RawInput extends RawRow {
  readonly persistent: boolean;
  readonly bytes?: number;
}

/** A method as the core gives it. */
export interface RawMethod {
  readonly method: string;
  readonly graphs: readonly RawGraph[];
  readonly signature: {
    readonly inputs: readonly RawInput[];
    readonly outputs: readonly RawRow[];
  };
  readonly ranges: readonly { symbol: string; min: number | null; max: number | null }[];
}

/** The answer to a change. */
export interface Changed {
  readonly node?: RawNode;
  readonly nodes?: readonly RawNode[];
  readonly outputs?: readonly RawArg[];
  readonly erased?: readonly number[];
  readonly origin?: RawOrigin;
  /** Values: the results of replacements. */
  readonly roots?: readonly number[];
  /** The index of a new output. */
  readonly at?: number;
}

/** A constant that was added. */
export interface Added {
  readonly input: RawValue;
  readonly row: RawInput;
}

/** The core, as a pass uses it. */
export interface PassCore {
  method(): RawMethod;
  change(what: object): Changed;
  text(): string;
  /** The bytes of the constant that is that input of the method. */
  constant(input: number, bytes: number): Uint8Array<ArrayBuffer>;
  addConstant(what: object, data: Uint8Array): Added;
  /** Adds a constant method; the JSON of its value has 64-bit integers, which JSON.stringify lacks. */
  addConstantMethod(name: string, json: string): void;
}

/** An input as a node without arguments. */
export const asNode = (input: RawValue): RawNode => ({
  id: -1,
  name: input.name,
  target: input.name,
  args: [],
  outs: [input],
  debugHandle: 0,
});

/** The outputs of a graph as a node. */
export const outputNode = (outputs: readonly RawArg[]): RawNode => ({
  id: -1,
  name: "output",
  target: "output",
  args: [outputs],
  outs: [],
  debugHandle: 0,
});

/** A number as an argument: what JSON would change is text. */
export const numberArg = (value: number): RawArg =>
  Number.isSafeInteger(value) && !Object.is(value, -0) ? value : { f: textOfFloat(value) };

export const textOfFloat = (value: number): string =>
  Object.is(value, -0) ? "-0.0" : String(value);

/** The origin of what is not a call. */
export const NOWHERE: RawOrigin = { stackTrace: "", module: "", fromNode: "" };
/** The parameters of what is not a call. */
export const NO_PARAMETERS: RawParameters = { names: [], positional: 1 };
