// Arguments of calls to a worker: checked, and as they are sent there. Sources that take time to be read
// are read on this side first, where streams and relative addresses belong.
import { checkTable, isObject, isPlain } from "../base/check.js";
import { SconceError } from "../base/errors.js";
import { isPage } from "../base/host.js";
import { filesAmong, methodOf, optionsPlace } from "../call/protocol.js";
import { absoluteUrl } from "../source/address.js";
import { syncReader } from "../source/blob.js";
import { Gathering } from "../source/gather.js";
import {
  isFileRef,
  isLowered,
  isOpenFile,
  isPlace,
  isPromise,
  isSource,
  isUrlRef,
  SOURCES,
  waitedName,
} from "../source/kinds.js";
import { isBlob } from "../base/tags.js";
import type { EngineOptions, ProgressListener, Source } from "../types/index.js";

/** The values that may be passed. */
export const DATA = `plain data; of sources, ${SOURCES.replace(/, or an object.*/, "")}`;

/** A RandomAccess would arrive without its methods, or not at all. */
function refuseFunctions(what: string, value: unknown, depth = 0): void {
  if (isPromise(value))
    throw new SconceError(
      "argument",
      `${what} got a promise`,
      "Await the promise, and pass its result.",
    );
  if (typeof value === "function" || (isObject(value) && typeof value["read"] === "function"))
    throw new SconceError(
      "argument",
      `${what} got an object with functions, which cannot be sent to the worker`,
      `Pass ${DATA}, or use createEngine().`,
    );
  if (isObject(value) && depth < 3 && !ArrayBuffer.isView(value))
    for (const item of Object.values(value)) refuseFunctions(what, item, depth + 1);
}

// --- Objects of the worker ---------------------------------------------------------------------------

/** Stands for an object of the worker in what is sent there. */
export const OBJECT = "$object";

/** The owner of each proxy, and its object's number in the worker. */
export const proxies = new WeakMap<object, { readonly owner: object; readonly number: number }>();

/** The mark of an object of this caller's worker. */
function markOf(value: unknown, owner: object): { [OBJECT]: number } | undefined {
  const found = isObject(value) ? proxies.get(value) : undefined;
  return found?.owner === owner ? { [OBJECT]: found.number } : undefined;
}

/** An object of the worker, or a map of such, as it is sent. */
function marked(value: unknown, owner: object, depth = 0): unknown {
  if (!isObject(value)) return value;
  const mark = markOf(value, owner);
  if (mark) return mark;
  if (!isPlain(value) || depth > 0) return null;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, marked(item, owner, 1)]),
  );
}

// --- Sources -------------------------------------------------------------------------------------------

/** Web workers read Blobs in slices, and addresses in ranges. Those of other hosts do neither. */
const isInPage = (): boolean => isPage() || syncReader() !== undefined;

const isCrossing = (value: Source): boolean =>
  !isPlace(value) &&
  !isUrlRef(value) &&
  !isLowered(value) &&
  !isOpenFile(value) &&
  waitedName(value) === undefined &&
  !(isFileRef(value) && typeof value.path !== "string") &&
  !(isBlob(value) && !isInPage());

/** The caller of a method, with the call's own options. */
export interface Calling {
  readonly owner: object;
  readonly signal: AbortSignal | undefined;
  readonly onProgress: ProgressListener | undefined;
  readonly onLog: NonNullable<EngineOptions["onLog"]>;
}

/** Arguments as they are sent, with the memory that moves. */
export interface Sent {
  readonly args: unknown[];
  readonly transfer: ArrayBuffer[];
}

/** Makes something of a source's place in a call; `what` names it, and `method` is its method. */
type Visit = (value: unknown, what: string, method?: string) => unknown;

/** Calls whose files have fixed names. In others the names are those of methods. */
const NAMED = ["inspector", "compare"];

const mapped = (record: Record<string, unknown>, map: (item: unknown, key: string) => unknown) =>
  Object.fromEntries(Object.entries(record).map(([key, item]) => [key, map(item, key)]));

/** A source, or a plain object of sources. */
function visitFiles(value: unknown, name: string, visit: Visit): unknown {
  if (isSource(value) || !isPlain(value) || proxies.has(value) || OBJECT in value)
    return visit(value, `the source of ${name}()`);
  return mapped(value, (item, key) =>
    NAMED.includes(name)
      ? visit(item, `'${key}' of ${name}()`)
      : visit(item, `the source of method '${key}'`, key),
  );
}

/** The arguments of a call with something else in the places of sources. */
function withSources(
  kind: string,
  name: string,
  args: readonly unknown[],
  visit: Visit,
): unknown[] {
  const { source, files, options = {} } = methodOf(kind, name);
  const at = optionsPlace(kind, name, args);
  const lists = filesAmong(options);
  return args.map((arg, i) => {
    if (i === source) return visit(arg, `the source of ${name}()`);
    if (i === files) return visitFiles(arg, name, visit);
    if (i !== at || !isObject(arg)) return arg;
    return mapped(arg, (item, key) =>
      lists.includes(key) && Array.isArray(item)
        ? item.map((file, k) => visit(file, `${key}[${k}] of ${name}()`))
        : item,
    );
  });
}

/** Arguments with the objects of a worker in the places of their marks. */
export function withObjects(
  kind: string,
  name: string,
  args: readonly unknown[],
  find: (number: number) => unknown,
): unknown[] {
  return withSources(kind, name, args, (value) => {
    const number = isObject(value) ? value[OBJECT] : undefined;
    return typeof number === "number" ? find(number) : value;
  });
}

function moduleAddress(value: unknown): unknown {
  if (isPlace(value)) return { url: absoluteUrl(String(value)) };
  return isUrlRef(value) ? { url: absoluteUrl(String(value.url)) } : value;
}

/** Stands for a source until that was read. */
class Waiting {
  constructor(
    readonly value: Source,
    readonly what: string,
    readonly method: string,
  ) {}
}

/** A call on its way to a worker. */
class Crossing {
  private readonly waiting: Waiting[] = [];
  private readonly args: unknown[];

  constructor(
    private readonly kind: string,
    private readonly name: string,
    given: readonly unknown[],
    private readonly calling: Calling,
  ) {
    const { object, module, source, files, options = {} } = methodOf(kind, name);
    const at = optionsPlace(kind, name, given);
    if (at >= 0) checkTable(`${name}()`, given[at], options);
    const args = given.map((arg, i) => {
      if (i === object) return marked(arg, calling.owner);
      return i === module ? moduleAddress(arg) : arg;
    });
    this.args = withSources(kind, name, args, (...place) => this.first(...place));
    this.args.forEach((arg, i) => {
      if (![at, object, source, files].includes(i)) refuseFunctions(`${name}()`, arg);
    });
  }

  /** A source as it crosses, or a place for one that takes time to be read. */
  private first(value: unknown, what: string, method = ""): unknown {
    const mark = markOf(value, this.calling.owner);
    if (mark) return mark;
    if (isSource(value) && !isCrossing(value)) {
      const waiting = new Waiting(value, what, method);
      this.waiting.push(waiting);
      return waiting;
    }
    refuseFunctions(`${this.name}()`, value);
    return value;
  }

  sent(): Sent | Promise<Sent> {
    return this.waiting.length > 0 ? this.gather() : { args: this.args, transfer: [] };
  }

  private async gather(): Promise<Sent> {
    const { signal, onProgress, onLog, owner } = this.calling;
    const inPage = isInPage();
    const { peeks = false } = methodOf(this.kind, this.name);
    const reader = { isRemote: true, takesBlob: inPage, takesRanges: inPage && peeks };
    const gathering = new Gathering({ signal, onProgress, onLog }, reader);
    const found = new Map<unknown, unknown>();
    const read = async (waiting: Waiting): Promise<void> => {
      const { value, what, method } = waiting;
      try {
        // A promise may be that of a program which is in the worker.
        const given: unknown = isPromise(value) ? await value : value;
        found.set(waiting, markOf(given, owner) ?? (await gathering.source(given as Source, what)));
      } catch (error) {
        throw error instanceof SconceError ? error.ofMethod(method) : error;
      }
    };
    await gathering.run(() => Promise.all(this.waiting.map(read)));
    const args = withSources(this.kind, this.name, this.args, (value) =>
      found.has(value) ? found.get(value) : value,
    );
    return { args, transfer: gathering.owned };
  }
}

/**
 * Checks what a call takes with it, and gives it as it is sent: at once if possible, so that calls
 * arrive in the order in which they were made.
 */
export const argumentsOf = (
  kind: string,
  name: string,
  args: readonly unknown[],
  calling: Calling,
): Sent | Promise<Sent> => new Crossing(kind, name, args, calling).sent();
