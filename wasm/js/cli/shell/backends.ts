// The backends, passes and planners of --backend, --pass, --memory-planning and --import.
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { SconceError } from "../../base/errors.js";
import { didYouMean, oneOf } from "../../base/nearest.js";
import { isOwnPartitioner } from "../../base/check.js";
import { anyOf, isPlannerWord, PLANNER_WORDS } from "../../call/options.js";
import { imported } from "../../source/imported.js";
import type { Backend, Engine, Programs } from "../../types/index.js";
import type { MethodFlags } from "./by_method.js";
import { UsageError } from "../usage.js";

const urlOf = (file: string): string => pathToFileURL(resolve(file)).href;

/** The default export of a module; undefined where there is none. */
export async function defaultOf(flag: string, file: string): Promise<unknown> {
  return (await imported(flag, { url: urlOf(file) }))["default"];
}

/**
 * Registers what the modules of --import export: a backend by default, passes and partitioners by their
 * names.
 */
export async function importModules(engine: Engine, files: readonly string[]): Promise<void> {
  for (const file of files) {
    const url = urlOf(file);
    const found = await imported("--import", { url });
    const backend = found["default"];
    const isBackend =
      backend !== undefined && typeof backend !== "function" && !isOwnPartitioner(backend);
    if (isBackend) engine.registerBackend(backend as Backend);
    const hasPartitioners = Object.values(found).some(isOwnPartitioner);
    if (hasPartitioners) await engine.importPartitioners({ url });
    const hasPasses = Object.values(found).some((one) => typeof one === "function");
    if (hasPasses || !(isBackend || hasPartitioners)) await engine.importPasses({ url });
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
