// Graphs: folded by module, opened, walked and searched by keyboard and pointer, followed from stage
// to stage, with delegates as groups of their own.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import type { Locator, Page } from "playwright-core";
import { dropModel, inRoot, lowered, startHost, type Host } from "./browser.js";

let host: Host;
before(async () => (host = await startHost()));
after(() => host.close());

const STORY = "models/stories260k.prefill.pt2";

/** Opens a model and the graph of a step. */
async function showGraph(page: Page, path: string, key: string): Promise<Locator> {
  await dropModel(page, { "model.pt2": readFileSync(inRoot(path)) });
  await page.keyboard.press(key);
  await page.keyboard.press("g");
  const canvas = page.locator(".graph canvas");
  await canvas.waitFor();
  return canvas;
}

const boxes = async (canvas: Locator): Promise<number> =>
  Number(await canvas.getAttribute("data-boxes"));

const selected = async (canvas: Locator): Promise<string> =>
  (await canvas.getAttribute("data-selected"))!;

/** Until a group or node of that name is selected. */
async function waitSelected(page: Page, id: string): Promise<void> {
  await page.locator(`.graph canvas[data-selected="${id}"]`).waitFor();
}

const status = (page: Page): Promise<string> => page.locator("#graph-status").innerText();

/** Colours that the canvas shows; a blank one has a single one. */
function colours(canvas: Locator): Promise<number> {
  return canvas.evaluate((element) => {
    const { width, height } = element as HTMLCanvasElement;
    const { data } = (element as HTMLCanvasElement)
      .getContext("2d")!
      .getImageData(0, 0, width, height);
    const found = new Set<number>();
    for (let i = 0; i < data.length; i += 4)
      found.add((data[i]! << 16) | (data[i + 1]! << 8) | data[i + 2]!);
    return found.size;
  });
}

test("blocks that are alike are shown once, and open on demand", async () => {
  const { page, faults, close } = await host.visit();
  const canvas = await showGraph(page, STORY, "1");
  const folded = await boxes(canvas);
  assert.ok(folded < 40, `${folded} boxes`);
  assert.match(await page.locator(".searchbox").innerText(), /^343\snodes, /);
  // From the first input along its lines to the stack.
  await canvas.focus();
  for (let i = 0; i < 8 && !(await selected(canvas)).includes("layers"); i++)
    await page.keyboard.press("ArrowDown");
  assert.match(await status(page), /^layers\.0 … 4 · Block · 330 nodes · 5\sblocks alike/);
  assert.match(await page.locator(".inspector").innerText(), /matrix products/);
  const stack = await selected(canvas);
  await page.keyboard.press("Enter");
  await page.locator(`.graph canvas:not([data-boxes="${folded}"])`).waitFor();
  assert.equal(await boxes(canvas), folded + 5);
  assert.equal(await selected(canvas), stack);
  await page.keyboard.press("Enter");
  await page.locator(`.graph canvas[data-boxes="${folded}"]`).waitFor();
  await page.keyboard.press("Escape");
  assert.equal(await selected(canvas), "");
  assert.ok((await colours(canvas)) > 8);
  assert.deepEqual(faults, []);
  await close();
});

test("a node that is looked for comes out of its groups, with its inputs and users", async () => {
  const { page, faults, close } = await host.visit();
  const canvas = await showGraph(page, STORY, "1");
  await page.keyboard.press("/");
  await page.keyboard.type("aten::silu");
  assert.match(await page.locator(".searchbox").innerText(), /^5 of 343$/);
  await page.keyboard.press("Enter");
  await waitSelected(page, "n:silu");
  assert.match(await status(page), /^silu · aten::silu · f32\[1, s11, 172\] · 1\sline in, 1 out$/);
  await page.keyboard.press("Enter");
  await waitSelected(page, "n:silu_1");
  await page.keyboard.press("Shift+Enter");
  await waitSelected(page, "n:silu");
  await page.keyboard.press("Escape");
  const { inputs, users } = await page.evaluate(() => {
    const list = (title: string): string[] =>
      [...document.querySelectorAll(".inspector section")]
        .filter((section) => section.querySelector("h3")?.textContent === title)
        .flatMap((section) => [...section.querySelectorAll("li")].map((li) => li.innerText));
    return { inputs: list("Inputs"), users: list("Used by") };
  });
  // The arrows go where the inspector says.
  await canvas.focus();
  await page.keyboard.press("ArrowUp");
  await waitSelected(page, `n:${inputs[0]}`);
  await page.keyboard.press("ArrowDown");
  await waitSelected(page, "n:silu");
  await page.keyboard.press("ArrowDown");
  await waitSelected(page, `n:${users[0]}`);
  assert.deepEqual(faults, []);
  await close();
});

test("a node is followed to the stages before and after", async () => {
  const { page, faults, close } = await host.visit();
  const canvas = await showGraph(page, STORY, "1");
  await page.keyboard.press("/");
  await page.keyboard.type("aten::silu");
  await page.keyboard.press("Enter");
  await waitSelected(page, "n:silu");
  await page.keyboard.press("Escape");
  const source = await page.locator(".inspector .quote").innerText();
  await canvas.focus();
  await page.keyboard.press(">");
  await page.locator("h1", { hasText: "Core ATen" }).waitFor();
  await page.waitForFunction(
    () => document.querySelector<HTMLElement>(".graph canvas")?.dataset["selected"] !== "",
  );
  assert.equal(await page.locator(".inspector .quote").innerText(), source);
  await canvas.focus();
  await page.keyboard.press("<");
  await page.locator("h1", { hasText: "Source" }).waitFor();
  await waitSelected(page, "n:silu");
  await page.locator(".inspector .follow button").click();
  await page.locator("h1", { hasText: "Core ATen" }).waitFor();
  assert.equal(await page.locator(".inspector .quote").innerText(), source);
  assert.deepEqual(faults, []);
  await close();
});

test("the pointer selects, opens, moves and zooms", async () => {
  const { page, faults, close } = await host.visit();
  const canvas = await showGraph(page, "tests/models/linear.pt2", "1");
  const room = (await canvas.boundingBox())!;
  const [x, y] = [room.x + room.width / 2, room.y + room.height / 2];
  await page.mouse.click(x, y);
  assert.equal(await selected(canvas), "n:linear");
  assert.ok(await page.locator(".inspector").isVisible());
  await page.mouse.dblclick(x - 8, y);
  await page.locator("h1", { hasText: "Core ATen" }).waitFor();
  await page.keyboard.press("1");
  await page.keyboard.press("Escape");
  let before = 0;
  for (let i = 0; i < 100 && before < 8; i++) before = await colours(canvas);
  await page.mouse.move(x, y);
  await page.keyboard.down("Control");
  for (let i = 0; i < 8; i++) await page.mouse.wheel(0, 240);
  await page.keyboard.up("Control");
  // From afar there are no names to be seen, and so far fewer shades.
  let after = before;
  for (let i = 0; i < 100 && after >= before; i++) after = await colours(canvas);
  assert.ok(after < before, `${after} of ${before} colours`);
  assert.deepEqual(faults, []);
  await close();
});

test("what a backend took is a group of its own, in every theme", async () => {
  for (const colorScheme of ["light", "dark"] as const) {
    const { page, faults, close } = await host.visit({ colorScheme });
    await dropModel(page, { "model.pt2": readFileSync(inRoot(STORY)) });
    await page.keyboard.press("1");
    await page.keyboard.press("s");
    await page.locator(".settings").evaluate((details) => details.setAttribute("open", ""));
    await page.locator("[data-backend]").first().selectOption("xnnpack");
    await page.getByRole("button", { name: "Lower again" }).click();
    await page.waitForSelector('.step.is-done[data-step="delegated"]', { timeout: 60_000 });
    await lowered(page);
    await page.keyboard.press("4");
    await page.keyboard.press("g");
    const canvas = page.locator(".graph canvas");
    await canvas.waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("aten::linear");
    await page.keyboard.press("Enter");
    await page.locator('.graph canvas[data-selected^="n:"]').waitFor();
    assert.match(await page.locator(".inspector").innerText(), /Delegated to\s+xnnpack:0/);
    await page.keyboard.press("Escape");
    await canvas.focus();
    for (let i = 0; i < 4; i++) await page.keyboard.press("Backspace");
    await page.locator('.graph canvas[data-selected^="p:"]').waitFor();
    assert.match(await status(page), /^xnnpack:0 · \d+\snodes?, one call of XnnpackBackend/);
    const open = await boxes(canvas);
    await page.keyboard.press("Enter");
    await page.locator(`.graph canvas:not([data-boxes="${open}"])`).waitFor();
    assert.ok((await boxes(canvas)) < open);
    assert.deepEqual(faults, []);
    await close();
  }
});

test("many nodes without modules are cut into runs", async () => {
  const { page, faults, close } = await host.visit();
  const canvas = await showGraph(page, "tests/models/lstm.pt2", "2");
  const count = await boxes(canvas);
  assert.ok(count > 0 && count <= 400, `${count} boxes`);
  await page.getByRole("button", { name: "Fold all" }).click();
  await page.locator(`.graph canvas:not([data-boxes="${count}"])`).waitFor();
  assert.ok((await boxes(canvas)) < count);
  assert.deepEqual(faults, []);
  await close();
});
