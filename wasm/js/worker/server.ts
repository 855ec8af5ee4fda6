// The worker's end of calls: it owns the objects, and answers what is asked of them by number.
import { isObject } from "../base/check.js";
import { cancelled, disposed, messageOf, toPlainError } from "../base/errors.js";
import { callsAmong, membersOf, methodOf } from "../call/protocol.js";
import { OBJECT, withObjects } from "./arguments.js";
import { Puller } from "./iterables.js";
import { nextTurn } from "../sink/write.js";
import { RemoteSignal } from "./stop.js";
import { isArrayBuffer } from "../base/tags.js";
import type { CallOptions } from "../types/index.js";
import type { CallRequest, Description, Port, Reply, Request } from "./messages.js";

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
  /** The signals of calls that wait or are under way. */
  private readonly signals = new Map<number, RemoteSignal>();
  /** Until the last request that came has begun. */
  private begun: Promise<void> = Promise.resolve();
  private readonly puller = new Puller((pull) => this.send(pull));

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

  /** Requests begin in the order in which they come; what is asynchronous goes on meanwhile. */
  async handle(request: Request): Promise<void> {
    if (request.type === "cancel") this.signals.get(request.id)?.abort();
    else if (request.type === "pulled") this.puller.receive(request);
    else {
      if (request.type === "call" && request.stop)
        this.signals.set(request.id, new RemoteSignal(request.stop));
      let done: Promise<void> | undefined;
      this.begun = this.begun.then(async () => {
        if (request.type === "call") {
          await this.mayHear(request.id);
          done = this.perform(request);
        } else if (request.type === "dispose") this.dispose(request.object);
      });
      await this.begun;
      await done;
    }
  }

  /** Lets a message come that cancels a call which has waited, if no other means reports it. */
  private async mayHear(id: number): Promise<void> {
    const signal = this.signals.get(id);
    if (signal && !signal.isShared) await nextTurn();
  }

  private async perform(request: CallRequest): Promise<void> {
    try {
      await this.answer(request);
    } catch (error) {
      this.send({ type: "error", id: request.id, error: toPlainError(error) });
    } finally {
      this.signals.delete(request.id);
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

  private call({ kind, target }: Served, request: CallRequest): unknown {
    const { object } = methodOf(kind, request.method);
    const given = request.args.map((arg, i) => (i === object ? this.found(arg) : arg));
    const args = withObjects(kind, request.method, given, (number) => this.object(number));
    if (request.optionsAt >= 0) {
      const options = (args[request.optionsAt] ?? {}) as Record<string, unknown>;
      const streamed = callsAmong(kind, request.method).filter((name) => name in options);
      const calls = streamed.map((name) => [name, this.puller.unmarked(options[name])] as const);
      args[request.optionsAt] = {
        ...options,
        ...Object.fromEntries(calls),
        ...this.listening(request),
      };
    }
    const member = target[request.method];
    return typeof member === "function"
      ? (member as (...a: unknown[]) => unknown).apply(target, args)
      : member;
  }

  private listening(request: CallRequest): CallOptions {
    const signal = this.signals.get(request.id) as AbortSignal | undefined;
    const cancelling = signal ? { signal } : {};
    if (!request.progress) return cancelling;
    let last = 0;
    let reported = "";
    return {
      ...cancelling,
      onProgress: ({ phase, done, total }) => {
        // Sixty messages a second are as many as anyone can see; no phase goes untold.
        const now = performance.now();
        if (now - last < 16 && done !== total && phase === reported) return;
        [last, reported] = [now, phase];
        this.send({ type: "progress", id: request.id, phase, done, total });
      },
    };
  }

  private async answer(request: CallRequest): Promise<void> {
    if (this.signals.get(request.id)?.aborted) throw cancelled();
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
    const description = describe(made);
    this.objects.set(object, made);
    this.send({ type: "object", id, object, description });
  }

  send(reply: Reply, transfer: Transferable[] = []): void {
    this.port.postMessage(reply, transfer);
  }
}
