// Speech to text in the page: a sound becomes segments with times, which play and leave as subtitles;
// the microphone; settings; stopping; what is refused.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import type { Page } from "playwright-core";
import { SPECIAL } from "../js/llm/special_tokens.js";
import { tokenizerJson } from "../js/llm/tokenizer_files.js";
import { downloaded, drop, dropModel, inRoot, misplaced, startHost, type Host } from "./browser.js";

let host: Host;
before(async () => (host = await startHost()));
after(() => host.close());

interface AddedToken {
  id: number;
  content: string;
}

function tokenizer(): Buffer {
  const file = tokenizerJson() as {
    added_tokens: AddedToken[];
    model: { vocab: Record<string, number> };
  };
  const { added_tokens: added, model } = file;
  // The rules of Whisper need its end behind all text.
  added[0]!.content = "<|padding|>";
  model.vocab = Object.fromEntries(
    Object.entries(model.vocab).map(([text, id]) => [id === 0 ? "<|padding|>" : text, id]),
  );
  for (const word of SPECIAL) {
    const [id, content] = [Object.keys(model.vocab).length, `<|${word}|>`];
    model.vocab[content] = id;
    added.push({ ...added[0]!, id, content });
  }
  return Buffer.from(JSON.stringify(file));
}

const listener = (): Record<string, Uint8Array> => ({
  "listener.encoder.pt2": readFileSync(inRoot("tests/models/media/listener.encoder.pt2")),
  "listener.decoder.pt2": readFileSync(inRoot("tests/models/media/listener.decoder.pt2")),
});

/** A .wav file of 16-bit samples: a tone, or silence. */
function wav(seconds: number, { loudness = 0.5, rate = 16_000, channels = 1 } = {}): Buffer {
  const count = seconds * rate * channels;
  const file = Buffer.alloc(44 + 2 * count);
  file.write("RIFF", 0);
  file.writeUInt32LE(36 + 2 * count, 4);
  file.write("WAVEfmt ", 8);
  file.writeUInt32LE(16, 16);
  file.writeUInt16LE(1, 20);
  file.writeUInt16LE(channels, 22);
  file.writeUInt32LE(rate, 24);
  file.writeUInt32LE(2 * channels * rate, 28);
  file.writeUInt16LE(2 * channels, 32);
  file.writeUInt16LE(16, 34);
  file.write("data", 36);
  file.writeUInt32LE(2 * count, 40);
  for (let i = 0; i < count; i++) {
    const at = Math.floor(i / channels) / rate;
    file.writeInt16LE(Math.round(32_000 * loudness * Math.sin(2 * Math.PI * 440 * at)), 44 + 2 * i);
  }
  return file;
}

const lines = (page: Page): Promise<string[]> => page.locator(".segment-line").allInnerTexts();
const ready = (page: Page): Promise<unknown> =>
  page.waitForSelector('.speech[data-status="ready"]', { timeout: 60_000 });

/** Drops a sound, and waits until all of it is heard. */
async function hear(page: Page, name: string, sound: Buffer): Promise<string[]> {
  await drop(page, { [name]: sound });
  await page.locator(".speech-head p", { hasText: name }).waitFor();
  await ready(page);
  return lines(page);
}

async function opened(): Promise<Awaited<ReturnType<Host["visit"]>>> {
  const visit = await host.visit({
    permissions: ["microphone", "clipboard-read", "clipboard-write"],
  });
  await dropModel(visit.page, { ...listener(), "tokenizer.json": tokenizer() });
  await ready(visit.page);
  return visit;
}

const SAID = ["0:00.0\nGood morning.", "0:01.0\nHow are you?"];

test("a sound becomes segments, which play, and leave as text and subtitles", async () => {
  const { page, faults, close } = await opened();
  const stereo = wav(3, { rate: 44_100, channels: 2 });
  assert.deepEqual(await hear(page, "tone.wav", stereo), SAID);
  const figures = await page.locator(".speech .figures").innerText();
  assert.match(figures, /sound\s+3\.00\s+s/);
  assert.match(figures, /language\s+English/);
  assert.match(figures, /segments\s+2/);
  assert.match(await page.locator(".speech [role=status]").innerText(), /2\s+segments/);
  assert.match(await page.locator('.step[data-step="run"]').innerText(), /latest sound/);

  // A segment plays once, and a second press ends it.
  const first = page.locator(".segment-line").first();
  await first.focus();
  await page.keyboard.press("Enter");
  assert.equal(await first.getAttribute("aria-pressed"), "true");
  await page.keyboard.press("Enter");
  assert.equal(await first.getAttribute("aria-pressed"), "false");
  await first.click();
  await page.waitForFunction(() => !document.querySelector('.segment-line[aria-pressed="true"]'));

  const exported: Record<string, string> = {};
  for (const format of ["txt", "srt", "vtt"]) {
    await page.getByRole("combobox", { name: "as", exact: true }).selectOption(format);
    const save = page.getByRole("button", { name: "Save", exact: true });
    exported[format] = (await downloaded(page, () => save.click())).toString();
    await page.getByRole("button", { name: "Copy", exact: true }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), exported[format]);
    await page.getByRole("button", { name: "Copy", exact: true }).waitFor();
  }
  assert.deepEqual(exported, {
    txt: "Good morning.\nHow are you?\n",
    srt:
      "1\n00:00:00,000 --> 00:00:01,000\nGood morning.\n\n" +
      "2\n00:00:01,000 --> 00:00:02,500\nHow are you?\n",
    vtt:
      "WEBVTT\n\n00:00:00.000 --> 00:00:01.000\nGood morning.\n\n" +
      "00:00:01.000 --> 00:00:02.500\nHow are you?\n",
  });
  assert.equal(await page.locator(".problem").count(), 0);
  assert.deepEqual(faults, []);
  await close();
});

test("language, task and times are settings; silence has no text", async () => {
  const { page, faults, close } = await opened();
  await hear(page, "a.wav", wav(2));
  const again = async (): Promise<string[]> => {
    await page.getByRole("button", { name: "Listen again" }).click();
    await ready(page);
    return lines(page);
  };
  const language = page.getByRole("combobox", { name: "Language" });
  const task = page.getByRole("combobox", { name: "Task" });
  assert.deepEqual(await language.locator("option").allInnerTexts(), [
    "recognise it",
    "English",
    "German",
  ]);
  await language.selectOption("German");
  assert.deepEqual(await again(), ["0:00.0\nGuten Morgen."]);
  await task.selectOption("translate");
  assert.deepEqual(await again(), ["0:00.0\nIn English."]);
  await task.selectOption("transcribe");
  await language.selectOption("");
  await page.getByRole("checkbox", { name: "Times of segments" }).uncheck();
  assert.deepEqual(await again(), ["0:00.0\nGood morning. How are you?"]);
  assert.deepEqual(await hear(page, "silence.wav", wav(2, { loudness: 0 })), []);
  await page.getByText("No speech was heard.").first().waitFor();
  assert.deepEqual(faults, []);
  await close();
});

test("windows follow each other, and stopping keeps what was heard", async () => {
  const { page, faults, close } = await opened();
  assert.equal((await hear(page, "minute.wav", wav(70))).length, 6);
  assert.equal((await lines(page)).at(-1), "1:01.0\nHow are you?");
  // The page itself presses Stop, as soon as there is text.
  await page.evaluate(() => {
    const look = (): void => {
      if (document.querySelectorAll(".segment-line").length !== 2) return;
      observer.disconnect();
      document.querySelector<HTMLButtonElement>(".speech .primary")!.click();
    };
    const observer = new MutationObserver(look);
    observer.observe(document.body, { subtree: true, childList: true });
    document.querySelector<HTMLButtonElement>(".speech .primary")!.click();
  });
  await page.getByText("Stopped.", { exact: true }).first().waitFor();
  await ready(page);
  assert.deepEqual(await lines(page), SAID);
  // Another sound takes the place of one that is being heard.
  await page.getByRole("button", { name: "Listen again" }).click();
  assert.deepEqual(await hear(page, "short.wav", wav(3)), SAID);
  assert.equal(await page.locator(".problem").count(), 0);
  assert.deepEqual(faults, []);
  await close();
});

test("the microphone records until it is stopped", async () => {
  const { page, faults, close } = await opened();
  await page.getByRole("button", { name: "Record speech" }).click();
  await page.waitForFunction(() => (document.querySelector("meter")?.value ?? 0) > 0);
  assert.match(await page.locator(".recorder").innerText(), /Recording 0:0\d/);
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await page.locator(".speech-head p", { hasText: "Recording" }).waitFor();
  await ready(page);
  assert.deepEqual((await lines(page))[0], SAID[0]);
  assert.equal(await page.locator("meter").count(), 0);
  assert.deepEqual(faults, []);
  await close();
});

test("what is no sound is refused at the field, and a program without a tokenizer asks for one", async () => {
  const { page, faults, close } = await host.visit();
  await drop(page, { "tone.wav": wav(1) });
  await page.getByText("tone.wav was left out: sound needs a model that hears").first().waitFor();
  await dropModel(page, listener());
  await page.keyboard.press("6");
  await page.getByText("This looks like a speech model.").waitFor();
  assert.equal(await page.getByRole("button", { name: "Speech", exact: true }).count(), 0);
  await drop(page, { "tokenizer.json": tokenizer() });
  await ready(page);
  await drop(page, { "broken.wav": Buffer.from("RIFF and no more") });
  const fault = page.locator(".speech .field-error");
  assert.match(await fault.innerText(), /broken\.wav has no sound that this browser can read/i);
  assert.deepEqual(await hear(page, "tone.wav", wav(3)), SAID);
  assert.equal(await fault.count(), 0);
  assert.deepEqual(faults, []);
  await close();
});

test("a phone shows the text and the buttons", async () => {
  const { page, close } = await host.visit({ viewport: { width: 390, height: 844 } });
  await dropModel(page, { ...listener(), "tokenizer.json": tokenizer() });
  await ready(page);
  assert.deepEqual(await hear(page, "tone.wav", wav(3)), SAID);
  assert.deepEqual(await misplaced(page), []);
  const [controls, dock] = await page.evaluate(() =>
    [".speech-controls", ".dock"].map((name) =>
      document.querySelector(name)!.getBoundingClientRect(),
    ),
  );
  assert.ok(controls!.bottom <= dock!.top + 1, `${controls!.bottom} over ${dock!.top}`);
  await close();
});
