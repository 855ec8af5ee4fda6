// The script of a thread: the one that clients start, too. Its first message tells it which it is.
import { hostModule, isBun, isNode } from "../base/host.js";
import { hasFileSystem, here, locateAsset, nextToScript } from "../locate.js";
import type { Host } from "../types/host.js";

type NodeThreads = typeof import("node:worker_threads");

/** The script that runs now, if it is the worker's: its name may be a bundler's. */
let running: string | undefined;

/** Says that this script is the worker's. */
export function isThreadScript(): void {
  running = (globalThis as { location?: { href?: string } }).location?.href ?? here;
  // The address of a blob is gone by the time that another worker wants it.
  if (running?.startsWith("blob:")) running = here;
}

/** A worker that runs the script, as far as threads need it. */
export interface ThreadWorker {
  postMessage(message: unknown): void;
  terminate(): unknown;
}

/** The address of the script where this host reads files. */
function inFiles(file: string): string {
  const address = hasFileSystem() ? locateAsset(file, nextToScript(file)) : undefined;
  if (address === undefined) throw new Error(`${file} is not next to this program`);
  return address;
}

function ofNode(file: string, failed: (why: string) => void): ThreadWorker {
  const { Worker: Thread } = hostModule<NodeThreads>("node:worker_threads")!;
  const worker = new Thread(new URL(inFiles(file)));
  worker.on("error", (error) => failed(String(error)));
  // The process may end while threads wait for work.
  worker.unref();
  return worker;
}

function ofWeb(address: string, failed: (why: string) => void): ThreadWorker {
  const worker: Host<"Worker"> & { unref?(): void } = new Worker(address, { type: "module" });
  worker.onerror = (event) => failed(event.message || `${address} cannot be loaded`);
  worker.unref?.();
  return worker;
}

/**
 * Starts this script of the package for one thread, and calls `failed` if it breaks later.
 * @throws Error if this host does not start it.
 */
export function startScript(file: string, failed: (why: string) => void): ThreadWorker {
  // Threads of Bun do not get the messages of node:worker_threads where scripts for pages listen.
  if (isBun()) return ofWeb(inFiles(file), failed);
  if (isNode()) return ofNode(file, failed);
  return ofWeb(running ?? nextToScript(file) ?? file, failed);
}
