// The example server of OpenAI's chat protocol, with OpenAI's own client and with plain requests.
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import OpenAI from "openai";
import { createEngine } from "sconce";
import { samplePath } from "../setup/reference.js";

const example = fileURLToPath(new URL("../../../../examples/chat-server.mjs", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "sconce-chat-"));
let server: ChildProcess;
let baseURL = "";
let openai: OpenAI;

before(async () => {
  const file = (name: string): string => samplePath(`stories260k.${name}`);
  const engine = await createEngine();
  const methods = { prefill: file("prefill.pt2"), decode: file("decode.pt2") };
  const constantMethods = { get_max_seq_len: 256 };
  const lowered = engine.lower(methods, { constantMethods, shareMutableBuffers: true });
  writeFileSync(join(folder, "story.pte"), lowered.buffer);
  engine.dispose();
  copyFileSync(file("tokenizer.bin"), join(folder, "tokenizer.bin"));
  writeFileSync(
    join(folder, "chat_template.jinja"),
    "{% for message in messages %}{{ message.content }}{% if not loop.last %} {% endif %}{% endfor %}",
  );
  const args = [example, join(folder, "story.pte"), join(folder, "tokenizer.bin"), "0"];
  server = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  baseURL = await new Promise((resolve) =>
    server.stdout!.once("data", (text: Buffer) => resolve(text.toString().trim())),
  );
  openai = new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 });
});
after(() => {
  server.kill();
  rmSync(folder, { recursive: true, force: true });
});

const messages = [{ role: "user" as const, content: "Once upon a time" }];
const STORY = ", there was a little girl named Lily.";

test("models are listed", async () => {
  const { data } = await openai.models.list();
  assert.deepEqual(
    data.map(({ id, object, owned_by }) => [id, object, owned_by]),
    [["story.pte", "model", "sconce"]],
  );
  assert.equal((await openai.models.retrieve("story.pte")).id, "story.pte");
  await assert.rejects(openai.models.retrieve("other"), { status: 404 });
});

test("OpenAI's client gets an answer", async () => {
  const { choices, usage, object, model } = await openai.chat.completions.create({
    model: "story.pte",
    messages,
    temperature: 0,
    max_tokens: 20,
  });
  assert.deepEqual([object, model, choices.length], ["chat.completion", "story.pte", 1]);
  const [{ message, finish_reason }] = choices as [(typeof choices)[number]];
  assert.equal(finish_reason, "length");
  assert.equal(message.role, "assistant");
  assert.ok(message.content!.startsWith(STORY), message.content!);
  assert.equal(usage!.completion_tokens, 20);
  assert.equal(usage!.total_tokens, usage!.prompt_tokens + 20);
});

test("OpenAI's client streams an answer", async () => {
  const stream = await openai.chat.completions.create({
    model: "story.pte",
    messages: [{ role: "developer", content: [{ type: "text", text: "Once" }] }, messages[0]!],
    temperature: 0,
    stop: ["Lily", "."],
    stream: true,
    stream_options: { include_usage: true },
  });
  let text = "";
  const ends: (string | null)[] = [];
  let usage: OpenAI.CompletionUsage | null | undefined;
  for await (const chunk of stream) {
    assert.equal(chunk.object, "chat.completion.chunk");
    text += chunk.choices[0]?.delta.content ?? "";
    if (chunk.choices[0]) ends.push(chunk.choices[0].finish_reason);
    usage = chunk.usage ?? usage;
  }
  assert.notEqual(text, "");
  assert.doesNotMatch(text, /Lily|\./);
  assert.equal(ends.at(-1), "stop");
  assert.ok(ends.slice(0, -1).every((end) => end === null));
  assert.ok(usage!.completion_tokens > 3);
});

test("the same seed gives the same answer", async () => {
  const ask = async (seed: number): Promise<string | null> => {
    const options = { model: "story.pte", messages, max_completion_tokens: 20, seed };
    return (await openai.chat.completions.create(options)).choices[0]!.message.content;
  };
  assert.equal(await ask(5), await ask(5));
  assert.notEqual(await ask(5), await ask(6));
});

test("an answer fits a schema", async () => {
  const schema = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] };
  const { choices } = await openai.chat.completions.create({
    model: "story.pte",
    messages,
    response_format: { type: "json_schema", json_schema: { name: "answer", schema, strict: true } },
  });
  const { ok, ...rest } = JSON.parse(choices[0]!.message.content!) as Record<string, unknown>;
  assert.equal(typeof ok, "boolean");
  assert.deepEqual(rest, {});
  await assert.rejects(
    openai.chat.completions.create({
      model: "story.pte",
      messages,
      response_format: {
        type: "json_schema",
        json_schema: { name: "answer", schema: { type: "string", pattern: "a" } },
      },
    }),
    (error: Error) => /keyword 'pattern'/.test(error.message),
  );
});

test("requests take turns", async () => {
  const texts = await Promise.all(
    Array.from({ length: 6 }, async () => {
      const options = { model: "story.pte", messages, temperature: 0, max_tokens: 12 };
      return (await openai.chat.completions.create(options)).choices[0]!.message.content;
    }),
  );
  assert.equal(new Set(texts).size, 1);
  assert.ok(texts[0]!.startsWith(", there was"));
});

const post = (body: unknown, signal?: AbortSignal): Promise<Response> =>
  fetch(`${baseURL}/chat/completions`, {
    method: "POST",
    body: typeof body === "string" ? body : JSON.stringify(body),
    ...(signal && { signal }),
  });

test("wrong requests are told their errors, in the protocol's form", async () => {
  const cases: [unknown, number, RegExp, string | null][] = [
    ["{", 400, /not an object of JSON/, null],
    ["5", 400, /not an object of JSON/, null],
    [{}, 400, /'messages' is a list/, "messages"],
    [{ messages: [] }, 400, /'messages' is a list/, "messages"],
    [{ messages: [{ role: "user", content: 5 }] }, 400, /text as its content/, "messages"],
    [{ messages: [{ content: "a" }] }, 400, /role and content/, null],
    [{ messages, temperature: "hot" }, 400, /'temperature'/, null],
    [{ messages, max_tokens: 0 }, 400, /'maxNewTokens'/, null],
    [{ messages, n: 2 }, 400, /'n' is 1/, "n"],
    [{ messages, tools: [{}] }, 400, /no 'tools'/, "tools"],
    [
      { messages: [{ role: "user", content: "word ".repeat(400) }] },
      400,
      /the context has room/,
      null,
    ],
    [
      { messages: [{ role: "user", content: "word ".repeat(400) }], stream: true },
      400,
      /room/,
      null,
    ],
    [`{"messages": "${"x".repeat(2 ** 20)}"}`, 413, /larger than/, null],
  ];
  for (const [body, status, message, param] of cases) {
    const response = await post(body);
    assert.equal(response.status, status, JSON.stringify(body).slice(0, 80));
    const { error } = (await response.json()) as {
      error: { message: string; type: string; param: string | null };
    };
    assert.match(error.message, message);
    assert.equal(error.type, "invalid_request_error");
    assert.equal(error.param, param);
  }
  assert.equal((await fetch(`${baseURL}/nothing`)).status, 404);
  assert.equal((await fetch(`${baseURL}/chat/completions`)).status, 404);
  const { origin } = new URL(baseURL);
  assert.equal((await fetch(`${origin}/%`)).status, 400);
  assert.equal((await fetch(`${origin}//`)).status, 404);
});

test("a caller that hangs up ends its answer, and the next one is served", async () => {
  for (const stream of [true, false]) {
    const stop = new AbortController();
    const hung = Array.from({ length: 5 }, () => post({ messages, stream }, stop.signal));
    setTimeout(() => stop.abort(), 20);
    await Promise.allSettled(hung.map(async (response) => (await response).text()));
    const next = await post({ messages, temperature: 0, max_tokens: 3 });
    assert.equal(next.status, 200);
  }
  const stream = await openai.chat.completions.create({ model: "", messages, stream: true });
  for await (const _ of stream) break;
  stream.controller.abort();
  assert.equal((await post({ messages, max_tokens: 1 })).status, 200);
});
