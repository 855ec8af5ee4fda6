// Limits that the page tells early: programs that cannot fit into memory, and machines that have little.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { createEngine } from "sconce";
import { drop, dropModel, inRoot, startHost, type Host } from "./browser.js";

let host: Host;
let program: Buffer;
let planned: number;
before(async () => {
  host = await startHost();
  const engine = await createEngine();
  const lowered = engine.lower(readFileSync(inRoot("tests/models/cnn.pt2")));
  program = Buffer.from(lowered.buffer);
  [planned] = engine.load(lowered).inspect().methods[0]!.plannedBytes as [number];
});
after(() => host.close());

test("a program that plans more memory than there can be is refused with the numbers", async () => {
  const { page, faults, close } = await host.visit();
  const wrong = Buffer.from(program);
  for (let at = 0; at + 8 <= wrong.length; at += 8)
    if (wrong.readBigUInt64LE(at) === BigInt(planned)) wrong.writeBigUInt64LE(5_000_000_000n, at);
  await drop(page, { "large.pte": wrong });
  const card = page.locator(".problem");
  await card.waitFor();
  const text = await card.innerText();
  assert.match(text, /method 'forward' needs 5\.00 GB of memory at least, .* can have 4\.29 GB/);
  assert.match(text, /Quantize the model/);
  // The page goes on with another one.
  await dropModel(page, { "cnn.pte": program });
  assert.equal(await card.count(), 0);
  assert.deepEqual(faults, []);
  await close();
});

test("a machine with little memory is a warning, and the program runs", async () => {
  const { page, faults, close } = await host.visit();
  await page.evaluate(() => Object.defineProperty(navigator, "deviceMemory", { value: 1e-4 }));
  await dropModel(page, { "cnn.pte": program });
  const card = page.locator(".problem");
  await card.waitFor();
  assert.match(await card.innerText(), /the program takes about .*, and this machine has about/);
  await page.keyboard.press("6");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.locator(".output").first().waitFor();
  assert.deepEqual(faults, []);
  await close();
});
