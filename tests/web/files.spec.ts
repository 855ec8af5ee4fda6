// Files that people bring: one, several, damaged ones, ones that cannot be lowered; and what can be
// changed, cancelled, and called.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { createEngine } from "sconce";
import { deflated, linearOf } from "../js/setup/zip.js";
import {
  downloaded,
  drop,
  dropModel,
  inRoot,
  lowered,
  npy,
  startHost,
  type Host,
} from "./browser.js";

let host: Host;
before(async () => (host = await startHost()));
after(() => host.close());

const model = (name: string): Uint8Array => readFileSync(inRoot(`tests/models/${name}`));

test("a damaged file becomes a card that says what to do", async () => {
  const { page, faults, close } = await host.visit();
  await drop(page, { "broken.pt2": model("mlp.pt2").subarray(0, 9000) });
  const card = page.locator(".problem");
  await card.waitFor();
  assert.match(await card.locator(".problem-message").innerText(), /zip/);
  assert.match(await card.locator(".problem-hint").innerText(), /^[A-Z][a-z]+ .*\.$/);
  assert.match(await page.locator(".step.is-failed").innerText(), /Source\s+failed/);
  await drop(page, { "notes.txt": Buffer.from("no model at all") });
  await card.getByText("notes.txt was left out: it is neither a .pt2 nor a .pte").waitFor();
  // It is not a dead end: the next file works.
  await dropModel(page, { "mlp.pt2": model("mlp.pt2") });
  assert.equal(await page.locator(".problem").count(), 0);
  assert.deepEqual(faults, []);
  await close();
});

test("an operator that cannot be lowered is named with the author's own line", async () => {
  const { page, close } = await host.visit();
  const custom = readFileSync(inRoot("tests/import/custom.pt2"));
  await drop(page, { "custom.pt2": custom });
  const card = page.locator(".problem").first();
  await card.waitFor();
  const text = await card.innerText();
  assert.match(text, /my::two/);
  assert.match(text, /model\.py:1 in forward/);
  assert.match(text, /Return one tensor, or several/);
  await card.locator(".where button").click();
  await page.waitForSelector(".row.is-selected");
  assert.match(await page.locator(".inspector").innerText(), /my::two/);
  await close();
});

test("several files become methods with names of one's own", async () => {
  const { page, close } = await host.visit();
  await dropModel(page, {
    "net.first.pt2": model("mlp.pt2"),
    "net.second.pt2": model("linear.pt2"),
  });
  const tabs = page.locator(".methods .tab");
  assert.deepEqual(await tabs.allInnerTexts(), ["first", "second"]);
  assert.match(await page.locator(".title").innerText(), /^net/);
  await page.getByLabel("Method name of net.second.pt2").fill("first");
  await page.getByText("Two methods have the same name.").waitFor();
  await page.getByLabel("Method name of net.second.pt2").fill("other");
  await page.getByPlaceholder("get_max_seq_len = 256").fill("get_answer = 42");
  await page.getByRole("button", { name: "Lower again" }).click();
  await page.locator('.tab[data-method="get_answer"]').waitFor();
  assert.deepEqual(await tabs.allInnerTexts(), ["first", "other", "get_answer"]);
  await page.keyboard.press("6");
  await page.locator('.tab[data-method="get_answer"]').click();
  await page.locator(".run-go .primary").click();
  assert.equal(await page.locator(".output .scalar").innerText(), "42");
  await close();
});

test("a program of a backend that is not here is shown, and not offered to run", async () => {
  const { page, faults, close } = await host.visit();
  const pte = readFileSync(inRoot("tests/data/pte/linear.xnnpack.pte"));
  pte.write("NobodysBackend", pte.indexOf("XnnpackBackend"));
  await drop(page, { "d.pte": pte });
  const run = page.locator('.step[data-step="run"]');
  await run.getByText("not possible here").waitFor();
  assert.equal(await page.locator('.step.is-done[data-step="run"]').count(), 0);
  await page.keyboard.press("6");
  await page.getByText(/It cannot run here: .* NobodysBackend, which this .*\. Lower /).waitFor();
  assert.ok(await page.locator(".run-go .primary").isDisabled());
  await page.keyboard.press("5");
  const parts = (await page.locator(".parts li").allInnerTexts()).map((t) =>
    t.replace(/\s+/g, " "),
  );
  assert.match(
    parts.join("; "),
    /Delegates .* ahead of time: NobodysBackend 720 B .*; Named data .* 544 B/,
  );
  assert.deepEqual(faults, []);
  await close();
});

test("a program is saved under the name of its model", async () => {
  const { page, close } = await host.visit();
  await dropModel(page, { "модель v2.1.pt2": model("mlp.pt2") });
  const download = page.waitForEvent("download");
  await page.getByText("Save .pte").first().click();
  assert.equal((await download).suggestedFilename(), "модель_v2_1.pte");
  await close();
});

test("a .pte is looked at and run, with numbers of one's own", async () => {
  const engine = await createEngine();
  const { buffer } = engine.lower({ path: inRoot("tests/models/add_mul.pt2") });
  const [info] = engine.load(buffer).inspect().methods;
  const { page, close } = await host.visit();
  await dropModel(page, { "add_mul.pte": buffer });
  assert.match(await page.locator(".parts").innerText(), /Program/);
  assert.ok(await page.locator(".step button").first().isDisabled());
  const saved = await downloaded(page, () => page.getByText("Save .pte").first().click());
  assert.ok(saved.equals(buffer));
  await page.keyboard.press("6");
  const fields = page.locator(".input select");
  assert.equal(await fields.count(), info!.inputs.length);
  for (const field of await fields.all()) await field.selectOption("numbers");
  for (const box of await page.getByLabel("Numbers").all()) await box.fill("1, 2, x");
  await page.locator(".run-go .primary").click();
  assert.match(await page.locator(".field-error").first().innerText(), /not all numbers/);
  for (const box of await page.getByLabel("Numbers").all()) await box.fill("2");
  await page.getByLabel("times").selectOption("10");
  await page.locator(".run-go .primary").click();
  await page.getByText("10 runs: median").waitFor();
  assert.match(await page.locator(".output").innerText(), /NaN\s+none/);
  engine.dispose();
  await close();
});

test("an array that is dropped becomes the input", async () => {
  const { page, close } = await host.visit({}, "#mlp");
  await page.waitForSelector(".output", { timeout: 60_000 });
  const values = page.locator(".first li");
  const before = await values.first().innerText();
  await drop(page, { "x.npy": npy([4, 16], 0.25) });
  await page.getByText("x.npy").waitFor();
  await page.locator(".run-go .primary").click();
  await page.waitForFunction(
    (old) => document.querySelector(".first li")?.textContent !== old,
    before,
  );
  const after = await values.allInnerTexts();
  // Four equal rows give four equal rows.
  assert.deepEqual(after.slice(0, 10), after.slice(10, 20));
  await drop(page, { "y.npy": npy([2, 2], 0) });
  await page.locator(".run-go .primary").click();
  await page.locator(".problem-hint").waitFor();
  await close();
});

test("cancelling ends the work at once, and the next run works", async () => {
  const { page, faults, close } = await host.visit({}, "#face");
  await page.waitForSelector(".picture rect", { timeout: 120_000 });
  await page.locator(".run-form summary").click();
  await page.getByLabel("times").selectOption("1000");
  await page.locator(".run-go .primary").click();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.locator(".busy").waitFor({ state: "detached" });
  assert.equal(await page.locator(".problem").count(), 0);
  await page.getByLabel("times").selectOption("1");
  await page.locator(".run-go .primary").click();
  await page.waitForSelector(".output", { timeout: 60_000 });
  assert.deepEqual(faults, []);
  await close();
});

test("a lowering that was cancelled can be started again", async () => {
  const { page, close } = await host.visit();
  // The model never arrives, so that the job is surely under way when it is cancelled.
  await page.route(/mlp\.pt2$/, () => undefined);
  await page.getByRole("button", { name: "Three layers" }).click();
  await page.locator(".busy").waitFor();
  await page.keyboard.press("Escape");
  await page.locator(".busy").waitFor({ state: "detached" });
  await page.unroute(/mlp\.pt2$/);
  await page.getByRole("button", { name: "Lower it again" }).click();
  await lowered(page);
  await close();
});

test("permuting weights for the file is shown, and can be cancelled", async () => {
  const { page, faults, close } = await host.visit();
  const large = linearOf(new Float32Array(3000 * 3000), 3000);
  await page.evaluate(() => {
    const seen = ((globalThis as { seen?: string[] }).seen = [] as string[]);
    const look = (): void => {
      const bar = document.querySelector<HTMLProgressElement>(".busy progress");
      if (bar) seen.push(`${document.querySelector(".busy")!.textContent} ${bar.position}`);
    };
    new MutationObserver(look).observe(document.body, {
      subtree: true,
      childList: true,
      attributes: true,
      characterData: true,
    });
  });
  await dropModel(page, { "large.pt2": large });
  const seen = await page.evaluate(() => (globalThis as { seen?: string[] }).seen!.join("; "));
  assert.match(seen, /Writing the program\s*writing the file.* 0\.\d/);
  const cancelled = page.evaluate(
    () =>
      new Promise<void>((resolve) => {
        new MutationObserver((_, observer) => {
          const busy = document.querySelector(".busy");
          if (!/writing the file/.test(busy?.textContent ?? "")) return;
          observer.disconnect();
          busy!.querySelector("button")!.click();
          resolve();
        }).observe(document.body, { subtree: true, childList: true, characterData: true });
      }),
  );
  await drop(page, { "large.pt2": large });
  await cancelled;
  await page.locator(".busy").waitFor({ state: "detached" });
  assert.equal(await page.locator('.step.is-done[data-step="run"]').count(), 0);
  // The next one works, whether the worker was ended or had come to its end.
  await dropModel(page, { "mlp.pt2": model("mlp.pt2") });
  assert.deepEqual(faults, []);
  await close();
});

test("a compressed .pt2 gives the same .pte as the stored one", async () => {
  const engine = await createEngine();
  const { buffer } = engine.lower({ path: inRoot("tests/models/mlp.pt2") });
  const { page, close } = await host.visit();
  await dropModel(page, { "mlp.pt2": deflated("mlp.pt2") });
  const saved = await downloaded(page, () => page.getByText("Save .pte").first().click());
  assert.ok(saved.equals(buffer));
  await close();
});
