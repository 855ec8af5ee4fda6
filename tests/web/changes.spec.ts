// Changes since the stage before: of programs that are lowered here, with backends and without, and
// of records.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import type { Page } from "playwright-core";
import { createEngine, type Engine } from "sconce";
import { drop, dropModel, inRoot, lowered, misplaced, startHost, type Host } from "./browser.js";

let host: Host;
let engine: Engine;
before(async () => {
  [host, engine] = [await startHost(), await createEngine()];
});
after(async () => {
  engine.dispose();
  await host.close();
});

type Reported = readonly [change: string, before: string, after: string];

/** The lines that are shown: what changed, and the nodes before and after. */
async function lines(page: Page): Promise<Reported[]> {
  const texts = (column: string): Promise<string[]> =>
    page.locator(`.changes .row:not(.head) .of-${column}`).allInnerTexts();
  const [change, from, to] = await Promise.all([texts("change"), texts("before"), texts("after")]);
  const plain = (text: string): string => text.replace(/\s+/g, " ").trim();
  return change.map((text, i) => [plain(text), plain(from[i]!), plain(to[i]!)]);
}

const counts = async (page: Page): Promise<Record<string, number>> => {
  const texts = await page.locator(".changes .views .segment").allInnerTexts();
  return Object.fromEntries(
    texts.map((text) => {
      const [name, count] = text.split(/\s+/);
      return [name!, Number(count)];
    }),
  );
};

async function showChanges(page: Page, step: string): Promise<void> {
  await page.keyboard.press(step);
  await page.keyboard.press("h");
  await page.locator(".changes").waitFor();
}

const mlp = (): Record<string, Uint8Array> => ({
  "mlp.pt2": readFileSync(inRoot("tests/models/mlp.pt2")),
});

test("each stage tells what became of the nodes of the one before", async () => {
  const { page, faults, close } = await host.visit();
  await dropModel(page, mlp());
  await page.keyboard.press("1");
  assert.equal(await page.getByRole("button", { name: "Changes", exact: true }).count(), 0);
  await showChanges(page, "2");
  assert.deepEqual(await lines(page), [
    ["+ added", "", "permute aten::permute"],
    ["~ operator, inputs", "linear aten::linear", "addmm aten::addmm"],
    ["+ added", "", "permute_1 aten::permute"],
    ["~ operator, inputs", "linear_1 aten::linear", "addmm_1 aten::addmm"],
    ["+ added", "", "permute_2 aten::permute"],
    ["~ operator, inputs", "linear_2 aten::linear", "mm aten::mm"],
    ["~ operator", "softmax aten::softmax.int", "_softmax aten::_softmax"],
  ]);
  assert.deepEqual(await counts(page), { Changed: 4, Added: 3, Removed: 0, Same: 2 });
  await page.getByRole("button", { name: /^Same/ }).click();
  assert.equal((await lines(page)).length, 9);
  assert.ok(
    (await lines(page)).some(([change, from]) => change === "= same" && /^tanh/.test(from)),
  );
  await page.locator("[data-search]").focus();
  await page.keyboard.type("mm");
  assert.equal((await lines(page)).length, 3);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");

  await showChanges(page, "4");
  assert.deepEqual(await counts(page), { Changed: 3, Added: 0, Removed: 3, Same: 3 });
  assert.deepEqual(faults, []);
  await close();
});

test("a line tells the Python it comes from, and leads to its node in either stage", async () => {
  const { page, faults, close } = await host.visit();
  await dropModel(page, mlp());
  await showChanges(page, "2");
  const line = page.locator(".changes .row:not(.head)", { hasText: "addmm_1" });
  await line.click();
  assert.match(await page.locator(".change-foot").innerText(), /zoo\.py:61 in forward/);
  assert.match(await page.locator(".inspector h2").innerText(), /^addmm_1$/);
  await page.getByRole("button", { name: "Show linear_1 of Source in the table" }).click();
  assert.equal(await page.locator("h1").innerText(), "Source");
  assert.match(await page.locator(".row.is-selected .name").innerText(), /^linear_1$/);

  // A removed node is there in the stage before only.
  await showChanges(page, "4");
  await page.locator(".changes .row:not(.head)", { hasText: "removed" }).first().click();
  assert.equal(await page.locator(".change-foot .change-ways").count(), 1);
  assert.match(await page.locator(".changes .row.is-selected").innerText(), /permute/);
  await page.getByRole("button", { name: "Show permute of Edge in the graph" }).click();
  await page.locator('.graph canvas[data-selected="n:permute"]').waitFor();
  assert.equal(await page.locator("h1").innerText(), "Edge");
  assert.deepEqual(faults, []);
  await close();
});

test("records have changes between their stages", async () => {
  const { page, faults, close } = await host.visit();
  const file = "tests/data/etdump/mlp.etrecord";
  await drop(page, { "mlp.etrecord": readFileSync(inRoot(file)) });
  await page.locator('.step.is-done[data-step="edge"]').waitFor();
  await page.locator('.step[data-step="edge"] button').click();
  await page.keyboard.press("h");
  await page.locator(".changes .row:not(.head)").first().waitFor();
  const inspector = engine.inspector({ etrecord: { path: inRoot(file) } });
  const sizeOf = (stage: string): number => inspector.nodes(stage).length;
  const { Changed, Added, Removed, Same } = await counts(page);
  assert.equal(Changed! + Same! + Removed!, sizeOf("exported_program"));
  assert.equal(Changed! + Same! + Added!, sizeOf("edge_dialect_exported_program"));
  // As the engine pairs them, by the node that each was made of.
  const reported = inspector.diff("exported_program", "edge_dialect_exported_program");
  assert.equal(Added, reported.added);
  assert.equal(Removed, reported.removed);
  inspector.dispose();
  assert.deepEqual(faults, []);
  await close();
});

/** Hands what it takes of the open model to a backend. */
async function delegate(page: Page): Promise<void> {
  await page.keyboard.press("1");
  await page.keyboard.press("s");
  await page.locator(".settings").evaluate((details) => details.setAttribute("open", ""));
  await page.locator("[data-backend]").selectOption("xnnpack");
  await page.getByRole("button", { name: "Lower again" }).click();
  await page.waitForSelector('.step.is-done[data-step="delegated"]', { timeout: 60_000 });
  await lowered(page);
}

for (const colorScheme of ["light", "dark"] as const)
  test(`nodes that a backend has tell of which part they are (${colorScheme})`, async () => {
    const viewport = { width: 390, height: 844 };
    const { page, faults, close } = await host.visit({ colorScheme, viewport });
    await dropModel(page, mlp());
    await delegate(page);
    await showChanges(page, "4");
    const reported = await lines(page);
    assert.deepEqual(
      reported.filter(([, from]) => from === "").map(([change, , to]) => [change, to]),
      [["+ added", "executorch_call_delegate higher_order::executorch_call_delegate"]],
    );
    const parts = reported.filter(([, from]) => from !== "").map(([change]) => change);
    assert.ok(parts.length > 0 && parts.every((text) => text === "− to xnnpack:0"), parts.join());
    await page.locator(".changes .row:not(.head)", { hasText: "xnnpack:0" }).first().click();
    assert.equal(await page.locator(".change-foot .change-ways").count(), 1);
    assert.match(await page.locator(".change-foot").innerText(), /Removed: to xnnpack:0/);
    for (const width of [390, 320]) {
      await page.setViewportSize({ width, height: 844 });
      assert.deepEqual(await misplaced(page), [], `${width} pixels`);
    }
    assert.deepEqual(faults, []);
    await close();
  });
