// A server without a pool, to compare with: node tests/bench/plain_server.mjs CLIENTS. With 0 clients an
// engine on the main thread does the work, else clients in turn.
import { createServer } from "node:http";
import { createClient, createEngine, tensor } from "sconce";

const count = Number(process.argv[2]);
const makers = Array.from({ length: Math.max(1, count) }, () =>
  count === 0 ? createEngine() : createClient(),
);
const workers = await Promise.all(makers);
let turn = 0;

async function lowerAndRun(file) {
  const worker = workers[turn++ % workers.length];
  const lowered = await worker.lower(file);
  const program = await worker.load(lowered);
  const input = tensor(new Float32Array(3 * 240 * 320).fill(1), [1, 3, 240, 320]);
  const outputs = await program.run([input]);
  await program.dispose();
  await lowered.dispose();
  return outputs.length;
}

const server = createServer(async (request, response) => {
  if (request.url === "/health") return response.end("ok");
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  response.end(String(await lowerAndRun(Buffer.concat(chunks))));
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/`));
