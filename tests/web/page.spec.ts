// The page as a page: keys, views, themes, small screens, its policy and its size.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { basename } from "node:path";
import { after, before, test } from "node:test";
import { brotliCompressSync } from "node:zlib";
import {
  dropModel,
  inRoot,
  lowered,
  misplaced,
  mlpWithBatch,
  startHost,
  written,
  type Host,
} from "./browser.js";

let host: Host;
before(async () => (host = await startHost()));
after(() => host.close());

test("everything can be reached by keyboard", async () => {
  const { page, faults, close } = await host.visit();
  await page.keyboard.press("?");
  await page.locator("dialog").waitFor();
  await page.keyboard.press("Escape");
  await page.locator("dialog").waitFor({ state: "hidden" });
  // From the top of the page, Tab comes by the drop area and the cards.
  const seen: string[] = [];
  for (let i = 0; i < 10 && !seen.at(-1)?.includes("Three layers"); i++) {
    await page.keyboard.press("Tab");
    seen.push(await page.evaluate(() => (document.activeElement as HTMLElement).innerText));
    const outline = "getComputedStyle(document.activeElement).outlineStyle";
    assert.notEqual(await page.evaluate(outline), "none", seen.at(-1));
  }
  assert.match(seen.at(-1)!, /Three layers/);
  await page.keyboard.press("Enter");
  await lowered(page);
  await page.waitForSelector(".output");

  const heading = page.locator("h1");
  const names = ["Source", "Core ATen", "Edge", "Planned", "Program", "Run"];
  for (const [i, name] of names.entries()) {
    await page.keyboard.press(String(i + 1));
    assert.equal(await heading.innerText(), name);
  }
  await page.keyboard.press("1");
  await page.keyboard.press("t");
  await page.waitForSelector(".table .row");
  await page.keyboard.press("/");
  await page.keyboard.type("aten::gelu");
  assert.equal(await page.locator(".table .row:not(.head)").count(), 1);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await page.keyboard.press("x");
  await page.waitForSelector(".line .ir-op");
  await page.locator(".virtual").focus();
  await page.keyboard.press("ArrowDown");
  await page.waitForSelector(".line.is-selected");
  assert.ok(await page.locator(".inspector").isVisible());
  await page.keyboard.press("Escape");
  assert.equal(await page.locator(".inspector").count(), 0);
  assert.deepEqual(faults, []);
  await close();
});

test("nodes are sorted, filtered and looked into", async () => {
  const { page, close } = await host.visit({}, "#face");
  await page.waitForSelector(".picture rect", { timeout: 120_000 });
  await page.keyboard.press("3");
  await page.keyboard.press("t");
  await page.waitForSelector(".table .row:not(.head)");
  const operators = page.locator(".row:not(.head) .cell.op");
  await page.getByRole("button", { name: "Operator" }).click();
  const up = await operators.first().innerText();
  await page.getByRole("button", { name: "Operator" }).click();
  assert.ok(up < (await operators.first().innerText()));
  await page.locator("[data-search]").fill("aten::convolution 120");
  assert.match(await page.locator(".searchbox").innerText(), /^[1-9]\d* of \d+$/);
  assert.ok((await operators.allInnerTexts()).every((op) => op.includes("convolution")));
  await operators.first().click();
  assert.match(await page.locator(".inspector").innerText(), /convolution, pooling/);
  await page.keyboard.press("5");
  const called = page.locator(".ops li", { hasText: "convolution.out" });
  assert.equal(await called.locator(".family-conv").count(), 1);
  await close();
});

test("thousands of nodes stay quick, few rows exist", async () => {
  const { page, close } = await host.visit();
  await dropModel(page, { "lstm.pt2": readFileSync(inRoot("tests/models/lstm.pt2")) });
  await page.keyboard.press("2");
  await page.keyboard.press("t");
  await page.waitForSelector(".table .row:not(.head)");
  await page.locator(".virtual").focus();
  await page.keyboard.press("End");
  await page.waitForSelector(".row.is-selected");
  assert.ok((await page.locator(".table .row").count()) < 100);
  await page.keyboard.press("4");
  await page.keyboard.press("m");
  await page.locator(".memory canvas").hover();
  assert.match(await page.locator(".memory figcaption").innerText(), /./);
  await close();
});

test("the theme follows the system, and the switch", async () => {
  const { page, close } = await host.visit({ colorScheme: "dark" });
  const paper = (): Promise<string> =>
    page.evaluate("getComputedStyle(document.body).backgroundColor");
  const dark = await paper();
  await page.getByRole("button", { name: /^Theme/ }).click();
  const light = await paper();
  assert.notEqual(light, dark);
  await page.reload();
  assert.equal(await paper(), light);
  await page.getByRole("button", { name: /^Theme/ }).click();
  assert.equal(await paper(), dark);
  await close();
});

for (const width of [320, 390, 768, 1280, 1920]) {
  test(`nothing is cut off at ${width} pixels, nor with text twice as large`, async () => {
    const { page, close } = await host.visit({ viewport: { width, height: 800 } });
    const session = await page.context().newCDPSession(page);
    for (const standard of [16, 32]) {
      await session.send("Page.setFontSizes", { fontSizes: { standard } });
      await page.goto(host.url);
      assert.deepEqual(await misplaced(page), []);
      await page.getByRole("button", { name: "Three layers" }).click();
      await page.waitForSelector(".output", { timeout: 60_000 });
      for (const key of ["1", "2", "3", "4", "5", "6"]) {
        await page.keyboard.press(key);
        assert.deepEqual(await misplaced(page), [], `step ${key}, text of ${standard} px`);
      }
    }
    await close();
  });
}

test("who wants no motion gets none", async () => {
  const { page, close } = await host.visit({ reducedMotion: "reduce" });
  await page.route(/mlp\.pt2$/, () => undefined);
  await page.getByRole("button", { name: "Three layers" }).click();
  await page.locator(".step.is-running").waitFor();
  const moving = await page.evaluate(() => document.getAnimations().length);
  assert.equal(moving, 0);
  await close();
});

test("back and forward go between samples and the start, and files take a sample's place", async () => {
  const { page, faults, close } = await host.visit();
  await page.getByRole("button", { name: "Three layers" }).click();
  await page.waitForSelector(".output", { timeout: 60_000 });
  assert.match(page.url(), /#mlp$/);
  await page.goBack();
  await page.locator(".cards").waitFor();
  await page.goForward();
  await page.waitForSelector(".output", { timeout: 60_000 });
  await dropModel(page, { "linear.pt2": readFileSync(inRoot("tests/models/linear.pt2")) });
  assert.doesNotMatch(page.url(), /#/);
  await page.reload();
  await page.locator(".cards").waitFor();
  await page.goBack();
  await page.locator(".title").getByText("mlp").waitFor();
  await page.getByRole("button", { name: "Samples" }).click();
  await page.locator(".cards").waitFor();
  assert.doesNotMatch(page.url(), /#/);
  assert.deepEqual(faults, []);
  await close();
});

test("large inputs and results do not hold up the page", async () => {
  const { page, close } = await host.visit();
  await dropModel(page, { "large.pt2": mlpWithBatch(400_000) });
  await page.keyboard.press("6");
  // Time that the page's own thread works, not time that passes: other programs may be at work, too.
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const busy = async (): Promise<number> => {
    const { metrics } = await session.send("Performance.getMetrics");
    return 1000 * metrics.find(({ name }) => name === "TaskDuration")!.value;
  };
  const before = await busy();
  await page.locator(".run-go .primary").click();
  await page.waitForSelector(".output", { timeout: 60_000 });
  const ms = (await busy()) - before;
  assert.ok(ms > 0 && ms < 250, `the page itself worked for ${ms} ms`);
  await close();
});

test("a model that is opened again and again takes no more memory", async () => {
  const { page, close } = await host.visit();
  // The worker's reports on its memory pass by here.
  await page.addInitScript(() => {
    const heaps: number[] = [];
    Object.assign(globalThis, { heaps });
    globalThis.Worker = class extends Worker {
      constructor(url: string | URL, options?: WorkerOptions) {
        super(url, options);
        this.addEventListener("message", ({ data }) => {
          if (data?.value?.heapBytes) heaps.push(data.value.heapBytes);
        });
      }
    };
  });
  await page.reload();
  const peaks: number[] = [];
  for (let i = 0; i < 10; i++) {
    await page.getByRole("button", { name: "Story teller" }).click();
    await written(page);
    peaks.push((await page.evaluate("Math.max(...heaps.splice(0))")) as number);
    await page.getByRole("button", { name: "Samples" }).click();
  }
  // The first few find the room that all the others do with.
  assert.ok(peaks[9]! <= peaks[3]!, `${peaks.join(", ")} bytes`);
  await close();
});

test("who opens something goes on from there by keyboard", async () => {
  const { page, close } = await host.visit();
  await page.getByRole("button", { name: "Three layers" }).click();
  await page.locator("#pane:focus").waitFor();
  await close();
});

test("the policy forbids what the page does not do", async () => {
  const { page, close } = await host.visit();
  const policy = await page
    .locator('meta[http-equiv="Content-Security-Policy"]')
    .getAttribute("content");
  assert.match(policy!, /default-src 'self'; script-src 'self' 'wasm-unsafe-eval'/);
  assert.doesNotMatch(policy!, /unsafe-inline|'unsafe-eval'|https?:/);
  const refused = await page.evaluate(() =>
    fetch("https://example.com/").then(
      () => false,
      () => true,
    ),
  );
  assert.ok(refused);
  await close();
});

test("the scripts of the first screen are small", async () => {
  const { page, close } = await host.visit();
  await page.getByRole("button", { name: "Three layers" }).waitFor();
  const fetched = (await page.evaluate(() =>
    performance.getEntriesByType("resource").map(({ name }) => new URL(name).pathname),
  )) as string[];
  const first = fetched.map((path) => basename(path)).filter((name) => name.endsWith(".js"));
  const folder = inRoot("dist/web/assets");
  const all = readdirSync(folder).filter((name) => name.endsWith(".js"));
  const sizeOf = (names: readonly string[]): number =>
    names.reduce(
      (sum, name) => sum + brotliCompressSync(readFileSync(`${folder}/${name}`)).length,
      0,
    );
  assert.ok(
    first.some((name) => name.startsWith("worker-")) && first.length < all.length,
    `${first}`,
  );
  assert.ok(sizeOf(first) <= 147_000, `${sizeOf(first)} bytes of scripts at first`);
  assert.ok(sizeOf(all) <= 270_000, `${sizeOf(all)} bytes of scripts`);
  await close();
});
