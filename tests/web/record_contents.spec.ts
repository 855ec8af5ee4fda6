// Contents of a record apart from its graphs, its inputs for a run, saving it, and records that do
// not belong to the open program.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import type { Page } from "playwright-core";
import { createEngine, type Engine, type Tensor } from "sconce";
import { downloaded, drop, inRoot, lowered, misplaced, startHost, type Host } from "./browser.js";

let host: Host;
let engine: Engine;
before(async () => {
  [host, engine] = [await startHost(), await createEngine()];
});
after(async () => {
  engine.dispose();
  await host.close();
});

const bytes = (name: string): Buffer => readFileSync(inRoot(`tests/data/etdump/${name}`));
const model = (name: string): { path: string } => ({ path: inRoot(`tests/models/${name}`) });

const press = (page: Page, name: string): Promise<void> =>
  page.getByRole("button", { name, exact: true }).first().click();

const cells = (page: Page, column: string): Promise<string[]> =>
  page.locator(`.sorted-table .row:not(.head) .of-${column}`).allInnerTexts();

const problems = (page: Page): Promise<string[]> =>
  page.locator(".problem-message").allInnerTexts();

const showStep = (page: Page, step: string): Promise<void> =>
  page.locator(`.step[data-step="${step}"] button`).click();

test("the record of what was lowered here is saved, with weights and without", async () => {
  const { page, faults, close } = await host.visit({}, "#mlp");
  await lowered(page);
  await showStep(page, "program");
  const weights = (file: Buffer): boolean[] => {
    const record = engine.parseEtrecord(file);
    const found = record.inspect().programs.map(({ hasWeights }) => hasWeights);
    assert.ok(record.maps().debugHandleMap!["forward"]);
    record.dispose();
    return found;
  };
  const whole = await downloaded(page, () => press(page, "Save .etrecord"));
  assert.deepEqual(weights(whole), [true, true]);
  await page.getByLabel("without weights").check();
  const light = await downloaded(page, () => press(page, "Save .etrecord"));
  assert.deepEqual(weights(light), [false, false]);
  assert.ok(light.length < whole.length);
  assert.deepEqual(faults, []);
  await close();
});

test("a program's memory plan is shown, with the names that the record knows", async () => {
  const made = engine.lower(model("mlp.pt2"), { etrecord: true });
  const [pte, etrecord] = [Buffer.from(made.buffer), Buffer.from(made.etrecord.bytes())];
  const inspector = engine.inspector({ program: pte, etrecord });
  const [plan] = inspector.memory();
  const { page, faults, close } = await host.visit();
  await drop(page, { "mlp.pte": pte });
  await lowered(page);
  await showStep(page, "program");
  await page.keyboard.press("m");
  const canvas = page.locator(".memory canvas");
  await canvas.waitFor();
  const drawn = plan!.values.filter(({ from, kind }) => from !== null && kind !== "view");
  assert.equal(await canvas.getAttribute("data-values"), String(drawn.length));
  // Without a record values have operators only.
  assert.equal((await cells(page, "value")).length, plan!.values.length);
  assert.deepEqual(await cells(page, "node"), []);
  assert.match(await page.locator(".memory-view").innerText(), /\.etrecord of the program/);

  await drop(page, { "mlp.etrecord": etrecord });
  await page.locator(".head .of-node").waitFor();
  assert.deepEqual(
    await cells(page, "node"),
    plan!.values.map(({ nodes }) => nodes.at(-1) ?? ""),
  );
  // By keyboard from value to value, and what is selected is announced and found in the table.
  await canvas.focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  const addmm = plan!.values.find(({ op }) => op === "aten::addmm.out")!;
  const name = addmm.nodes.at(-1)!;
  const status = await page.locator("#memory-status").innerText();
  assert.ok(status.startsWith(name), status);
  assert.ok(status.includes(`instructions ${addmm.from} to ${addmm.until}`), status);
  assert.equal(await page.locator(".row.is-selected .of-value").innerText(), String(addmm.value));
  await page.locator(".planned-node button").click();
  await page.locator(`.graph canvas[data-selected="n:${name}"]`).waitFor();
  inspector.dispose();
  made.dispose();
  assert.deepEqual(faults, []);
  await close();
});

test("a record of another program is told from the right one, and gives nothing names", async () => {
  const made = engine.lower(model("linear.pt2"));
  const { page, faults, close } = await host.visit();
  await drop(page, {
    "linear.pte": Buffer.from(made.buffer),
    "conv.etrecord": bytes("conv.etrecord"),
  });
  await page.locator(".problem").waitFor();
  assert.match((await problems(page)).join(), /conv\.etrecord seems to be of another program/);
  await showStep(page, "program");
  await page.keyboard.press("m");
  await page.locator(".memory canvas").waitFor();
  assert.match(await page.locator(".profile-warning").innerText(), /different instructions/);
  assert.deepEqual(await cells(page, "node"), []);
  made.dispose();
  assert.deepEqual(faults, []);
  await close();
});

test("inputs of the record are taken for a run, whose outputs are those that it expects", async () => {
  const made = engine.lower(model("linear.pt2"), { etrecord: true });
  const pte = Buffer.from(made.buffer);
  // As comparing runs it, as written: what loading merges rounds in other places.
  const program = engine.load(pte, { optimize: false });
  const shape = program.inspect().methods[0]!.inputs[0]!.shape as number[];
  const size = shape.reduce((product, n) => product * n, 1);
  const data = Float32Array.from({ length: size }, (_, i) => i / 8 - 2);
  const input: Tensor = { dtype: "float32", shape, data };
  const outputs = program.run("forward", [input]) as Tensor[];
  const { etrecord } = made;
  etrecord.updateRepresentativeInputs([input]);
  etrecord.updateReferenceOutputs([outputs]);

  const { page, faults, close } = await host.visit();
  await drop(page, { "linear.pte": pte, "linear.etrecord": Buffer.from(etrecord.bytes()) });
  await lowered(page);
  await showStep(page, "run");
  await page.keyboard.press("r");
  const values = page.locator(".record-value");
  await values.nth(1).waitFor();
  assert.match(await values.first().innerText(), /^input\s+f32\[4, 16\]\s+-2 … 5\.875/);
  // Values on request.
  assert.ok(!(await values.first().locator(".first li").first().isVisible()));
  await values.first().locator("summary").click();
  assert.equal(await values.first().locator(".first li").nth(1).innerText(), "-1.875");
  await press(page, "Use as inputs");
  assert.equal(await page.locator("#input-0").inputValue(), "record");
  await press(page, "Run");
  const least = Math.min(...(outputs[0]!.data as Float32Array));
  await page.locator(".output .figure", { hasText: "min" }).waitFor();
  assert.match(
    await page.locator(".output .figure", { hasText: "min" }).innerText(),
    new RegExp(`${least.toPrecision(4)}$`),
  );

  const outputFigure = page.locator(".figure", { hasText: "the method's output" });
  const compared = async (): Promise<[words: string | null, from: string | null]> => {
    await page.keyboard.press("n");
    await press(page, "Compare here");
    await outputFigure.waitFor({ timeout: 60_000 });
    return [await outputFigure.innerText(), await outputFigure.getAttribute("title")];
  };
  const [own, ofRecord] = await compared();
  assert.match(own!, /equal$|1[2-9]\d\sdB$/);
  assert.match(ofRecord!, /the reference outputs of the record/);
  // The outputs of the record do not hold for other inputs.
  await page.keyboard.press("c");
  await page.locator("#input-0").selectOption("random");
  await page.keyboard.press("n");
  await press(page, "Compare here");
  await page.locator('.figure[title*="the results of the record\'s graph"]').waitFor();
  assert.match(await outputFigure.innerText(), /equal$/);
  program.dispose();
  made.dispose();
  assert.deepEqual(faults, []);
  await close();
});

test("a file that cannot be read is named, and does not keep the others from being opened", async () => {
  const { page, faults, close } = await host.visit();
  await drop(page, {
    "broken.etdp": bytes("mlp.etdp").subarray(0, 100),
    "whole.etdp": bytes("conv.etdp"),
    "cut.etrecord": bytes("conv.etrecord").subarray(0, 500),
  });
  await page.locator(".flame canvas").waitFor();
  assert.equal(await page.locator(".profile-head option").count(), 1);
  await page.locator(".title", { hasText: "whole.etdp" }).waitFor();
  await page.locator(".problem").nth(1).waitFor();
  const reported = (await problems(page)).join("\n");
  assert.match(reported, /broken\.etdp cannot be opened/);
  assert.match(reported, /cut\.etrecord cannot be opened/);
  assert.deepEqual(faults, []);
  await close();
});

test("records of which none can be read leave the first screen as it was", async () => {
  const { page, faults, close } = await host.visit();
  await drop(page, { "cut.etrecord": bytes("mlp.etrecord").subarray(0, 500) });
  await page.locator(".problem").waitFor();
  assert.match((await problems(page)).join(), /cut\.etrecord cannot be opened/);
  assert.ok(await page.locator("main#start").isVisible());
  assert.deepEqual(faults, []);
  await close();
});

test("another record takes the place of the one before, graphs and values", async () => {
  const inspector = engine.inspector({
    etrecord: { path: inRoot("tests/data/etdump/conv.etrecord") },
  });
  const names = inspector.nodes("edge_dialect_exported_program").map(({ name }) => name);
  const { page, faults, close } = await host.visit();
  await drop(page, { "mlp.etrecord": bytes("mlp.etrecord") });
  await page.locator(".graph canvas").waitFor();
  await page.keyboard.press("t");
  await page.locator(".table .row", { hasText: "aten_gelu_default" }).first().waitFor();
  await drop(page, { "conv.etrecord": bytes("conv.etrecord") });
  await page.locator(".title", { hasText: "conv.etrecord" }).waitFor();
  await page.locator(".graph canvas").waitFor();
  await page.keyboard.press("t");
  await page.locator(".table .row", { hasText: names[0]! }).first().waitFor();
  assert.equal(await page.locator(".table .row:not(.head)").count(), names.length);
  await showStep(page, "run");
  await page.keyboard.press("r");
  // Two outputs and one input.
  await page.locator(".record-value").nth(2).waitFor();
  assert.match(await page.locator(".record-value").first().innerText(), /f32\[1, 2, 5, 5\]/);
  inspector.dispose();
  assert.deepEqual(faults, []);
  await close();
});

test("what a record and a plan show fits onto a phone", async () => {
  const { page, faults, close } = await host.visit(
    { viewport: { width: 360, height: 740 } },
    "#mlp",
  );
  await lowered(page);
  for (const [step, key, shown] of [
    ["program", "m", ".memory canvas"],
    ["run", "r", ".record-value"],
    ["program", "f", ".saving"],
  ] as const) {
    await showStep(page, step);
    await page.keyboard.press(key);
    await page.locator(shown).first().waitFor();
    assert.deepEqual(await misplaced(page), [], `${step} ${key}`);
  }
  assert.deepEqual(faults, []);
  await close();
});
