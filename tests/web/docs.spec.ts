// The documentation site in a browser: the page leads to it, its search finds, and it works from files,
// without a server.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { inRoot, startHost, type Host } from "./browser.js";

let host: Host;
before(async () => (host = await startHost()));
after(() => host.close());

test("the page leads to the documentation, which keeps to its content policy", async () => {
  const { page, faults, close } = await host.visit();
  const opened = page.waitForEvent("popup");
  await page.getByRole("link", { name: "Docs" }).click();
  const docs = await opened;
  await docs.getByRole("heading", { level: 1, name: "Sconce" }).waitFor();
  const picture = docs.locator("main img").first();
  assert.ok(await picture.evaluate((image) => (image as HTMLImageElement).naturalWidth > 0));
  await close();
  assert.deepEqual(faults, []);
});

for (const from of ["a server", "files"])
  test(`the search finds sections, and Enter goes to the first: from ${from}`, async () => {
    const { page, faults, close } = await host.visit({}, "docs/");
    if (from === "files")
      await page.goto(pathToFileURL(inRoot("dist/web/docs/getting-started.html")).href);
    await page.keyboard.press("/");
    await page.keyboard.type("unbounded");
    const first = page.locator("#found a").first();
    assert.match((await first.getAttribute("href"))!, /^troubleshooting\.html#unbounded$/);
    await page.keyboard.press("Enter");
    await page.waitForURL(/troubleshooting\.html#unbounded$/);
    await page.fill("#search", "no such words anywhere");
    assert.equal(await page.locator("#found").innerText(), "No page has these words.");
    await page.keyboard.press("Escape");
    await page.locator("#found").waitFor({ state: "hidden" });
    await close();
    assert.deepEqual(
      faults.filter((fault) => !fault.startsWith("request: file:")),
      [],
    );
  });

test("no page is wider than a small screen", async () => {
  const { page, faults, close } = await host.visit(
    { viewport: { width: 390, height: 800 } },
    "docs/",
  );
  const names = await page
    .locator("nav.pages a")
    .evaluateAll((links) => links.map((link) => link.getAttribute("href")!));
  assert.ok(names.length > 20, `${names.length} pages`);
  for (const name of names) {
    await page.goto(`${host.url}docs/${name}`);
    const wide = await page.evaluate("document.documentElement.scrollWidth");
    assert.ok((wide as number) <= 390, `${name} is ${String(wide)} wide`);
  }
  await close();
  assert.deepEqual(faults, []);
});
