// The caller's end: it sends calls, and makes promises and proxies of the replies.
import { whenAborted } from "../base/abort.js";
import { checkTable, isObject, isPlain, KINDS } from "../base/check.js";
import { ASYNC_DISPOSE } from "../base/dispose.js";
import {
  cancelled,
  disposed,
  fromPlainError,
  messageOf,
  SconceError,
  SconcePanic,
  withCause,
} from "../base/errors.js";
import { callsAmong, membersOf, optionsPlace, type Member } from "../call/protocol.js";
import { argumentsOf, DATA, proxies } from "./arguments.js";
import { Streams, type Pull, type Pulled } from "./iterables.js";
import { halvesOf, piecesOf } from "./pieces.js";
import { whole } from "./whole.js";
import { showAs } from "../base/shown.js";
import { writeAll } from "../sink/write.js";
import { Stopper } from "./stop.js";
import type { CallOptions, Sink } from "../types/index.js";
import { Undisposed } from "../base/undisposed.js";
import type { Description, Port, Reply, Request } from "./messages.js";

interface Pending {
  resolve(value: unknown): void;
  reject(error: Error): void;
  onProgress: CallOptions["onProgress"] | undefined;
  /** Lets go of the signal. */
  stop(): void;
  /** Stops what the worker is at. */
  cancel(): void;
}

/** A time in which one request has all of the caller. */
interface Lease {
  readonly signal: AbortSignal | undefined;
  /** Disposes of what was made in it, each. */
  readonly made: Set<() => unknown>;
  isOver: boolean;
}

/** Stores of user interfaces wrap objects, which the engine reads and a message does not. */
const PROXY_HINT =
  "Pass plain data. Unwrap an object of a reactive store first: toRaw() of Vue, $state.snapshot() of Svelte.";

const FUNCTION_HINT =
  "Functions stay on this thread. Put them into a module, and bring it with importPasses(), importOperators(), importPartitioners() or importMemoryPlanners().";

/** True if there is a function in it, at most that deep. */
const hasFunction = (value: unknown, depth = 6): boolean =>
  KINDS.function.test(value) ||
  (depth > 0 &&
    (Array.isArray(value) || isPlain(value)) &&
    Object.values(value).some((item) => hasFunction(item, depth - 1)));

function hintFor(args: readonly unknown[], why: string): string {
  if (!/clone/.test(why)) return `Pass ${DATA}.`;
  return hasFunction(args) ? FUNCTION_HINT : PROXY_HINT;
}

/** The error of using what was lent when the lease is over. */
const afterLease = (): SconceError =>
  new SconceError(
    "disposed",
    "this object was made in a use() of the pool, which has ended",
    "Work with it inside of use(), and return plain data.",
  );

/** Sends calls and turns the replies into promises and proxies. */
export class Caller {
  private readonly pending = new Map<number, Pending>();
  private next = 1;
  private dead: SconcePanic | undefined;
  private lease: Lease | undefined;
  private readonly forgotten: FinalizationRegistry<number> | undefined;
  private readonly undisposed = new Undisposed();
  private readonly streams = new Streams();
  /** Streams that objects of the worker may still ask for. */
  private readonly streamsOf = new Map<number, readonly number[]>();

  constructor(
    private readonly port: Port,
    private readonly onLog: (severity: "note" | "warning" | "error", text: string) => void,
    private readonly onBusy: (isBusy: boolean) => void,
  ) {
    if (typeof FinalizationRegistry !== "undefined") {
      this.forgotten = new FinalizationRegistry((object) => {
        this.undisposed.gone();
        this.dispose(object);
      });
    }
  }

  /** Rejects everything under way: the worker is gone or its engine broke. */
  fail(error: SconcePanic): void {
    this.dead ??= error;
    for (const call of this.pending.values()) {
      call.stop();
      call.reject(error);
    }
    this.pending.clear();
    this.streams.end();
    this.onBusy(false);
  }

  get isDead(): boolean {
    return this.dead !== undefined;
  }

  /** From here on the signal cancels every call, too, until what is returned is called. */
  lend(signal: AbortSignal | undefined): () => void {
    const lease: Lease = { signal, made: new Set(), isOver: false };
    this.lease = lease;
    return () => {
      lease.isOver = true;
      if (this.lease === lease) this.lease = undefined;
      for (const [id, call] of [...this.pending]) {
        this.finish(id);
        call.stop();
        call.cancel();
        call.reject(afterLease());
      }
      for (const dispose of [...lease.made]) dispose();
    };
  }

  private finish(id: number): void {
    this.pending.delete(id);
    if (this.pending.size === 0) this.onBusy(false);
  }

  /** Calls a method whose options, if it takes any, are argument number `optionsAt`. */
  async call(
    object: number,
    method: string,
    args: readonly unknown[],
    optionsAt: number,
    transfer: ArrayBuffer[] = [],
  ): Promise<unknown> {
    if (this.dead) throw this.dead;
    const { signal, onProgress, ...options } = (args[optionsAt] ?? {}) as CallOptions;
    const sent = args.map((arg, i) => (i === optionsAt ? options : arg));
    const signals = [signal, this.lease?.signal].filter((one) => one !== undefined);
    const aborted = signals.find((one) => one.aborted);
    if (aborted) throw cancelled(aborted);
    const id = this.next++;
    return new Promise((resolve, reject) => {
      // A listener that throws ends its call, too.
      const isStopped = optionsAt >= 0 && (signals.length > 0 || onProgress !== undefined);
      const stopper = isStopped ? new Stopper() : undefined;
      const cancel = (): void => {
        stopper?.raise();
        if (!this.dead) this.port.postMessage({ type: "cancel", id } satisfies Request, []);
      };
      const unlisten = whenAborted(signals, (one) => {
        this.finish(id);
        cancel();
        stop();
        reject(cancelled(one));
      });
      const stop = (): void => {
        unlisten();
        stopper?.end();
      };
      this.onBusy(true);
      this.pending.set(id, { resolve, reject, onProgress, stop, cancel });
      const request: Request = {
        type: "call",
        id,
        object,
        method,
        args: sent,
        progress: onProgress !== undefined,
        optionsAt: stopper || optionsAt < args.length ? optionsAt : -1,
        ...(stopper && { stop: stopper.stop }),
      };
      try {
        const copies = whole(request);
        this.port.postMessage(copies.value, [...transfer, ...copies.made]);
      } catch (error) {
        this.finish(id);
        stop();
        const why = messageOf(error);
        reject(
          new SconceError(
            "argument",
            `${method}() cannot reach the worker: ${why}`,
            hintFor(sent, why),
          ),
        );
      }
    });
  }

  /** A call with iterables among its options, which the worker asks for item by item. */
  private async streaming(
    kind: string,
    object: number,
    name: string,
    args: unknown[],
    optionsAt: number,
    transfer: ArrayBuffer[],
  ): Promise<unknown> {
    const options = (args[optionsAt] ?? {}) as Record<string, unknown>;
    const found = callsAmong(kind, name).filter((option) => options[option] !== undefined);
    const marks = found.map((option) => [option, this.streams.marked(options[option])] as const);
    const streams = marks.flatMap(([, mark]) => mark.streams);
    if (streams.length === 0) return this.call(object, name, args, optionsAt, transfer);
    const sent = Object.fromEntries(marks.map(([option, mark]) => [option, mark.sent]));
    const all = args.map((arg, i) => (i === optionsAt ? { ...options, ...sent } : arg));
    try {
      const made = await this.call(object, name, all, optionsAt, transfer);
      const number = isObject(made) ? proxies.get(made)?.number : undefined;
      if (number === undefined) this.streams.forget(streams);
      else this.streamsOf.set(number, streams);
      return made;
    } catch (error) {
      const cause = this.streams.causeOf(streams, error);
      this.streams.forget(streams);
      throw cause;
    }
  }

  dispose(object: number): void {
    this.streams.forget(this.streamsOf.get(object) ?? []);
    this.streamsOf.delete(object);
    if (!this.dead) this.port.postMessage({ type: "dispose", object } satisfies Request, []);
  }

  /** Sends an item of an iterable; the call fails for one that messages cannot hold. */
  private sendItem(pull: Pull, answer: Pulled): void {
    if (this.dead) return;
    try {
      const { value, made } = whole(answer);
      this.port.postMessage(value, made);
    } catch (error) {
      const why = new SconceError(
        "argument",
        `an item of an iterable cannot be sent to the worker: ${messageOf(error)}`,
        "Give numbers, text, typed arrays, and lists and plain objects of these.",
      );
      this.port.postMessage(this.streams.failed(pull, withCause(why, error)), []);
    }
  }

  receive(reply: Reply): void {
    if (reply.type === "starting") return;
    if (reply.type === "pull") {
      void this.streams.answer(reply).then((answer) => this.sendItem(reply, answer));
      return;
    }
    if (reply.type === "log") {
      this.onLog(reply.severity, reply.text);
      return;
    }
    const call = this.pending.get(reply.id);
    if (!call) {
      // Nobody is waiting any more: the call was cancelled. The object it made must still go.
      if (reply.type === "object") this.dispose(reply.object);
      return;
    }
    if (reply.type === "progress") {
      try {
        call.onProgress?.({ phase: reply.phase, done: reply.done, total: reply.total });
      } catch (error) {
        // An error of the listener fails its call, as it does in the engine.
        this.finish(reply.id);
        call.stop();
        call.cancel();
        call.reject(error instanceof Error ? error : new Error(String(error)));
      }
      return;
    }
    this.finish(reply.id);
    call.stop();
    if (reply.type === "result") call.resolve(reply.value);
    else if (reply.type === "object") call.resolve(this.proxy(reply.object, reply.description));
    else {
      const error = fromPlainError(reply.error);
      call.reject(error);
      if (error instanceof SconcePanic) this.fail(error);
    }
  }

  /** An object of the worker: its data is here, its methods and costly getters are calls. */
  proxy(object: number, { kind, properties }: Description): object {
    const result: Record<string, unknown> = { ...properties };
    proxies.set(result, { owner: this, number: object });
    Object.defineProperty(result, Symbol.toStringTag, { value: kind });
    const { lease } = this;
    let isDisposed = false;
    const call = async (name: string, args: readonly unknown[]): Promise<unknown> => {
      if (isDisposed) throw lease?.isOver ? afterLease() : disposed(kind);
      const optionsAt = optionsPlace(kind, name, args);
      const { signal, onProgress } = (args[optionsAt] ?? {}) as CallOptions;
      const calling = { owner: this, signal, onProgress, onLog: this.onLog };
      const found = argumentsOf(kind, name, args, calling);
      const sent = found instanceof Promise ? await found : found;
      if (isDisposed) throw lease?.isOver ? afterLease() : disposed(kind);
      return this.streaming(kind, object, name, sent.args, optionsAt, sent.transfer);
    };
    for (const [name, member] of Object.entries(membersOf(kind)))
      addMember(result, kind, name, member, call);
    const dispose = (): Promise<void> => {
      if (!isDisposed && object !== 0) this.dispose(object);
      isDisposed = true;
      lease?.made.delete(dispose);
      if (this.forgotten?.unregister(result)) this.undisposed.gone();
      return Promise.resolve();
    };
    showAs(result, object === 0 ? "Client" : `Remote ${kind}`, () =>
      isDisposed || this.dead ? { state: "disposed" } : properties,
    );
    result["dispose"] = dispose;
    Object.defineProperty(result, ASYNC_DISPOSE, { value: dispose, configurable: true });
    lease?.made.add(dispose);
    if (object !== 0 && this.forgotten) {
      this.forgotten.register(result, object, result);
      this.undisposed.made();
    }
    return result;
  }
}

type Call = (name: string, args: readonly unknown[]) => Promise<unknown>;

/** A member that a client does not have, and says so. */
const refusing = (kind: string, name: string, why: string, instead: string) => (): Promise<never> =>
  Promise.reject(
    new SconceError(
      "unsupported",
      `${name}() of ${kind} is not there in a client: ${why}`,
      instead,
    ),
  );

function addMember(
  target: Record<string, unknown>,
  kind: string,
  name: string,
  member: Member,
  call: Call,
): void {
  if (member.is === "method" && member.here)
    target[name] = async (...args: unknown[]) => {
      const { here, at = 0, options = {} } = member;
      checkTable(`${name}()`, args[at], options);
      const { asked, finish } = here!((args[at] ?? {}) as never);
      const sent = Array.from({ length: at + 1 }, (_, i) => (i === at ? asked : args[i]));
      return finish((await call(name, sent)) as never);
    };
  else if (member.is === "method") target[name] = (...args: unknown[]) => call(name, args);
  else if (member.is === "derived")
    target[name] = (...args: unknown[]) => member.make(target as never)(...(args as never));
  else if (member.is === "local" && member.why !== undefined)
    target[name] = refusing(kind, name, member.why, member.instead ?? "");
  else if (member.is === "getter")
    Object.defineProperty(target, name, { get: () => call(name, []), enumerable: false });
  else if (member.is === "stream")
    target[name] = async (sink: Sink, ...args: unknown[]) => {
      const at = member.at - 1;
      checkTable(`${name}()`, args[at], member.options);
      const { signal, onProgress, ...others } = (args[at] ?? {}) as CallOptions;
      const halves = halvesOf(onProgress, signal);
      const made = {
        ...others,
        ...(signal && { signal }),
        ...(onProgress && { onProgress: halves.first }),
      };
      // Sinks stay here: the file crosses as a Blob, whose weights are still slices of the source.
      const asked = Array.from({ length: at }, (_, i) => args[i]);
      const get = (): Promise<Blob> => call(member.of, [...asked, made]) as Promise<Blob>;
      await writeAll(piecesOf(get, halves.second), sink, signal);
    };
}
