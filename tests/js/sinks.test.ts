// Where programs are written: functions, web streams, Node streams and Blobs; the .ptd as well as the
// .pte; and streams that fail, which fail the call.
import assert from "node:assert/strict";
import { createWriteStream, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { after, before, test } from "node:test";
import { createClient, createEngine, SconceError, type Client, type Engine } from "sconce";
import { modelPath } from "./reference.js";

const mlp = { path: modelPath("mlp.pt2") };
let engine: Engine;
let client: Client;
let folder = "";
before(async () => {
  folder = mkdtempSync(join(tmpdir(), "sconce-sinks-"));
  engine = await createEngine();
  client = await createClient();
});
after(() => {
  engine.dispose();
  client.terminate();
  rmSync(folder, { recursive: true, force: true });
});

const bytesOf = async (blob: Blob): Promise<Uint8Array> => new Uint8Array(await blob.arrayBuffer());

test("every sink gets all of each file, from engine and client", async () => {
  for (const host of [engine, client]) {
    const made = await host.lower(mlp, { externalConstants: true });
    const { name } = made.dataFiles[0]!;
    const files: [Uint8Array, string | undefined][] = [
      [await made.buffer, undefined],
      [await made.dataFile(name), name],
    ];
    for (const [bytes, file] of files) {
      const parts: Uint8Array[] = [];
      const keep = (chunk: Uint8Array): void => void parts.push(chunk);
      const all = (): Uint8Array => new Uint8Array(Buffer.concat(parts.splice(0)));
      await made.writeTo(keep, file);
      assert.deepEqual(all(), bytes);
      await made.writeTo({ write: keep }, file);
      assert.deepEqual(all(), bytes);
      await made.writeTo(new WritableStream<Uint8Array>({ write: keep }), file);
      assert.deepEqual(all(), bytes);
      assert.deepEqual(await bytesOf(await made.toBlob(file)), bytes);
      const stream = createWriteStream(join(folder, "file"));
      await made.writeTo(stream, file);
      await new Promise((resolve) => stream.end(resolve));
      assert.deepEqual(new Uint8Array(readFileSync(join(folder, "file"))), bytes);
      assert.deepEqual([stream.listenerCount("error"), stream.listenerCount("close")], [0, 0]);
    }
    await made.dispose();
  }
});

const destroyed = (): Writable => new Writable({ write: (_c, _e, done) => done() }).destroy();
const failing = (): Writable =>
  new Writable({ write: (_c, _e, done) => done(new Error("no space left")) });
const ended = (): Writable => new Writable({ write: (_c, _e, done) => done() }).end();
const hanging = (): Writable => {
  const stream = new Writable({ write: () => setImmediate(() => stream.destroy()) });
  return stream;
};

test("a stream that fails rejects with io", async () => {
  const sinks: [() => unknown, RegExp][] = [
    [destroyed, /destroyed|closed/],
    [failing, /no space left/],
    [ended, /after end|closed/],
    [hanging, /closed/],
    [() => createWriteStream(join(folder, "no/such/file")), /ENOENT/],
    [() => new WritableStream({ write: () => Promise.reject(new Error("full")) }), /full/],
    [
      () => {
        const stream = new WritableStream();
        stream.getWriter();
        return stream;
      },
      /locked/,
    ],
    [() => ({ write: () => Promise.reject(new Error("mine")) }), /mine/],
  ];
  for (const host of [engine, client]) {
    const made = await host.lower(mlp);
    for (const [sink, message] of sinks) {
      await assert.rejects(made.writeTo(sink() as Writable), (error) => {
        assert.ok(error instanceof SconceError, String(error));
        assert.equal(error.code, "io");
        assert.match(error.message, message);
        assert.ok(error.cause instanceof Error);
        return true;
      });
    }
    const mine = new Error("mine");
    await assert.rejects(
      made.writeTo(() => Promise.reject(mine)),
      mine,
    );
    await made.dispose();
  }
});
