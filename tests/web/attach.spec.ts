// Pictures and recordings in a conversation: attached by button, drop and paste, shown in their message,
// taken away again, and refused where the program has no encoder for them.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import type { Page } from "playwright-core";
import { createEngine } from "sconce";
import { tokenizerJson } from "../js/llm/tokenizer_files.js";
import { drop, dropModel, inRoot, misplaced, startHost, type Host, type Visit } from "./browser.js";

let host: Host;
let seer: Uint8Array;
const METHODS = ["token_embedding", "vision_encoder", "audio_encoder", "text_decoder"];
/** The tokens that a template writes for a picture and for sound. */
const [IMAGE, AUDIO] = [263, 264];
const file = (name: string): Buffer => readFileSync(inRoot(`tests/models/media/seer.${name}.pt2`));

before(async () => {
  host = await startHost();
  const engine = await createEngine();
  const programs = Object.fromEntries(METHODS.map((name) => [name, file(name)]));
  const constantMethods = { image_token_id: IMAGE, audio_token_id: AUDIO, get_max_seq_len: 256 };
  seer = engine.open(programs).toEdge({ constantMethods }).toExecutorch().buffer;
});
after(() => host.close());

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

function tokenizer(): Buffer {
  const whole = tokenizerJson() as {
    added_tokens: { id: number; content: string }[];
    model: { vocab: Record<string, number> };
  };
  const { added_tokens: added, model } = whole;
  for (const [content, id] of [
    ["<image>", IMAGE],
    ["<audio>", AUDIO],
  ] as const) {
    model.vocab[content] = id;
    added.push({ ...added[0]!, id, content });
  }
  return json(whole);
}

const TEMPLATE =
  "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' }}" +
  "{% if message['content'] is string %}{{ message['content'] }}{% else %}" +
  "{% for part in message['content'] %}{% if part['type'] == 'text' %}{{ part['text'] }}" +
  "{% else %}{{ '<' + part['type'] + '>' }}{% endif %}{% endfor %}{% endif %}" +
  "{{ '<|im_end|>' }}{% endfor %}{{ '<|im_start|>assistant\\n' }}";
const CONFIG = { eos_token: "<|im_end|>", chat_template: TEMPLATE };
const PREPROCESSOR = { image_mean: [0.5, 0.5, 0.5], image_std: [0.5, 0.5, 0.5] };

const model = (): Record<string, Uint8Array> => ({
  "seer.pte": seer,
  "tokenizer.json": tokenizer(),
  "tokenizer_config.json": json(CONFIG),
  "preprocessor_config.json": json(PREPROCESSOR),
});

const field = (page: Page, name: string): ReturnType<Page["getByLabel"]> =>
  page.getByRole("textbox", { name, exact: true });

async function opened(files = model()): Promise<Visit> {
  const visit = await host.visit();
  await dropModel(visit.page, files);
  await visit.page.waitForSelector('.talk[data-status="ready"]');
  await field(visit.page, "Most new tokens").fill("3");
  return visit;
}

/** A picture of one colour, as the browser encodes it. */
async function picture(page: Page, colour: string): Promise<Buffer> {
  const bytes = await page.evaluate(async (fill) => {
    const canvas = new OffscreenCanvas(40, 20);
    const context = canvas.getContext("2d")!;
    context.fillStyle = fill;
    context.fillRect(0, 0, 40, 20);
    const blob = await canvas.convertToBlob({ type: "image/png" });
    return [...new Uint8Array(await blob.arrayBuffer())];
  }, colour);
  return Buffer.from(bytes);
}

/** Drops or pastes a file with a type, as a hand would. */
async function give(
  page: Page,
  how: "drop" | "paste",
  name: string,
  type: string,
  bytes: Buffer,
): Promise<void> {
  await page.evaluate(
    ([event, fileName, fileType, list]) => {
      const data = new DataTransfer();
      data.items.add(new File([Uint8Array.from(list)], fileName, { type: fileType }));
      const init = { bubbles: true, cancelable: true };
      const target = document.querySelector(".composer textarea")!;
      target.dispatchEvent(
        event === "drop"
          ? new DragEvent("drop", { ...init, dataTransfer: data })
          : new ClipboardEvent("paste", { ...init, clipboardData: data }),
      );
    },
    [how, name, type, [...bytes]] as const,
  );
}

async function send(page: Page): Promise<string> {
  const count = await page.locator(".turn").count();
  await field(page, "Message").focus();
  await page.keyboard.press("Enter");
  await page.locator(".turn").nth(count).waitFor();
  await page.waitForSelector('.talk[data-status="ready"]', { timeout: 60_000 });
  return page.locator(".answer p[aria-busy]").last().innerText();
}

const waiting = (page: Page): ReturnType<Page["locator"]> => page.locator(".composer .attached li");

test("pictures go with a message: by drop, by paste and by button, and by a cross away", async () => {
  const { page, faults, close } = await opened();
  await give(page, "drop", "red.png", "image/png", await picture(page, "#e00000"));
  await waiting(page).nth(0).waitFor();
  await give(page, "paste", "blue.png", "image/png", await picture(page, "#0000e0"));
  await waiting(page).nth(1).waitFor();
  assert.deepEqual(
    await page
      .locator(".composer .attached img")
      .evaluateAll((all) => all.map((img) => (img as HTMLImageElement).alt)),
    ["red.png", "blue.png"],
  );
  await page.getByRole("button", { name: "Remove blue.png" }).click();
  assert.equal(await waiting(page).count(), 1);
  await field(page, "Message").fill("which colour?");
  assert.equal(await send(page), "rrr");
  assert.equal(await waiting(page).count(), 0);
  assert.equal(await page.locator(".said img").getAttribute("alt"), "red.png");
  assert.ok(
    await page.locator(".said img").evaluate((img) => (img as HTMLImageElement).naturalWidth > 0),
  );

  await page.getByRole("button", { name: "New conversation" }).click();
  const choosing = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Attach a picture or sound" }).click();
  const buffer = await picture(page, "#0000e0");
  await (await choosing).setFiles([{ name: "sea.png", mimeType: "image/png", buffer }]);
  await waiting(page).first().waitFor();
  // A picture alone is a message.
  assert.equal(await send(page), "bbb");
  assert.equal(await page.locator(".said p").count(), 0);
  // Later messages still see it.
  await field(page, "Message").fill("and now?");
  assert.equal(await send(page), "bbb");
  assert.equal(await page.locator(".problem").count(), 0);
  assert.deepEqual(faults, []);
  await close();
});

test("a recording goes with a message", async () => {
  const { page, faults, close } = await opened();
  const sound = Buffer.alloc(44 + 3200);
  sound.write("RIFF", 0);
  sound.writeUInt32LE(36 + 3200, 4);
  sound.write("WAVEfmt ", 8);
  for (const [at, value] of [
    [16, 16],
    [24, 16_000],
    [28, 32_000],
    [40, 3200],
  ] as const)
    sound.writeUInt32LE(value, at);
  for (const [at, value] of [
    [20, 1],
    [22, 1],
    [32, 2],
    [34, 16],
  ] as const)
    sound.writeUInt16LE(value, at);
  sound.write("data", 36);
  await drop(page, { "word.wav": sound });
  await waiting(page).first().waitFor();
  assert.equal(await send(page), "sss");
  assert.match(await page.locator(".said .attached").innerText(), /word\.wav/);
  assert.deepEqual(faults, []);
  await close();
});

test("a model goes on from a picture without a template", async () => {
  const { "tokenizer_config.json": _, ...files } = model();
  const { page, faults, close } = await opened(files);
  await give(page, "drop", "red.png", "image/png", await picture(page, "#e00000"));
  await waiting(page).first().waitFor();
  await field(page, "Go on from").fill("a");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector(".story-text")?.textContent === "arrr");
  assert.deepEqual(faults, []);
  await close();
});

test("what the model cannot take is refused at the field", async () => {
  const { "preprocessor_config.json": preprocessor, ...bare } = model();
  const { page, faults, close } = await opened(bare);
  const red = await picture(page, "#e00000");
  const fault = page.locator("#talk-fault");
  await give(page, "drop", "red.png", "image/png", red);
  assert.match(await fault.innerText(), /Drop preprocessor_config\.json/);
  await drop(page, { "preprocessor_config.json": preprocessor! });
  await page.waitForSelector('.talk[data-status="ready"]');
  assert.equal(await fault.count(), 0);
  await give(page, "drop", "none.png", "image/png", Buffer.from("no picture"));
  assert.match(await fault.innerText(), /none\.png cannot be read/i);
  await give(page, "drop", "red.png", "image/png", red);
  await waiting(page).first().waitFor();
  assert.equal(await send(page), "rrr");

  const stories = ["prefill", "decode"].map((name) => `stories260k.${name}.pt2`);
  await dropModel(page, {
    ...Object.fromEntries(stories.map((name) => [name, readFileSync(inRoot(`models/${name}`))])),
    "tokenizer.bin": readFileSync(inRoot("models/stories260k.tokenizer.bin")),
  });
  await page.waitForSelector('.talk[data-status="ready"]');
  assert.equal(await page.getByRole("button", { name: /^Attach/ }).count(), 0);
  for (const [how, name, type, words] of [
    ["drop", "red.png", "image/png", /sees no pictures: its program has no method vision_encoder/],
    ["paste", "a.wav", "audio/wav", /hears no sound: its program has no method audio_encoder/],
  ] as const) {
    await give(page, how, name, type, red);
    await page.locator("#talk-fault", { hasText: words }).waitFor();
  }
  assert.equal(await page.locator(".problem").count(), 0);
  assert.deepEqual(faults, []);
  await close();
});

test("a phone shows thumbnails above the field", async () => {
  const visit = await host.visit({ viewport: { width: 390, height: 844 } });
  const { page, close } = visit;
  await dropModel(page, model());
  await page.waitForSelector('.talk[data-status="ready"]');
  for (const name of ["a.png", "b.png", "c.png", "d.png"])
    await give(page, "drop", name, "image/png", await picture(page, "#e00000"));
  await waiting(page).nth(3).waitFor();
  assert.deepEqual(await misplaced(page), []);
  await close();
});
