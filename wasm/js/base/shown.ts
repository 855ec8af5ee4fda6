// The library's objects as console.log prints them in Node, Deno and Bun, and as JSON has them: a
// summary in place of the members that are private.
import { SconceError } from "./errors.js";
import type { ProgramMethodInfo, ProgramReport, ProgramValueInfo } from "../types/index.js";

/** The members of an object that a person wants to see of it. */
export type Summary = Readonly<Record<string, unknown>>;

type Inspect = (value: unknown, options: object) => string;

/** Node and Bun pass how deep the object may be shown, and Deno does not. */
const NODE = Symbol.for("nodejs.util.inspect.custom");
const DENO = Symbol.for("Deno.customInspect");

/** The summary; of an object that cannot be asked now, the code of the error that says why. */
function summaryOf(make: () => Summary): Summary {
  try {
    return make();
  } catch (error) {
    return { state: error instanceof SconceError ? error.code : "unknown" };
  }
}

/**
 * Says what console.log and messages call an object, or all objects with this prototype. The summary may
 * throw, as a disposed object does.
 */
export function showAs<T extends object>(
  target: T,
  name: string | ((self: T) => string),
  summarize: (self: T) => Summary,
): void {
  const titleOf = (self: T): string => (typeof name === "string" ? name : name(self));
  const text = (self: T, inspect: Inspect, options: object): string => {
    return `${titleOf(self)} ${inspect(
      summaryOf(() => summarize(self)),
      options,
    )}`;
  };
  if (typeof name === "string" && !(Symbol.toStringTag in target))
    Object.defineProperty(target, Symbol.toStringTag, { value: name, configurable: true });
  const ways = {
    [NODE](this: T, depth: number, options: object, inspect: Inspect): string {
      if (depth < 0) return `[${titleOf(this)}]`;
      return text(this, inspect, { ...options, depth });
    },
    [DENO](this: T, inspect: Inspect, options: object): string {
      return text(this, inspect, options);
    },
  };
  Object.defineProperties(target, {
    [NODE]: { value: ways[NODE], configurable: true },
    [DENO]: { value: ways[DENO], configurable: true },
    toJSON: {
      value(this: T): Summary {
        return summaryOf(() => summarize(this));
      },
      configurable: true,
    },
  });
}

/** A value of a program as text: "x: float32[4, 16]", "length: int". */
function valueText({ name, kind, dtype, shape, dynamic }: ProgramValueInfo): string {
  const sizes = `[${dynamic ? "at most " : ""}${(shape ?? []).join(", ")}]`;
  return `${name}: ${kind === "tensor" ? `${dtype}${sizes}` : kind}`;
}

/** A method as text: "forward(x: float32[4, 16]) -> (output_0: float32[4, 10])". */
function signatureOf({ name, inputs, outputs }: ProgramMethodInfo): string {
  const list = (values: readonly ProgramValueInfo[]): string => values.map(valueText).join(", ");
  return `${name}(${list(inputs)}) -> (${list(outputs)})`;
}

/** A program as it is shown: its methods, the backends that they call, and its size. */
export function programSummary({ methods, fileBytes, heapBytes }: ProgramReport): Summary {
  const backends = [...new Set(methods.flatMap(({ delegates }) => delegates))];
  return {
    methods: methods.map(signatureOf),
    ...(backends.length > 0 && { backends }),
    fileBytes,
    heapBytes,
  };
}
