// Operators that callers write. The questions of the core (src/backends/host/question.def) become calls
// of their functions. Their answers are checked, and an error that they throw becomes that of the call.
import type { Pointer, RawExports } from "../border/abi.gen.js";
import { QUESTION } from "../border/question.gen.js";
import { badArgument, isObject, isPlain, KINDS, mustBe, onlyHasKeys } from "../base/check.js";
import { messageOf, SconceError, withCause } from "../base/errors.js";
import type { Memory } from "../base/memory.js";
import { dataOver, elementBytes, partsOf } from "../tensor/dtypes.js";
import type {
  DType,
  OperatorArguments,
  OperatorValue,
  OwnOperator,
  Tensor,
} from "../types/index.js";
import { Answer, type Range } from "./answer.js";
import { isDropped } from "./check_backend.js";

/** A value of a call as the core sends it. */
type Raw =
  | { kind: "tensor"; dtype: DType; shape: number[]; bytes: Range }
  | { kind: "int" | "double" | "bool" | "string"; value: string }
  | { kind: "list"; items: Raw[] }
  | { kind: "none" };
type RawTensor = Extract<Raw, { kind: "tensor" }>;
/** A call as the core sends it. */
interface RawCall {
  method: string;
  args: Record<string, Raw>;
  outs?: RawTensor[];
}

const MEMBERS = ["schema", "outOverload", "infer", "run"];

const failed = (message: string, method: string, hint: string): SconceError =>
  new SconceError("operator", message, hint).ofMethod(method);

/** The name in front of a schema, for messages. */
const nameOf = ({ schema }: OwnOperator): string => schema.slice(0, schema.indexOf("("));

/** Throws unless this is an operator that can be registered. The core reads the schema. */
function checkOperator(operator: OwnOperator): void {
  if (!isObject(operator))
    throw badArgument("what registerOperator() takes", "an operator", operator);
  const members: Record<string, unknown> = operator;
  if (typeof members["schema"] !== "string")
    throw badArgument("'schema' of an operator", "a string", members["schema"]);
  const what = `the operator ${nameOf(operator)}`;
  if (isPlain(members)) onlyHasKeys(what, members, MEMBERS);
  if (members["outOverload"] !== undefined)
    mustBe("name", `'outOverload' of ${what}`, members["outOverload"]);
  for (const name of ["infer", "run"])
    if (members[name] !== undefined && !KINDS.function.test(members[name]))
      throw badArgument(`'${name}' of ${what}`, "a function", members[name]);
}

/** The operators of one engine: they answer what the core asks. */
export class Operators {
  private readonly rows: OwnOperator[] = [];

  constructor(
    private readonly raw: RawExports,
    private readonly memory: Memory,
  ) {}

  /** Adds an operator under the number that `register` gets, unless that throws. */
  add(operator: OwnOperator, register: (number: number) => void): void {
    checkOperator(operator);
    if (this.rows.includes(operator)) return; // a module that is imported again
    this.rows.push(operator);
    try {
      register(this.rows.length - 1);
    } catch (error) {
      this.rows.pop();
      throw error;
    }
  }

  /** Does what the core asks; throws what it failed with, after having said so to the core. */
  ask(number: number, ask: Pointer, kind: number, json: string): boolean {
    const answer = new Answer(this.raw, this.memory, ask);
    try {
      const operator = this.rows[number]!;
      const call = JSON.parse(json) as RawCall;
      if (kind === QUESTION.inferOperator) answer.send(this.infer(operator, call));
      else this.run(operator, call);
      return true;
    } catch (error) {
      answer.fail(messageOf(error));
      throw error;
    }
  }

  private infer(operator: OwnOperator, { method, args }: RawCall): unknown[] {
    const shapes: unknown = called(operator, "infer", method, () =>
      operator.infer!(this.argumentsOf(args)),
    );
    if (!Array.isArray(shapes))
      throw failed(
        `'infer' of ${nameOf(operator)} returned no list of shapes in method '${method}'`,
        method,
        "Return a shape for each result: [[2, 3]] for one of them.",
      );
    return Array.from(shapes as unknown[], (shape) =>
      Array.isArray(shape) ? Array.from(shape as unknown[], sizeOf) : null,
    );
  }

  private run(operator: OwnOperator, { method, args, outs = [] }: RawCall): void {
    const { buffer } = this.raw.memory;
    const results = outs.map((out) => this.tensorOf(out));
    const result: unknown = called(operator, "run", method, () =>
      operator.run!(this.argumentsOf(args), results),
    );
    if (result !== undefined)
      throw failed(
        `'run' of ${nameOf(operator)} returned a value in method '${method}', where it must write ` +
          `into its results`,
        method,
        "Write into the data of the second argument, and return nothing.",
      );
    if (buffer.byteLength === 0)
      throw failed(
        `the memory of the engine grew while 'run' of ${nameOf(operator)} ran in method '${method}', ` +
          `so that what it wrote since then is lost`,
        method,
        "Call the engine before the results are written, or not at all.",
      );
    // Only where an address does not suit the array of its dtype was there a copy.
    outs.forEach(({ bytes: [address, size] }, i) => {
      const { data } = results[i]!;
      if (data.buffer === this.raw.memory.buffer) return;
      const from = new Uint8Array(data.buffer, data.byteOffset, size);
      this.memory.bytes(address, size).set(from);
    });
  }

  private argumentsOf(args: Record<string, Raw>): OperatorArguments {
    return Object.fromEntries(Object.entries(args).map(([name, raw]) => [name, this.valueOf(raw)]));
  }

  private valueOf(raw: Raw): OperatorValue {
    switch (raw.kind) {
      case "tensor":
        return this.tensorOf(raw);
      case "list":
        return raw.items.map((item) => this.valueOf(item));
      case "none":
        return null;
      case "bool":
        return raw.value !== "0";
      case "double":
        return Number(raw.value.replace("inf", "Infinity"));
      case "string":
        return raw.value;
      case "int": {
        const number = Number(raw.value);
        return Number.isSafeInteger(number) ? number : BigInt(raw.value);
      }
    }
  }

  /** A tensor over the memory of the engine; over a copy where its address does not suit the array. */
  private tensorOf({ dtype, shape, bytes: [address, size] }: RawTensor): Tensor {
    const item = elementBytes(dtype) / partsOf(dtype);
    const there = this.memory.bytes(address, size);
    const data = dataOver(dtype, address % item === 0 ? there : there.slice());
    return { dtype, shape, data } as Tensor;
  }
}

const sizeOf = (size: unknown): number | null =>
  typeof size === "number" && Number.isSafeInteger(size) && size >= 0 ? size : null;

/** Calls a function of an operator; what it throws says whose it is. */
function called(
  operator: OwnOperator,
  name: "infer" | "run",
  method: string,
  call: () => unknown,
): unknown {
  const what = `'${name}' of ${nameOf(operator)}`;
  let result: unknown;
  try {
    result = call();
  } catch (error) {
    const own = error instanceof SconceError ? error.hint : "";
    throw withCause(
      failed(
        `${what} threw in method '${method}': ${messageOf(error)}`,
        method,
        own || "Correct the operator: the `cause` of this error is what it threw.",
      ),
      error,
    );
  }
  if (isDropped(result))
    throw failed(
      `${what} returned a promise in method '${method}', and the engine does not wait for it`,
      method,
      "Do the asynchronous work before the program runs.",
    );
  return result;
}
