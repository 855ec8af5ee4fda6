// A server on node:http: POST a .pt2, get back what its forward method answers to ones.
//   node examples/server.mjs [PORT]
// A pool of clients does the work, so that the thread of the server stays free for others.
import { createServer } from "node:http";
import { createPool, fetchSource, isTensor, SconceError, tensor } from "sconce";

const BODY_BYTES_MAX = 64 * 2 ** 20;
/** @type {Record<string, number>} */
const STATUS = { busy: 503, disposed: 503, panic: 500, internal: 500, out_of_memory: 413 };

const pool = await createPool({ maxQueue: 64 });

/**
 * The file is read once there is a client for it: until then it stays with the sender, and not here.
 * @param {import("node:http").IncomingMessage} request
 * @param {AbortSignal} signal
 */
function lowerAndRun(request, signal) {
  return pool.use(
    async (client) => {
      const file = await fetchSource(request, { maxBytes: BODY_BYTES_MAX, signal });
      const lowered = await client.lower(file);
      const program = await client.load(lowered);
      const forward = (await program.inspect()).methods.find(({ name }) => name === "forward");
      const ones = (forward?.inputs ?? []).map(({ shape = [] }) => {
        const count = shape.reduce((product, size) => product * size, 1);
        return tensor(new Float32Array(count).fill(1), shape);
      });
      const outputs = await program.run("forward", ones);
      return { size: lowered.size, shapes: outputs.filter(isTensor).map(({ shape }) => shape) };
    },
    { signal },
  );
}

const server = createServer(async (request, response) => {
  /** @param {number} status @param {object} body */
  const send = (status, body) => {
    const headers = {
      "content-type": "application/json",
      ...(status === 503 && { "retry-after": "1" }),
    };
    response.writeHead(status, headers).end(JSON.stringify(body));
  };
  if (request.url === "/health") return send(200, pool.stats());
  if (request.method !== "POST") return send(405, { message: "POST a .pt2" });
  if (Number(request.headers["content-length"]) > BODY_BYTES_MAX)
    return send(413, { message: "The file is too large" });
  // Whoever hangs up needs no answer: the worker stops, or the request leaves the queue.
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  try {
    send(200, await lowerAndRun(request, gone.signal));
  } catch (error) {
    // The rest of the file is thrown away.
    request.resume();
    if (gone.signal.aborted) return;
    const code = error instanceof SconceError ? error.code : "internal";
    send(STATUS[code] ?? 400, { error });
  }
});
// A file that comes too slowly keeps a client from others.
server.requestTimeout = 60_000;

server.listen(Number(process.argv[2] ?? 8080), "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object") console.log(`http://127.0.0.1:${address?.port}/`);
});
process.once("SIGTERM", () => {
  server.close(() => pool.dispose());
  server.closeIdleConnections();
});
