// The client: the engine's interface, answered by a worker, so that a page never freezes. Cancelling
// rejects the call at once, and what the worker still makes of it is thrown away; where the work itself
// must stop, `terminate` ends the worker and a new client takes its place.
import { badArgument, checkOptions, isObject, KINDS } from "./check.js";
import { fromPlainError, SconcePanic } from "./errors.js";
import { Caller, type Port, type Reply } from "./rpc.js";
import type { Engine, EngineOptions, Remote } from "./types.js";
import type { Start } from "./worker.js";

export interface ClientOptions extends EngineOptions {
  /** Makes the worker; for bundlers that want to see the URL. Default: worker.js beside this script. */
  worker?: () => Worker;
}

/** The engine behind a worker. Everything it returned dies with it. */
export type Client = Remote<Engine> & {
  /** Ends the worker at once, whatever it is doing. Calls under way fail with SconcePanic. */
  terminate(): void;
};

interface Connection {
  port: Port;
  terminate(): void;
  /** Keeps the process alive while calls are under way, and only then. */
  keepAlive(isBusy: boolean): void;
}

async function connect(
  options: ClientOptions,
  receive: (reply: Reply) => void,
  broke: (message: string) => void,
): Promise<Connection> {
  if (options.worker || typeof Worker !== "undefined") {
    const worker = options.worker
      ? options.worker()
      : new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
    if (!isObject(worker) || !KINDS.function.test(worker.postMessage))
      throw badArgument("what 'worker' of createClient() returns", "a Worker", worker);
    worker.onmessage = (event: MessageEvent<Reply>) => receive(event.data);
    worker.onerror = (event) => broke(event.message || "the worker could not be started");
    worker.onmessageerror = () => broke("a message of the worker could not be read");
    return { port: worker, terminate: () => worker.terminate(), keepAlive: () => undefined };
  }
  const { Worker: NodeWorker } = await import("node:worker_threads");
  // Bundlers for pages look for `new URL` of a literal and would ship the script twice.
  const script = "./worker.js";
  const worker = new NodeWorker(new URL(script, import.meta.url));
  worker.on("message", receive);
  worker.on("error", (error: Error) => broke(error.message));
  return {
    port: { postMessage: (message, transfer) => worker.postMessage(message, transfer as never) },
    terminate: () => void worker.terminate(),
    keepAlive: (isBusy) => (isBusy ? worker.ref() : worker.unref()),
  };
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
 * @throws SconceError when the module cannot be loaded, SconcePanic when the worker cannot start.
 */
export async function createClient(options: ClientOptions = {}): Promise<Client> {
  checkOptions("createClient", options);
  const start = startWith(options.wasm);
  let ready: (engine: object) => void;
  let failed: (error: Error) => void;
  const root = new Promise<object>((resolve, reject) => {
    ready = resolve;
    failed = reject;
  });
  let caller: Caller | undefined;
  const broke = (message: string): void => {
    const panic = new SconcePanic(message);
    caller?.fail(panic);
    failed(panic);
  };
  const connection = await connect(
    options,
    (reply) => {
      if (!caller) return;
      if (reply.type === "object" && reply.id === 0) {
        ready(caller.proxy(0, reply.description));
      } else if (reply.type === "error" && reply.id === 0) {
        failed(fromPlainError(reply.error));
      } else caller.receive(reply);
    },
    broke,
  );
  caller = new Caller(
    connection.port,
    options.onLog ?? (() => undefined),
    connection.keepAlive.bind(connection),
  );
  connection.port.postMessage(start, []);
  const engine = await root.catch((error: unknown) => {
    connection.terminate();
    throw error;
  });
  connection.keepAlive(false);
  const terminate = (): void => {
    connection.terminate();
    caller.fail(new SconcePanic("the worker was ended", "disposed"));
  };
  return Object.assign(engine, {
    terminate,
    dispose: () => Promise.resolve(terminate()),
  }) as unknown as Client;
}
