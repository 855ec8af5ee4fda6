// Records: dumps, the records they belong to and their values, dropped or made here; as
// flame chart and tables, and as gaps in a list and on the graph.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import type { Page } from "playwright-core";
import { createEngine, type Engine, type Tensor } from "sconce";
import { downloaded, drop, dropModel, inRoot, lowered, startHost, type Host } from "./browser.js";

let host: Host;
let engine: Engine;
before(async () => {
  [host, engine] = [await startHost(), await createEngine()];
});
after(async () => {
  engine.dispose();
  await host.close();
});

const DUMPS = "tests/data/etdump/";
const bytes = (name: string): Buffer => readFileSync(inRoot(`${DUMPS}${name}`));
const path = (name: string): { path: string } => ({ path: inRoot(`${DUMPS}${name}`) });

const cells = (page: Page, column: string): Promise<string[]> =>
  page.locator(`.sorted-table .row:not(.head) .of-${column}`).allInnerTexts();

const look = (page: Page, name: string): Promise<void> =>
  page.getByRole("button", { name, exact: true }).click();

const problems = (page: Page): Promise<string[]> =>
  page.locator(".problem-message").allInnerTexts();

test("a dump that comes alone is shown, with what it lacks", async () => {
  const inspector = engine.inspector({ etdump: path("mlp_xnnpack.etdp") });
  const { spans } = inspector.timeline();
  const { page, faults, close } = await host.visit();
  await drop(page, { "phone.etdp": bytes("mlp_xnnpack.etdp") });
  const canvas = page.locator(".flame canvas");
  await canvas.waitFor();
  // Events that only wrap others are left out.
  const blocks = inspector.events();
  const own = spans.filter(({ block, event }) => !blocks[block]!.events[event]!.isWrapper);
  assert.ok(own.length < spans.length);
  assert.equal(await canvas.getAttribute("data-spans"), String(own.length));
  assert.match(await page.locator("h1").innerText(), /^Run$/);
  assert.ok((await cells(page, "name")).length > 0);
  // By keyboard from span to span, and what is selected is announced.
  await canvas.focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  assert.match(await page.locator("#flame-status").innerText(), /run \d+ of \d+$|loading$/);
  await look(page, "By module");
  assert.match(await page.locator(".waiting").innerText(), /\.etrecord/);
  inspector.dispose();
  assert.deepEqual(faults, []);
  await close();
});

test("a dump, its values and its record find one another", async () => {
  const inspector = engine.inspector({
    etdump: path("mlp.debug.etdp"),
    debugBuffer: path("mlp.debug.bin"),
    etrecord: path("mlp.etrecord"),
  });
  const reference = "exported_program";
  const report = inspector.numericGap({ reference });
  const { page, faults, close } = await host.visit();
  await drop(page, {
    "mlp.etrecord": bytes("mlp.etrecord"),
    "mlp.debug.bin": bytes("mlp.debug.bin"),
    "mlp.debug.etdp": bytes("mlp.debug.etdp"),
  });
  await page.locator(".flame canvas, .sorted-table").first().waitFor();
  await page.keyboard.press("n");
  await page.locator(".reference").selectOption(reference);
  await page.locator(".sorted-table .of-snr").nth(report.rows.length).waitFor();
  const reported = await cells(page, "node");
  // The node whose value it is, and how many were run with it.
  const expected = report.rows.map(({ nodes }) => {
    const others = nodes.length > 1 ? ` and ${nodes.length - 1} with it` : "";
    return `${nodes.at(-1)!.name}${others}`;
  });
  assert.match(
    await page.locator(".numerics-words").innerText(),
    /compared with the portable kernels on the model as it was exported/,
  );
  assert.deepEqual([...reported].sort(), [...expected].sort());
  // The record's stages are steps; the graph has the gaps.
  assert.match(await page.locator('.step[data-step="edge"]').innerText(), /\d+\snodes/);
  await page.getByRole("button", { name: "Show on the graph" }).click();
  await page.locator(".graph canvas").waitFor();
  await page.locator('.graph canvas[data-selected^="n:"]').waitFor();
  assert.match(await page.locator(".inspector").innerText(), /Compared with its reference\s+\S+/);
  assert.ok(Number(await page.locator(".graph canvas").getAttribute("data-marks")) > 0);
  inspector.dispose();
  assert.deepEqual(faults, []);
  await close();
});

test("a program is profiled here, twice, and the two are compared", async () => {
  const { page, faults, close } = await host.visit({}, "#mlp");
  await lowered(page);
  await page.keyboard.press("6");
  await page.keyboard.press("p");
  await page.getByRole("button", { name: "Profile here" }).click();
  const canvas = page.locator(".flame canvas");
  await canvas.waitFor({ timeout: 60_000 });
  const events = await cells(page, "name");
  assert.ok(
    events.some((name) => name === "addmm.out"),
    events.join(),
  );
  assert.ok(Number(await canvas.getAttribute("data-spans")) >= events.length);
  await look(page, "By operator");
  await page.locator(".sorted-table .row:not(.head)").first().waitFor();
  const trace = await downloaded(page, () => look(page, "Save for Perfetto"));
  const { traceEvents } = JSON.parse(trace.toString()) as { traceEvents: unknown[] };
  assert.ok(traceEvents.length >= events.length);
  const dump = await downloaded(page, () => look(page, "Save .etdp"));
  assert.match(dump.toString("latin1", 0, 12), /ED00/);

  await look(page, "Profile here");
  await page.locator(".profile-head option").nth(1).waitFor({ state: "attached" });
  await page.getByRole("button", { name: "Compare", exact: true }).first().click();
  await page.locator(".compare-head .primary").click();
  await page.locator(".sorted-table .row:not(.head)").first().waitFor();
  assert.match((await cells(page, "ratio")).join(), /×\d/);
  // The dock has it, too, next to any step.
  await page.keyboard.press("3");
  await page.locator(".dock-tabs button", { hasText: "Profile" }).click();
  assert.ok(await page.locator(".dock .profile").isVisible());
  assert.deepEqual(faults, []);
  await close();
});

test("what was lowered here is its own record", async () => {
  for (const colorScheme of ["light", "dark"] as const) {
    const { page, faults, close } = await host.visit({ colorScheme }, "#mlp");
    await lowered(page);
    await page.keyboard.press("6");
    await page.keyboard.press("n");
    await page.getByRole("button", { name: "Compare here" }).click();
    await page.locator(".sorted-table .of-snr").nth(1).waitFor({ timeout: 60_000 });
    const [, ...snr] = await page.locator(".sorted-table .of-snr").allInnerTexts();
    assert.match(
      await page.locator(".numerics-words").innerText(),
      /No backend took part, so that is as it should be/,
    );
    assert.ok(
      snr.every((text) => /^(equal|\d+(\.\d+)?\sdB)$/.test(text)),
      snr.join(),
    );
    await page.getByRole("button", { name: "Show on the graph" }).click();
    const canvas = page.locator(".graph canvas");
    await canvas.waitFor();
    assert.ok(Number(await canvas.getAttribute("data-marks")) > 0);
    await page.keyboard.press("6");
    await page.keyboard.press("p");
    await look(page, "By module");
    await page.locator(".sorted-table .row:not(.head)").first().waitFor();
    assert.match((await cells(page, "class")).join(), /Linear/);
    assert.deepEqual(faults, []);
    await close();
  }
});

test("what cannot be used is named, with what to do", async () => {
  const { page, close } = await host.visit();
  await dropModel(page, { "linear.pt2": readFileSync(inRoot("tests/models/linear.pt2")) });
  await drop(page, { "lost.bin": new Uint8Array(16) });
  await page.locator(".problem").first().waitFor();
  assert.match((await problems(page)).join(), /lost\.bin was left out: no dump refers to it/);
  await drop(page, { "broken.etdp": bytes("mlp.etdp").subarray(0, 40) });
  await page.locator(".problem").nth(1).waitFor();
  assert.equal((await problems(page)).length, 2);
  assert.equal(await page.locator(".dock-tabs button").count(), 2);
  await close();
});

test("each method has its own recording and its own gaps", async () => {
  const { page, faults, close } = await host.visit();
  await drop(page, {
    "methods.etrecord": bytes("methods.etrecord"),
    "methods.debug.bin": bytes("methods.debug.bin"),
    "methods.debug.etdp": bytes("methods.debug.etdp"),
  });
  await page.locator(".flame canvas").waitFor();
  await page.keyboard.press("n");
  const inspector = engine.inspector({
    etdump: path("methods.debug.etdp"),
    debugBuffer: path("methods.debug.bin"),
    etrecord: path("methods.etrecord"),
  });
  for (const method of ["encode", "decode"]) {
    await page.getByRole("tab", { name: method }).click();
    const { rows } = inspector.numericGap({ method });
    const last = rows.at(-1)!.nodes.at(-1)!.name;
    await page.locator(".of-node", { hasText: last }).first().waitFor();
    assert.equal((await cells(page, "node")).length, rows.length);
    await page.getByRole("button", { name: "Show on the graph" }).click();
    const canvas = page.locator(".graph canvas");
    await canvas.waitFor();
    assert.equal(await canvas.getAttribute("data-marks"), String(rows.length));
    await page.keyboard.press("6");
  }
  inspector.dispose();
  assert.deepEqual(faults, []);
  await close();
});

test("a node that is called otherwise in another step is followed to by its handle", async () => {
  const { page, faults, close } = await host.visit({}, "#mlp");
  await lowered(page);
  await page.keyboard.press("6");
  await page.keyboard.press("n");
  await page.getByRole("button", { name: "Compare here" }).click();
  await page.locator(".sorted-table .of-snr").nth(1).waitFor({ timeout: 60_000 });
  const compared = (await cells(page, "node")).length;
  for (const step of ["3", "4"]) {
    await page.keyboard.press(step);
    await page.keyboard.press("g");
    await page.locator(`.graph canvas[data-marks="${compared}"]`).waitFor();
  }
  assert.deepEqual(faults, []);
  await close();
});

test("the cases of a bundled program are run, and what differs is named", async () => {
  const lowerer = engine.lower({ path: inRoot("tests/models/linear.pt2") });
  const program = engine.load(lowerer.buffer);
  const [input] = program.inspect().methods[0]!.inputs;
  const shape = input!.shape as number[];
  const size = shape.reduce((product, n) => product * n, 1);
  const tensorOf = (value: number): Tensor => ({
    dtype: "float32",
    shape,
    data: new Float32Array(size).fill(value),
  });
  const right = program.run("forward", [tensorOf(1)]) as Tensor[];
  const wrong = right.map(({ shape: sizes, data }): Tensor => {
    const values = Float32Array.from(data as Float32Array);
    values[0]! += 0.5;
    return { dtype: "float32", shape: sizes, data: values };
  });
  const bundle = engine.bundle(lowerer.buffer, [
    {
      methodName: "forward",
      testCases: [
        { inputs: [tensorOf(1)] },
        { inputs: [tensorOf(1)], expectedOutputs: wrong },
        { inputs: [tensorOf(2)], expectedOutputs: null },
      ],
    },
  ]);
  program.dispose();
  lowerer.dispose();

  const { page, faults, close } = await host.visit();
  await drop(page, { "linear.bpte": bundle });
  await page.getByRole("button", { name: "Run all cases" }).click();
  await page.locator(".of-verdict", { hasText: "too far off" }).waitFor();
  assert.deepEqual(await cells(page, "verdict"), [
    "as expected",
    "too far off",
    "ran; no outputs are expected",
  ]);
  assert.match((await cells(page, "mismatches"))[1]!, /^1 of \d+$/);
  assert.match((await cells(page, "maxAbsolute"))[1]!, /^0\.5$/);
  assert.match(
    await page.locator(".profile-head [role=status]").innerText(),
    /^1 of 2.outputs differ/,
  );
  // Looser, they are all right.
  await page.getByLabel("atol").fill("1");
  await page.getByRole("button", { name: "Run all cases" }).click();
  await page.locator(".profile-head [role=status]", { hasText: "All of 2" }).waitFor();
  await page.getByLabel("atol").fill("-");
  await page.getByRole("button", { name: "Run all cases" }).click();
  await page.locator(".problem").first().waitFor();
  assert.match((await problems(page)).join(), /atol is no number/);
  // The inputs of a case can be given by hand.
  await page.getByRole("button", { name: "Use as inputs" }).last().click();
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.locator(".output").first().waitFor();
  const saved = await downloaded(page, () => look(page, "Save .bpte"));
  assert.deepEqual(saved, Buffer.from(bundle));
  assert.deepEqual(faults, []);
  await close();
});
