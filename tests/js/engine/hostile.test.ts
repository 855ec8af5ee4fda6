// Files that lie: cut short at many points, and with bytes changed at random. Every one either works
// or fails with a typed error, in bounded memory and instructions; nothing traps.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { createEngine, SconceError, SconcePanic, type Engine, type Program } from "sconce";
import { measured } from "../setup/memory.js";
import { modelPath, samplePath, zeros } from "../setup/reference.js";

const MUTATIONS = Number(process.env["SCONCE_MUTATIONS"] ?? 500);
/** Memory that the engine may have taken after all of them; a file that lies about a size wants gigabytes. */
const HEAP_MAX = 16 << 20;

/** Numbers in [0, 1) that are the same on every run. */
function randomSource(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    return (state >>> 0) / 4294967296;
  };
}

function runOnce(program: Program): void {
  const { methods } = program.inspect();
  for (const method of methods.slice(0, 4)) {
    const inputs = method.inputs.map((input) => {
      if (input.kind !== "tensor") return input.value ?? null;
      const bytes = Math.min(input.bytes ?? 0, 1 << 22);
      return zeros(input.dtype!, input.shape!, bytes);
    });
    program.run(method.name, inputs);
  }
}

/** Opens a file as what it claims to be and runs or lowers it. */
function attempt(engine: Engine, bytes: Uint8Array, kind: "pt2" | "pte"): void {
  try {
    if (kind === "pt2") engine.lower(bytes).dispose();
    else {
      const program = engine.load(bytes, { instructionMax: 100_000 });
      try {
        runOnce(program);
      } finally {
        program.dispose();
      }
    }
  } catch (error) {
    assert.ok(error instanceof SconceError, String(error));
    assert.ok(!(error instanceof SconcePanic), `the engine broke: ${error.message}`);
    assert.notEqual(error.hint, "", `no hint: ${error.message}`);
  }
}

async function lowered(path: string): Promise<Uint8Array> {
  const engine = await createEngine();
  const { buffer } = engine.lower({ path });
  engine.dispose();
  return buffer;
}

const FILES: [string, "pt2" | "pte", () => Promise<Uint8Array>][] = [
  ["mlp.pt2", "pt2", async () => readFileSync(modelPath("mlp.pt2"))],
  ["cond.pt2", "pt2", async () => readFileSync(modelPath("cond.pt2"))],
  ["encdec.package.pt2", "pt2", async () => readFileSync(modelPath("encdec.package.pt2"))],
  ["cnn.pte", "pte", () => lowered(modelPath("cnn.pt2"))],
  ["lstm.pte", "pte", () => lowered(modelPath("lstm.pt2"))],
];

for (const [name, kind, read] of FILES) {
  test(`${name} cut short anywhere is refused`, async (t) => {
    const [engine, heapBytes] = await measured(t);
    const whole = new Uint8Array(await read());
    for (let i = 0; i < 256; i++) {
      const cut = whole.slice(0, Math.floor((whole.length * i) / 256));
      attempt(engine, cut, kind);
    }
    assert.ok(heapBytes() < HEAP_MAX, `${heapBytes()} bytes`);
    engine.dispose();
  });
}

for (const [name, kind, read] of [FILES[0]!, FILES[4]!]) {
  test(`${name} with bytes changed never breaks the engine`, async (t) => {
    const [engine, heapBytes] = await measured(t);
    const whole = new Uint8Array(await read());
    const random = randomSource(7);
    for (let i = 0; i < MUTATIONS; i++) {
      const bytes = whole.slice();
      const edits = 1 + Math.floor(random() * 4);
      for (let k = 0; k < edits; k++) {
        const at = Math.floor(random() * bytes.length);
        bytes[at] =
          random() < 0.5
            ? Math.floor(random() * 256)
            : bytes[at]! ^ (1 << Math.floor(random() * 8));
      }
      attempt(engine, bytes, kind);
    }
    assert.ok(heapBytes() < HEAP_MAX, `${heapBytes()} bytes`);
    engine.dispose();
  });
}

test("a program without a file behind it is an error that says so", async () => {
  const engine = await createEngine();
  assert.throws(() => engine.lower({ path: samplePath("nothing.pt2") }), { code: "io" });
  engine.dispose();
});
