// Modules of Node, Deno and Bun, without an import that bundlers for pages would follow.

type Require = (name: string) => unknown;
interface Host {
  readonly versions?: { readonly node?: string };
  getBuiltinModule?(name: string): unknown;
}

const host = (): Host | undefined => (globalThis as { process?: Host }).process;

/** True in Node, or in a host that is like it. */
export const isNode = (): boolean => host()?.versions?.node !== undefined;

/** True in Bun. */
export const isBun = (): boolean => "Bun" in globalThis;

/** True in a page, rather than in a worker or a program. */
export const isPage = (): boolean => typeof document !== "undefined";

/** The origin of the page or of the worker; undefined where there is none. */
export const pageOrigin = (): string | undefined =>
  (globalThis as { location?: { origin?: string } }).location?.origin;

/** The `require` of a Node that has no process.getBuiltinModule: 20.0 to 20.15 and 22.0 to 22.2. */
let required: Require | undefined;

/** A built-in module such as "node:fs"; undefined where there is none, and before `prepareHost`. */
export function hostModule<T>(name: string): T | undefined {
  const found = host();
  if (found?.getBuiltinModule) return found.getBuiltinModule(name) as T | undefined;
  return required?.(name) as T | undefined;
}

/** Imports a module by an address that is known only now: bundlers leave the import as it is. */
export function importModule<T>(address: string): Promise<T> {
  return import(/* webpackIgnore: true */ /* @vite-ignore */ address) as Promise<T>;
}

/** A built-in module of Node, on every version. */
export async function importBuiltin<T>(name: string): Promise<T> {
  return hostModule<T>(name) ?? importModule<T>(name);
}

/** Makes `hostModule` work on the Nodes that have no call for it; awaited before the first engine. */
export async function prepareHost(): Promise<void> {
  const found = host();
  if (required || found?.getBuiltinModule || !found?.versions?.node) return;
  const { createRequire } = await importBuiltin<typeof import("node:module")>("node:module");
  required = createRequire(import.meta.url);
}
