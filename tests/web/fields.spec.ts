// Typed values: a fault is shown next to its field, with the range that would do, and no error of
// JavaScript's own is ever shown.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import type { Page } from "playwright-core";
import {
  drop,
  dropModel,
  inRoot,
  lowered,
  mlpWithBatch,
  startHost,
  written,
  type Host,
} from "./browser.js";

let host: Host;
before(async () => (host = await startHost()));
after(() => host.close());

const model = (name: string): Uint8Array => readFileSync(inRoot(`tests/models/${name}`));

async function open(page: Page, name: string): Promise<void> {
  await dropModel(page, { [name]: model(name) });
  await page.keyboard.press("6");
}

/** Runs the form and gives the message at the first field that is wrong. */
async function faultOf(page: Page, label: string, text: string): Promise<string> {
  await page.getByLabel(label).first().fill(text);
  assert.equal(await page.locator(".field-error").count(), 0);
  await page.locator(".run-go .primary").click();
  await page.waitForSelector(".field-error, .problem");
  assert.equal(await page.locator(".problem").count(), 0);
  const field = page.locator('.input [aria-invalid="true"]').first();
  const fault = await field.getAttribute("aria-describedby");
  return page.locator(`#${fault}`).innerText();
}

test("sizes beyond what a program declares are refused with the range", async () => {
  const { page, faults, close } = await host.visit();
  await open(page, "mlp_dyn.pt2");
  for (const sizes of ["99999999999, 16", "65, 16", "4, -1", "4.5, 16", "64", "1e400, 16"]) {
    const text = await faultOf(page, "sizes", sizes);
    assert.match(text, /is not a shape that this input can have/, sizes);
    assert.match(text, /Write 2 whole numbers, at most \[64, 16\]\./, sizes);
  }
  await page.getByLabel("sizes").fill("3, 16");
  await page.locator(".run-go .primary").click();
  await page.locator(".output").getByText("f32[3, 10]").waitFor();
  assert.deepEqual(faults, []);
  await close();
});

test("an input too large for a page is refused before it is made", async () => {
  const { page, faults, close } = await host.visit();
  await dropModel(page, { "large.pt2": mlpWithBatch(9_000_000) });
  await page.keyboard.press("6");
  const text = await faultOf(page, "sizes", "9000000, 16");
  assert.match(text, /takes 576.MB, and the page makes at most 537.MB\. Write smaller sizes\./);
  assert.deepEqual(faults, []);
  await close();
});

test("seeds are whole numbers in a range that is said", async () => {
  const { page, close } = await host.visit();
  await open(page, "mlp.pt2");
  for (const seed of ["-1", "1.5", "", "x", "1e3", "1000000000", "NaN"]) {
    const text = await faultOf(page, "seed", seed);
    assert.match(text, /is not a seed\. Write a whole number from 0 to 999,999,999\./, seed);
  }
  await page.getByLabel("seed").fill("999999999");
  await page.locator(".run-go .primary").click();
  await page.waitForSelector(".output");
  assert.equal(await page.locator(".field-error").count(), 0);
  await close();
});

test("numbers that a dtype or a scalar cannot hold are refused", async () => {
  const { page, close } = await host.visit();
  await open(page, "tinyformer.pt2");
  await page.locator(".input select").selectOption("numbers");
  assert.match(await faultOf(page, "Numbers", "1.5"), /elements of int64 are whole numbers from/i);
  assert.match(
    await faultOf(page, "Numbers", "1e300"),
    /elements of int64 are whole numbers from/i,
  );
  assert.match(await faultOf(page, "Numbers", "1 2 3"), /takes 24 numbers, not 3/);
  await open(page, "pytree_io.pt2");
  assert.match(await faultOf(page, "Input 7", "much"), /'much' is not a number/);
  await close();
});

test("constant methods are checked where they are written", async () => {
  const { page, close } = await host.visit();
  await open(page, "mlp.pt2");
  await page.keyboard.press("1");
  await page.locator(".settings summary").click();
  await page.getByPlaceholder("get_max_seq_len = 256").fill("get_answer 42");
  await page.getByText("'get_answer 42' is not a constant method. Write name = value").waitFor();
  assert.ok(await page.getByRole("button", { name: "Lower again" }).isDisabled());
  await page.getByPlaceholder("get_max_seq_len = 256").fill("get_answer = 9223372036854775808");
  await page.getByText("9223372036854775808 does not fit an integer of 64 bits").waitFor();
  await page.getByPlaceholder("get_max_seq_len = 256").fill("get_answer = 9223372036854775807");
  assert.ok(await page.getByRole("button", { name: "Lower again" }).isEnabled());
  await close();
});

test("weights go to the files that rules name", async () => {
  const { page, faults, close } = await host.visit();
  await open(page, "mlp.pt2");
  await page.keyboard.press("1");
  await page.locator(".settings summary").click();
  assert.equal(await page.getByPlaceholder("all, in one file").count(), 0);
  await page.getByLabel("Store weights in separate .ptd files").check();
  const rules = page.getByPlaceholder("all, in one file");
  const again = page.getByRole("button", { name: "Lower again" });
  for (const wrong of ["fc1", "=first", "fc1.*=a/b"]) {
    await rules.fill(wrong);
    assert.ok(await again.isDisabled(), wrong);
  }
  await rules.fill("fc1.*=first, *.bias=, *=rest");
  await again.click();
  await lowered(page);
  const names: string[] = [];
  page.on("download", (download) => names.push(download.suggestedFilename()));
  await page
    .getByRole("button", { name: /^Save the program|^Save \.pte/ })
    .first()
    .click();
  for (let i = 0; i < 100 && names.length < 3; i++) await page.waitForTimeout(50);
  assert.deepEqual(names.sort(), ["first.ptd", "mlp.pte", "rest.ptd"]);
  assert.deepEqual(faults, []);
  await close();
});

const symbolic = (name: string): Uint8Array => readFileSync(inRoot(`tests/symbolic/${name}`));

test("sizes without a maximum are asked for, and the program holds them", async () => {
  const { page, faults, close } = await host.visit();
  await drop(page, { "slices.pt2": symbolic("slices.pt2") });
  const card = page.locator(".problem").first();
  await card.waitFor();
  assert.match(await card.innerText(), /dimension 0 of input 'args_0' .* has no maximum/);
  await page.locator(".settings summary").click();
  assert.ok(await page.getByLabel("Largest args_0.0").isHidden());
  await page.keyboard.press("t");
  await card.getByRole("button", { name: "Give largest sizes" }).click();
  const [rows, columns] = [
    page.getByLabel("Largest args_0.0"),
    page.getByLabel("Largest args_0.1"),
  ];
  await rows.waitFor();
  assert.ok(await rows.evaluate((field) => field === document.activeElement));
  assert.match(await page.locator(".settings").innerText(), /symbol s50, .* 10 in the example/);
  await rows.fill("0");
  await page.getByText("Largest sizes must be positive whole numbers").waitFor();
  assert.ok(await page.getByRole("button", { name: "Lower again" }).isDisabled());
  await rows.fill("8");
  await columns.fill("9");
  await page.keyboard.press("Enter");
  await card.getByText("below the size of the example input, 10").waitFor();
  await columns.fill("20");
  await page.keyboard.press("Enter");
  await lowered(page);
  assert.equal(await columns.inputValue(), "20");
  await page.keyboard.press("Escape");
  await page.keyboard.press("6");
  assert.match(await faultOf(page, "sizes", "9, 20, 12"), /at most \[8, 20, 12\]/);
  assert.deepEqual(faults, []);
  await close();
});

test("a symbol that is no input's size is asked for by its own name", async () => {
  const { page, faults, close } = await host.visit();
  for (const [file, symbol, words] of [
    ["counted.pt2", "u0", /symbol u0, .* maximum; seen in full\.0$/m],
    ["triples.pt2", "s65", /symbol s65, .* maximum; seen in args_0\.0; 2 in the example/],
  ] as const) {
    await drop(page, { [file]: symbolic(file) });
    const card = page.locator(".problem").first();
    await card.getByRole("button", { name: "Give largest sizes" }).click();
    assert.equal(await page.locator("[data-bound]").count(), 1);
    const field = page.getByLabel(`Largest ${symbol}`);
    await field.fill("4");
    assert.match(await page.locator(".settings").innerText(), words);
    await page.keyboard.press("Enter");
    await lowered(page);
    await page.keyboard.press("Escape");
  }
  await page.keyboard.press("6");
  assert.match(await faultOf(page, "sizes", "15, 12"), /at most \[12, 12\]/);
  assert.deepEqual(faults, []);
  await close();
});

test("sizes of several methods keep their maxima when methods are renamed", async () => {
  const { page, faults, close } = await host.visit();
  await drop(page, { "slices.pt2": symbolic("slices.pt2"), "halves.pt2": symbolic("halves.pt2") });
  await page.locator(".problem").first().waitFor();
  const fields = page.locator("[data-bound]");
  assert.equal(await fields.count(), 4);
  for (const [i, max] of ["8", "20", "16", "40"].entries()) await fields.nth(i).fill(max);
  await page.getByLabel("Method name of slices.pt2").fill("half");
  await page.getByLabel("Method name of slices.pt2").fill("halves");
  await page.getByText("Two methods have the same name.").waitFor();
  await page.getByLabel("Method name of slices.pt2").fill("first");
  await page.getByRole("button", { name: "Lower again" }).click();
  await lowered(page);
  const values = await fields.evaluateAll((list) =>
    list.map((field) => [
      (field as HTMLInputElement).dataset["bound"],
      (field as HTMLInputElement).value,
    ]),
  );
  const names = await page.locator("[role=tab], .tabs button").allInnerTexts();
  assert.ok(names.join().includes("first"));
  assert.deepEqual(
    new Map(values as [string, string][]),
    new Map([
      ["first:s33", "8"],
      ["first:s50", "20"],
      ["halves:s33", "16"],
      ["halves:s50", "40"],
    ]),
  );
  assert.deepEqual(faults, []);
  await close();
});

test("a beginning that is too long is refused beside it, and the old story goes", async () => {
  const { page, faults, close } = await host.visit({}, "#story");
  await written(page);
  for (const prompt of ["word ".repeat(190), "a".repeat(100_000)]) {
    await page.getByLabel("Go on from").fill(prompt);
    assert.equal(await page.locator(".field-error").count(), 0);
    await page.keyboard.press("Enter");
    const fault = page.locator("#talk-fault");
    await fault.waitFor();
    assert.match(await fault.innerText(), / (tokens|characters), and the context holds 256/);
    assert.equal(await page.locator(".story-text").innerText(), "The text will appear here.");
    assert.match(await page.locator(".spine .step").nth(5).innerText(), /^Run\s+ready$/);
    assert.equal(await page.locator(".problem").count(), 0);
  }
  await page.getByLabel("Go on from").fill("Tom");
  await page.keyboard.press("Enter");
  await written(page);
  assert.match(await page.locator(".story-text").innerText(), /^Tom/);
  assert.deepEqual(faults, []);
  await close();
});
