// Files that a browser holds: what is read of them, and that it is right wherever ranges lie. Node
// has Blobs but no synchronous reader, so the reader is one over the bytes that the Blob was made
// of.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { createEngine, type Engine } from "sconce";
import { modelPath, samplePath } from "./reference.js";

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

test("a Blob that ends early is an error, not zeros", () => {
  const bytes = new Uint8Array(readFileSync(samplePath("face-rfb320.pt2")));
  const blob = new FileBlob(bytes);
  const whole = blob.slice.bind(blob);
  blob.slice = (begin, end) => whole(begin, Math.min(end ?? Infinity, 900_000));
  assert.throws(() => engine.lower(blob).buffer, { code: "io" });
});
