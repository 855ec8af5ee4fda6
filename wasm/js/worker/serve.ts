// The work of the scripts of workers. Their first message makes them an engine or a runtime behind the call
// protocol, and everything after that is calls; or it makes them a thread.
import { SconceError, toPlainError } from "../base/errors.js";
import { importBuiltin } from "../base/host.js";
import type { Port, Reply, Request, Start } from "./messages.js";
import { Server } from "./server.js";
import { isThreadScript } from "../threads/script.js";
import { isThreadStart, serveAsThread, type ThreadStart } from "../threads/serve.js";
import type { EngineOptions } from "../types/index.js";

/** The object that a script serves, of this kind, and what makes it. */
export interface Root {
  readonly kind: "Engine" | "Runtime";
  create(options: EngineOptions): Promise<object>;
}

type Message = Start | ThreadStart | Request;

/** The scope of a web worker. */
interface WebScope extends Port {
  onmessage: ((event: { data: Message }) => void) | null;
}

/** Starts the root, and says how that went. */
async function start(root: Root, port: Port, { options }: Start): Promise<Server | undefined> {
  // Loading the module may take long; that there is a worker should be known by then.
  port.postMessage({ type: "starting" }, []);
  try {
    const made = await root.create({
      ...options,
      onLog: (severity, text) => port.postMessage({ type: "log", severity, text }, []),
    });
    const server = new Server(port, made, root.kind);
    const description = server.describeRoot();
    port.postMessage({ type: "object", id: 0, object: 0, description }, []);
    return server;
  } catch (error) {
    port.postMessage({ type: "error", id: 0, error: toPlainError(error) }, []);
    return undefined;
  }
}

/** The answer to a second client. */
const inUse = (): Reply => ({
  type: "error",
  id: 0,
  error: toPlainError(
    new SconceError(
      "state",
      "this worker serves another client already",
      "Let 'worker' of createClient() make a new worker for each client.",
    ),
  ),
});

/** Serves an engine until that ends, and ends too. */
function beThread(message: ThreadStart): void {
  const why = serveAsThread(message);
  // The engine hears it as an error of this script.
  if (why !== undefined) throw new Error(why);
  const { close } = globalThis as { close?: () => void };
  close?.();
}

/** Answers the messages that `listen` brings. */
function serve(
  root: Root,
  port: Port,
  listen: (receive: (message: Message) => void) => void,
): void {
  let starting: Promise<Server | undefined> | undefined;
  const receive = async (message: Message): Promise<void> => {
    if (typeof message !== "object" || message === null) return;
    if (isThreadStart(message)) return beThread(message);
    if (message.type === "start" && starting) port.postMessage(inUse(), []);
    else if (message.type === "start") starting = start(root, port, message);
    else await (await starting)?.handle(message);
  };
  listen((message) => void receive(message));
}

type Threads = typeof import("node:worker_threads");

/** Serves in a thread of Node, which keeps messages until somebody listens. */
async function serveThread(root: Root): Promise<void> {
  const { parentPort } = await importBuiltin<Threads>("node:worker_threads");
  if (!parentPort) throw new Error("this script runs in a worker");
  const port: Port = {
    postMessage: (message, transfer) => parentPort.postMessage(message, transfer as never),
  };
  serve(root, port, (receive) => parentPort.on("message", receive));
}

/** Makes this script a worker that serves the root. */
export function serveRoot(root: Root): void {
  isThreadScript();
  // No await at the top: bundlers make scripts of workers that cannot have one.
  const web = globalThis as unknown as WebScope;
  if (typeof web.postMessage === "function")
    serve(root, web, (receive) => (web.onmessage = ({ data }) => receive(data)));
  else void serveThread(root);
}
