// Starts a worker with a script of this package: of a page, or of Node.
import type { Build } from "./builds.js";
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

/** A script for workers, and what makes one in a page: bundlers look for an expression with its name. */
export interface Script {
  readonly build: Build;
  readonly start: () => Host<"Worker">;
}

const hintOf = ({ worker, files, client }: Build): string =>
  `Serve ${worker} and ${files.simd} of this package next to the script that asks for them, and let the ` +
  `page's content policy allow the worker (worker-src); or pass 'worker' to ${client}().`;
const scriptHintOf = ({ client }: Build): string =>
  `Build the script as an ES module (esbuild: --format=esm), or pass 'worker' to ${client}().`;
const originHintOf = ({ client }: Build): string =>
  `Serve the worker's script from the page's own origin, or pass 'worker' to ${client}().`;
const placeHintOf = ({ worker }: Build): string =>
  `Put ${worker} of this package next to the program, or pass 'worker'.`;

/** The error of a worker that does not become an engine. */
export function notStarted(address: string, why: string, hint: string): SconceError {
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
const inFiles = (file: string): string | undefined =>
  here?.startsWith("file:") && hasFileSystem() ? locateAsset(file, nextToScript(file)) : undefined;

/** Advice for a worker that does not start. */
export function workerHint(build: Build): string {
  if (!isElsewhere()) return hintOf(build);
  const { origin } = new URL(here!);
  return (
    `Let the page's content policy allow blob: and ${origin} in worker-src, and ${origin} in ` +
    "script-src and connect-src, and let that origin send Access-Control-Allow-Origin."
  );
}

function webWorker({ build, start }: Script): Made {
  const file = build.worker;
  if (here === undefined)
    throw notStarted(file, "this script does not know its own address", scriptHintOf(build));
  const found = inFiles(file);
  // A program of Bun in one file takes its worker from the disk, too.
  if (isBun() && found === undefined)
    throw notStarted(file, "it is not next to this program", placeHintOf(build));
  const address = found ?? nextToScript(file) ?? file;
  try {
    if (isElsewhere()) return [blobWorker(address), address];
    if (isCached || found) return [new Worker(address, { type: "module" }), address];
    return [start(), address];
  } catch (error) {
    const isOrigin = error instanceof Error && error.name === "SecurityError";
    throw notStarted(address, messageOf(error), isOrigin ? originHintOf(build) : workerHint(build));
  }
}

function threadWorker({ Worker: Thread }: Threads, build: Build): Made {
  const expected = nextToScript(build.worker);
  const address = locateAsset(build.worker, expected);
  if (address !== undefined) return [new Thread(new URL(address)), address];
  throw notStarted(expected ?? build.worker, "it is not next to this program", placeHintOf(build));
}

function noWorkers({ client, create }: Build): SconceError {
  return new SconceError(
    "unsupported",
    `${client}() needs workers, and this host cannot start any`,
    `Use ${create}() here: service workers, shared workers and edge functions run it themselves.`,
  );
}

/** The worker that `own` makes, or else one with the script. */
export async function makeWorker(
  own: (() => Host<"Worker"> | NodeWorker) | undefined,
  script: Script,
): Promise<Made> {
  const { build } = script;
  if (own) return [own(), `the worker that 'worker' of ${build.client}() made`];
  if (typeof Worker !== "undefined") return webWorker(script);
  if (!isNode()) throw noWorkers(build);
  await prepareHost();
  const threads = hostModule<Threads>("node:worker_threads");
  if (!threads || !hasFileSystem()) throw noWorkers(build);
  return threadWorker(threads, build);
}
