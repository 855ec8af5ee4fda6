// The backends of --backend and --import.
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { SconceError } from "../base/errors.js";
import { oneOf } from "../base/nearest.js";
import type { Engine, Partitioners, Programs } from "../types/index.js";
import { UsageError } from "./usage.js";

/** Backends by method, "" for all methods, in the order given. */
export type BackendFlags = readonly (readonly [method: string, backend: string])[];

export async function importBackends(engine: Engine, files: readonly string[]): Promise<void> {
  for (const file of files) await engine.importBackend({ url: pathToFileURL(resolve(file)).href });
}

/** NAME or METHOD=NAME. Names of methods may hold a "=", those of backends not. */
export function readBackends(flags: readonly string[]): BackendFlags {
  return flags.map((text) => {
    const at = text.lastIndexOf("=");
    const [method, backend] = [text.slice(0, Math.max(at, 0)), text.slice(at + 1)];
    if (backend === "" || at === 0)
      throw new UsageError(`--backend takes NAME or METHOD=NAME, not '${text}'`);
    return [method, backend];
  });
}

/** Throws where a name is none of the backends that are built in; modules may bring others. */
export function checkBackends(pairs: BackendFlags, engine: Engine): void {
  const known = engine.meta().backends.map(({ name }) => name);
  const wrong = pairs.map(([, backend]) => backend).find((name) => !known.includes(name));
  if (wrong === undefined) return;
  throw new SconceError(
    "not_found",
    `there is no backend '${wrong}'`,
    `${oneOf(wrong, known)} A backend of your own is registered with --import FILE.`,
  );
}

/** The partitioners that the flags come to; undefined without flags. */
export function backendsOf(
  pairs: BackendFlags,
  engine: Engine,
  programs: Programs,
): Partitioners | undefined {
  if (pairs.length === 0) return undefined;
  if (pairs.every(([method]) => method === "")) return pairs.map(([, backend]) => backend);
  const named = new Set(pairs.map(([method]) => method).filter((method) => method !== ""));
  // A backend for all methods means each of them, by name.
  if (pairs.some(([method]) => method === ""))
    for (const method of methodsOf(engine, programs)) named.add(method);
  const rounds = [...named].map((name): [string, string[]] => [
    name,
    pairs.filter(([method]) => method === "" || method === name).map(([, backend]) => backend),
  ]);
  return Object.fromEntries(rounds);
}

function methodsOf(engine: Engine, programs: Programs): readonly string[] {
  const opened = engine.open(programs);
  const { methods } = opened;
  opened.dispose();
  return methods;
}
