// Backends that callers write: what the core asks of them (src/backends/host/ask.def), turned into
// calls of their functions, and what those give into answers. Everything they give is checked, and
// what they throw becomes the error of the call in which it happened.
import type { Pointer, RawExports } from "./abi.gen.js";
import { ASK } from "./ask.gen.js";
import {
  badArgument,
  isObject,
  isPlain,
  isText,
  KINDS,
  mustBe,
  onlyHasKeys,
  TEXT,
} from "./check.js";
import { cancelled, messageOf, SconceError } from "./errors.js";
import type { Memory } from "./memory.js";
import { bytesOf, dataFromBytes, isTensor } from "./tensor.js";
import type {
  Backend,
  BackendNode,
  CompileSpec,
  DType,
  NamedBytes,
  Part,
  PartConstant,
  PartState,
  PreprocessResult,
  Refusal,
  TensorInfo,
  Value,
} from "./types.js";

type Range = readonly [address: number, bytes: number];
interface RawSpec {
  key: string;
  value: Range;
}
interface RawPart {
  name: string;
  inputs: TensorInfo[];
  outputs: TensorInfo[];
  constants: { value: string; target: string; size: number; of: TensorInfo; result?: string }[];
  specs: RawSpec[];
  nodes: BackendNode[];
}
interface RawSurvey {
  method: string;
  nodes: BackendNode[];
  specs: RawSpec[];
  /** Buffers that the method writes, by their names in the model. */
  states: string[];
}
interface RawMethod {
  method: string;
  parts: RawPart[];
}
interface RawStart {
  method: string;
  specs: RawSpec[];
  named: { key: string; bytes: Range }[];
  processed: Range;
}
type RawValue =
  | { kind: "tensor"; dtype: DType; shape: number[]; bytes: Range }
  | { kind: "int" | "double" | "bool"; value: string };

/** What was started, by the number that the core gave it. */
interface Delegate {
  backend: Backend;
  method: string;
  state: unknown;
}

const ALIGNMENT = 16;
const ALIGNMENT_MAX = 2 ** 24;
const encoder = new TextEncoder();

/** An answer while it is put together: JSON, whose ranges mean the bytes behind it. */
class Answer {
  private readonly blobs: Uint8Array[] = [];
  private size = 0;

  constructor(
    private readonly raw: RawExports,
    private readonly memory: Memory,
    private readonly ask: Pointer,
  ) {}

  add(bytes: Uint8Array): Range {
    const offset = this.size;
    this.blobs.push(bytes);
    this.size = Math.ceil((offset + bytes.length) / ALIGNMENT) * ALIGNMENT;
    return [offset, bytes.length];
  }

  send(json: unknown): void {
    this.put(JSON.stringify(json), true);
  }

  /** Why there is no answer. */
  fail(message: string): void {
    this.blobs.length = this.size = 0;
    this.put(message, false);
  }

  private put(text: string, isPadded: boolean): void {
    const bytes = encoder.encode(text);
    const length = isPadded ? Math.ceil(bytes.length / ALIGNMENT) * ALIGNMENT : bytes.length;
    const address = this.memory.alloc(length + this.size + 1);
    const all = this.memory.bytes(address, length + this.size);
    all.fill(0x20, bytes.length, length);
    all.set(bytes);
    let at = length;
    for (const blob of this.blobs) {
      all.set(blob, at);
      at += Math.ceil(blob.length / ALIGNMENT) * ALIGNMENT;
    }
    this.raw.backend_answer(this.ask, address, length, this.size);
  }
}

const isState = <T extends PartConstant & { result?: string }>(one: T): one is T & PartState =>
  one.result !== undefined;

/** What TypeScript has not seen may be anything. */
const isRefusal = (answer: unknown): answer is Refusal =>
  isObject(answer) &&
  typeof answer["reason"] === "string" &&
  (answer["hint"] === undefined || typeof answer["hint"] === "string");

/** An error that says itself what is wrong, and not only what was thrown. */
const fault = (message: string, method: string): SconceError =>
  new SconceError(
    "delegate",
    message,
    "Look into the backend, which is not a part of this library.",
  ).ofMethod(method);

export class Backends {
  private readonly rows: Backend[] = [];
  private readonly delegates = new Map<number, Delegate>();

  constructor(
    private readonly raw: RawExports,
    private readonly memory: Memory,
  ) {}

  /** Adds a backend under the number that `register` gets, unless that throws. */
  add(backend: Backend, register: (number: number) => void): void {
    checkBackend(backend);
    this.rows.push(backend);
    try {
      register(this.rows.length - 1);
    } catch (error) {
      this.rows.pop();
      throw error;
    }
  }

  /** The passes that a backend wishes for before decomposition; none of one that is not here. */
  passesOf(id: string): readonly string[] | undefined {
    return this.rows.find((row) => row.id === id)?.transformForPreDecomposition;
  }

  /** Ends what was started, when the engine ends. The first error is thrown when all have ended. */
  close(): void {
    let first: { error: unknown } | undefined;
    for (const [number] of this.delegates) {
      try {
        this.destroy(number);
      } catch (error) {
        first ??= { error };
      }
    }
    if (first) throw first.error;
  }

  /** Does what the core asks; throws what it failed with, after having said so to the core. */
  ask(number: number, ask: Pointer, kind: number, delegate: number, json: string): boolean {
    const answer = new Answer(this.raw, this.memory, ask);
    try {
      return this.answered(this.rows[number]!, kind, delegate, json, answer, ask);
    } catch (error) {
      answer.fail(messageOf(error));
      throw error;
    }
  }

  private answered(
    backend: Backend,
    kind: number,
    delegate: number,
    json: string,
    answer: Answer,
    ask: Pointer,
  ): boolean {
    switch (kind) {
      case ASK.keeps: {
        const { method, node } = JSON.parse(json) as { method: string; node: BackendNode };
        return saidYes(backend, "keeps", node.name, method, () => backend.keeps!(node, method));
      }
      case ASK.survey:
        answer.send(this.survey(backend, json));
        break;
      case ASK.preprocess:
        answer.send(this.preprocess(backend, json, answer, ask));
        break;
      case ASK.init:
        this.init(backend, delegate, JSON.parse(json) as RawStart);
        break;
      case ASK.execute:
        answer.send(this.execute(delegate, json, answer));
        break;
      case ASK.reset:
        this.reset(delegate);
        break;
      case ASK.destroy:
        this.destroy(delegate);
        break;
      default:
        throw new SconceError(
          "internal",
          `a backend cannot be asked for number ${kind}`,
          "Use the module and the library of one version.",
        );
    }
    return true;
  }

  // --- Ahead of time ---

  private survey(backend: Backend, json: string): object {
    const { method, nodes, specs: raw, states } = JSON.parse(json) as RawSurvey;
    const specs = this.specsOf(raw);
    const says = nodes.map((node) => {
      const answer = called(backend, "supports", method, () =>
        backend.supports(node, method, specs),
      );
      if (typeof answer === "boolean" || typeof answer === "string") return answer;
      if (isRefusal(answer)) return { reason: answer.reason, hint: answer.hint ?? "" };
      throw fault(
        `'supports' of backend '${backend.id}' must give true, a reason or { reason, hint } for ${node.name} of ` +
          `method '${method}', not ${typeof answer}`,
        method,
      );
    });
    const owns = (target: string): boolean =>
      backend.ownsState !== undefined &&
      saidYes(backend, "ownsState", `'${target}'`, method, () =>
        backend.ownsState!(target, method),
      );
    return { nodes: says, states: states.map(owns) };
  }

  private preprocess(backend: Backend, json: string, answer: Answer, ask: Pointer): object[] {
    const methods = JSON.parse(json) as RawMethod[];
    const life = { isOver: false };
    let index = 0;
    const parts = methods.map(({ method, parts: list }) =>
      list.map((raw) => this.partOf(raw, method, ask, index++, life)),
    );
    const specs = methods.map(({ parts: list }) => list.map((raw) => this.specsOf(raw.specs)));
    let begun = 0;
    const begin = (): void => {
      if (this.raw.backend_progress(ask, begun++) !== 0) throw cancelled();
    };
    try {
      if (backend.preprocessMultimethod) begin();
      return backend.preprocessMultimethod
        ? allResults(backend, methods, parts, specs).map((r) => resultJson(r, answer))
        : methods.flatMap(({ method }, m) =>
            parts[m]!.map((part, i) => {
              begin();
              const result = called(backend, "preprocess", method, () =>
                backend.preprocess!(part, specs[m]![i]!),
              );
              return resultJson({ backend, method, part: part.name, result }, answer);
            }),
          );
    } finally {
      life.isOver = true;
    }
  }

  private partOf(
    raw: RawPart,
    method: string,
    ask: Pointer,
    index: number,
    life: { isOver: boolean },
  ): Part {
    const whileAsked = (): void => {
      if (!life.isOver) return;
      throw new SconceError(
        "state",
        `${raw.name} of method '${method}' can be read only while it is preprocessed`,
        "Copy what is needed of it.",
      );
    };
    const all = raw.constants.map(({ value, target, size, of, result }, i) => ({
      ...(result !== undefined && { result }),
      name: value,
      target,
      dtype: of.dtype!,
      shape: of.shape as number[],
      bytes: () => {
        whileAsked();
        return this.memory.with(size + 1, (out) => {
          if (this.raw.backend_constant(ask, index, i, out, size) !== 0)
            throw new SconceError("io", `the constant '${target}' cannot be read`);
          return this.memory.copy(out, size);
        });
      },
    }));
    return {
      name: raw.name,
      method,
      inputs: raw.inputs,
      outputs: raw.outputs,
      constants: all.filter((constant) => !isState(constant)),
      states: all.filter(isState),
      nodes: () => raw.nodes,
      text: () => {
        whileAsked();
        return this.memory.zeroTerminated(this.raw.backend_part_text(ask, index));
      },
    };
  }

  private specsOf(specs: readonly RawSpec[]): CompileSpec[] {
    return specs.map(({ key, value }) => ({ key, value: this.memory.copy(...value) }));
  }

  // --- Running ---

  private init(backend: Backend, delegate: number, start: RawStart): void {
    const { method } = start;
    const named = Object.create(null) as Record<string, Uint8Array>;
    for (const { key, bytes } of start.named) named[key] = this.memory.copy(...bytes);
    const processed = this.memory.copy(...start.processed);
    const specs = this.specsOf(start.specs);
    const state = called(backend, "init", method, () => backend.init(processed, specs, named));
    this.delegates.set(delegate, { backend, method, state });
  }

  /** Null where there is no list: the core knows how many outputs were wanted. */
  private execute(delegate: number, json: string, answer: Answer): object[] | null {
    const { backend, method, state } = this.delegates.get(delegate)!;
    const inputs = (JSON.parse(json) as RawValue[]).map((raw) => this.valueOf(raw));
    const outputs = called(backend, "execute", method, () => backend.execute(state, inputs));
    if (!Array.isArray(outputs)) return null;
    return Array.from(outputs, (value: unknown, i) => {
      try {
        return valueJson(value, answer);
      } catch (error) {
        throw fault(
          `backend '${backend.id}' gave a wrong output ${i} of ${outputs.length} for method ` +
            `'${method}': ${messageOf(error)}`,
          method,
        );
      }
    });
  }

  private valueOf(raw: RawValue): Value {
    if (raw.kind === "tensor")
      return {
        dtype: raw.dtype,
        shape: raw.shape,
        data: dataFromBytes(raw.dtype, this.memory.copy(...raw.bytes)),
      };
    if (raw.kind === "bool") return raw.value !== "0";
    if (raw.kind === "double") return Number(raw.value.replace("inf", "Infinity"));
    const number = Number(raw.value);
    return Number.isSafeInteger(number) ? number : BigInt(raw.value);
  }

  private reset(number: number): void {
    const { backend, method, state } = this.delegates.get(number)!;
    called(backend, "reset", method, () => backend.reset?.(state));
  }

  private destroy(number: number): void {
    const { backend, method, state } = this.delegates.get(number)!;
    this.delegates.delete(number);
    called(backend, "destroy", method, () => backend.destroy?.(state));
  }
}

// --- What backends give ----------------------------------------------------------------------------

type Callback = keyof typeof FUNCTIONS;

/**
 * Whether it is a promise. Nobody will wait for it: what it may be rejected with is not let loose,
 * since that would end the process.
 */
function isDropped(result: unknown): boolean {
  if (!isObject(result) || !KINDS.function.test(result["then"])) return false;
  void Promise.resolve(result).catch(() => undefined);
  return true;
}

/** Calls a function of a backend; what it throws says whose it is. */
function called<T>({ id }: Backend, name: Callback, method: string, call: () => T): T {
  let result: T;
  const where = method === "" ? "" : ` for method '${method}'`;
  try {
    result = call();
  } catch (error) {
    const wrapped = fault(
      `'${name}' of backend '${id}' threw${where}: ${messageOf(error)}`,
      method,
    );
    wrapped.cause = error;
    throw wrapped;
  }
  if (givenBy(name, result).filter(isDropped).length > 0)
    throw fault(
      `'${name}' of backend '${id}' gave a promise${where}, but must have done its work by then`,
      method,
    );
  return result;
}

/** All that is looked at of a result: a state is the backend's own, whatever is in it. */
function givenBy(name: Callback, result: unknown): readonly unknown[] {
  if (name === "execute" && Array.isArray(result)) return [result, ...(result as unknown[])];
  if (name === "preprocess") return [result, ...partsOf(result)];
  if (name !== "preprocessMultimethod" || !isObject(result)) return [result];
  const lists = Object.values(result);
  const results = lists.flatMap((list) => (Array.isArray(list) ? (list as unknown[]) : []));
  return [result, ...lists, ...results, ...results.flatMap(partsOf)];
}

/** What a backend made of a part, piece by piece. */
function partsOf(result: unknown): unknown[] {
  if (!isObject(result)) return [];
  const { processedBytes, namedData } = result;
  return [processedBytes, namedData, ...(isObject(namedData) ? Object.values(namedData) : [])];
}

/** The answer of a function that must give true or false. */
function saidYes(
  backend: Backend,
  name: "keeps" | "ownsState",
  about: string,
  method: string,
  call: () => unknown,
): boolean {
  const answer = called(backend, name, method, call);
  if (typeof answer === "boolean") return answer;
  throw fault(
    `'${name}' of backend '${backend.id}' must give true or false for ${about} of method ` +
      `'${method}', not ${typeof answer}`,
    method,
  );
}

/** Whether a backend must have it. */
const FUNCTIONS = {
  supports: true,
  init: true,
  execute: true,
  preprocess: false,
  preprocessMultimethod: false,
  keeps: false,
  ownsState: false,
  reset: false,
  destroy: false,
} as const;

const MEMBERS = ["id", "transformForPreDecomposition", ...Object.keys(FUNCTIONS)];

function checkBackend(backend: Backend): void {
  if (!isObject(backend)) throw badArgument("what registerBackend() takes", "a backend", backend);
  const members: Record<string, unknown> = backend;
  mustBe("name", "the id of a backend", members["id"]);
  // Objects of classes have members of their own.
  if (isPlain(members)) onlyHasKeys(`backend '${backend.id}'`, members, MEMBERS);
  for (const [name, isNeeded] of Object.entries(FUNCTIONS)) {
    const member = members[name];
    if (member === undefined ? isNeeded : !KINDS.function.test(member))
      throw badArgument(`'${name}' of backend '${backend.id}'`, "a function", member);
  }
  const passes = members["transformForPreDecomposition"];
  if (passes !== undefined)
    mustBe("names", `'transformForPreDecomposition' of backend '${backend.id}'`, passes);
  if (!members["preprocess"] && !members["preprocessMultimethod"])
    throw badArgument(
      `'preprocess' of backend '${backend.id}'`,
      "a function, unless it has preprocessMultimethod",
      undefined,
    );
  if (members["ownsState"] && !members["reset"])
    throw badArgument(
      `'reset' of backend '${backend.id}'`,
      "a function, because it has ownsState",
      undefined,
    );
}

interface Made {
  backend: Backend;
  method: string;
  part: string;
  result: PreprocessResult;
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

/** What preprocessMultimethod gives, in the order of the parts. */
function allResults(
  backend: Backend,
  methods: readonly RawMethod[],
  parts: readonly Part[][],
  specs: readonly CompileSpec[][][],
): Made[] {
  const byMethod = <T>(lists: readonly T[]): Record<string, T> =>
    Object.fromEntries(methods.map(({ method }, m) => [method, lists[m]!]));
  const results: unknown = called(backend, "preprocessMultimethod", "", () =>
    backend.preprocessMultimethod!(byMethod(parts), byMethod(specs)),
  );
  const byName = isObject(results) ? results : {};
  const miscounted = (method: string, wanted: number, list: unknown = []): SconceError => {
    const found = Array.isArray(list) ? counted(list.length, "result") : "no list of results";
    const parts = counted(wanted, "part");
    return fault(
      `backend '${backend.id}' gave ${found} for method '${method}', which has ${parts}`,
      method,
    );
  };
  for (const [method, list] of Object.entries(byName))
    if (!methods.some((m) => m.method === method)) throw miscounted(method, 0, list);
  return methods.flatMap(({ method, parts: list }) => {
    const own: unknown = Object.hasOwn(byName, method) ? byName[method] : undefined;
    if (!Array.isArray(own) || own.length !== list.length)
      throw miscounted(method, list.length, own);
    return list.map(({ name }, i) => {
      return { backend, method, part: name, result: (own as PreprocessResult[])[i]! };
    });
  });
}

function resultJson({ backend, method, part, result }: Made, answer: Answer): object {
  const what = `what backend '${backend.id}' made of ${part} of method '${method}'`;
  const wrong: Wrong = (of, accepts, value) =>
    badArgument(of === "" ? what : `${of} in ${what}`, accepts, value).ofMethod(method);
  if (!isObject(result)) throw wrong("", "{ processedBytes }", result);
  const onlyHas = (of: string, value: object, known: readonly string[]): void => {
    const key = Object.keys(value).find((name) => !known.includes(name));
    if (key === undefined) return;
    throw fault(`${of} has '${key}', which is not one of: ${known.join(", ")}`, method);
  };
  onlyHas(what, result, ["processedBytes", "namedData", "debugHandleMap"]);
  const { processedBytes, namedData = {}, debugHandleMap } = result as PreprocessResult;
  const bytes = (value: unknown, name: string): Range => {
    if (value instanceof Uint8Array) return answer.add(value);
    throw wrong(name, "a Uint8Array", value);
  };
  if (!isObject(namedData)) throw wrong("namedData", "bytes by name", namedData);
  const data = Object.entries(namedData).map(([key, entry]: [string, unknown]) => {
    if (!isText(key)) throw wrong("a key of namedData", TEXT, key);
    if (!isObject(entry)) throw wrong(`'${key}'`, "bytes, or { bytes }", entry);
    const one: Partial<NamedBytes> = entry instanceof Uint8Array ? { bytes: entry } : entry;
    onlyHas(`'${key}' in ${what}`, one, ["bytes", "alignment", "externalTag"]);
    const { alignment = ALIGNMENT, externalTag = "" } = one;
    if (!Number.isSafeInteger(alignment) || alignment < 1 || alignment > ALIGNMENT_MAX)
      throw wrong(`the alignment of '${key}'`, "a whole number from 1 to 2^24", alignment);
    if (!KINDS.text.test(externalTag))
      throw wrong(`the externalTag of '${key}'`, KINDS.text.accepts, externalTag);
    if (one.externalTag !== undefined && !isFileName(externalTag))
      throw fault(
        `the externalTag of '${key}' in ${what} must be the name of a file, ` +
          `without a folder or control characters, not ${JSON.stringify(externalTag)}`,
        method,
      );
    return { key, tag: externalTag, align: alignment, bytes: bytes(one.bytes, `'${key}'`) };
  });
  return {
    processed: bytes(processedBytes, "processedBytes"),
    data,
    events: debugHandleMap === undefined ? null : eventsOf(debugHandleMap, wrong),
  };
}

/** Whether it stays in the folder where it is written. */
const isFileName = (tag: string): boolean => isText(tag) && !/^\.{0,2}$|[\p{Cc}/\\]/u.test(tag);

type Wrong = (of: string, accepts: string, value: unknown) => SconceError;

/** Keys that are whole numbers are ids, as in ExecuTorch; others are names. */
function eventsOf(map: Readonly<Record<string, readonly number[]>>, wrong: Wrong): object[] {
  if (!isObject(map)) throw wrong("debugHandleMap", "lists of handles", map);
  return Object.entries(map).map(([key, handles]) => {
    if (!Array.isArray(handles) || !Array.from(handles).every(KINDS.index.test))
      throw wrong(`'${key}' of debugHandleMap`, "a list of handles", handles);
    return /^(0|[1-9]\d{0,14})$/.test(key) ? { id: Number(key), handles } : { name: key, handles };
  });
}

/** An output as the core reads it. */
function valueJson(value: unknown, answer: Answer): object {
  if (isTensor(value)) {
    const { dtype, shape } = value;
    return { kind: "tensor", dtype, shape, bytes: answer.add(bytesOf(value, "it")) };
  }
  if (typeof value === "boolean") return { kind: "bool", value: value ? "1" : "0" };
  if (typeof value === "bigint" && BigInt.asIntN(64, value) === value)
    return { kind: "int", value: String(value) };
  if (typeof value === "number") {
    const isWhole = Number.isSafeInteger(value) && !Object.is(value, -0);
    const text = String(value).replace("Infinity", "inf").replace("NaN", "nan");
    return { kind: isWhole ? "int" : "double", value: text };
  }
  throw badArgument("it", "a tensor, number, bigint or boolean", value);
}
