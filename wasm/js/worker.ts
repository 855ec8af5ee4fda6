// The worker's script. Its first message makes it an engine behind the call protocol, and everything
// after that is calls; or it makes it a thread of an engine.
import { createEngine } from "./create.js";
import { SconceError, toPlainError } from "./base/errors.js";
import { importBuiltin } from "./base/host.js";
import { openersOf } from "./call/protocol.js";
import type { Port, Reply, Request, Start } from "./worker/messages.js";
import { Server } from "./worker/server.js";
import { isThreadScript } from "./threads/script.js";
import { isThreadStart, serveAsThread, type ThreadStart } from "./threads/serve.js";
import type { Engine, Programs } from "./types/index.js";

type Message = Start | ThreadStart | Request;

/** The scope of a web worker. */
interface WebScope extends Port {
  onmessage: ((event: { data: Message }) => void) | null;
}

type Opening = (programs: Programs, options?: object) => unknown;

/** The engine, but with compressed archives inflated first where it cannot do that by itself. */
function inflating(engine: Engine): Engine {
  const members = engine as unknown as Record<string, Opening>;
  for (const name of openersOf("Engine")) {
    const open = members[name]!.bind(engine);
    members[name] = async (programs, ...rest) => {
      try {
        return open(programs, ...rest);
      } catch (error) {
        if (!(error instanceof SconceError && error.code === "compressed")) throw error;
        return open(await engine.inflate(programs), ...rest);
      }
    };
  }
  return engine;
}

/** Starts the engine, and says how that went. */
async function start(port: Port, { options }: Start): Promise<Server | undefined> {
  // Loading the module may take long; that there is a worker should be known by then.
  port.postMessage({ type: "starting" }, []);
  try {
    const engine = await createEngine({
      ...options,
      onLog: (severity, text) => port.postMessage({ type: "log", severity, text }, []),
    });
    const server = new Server(port, inflating(engine), "Engine");
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
function serve(port: Port, listen: (receive: (message: Message) => void) => void): void {
  let starting: Promise<Server | undefined> | undefined;
  const receive = async (message: Message): Promise<void> => {
    if (typeof message !== "object" || message === null) return;
    if (isThreadStart(message)) return beThread(message);
    if (message.type === "start" && starting) port.postMessage(inUse(), []);
    else if (message.type === "start") starting = start(port, message);
    else await (await starting)?.handle(message);
  };
  listen((message) => void receive(message));
}

type Threads = typeof import("node:worker_threads");

/** Serves in a thread of Node, which keeps messages until somebody listens. */
async function serveThread(): Promise<void> {
  const { parentPort } = await importBuiltin<Threads>("node:worker_threads");
  if (!parentPort) throw new Error("this script runs in a worker");
  const port: Port = {
    postMessage: (message, transfer) => parentPort.postMessage(message, transfer as never),
  };
  serve(port, (receive) => parentPort.on("message", receive));
}

isThreadScript();
// No await at the top: bundlers make scripts of workers that cannot have one.
const web = globalThis as unknown as WebScope;
if (typeof web.postMessage === "function")
  serve(web, (receive) => (web.onmessage = ({ data }) => receive(data)));
else void serveThread();
