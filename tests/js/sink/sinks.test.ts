// Places that programs are written to: functions, web streams, Node streams and Blobs; the .ptd as well as the
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
  type Sink,
} from "sconce";
import { modelPath } from "../setup/reference.js";
import { linearOf } from "../setup/zip.js";

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

/** Progress of a call. */
function listening(): { reported: number[]; isDone(): boolean; options: CallOptions } {
  const reported: number[] = [];
  let isDone = false;
  const onProgress: ProgressListener = ({ phase, done, total }) => {
    assert.equal(phase, "write");
    assert.ok(done > (reported.at(-1) ?? 0) && done <= total, `${done} of ${total}`);
    reported.push(done);
    isDone = done === total;
  };
  return { reported, isDone: () => isDone, options: { onProgress } };
}

test("writing tells how far it is", async () => {
  const wide = linearOf(new Float32Array(1500 * 1500), 1500);
  for (const host of [engine, client]) {
    const made = await host.lower(wide);
    const blob = listening();
    await made.toBlob(undefined, blob.options);
    assert.ok(blob.reported.length > 1 && blob.isDone(), String(blob.reported));
    assert.equal(blob.reported.at(-1), made.size);
    const sink = listening();
    await made.writeTo(() => undefined, undefined, sink.options);
    assert.ok(sink.reported.length > 8 && sink.isDone(), String(sink.reported));
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

test("what waits in the event loop can cancel writing into a sink that never waits", async (t) => {
  // Each piece takes longer than others have to wait, by a clock of the test's own.
  let clock = 0;
  t.mock.method(performance, "now", () => (clock += 1000));
  for (const host of [engine, client]) {
    const made = await host.lower(linearOf(new Float32Array(1500 * 1500), 1500));
    const kinds: ((write: (chunk: Uint8Array) => void) => Sink)[] = [
      (write) => write,
      (write) => ({ write }),
      (write) => new WritableStream<Uint8Array>({ write }),
      (write) => new Writable({ write: (chunk: Uint8Array, _, done) => done(void write(chunk)) }),
    ];
    for (const sinkOf of kinds) {
      const controller = new AbortController();
      let bytes = 0;
      const sink = sinkOf((chunk) => {
        if (bytes === 0) setImmediate(() => controller.abort());
        bytes += chunk.length;
      });
      const writing = made.writeTo(sink, undefined, { signal: controller.signal });
      await assert.rejects(writing, { code: "cancelled" });
      assert.ok(bytes > 0 && bytes < made.size, `${bytes} of ${made.size}`);
    }
    await made.dispose();
  }
});

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

test("a cancelled call tells a hung web stream and unlocks it", async () => {
  for (const host of [engine, client]) {
    const made = await host.lower(mlp);
    const first = new AbortController();
    let heard: AbortSignal | undefined;
    let reason: unknown;
    let finish = (): void => undefined;
    const stream = new WritableStream<Uint8Array>({
      write: (_, { signal }) => {
        heard = signal;
        return new Promise((resolve) => {
          finish = resolve;
          setTimeout(() => first.abort(), 1);
        });
      },
      abort: (why) => void (reason = why),
    });
    const writing = made.writeTo(stream, undefined, { signal: first.signal });
    await assert.rejects(writing, { code: "cancelled" });
    assert.deepEqual([stream.locked, heard?.aborted], [false, true]);
    finish();
    await turn();
    assert.ok(reason instanceof SconceError && reason.code === "cancelled", String(reason));
    const second = new AbortController();
    const closing = new WritableStream<Uint8Array>({
      close: () => {
        setTimeout(() => second.abort(), 1);
        return new Promise(() => undefined);
      },
    });
    await assert.rejects(made.writeTo(closing, undefined, { signal: second.signal }), {
      code: "cancelled",
    });
    assert.equal(closing.locked, false);
    await made.dispose();
  }
});

test("a cancelled call leaves nothing on a hung Node stream", async () => {
  for (const host of [engine, client]) {
    const made = await host.lower(mlp);
    const controller = new AbortController();
    let fail = (_: Error): void => undefined;
    const stream = new Writable({
      write: (_c, _e, done) => {
        fail = done;
        setTimeout(() => controller.abort(), 1);
      },
    });
    const writing = made.writeTo(stream, undefined, { signal: controller.signal });
    await assert.rejects(writing, { code: "cancelled" });
    assert.deepEqual([stream.listenerCount("error"), stream.listenerCount("close")], [0, 0]);
    // The write that was given up may fail yet, and nobody else listens.
    fail(new Error("late"));
    await turn();
    assert.equal(stream.errored?.message, "late");
    await made.dispose();
  }
});

test("what a listener throws stays what it is, whatever the sink", async () => {
  const mine = new Error("mine");
  for (const host of [engine, client]) {
    const made = await host.lower(linearOf(new Float32Array(1500 * 1500), 1500));
    for (const from of [0, 0.7]) {
      const onProgress: ProgressListener = ({ done, total }) => {
        if (done > from * total) throw mine;
      };
      let reason: unknown;
      const web = new WritableStream<Uint8Array>({ abort: (why) => void (reason = why) });
      const node = new Writable({ write: (_c, _e, done) => done() });
      for (const sink of [web, node, { write: () => undefined }, () => undefined])
        await assert.rejects(made.writeTo(sink, undefined, { onProgress }), (e) => e === mine);
      assert.deepEqual([reason, web.locked], [mine, false]);
      assert.deepEqual([node.listenerCount("error"), node.listenerCount("close")], [0, 0]);
    }
    await made.dispose();
  }
});

// A later call is answered after everything that an earlier one may have reported.
test("a call that was cancelled tells nothing more", async () => {
  for (const host of [engine, client]) {
    const made = await host.lower(linearOf(new Float32Array(1500 * 1500), 1500));
    const first = new AbortController();
    let goOn = (): void => undefined;
    let reported = 0;
    const slow = (): Promise<void> =>
      new Promise((resolve) => {
        goOn = resolve;
        setTimeout(() => first.abort(), 1);
      });
    const writing = made.writeTo(slow, undefined, {
      signal: first.signal,
      onProgress: () => void reported++,
    });
    await assert.rejects(writing, { code: "cancelled" });
    const before = reported;
    goOn();
    await made.toBlob();
    await turn();
    assert.equal(reported, before);
    for (const call of ["toBlob", "writeTo"] as const) {
      const second = new AbortController();
      let calls = 0;
      const onProgress = (): void => {
        calls++;
        second.abort();
      };
      const options = { signal: second.signal, onProgress };
      await assert.rejects(
        async () =>
          call === "toBlob"
            ? made.toBlob(undefined, options)
            : made.writeTo(() => undefined, undefined, options),
        { code: "cancelled" },
      );
      await made.toBlob();
      await turn();
      assert.equal(calls, 1, call);
    }
    await made.dispose();
  }
});

test("the client reads no further once cancelled, and tells what cannot be read", async (t) => {
  const made = await client.lower(mlp);
  let isCancelled = false;
  let isGone = false;
  t.mock.method(
    Blob.prototype,
    "stream",
    () =>
      new ReadableStream<Uint8Array>({
        pull: (queue) => {
          if (isGone) throw new Error("gone");
          queue.enqueue(new Uint8Array(9));
        },
        cancel: () => void (isCancelled = true),
      }),
  );
  const controller = new AbortController();
  const hanging = (): Promise<void> => {
    setTimeout(() => controller.abort(), 1);
    return new Promise(() => undefined);
  };
  const writing = made.writeTo(hanging, undefined, { signal: controller.signal });
  await assert.rejects(writing, { code: "cancelled" });
  await turn();
  assert.ok(isCancelled);
  isGone = true;
  for (const sink of [() => undefined, new WritableStream<Uint8Array>()])
    await assert.rejects(made.writeTo(sink), { code: "io", message: /to be written: gone$/ });
  await made.dispose();
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
