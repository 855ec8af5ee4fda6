// Constant methods of a program, which tell a runner about it. Files may tell anything: values that make
// no sense become warnings, and the shapes decide in their place.
import type { ProgramMethodInfo, Value } from "../types/index.js";
import type { LanguageModelWarning, LanguageProgram } from "./types.js";

/** More is no length of a context that any memory holds. */
const LENGTH_MAX = 2 ** 24;
/** More is no token id: tables have a row for each. */
const ID_MAX = 2 ** 31 - 1;
const LIST_MAX = 1024;

/** The values of constant methods, by name. */
export class Metadata {
  readonly warnings: LanguageModelWarning[] = [];

  private constructor(private readonly values: ReadonlyMap<string, readonly Value[]>) {}

  /** Calls the constant methods of these names, which have no instructions and so cost nothing. */
  static async read(
    program: LanguageProgram,
    methods: readonly ProgramMethodInfo[],
  ): Promise<Metadata> {
    const values = new Map<string, readonly Value[]>();
    for (const { name, inputs, outputs, instructions } of methods) {
      const isConstant = inputs.length === 0 && instructions === 0;
      if (isConstant && outputs.length > 0 && outputs.length <= LIST_MAX)
        values.set(name, await program.run(name, [], {}));
    }
    return new Metadata(values);
  }

  /** The first of the names that the program has, if its values pass the test. */
  private valid(
    names: readonly string[],
    what: string,
    isRight: (value: Value) => boolean,
  ): readonly Value[] | undefined {
    for (const name of names) {
      const values = this.values.get(name);
      if (!values) continue;
      if (values.every(isRight)) return values;
      const shown = values.slice(0, 4).map((value) => (isTensor(value) ? "a tensor" : `${value}`));
      this.warnings.push({
        code: "metadata",
        message: `${name} gives ${shown.join(", ")}, which is not ${what}, and is ignored`,
      });
    }
    return undefined;
  }

  /** A length, of the first of the names that the program has. */
  length(...names: string[]): number | undefined {
    const isLength = (value: Value): boolean => isWithin(value, 1, LENGTH_MAX);
    return this.number(names, "a length", isLength);
  }

  /** A token id. */
  id(...names: string[]): number | undefined {
    const isId = (value: Value): boolean => isWithin(value, 0, ID_MAX);
    return this.number(names, "a token id", isId);
  }

  /** Token ids; empty if there is no such method. */
  ids(...names: string[]): number[] {
    const isId = (value: Value): boolean => isWithin(value, 0, ID_MAX);
    return (this.valid(names, "a list of token ids", isId) ?? []).map(Number);
  }

  /** Numbers, such as a mean for each channel. */
  numbers(...names: string[]): number[] | undefined {
    const isNumber = (value: Value): boolean => typeof value === "number" && Number.isFinite(value);
    return this.valid(names, "a list of numbers", isNumber)?.map(Number);
  }

  private number(
    names: readonly string[],
    what: string,
    isRight: (value: Value) => boolean,
  ): number | undefined {
    const [value] = this.valid(names, what, isRight) ?? [];
    return value === undefined ? undefined : Number(value);
  }
}

const isTensor = (value: Value): boolean => typeof value === "object" && value !== null;

const isWithin = (value: Value, least: number, most: number): boolean =>
  Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most;
