// Starts the workers of clients, and talks to them. A client has the interface of an engine or a runtime,
// and a worker answers its calls, so a page never freezes. Cancelling rejects the call at once, and the
// worker stops at its next step. `terminate` ends the worker.
import { badArgument, isObject, KINDS } from "../base/check.js";
import { ASYNC_DISPOSE } from "../base/dispose.js";
import { fromPlainError, messageOf, SconceError, SconcePanic } from "../base/errors.js";
import type { Host, HostAbortSignal } from "../types/host.js";
import type { Description, Port, Reply, Start } from "./messages.js";
import type { Build } from "../builds.js";
import { Caller } from "./caller.js";
import { makeWorker, notStarted, workerHint, type NodeWorker, type Script } from "../spawn.js";
import { absoluteUrl } from "../source/address.js";
import { isArrayBuffer, isModule, isUrl } from "../base/tags.js";
import type { EngineOptions } from "../types/index.js";

/** Options of clients. */
export interface WorkerOptions extends EngineOptions {
  /**
   * Makes the worker, for a page or of node:worker_threads. Some bundlers need to see its URL. By
   * default it is a script in the folder of this one: worker.js, or run-worker.js of a runtime.
   */
  worker?: () => Host<"Worker"> | NodeWorker;
}

interface Connection {
  port: Port;
  /** The address of the script, as far as it is known. */
  address: string;
  terminate(): void;
  /** Keeps the process alive while calls are under way, and only then. */
  keepAlive(isBusy: boolean): void;
}

const START_MS_MAX = 30_000;

function notSent(error: unknown, { client }: Build): SconceError {
  return new SconceError(
    "argument",
    `'wasm' of ${client}() cannot reach the worker: ${messageOf(error)}`,
    "Pass a URL, or bytes whose buffer was not transferred.",
  );
}

async function connect(
  options: WorkerOptions,
  script: Script,
  receive: (reply: Reply) => void,
  broke: (message: string) => void,
): Promise<Connection> {
  const [worker, address] = await makeWorker(options.worker, script);
  const { postMessage } = (worker ?? {}) as { postMessage?: unknown };
  if (!KINDS.function.test(postMessage))
    throw badArgument(`what 'worker' of ${script.build.client}() returns`, "a Worker", worker);
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
  // Workers of Bun keep its process alive, too.
  const { ref, unref } = worker as Partial<Pick<NodeWorker, "ref" | "unref">>;
  const keepAlive = (isBusy: boolean): void => (isBusy ? ref : unref)?.call(worker);
  return { address, port: worker, terminate, keepAlive };
}

/** True for a worker's first message. The script may be another one. */
function isReply(message: unknown, { kind }: Build): message is Reply {
  if (!isObject(message)) return false;
  const { type, id, description, error } = message;
  if (type === "object") return id === 0 && isObject(description) && description["kind"] === kind;
  return type === "error" ? id === 0 && isObject(error) : type === "starting" || type === "log";
}

/** The module in a form that can be sent. */
function sendable(
  wasm: NonNullable<EngineOptions["wasm"]>,
  { client }: Build,
): NonNullable<EngineOptions["wasm"]> {
  // Relative addresses are the page's. In the worker they would be relative to its script.
  if (typeof wasm === "string") return absoluteUrl(wasm);
  if (isUrl(wasm)) return absoluteUrl(wasm.href);
  if (isArrayBuffer(wasm) || ArrayBuffer.isView(wasm) || isModule(wasm)) return wasm;
  throw badArgument(`'wasm' of ${client}()`, "a URL, bytes or a WebAssembly.Module", wasm);
}

/** The first message. */
function startWith({ wasm, threads, simd, deterministic }: EngineOptions, build: Build): Start {
  const options = {
    ...(wasm === undefined ? {} : { wasm: sendable(wasm, build) }),
    ...(threads === undefined ? {} : { threads }),
    ...(simd === undefined ? {} : { simd }),
    ...(deterministic === undefined ? {} : { deterministic }),
  };
  return { type: "start", options };
}

/** A worker with an engine or a runtime in it. */
export interface Started {
  /** The engine or the runtime, for the owner of the worker. */
  engine: object;
  /**
   * Lends the engine until `end`. That disposes of everything that was made, and cancels current
   * calls.
   */
  lease(signal: HostAbortSignal | undefined): { client: object; end(): void };
  isDead(): boolean;
  terminate(): void;
}

/** Starts a worker, with options that were checked. */
export async function startClient(options: WorkerOptions, script: Script): Promise<Started> {
  const { build } = script;
  const start = startWith(options, build);
  let ready: (engine: Description) => void;
  let failed: (error: Error) => void;
  const root = new Promise<Description>((resolve, reject) => {
    ready = resolve;
    failed = reject;
  });
  let caller: Caller | undefined;
  let address = "the worker";
  let isStarting = true;
  let isOurs = false;
  const broke = (message: string): void => {
    if (isStarting) failed(notStarted(address, message, workerHint(build)));
    else caller?.fail(new SconcePanic(message));
  };
  let silence: ReturnType<typeof setTimeout> | undefined;
  const connection = await connect(
    options,
    script,
    (reply) => {
      if (!caller) return;
      clearTimeout(silence);
      isOurs ||= isReply(reply, build);
      if (!isOurs) broke("its script is not Sconce's worker");
      // A worker that the caller made may send messages of its own, even while it starts.
      else if (!isObject(reply)) return;
      else if (reply.type === "object" && reply.id === 0) {
        isStarting = false;
        ready(reply.description);
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
    failed!(notSent(error, build));
  }
  silence = setTimeout(() => broke("it does not answer"), START_MS_MAX);
  const description = await root
    .catch((error: unknown) => {
      connection.terminate();
      throw error;
    })
    .finally(() => clearTimeout(silence));
  connection.keepAlive(false);
  const engine = caller.proxy(0, description);
  const terminate = (): void => {
    connection.terminate();
    // The first failure is reported: that the worker exits now is no news.
    caller.fail(new SconcePanic("the worker was ended", "disposed"));
  };
  const lease: Started["lease"] = (signal) => {
    const end = caller.lend(signal);
    return { client: caller.proxy(0, description), end };
  };
  return { engine, lease, terminate, isDead: () => caller.isDead };
}

/** The client of a worker of its own, which ends with it. */
export async function ownClient(options: WorkerOptions, script: Script): Promise<object> {
  const { engine, terminate } = await startClient(options, script);
  const dispose = (): Promise<void> => Promise.resolve(terminate());
  Object.defineProperty(engine, ASYNC_DISPOSE, { value: dispose });
  return Object.assign(engine, { terminate, dispose });
}
