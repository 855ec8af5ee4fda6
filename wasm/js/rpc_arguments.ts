// What callers pass to a worker: checked, and as it is sent there.
import { badArgument, checkTable, isObject, isPlain } from "./check.js";
import { filesAmong, methodOf, optionsPlace } from "./protocol.js";
import { absoluteUrl, SOURCES } from "./source.js";

/** What may be passed. */
export const DATA = `plain data; of sources, ${SOURCES.replace(/, or an object.*/, "")}`;

/** A RandomAccess would arrive without its methods, or not at all. */
function refuseFunctions(what: string, value: unknown, depth = 0): void {
  if (typeof value === "function" || (isObject(value) && typeof value["read"] === "function"))
    throw badArgument(`what the client passes to ${what}`, DATA, value);
  if (isObject(value) && depth < 3 && !ArrayBuffer.isView(value))
    for (const item of Object.values(value)) refuseFunctions(what, item, depth + 1);
}

/** Relative URLs mean those of the page, and would be the worker script's over there. */
function located(value: unknown, depth = 0): unknown {
  if (!isObject(value) || depth > 3 || ArrayBuffer.isView(value)) return value;
  if (typeof value["url"] === "string") return { url: absoluteUrl(value["url"]) };
  if (Array.isArray(value)) return value.map((item) => located(item, depth + 1));
  if (!isPlain(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, located(item, depth + 1)]),
  );
}

/** Stands for an object of the worker in what is sent there. */
export const OBJECT = "$object";

/** The numbers of proxies, which arguments may be. */
export const numbers = new WeakMap<object, number>();

/** An object of the worker, or a map of such, as it is sent. */
function marked(value: unknown, depth = 0): unknown {
  if (!isObject(value)) return value;
  const number = numbers.get(value);
  if (number !== undefined) return { [OBJECT]: number };
  if (!isPlain(value) || depth > 0) return null;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, marked(item, 1)]));
}

/** Checks what a call takes with it, and gives it as it is sent. */
export function argumentsOf(kind: string, name: string, args: readonly unknown[]): unknown[] {
  const { source, files, object, options = {} } = methodOf(kind, name);
  const at = optionsPlace(kind, name, args);
  if (at >= 0) checkTable(`${name}()`, args[at], options);
  return args.map((arg, i) => {
    if (i === object) return marked(arg);
    if (i !== at) refuseFunctions(`${name}()`, arg);
    if (i === source || i === files) return located(arg);
    if (i !== at || !isObject(arg)) return arg;
    const given = filesAmong(options).filter((file) => arg[file] !== undefined);
    for (const file of given) refuseFunctions(`${name}()`, arg[file]);
    return { ...arg, ...Object.fromEntries(given.map((file) => [file, located(arg[file])])) };
  });
}
