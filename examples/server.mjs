// A server on node:http: POST a .pt2, get back what its forward method answers to ones.
//   node examples/server.mjs [PORT]
// A pool of clients does the work, so that the thread of the server stays free for others.
import { createServer } from "node:http";
import { createPool, tensor } from "sconce";

const BODY_BYTES_MAX = 64 * 2 ** 20;
const STATUS = { busy: 503, panic: 500, internal: 500, disposed: 503, out_of_memory: 503 };

const pool = await createPool({ maxQueue: 64 });

/** @param {import("node:http").IncomingMessage} request */
async function bodyOf(request) {
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > BODY_BYTES_MAX)
      throw Object.assign(new Error("the file is too large"), { status: 413 });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/**
 * The file is read once there is a client for it: until then it stays with the sender, and not here.
 * @param {import("node:http").IncomingMessage} request
 * @param {AbortSignal} signal
 */
function lowerAndRun(request, signal) {
  return pool.use(
    async (client) => {
      const lowered = await client.lower(await bodyOf(request));
      const program = await client.load(await lowered.buffer);
      const { inputs } = (await program.inspect()).methods.find((m) => m.name === "forward");
      const ones = inputs.map(({ shape }) => {
        const count = shape.reduce((product, size) => product * size, 1);
        return tensor(new Float32Array(count).fill(1), shape);
      });
      const outputs = await program.run("forward", ones);
      return { size: lowered.size, shapes: outputs.map(({ shape }) => shape) };
    },
    { signal },
  );
}

const server = createServer(async (request, response) => {
  /** @param {number} status @param {object} body */
  const send = (status, body) => {
    const headers = { "content-type": "application/json" };
    if (status === 503) headers["retry-after"] = "1";
    response.writeHead(status, headers).end(JSON.stringify(body));
  };
  if (request.url === "/health") return send(200, pool.stats());
  if (request.method !== "POST") return send(405, { message: "POST a .pt2" });
  // Whoever hangs up needs no answer: the worker stops, or the request leaves the queue.
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  try {
    send(200, await lowerAndRun(request, gone.signal));
  } catch (error) {
    // The rest of the file is thrown away.
    request.resume();
    const { code, message, hint } = error;
    if (!gone.signal.aborted) send(error.status ?? STATUS[code] ?? 400, { code, message, hint });
  }
});
// A file that comes too slowly keeps a client from others.
server.requestTimeout = 60_000;

server.listen(Number(process.argv[2] ?? 8080), "127.0.0.1", () =>
  console.log(`http://127.0.0.1:${server.address().port}/`),
);
process.once("SIGTERM", () => {
  server.close(() => pool.dispose());
  server.closeIdleConnections();
});
