// Functions of the caller's own that have names for as long as the engine lives: passes, partitioners
// and memory planners.
import { badArgument, isOwnPartitioner, mustBe } from "../base/check.js";
import { SconceError } from "../base/errors.js";
import { imported } from "../source/imported.js";
import type {
  ModuleUrl,
  OwnPartitioner,
  PartitionFunction,
  PassFunction,
  PlanMemory,
} from "../types/index.js";

/** One kind of function, for messages and imports. */
interface Kind<T> {
  readonly noun: "pass" | "partitioner" | "memory planner";
  /** Its name in calls: register, import. */
  readonly calls: readonly [register: string, import: string];
  /** The other things that such a name may belong to. */
  readonly others: string;
  /** Gives the name of the function itself. Throws if it is not of this kind. */
  nameOf(what: string, one: T): string;
  /** True if an export of a module is of this kind. */
  is(value: unknown): value is T;
  readonly hint: string;
}

/** The part of a kind whose members are functions and nothing else. */
const A_FUNCTION = {
  nameOf: (what: string, one: PassFunction | PlanMemory): string => {
    mustBe("function", what, one);
    return one.name;
  },
  is: <T extends PassFunction | PlanMemory>(value: unknown): value is T =>
    typeof value === "function",
};

const PASS: Kind<PassFunction> = {
  noun: "pass",
  calls: ["registerPass", "importPasses"],
  others: "",
  ...A_FUNCTION,
  hint: "Export each pass by its name: export function myPass(program) { ... }.",
};

const PARTITIONER: Kind<PartitionFunction | OwnPartitioner> = {
  noun: "partitioner",
  calls: ["registerPartitioner", "importPartitioners"],
  others: " or a backend",
  nameOf: (what, one) => {
    if (typeof one === "function") return one.name;
    if (!isOwnPartitioner(one)) throw badArgument(what, "a function, or { partition }", one);
    return one.partition.name;
  },
  is: isOwnPartitioner,
  hint: "Export each by its name: export const mine = { partition(program) { ... } }.",
};

const PLANNER: Kind<PlanMemory> = {
  noun: "memory planner",
  calls: ["registerMemoryPlanner", "importMemoryPlanners"],
  others: "",
  ...A_FUNCTION,
  hint: "Export each planner by its name: export function myPlanner(request) { ... }.",
};

/** The functions of a kind, by name. */
export class Registered<T> {
  private readonly rows = new Map<string, T>();

  private constructor(private readonly kind: Kind<T>) {}

  static readonly passes = (): Registered<PassFunction> => new Registered(PASS);
  static readonly partitioners = (): Registered<PartitionFunction | OwnPartitioner> =>
    new Registered(PARTITIONER);
  static readonly planners = (): Registered<PlanMemory> => new Registered(PLANNER);

  get(name: string): T | undefined {
    return this.rows.get(name);
  }

  names(): string[] {
    return [...this.rows.keys()];
  }

  /**
   * Registers it; `isTaken` says which names stand for something else. The same function may come
   * again under its name.
   */
  add(one: T, name: string | undefined, isTaken: (name: string) => boolean): void {
    const { noun, others } = this.kind;
    const [call] = this.kind.calls;
    const own = this.kind.nameOf(`what ${call}() takes`, one);
    const key = name ?? own;
    mustBe("name", `the name of a ${noun}`, key);
    if (this.rows.get(key) === one) return; // a module that is imported again
    if (this.rows.has(key) || isTaken(key))
      throw new SconceError(
        "argument",
        `'${key}' is the name of another ${noun}${others}`,
        `Register it under another name: ${call}(${noun.replace("memory ", "")}, name).`,
      );
    this.rows.set(key, one);
  }

  /** Registers what a module exports of the kind; gives the names. */
  async import(module: ModuleUrl, isTaken: (name: string) => boolean): Promise<string[]> {
    const { noun, nameOf, is, hint } = this.kind;
    const call = `${this.kind.calls[1]}()`;
    const found = Object.entries(await imported(call, module));
    const ones = found.flatMap(([exported, one]): [string, T][] => {
      if (!is(one)) return [];
      return [[exported === "default" ? nameOf(`the default of ${call}`, one) : exported, one]];
    });
    if (ones.length === 0)
      throw new SconceError("argument", `the module of ${call} exports no ${noun}`, hint);
    for (const [name, one] of ones) this.add(one, name, isTaken);
    return ones.map(([name]) => name);
  }
}
