// The page's end of the worker for large arrays. It is started when it is first needed, and ended
// when what it does is no longer wanted.
import { SconcePanic } from "@sconce/errors.js";
import { Caller, type Reply } from "@sconce/rpc.js";
import type { Arrays } from "../arrays.worker.js";
import { isCancelled } from "./engine.js";

interface Connection {
  worker: Worker;
  caller: Caller;
}

let current: Connection | undefined;

function connect(): Connection {
  const worker = new Worker(new URL("../arrays.worker.ts", import.meta.url), { type: "module" });
  const caller = new Caller(
    worker,
    () => undefined,
    () => undefined,
  );
  worker.onmessage = (event: MessageEvent<Reply>) => caller.receive(event.data);
  worker.onerror = () => {
    stop();
    caller.fail(new SconcePanic("the worker for inputs and results ended"));
  };
  return { worker, caller };
}

function stop(): void {
  current?.worker.terminate();
  current = undefined;
}

/** Calls one of the worker's functions. */
export async function ask<K extends keyof Arrays>(
  name: K,
  args: Parameters<Arrays[K]>,
  signal: AbortSignal = new AbortController().signal,
): Promise<Awaited<ReturnType<Arrays[K]>>> {
  current ??= connect();
  try {
    const { caller } = current;
    return (await caller.call(0, name, [...args, { signal }], args.length)) as Awaited<
      ReturnType<Arrays[K]>
    >;
  } catch (error) {
    if (isCancelled(error)) stop();
    throw error;
  }
}
