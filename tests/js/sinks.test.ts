// Where programs are written: functions, web streams, Node streams and Blobs; the .ptd as well as the
// .pte; and streams that fail, which fail the call.
import assert from "node:assert/strict";
import { createWriteStream, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { after, before, test } from "node:test";
import {
  createClient,
  createEngine,
  SconceError,
  type CallOptions,
  type Client,
  type Engine,
  type ProgressListener,
} from "sconce";
import { modelPath } from "./reference.js";
import { linearOf } from "./zip.js";

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

/** What a call tells of itself. */
function listening(): { told: number[]; isDone(): boolean; options: CallOptions } {
  const told: number[] = [];
  let isDone = false;
  const onProgress: ProgressListener = ({ phase, done, total }) => {
    assert.equal(phase, "write");
    assert.ok(done > (told.at(-1) ?? 0) && done <= total, `${done} of ${total}`);
    told.push(done);
    isDone = done === total;
  };
  return { told, isDone: () => isDone, options: { onProgress } };
}

test("writing tells how far it is", async () => {
  const wide = linearOf(new Float32Array(1500 * 1500), 1500);
  for (const host of [engine, client]) {
    const made = await host.lower(wide);
    const blob = listening();
    await made.toBlob(undefined, blob.options);
    assert.ok(blob.told.length > 1 && blob.isDone(), String(blob.told));
    assert.equal(blob.told.at(-1), made.size);
    const sink = listening();
    await made.writeTo(() => undefined, undefined, sink.options);
    assert.ok(sink.told.length > 8 && sink.isDone(), String(sink.told));
    const mine = new Error("mine");
    const throwing = (): never => {
      throw mine;
    };
    await assert.rejects(
      made.writeTo(() => undefined, undefined, { onProgress: throwing }),
      mine,
    );
    assert.equal((await made.toBlob()).size, made.size);
    await made.dispose();
  }
});

test("writing can be cancelled, also when the sink hangs", async () => {
  const wide = linearOf(new Float32Array(1500 * 1500), 1500);
  const refused = { code: "cancelled" };
  for (const host of [engine, client]) {
    const made = await host.lower(wide);
    const early = AbortSignal.abort();
    await assert.rejects(async () => made.toBlob(undefined, { signal: early }), refused);
    await assert.rejects(
      made.writeTo(() => undefined, undefined, { signal: early }),
      refused,
    );
    const first = new AbortController();
    const stop = (): void => first.abort();
    const options = { signal: first.signal, onProgress: stop };
    await assert.rejects(async () => made.toBlob(undefined, options), refused);
    const second = new AbortController();
    let pieces = 0;
    const writing = made.writeTo(
      () => {
        pieces++;
        second.abort();
      },
      undefined,
      { signal: second.signal },
    );
    await assert.rejects(writing, refused);
    assert.equal(pieces, 1);
    const third = new AbortController();
    const hung = made.writeTo(() => new Promise(() => undefined), undefined, {
      signal: third.signal,
    });
    setTimeout(() => third.abort(), 20);
    await assert.rejects(hung, refused);
    const stream = new WritableStream<Uint8Array>();
    await assert.rejects(made.writeTo(stream, undefined, { signal: early }), refused);
    assert.equal((await made.toBlob()).size, made.size);
    await made.dispose();
  }
});

test("options of writing are checked", async () => {
  for (const host of [engine, client]) {
    const made = await host.lower(mlp);
    const wrong = { onProgres: () => undefined } as CallOptions;
    const expected = { code: "option", message: /writeTo\(\) has no option 'onProgres'/ };
    await assert.rejects(
      made.writeTo(() => undefined, undefined, wrong),
      expected,
    );
    await assert.rejects(async () => made.toBlob(undefined, wrong), { code: "option" });
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
