// Recipes in the page: picking one, calibrating it on what is dropped, and the quantized program
// next to the float one.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import type { Page } from "playwright-core";
import { createEngine, RecipeRegistry, tensor, type Tensor } from "sconce";
import {
  downloaded,
  dropModel,
  inRoot,
  lowered,
  misplaced,
  npy,
  readJson,
  startHost,
  written,
  type Host,
} from "./browser.js";

let host: Host;
before(async () => (host = await startHost()));
after(() => host.close());

const STATIC = "xnnpack_pt2e_int8_static_per_channel";
const PHOTO = "models/face-photo.320x240.png";

/** Opens the settings of what is open. */
async function settings(page: Page): Promise<void> {
  await lowered(page);
  await page.locator('[data-step="source"] button').click();
  const form = page.locator("details.settings");
  if (!(await form.evaluate((element) => (element as HTMLDetailsElement).open)))
    await form.locator("summary").click();
  await page.locator("[data-recipe]").waitFor();
}

async function pick(page: Page, recipe: string): Promise<void> {
  await settings(page);
  await page.locator("[data-recipe]").selectOption(recipe);
}

/** Drops files on the place for calibration, as a hand would. */
async function dropOn(
  page: Page,
  files: Record<string, [bytes: Uint8Array, type: string]>,
): Promise<void> {
  const list = Object.entries(files).map(([name, [bytes, type]]) => [
    name,
    Buffer.from(bytes).toString("base64"),
    type,
  ]);
  const transfer = await page.evaluateHandle((items) => {
    const data = new DataTransfer();
    for (const [name, text, type] of items) {
      const bytes = Uint8Array.from(atob(text!), (c) => c.charCodeAt(0));
      data.items.add(new File([bytes], name!, { type: type! }));
    }
    return data;
  }, list);
  await page.dispatchEvent("[data-calibration]", "drop", { dataTransfer: transfer });
}

const array = (shape: readonly number[], value: number): [Uint8Array, string] => [
  npy(shape, value),
  "",
];

/** Lowers again and waits until both programs were compared. */
async function compare(page: Page, lines: number): Promise<void> {
  await page.getByRole("button", { name: "Lower again", exact: true }).click();
  await compared(page, lines);
}

async function compared(page: Page, lines: number): Promise<void> {
  await page
    .locator(`.compared-table tbody tr:nth-child(${lines})`)
    .first()
    .waitFor({ timeout: 120_000 });
  await page.locator(".busy").waitFor({ state: "detached", timeout: 120_000 });
}

const rowOf = async (page: Page, name: string): Promise<string> =>
  (await page.locator(".compared-table tr", { hasText: name }).first().innerText()).replace(
    /\s+/g,
    " ",
  );

test("the picker has every recipe, each with a sentence of its own", async () => {
  const { page, faults, close } = await host.visit({}, "#mlp");
  await settings(page);
  const names = await page.locator("[data-recipe] option").allInnerTexts();
  assert.deepEqual(names, RecipeRegistry.shared.getSupportedRecipes());
  const sentences = new Set<string>();
  // The layers that each takes, by the operators that it has patterns for.
  const layers: Record<string, RegExp> = {
    xnnpack_pt2e_int8_dynamic_per_channel: /^Linear layers and convolutions of images in 8 bits/,
    sconce_int8_weight_only: /^Weights of linear layers and embeddings in 8 bits/,
    sconce_int4_weight_only: /^Weights of linear layers and embeddings in 4 bits.*about a sixth/,
    sconce_fp16_weights: /^Weights of linear layers, convolutions and embeddings as halves/,
  };
  for (const name of names) {
    await page.locator("[data-recipe]").selectOption(name);
    const words = await page.locator("#recipe-words").innerText();
    assert.ok(words.length > 30 && words !== "A recipe of your own", `${name}: ${words}`);
    if (layers[name]) assert.match(words, layers[name]);
    sentences.add(words);
    const groups = await page.getByLabel("Group size").count();
    assert.equal(groups, /int4_weight_only|int4w_per_tensor|llm_8da4w/.test(name) ? 1 : 0, name);
    const backend = await page.locator("[data-backend]").inputValue();
    assert.equal(backend, name === "portable" ? "" : "xnnpack", name);
  }
  assert.equal(sentences.size, names.length);
  // A user who chooses the backend alone has chosen a recipe, too.
  await page.locator("[data-recipe]").selectOption("portable");
  await page.locator("[data-backend]").selectOption("xnnpack");
  assert.equal(await page.locator("[data-recipe]").inputValue(), "xnnpack_fp32");
  assert.deepEqual(faults, []);
  await close();
});

const sameBox = (a: readonly number[], b: readonly number[]): boolean =>
  a.every((edge, i) => Math.abs(edge - b[i]!) < 0.03);

test("a face is found by the program that a dropped picture has calibrated", async () => {
  const { page, faults, close } = await host.visit({}, "#face");
  await pick(page, STATIC);
  await page.getByText("Ranges come from the example inputs of the file.").waitFor();
  await dropOn(page, { "photo.png": [readFileSync(inRoot(PHOTO)), "image/png"] });
  await page.getByText("Ranges come from 1 call.").waitFor();
  await compare(page, 2);

  assert.match(await rowOf(page, "Program"), /Program 1\.2\d* MB \d{3} KB [\d.]+ times smaller/);
  assert.match(await rowOf(page, "A run of"), /forward [\d.]+ ms [\d.]+ ms/);
  const outputs = await page.locator(".both-outputs tbody tr").allInnerTexts();
  assert.equal(outputs.length, 2);
  for (const output of outputs) assert.ok(Number(/([\d.]+)\sdB/.exec(output)![1]) > 25, output);

  const { faces } = readJson<{ faces: { box: number[] }[] }>("models/face-photo.golden.json");
  for (const side of [0, 1]) {
    const seen = page.locator(".seen").nth(side);
    const boxes = await seen.locator("rect").evaluateAll((all) =>
      all.map((rect) => {
        const of = (name: string): number => Number(rect.getAttribute(name));
        const { width, height } = rect.closest("svg")!.viewBox.baseVal;
        const [x, y] = [of("x") / width, of("y") / height];
        return [x, y, x + of("width") / width, y + of("height") / height];
      }),
    );
    assert.equal(boxes.length, faces.length);
    assert.ok(
      boxes.every((box, i) => sameBox(box, faces[i]!.box)),
      `${side}: ${boxes}`,
    );
  }
  assert.match(await page.locator('[data-step="quantized"]').innerText(), /387\snodes/);

  // The saved program is the quantized one, and it runs elsewhere, too.
  const bytes = await downloaded(page, () => page.getByText("Save .pte").first().click());
  const engine = await createEngine();
  const program = engine.load(bytes);
  assert.ok(bytes.length < 450_000, `${bytes.length} bytes`);
  const grey = tensor(new Float32Array(3 * 240 * 320), [1, 3, 240, 320]);
  const [scores] = program.run("forward", [grey]) as [Tensor];
  assert.deepEqual(scores.shape, [1, 4420, 2]);
  engine.dispose();
  assert.deepEqual(faults, []);
  await close();
});

test("arrays calibrate, nodes are told worst first, and one is left out", async () => {
  const { page, faults, close } = await host.visit({}, "#mlp");
  await pick(page, STATIC);
  await dropOn(page, { "a.npy": array([4, 16], 0.5), "b.npy": array([4, 16], -2) });
  await page.getByText("Ranges come from 2 calls.").waitFor();
  await compare(page, 2);
  assert.match(await page.locator(".quantized-words").innerText(), /ranges from 2\scalls\./);

  await page.getByRole("button", { name: "Nodes", exact: true }).click();
  const rows = page.locator('.sorted-table[aria-label="Nodes"] .row:not(.head)');
  const decibels = (await rows.locator(".of-snr").allInnerTexts())
    .filter(Boolean)
    .map((text) => (text === "equal" ? Infinity : Number.parseFloat(text)));
  assert.ok(decibels.length >= 3, `${decibels}`);
  assert.deepEqual(
    decibels,
    [...decibels].sort((a, b) => a - b),
  );
  const soft = rows.filter({ hasText: "softmax" });
  assert.match(
    await soft.locator(".of-state").innerText(),
    /the quantizer has no pattern with this operator/,
  );

  // By keyboard: down to the second row, and back to the first.
  await page.locator('.sorted-table[aria-label="Nodes"]').focus();
  await page.keyboard.press("ArrowDown");
  const first = await rows.first().locator(".of-node").innerText();
  await page.locator(".change-foot").getByText(first, { exact: true }).waitFor();
  const linear = rows.filter({ hasText: "linear_1" }).first();
  await linear.click();
  await page.getByRole("button", { name: "Skip it and lower again" }).click();
  await page.getByText("are quantized").waitFor({ timeout: 60_000 });
  await compared(page, 2);
  await page.getByRole("button", { name: "Nodes", exact: true }).click();
  const left = page.locator(".sorted-table .row", { hasText: "linear_1" }).first();
  assert.match(await left.locator(".of-state").innerText(), /`skip` leaves it out/);
  await page.getByRole("button", { name: "Ranges", exact: true }).click();
  await page
    .locator('.sorted-table[aria-label="Ranges"] .row', { hasText: "weight" })
    .first()
    .waitFor();
  await settings(page);
  assert.equal(await page.getByLabel("Do not quantize").inputValue(), "=linear_1");
  assert.deepEqual(faults, []);
  await close();
});

test("the ranges of halves have no scales, and those of integers as many as the report says", async () => {
  const { page, faults, close } = await host.visit({}, "#mlp");
  const rows = page.locator('.sorted-table[aria-label="Ranges"] .row:not(.head)');
  const ranges = async (recipe: string): Promise<string[][]> => {
    await pick(page, recipe);
    await compare(page, 2);
    await page.getByRole("button", { name: "Ranges", exact: true }).click();
    await rows.first().waitFor();
    const columns = [".of-tensors", ".of-scale", ".of-zero", ".of-scales"];
    const reported = await Promise.all(columns.map((one) => rows.locator(one).allInnerTexts()));
    return reported[0]!.map((_, i) => reported.map((column) => column[i]!));
  };
  const halves = await ranges("sconce_fp16_weights");
  assert.deepEqual(halves, [
    ["fc1.weight", "", "", "0"],
    ["fc2.weight", "", "", "0"],
    ["fc3.weight", "", "", "0"],
  ]);
  const [[tensors, scale, zero, scales]] = (await ranges("sconce_int8_weight_only")) as [string[]];
  assert.deepEqual([tensors, zero, scales], ["fc1.weight", "0", "32"]);
  assert.match(scale!, /\d … /);
  assert.deepEqual(faults, []);
  await close();
});

test("a node of which the noise is all that is left is the worst, and not equal", async () => {
  const { page, faults, close } = await host.visit();
  await page.getByRole("button", { name: "Three layers" }).waitFor();
  await dropModel(page, { "add_mul.pt2": readFileSync(inRoot("tests/models/add_mul.pt2")) });
  await pick(page, STATIC);
  const call = (i: number, x: number, y: number) => ({
    [`${i}x.npy`]: array([2, 3], x),
    [`${i}y.npy`]: array([2, 3], y),
  });
  await dropOn(page, { ...call(1, 0.73, -0.73), ...call(2, 0.73, -0.73), ...call(3, 5, 3) });
  await page.getByText("Ranges come from 3 calls.").waitFor();
  await compare(page, 2);
  assert.match(
    await page.locator(".quantized-words").innerText(),
    /Farthest off is add, at −∞\sdB/,
  );
  await page.getByRole("button", { name: "Nodes", exact: true }).click();
  const rows = page.locator('.sorted-table[aria-label="Nodes"] .row:not(.head)');
  assert.equal(await rows.first().locator(".of-node").innerText(), "add");
  assert.match(await rows.first().locator(".of-snr").innerText(), /^−∞\sdB$/);
  assert.equal(await rows.filter({ hasText: "mul" }).locator(".of-snr").innerText(), "equal");
  assert.deepEqual(faults, []);
  await close();
});

test("notes are shown: patterns that fit nothing, and numbers that say little", async () => {
  const { page, faults, close } = await host.visit({}, "#mlp");
  await pick(page, STATIC);
  await dropOn(page, { "zeros.npy": array([4, 16], 0) });
  await page.getByText("Ranges come from 1 call.").waitFor();
  await page.getByLabel("Do not quantize").fill("fc3\nfc9");
  await compare(page, 2);
  assert.deepEqual(await page.locator(".quantized-notes li").allInnerTexts(), [
    "skip: 'fc9' matches no node, module or operator",
    "'x' was 0 in all of calibration: its scale is the smallest",
  ]);
  assert.deepEqual(await misplaced(page), []);
  await page.getByRole("button", { name: "Nodes", exact: true }).click();
  await settings(page);
  await page.getByLabel("Do not quantize").fill("fc3");
  await page.getByRole("button", { name: "Remove zeros.npy" }).click();
  await compare(page, 2);
  assert.equal(await page.locator(".quantized-notes").count(), 0);
  assert.deepEqual(faults, []);
  await close();
});

test("calibration that does not fit is said beside the file, and nothing is lowered on it", async () => {
  const { page, close } = await host.visit({}, "#mlp");
  await pick(page, STATIC);
  const nan = npy([4, 16], 1);
  nan.writeFloatLE(NaN, nan.length - 4);
  const doubles = Buffer.from(npy([4, 16], 1).toString("latin1").replace("<f4", "<i4"), "latin1");
  await dropOn(page, {
    "shape.npy": array([3, 16], 1),
    "dtype.npy": [doubles, ""],
    "nan.npy": [nan, ""],
    "cut.npy": [npy([4, 16], 1).subarray(0, 150), ""],
    "picture.png": [readFileSync(inRoot(PHOTO)), "image/png"],
    "other.zip": [new Uint8Array(3), "application/zip"],
  });
  await page.locator(".calibration-list li.is-wrong").nth(5).waitFor();
  const reported = await page.locator(".calibration-list .field-error").allInnerTexts();
  assert.match(
    reported[0]!,
    /^shape\.npy, as input .*float32 tensor \[3, 16\], not a float32 tensor \[4, 16\].*exported to take/,
  );
  assert.match(reported[1]!, /^dtype\.npy, .*int32 tensor/);
  assert.match(
    reported[2]!,
    /^nan\.npy is not a number in 1 of its 64 elements\. Calibrate on inputs/,
  );
  assert.match(reported[3]!, /^cut\.npy: .*cut off.*numpy\.save/);
  assert.match(reported[4]!, /^picture\.png was left out: only the face detector.*\.npy/);
  assert.match(reported[5]!, /^other\.zip was left out: it holds no data to calibrate on.*\.npy/);
  await page.getByRole("button", { name: "Lower again", exact: true }).click();
  const card = page.locator(".problem").first();
  await card.waitFor();
  assert.match(await card.innerText(), /6 of 6 inputs for the calibration cannot be taken/);
  assert.match(await card.innerText(), /Remove the marked lines/);
  assert.equal(await page.locator('[data-step="quantized"].is-failed').count(), 1);
  for (let i = 0; i < 6; i++)
    await page
      .getByRole("button", { name: /^Remove / })
      .first()
      .click();
  await compare(page, 2);
  await close();
});

test("a layer that a recipe cannot take is named, and left out by a click", async () => {
  const { page, close } = await host.visit({}, "#story");
  await written(page);
  await pick(page, "sconce_int4_weight_only");
  await page.getByLabel("Group size").fill("48");
  await page.getByRole("button", { name: "Lower again", exact: true }).click();
  // The field says so itself, and nothing has begun.
  assert.equal(await page.locator("[aria-invalid=true]").count(), 1);
  assert.equal(await page.locator('[data-step="program"].is-done').count(), 1);
  // 0 is one scale for each channel.
  await page.getByLabel("Group size").fill("0");
  await page.locator("[aria-invalid=true]").waitFor({ state: "detached" });
  await page.getByLabel("Group size").fill("32");
  await page.getByRole("button", { name: "Lower again", exact: true }).click();
  const card = page.locator(".problem").first();
  await card.waitFor({ timeout: 60_000 });
  assert.match(await card.innerText(), /groups of 32 do not divide the 172 inputs[\s\S]*linear_6/);
  await card.getByRole("button", { name: "Skip it and lower again" }).click();
  await page.locator(".problem", { hasText: "linear_13" }).waitFor({ timeout: 60_000 });
  await page
    .getByLabel("Do not quantize")
    .fill("linear_6\nlinear_13\nlinear_20\nlinear_27\nlinear_34");
  await compare(page, 3);
  assert.match(await page.locator(".quantized-words").innerText(), /32 of the 343.nodes/);
  await close();
});

test("groups that divide no layer become one scale per channel by a click", async () => {
  const { page, faults, close } = await host.visit({}, "#mlp");
  await pick(page, "sconce_int4_weight_only");
  await page.getByLabel("Group size").fill("64");
  await page.getByRole("button", { name: "Lower again", exact: true }).click();
  const card = page.locator(".problem").first();
  assert.match(await card.innerText(), /groups of 64 do not divide the 16 inputs/);
  await card.getByRole("button", { name: "One scale per channel" }).click();
  await compared(page, 2);
  assert.match(await page.locator(".quantized-words").innerText(), /^3 of the 6\snodes/);
  assert.equal(await page.locator(".problem").count(), 0);
  await settings(page);
  assert.equal(await page.getByLabel("Group size").inputValue(), "0");
  assert.deepEqual(faults, []);
  await close();
});

test("what lowering warns of is counted, and logged once", async () => {
  const { page, faults, close } = await host.visit({}, "#mlp");
  await pick(page, "sconce_int4_weight_only");
  await page.getByLabel("Do not quantize").fill("=linear");
  await compare(page, 2);
  const tab = page.getByRole("button", { name: /^Problems/ });
  assert.equal((await tab.innerText()).replace(/\s+/g, " "), "Problems 1");
  // It is no reason to cover what was made.
  assert.equal(await tab.getAttribute("aria-expanded"), "false");
  await tab.click();
  const card = await page.locator(".problem.is-warning").innerText();
  assert.match(card, /weights of 4 bits in groups are widened in every run/);
  assert.match(card, /step\s+Quantized/);
  await page.getByRole("button", { name: "Log", exact: true }).click();
  const warnings = (await page.locator(".log li").allInnerTexts()).filter((line) =>
    line.includes("warning: "),
  );
  assert.equal(warnings.length, 1, warnings.join("; "));
  assert.match(warnings[0]!, /widened in every run/);
  assert.deepEqual(faults, []);
  await close();
});

test("arrays of several inputs stay in the order in which they come, and each says whose it is", async () => {
  const { page, close } = await host.visit();
  await page.getByRole("button", { name: "Three layers" }).waitFor();
  await dropModel(page, { "add_mul.pt2": readFileSync(inRoot("tests/models/add_mul.pt2")) });
  await pick(page, STATIC);
  await dropOn(page, { "z.npy": array([2, 3], 1) });
  await dropOn(page, {
    "b.npy": array([2, 3], 2),
    "10.npy": array([2, 3], 3),
    "a.npy": array([2, 3], 4),
  });
  await page.getByText("Ranges come from 2 calls.").waitFor();
  const items = async (): Promise<string[]> =>
    (await page.locator(".calibration-name").allInnerTexts()).map((text) =>
      text.replace(/\s+/g, " "),
    );
  assert.deepEqual(await items(), [
    "z.npy call 1: x",
    "b.npy call 1: y",
    "10.npy call 2: x",
    "a.npy call 2: y",
  ]);
  await page.getByRole("button", { name: "Remove z.npy" }).click();
  assert.deepEqual(await items(), ["b.npy call 1: x", "10.npy call 1: y", "a.npy call 2: x"]);
  await close();
});

test("a method of several inputs takes as many arrays for each call", async () => {
  const { page, close } = await host.visit();
  await page.getByRole("button", { name: "Three layers" }).waitFor();
  await dropModel(page, {
    "encdec.decode.pt2": readFileSync(inRoot("tests/models/encdec.decode.pt2")),
  });
  await pick(page, STATIC);
  const token = Buffer.concat([npy([1], 0), Buffer.alloc(4)]);
  token.write("<i8", token.indexOf("<f4"), "latin1");
  await dropOn(page, { "1tok.npy": [token, ""] });
  const fault = page.locator(".calibration > .field-error");
  await fault.waitFor();
  assert.match(
    await fault.innerText(),
    /takes 2\sinputs, and there is 1\sarray for it.*Drop 2 arrays/,
  );
  await dropOn(page, { "2ctx.npy": array([1, 32], 0.5) });
  await page.getByText("Ranges come from 1 call.").waitFor();
  await compare(page, 2);
  await close();
});

test("the story in 8 bits begins as the float one does", async () => {
  const { page, faults, close } = await host.visit({}, "#story");
  await written(page);
  await pick(page, "sconce_int8_weight_only");
  await page.getByLabel("Beginnings of stories").fill("Once upon a time\nLily had a cat");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByText(/Compared on 2.calls of prefill/).waitFor();
  await compare(page, 3);
  const [float, quantized] = await page.locator(".telling .story-text").allInnerTexts();
  const golden = readJson<{ text: string }>("models/stories260k.golden.json");
  const story = golden.text.trimStart().replaceAll("<0x0A>", "\n");
  assert.equal(float!.slice(0, story.length), story);
  assert.equal(quantized!.slice(0, 160), float!.slice(0, 160));
  assert.match(await rowOf(page, "Program"), /1\.3\d MB 5\d\d KB 2\.\d+ times smaller/);
  assert.match(
    await page.locator(".compared-stories").innerText(),
    /The same for \d+ of 256 tokens|The same story/,
  );
  await page.getByLabel("Go on from").fill("Tom was");
  await page.getByRole("button", { name: "Tell it again" }).click();
  await page.waitForFunction(() =>
    [...document.querySelectorAll(".telling .story-text")].every((p) =>
      p.textContent!.startsWith("Tom was"),
    ),
  );
  assert.deepEqual(faults, []);
  await close();
});

test("quantizing is cancelled, and can be done afterwards", async () => {
  const { page, faults, close } = await host.visit({}, "#face");
  await pick(page, STATIC);
  // The page itself cancels, as soon as it has begun.
  await page.evaluate(
    () =>
      new Promise<void>((resolve) => {
        const observer = new MutationObserver(() => {
          if (!document.querySelector('.step.is-running[data-step="quantized"]')) return;
          observer.disconnect();
          document.querySelector<HTMLButtonElement>(".busy button")!.click();
          resolve();
        });
        observer.observe(document.body, { subtree: true, childList: true, attributes: true });
        document.querySelector<HTMLButtonElement>(".settings-go button")!.click();
      }),
  );
  await page.locator(".busy").waitFor({ state: "detached" });
  assert.equal(await page.locator(".problem").count(), 0);
  assert.equal(await page.locator('[data-step="quantized"].is-done').count(), 0);
  await compare(page, 2);
  // So is comparing, which then finds its way back even without the worker that knew it all.
  await page.evaluate(
    () =>
      new Promise<void>((resolve) => {
        const observer = new MutationObserver(() => {
          const stop = document.querySelector<HTMLButtonElement>(".busy button");
          if (!stop) return;
          observer.disconnect();
          stop.click();
          resolve();
        });
        observer.observe(document.body, { subtree: true, childList: true });
        document.querySelector<HTMLButtonElement>(".quantized .buttons button")!.click();
      }),
  );
  await page.locator(".busy").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Measure again" }).click();
  await page.locator(".busy").waitFor();
  await compared(page, 2);
  assert.equal(await page.locator(".problem").count(), 0);
  assert.deepEqual(faults, []);
  await close();
});

test("on a phone all of it is there, and nothing sticks out", async () => {
  const { page, faults, close } = await host.visit(
    { viewport: { width: 390, height: 844 } },
    "#face",
  );
  await pick(page, STATIC);
  await page.getByRole("button", { name: "Add the photo" }).click();
  await page.getByText("Ranges come from 1 call.").waitFor();
  assert.deepEqual(await misplaced(page), []);
  await compare(page, 2);
  await page.locator(".seen").nth(1).waitFor();
  assert.deepEqual(await misplaced(page), []);
  for (const look of ["Nodes", "Ranges"]) {
    await page.getByRole("button", { name: look, exact: true }).click();
    await page.locator(".sorted-table .row").nth(1).waitFor();
    assert.deepEqual(await misplaced(page), []);
  }
  // Numbers are there as a whole; where there is no room, the text names the picked range.
  const ranges = page.locator('.sorted-table[aria-label="Ranges"] .row:not(.head)');
  const cut = await ranges
    .locator(".of-range")
    .evaluateAll((cells) =>
      cells.filter((cell) => cell.scrollWidth > cell.clientWidth).map((cell) => cell.textContent),
    );
  assert.deepEqual(cut, []);
  assert.match(await ranges.first().locator(".of-range").innerText(), /^\S+ … \S+$/);
  await ranges.first().click();
  assert.match(
    await page.locator(".change-foot").innerText(),
    /range \S+ … \S+, scale [\d.e-]+.*, zero point /,
  );
  // The keys know the new step and its view.
  await page.keyboard.press("1");
  await page.keyboard.press("2");
  assert.equal(await page.locator("h1").innerText(), "Quantized");
  await page.keyboard.press("g");
  await page.keyboard.press("q");
  await page.locator(".quantized-words").waitFor();
  assert.deepEqual(faults, []);
  await close();
});
