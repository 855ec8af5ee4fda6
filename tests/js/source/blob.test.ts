// Files that a browser holds: what is read of them, and that it is right wherever ranges lie. Node
// has Blobs but no synchronous reader, so the reader is one over the bytes that the Blob was made
// of.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { createEngine, tensor, type Engine, type Tensor } from "sconce";
import { modelPath, samplePath } from "../setup/reference.js";
import { linearOf } from "../setup/zip.js";

const global = globalThis as { FileReaderSync?: unknown };
let engine: Engine;
let reads: number[] = [];

/** A Blob of these bytes whose slices know where they lie. */
class FileBlob extends Blob {
  constructor(private readonly held: Uint8Array<ArrayBuffer>) {
    super([held]);
  }
  override slice(begin = 0, end = this.held.length): Blob {
    return new FileBlob(this.held.slice(begin, end));
  }
  content(): ArrayBuffer {
    reads.push(this.held.length);
    return this.held.buffer;
  }
}

before(async () => {
  engine = await createEngine();
  global.FileReaderSync = class {
    readAsArrayBuffer(blob: FileBlob): ArrayBuffer {
      return blob.content();
    }
  };
});
after(() => {
  delete global.FileReaderSync;
  engine.dispose();
});

test("a Blob lowers to the bytes of its file, whatever ranges cross", () => {
  for (const path of [modelPath("mlp.pt2"), samplePath("face-rfb320.pt2")]) {
    const bytes = new Uint8Array(readFileSync(path));
    const lowered = engine.lower(new FileBlob(bytes));
    assert.deepEqual(lowered.buffer, engine.lower(bytes).buffer);
    lowered.dispose();
  }
});

test("no part of a Blob is read over and over", () => {
  const bytes = new Uint8Array(readFileSync(samplePath("face-rfb320.pt2")));
  reads = [];
  const lowered = engine.lower(new FileBlob(bytes));
  assert.ok(lowered.buffer.length > 0);
  lowered.dispose();
  const total = reads.reduce((sum, length) => sum + length, 0);
  assert.ok(total > 0 && total < 2 * bytes.length, `${total} bytes of ${bytes.length} were read`);
});

test("a weight is transposed while the Blob of the program is made", async () => {
  const columns = 2100;
  const weights = Float32Array.from({ length: 2000 * columns }, (_, i) => i);
  const lowered = engine.lower(new FileBlob(linearOf(weights, columns)));
  reads = [];
  const program = Buffer.from(await lowered.toBlob().arrayBuffer());
  const total = reads.reduce((sum, length) => sum + length, 0);
  assert.ok(total < 1.1 * weights.byteLength, `${total} of ${weights.byteLength} bytes were read`);
  assert.ok(Buffer.from(lowered.buffer).equals(program));
  lowered.dispose();
  const loaded = engine.load(new Uint8Array(program));
  const data = new Float32Array(4 * columns);
  data[0] = data[columns + 7] = 1;
  const [output] = loaded.run("forward", [tensor(data, [4, columns])]) as [Tensor];
  loaded.dispose();
  for (const [row, column] of [
    [0, 0],
    [1, 7],
  ] as const)
    for (const i of [0, 1, 1999])
      assert.equal(output.data[row * 2000 + i], weights[i * columns + column]);
});

test("weights of a Blob are permuted in few passes and long reads", () => {
  const columns = 3001;
  const weights = Float32Array.from({ length: 7000 * columns }, (_, i) => i);
  const lowered = engine.lower(new FileBlob(linearOf(weights, columns)));
  reads = [];
  let at = 0;
  lowered.writeSync((piece) => (at += piece.length));
  const total = reads.reduce((sum, length) => sum + length, 0);
  assert.ok(total < 2.3 * weights.byteLength, `${total} of ${weights.byteLength} bytes were read`);
  assert.ok(reads.length < 20, `${reads.length} reads`);
  assert.equal(at, lowered.size);
  lowered.dispose();
});

test("a Blob that ends early is an error, not zeros", () => {
  const bytes = new Uint8Array(readFileSync(samplePath("face-rfb320.pt2")));
  const blob = new FileBlob(bytes);
  const whole = blob.slice.bind(blob);
  blob.slice = (begin, end) => whole(begin, Math.min(end ?? Infinity, 900_000));
  assert.throws(() => engine.lower(blob).buffer, { code: "io" });
});
