// The seed of a program that draws random numbers: which ones, in the engine and across a worker.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { createClient, createEngine, tensor, type Engine, type LoadOptions } from "sconce";
import { failure } from "../setup/failure.js";
import { modelPath } from "../setup/reference.js";

const random = readFileSync(modelPath("../emit/random.pte"));
const zeros = tensor(new Float32Array(4));
let engine: Engine;
before(async () => (engine = await createEngine()));
after(() => engine.dispose());

/** Two draws one after the other. */
function draws(options: LoadOptions): unknown[] {
  const program = engine.load(random, options);
  const drawn = [program.run("draw", [zeros]), program.run("draw", [zeros])];
  program.reset();
  assert.deepEqual(program.run("draw", [zeros]), drawn[0]);
  program.dispose();
  return drawn;
}

test("the same seed draws the same numbers, and another one others", () => {
  assert.deepEqual(draws({ seed: 5 }), draws({ seed: 5 }));
  assert.deepEqual(draws({ seed: 0 }), draws({}));
  const seeds = [0, 1, 2, 5, Number.MAX_SAFE_INTEGER];
  const first = seeds.map((seed) => JSON.stringify(draws({ seed })[0]));
  assert.equal(new Set(first).size, seeds.length);
});

test("rewriting a program changes nothing of what it draws", () => {
  assert.deepEqual(draws({ seed: 3, optimize: false }), draws({ seed: 3 }));
});

test("a worker draws the same", async () => {
  const client = await createClient();
  const program = await client.load(random, { seed: 5 });
  assert.deepEqual(await program.run("draw", [zeros]), draws({ seed: 5 })[0]);
  client.terminate();
});

test("a seed is a whole number, 0 or more", () => {
  for (const seed of [-1, 0.5, NaN, 2 ** 53, "1"] as never[]) {
    const { code, message } = failure(() => engine.load(random, { seed }));
    assert.equal(code, "option");
    assert.match(message, /'seed' of load\(\) must be a whole number, 0 or more/);
  }
});
