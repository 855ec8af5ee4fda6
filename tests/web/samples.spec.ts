// The sample cards do the whole thing on one click: lower in the page, open Run, and give what
// PyTorch gave.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createEngine } from "sconce";
import { downloaded, inRoot, lowered, readJson, startHost, written, type Host } from "./browser.js";

let host: Host;
before(async () => (host = await startHost()));
after(() => host.close());

const golden = readJson<{ text: string }>("models/stories260k.golden.json");
const story = golden.text.trimStart().replaceAll("<0x0A>", "\n");

test("the story teller writes the golden story, and stops and writes again", async () => {
  const { page, faults, close } = await host.visit();
  await page.getByRole("button", { name: "Story teller" }).click();
  await written(page);
  const text = await page.locator(".story-text").innerText();
  assert.equal(text.slice(0, story.length), story);
  assert.match(await page.locator(".talk").innerText(), /tokens\/s/);

  // A story takes less time than a click from outside, or than a frame on a busy machine: the page
  // itself clicks, as soon as it has written something.
  await page.evaluate(
    (whole) =>
      new Promise<void>((resolve) => {
        const button = document.querySelector<HTMLButtonElement>(".composer button")!;
        const reported = (): number => document.querySelector(".story-text")!.textContent!.length;
        const observer = new MutationObserver(() => {
          if (reported() < 10 || reported() === whole) return;
          observer.disconnect();
          button.click();
          resolve();
        });
        observer.observe(document.body, { subtree: true, childList: true, characterData: true });
        button.click();
      }),
    text.length,
  );
  await page.getByRole("button", { name: "Write again" }).waitFor();
  const part = await page.locator(".story-text").innerText();
  assert.ok(part.length < text.length && story.startsWith(part.trimEnd()), part);
  assert.deepEqual(faults, []);
  await close();
});

test("a story begins with words of one's own, through prefill", async () => {
  const { page, faults, close } = await host.visit({}, "#story");
  await written(page);
  // The first line of the golden story, and greedy decoding must find the rest again.
  await page.getByLabel("Go on from").fill(story.split("\n")[0]!);
  await page.getByRole("button", { name: "Write again" }).click();
  await written(page);
  assert.equal((await page.locator(".story-text").innerText()).slice(0, story.length), story);
  assert.deepEqual(faults, []);
  await close();
});

test("the last step says that it runs, and then what it took", async () => {
  const { page, close } = await host.visit({}, "#story");
  await written(page);
  const run = page.locator(".spine .step").nth(5);
  assert.match(await run.innerText(), /Run\s+\d.*m?s\s+256.tokens/);
  const during = await page.evaluate(
    () =>
      new Promise<string>((resolve) => {
        const observer = new MutationObserver(() => {
          if (!document.querySelector('[data-status="reading"], [data-status="writing"]')) return;
          observer.disconnect();
          resolve(document.querySelector<HTMLElement>(".step:last-child")!.innerText);
        });
        observer.observe(document.body, { subtree: true, attributes: true, childList: true });
        document.querySelector<HTMLButtonElement>(".composer button")!.click();
      }),
  );
  assert.match(during, /^Run\s+working$/);
  await close();
});

test("the spine has times, nodes and bytes of every step", async () => {
  const { page, close } = await host.visit({}, "#story");
  await lowered(page);
  const steps = await page.locator(".spine .step").allInnerTexts();
  assert.equal(steps.length, 6);
  for (const step of steps.slice(0, 5)) assert.match(step, /\d\s(ms|s)/);
  for (const step of steps.slice(0, 4)) assert.match(step, /\d\snode/);
  assert.match(steps[3]!, /[KM]B/);
  assert.match(steps[4]!, /1\.\d+\sMB/);
  const official = readJson<{ executorch: string; machine: string }>("docs/official.json");
  assert.match(await page.locator(".total").innerText(), /executorch 1\.5\.1\s+24\.5\ss/);
  const source = await page.locator(".total .soft").getAttribute("title");
  assert.ok(source!.includes(official.machine), source!);
  await close();
});

test("what is saved are the engine's own bytes", async () => {
  const { page, close } = await host.visit({}, "#story");
  await lowered(page);
  const bytes = await downloaded(page, () => page.getByText("Save .pte").first().click());
  const engine = await createEngine();
  const expected = engine.lower(
    {
      prefill: { path: inRoot("models/stories260k.prefill.pt2") },
      decode: { path: inRoot("models/stories260k.decode.pt2") },
    },
    { constantMethods: { get_max_seq_len: 256 }, shareMutableBuffers: true },
  ).buffer;
  assert.ok(bytes.equals(expected), `${bytes.length} bytes, not ${expected.length}`);
  engine.dispose();
  await close();
});

interface Golden {
  faces: { score: number; box: number[] }[];
}

test("the face detector draws the golden box", async () => {
  const { page, faults, close } = await host.visit();
  await page.getByRole("button", { name: "Face detector" }).click();
  await page.waitForSelector(".picture rect", { timeout: 120_000 });
  const boxes = await page.locator(".picture rect").evaluateAll((all) =>
    all.map((rect) => {
      const of = (name: string): number => Number(rect.getAttribute(name));
      const { width, height } = rect.closest("svg")!.viewBox.baseVal;
      const [x, y] = [of("x") / width, of("y") / height];
      return [x, y, x + of("width") / width, y + of("height") / height];
    }),
  );
  const { faces } = readJson<Golden>("models/face-photo.golden.json");
  assert.equal(boxes.length, faces.length);
  // The page scales the photo itself, which moves the box by a fraction of a per cent.
  for (const [i, face] of faces.entries()) {
    face.box.forEach((edge, side) => {
      assert.ok(Math.abs(boxes[i]![side]! - edge) < 0.015, `${boxes[i]} is not ${face.box}`);
    });
  }
  assert.deepEqual(faults, []);
  await close();
});

test("a picture of one's own and the camera take the photo's place", async () => {
  const { page, faults, close } = await host.visit({ permissions: ["camera"] }, "#face");
  await page.waitForSelector(".picture rect", { timeout: 120_000 });
  await page.setInputFiles('.face input[type="file"]', inRoot("models/face-photo.320x240.png"));
  await page.getByRole("button", { name: "Bundled photo" }).waitFor();
  await page.waitForSelector(".picture rect");
  await page.getByRole("button", { name: "Use the camera" }).click();
  await page.waitForFunction(() => document.querySelector("video")?.videoWidth);
  await page.getByRole("button", { name: "Stop the camera" }).click();
  await page.waitForSelector(".picture img");
  assert.equal(await page.locator("video").count(), 0);
  assert.deepEqual(faults, []);
  await close();
});

test("without the models beside it, the page offers what works and says where the rest is", async () => {
  const { page, faults, close } = await host.visit();
  await page.getByRole("button", { name: "Face detector" }).waitFor();
  await page.route("**/models/**", (route) => route.fulfill({ status: 404, body: "not found" }));
  await page.reload();
  await page.getByText("npm package leaves out").waitFor();
  const cards = await page.locator(".card-name").allInnerTexts();
  assert.deepEqual(cards, ["Three layers"]);
  assert.match(
    await page.locator(".lacking").innerText(),
    /folder models of the Sconce repository/,
  );
  await page.getByRole("button", { name: "Three layers" }).click();
  await page.waitForSelector(".output", { timeout: 60_000 });
  // A visitor who comes by a link to such a sample learns the same.
  await page.goto(`${host.url}#story`);
  await page.getByText("npm start").first().waitFor();
  const unexpected = faults.filter((fault) => !fault.includes("404"));
  assert.deepEqual(unexpected, []);
  await close();
});

test("the small network runs with made-up numbers and says what came out", async () => {
  const { page, close } = await host.visit();
  await page.getByRole("button", { name: "Three layers" }).click();
  await page.waitForSelector(".output", { timeout: 60_000 });
  const output = await page.locator(".output").innerText();
  assert.match(output, /f32\[4, 10\]/);
  // Each of the four rows is a softmax over ten classes.
  assert.match(output, /mean\s+0\.1000/);
  assert.match(output, /NaN\s+none/);
  const npy = await downloaded(page, () => page.getByText("Save .npy").click());
  assert.equal(npy.subarray(1, 6).toString(), "NUMPY");
  assert.equal(npy.length, 128 + 40 * 4);
  await close();
});
