// The client: the engine's interface, answered by a worker, so that a page never freezes. Cancelling
// rejects the call at once, and what the worker still makes of it is thrown away; where the work itself
// must stop, `terminate` ends the worker and a new client takes its place.
import { badArgument, checkTable, CLIENT_OPTIONS, isObject, KINDS } from "./check.js";
import { fromPlainError, messageOf, SconceError, SconcePanic } from "./errors.js";
import { prepareHost } from "./host.js";
import { Caller, type Port, type Reply } from "./rpc.js";
import type { Engine, EngineOptions, Remote } from "./types.js";
import type { Start } from "./worker.js";

export interface ClientOptions extends EngineOptions {
  /**
   * Makes the worker, of a page or of node:worker_threads; for bundlers that want to see the URL.
   * Default: worker.js beside this script.
   */
  worker?: () => Worker | NodeWorker;
}

/** The engine behind a worker. Everything it returned dies with it. */
export type Client = Remote<Engine> & {
  /** Ends the worker at once, whatever it is doing. Calls under way fail with SconcePanic. */
  terminate(): void;
};

/** What of a Worker of node:worker_threads is needed here. */
export interface NodeWorker {
  postMessage(message: unknown, transfer?: never[]): void;
  on(event: string, listener: (...values: unknown[]) => void): unknown;
  terminate(): unknown;
  ref(): void;
  unref(): void;
}

interface Connection {
  port: Port;
  /** Where the script is, as far as is known. */
  address: string;
  terminate(): void;
  /** Keeps the process alive while calls are under way, and only then. */
  keepAlive(isBusy: boolean): void;
}

const START_MS_MAX = 30_000;
const OWN_WORKER = "the worker that 'worker' of createClient() made";

/** The error of a worker that does not become an engine. */
function notStarted(address: string, why: string): SconceError {
  return new SconceError(
    "io",
    `${address} did not start: ${why}`,
    "Serve worker.js of this package beside index.js, or pass 'worker' to createClient().",
  );
}

function notSent(error: unknown): SconceError {
  return new SconceError(
    "argument",
    `'wasm' of createClient() cannot reach the worker: ${messageOf(error)}`,
    "Pass a URL, or bytes whose buffer was not transferred.",
  );
}

/** The worker with its script's address. */
async function makeWorker(options: ClientOptions): Promise<[Worker | NodeWorker, string]> {
  if (options.worker) return [options.worker(), OWN_WORKER];
  // Bundlers for pages look for `new URL` of a literal, and would ship the script once for each.
  const script = "./worker.js";
  const address = new URL(script, import.meta.url).href;
  if (typeof Worker !== "undefined") {
    try {
      return [new Worker(new URL("./worker.js", import.meta.url), { type: "module" }), address];
    } catch (error) {
      throw notStarted(address, messageOf(error));
    }
  }
  const { Worker: ThreadWorker } = await import("node:worker_threads");
  return [new ThreadWorker(new URL(script, import.meta.url)), address];
}

async function connect(
  options: ClientOptions,
  receive: (reply: Reply) => void,
  broke: (message: string) => void,
): Promise<Connection> {
  const [worker, address] = await makeWorker(options);
  const { postMessage } = (worker ?? {}) as { postMessage?: unknown };
  if (!KINDS.function.test(postMessage))
    throw badArgument("what 'worker' of createClient() returns", "a Worker", worker);
  if ("on" in worker) {
    worker.on("message", (message) => receive(message as Reply));
    worker.on("messageerror", () => broke("a message of the worker could not be read"));
    worker.on("error", (error) => broke(messageOf(error)));
    worker.on("exit", (code) => broke(`the worker ended with the code ${String(code)}`));
    return {
      address,
      port: { postMessage: (message, transfer) => worker.postMessage(message, transfer as never) },
      terminate: () => void worker.terminate(),
      keepAlive: (isBusy) => (isBusy ? worker.ref() : worker.unref()),
    };
  }
  worker.onmessage = (event: MessageEvent<Reply>) => receive(event.data);
  worker.onerror = (event) => broke(event.message || "its script cannot be loaded");
  worker.onmessageerror = () => broke("a message of the worker could not be read");
  const terminate = (): void => worker.terminate();
  return { address, port: worker, terminate, keepAlive: () => undefined };
}

/** Whether a worker's message is one of those that begin: the script may be another. */
function isReply(message: unknown): message is Reply {
  if (!isObject(message)) return false;
  const { type, id, description, error } = message;
  if (type === "object")
    return id === 0 && isObject(description) && description["kind"] === "Engine";
  return type === "error" ? id === 0 && isObject(error) : type === "starting" || type === "log";
}

/** The first message: of all that a module can come from, what survives the way. */
function startWith(wasm: EngineOptions["wasm"]): Start {
  if (wasm === undefined) return { type: "start" };
  if (wasm instanceof URL) return { type: "start", wasm: wasm.href };
  const isBytes = wasm instanceof ArrayBuffer || ArrayBuffer.isView(wasm);
  if (typeof wasm === "string" || isBytes || wasm instanceof WebAssembly.Module)
    return { type: "start", wasm };
  throw badArgument("'wasm' of createClient()", "a URL, bytes or a WebAssembly.Module", wasm);
}

/**
 * Starts a worker with an engine in it.
 * @throws SconceError with the code "io" when the worker or the module cannot be loaded.
 */
export async function createClient(options: ClientOptions = {}): Promise<Client> {
  checkTable("createClient()", options, CLIENT_OPTIONS);
  await prepareHost();
  const start = startWith(options.wasm);
  let ready: (engine: object) => void;
  let failed: (error: Error) => void;
  const root = new Promise<object>((resolve, reject) => {
    ready = resolve;
    failed = reject;
  });
  let caller: Caller | undefined;
  let address = "the worker";
  let isStarting = true;
  const broke = (message: string): void => {
    if (isStarting) failed(notStarted(address, message));
    else caller?.fail(new SconcePanic(message));
  };
  let silence: ReturnType<typeof setTimeout> | undefined;
  const connection = await connect(
    options,
    (reply) => {
      if (!caller) return;
      clearTimeout(silence);
      if (isStarting && !isReply(reply)) broke("its script is not Sconce's worker");
      else if (reply.type === "object" && reply.id === 0) {
        isStarting = false;
        ready(caller.proxy(0, reply.description));
      } else if (reply.type === "error" && reply.id === 0) {
        failed(fromPlainError(reply.error));
      } else caller.receive(reply);
    },
    broke,
  );
  address = connection.address;
  caller = new Caller(
    connection.port,
    options.onLog ?? (() => undefined),
    connection.keepAlive.bind(connection),
  );
  try {
    connection.port.postMessage(start, []);
  } catch (error) {
    failed!(notSent(error));
  }
  silence = setTimeout(() => broke("it does not answer"), START_MS_MAX);
  const engine = await root
    .catch((error: unknown) => {
      connection.terminate();
      throw error;
    })
    .finally(() => clearTimeout(silence));
  connection.keepAlive(false);
  const terminate = (): void => {
    connection.terminate();
    // First come, first told: that the worker exits now is no news.
    caller.fail(new SconcePanic("the worker was ended", "disposed"));
  };
  return Object.assign(engine, {
    terminate,
    dispose: () => Promise.resolve(terminate()),
  }) as unknown as Client;
}
