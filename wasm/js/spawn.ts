// Starts the worker's script: of a page, or of Node.
import type { Host } from "./types/host.js";
import { messageOf, SconceError } from "./base/errors.js";
import { hostModule, isBun, isNode, pageOrigin, prepareHost } from "./base/host.js";
import { nextToScript, hasFileSystem, here, isCached, locateAsset } from "./locate.js";

type Threads = typeof import("node:worker_threads");

/** The members of a Worker of node:worker_threads that are needed here. */
export interface NodeWorker {
  /** Sends a message to the worker, and moves the buffers that `transfer` lists. */
  postMessage(message: unknown, transfer?: never[]): void;
  /** Listens to the events "message", "messageerror", "error" and "exit". */
  on(event: string, listener: (...values: unknown[]) => void): unknown;
  /** Ends the worker at once. */
  terminate(): unknown;
  /** Keeps the process alive as long as the worker runs. */
  ref(): void;
  /** Lets the process end while the worker runs. */
  unref(): void;
}

/** A worker, and its script's address for messages. */
type Made = [worker: Host<"Worker"> | NodeWorker, address: string];

const FILE = "worker.js";
const OWN_WORKER = "the worker that 'worker' of createClient() made";
const HINT =
  "Serve worker.js and sconce.wasm of this package next to the script that asks for them, and let the " +
  "page's content policy allow the worker (worker-src); or pass 'worker' to createClient().";
const SCRIPT_HINT =
  "Build the script as an ES module (esbuild: --format=esm), or pass 'worker' to createClient().";
const ORIGIN_HINT =
  "Serve the worker's script from the page's own origin, or pass 'worker' to createClient().";

/** The error of a worker that does not become an engine. */
export function notStarted(address: string, why: string, hint = HINT): SconceError {
  return new SconceError("io", `${address} did not start: ${why}`, hint);
}

/** Do the scripts lie on another origin than the page? Bundlers may give them addresses of files. */
function isElsewhere(): boolean {
  const page = pageOrigin();
  if (page === undefined || here === undefined || !/^https?:/.test(here)) return false;
  return new URL(here).origin !== page;
}

/** A worker of this origin that imports the script from where it lies. */
function blobWorker(address: string): Host<"Worker"> {
  const script = new Blob([`import ${JSON.stringify(address)};`], { type: "text/javascript" });
  const url = URL.createObjectURL(script);
  const worker = new Worker(url, { type: "module" });
  // The script has been fetched once the worker says a word.
  worker.addEventListener("message", () => URL.revokeObjectURL(url), { once: true });
  return worker;
}

/** The script's address where Bun and Deno have it in a file: programs in one file leave it elsewhere. */
const inFiles = (): string | undefined =>
  here?.startsWith("file:") && hasFileSystem() ? locateAsset(FILE, nextToScript(FILE)) : undefined;

/** Advice for a worker that does not start. */
export function workerHint(): string {
  if (!isElsewhere()) return HINT;
  const { origin } = new URL(here!);
  return (
    `Let the page's content policy allow blob: and ${origin} in worker-src, and ${origin} in ` +
    "script-src and connect-src, and let that origin send Access-Control-Allow-Origin."
  );
}

const PLACE_HINT = "Put worker.js of this package next to the program, or pass 'worker'.";

function webWorker(): Made {
  if (here === undefined)
    throw notStarted(FILE, "this script does not know its own address", SCRIPT_HINT);
  const found = inFiles();
  // A program of Bun in one file takes its worker from the disk, too.
  if (isBun() && found === undefined)
    throw notStarted(FILE, "it is not next to this program", PLACE_HINT);
  const address = found ?? nextToScript(FILE) ?? FILE;
  try {
    if (isElsewhere()) return [blobWorker(address), address];
    if (isCached || found) return [new Worker(address, { type: "module" }), address];
    // Bundlers look for this expression, word for word, and ship the script for it.
    const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
    return [worker, address];
  } catch (error) {
    const isOrigin = error instanceof Error && error.name === "SecurityError";
    throw notStarted(address, messageOf(error), isOrigin ? ORIGIN_HINT : workerHint());
  }
}

function threadWorker({ Worker: Thread }: Threads): Made {
  const expected = nextToScript(FILE);
  const address = locateAsset(FILE, expected);
  if (address !== undefined) return [new Thread(new URL(address)), address];
  throw notStarted(expected ?? FILE, "it is not next to this program", PLACE_HINT);
}

function noWorkers(): SconceError {
  return new SconceError(
    "unsupported",
    "createClient() needs workers, and this host cannot start any",
    "Use createEngine() here: service workers, shared workers and edge functions run it themselves.",
  );
}

/** The worker that `own` makes, or else one with this package's script. */
export async function makeWorker(
  own: (() => Host<"Worker"> | NodeWorker) | undefined,
): Promise<Made> {
  if (own) return [own(), OWN_WORKER];
  if (typeof Worker !== "undefined") return webWorker();
  if (!isNode()) throw noWorkers();
  await prepareHost();
  const threads = hostModule<Threads>("node:worker_threads");
  if (!threads || !hasFileSystem()) throw noWorkers();
  return threadWorker(threads);
}
