// The worker's script: an engine behind the call protocol. The first message says where the module
// is; everything after it is calls.
import { createEngine } from "./engine.js";
import { SconceError, toPlainError } from "./errors.js";
import { openersOf } from "./protocol.js";
import { Server, type Port, type Request } from "./rpc.js";
import type { Engine, Programs, WasmSource } from "./types.js";

export interface Start {
  type: "start";
  wasm?: WasmSource;
}

interface WorkerScope extends Port {
  onmessage: ((event: { data: Start | Request }) => void) | null;
}

/** The scope of a web worker, or Node's equivalent port. */
async function scope(): Promise<WorkerScope> {
  const web = globalThis as unknown as WorkerScope;
  if (typeof web.postMessage === "function") return web;
  const { parentPort } = await import("node:worker_threads");
  if (!parentPort) throw new Error("this script runs in a worker");
  const port: WorkerScope = {
    onmessage: null,
    postMessage: (message, transfer) => parentPort.postMessage(message, transfer as never),
  };
  parentPort.on("message", (data: Start | Request) => port.onmessage?.({ data }));
  return port;
}

const self = await scope();
let server: Server | undefined;
let starting: Promise<void> | undefined;

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

async function start(message: Start): Promise<void> {
  // Loading the module may take long; that there is a worker should be known by then.
  self.postMessage({ type: "starting" }, []);
  try {
    const engine = await createEngine({
      ...(message.wasm === undefined ? {} : { wasm: message.wasm }),
      onLog: (severity, text) => self.postMessage({ type: "log", severity, text }, []),
    });
    server = new Server(self, inflating(engine), "Engine");
    const description = server.describeRoot();
    self.postMessage({ type: "object", id: 0, object: 0, description }, []);
  } catch (error) {
    self.postMessage({ type: "error", id: 0, error: toPlainError(error) }, []);
  }
}

self.onmessage = async ({ data }) => {
  if (data.type === "start") {
    starting = start(data);
    return;
  }
  await starting;
  await server?.handle(data);
};
