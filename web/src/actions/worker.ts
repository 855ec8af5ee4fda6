// The page's end of a worker of its own. It is started when it is first needed, and ended when what
// it does is no longer wanted.
import { SconcePanic } from "@sconce/base/errors.js";
import type { Reply } from "@sconce/worker/messages.js";
import { Caller } from "@sconce/worker/caller.js";
import { isCancelled } from "./engine.js";

interface Connection {
  worker: Worker;
  caller: Caller;
}

type Functions<T> = { [K in keyof T]: T[K] extends (...args: infer A) => infer R ? [A, R] : never };

/** Calls functions of a worker, by name. */
export type Ask<T> = <K extends keyof T & string>(
  name: K,
  args: Functions<T>[K][0],
  signal?: AbortSignal,
) => Promise<Awaited<Functions<T>[K][1]>>;

export interface WorkerEnd<T> {
  ask: Ask<T>;
  isStarted(): boolean;
}

/**
 * The worker that `start` gives; `what` says what it is for, when it breaks. `onEnd` hears that one
 * has ended, with all that it knew.
 */
export function workerEnd<T>(
  start: () => Worker,
  what: string,
  onEnd: () => void = () => undefined,
): WorkerEnd<T> {
  let current: Connection | undefined;
  const stop = (): void => {
    current?.worker.terminate();
    current = undefined;
    onEnd();
  };
  const connect = (): Connection => {
    const worker = start();
    const ignore = (): void => undefined;
    const caller = new Caller(worker, ignore, ignore);
    worker.onmessage = (event: MessageEvent<Reply>) => caller.receive(event.data);
    worker.onerror = () => {
      stop();
      caller.fail(new SconcePanic(`the worker for ${what} ended`));
    };
    return { worker, caller };
  };
  return {
    isStarted: () => current !== undefined,
    async ask(name, args, signal = new AbortController().signal) {
      const { caller } = (current ??= connect());
      const all = args as unknown[];
      try {
        return (await caller.call(0, name, [...all, { signal }], all.length)) as never;
      } catch (error) {
        if (isCancelled(error)) stop();
        throw error;
      }
    },
  };
}
