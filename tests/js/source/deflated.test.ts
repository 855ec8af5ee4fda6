// Archives whose entries are compressed, as a zip tool leaves them: the same .pte as from the stored
// ones, whichever way they are inflated. And archives that lie about what they inflate to.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test, type TestContext } from "node:test";
import zlib, { deflateRawSync } from "node:zlib";
import { createClient, createEngine, SconceError, SconcePanic, type Engine } from "sconce";
import { modelPath } from "../setup/reference.js";
import { deflated, writeZip, type Entry } from "../setup/zip.js";

let engine: Engine;
before(async () => (engine = await createEngine()));
after(() => engine.dispose());

const twins = ["mlp.pt2", "encdec.package.pt2", "counter_buffer.pt2"];
for (const name of twins) {
  const stored = (): Uint8Array => {
    const lowered = engine.lower({ path: modelPath(name) });
    const { buffer } = lowered;
    lowered.dispose();
    return buffer;
  };

  test(`the deflated twin of ${name} gives the same bytes in the engine`, async () => {
    const twin = deflated(name);
    assert.ok(twin.length < readFileSync(modelPath(name)).length);
    const lowered = engine.lower(twin);
    assert.deepEqual(lowered.buffer, stored());
    assert.deepEqual(new Uint8Array(await lowered.toBlob().arrayBuffer()), stored());
    lowered.dispose();
    assert.equal(engine.inspect(twin).stages[0]!.methods.length > 0, true);
  });

  test(`and through inflate, which needs no node:zlib`, async () => {
    const inflated = await engine.inflate(deflated(name));
    assert.ok("entries" in (inflated as object));
    const lowered = engine.lower(inflated);
    assert.deepEqual(lowered.buffer, stored());
    lowered.dispose();
  });

  test(`and in the client`, async () => {
    const client = await createClient();
    const lowered = await client.lower(deflated(name));
    assert.deepEqual(await lowered.buffer, stored());
    client.terminate();
  });
}

test("a file is inflated from where it lies", () => {
  const folder = mkdtempSync(join(tmpdir(), "sconce-deflated-"));
  const path = join(folder, "mlp.pt2");
  writeFileSync(path, deflated("mlp.pt2"));
  const methods = { a: { path }, b: { path: modelPath("mlp.pt2") } };
  const lowered = engine.lower(methods);
  assert.deepEqual([...lowered.methods].sort(), ["a", "b"]);
  const once = engine.lower({ path });
  assert.ok(lowered.size < once.size * 1.5, "weights of both are stored once");
  for (const owner of [lowered, once]) owner.dispose();
  rmSync(folder, { recursive: true });
});

test("inflate reads a Blob where nothing else can", async () => {
  for (const bytes of [deflated("mlp.pt2"), readFileSync(modelPath("mlp.pt2"))]) {
    const blob = new Blob([bytes as BlobPart]);
    for (const programs of [blob, { forward: blob }]) {
      const lowered = engine.lower(await engine.inflate(programs));
      assert.deepEqual([...lowered.methods], ["forward"]);
      lowered.dispose();
    }
  }
  await assert.rejects(engine.inflate({ a: new Blob(["no"]), b: null as never }), {
    code: "argument",
  });
});

test("inflate leaves everything else as it is", async () => {
  const source = { path: modelPath("mlp.pt2") };
  assert.equal(await engine.inflate(source), source);
  const bytes = new Uint8Array(100);
  assert.deepEqual(await engine.inflate({ a: source, b: bytes }), { a: source, b: bytes });
  await assert.rejects(engine.inflate(null as never), { code: "argument" });
});

test("hosts without node:zlib are told what to do", () => {
  const host = process as { getBuiltinModule?: unknown };
  const { getBuiltinModule } = host;
  host.getBuiltinModule = undefined;
  try {
    assert.throws(
      () => engine.lower(deflated("mlp.pt2")),
      (error) =>
        error instanceof SconceError &&
        error.code === "compressed" &&
        /engine\.inflate/.test(error.hint),
    );
  } finally {
    host.getBuiltinModule = getBuiltinModule;
  }
});

const isModel = (entry: Entry): boolean => entry.name.toString().endsWith("models/model.json");
/** The twin of mlp with one entry changed. */
const lying = (change: (entry: Entry) => Partial<Entry>): Uint8Array<ArrayBuffer> =>
  deflated("mlp.pt2", (entry) => (isModel(entry) ? { ...entry, ...change(entry) } : entry));
const bomb = deflateRawSync(Buffer.alloc(64 << 20));

const LIES: [what: string, code: string, (entry: Entry) => Partial<Entry>][] = [
  ["holds more than it claims", "corrupt", ({ size }) => ({ size: size - 1 })],
  ["holds less than it claims", "corrupt", ({ size }) => ({ size: size + 1 })],
  ["claims nothing", "corrupt", () => ({ size: 0 })],
  ["claims more than deflate can hold", "limit", () => ({ size: 0xfffffff0 })],
  ["is a bomb that claims little", "corrupt", ({ size }) => ({ size, data: bomb })],
  [
    "is a bomb that claims much",
    "limit",
    () => ({ size: (1 << 30) + 1, data: Buffer.alloc(2 << 20) }),
  ],
  ["has another CRC", "corrupt", ({ crc }) => ({ crc: (crc ^ 1) >>> 0 })],
  ["is not a deflate stream", "corrupt", ({ data }) => ({ data: Buffer.alloc(data.length, 0xff) })],
  ["is cut short", "corrupt", ({ data }) => ({ data: data.subarray(0, data.length / 2) })],
  ["is compressed by another method", "unsupported", () => ({ method: 12 })],
];
/** Counts the bytes that both ways of inflating make, the bytes that they may make at the most. */
function counting(t: TestContext): { bytes: number } {
  const made = { bytes: 0 };
  const { inflateRawSync } = zlib;
  t.mock.method(zlib, "inflateRawSync", (data: Buffer, options: { maxOutputLength: number }) => {
    made.bytes += options.maxOutputLength;
    return inflateRawSync(data, options);
  });
  const Inflater = DecompressionStream;
  class Counted {
    readonly writable;
    readonly readable;
    constructor(format: "deflate-raw") {
      const { writable, readable } = new Inflater(format);
      const count = new TransformStream<Uint8Array, Uint8Array>({
        transform(part, queue) {
          made.bytes += part.length;
          queue.enqueue(part);
        },
      });
      this.writable = writable;
      this.readable = readable.pipeThrough(count);
    }
  }
  globalThis.DecompressionStream = Counted as unknown as typeof DecompressionStream;
  t.after(() => (globalThis.DecompressionStream = Inflater));
  return made;
}

/** Twice the file as it is, and what a stream holds back; the bomb is many times as much. */
const INFLATED_MAX = 2 * readFileSync(modelPath("mlp.pt2")).length + (1 << 20);

for (const [what, code, change] of LIES) {
  test(`an entry that ${what} is an error of the kind ${code}`, async (t) => {
    const twin = lying(change);
    const made = counting(t);
    for (const attempt of [
      () => engine.lower(twin),
      async () => engine.lower(await engine.inflate(twin)),
    ]) {
      let error: unknown;
      try {
        await attempt();
      } catch (caught) {
        error = caught;
      }
      assert.ok(error instanceof SconceError && !(error instanceof SconcePanic), String(error));
      assert.equal(error.code, code, error.message);
      assert.notEqual(error.hint, "");
    }
    assert.ok(made.bytes < INFLATED_MAX, `${made.bytes} bytes`);
    engine.lower({ path: modelPath("mlp.pt2") }).dispose();
  });
}

test("what no import reads is not inflated", async () => {
  const extra = { name: Buffer.from("mlp/extra/notes"), crc: 0, method: 8, size: 1 << 29 };
  const twin = deflated("mlp.pt2", (entry) => entry, [{ ...extra, data: bomb }]);
  const lowered = engine.lower(twin);
  const inflated = await engine.inflate(twin);
  assert.deepEqual(engine.lower(inflated).buffer, lowered.buffer);
  assert.ok("entries" in (inflated as object));
});

test("a compressed zip that is not a .pt2 is not inflated", () => {
  const other = writeZip([
    { name: Buffer.from("word/document.xml"), crc: 0, method: 8, size: 1 << 29, data: bomb },
  ]);
  assert.throws(() => engine.lower(other), { code: "format", message: /not a \.pt2/ });
});
