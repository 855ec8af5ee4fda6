// Several files at once: each is used, or named with the reason why it was not.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Page } from "playwright-core";
import { drop, dropModel, inRoot, lowered, npy, startHost, type Host } from "./browser.js";

let host: Host;
before(async () => (host = await startHost()));
after(() => host.close());

const model = (name: string): Uint8Array => readFileSync(inRoot(`tests/models/${name}`));
const official = (name: string): Uint8Array => model(`official/${name}`);

/** The files left out, as the cards say it. */
async function cards(page: Page, count: number): Promise<string> {
  await page
    .locator(".problem.is-warning")
    .nth(count - 1)
    .waitFor();
  const all = await page.locator(".problem").allInnerTexts();
  assert.equal(all.length, count, all.join("\n"));
  for (const hint of await page.locator(".problem-hint").allInnerTexts())
    assert.match(hint, /^[A-Z][a-z]+ .*\.$/);
  return all.join("\n");
}

test("of two programs the first is opened and the second named", async () => {
  const { page, close } = await host.visit();
  await dropModel(page, { "a.pte": official("mlp.pte"), "b.pte": official("linear.pte") });
  assert.match(await page.locator(".title").innerText(), /^a\.pte/);
  assert.match(await cards(page, 1), /b\.pte was left out: the page holds one program at a time/);
  await close();
});

test("beside a .pt2, programs, weights and strangers are named", async () => {
  const { page, close } = await host.visit();
  await dropModel(page, {
    "mlp.pt2": model("mlp.pt2"),
    "old.pte": official("mlp.pte"),
    "old.ptd": official("mlp_ptd.ptd"),
    "notes.txt": Buffer.from("no model at all"),
    "empty.bin": new Uint8Array(),
  });
  const text = await cards(page, 4);
  assert.match(text, /old\.pte was left out: it came with \.pt2 files/);
  assert.match(text, /old\.ptd was left out: a \.ptd holds weights only/);
  assert.match(text, /notes\.txt was left out: it is neither a \.pt2 nor a \.pte/);
  assert.match(text, /empty\.bin was left out/);
  await close();
});

test("weights come with their program or after it, and useless ones are named", async () => {
  const { page, close } = await host.visit();
  const pte = official("mlp_ptd.pte");
  const own = official("mlp_ptd.ptd");
  await drop(page, { "mlp.pte": pte });
  assert.match(
    await cards(page, 1),
    /keeps '[\w.]+' and \d+ more in a data file that was not given/,
  );
  await lowered(page);
  await page.keyboard.press("6");
  await page.locator(".run-go .primary").click();
  await page.getByText("Pass the .ptd files that belong to this .pte.").first().waitFor();
  await dropModel(page, { "mlp.ptd": own });
  await page.keyboard.press("6");
  await page.locator(".run-go .primary").click();
  await page.waitForSelector(".output");
  assert.equal(await page.locator(".problem").count(), 0);
  await drop(page, { "mlp.pte": pte, "mlp.ptd": own, "encdec.ptd": official("encdec_ptd.ptd") });
  assert.match(await cards(page, 1), /encdec\.ptd was left out: the program needs no weight in it/);
  await lowered(page);
  await close();
});

test("arrays go to the model that they came with, one to an input", async () => {
  const { page, close } = await host.visit({}, "#mlp");
  await page.waitForSelector(".output");
  const array = npy([2, 3], 0.5);
  await dropModel(page, {
    "x.npy": array,
    "y.npy": array,
    "z.npy": array,
    "add_mul.pt2": model("add_mul.pt2"),
    "face.png": readFileSync(inRoot("models/face-photo.320x240.png")),
  });
  await page.getByText("face.png was left out").first().waitFor();
  // Arrays are read and tried on the model after it is shown.
  await page.getByText("z.npy was left out").first().waitFor();
  await page.locator(".input .file").nth(1).waitFor();
  assert.match(await page.locator(".title").innerText(), /^add_mul/);
  assert.deepEqual(await page.locator(".input .file").allInnerTexts(), ["x.npy", "y.npy"]);
  const text = (await page.locator(".problem").allInnerTexts()).join("\n");
  assert.match(text, /z\.npy was left out: method 'forward' has no input for it/);
  await drop(page, { "broken.pt2": model("mlp.pt2").subarray(0, 99), "w.npy": array });
  await page.getByText("w.npy was left out: its model was not opened").first().waitFor();
  await close();
});

test("a folder without a model is named", async () => {
  const { page, faults, close } = await host.visit();
  const folder = mkdtempSync(join(tmpdir(), "models.pt2"));
  const session = await page.context().newCDPSession(page);
  const data = { items: [], files: [folder], dragOperationsMask: 1 };
  for (const type of ["dragEnter", "dragOver", "drop"] as const)
    await session.send("Input.dispatchDragEvent", { type, x: 200, y: 400, data });
  assert.match(await cards(page, 1), /was left out: it is a folder/);
  assert.equal(await page.locator(".drop-veil").count(), 0);
  rmSync(folder, { recursive: true });
  assert.deepEqual(faults, []);
  await close();
});
