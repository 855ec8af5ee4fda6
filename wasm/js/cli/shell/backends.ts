// The backends, operators, passes and planners of --backend, --pass, --memory-planning and --import.
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { SconceError, withCause } from "../../base/errors.js";
import { didYouMean, oneOf } from "../../base/nearest.js";
import { isObject, isOwnOperator, isOwnPartitioner } from "../../base/check.js";
import { anyOf, isPlannerWord, PLANNER_WORDS } from "../../call/options.js";
import { imported } from "../../source/imported.js";
import type { Backend, Engine, PassFunction, Programs } from "../../types/index.js";
import type { MethodFlags } from "./by_method.js";
import { UsageError } from "../usage.js";

const urlOf = (file: string): string => pathToFileURL(resolve(file)).href;

/** The default export of a module; undefined where there is none. */
export async function defaultOf(flag: string, file: string): Promise<unknown> {
  return (await imported(flag, { url: urlOf(file) }))["default"];
}

/** True for an object that is meant as a backend. */
const isBackend = (value: unknown): value is Backend =>
  isObject(value) && typeof value["id"] === "string" && typeof value["execute"] === "function";

/** Registers the exports of one module: backends, operators, and passes and partitioners by name. */
function register(engine: Engine, exported: Readonly<Record<string, unknown>>): void {
  // The default export of a CommonJS module is the object of its other exports.
  const { default: main, ...named } = exported;
  const isCommonJs =
    isObject(main) && Object.values(named).some((one) => typeof one === "function");
  const ones = Object.entries(isCommonJs && !isBackend(main) ? named : exported);
  let count = 0;
  for (const [name, one] of ones) {
    const own = name === "default" ? undefined : name;
    if (isBackend(one)) engine.registerBackend(one);
    else if (isOwnOperator(one)) engine.registerOperator(one);
    else if (isOwnPartitioner(one)) engine.registerPartitioner(one, own);
    else if (typeof one === "function") engine.registerPass(one as PassFunction, own);
    else if (name === "default") engine.registerBackend(one as Backend);
    else continue;
    count++;
  }
  if (count === 0)
    throw new SconceError(
      "argument",
      "it exports no backend, operator, pass or partitioner",
      "Export a backend as an object with an id, an operator as one with a schema, a pass as a function, and a partitioner as an object with a function partition.",
    );
}

/** Registers what the modules of --import export. Errors name the file. */
export async function importModules(engine: Engine, files: readonly string[]): Promise<void> {
  for (const file of files) {
    const found = await imported("--import", { url: urlOf(file) });
    try {
      register(engine, found);
    } catch (error) {
      if (!(error instanceof SconceError)) throw error;
      const isTaken = error.message.includes("is the name of another");
      const hint = isTaken ? "Give the export of one module another name." : error.hint;
      throw withCause(
        new SconceError(error.code, `--import ${file}: ${error.message}`, hint),
        error,
      );
    }
  }
}

/** Registers the functions of --import as memory planners, where --memory-planning names any. */
export async function importPlanners(
  engine: Engine,
  files: readonly string[],
  planning: unknown,
): Promise<void> {
  const named = typeof planning === "object" && planning ? Object.values(planning) : [planning];
  const isOwn = (name: unknown): boolean => typeof name === "string" && !isPlannerWord(name);
  const own = named.filter(isOwn) as string[];
  if (own.length === 0) return;
  const known = [...PLANNER_WORDS];
  for (const file of files)
    known.push(...(await engine.importMemoryPlanners({ url: urlOf(file) })));
  const wrong = own.find((name) => !known.includes(name));
  if (wrong === undefined) return;
  throw new UsageError(
    `--memory-planning is ${anyOf(known)}, not '${wrong}'`,
    `${didYouMean(wrong, known, (best) => best)} A planner of your own comes with --import FILE.`.trim(),
  );
}

/** Throws if a name is not that of a built-in backend. Modules may bring others. */
export function checkBackends(pairs: MethodFlags, engine: Engine): void {
  const known = engine.meta().backends.map(({ name }) => name);
  const wrong = pairs.map(([, backend]) => backend).find((name) => !known.includes(name));
  if (wrong === undefined) return;
  throw new SconceError(
    "not_found",
    `there is no backend '${wrong}'`,
    `${oneOf(wrong, known)} A backend of your own is registered with --import FILE.`,
  );
}

/** The names of each method, in order; undefined without flags. */
export function namesByMethod(
  pairs: MethodFlags,
  engine: Engine,
  programs: Programs,
): readonly string[] | Readonly<Record<string, readonly string[]>> | undefined {
  if (pairs.length === 0) return undefined;
  if (pairs.every(([method]) => method === "")) return pairs.map(([, name]) => name);
  const named = new Set(pairs.map(([method]) => method).filter((method) => method !== ""));
  // A name for all methods means each of them.
  if (pairs.some(([method]) => method === ""))
    for (const method of methodsOf(engine, programs)) named.add(method);
  const lists = [...named].map((one): [string, string[]] => [
    one,
    pairs.filter(([method]) => method === "" || method === one).map(([, name]) => name),
  ]);
  return Object.fromEntries(lists);
}

function methodsOf(engine: Engine, programs: Programs): readonly string[] {
  const opened = engine.open(programs);
  const { methods } = opened;
  opened.dispose();
  return methods;
}
