// Parts of a model on backends: chosen in the settings, listed in a step of their own, shaded among
// the nodes, and run.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import type { Page } from "playwright-core";
import { createEngine, type Delegation, type Engine, type Programs } from "sconce";
import {
  dropModel,
  inRoot,
  lowered,
  misplaced,
  readJson,
  startHost,
  written,
  type Host,
} from "./browser.js";

let host: Host;
let engine: Engine;
before(async () => {
  [host, engine] = [await startHost(), await createEngine()];
});
after(async () => {
  engine.dispose();
  await host.close();
});

const NULL = "null";
const XNNPACK = "xnnpack";
const STORIES = {
  prefill: { path: inRoot("models/stories260k.prefill.pt2") },
  decode: { path: inRoot("models/stories260k.decode.pt2") },
};

/** The engine's report on the same programs. */
function delegationOf(programs: Programs, methods: readonly string[], backend = NULL): Delegation {
  const partitioner = Object.fromEntries(methods.map((method) => [method, backend]));
  const edge = engine.toEdgeTransformAndLower(programs, { partitioner });
  const delegation = edge.delegation();
  edge.dispose();
  return delegation;
}

/** Chooses the backend for methods in the settings of what is open, and lowers again. */
async function delegate(page: Page, methods: readonly string[], backend = NULL): Promise<void> {
  await page.keyboard.press("1");
  await page.keyboard.press("s");
  await page.locator(".settings").evaluate((details) => details.setAttribute("open", ""));
  for (const method of methods)
    await page.locator(`[data-backend="${method}"]`).selectOption(backend);
  await page.getByRole("button", { name: "Lower again" }).click();
}

/** Until the step has been taken and the program is there. */
async function delegated(page: Page): Promise<void> {
  await page.waitForSelector('.step.is-done[data-step="delegated"]', { timeout: 60_000 });
  await lowered(page);
}

const words = async (page: Page, selector: string): Promise<string> =>
  (await page.locator(selector).allInnerTexts()).join("; ").replace(/\s+/g, " ");

/** The page's requests to the worker go with this partitioner instead. */
async function insteadGive(page: Page, partitioner: unknown): Promise<void> {
  await page.evaluate((given) => {
    const send = Worker.prototype.postMessage;
    Worker.prototype.postMessage = function (message: unknown, transfer?: unknown) {
      const { method, args } = message as { method?: string; args?: Record<string, unknown>[] };
      if (method === "toEdgeTransformAndLower") args![0]!["partitioner"] = given;
      send.call(this, message, transfer as StructuredSerializeOptions);
    };
  }, partitioner);
}

test("each method has its backend, and the story stays the same", async () => {
  const reported = delegationOf(STORIES, ["prefill", "decode"], XNNPACK);
  const { page, faults, close } = await host.visit({}, "#story");
  await written(page);
  assert.equal(await page.locator('.step[data-step="delegated"]').count(), 0);
  await page.keyboard.press("1");
  const choices = page.locator('[data-backend="decode"] option');
  assert.deepEqual(await choices.allInnerTexts(), [
    "portable kernels",
    ...engine.meta().backends.map(({ name }) => name),
  ]);
  assert.equal(await page.getByLabel("Oldest runtime").count(), 0);
  await delegate(page, ["prefill", "decode"], XNNPACK);
  await delegated(page);

  const names = ["Source", "Core ATen", "Edge", "Delegated", "Planned", "Program", "Run"];
  assert.deepEqual(await page.locator(".step .name").allInnerTexts(), names);
  for (const [i, name] of names.entries()) {
    await page.keyboard.press(String(i + 1));
    assert.equal(await page.locator("h1").innerText(), name);
  }
  const { delegates, nodes } = reported["prefill"]!;
  const outside = nodes.filter(({ delegate: to }) => to === null);
  assert.ok(delegates.length > 10 && outside.length > 10);
  await page.keyboard.press("4");
  const figures = await words(page, ".delegates > .figures");
  assert.ok(figures.includes(`nodes delegated ${nodes.length - outside.length} of`), figures);
  assert.ok(figures.endsWith(`delegates ${delegates.length}`), figures);
  assert.match(await words(page, ".shares li"), /^prefill xnnpack .*%; decode xnnpack .*%/);
  const facts = await page.locator('.step[data-step="delegated"] .facts').innerText();
  assert.match(facts, new RegExp(`^${nodes.length - outside.length}.nodes · .*% of work$`));

  await page.keyboard.press("7");
  await page.keyboard.press("c");
  const runners = await words(page, ".runners li");
  assert.match(
    runners,
    new RegExp(`^xnnpack ${delegates.length} delegates, \\d+ nodes.*; portable`),
  );
  const golden = readJson<{ text: string }>("models/stories260k.golden.json");
  const story = golden.text.trimStart().replaceAll("<0x0A>", "\n");
  await page.keyboard.press("l");
  await page.getByLabel("Go on from").fill(story.split("\n")[0]!);
  await page.getByRole("button", { name: "Write", exact: true }).click();
  await written(page);
  assert.equal((await page.locator(".story-text").innerText()).slice(0, story.length), story);
  // The field still has the focus.
  await page.keyboard.press("Escape");
  await page.keyboard.press("6");
  assert.match(await words(page, ".parts li"), /Delegates .*XnnpackBackend .*; Named data /);
  assert.deepEqual(faults, []);
  await close();
});

test("what stayed outside is listed with its reason, filtered, and selected", async () => {
  const { nodes } = delegationOf(STORIES, ["prefill"], XNNPACK)["prefill"]!;
  const outside = nodes.filter(({ delegate: to }) => to === null);
  const { page, faults, close } = await host.visit({}, "#story");
  await lowered(page);
  await delegate(page, ["prefill"], XNNPACK);
  await delegated(page);
  await page.keyboard.press("4");
  const groups = page.locator(".outside-group summary");
  const counts = (await groups.locator(".outside-op .num").allInnerTexts()).map((text) =>
    Number(text.replace(/\D/g, "")),
  );
  assert.equal(
    counts.reduce((sum, count) => sum + count, 0),
    outside.length,
  );
  const bytes = (await groups.locator(".num:last-child").allInnerTexts()).map((text) =>
    text.startsWith("<") ? 0 : parseFloat(text),
  );
  assert.deepEqual(
    bytes,
    [...bytes].sort((a, b) => b - a),
  );
  for (const { reason } of outside)
    assert.ok((await words(page, ".outside-why")).includes(reason), reason);

  const [last] = outside.slice(-1);
  await page.keyboard.press("/");
  await page.keyboard.type(`${last!.name} ${last!.reason.slice(0, 12)}`);
  const row = page.locator("button.outside-node", {
    has: page.getByText(last!.name, { exact: true }),
  });
  await row.click();
  const inspector = page.locator(".inspector");
  assert.equal(await inspector.locator("h2").innerText(), last!.name);
  assert.ok((await inspector.innerText()).includes(last!.reason));
  await page.keyboard.press("Escape");
  await page.locator("[data-search]").fill("there is no such node");
  await page.getByText("No node matches.").waitFor();
  await page.locator("[data-search]").fill("");
  await page.locator(".outside-group").first().locator("summary").click();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Show among the nodes of Edge" }).click();
  assert.equal(await page.locator("h1").innerText(), "Edge");
  assert.equal(await page.locator(".row.is-selected .cell.part").innerText(), "kernels");

  await page.locator('.tab[data-method="decode"]').click();
  assert.equal(await page.locator(".cell.part").count(), 0);
  await page.keyboard.press("4");
  await page.getByText("No backend was chosen for decode").waitFor();
  await page.getByText("portable kernels only").waitFor();
  await page.getByRole("button", { name: "Choose a backend" }).click();
  await page.locator('[data-backend="decode"]:focus').waitFor();
  assert.deepEqual(faults, []);
  await close();
});

test("nodes are shaded by the delegate that has them, with its name", async () => {
  const { nodes, delegates } = delegationOf(STORIES, ["prefill"], XNNPACK)["prefill"]!;
  const labels = new Map(
    nodes.map(({ name, delegate: to }) => [
      name,
      to === null ? "kernels" : `${XNNPACK}:${delegates.findIndex((part) => part.name === to)}`,
    ]),
  );
  const { page, faults, close } = await host.visit({}, "#story");
  await lowered(page);
  await delegate(page, ["prefill"], XNNPACK);
  await delegated(page);
  await page.keyboard.press("3");
  await page.keyboard.press("t");
  await page.waitForSelector(".cell.part");
  const cells = async (name: string): Promise<string[]> =>
    (await page.locator(`.row:not(.head) .cell.${name}`).allInnerTexts()).map((t) => t.trim());
  const shown = await cells("part");
  // Sizes that views derive are computed by nobody.
  const expected = (await cells("name")).map((name) => labels.get(name) ?? "erased");
  assert.deepEqual(shown, expected);
  assert.ok(shown.includes("erased") && shown.includes("kernels"), shown.join());
  const paint = (selector: string): Promise<string> =>
    page
      .locator(selector)
      .first()
      .evaluate((element) => getComputedStyle(element).backgroundColor);
  const plain = ".row:not(.head):not(.is-part)";
  assert.notEqual(await paint(".row.is-part"), await paint(plain));
  await page.locator("[data-search]").fill(`${XNNPACK}:7`);
  const parts = await page.locator(".row:not(.head) .cell.part").allInnerTexts();
  assert.ok(parts.length > 0 && parts.every((text) => text.includes(`${XNNPACK}:7`)));
  await page.locator("[data-search]").fill("");
  await page.keyboard.press("Escape");

  await page.keyboard.press("x");
  const inFirst = [...labels].find(([, label]) => label === `${XNNPACK}:0`)![0];
  await page.locator("[data-search]").fill(`%${inFirst}: `);
  await page.keyboard.press("Enter");
  const line = page.locator(".line.is-selected");
  assert.equal((await line.locator(".line-part").innerText()).trim(), `${XNNPACK}:0`);
  await page.locator("[data-search]").fill("");
  await page.keyboard.press("Escape");

  await page.keyboard.press("4");
  await page.keyboard.press("d");
  await page.locator(".delegates-table tbody button").nth(1).click();
  const inspector = page.locator(".inspector");
  assert.match(
    await inspector.innerText(),
    new RegExp(`Delegate\\s+${XNNPACK}:1\\s+XnnpackBackend runs`),
  );
  const inside = nodes.filter(({ delegate: to }) => to === delegates[1]!.name);
  for (const { name } of inside)
    assert.equal(await inspector.getByRole("button", { name, exact: true }).count(), 1);
  await page.keyboard.press("x");
  await page.locator(".line.is-selected", { hasText: "executorch_call_delegate" }).waitFor();
  await inspector.getByRole("button", { name: inside[0]!.name, exact: true }).click();
  assert.equal(await page.locator("h1").innerText(), "Edge");
  assert.equal((await words(page, ".row.is-selected .cell.part")).trim(), `${XNNPACK}:1`);
  assert.deepEqual(faults, []);
  await close();
});

test("parts inside bodies are told from those around them", async () => {
  const { page, faults, close } = await host.visit({ viewport: { width: 1440, height: 2000 } });
  await dropModel(page, { "cond.pt2": readFileSync(inRoot("tests/models/cond.pt2")) });
  await delegate(page, ["forward"]);
  await delegated(page);
  await page.keyboard.press("4");
  const rows = await words(page, ".delegates-table tbody tr");
  assert.match(rows, /null:0 lowered_module_0 .*null:1 true_graph_0\/lowered_module_0 /);
  for (const step of ["3", "4"]) {
    await page.keyboard.press(step);
    await page.keyboard.press("x");
    const lines = page.locator(".line", { has: page.locator(".part-label") });
    await lines.first().waitFor();
    const texts = (await lines.allInnerTexts()).map((text) => text.replace(/\s+/g, " "));
    const label = (op: string): string[] =>
      texts.filter((text) => text.includes(op)).map((text) => /null:\d/.exec(text)![0]);
    assert.deepEqual(label("aten::gt"), ["null:0"]);
    assert.deepEqual(label("aten::addmm"), ["null:1", "null:2"]);
    assert.deepEqual(label("aten::sin"), ["null:2"]);
  }
  assert.match(await words(page, ".line em"), /… [\d,]+ more characters/);
  assert.deepEqual(faults, []);
  await close();
});

test("a backend that takes nothing is said to, with the reasons", async () => {
  const { page, faults, close } = await host.visit({}, "#mlp");
  await lowered(page);
  await insteadGive(page, { forward: { backend: NULL, tags: [] } });
  await delegate(page, ["forward"]);
  await delegated(page);
  await page.locator('.step[data-step="delegated"]', { hasText: "no node was taken" }).waitFor();
  await page.keyboard.press("4");
  await page.getByText("No node was taken: the program runs as it would").waitFor();
  assert.equal(await page.locator(".delegates-table").count(), 0);
  assert.match(await words(page, ".outside-why"), /null no part includes it/);
  await page.keyboard.press("7");
  await page.locator(".run-go .primary").click();
  await page.waitForSelector(".output");
  assert.equal(await page.locator(".runners").count(), 0);
  assert.deepEqual(faults, []);
  await close();
});

test("what a backend fails at is a card, and the edge program is still there", async () => {
  const { page, faults, close } = await host.visit({}, "#mlp");
  await lowered(page);
  await insteadGive(page, { forward: { backend: NULL, tags: [{ tag: "t", nodes: ["nobody"] }] } });
  await delegate(page, ["forward"]);
  const card = page.locator(".problem");
  await card.waitFor();
  assert.match(await card.innerText(), /'t' of method 'forward' cannot have 'nobody'/);
  assert.match(await words(page, ".step.is-failed"), /^Delegated failed$/);
  await page.keyboard.press("3");
  await page.keyboard.press("t");
  await page.waitForSelector(".row:not(.head)");
  // Without the backend it works again, and the step is gone.
  await page.keyboard.press("4");
  await delegate(page, ["forward"], "");
  await lowered(page);
  assert.equal(await page.locator('.step[data-step="delegated"]').count(), 0);
  assert.equal(await page.locator(".problem").count(), 0);
  assert.deepEqual(faults, []);
  await close();
});

test("a .pte says which backends run it", async () => {
  const { buffer } = engine.lower(
    { path: inRoot("tests/models/mlp.pt2") },
    { partitioner: { forward: NULL } },
  );
  const { page, faults, close } = await host.visit();
  await dropModel(page, { "mlp.pte": buffer });
  assert.equal(await page.locator('.step[data-step="delegated"]').count(), 0);
  await page.keyboard.press("6");
  assert.match(
    await words(page, ".runners li"),
    /^null 1 delegate, [\d.]+ KB; portable kernels no instruction$/,
  );
  await page.locator(".run-go .primary").click();
  await page.waitForSelector(".output");
  assert.deepEqual(faults, []);
  await close();
});

test("what backends made is verified when asked to, and its parts can be opened", async () => {
  const { page, faults, close } = await host.visit({}, "#mlp");
  await lowered(page);
  await page.keyboard.press("1");
  assert.equal(await page.getByLabel("Verify").count(), 0);
  await delegate(page, ["forward"], "xnnpack");
  await delegated(page);
  await page.keyboard.press("4");
  assert.equal(await page.locator(".verified").count(), 0);
  await page.keyboard.press("1");
  await page.getByLabel("Verify").check();
  await page.getByRole("button", { name: "Lower again" }).click();
  await delegated(page);
  await page.keyboard.press("4");
  const rows = await page.locator(".verified tbody tr").allInnerTexts();
  const info = delegationOf({ path: inRoot("tests/models/mlp.pt2") }, ["forward"], "xnnpack");
  assert.equal(rows.length, 1 + info["forward"]!.delegates.length);
  assert.match(rows[0]!.replace(/\s+/g, " "), /^output 0 [\d.e-]+ close 0.001 /);
  assert.match(rows[1]!.replace(/\s+/g, " "), /^xnnpack:0 [\d.e-]+ close /);
  await page.getByText("on example inputs").waitFor();

  await page.keyboard.press("6");
  const parts = page.locator(".program-part summary");
  assert.equal(await parts.count(), info["forward"]!.delegates.length);
  await parts.first().focus();
  await page.keyboard.press("Enter");
  await page
    .locator(".part-lines li", { hasText: /^\d+ FullyConnected x\d/ })
    .first()
    .waitFor();
  assert.deepEqual(faults, []);
  await close();
});

test("a long part is filtered and shown some lines at a time", async () => {
  const { page, faults, close } = await host.visit();
  await dropModel(page, { "face.pt2": readFileSync(inRoot("models/face-rfb320.pt2")) });
  await delegate(page, ["forward"], "xnnpack");
  await delegated(page);
  await page.keyboard.press("6");
  await page.locator(".program-part summary").first().click();
  const lines = page.locator(".part-lines li");
  await lines.first().waitFor();
  assert.equal(await lines.count(), 50);
  await page.getByRole("button", { name: /^Show 50 more of \d+/ }).click();
  assert.equal(await lines.count(), 100);
  await page.getByLabel("Filter lines of delegate 0").fill("conv2d");
  const found = await lines.allInnerTexts();
  assert.ok(found.length > 1 && found.every((line) => /Conv2d/.test(line)));
  await page.getByLabel("Filter lines of delegate 0").fill("there is no such line");
  await page.getByText("No line matches.").waitFor();
  assert.deepEqual(faults, []);
  await close();
});

test("a part that cannot be shown says why, however often it is opened", async () => {
  const { page, close } = await host.visit();
  const lowered = engine.lower(
    { path: inRoot("tests/models/mlp.pt2") },
    { partitioner: "xnnpack" },
  );
  const pte = Buffer.from(lowered.buffer);
  pte[pte.indexOf("XH00")] = 0x59;
  await dropModel(page, { "damaged.pte": pte });
  await page.locator(`.step[data-step="program"]`).click();
  const summary = page.locator(".program-part summary").first();
  for (let time = 0; time < 2; time++) {
    await summary.click();
    await page.getByText(/^cannot be shown: /).waitFor();
    await summary.click();
  }
  await close();
});

test("of many nodes outside the first are there, and more on demand", async () => {
  const { page, close } = await host.visit({}, "#story");
  await lowered(page);
  await insteadGive(page, { prefill: { backend: NULL, tags: [] } });
  await delegate(page, ["prefill"]);
  await delegated(page);
  await page.keyboard.press("4");
  const groups = page.locator(".outside-group summary");
  for (const group of await groups.all()) await group.click();
  assert.ok((await page.locator(".outside-node").count()) > 50);
  const more = page.getByRole("button", { name: /^Show \d+ more/ });
  const before = await page.locator(".outside-node").count();
  await more.first().click();
  assert.ok((await page.locator(".outside-node").count()) > before);
  await close();
});

for (const width of [320, 390, 600, 768, 1440]) {
  test(`delegates fit into ${width} pixels, and with text twice as large`, async () => {
    const { page, close } = await host.visit({ viewport: { width, height: 800 } }, "#story");
    const session = await page.context().newCDPSession(page);
    await lowered(page);
    await delegate(page, ["prefill", "decode"]);
    await delegated(page);
    for (const standard of [16, 32]) {
      await session.send("Page.setFontSizes", { fontSizes: { standard } });
      for (const keys of ["1s", "3t", "3x", "4d", "4t", "4x", "6", "7"]) {
        for (const key of keys) await page.keyboard.press(key);
        assert.deepEqual(await misplaced(page), [], `${keys}, text of ${standard} px`);
      }
    }
    await close();
  });
}
