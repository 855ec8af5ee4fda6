// Calls across a worker. One generic protocol serves every object of the interface: an object that
// lives in the worker is a number here, its methods are messages, and what a method returns is
// either data (copied or transferred) or another such object. Which is which, and what becomes of
// arguments, stands in the table of protocol.ts.
import { checkTable, isObject } from "./check.js";
import {
  cancelled,
  disposed,
  fromPlainError,
  messageOf,
  SconceError,
  SconcePanic,
  toPlainError,
  type PlainError,
} from "./errors.js";
import { membersOf, methodOf, optionsPlace, type Member } from "./protocol.js";
import { argumentsOf, DATA, OBJECT, proxies, withObjects } from "./rpc_arguments.js";
import { halvesOf, piecesOf } from "./rpc_stream.js";
import { writeAll } from "./sink.js";
import { isArrayBuffer } from "./tags.js";
import type { Phase } from "./steps.gen.js";
import type { CallOptions, Sink } from "./types.js";

export type Request =
  | {
      type: "call";
      id: number;
      object: number;
      method: string;
      args: unknown[];
      progress: boolean;
      optionsAt: number;
    }
  | { type: "dispose"; object: number };

export type Reply =
  | { type: "starting" }
  | { type: "result"; id: number; value: unknown }
  | {
      type: "object";
      id: number;
      object: number;
      description: Description;
    }
  | { type: "error"; id: number; error: PlainError }
  | { type: "progress"; id: number; phase: Phase; done: number; total: number }
  | { type: "log"; severity: "note" | "warning" | "error"; text: string };

/** An object as the other end sees it: which rows of the protocol are its own, and its data. */
export interface Description {
  kind: string;
  properties: Record<string, unknown>;
}

/** The two ends that messages go through: a worker from outside, the global scope from inside. */
export interface Port {
  postMessage(message: unknown, transfer: Transferable[]): void;
}

// --- The worker's end ------------------------------------------------------------------------------

type Target = Record<string, unknown> & { dispose?(): void };

interface Served {
  kind: string;
  target: Target;
}

function describe({ kind, target }: Served): Description {
  const names = Object.entries(membersOf(kind)).filter(([, member]) => member.is === "property");
  return { kind, properties: Object.fromEntries(names.map(([name]) => [name, target[name]])) };
}

/** Buffers of what is sent away, so that tensors move instead of being copied. */
function transferables(value: unknown, found: Set<Transferable> = new Set()): Transferable[] {
  if (ArrayBuffer.isView(value)) {
    if (isArrayBuffer(value.buffer) && value.byteLength === value.buffer.byteLength)
      found.add(value.buffer);
  } else if (Array.isArray(value)) for (const item of value) transferables(item, found);
  else if (
    typeof value === "object" &&
    value !== null &&
    Object.getPrototypeOf(value) === Object.prototype
  ) {
    for (const item of Object.values(value)) transferables(item, found);
  }
  return [...found];
}

/** Serves `root` (object 0), of the kind of that name, and everything its methods return. */
export class Server {
  private readonly objects = new Map<number, Served>();
  private next = 1;

  constructor(
    private readonly port: Port,
    root: object,
    kind: string,
  ) {
    this.objects.set(0, { kind, target: root as Target });
  }

  describeRoot(): Description {
    return describe(this.objects.get(0)!);
  }

  async handle(request: Request): Promise<void> {
    if (request.type === "dispose") this.dispose(request.object);
    else if (request.type === "call") {
      try {
        await this.answer(request);
      } catch (error) {
        this.send({ type: "error", id: request.id, error: toPlainError(error) });
      }
    }
  }

  /** Nobody waits for it: what a backend throws when its part ends is logged. */
  private dispose(object: number): void {
    const served = this.objects.get(object);
    this.objects.delete(object);
    try {
      served?.target.dispose?.();
    } catch (error) {
      this.send({ type: "log", severity: "warning", text: messageOf(error) });
    }
  }

  /** An object of ours for each mark of one, alone or in a map. */
  private found(arg: unknown): unknown {
    if (!isObject(arg)) return arg;
    const number = arg[OBJECT];
    if (typeof number !== "number")
      return Object.fromEntries(Object.entries(arg).map(([key, item]) => [key, this.found(item)]));
    return this.object(number);
  }

  private object(number: number): Target {
    const served = this.objects.get(number);
    if (!served) throw disposed("object");
    return served.target;
  }

  private call({ kind, target }: Served, request: Extract<Request, { type: "call" }>): unknown {
    const { object } = methodOf(kind, request.method);
    const given = request.args.map((arg, i) => (i === object ? this.found(arg) : arg));
    const args = withObjects(kind, request.method, given, (number) => this.object(number));
    if (request.optionsAt >= 0) {
      args[request.optionsAt] = {
        ...(args[request.optionsAt] as object),
        ...this.listening(request),
      };
    }
    const member = target[request.method];
    return typeof member === "function"
      ? (member as (...a: unknown[]) => unknown).apply(target, args)
      : member;
  }

  private listening(request: Extract<Request, { type: "call" }>): CallOptions {
    if (!request.progress) return {};
    let last = 0;
    let told = "";
    return {
      onProgress: ({ phase, done, total }) => {
        // Sixty messages a second are as many as anyone can see; no phase goes untold.
        const now = performance.now();
        if (now - last < 16 && done !== total && phase === told) return;
        [last, told] = [now, phase];
        this.send({ type: "progress", id: request.id, phase, done, total });
      },
    };
  }

  private async answer(request: Extract<Request, { type: "call" }>): Promise<void> {
    const served = this.objects.get(request.object);
    if (!served) throw disposed("object");
    const value = await this.call(served, request);
    const { id } = request;
    const { gives: kind } = methodOf(served.kind, request.method);
    if (kind === "data") {
      this.send({ type: "result", id, value }, transferables(value));
      return;
    }
    const object = this.next++;
    const made = { kind, target: value as Target };
    this.objects.set(object, made);
    this.send({ type: "object", id, object, description: describe(made) });
  }

  send(reply: Reply, transfer: Transferable[] = []): void {
    this.port.postMessage(reply, transfer);
  }
}

// --- The caller's end ------------------------------------------------------------------------------

interface Pending {
  resolve(value: unknown): void;
  reject(error: Error): void;
  onProgress: CallOptions["onProgress"] | undefined;
  stop(): void;
}

/** Sends calls and turns the replies into promises and proxies. */
export class Caller {
  private readonly pending = new Map<number, Pending>();
  private next = 1;
  private dead: SconcePanic | undefined;
  private readonly forgotten: FinalizationRegistry<number> | undefined;

  constructor(
    private readonly port: Port,
    private readonly onLog: (severity: "note" | "warning" | "error", text: string) => void,
    private readonly onBusy: (isBusy: boolean) => void,
  ) {
    if (typeof FinalizationRegistry !== "undefined") {
      this.forgotten = new FinalizationRegistry((object) => this.dispose(object));
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
    this.onBusy(false);
  }

  private settle(id: number): void {
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
    if (signal?.aborted) throw cancelled();
    const id = this.next++;
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.settle(id);
        reject(cancelled());
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      const stop = (): void => signal?.removeEventListener("abort", onAbort);
      this.onBusy(true);
      this.pending.set(id, { resolve, reject, onProgress, stop });
      const request: Request = {
        type: "call",
        id,
        object,
        method,
        args: sent,
        progress: onProgress !== undefined,
        optionsAt: optionsAt < args.length ? optionsAt : -1,
      };
      try {
        this.port.postMessage(request, transfer);
      } catch (error) {
        this.settle(id);
        stop();
        const why = messageOf(error);
        reject(
          new SconceError(
            "argument",
            `${method}() cannot reach the worker: ${why}`,
            `Pass ${DATA}.`,
          ),
        );
      }
    });
  }

  dispose(object: number): void {
    if (!this.dead) this.port.postMessage({ type: "dispose", object } satisfies Request, []);
  }

  receive(reply: Reply): void {
    if (reply.type === "starting") return;
    if (reply.type === "log") {
      this.onLog(reply.severity, reply.text);
      return;
    }
    const call = this.pending.get(reply.id);
    if (!call) {
      // Nobody is waiting any more: the call was cancelled. What it made must still go.
      if (reply.type === "object") this.dispose(reply.object);
      return;
    }
    if (reply.type === "progress") {
      try {
        call.onProgress?.({ phase: reply.phase, done: reply.done, total: reply.total });
      } catch (error) {
        // What the listener throws fails its call, as it does in the engine.
        this.settle(reply.id);
        call.stop();
        call.reject(error instanceof Error ? error : new Error(String(error)));
      }
      return;
    }
    this.settle(reply.id);
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
    let isDisposed = false;
    const call = async (name: string, args: readonly unknown[]): Promise<unknown> => {
      if (isDisposed) throw disposed(kind);
      const optionsAt = optionsPlace(kind, name, args);
      const { signal, onProgress } = (args[optionsAt] ?? {}) as CallOptions;
      const calling = { owner: this, signal, onProgress, onLog: this.onLog };
      const found = argumentsOf(kind, name, args, calling);
      const sent = found instanceof Promise ? await found : found;
      return this.call(object, name, sent.args, optionsAt, sent.transfer);
    };
    for (const [name, member] of Object.entries(membersOf(kind)))
      addMember(result, name, member, call);
    result["dispose"] = (): Promise<void> => {
      if (!isDisposed) this.dispose(object);
      isDisposed = true;
      this.forgotten?.unregister(result);
      return Promise.resolve();
    };
    if (object !== 0) this.forgotten?.register(result, object, result);
    return result;
  }
}

type Call = (name: string, args: readonly unknown[]) => Promise<unknown>;

function addMember(
  target: Record<string, unknown>,
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
