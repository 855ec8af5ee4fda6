// Views of large buffers on their way to a worker, and messages that are nobody's.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import { createClient, tensor } from "sconce";
import { withBoth } from "../setup/both.js";
import { modelPath } from "../setup/reference.js";
import { rejected } from "../setup/rejected.js";

const { engine, client } = await withBoth();
const bytes = new Uint8Array(readFileSync(modelPath("mlp.pt2")));
const program = await client.load(await client.lower(bytes));
const expected = engine
  .load(engine.lower(bytes))
  .run("forward", [tensor(new Float32Array(64).fill(2), [4, 16])]);

/** The sizes of the buffers that are sent while `act` runs. */
async function sentBuffers(act: () => Promise<unknown>): Promise<number[]> {
  const sizes: number[] = [];
  const { postMessage } = Worker.prototype;
  const note = (value: unknown, depth = 0): void => {
    if (ArrayBuffer.isView(value)) sizes.push(value.buffer.byteLength);
    else if (typeof value === "object" && value !== null && depth < 9)
      for (const item of Object.values(value)) note(item, depth + 1);
  };
  Worker.prototype.postMessage = function (message, transfer): void {
    note(message);
    postMessage.call(this, message, transfer);
  };
  try {
    await act();
  } finally {
    Worker.prototype.postMessage = postMessage;
  }
  return sizes;
}

test("a tensor in a large buffer is sent alone, and the caller keeps it", async () => {
  const large = new Float32Array(1 << 20).fill(2);
  const view = large.subarray(1000, 1064);
  const sizes = await sentBuffers(async () => {
    const outputs = await program.run("forward", [tensor(view, [4, 16])]);
    assert.deepEqual(outputs, expected);
  });
  assert.deepEqual(sizes, [256]);
  assert.equal(view.length, 64);
  assert.equal(large.length, 1 << 20);
});

test("a file in a large buffer is sent alone, also in a Buffer of Node", async () => {
  const large = Buffer.alloc(bytes.length + (1 << 20));
  large.set(bytes, 500);
  const sizes = await sentBuffers(() => client.lower(large.subarray(500, 500 + bytes.length)));
  assert.deepEqual(sizes, [bytes.length]);
  assert.equal(large.length, bytes.length + (1 << 20));
});

test("data that refers to itself ends in an error, and does not go on for ever", async () => {
  const list: unknown[] = [];
  for (let i = 0; i < 100; i++) list.push(list);
  const error = await rejected(() => program.run("forward", list as never));
  assert.equal(error.code, "input");
});

test("messages that are nobody's are ignored, whatever they hold", async () => {
  const script = new URL("worker.js", import.meta.resolve("sconce"));
  const source = `
    import { parentPort } from "node:worker_threads";
    import ${JSON.stringify(script.href)};
    setTimeout(() => [null, undefined, 7, "x", {}].forEach((m) => parentPort.postMessage(m)), 20);
  `;
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(source)}`));
  const own = await createClient({ worker: () => worker });
  for (const message of [null, undefined, 7, "x", {}]) worker.postMessage(message);
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(await own.detect(bytes), "pt2");
  const second = await rejected(() => createClient({ worker: () => worker }));
  assert.equal(second.code, "state");
  assert.match(second.message, /serves another client/);
});
