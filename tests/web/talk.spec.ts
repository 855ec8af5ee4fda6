// Talking with a language model in the page: text that streams and stops, settings, conversations with
// a chat template, and tokenizers that come with a model, after it or in its folder.
import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Page } from "playwright-core";
import { CHATML, TOKENIZER_CONFIG, tokenizerJson } from "../js/llm/tokenizer_files.js";
import {
  drop,
  dropModel,
  inRoot,
  lowered,
  misplaced,
  startHost,
  written,
  type Host,
} from "./browser.js";

let host: Host;
before(async () => (host = await startHost()));
after(() => host.close());

const MODELS = ["stories260k.prefill.pt2", "stories260k.decode.pt2"];
const model = (name: string): Buffer => readFileSync(inRoot(`models/${name}`));
const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

/** A tokenizer with a text for each of the 512 tokens of the story model. */
function tokenizer(): Buffer {
  const file = tokenizerJson() as { model: { vocab: Record<string, number> } };
  const { vocab } = file.model;
  for (let id = Object.keys(vocab).length; id < 512; id++) vocab[`w${id}.`] = id;
  return json(file);
}

const stories = (): Record<string, Uint8Array> =>
  Object.fromEntries(MODELS.map((name) => [name, model(name)]));

const field = (page: Page, name: string): ReturnType<Page["getByLabel"]> =>
  page.getByRole("textbox", { name, exact: true });

const story = (page: Page): Promise<string> => page.locator(".story-text").innerText();

/** Sends what the field has, and waits for the whole answer. */
async function send(page: Page): Promise<void> {
  await page.keyboard.press("Enter");
  await page.waitForSelector('.talk[data-status="ready"]', { timeout: 60_000 });
}

test("text comes piece by piece, and stops by key and by button, while the field keeps the focus", async () => {
  const { page, faults, close } = await host.visit({}, "#story");
  await written(page);
  const whole = await story(page);
  // A story takes less time than a key from outside: the page itself acts, as soon as there is text.
  const stopped = (how: "key" | "button"): Promise<number[]> =>
    page.evaluate(
      ([by, length]) =>
        new Promise<number[]>((resolve) => {
          const area = document.querySelector<HTMLTextAreaElement>(".composer textarea")!;
          const press = (key: string): boolean =>
            area.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
          const lengths: number[] = [];
          const observer = new MutationObserver(() => {
            const { length: now } = document.querySelector(".story-text")!.textContent!;
            // The text of the answer before is still there at first.
            if (now < (lengths.at(-1) ?? 0)) lengths.length = 0;
            if (now > 0 && now !== length && now !== lengths.at(-1)) lengths.push(now);
            if (lengths.length < 3) return;
            observer.disconnect();
            if (by === "key") press("Escape");
            else document.querySelector<HTMLButtonElement>(".composer .primary")!.click();
            resolve(lengths);
          });
          observer.observe(document.body, { subtree: true, childList: true, characterData: true });
          area.focus();
          press("Enter");
        }),
      [how, whole.length] as const,
    );
  for (const how of ["key", "button"] as const) {
    assert.equal((await stopped(how)).length, 3);
    await page.getByText("Stopped.", { exact: true }).waitFor();
    const part = await story(page);
    assert.ok(part.length < whole.length && whole.startsWith(part.trimEnd()), part);
    assert.equal(await page.evaluate(() => document.activeElement?.tagName), "TEXTAREA");
    assert.match(await page.locator('.step[data-step="run"]').innerText(), /tokens?$/);
  }
  // After it was stopped, the model still gives the whole story.
  await send(page);
  assert.equal(await story(page), whole);
  assert.ok((await page.locator(".talk [role=status]").innerText()).startsWith(whole.slice(0, 40)));
  assert.deepEqual(faults, []);
  await close();
});

test("settings change the answer, and a seed gives it again", async () => {
  const { page, faults, close } = await host.visit({}, "#story");
  await written(page);
  const likeliest = await story(page);
  await field(page, "Temperature").fill("1");
  await field(page, "Seed").fill("7");
  await field(page, "Go on from").fill("Tom had");
  await send(page);
  const first = await story(page);
  assert.ok(first.startsWith("Tom had") && first !== likeliest);
  await send(page);
  assert.equal(await story(page), first);
  await field(page, "Seed").fill("8");
  await field(page, "Go on from").focus();
  await send(page);
  assert.notEqual(await story(page), first);

  await field(page, "Top-k").fill("1");
  await field(page, "Most new tokens").fill("5");
  await field(page, "Go on from").fill("");
  await send(page);
  const short = await story(page);
  assert.ok(short.length < 40 && likeliest.startsWith(short.trimEnd()), short);
  assert.match(await page.locator(".talk .figures").innerText(), /tokens\s+5\s+context\s+5 of 256/);
  assert.match(await page.locator(".ending").innerText(), /most new tokens/);

  // A wrong value is said at its field, and nothing is sent.
  for (const [name, wrong, hint] of [
    ["Top-p", "2", /above 0 and at most 1/],
    ["Temperature", "hot", /a number from 0 on/],
    ["Most new tokens", "0", /whole number from 1/],
  ] as const) {
    const before = await field(page, name).inputValue();
    await field(page, name).fill(wrong);
    assert.match(await page.locator(".talk-setting .field-error").innerText(), hint);
    await field(page, "Go on from").fill("Lily");
    await page.keyboard.press("Enter");
    assert.equal(await story(page), short);
    await field(page, name).fill(before);
  }
  assert.equal(await page.locator(".problem").count(), 0);
  assert.deepEqual(faults, []);
  await close();
});

test("a call of the form in between does not change the answer", async () => {
  const { page, faults, close } = await host.visit({}, "#story");
  await written(page);
  await field(page, "Go on from").fill("Once upon a time, there was");
  await send(page);
  const whole = await story(page);
  await page.keyboard.press("Escape");
  await page.keyboard.press("c");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.locator(".output").first().waitFor();
  await page.keyboard.press("l");
  await field(page, "Go on from").focus();
  await send(page);
  assert.equal(await story(page), whole);
  assert.deepEqual(faults, []);
  await close();
});

test("a reload in the middle of an answer begins anew", async () => {
  const { page, faults, close } = await host.visit({}, "#story");
  await written(page);
  const whole = await story(page);
  await field(page, "Go on from").fill("Tom");
  await page.keyboard.press("Enter");
  await page.reload();
  await written(page);
  assert.equal(await story(page), whole);
  assert.equal(await field(page, "Go on from").inputValue(), "");
  assert.deepEqual(faults, []);
  await close();
});

test("a model with a chat template takes messages", async () => {
  const { page, faults, close } = await host.visit();
  const files = { "tokenizer.json": tokenizer(), "tokenizer_config.json": json(TOKENIZER_CONFIG) };
  await dropModel(page, { ...stories(), ...files });
  await field(page, "Message").fill("hello");
  await field(page, "Most new tokens").fill("12");
  await field(page, "Message").focus();
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.type("there");
  await send(page);
  assert.equal(await field(page, "Message").inputValue(), "");
  assert.equal(await page.locator(".said p").innerText(), "hello\nthere");
  const first = await page.locator(".answer p").first().innerText();
  assert.ok(first.length > 0);
  assert.equal(await page.evaluate(() => document.activeElement?.tagName), "TEXTAREA");
  // An empty message is not sent.
  await page.keyboard.press("Enter");
  await page.keyboard.type("again");
  await send(page);
  assert.equal(await page.locator(".turn").count(), 2);

  await page.getByRole("button", { name: "New conversation" }).click();
  assert.equal(await page.locator(".turn").count(), 0);
  await field(page, "Message").fill("hello\nthere");
  await send(page);
  assert.equal(await page.locator(".answer p").first().innerText(), first);
  // The system prompt comes before the messages.
  const used = async (): Promise<number> =>
    Number(/context\s+(\d+)/.exec(await page.locator(".talk .figures").innerText())![1]);
  const before = await used();
  await page.getByRole("button", { name: "New conversation" }).click();
  await field(page, "System prompt").fill("hello");
  await field(page, "Message").fill("hello\nthere");
  await send(page);
  assert.ok((await used()) > before);

  // The context holds what fits, and says so at the field before anything runs.
  await field(page, "Message").fill("word ".repeat(100));
  await page.keyboard.press("Enter");
  const fault = page.locator("#talk-fault");
  await fault.waitFor();
  assert.match(await fault.innerText(), /This takes \d+ tokens, and the context holds/);
  assert.equal((await field(page, "Message").inputValue()).length, 500);
  assert.equal(await page.locator(".turn").count(), 1);
  assert.deepEqual(faults, []);
  await close();
});

test("a model that is quantized talks at once, with the settings it had", async () => {
  const { page, faults, close } = await host.visit();
  await dropModel(page, {
    ...stories(),
    "tokenizer.bin": model("stories260k.tokenizer.bin"),
  });
  await field(page, "Most new tokens").fill("9");
  await page.locator('[data-step="source"] button').click();
  const settings = page.locator("details.settings");
  if (!(await settings.evaluate((element) => (element as HTMLDetailsElement).open)))
    await settings.locator("summary").click();
  await page.locator("[data-recipe]").selectOption("sconce_int8_weight_only");
  await page.getByRole("button", { name: "Lower again", exact: true }).click();
  await field(page, "Go on from").waitFor({ timeout: 60_000 });
  assert.equal(await page.locator('.step.is-done[data-step="quantized"]').count(), 1);
  await field(page, "Go on from").fill("Once upon");
  await send(page);
  assert.match(await story(page), /^Once upon a time/);
  assert.match(await page.locator(".talk .figures").innerText(), /tokens\s+9\s/);
  assert.deepEqual(faults, []);
  await close();
});

test("a tokenizer may come later, from the button of a program that looks like a language model", async () => {
  const { page, faults, close } = await host.visit();
  await dropModel(page, stories());
  await page.keyboard.press("6");
  assert.equal(await page.getByRole("button", { name: "Talk", exact: true }).count(), 0);
  const choosing = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Choose its tokenizer" }).click();
  await (
    await choosing
  ).setFiles([
    { name: "tokenizer.json", mimeType: "application/json", buffer: Buffer.from("{ no") },
  ]);
  const card = page.locator(".problem");
  await card.waitFor();
  assert.match(await card.innerText(), /the tokenizer is not JSON/);
  await drop(page, { "tokenizer.json": tokenizer() });
  await page.getByText("There is no chat template").waitFor();
  await field(page, "Go on from").fill("hello");
  await send(page);
  assert.match(await story(page), /^hello./);
  await drop(page, { "chat_template.jinja": Buffer.from(CHATML) });
  await field(page, "Message").waitFor();
  assert.deepEqual(faults, []);
  await close();
});

test("a tokenizer that comes while its model is lowered does not disturb it", async () => {
  const { page, faults, close } = await host.visit();
  await drop(page, stories());
  await page.locator(".title").waitFor();
  await drop(page, { "tokenizer.bin": model("stories260k.tokenizer.bin") });
  await lowered(page);
  await field(page, "Go on from").fill("Once upon");
  await send(page);
  assert.match(await story(page), /^Once upon a time/);
  assert.equal(await page.locator(".problem").count(), 0);
  assert.deepEqual(faults, []);
  await close();
});

test("files of a tokenizer without a model are named", async () => {
  const { page, close } = await host.visit();
  await drop(page, { "tokenizer.json": tokenizer() });
  await page.getByText("tokenizer.json was left out: it belongs to a model").first().waitFor();
  await dropModel(page, stories());
  await drop(page, { "tokenizer_config.json": json(TOKENIZER_CONFIG) });
  await page.getByText("the model has no tokenizer yet").first().waitFor();
  await close();
});

test("a folder of a model is opened with its tokenizer", async () => {
  const { page, faults, close } = await host.visit();
  const folder = mkdtempSync(join(tmpdir(), "story"));
  const inner = join(folder, "onnx");
  mkdirSync(inner);
  for (const name of MODELS) copyFileSync(inRoot(`models/${name}`), join(folder, name));
  copyFileSync(inRoot("models/stories260k.tokenizer.bin"), join(inner, "tokenizer.bin"));
  writeFileSync(join(folder, "README.md"), "a model");
  writeFileSync(join(folder, "config.json"), "{}");
  const session = await page.context().newCDPSession(page);
  const data = { items: [], files: [folder], dragOperationsMask: 1 };
  for (const type of ["dragEnter", "dragOver", "drop"] as const)
    await session.send("Input.dispatchDragEvent", { type, x: 200, y: 400, data });
  await lowered(page);
  await field(page, "Go on from").fill("Once upon");
  await send(page);
  assert.match(await story(page), /^Once upon a time/);
  assert.equal(await page.locator(".problem").count(), 0);
  rmSync(folder, { recursive: true });
  assert.deepEqual(faults, []);
  await close();
});

test("packages for tokenizers come only with tokenizer.json", async () => {
  const { page, close } = await host.visit({}, "#story");
  await written(page);
  const scripts = (): Promise<string[]> =>
    page.evaluate(() => performance.getEntriesByType("resource").map(({ name }) => name));
  assert.deepEqual(
    (await scripts()).filter((name) => /tokenizers|jinja/.test(name)),
    [],
  );
  await drop(page, { "tokenizer.json": tokenizer() });
  await page.waitForFunction(() =>
    performance.getEntriesByType("resource").some(({ name }) => /tokenizers-/.test(name)),
  );
  assert.deepEqual(
    (await scripts()).filter((name) => /jinja-/.test(name)),
    [],
  );
  await close();
});

test("a phone shows the text and the field", async () => {
  const { page, close } = await host.visit({ viewport: { width: 390, height: 844 } }, "#story");
  await written(page);
  assert.deepEqual(await misplaced(page), []);
  const [area, dock] = await page.evaluate(() =>
    [".composer", ".dock"].map((name) => document.querySelector(name)!.getBoundingClientRect()),
  );
  assert.ok(area!.bottom <= dock!.top + 1, `${area!.bottom} over ${dock!.top}`);
  await close();
});
