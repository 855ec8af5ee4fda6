// Conversations and chat templates: what the program is asked, and what stays in the cache.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { SconceError } from "sconce";
import {
  openLanguageModel,
  type ChatMessage,
  type ChatTemplate,
  type LanguageModel,
  type LanguageModelOptions,
} from "sconce/llm";
import { bytes, EOS, fakeProgram, idsOf } from "./fake.js";
import { CHATML, TOKENIZER_CONFIG, tokenizerJson } from "./tokenizer_files.js";

/** A template as a function: "user: hello;assistant:". */
const plain: ChatTemplate = (messages, { addGenerationPrompt }) =>
  messages.map(({ role, content }) => `${role}:${content as string};`).join("") +
  (addGenerationPrompt ? "assistant:" : "");

/** A program that answers each prompt with the number of its tokens. */
function counting(): ReturnType<typeof fakeProgram> {
  const next = (tokens: readonly number[]): number => {
    const text = bytes.decode([...tokens]);
    const said = text.slice(text.lastIndexOf("assistant:") + "assistant:".length);
    const answer = `${text.length - said.length}`;
    return said.length < answer.length ? idsOf(answer)[said.length]! : EOS;
  };
  return fakeProgram({ cache: 1024, length: 512 }, next);
}

async function opened(
  options: Partial<LanguageModelOptions> = {},
): Promise<{ lm: LanguageModel; program: ReturnType<typeof fakeProgram> }> {
  const program = counting();
  const given = { program, tokenizer: bytes, chatTemplate: plain, contextLength: 1024 };
  return { lm: await openLanguageModel({ ...given, ...options }), program };
}

test("messages become a prompt by the template", async () => {
  const { lm, program } = await opened();
  const messages = [
    { role: "system", content: "S" },
    { role: "user", content: "hello" },
  ];
  const text = await lm.generate(messages).text();
  const prompt = "system:S;user:hello;assistant:";
  assert.deepEqual(program.calls[0]!.tokens, idsOf(prompt));
  assert.equal(text, `${prompt.length}`);
  assert.equal(lm.tokenCount(messages), prompt.length);
  assert.equal(lm.tokenCount("hello"), 6);
});

test("a conversation runs new tokens only, and keeps its messages", async () => {
  const { lm, program } = await opened();
  const talk = lm.chat({ system: "S" });
  const first = talk.send("one");
  const answer = await first.text();
  const before = "system:S;user:one;assistant:";
  assert.equal(answer, `${before.length}`);
  program.calls.length = 0;
  const second = talk.send([
    { type: "text", text: "tw" },
    { type: "text", text: "o" },
  ]);
  await second.text();
  const after = `${before}${answer};user:two;assistant:`;
  assert.equal(second.summary!.promptTokens, after.length);
  assert.equal(second.summary!.reusedTokens, before.length + answer.length);
  assert.deepEqual(program.calls[0]!.tokens, idsOf(`;user:two;assistant:`));
  assert.deepEqual(
    talk.messages.map(({ role }) => role),
    ["system", "user", "assistant", "user", "assistant"],
  );
  assert.equal(lm.used, after.length + second.summary!.text.length);
  talk.reset();
  assert.deepEqual(talk.messages, [{ role: "system", content: "S" }]);
});

test("two conversations take turns on one cache", async () => {
  const { lm } = await opened();
  const [a, b] = [lm.chat({ system: "A" }), lm.chat({ system: "B" })];
  const texts: string[] = [];
  for (const talk of [a, b, a, b]) texts.push(await talk.send("x").text());
  assert.deepEqual(texts, ["26", "26", "46", "46"]);
});

test("an answer that is ended early stays as far as it came", async () => {
  const { lm } = await opened();
  const talk = lm.chat();
  for await (const { text } of talk.send("one")) if (text !== "") break;
  assert.deepEqual(talk.messages.at(-1), { role: "assistant", content: "1" });
  const stop = AbortSignal.abort();
  await assert.rejects(talk.send("two", { signal: stop }).text(), { code: "cancelled" });
  assert.equal(talk.messages.length, 2);
  await assert.rejects(talk.send("x".repeat(2000)).text(), { code: "limit" });
  assert.equal(talk.messages.length, 2);
  assert.notEqual(await talk.send("three").text(), "");
  assert.equal(talk.messages.length, 4);
  for await (const _ of talk.send("four")) {
    assert.throws(() => talk.reset(), { code: "busy" });
    await assert.rejects(talk.send("five").text(), { code: "busy" });
  }
  assert.equal(talk.messages.length, 6);
});

test("a conversation begins with messages, and refuses what are none", async () => {
  const { lm } = await opened();
  const messages = [
    { role: "user", content: "a" },
    { role: "assistant", content: "b" },
  ];
  assert.deepEqual(lm.chat({ messages }).messages, messages);
  const system = [{ role: "system", content: "a" }];
  assert.throws(() => lm.chat({ system: "b", messages: system }), { code: "argument" });
  assert.throws(() => lm.chat({ sytem: "b" } as never), { code: "option" });
  const talk = lm.chat();
  for (const content of [null, 5, {}, [5], [{ type: "text" }], [{ type: "video", text: "" }]])
    assert.throws(() => talk.send(content as never), { code: "argument" });
});

// --- Templates of Jinja ------------------------------------------------------------------------------------

const ask: ChatMessage[] = [{ role: "user", content: "hello" }];

/** The text that the program gets as its prompt. */
async function promptBy(options: Partial<LanguageModelOptions>): Promise<string> {
  const program = fakeProgram({ cache: 256, length: 256 }, () => EOS);
  const given = { program, tokenizer: tokenizerJson(), contextLength: 256 };
  const lm = await openLanguageModel({ ...given, ...options });
  await lm.generate(ask).text();
  const { tokens } = program.calls[0]!;
  const vocabulary = (tokenizerJson()["model"] as { vocab: Record<string, number> }).vocab;
  const texts = new Map(Object.entries(vocabulary).map(([text, id]) => [id, text]));
  return tokens.map((id) => texts.get(id)).join("");
}

test("the template is the one of tokenizer_config.json, or the one given", async () => {
  const wanted = "<|im_start|>userĊhello<|im_end|>Ċ<|im_start|>assistantĊ";
  assert.equal(await promptBy({ tokenizerConfig: TOKENIZER_CONFIG }), wanted);
  assert.equal(await promptBy({ tokenizerConfig: JSON.stringify(TOKENIZER_CONFIG) }), wanted);
  assert.equal(await promptBy({ chatTemplate: CHATML }), wanted);
  const several = [
    { name: "tool_use", template: "T" },
    { name: "default", template: CHATML },
  ];
  assert.equal(await promptBy({ tokenizerConfig: { chat_template: several } }), wanted);
  assert.equal(
    await promptBy({ tokenizerConfig: TOKENIZER_CONFIG, chatTemplate: "{{ bos_token }}" }),
    "<|im_start|>",
  );
});

test("variables that are not given are none, as in transformers", async () => {
  const chatTemplate = "{% if tools is not none or documents is not none %}!{% endif %}hello";
  assert.equal(await promptBy({ chatTemplate }), "hello");
  const templateVariables = { tools: [] };
  assert.equal(await promptBy({ chatTemplate, templateVariables }), "!hello");
});

test("a template has its variables", async () => {
  const chatTemplate = "{{ greeting }}{% if thinking %}!{% endif %}";
  const templateVariables = { greeting: "hello", thinking: true };
  assert.equal(await promptBy({ chatTemplate, templateVariables }), "hello!");
});

test("a template that fails, and one that is missing, say what to do", async () => {
  const program = fakeProgram({ length: 64 });
  const given = { program, tokenizer: bytes };
  const plainModel = await openLanguageModel(given);
  for (const call of [() => plainModel.chat(), () => plainModel.tokenCount(ask)])
    assert.throws(call, (error: SconceError) => {
      assert.equal(error.code, "argument");
      assert.match(error.hint ?? "", /tokenizerConfig/);
      return true;
    });
  await assert.rejects(openLanguageModel({ ...given, chatTemplate: "{% if %}" }), {
    code: "format",
  });
  await assert.rejects(openLanguageModel({ ...given, chatTemplate: 5 as never }), {
    code: "argument",
  });
  const strict = "{{ raise_exception('roles must alternate') }}";
  const lm = await openLanguageModel({ ...given, chatTemplate: strict });
  await assert.rejects(lm.chat().send("hello").text(), (error: SconceError) => {
    assert.equal(error.code, "argument");
    assert.match(error.message, /roles must alternate/);
    return true;
  });
  const wrong = await openLanguageModel({ ...given, chatTemplate: () => 5 as never });
  await assert.rejects(wrong.generate(ask).text(), { code: "argument" });
});
