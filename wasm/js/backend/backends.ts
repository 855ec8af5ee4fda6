// Backends that callers write: what the core asks of them (src/backends/host/question.def), as
// calls of their functions, and what those give into answers. Everything they give is checked, and
// what they throw becomes the error of the call in which it happened.
import type { Pointer, RawExports } from "../border/abi.gen.js";
import { QUESTION } from "../border/question.gen.js";
import {
  Answer,
  fault,
  type RawMethod,
  type RawPart,
  type RawSpec,
  type RawStart,
  type RawSurvey,
  type RawValue,
} from "./answer.js";
import {
  allResults,
  called,
  checkBackend,
  resultJson,
  RETURNS,
  saidYes,
  valueJson,
} from "./check_backend.js";
import { NamedData } from "./named_data.js";
import { isObject } from "../base/check.js";
import { cancelled, messageOf, SconceError } from "../base/errors.js";
import type { Memory } from "../base/memory.js";
import { tensorOf } from "../tensor/bytes.js";
import type {
  Backend,
  BackendNode,
  CompileSpec,
  Part,
  PartConstant,
  PartState,
  Pass,
  Refusal,
  Value,
} from "../types/index.js";

/** A started part of a program, which the core knows by a number. */
interface Delegate {
  backend: Backend;
  method: string;
  program: number;
  state: unknown;
  /** Its place among the parts of the method that backends like it have, for messages. */
  part: string;
}

const isState = <T extends PartConstant & { result?: string }>(one: T): one is T & PartState =>
  one.result !== undefined;

/** A backend written in JavaScript may be anything. */
const isRefusal = (answer: unknown): answer is Refusal =>
  isObject(answer) &&
  typeof answer["reason"] === "string" &&
  (answer["hint"] === undefined || typeof answer["hint"] === "string");

/** The backends of one engine: they answer what the core asks. */
export class Backends {
  private readonly rows: Backend[] = [];
  private readonly delegates = new Map<number, Delegate>();
  /** By program, while one of its parts is started. */
  private readonly named = new Map<number, NamedData>();

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

  /** The passes that a backend asks for before decomposition; none of one that is not here. */
  passesOf(id: string): readonly Pass[] | undefined {
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
      case QUESTION.keeps: {
        const { method, node } = JSON.parse(json) as { method: string; node: BackendNode };
        return saidYes(backend, "keeps", node.name, method, () => backend.keeps!(node, method));
      }
      case QUESTION.survey:
        answer.send(this.survey(backend, json));
        break;
      case QUESTION.preprocess:
        answer.send(this.preprocess(backend, json, answer, ask));
        break;
      case QUESTION.init:
        this.init(backend, delegate, JSON.parse(json) as RawStart, ask);
        break;
      case QUESTION.execute:
        answer.send(this.execute(delegate, json, answer));
        break;
      case QUESTION.reset:
        this.reset(delegate);
        break;
      case QUESTION.destroy:
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
        `'supports' of backend '${backend.id}' must return true, a reason or { reason, hint } for ` +
          `${node.name} of method '${method}', not ${typeof answer}`,
        method,
        RETURNS.supports,
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
              const result = called(
                backend,
                "preprocess",
                method,
                () => backend.preprocess!(part, specs[m]![i]!),
                part.name,
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
      signature: raw.signature,
      rangeConstraints: Object.fromEntries(
        raw.ranges.map(({ symbol, min, max }) => [symbol, { min, max }]),
      ),
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

  private init(backend: Backend, delegate: number, start: RawStart, ask: Pointer): void {
    const { method, program } = start;
    const processed = this.memory.copy(...start.processed);
    const specs = this.specsOf(start.specs);
    const named = this.namedOf(program);
    const before = [...this.delegates.values()].filter(
      (other) => other.program === program && other.method === method,
    );
    const part = `part ${before.length}`;
    const state = named.during(ask, method, (values) =>
      called(backend, "init", method, () => backend.init(processed, specs, values), part),
    );
    named.users++;
    this.named.set(program, named);
    this.delegates.set(delegate, { backend, method, program, state, part });
  }

  private namedOf(program: number): NamedData {
    return this.named.get(program) ?? new NamedData(this.raw, this.memory);
  }

  /** Null where there is no list: the core knows how many outputs were wanted. */
  private execute(delegate: number, json: string, answer: Answer): object[] | null {
    const { backend, method, state, part } = this.delegates.get(delegate)!;
    const inputs = (JSON.parse(json) as RawValue[]).map((raw) => this.valueOf(raw));
    const outputs = called(backend, "execute", method, () => backend.execute(state, inputs), part);
    if (!Array.isArray(outputs)) return null;
    return Array.from(outputs, (value: unknown, i) => {
      try {
        return valueJson(value, answer);
      } catch (error) {
        throw fault(
          `'execute' of backend '${backend.id}' returned a wrong output ${i} of ${outputs.length} for ` +
            `${part} of method '${method}': ${messageOf(error)}`,
          method,
          RETURNS.execute,
        );
      }
    });
  }

  private valueOf(raw: RawValue): Value {
    if (raw.kind === "tensor")
      return tensorOf(raw.dtype, raw.shape, this.memory.copy(...raw.bytes));
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
    const { backend, method, program, state } = this.delegates.get(number)!;
    this.delegates.delete(number);
    if (--this.named.get(program)!.users === 0) this.named.delete(program);
    called(backend, "destroy", method, () => backend.destroy?.(state));
  }
}
