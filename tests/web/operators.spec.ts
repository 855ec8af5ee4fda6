// Coverage of operators: the list on the first screen.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startHost, type Host } from "./browser.js";

let host: Host;
before(async () => (host = await startHost()));
after(() => host.close());

test("somebody finds out whether an operator is covered", async () => {
  const { page, faults, close } = await host.visit();
  await page.getByText("Will my model's operators work?").click();
  const list = page.locator(".operators");
  await list
    .getByText(/^Of \d+ operators that PyTorch 2\.\d+ can leave in a program, \d+ lower/)
    .waitFor();
  const count = list.getByRole("status");
  const all = parseInt(await count.innerText(), 10);
  assert.ok(all > 900);
  await list.getByLabel("Search operators").fill("torch.ops.aten.addmm_.default");
  await list.getByRole("row").filter({ hasText: "addmm" }).first().waitFor();
  assert.match(await list.getByRole("row").nth(1).innerText(), /addmm\s+yes\s+yes/);
  await list.getByLabel("Search operators").fill("igamma");
  assert.match(await list.getByRole("row").nth(1).innerText(), /igamma/);
  assert.ok((await list.locator(".is-lacking").count()) > 0);
  await list.getByLabel("Search operators").fill("embedding_bag.padding_idx");
  assert.match(
    await list.getByRole("row").nth(1).innerText(),
    /yes\s+limited\s+only its first result/,
  );
  await list.getByLabel("Search operators").fill("torchvision.ops.roi_align");
  assert.match(
    await list.getByRole("row").nth(1).innerText(),
    /limited\s+only a sampling_ratio of 1 to 64; images of known size; results of/,
  );
  await list.getByLabel("Search operators").fill("special_gammainc");
  assert.match(await list.getByRole("row").nth(1).innerText(), /yes\s+no\s+needs igamma/);
  await list.getByLabel("Search operators").press("Escape");
  assert.equal(parseInt(await count.innerText(), 10), all);
  await list.getByLabel("Search operators").fill("torch.vmap");
  await list.getByText(/^torch\.vmap .*: \d+ operators take a batch at once/).waitFor();
  await list.getByLabel("Search operators").fill("no such thing");
  await list.getByText("No operator has that in its name.").waitFor();
  assert.deepEqual(faults, []);
  await close();
});

test("on a phone names are whole, and limits are told with their reasons", async () => {
  const { page, faults, close } = await host.visit({ viewport: { width: 320, height: 640 } });
  await page.getByText("Will my model's operators work?").click();
  const list = page.locator(".operators");
  await list.getByLabel("Search operators").fill("special_polygamma");
  const row = list.getByRole("row").nth(1);
  assert.match(await row.innerText(), /polygamma\s+limited\s+only up to the 150th derivative/);
  for (const part of [".of-name", ".of-lacks"]) {
    const isCut = await row
      .locator(part)
      .evaluate((cell) => cell.scrollWidth > cell.clientWidth || cell.clientHeight === 0);
    assert.equal(isCut, false, part);
  }
  // Rows stand below each other, each as high as the list takes them for.
  await list.getByLabel("Search operators").fill("max_pool");
  const boxes = await list
    .locator(".virtual-rows > .row")
    .evaluateAll((rows) => rows.map((one) => one.getBoundingClientRect().toJSON() as DOMRect));
  assert.ok(boxes.length > 3);
  const [space] = await list
    .locator(".virtual-space")
    .evaluateAll((parts) => parts.map((part) => part.getBoundingClientRect().height));
  assert.equal(space, boxes.length * boxes[0]!.height);
  assert.deepEqual(faults, []);
  await close();
});

test("turning a phone does not change the order", async () => {
  const { page, faults, close } = await host.visit({ viewport: { width: 900, height: 640 } });
  await page.getByText("Will my model's operators work?").click();
  const list = page.locator(".operators");
  await list.getByLabel("Search operators").fill("embedding");
  const names = (): Promise<string[]> =>
    list.locator(".virtual-rows .of-name").evaluateAll((cells) => cells.map((c) => c.textContent));
  await list.getByRole("columnheader", { name: "Note" }).getByRole("button").click();
  await list.getByRole("columnheader", { name: "Note" }).getByRole("button").click();
  const sorted = await names();
  assert.notDeepEqual(sorted, [...sorted].sort());
  await page.setViewportSize({ width: 390, height: 640 });
  await list.getByRole("columnheader", { name: "Note" }).waitFor({ state: "detached" });
  assert.deepEqual(await names(), sorted);
  assert.deepEqual(faults, []);
  await close();
});
