// The page as a page: keys, views, themes, small screens, its policy and its size.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { after, before, test } from "node:test";
import { brotliCompressSync } from "node:zlib";
import { drop, inRoot, lowered, startHost, type Host } from "./browser.js";

let host: Host;
before(async () => (host = await startHost()));
after(() => host.close());

test("everything can be reached by keyboard", async () => {
  const { page, faults, close } = await host.visit();
  await page.keyboard.press("?");
  assert.ok(await page.locator("dialog").isVisible());
  await page.keyboard.press("Escape");
  assert.ok(await page.locator("dialog").isHidden());
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
  await page.locator("[data-search]").fill("convolution 240");
  assert.match(await page.locator(".searchbox").innerText(), /^\d+ of \d+$/);
  assert.ok((await operators.allInnerTexts()).every((op) => op.includes("convolution")));
  await close();
});

test("thousands of nodes stay quick, few rows exist", async () => {
  const { page, close } = await host.visit();
  await drop(page, { "lstm.pt2": readFileSync(inRoot("tests/models/lstm.pt2")) });
  await lowered(page);
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

test("a phone can run the samples, with nothing cut off", async () => {
  const { page, close } = await host.visit({ viewport: { width: 390, height: 844 } });
  const overflow = "document.documentElement.scrollWidth - innerWidth";
  assert.equal(await page.evaluate(overflow), 0);
  await page.getByRole("button", { name: "Face detector" }).click();
  await page.waitForSelector(".picture rect", { timeout: 120_000 });
  assert.equal(await page.evaluate(overflow), 0);
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

test("the scripts of the first screen are small", () => {
  const folder = inRoot("dist/web/assets");
  const scripts = readdirSync(folder).filter((name) => name.endsWith(".js"));
  const bytes = scripts.reduce(
    (sum, name) => sum + brotliCompressSync(readFileSync(`${folder}/${name}`)).length,
    0,
  );
  assert.ok(bytes > 0 && bytes <= 120_000, `${bytes} bytes of scripts`);
});
