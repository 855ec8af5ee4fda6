// The script of a runtime's workers, and of its threads.
import { createRuntime } from "./create_runtime.js";
import { serveRoot } from "./worker/serve.js";

serveRoot({ kind: "Runtime", create: createRuntime });
