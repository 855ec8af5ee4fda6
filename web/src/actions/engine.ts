// The engine behind its worker: started once, thrown away when work must stop at once, and then
// replaced.
import { createClient, type Client } from "@sconce/worker/client.js";
import { SconceError, SconcePanic } from "@sconce/base/errors.js";
import type { Meta } from "@sconce/types/index.js";
import { app } from "../state.js";
import { note } from "./problems.js";

const PATIENCE_MS = 300;

let current: Promise<Client> | undefined;
/** What dies with the engine. */
const listeners = new Set<() => void>();

async function start(): Promise<Client> {
  app.engine.value = { status: "starting", version: "" };
  const begin = performance.now();
  try {
    const client = await createClient({
      onLog: (severity, text) => note(`${severity}: ${text}`),
    });
    const meta: Meta = await client.meta();
    app.dtypes.value = new Map(meta.dtypes.map((dtype) => [dtype.name, dtype.short]));
    app.families.value = new Map(
      meta.ops.flatMap(({ name, out, family }) => [
        [name, family] as const,
        [out, family] as const,
      ]),
    );
    app.backends.value = meta.backends;
    app.meta.value = meta;
    app.engine.value = { status: "ready", version: client.version };
    note(`engine ${client.version} ready in ${(performance.now() - begin).toFixed(0)} ms`);
    return client;
  } catch (error) {
    current = undefined;
    app.engine.value = { status: "failed", version: "" };
    throw error;
  }
}

export function engine(): Promise<Client> {
  return (current ??= start());
}

/** Calls back when the engine is thrown away, and all handles with it. */
export function onEngineLost(listener: () => void): void {
  listeners.add(listener);
}

/** Ends whatever the worker is doing; the next call gets a new one. */
function stopEngine(): void {
  const old = current;
  current = undefined;
  for (const listener of listeners) listener();
  old?.then(
    (client) => client.terminate(),
    () => undefined,
  );
}

/** A worker that is about to finish keeps what it holds; one that is busy for long is ended. */
export async function freeEngine(): Promise<void> {
  const old = current;
  const answer = old?.then((client) => client.capabilities());
  const isFree = await Promise.race([
    answer?.then(
      () => true,
      () => false,
    ),
    new Promise<boolean>((resolve) => setTimeout(() => resolve(false), PATIENCE_MS)),
  ]);
  if (!isFree && current === old) stopEngine();
}

/** A broken engine answers nothing more: the next call must get a new one. */
export function forgetIfBroken(error: unknown): void {
  if (error instanceof SconcePanic) stopEngine();
}

export function isCancelled(error: unknown): boolean {
  return error instanceof SconceError && (error.code === "cancelled" || error.code === "disposed");
}
