// sconce chat and sconce run --tokens: a model that tells stories, in a pipe and in a terminal.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { copyFileSync, writeFileSync } from "node:fs";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { cli, folder, sconce, type Result } from "../setup/command.js";
import { samplePath } from "../setup/reference.js";

const golden = JSON.parse(readFileSync(samplePath("stories260k.golden.json"), "utf8")) as {
  tokens: number[];
  text: string;
};
const TOKENIZER = ["--tokenizer", "tokenizer.bin"];

before(() => {
  const file = (name: string): string => samplePath(`stories260k.${name}`);
  const methods = ["prefill", "decode"].flatMap((name) => [
    ...["--method", `${name}=${file(`${name}.pt2`)}`],
  ]);
  const lowered = sconce(
    "lower",
    ...methods,
    "--share-state",
    "--constant",
    "get_max_seq_len=256",
    "-o",
    "story.pte",
  );
  assert.equal(lowered.status, 0, lowered.stderr);
  copyFileSync(file("tokenizer.bin"), join(folder, "tokenizer.bin"));
  writeFileSync(
    join(folder, "chat_template.jinja"),
    "{% for message in messages %}{{ message.content }} {% endfor %}",
  );
});

/** Talks with the lines of a text. */
function chat(lines: string, ...args: string[]): Result {
  const { status, signal, stdout, stderr } = spawnSync(
    process.execPath,
    [cli, "chat", "story.pte", ...TOKENIZER, ...args],
    { cwd: folder, encoding: "utf8", input: lines, timeout: 20_000 },
  );
  return { status, signal, stdout, stderr };
}

test("run --tokens goes on with a text", () => {
  const args = ["story.pte", "--tokens", "Once upon a time", ...TOKENIZER];
  const { status, stdout, stderr } = sconce("run", ...args, "--max-new-tokens", "12");
  assert.equal(status, 0, stderr);
  const story = golden.text.trim();
  assert.ok(story.startsWith(`Once upon a time${stdout.trimEnd()}`), stdout);
  assert.match(
    stderr,
    /^5 tokens read \(.*\), 12 written \(.*\), 16 of 256 in the context; end: length$/m,
  );
  const quiet = sconce("run", ...args, "--max-new-tokens", "12", "-q");
  assert.deepEqual([quiet.stdout, quiet.stderr], [stdout, ""]);
});

test("run --tokens goes on with token ids, and needs no tokenizer", () => {
  const given = golden.tokens.slice(0, 4);
  const args = ["story.pte", "--tokens", given.join(","), "--max-new-tokens", "5"];
  const { status, stdout, stderr } = sconce("run", ...args);
  assert.equal(status, 0, stderr);
  assert.equal(stdout, `${golden.tokens.slice(4, 9).join(" ")} \n`);
  assert.match(stderr, /^warning: .*which token ends a text/m);
});

test("run --tokens gives JSON", () => {
  const args = ["--tokens", "Once", ...TOKENIZER, "--max-new-tokens", "4", "--json", "-q"];
  const { stdout } = sconce("run", "story.pte", ...args);
  const { tokens, text, kind, finishReason, newTokens, program } = JSON.parse(stdout) as Record<
    string,
    unknown
  >;
  assert.deepEqual(
    { kind, program, finishReason, newTokens, tokens },
    {
      kind: "tokens",
      program: "story.pte",
      finishReason: "length",
      newTokens: 4,
      tokens: golden.tokens.slice(2, 6),
    },
  );
  assert.ok(golden.text.includes(text as string));
});

test("the same seed gives the same story, and flags choose tokens", () => {
  const run = (...args: string[]): string =>
    sconce(
      "run",
      "story.pte",
      "--tokens",
      "Once",
      ...TOKENIZER,
      "-q",
      "--max-new-tokens",
      "20",
      ...args,
    ).stdout;
  assert.equal(run("--temperature", "1", "--seed", "3"), run("--temperature", "1", "--seed", "3"));
  assert.notEqual(
    run("--temperature", "1", "--seed", "3"),
    run("--temperature", "1", "--seed", "4"),
  );
  assert.equal(run("--temperature", "1", "--top-k", "1"), run());
  assert.equal(run("--stop", "there"), " upon a time, \n");
});

test("an answer fits the schema of a file", () => {
  const schema = { type: "array", items: { enum: ["a", "b"] }, minItems: 1, maxItems: 3 };
  writeFileSync(join(folder, "schema.json"), JSON.stringify(schema));
  const args = [
    "--tokens",
    "Once",
    ...TOKENIZER,
    "--temperature",
    "1",
    "--schema",
    "schema.json",
    "-q",
  ];
  const { status, stdout, stderr } = sconce("run", "story.pte", ...args);
  assert.equal(status, 0, stderr);
  const items = JSON.parse(stdout) as string[];
  assert.ok(items.length > 0 && items.every((item) => item === "a" || item === "b"), stdout);
  writeFileSync(join(folder, "schema.json"), "no");
  assert.match(sconce("run", "story.pte", ...args).stderr, /schema\.json is not JSON/);
});

test("chat answers line by line, and keeps what was said", () => {
  const args = ["--max-new-tokens", "6", "--json"];
  const { status, stdout, stderr } = chat("Once upon a time\n\nShe was\n", ...args);
  assert.equal(status, 0, stderr);
  const { kind, messages, answers } = JSON.parse(stdout) as {
    kind: string;
    messages: { role: string; content: string }[];
    answers: { reusedTokens: number; promptTokens: number }[];
  };
  assert.equal(kind, "chat");
  assert.deepEqual(
    messages.map(({ role }) => role),
    ["user", "assistant", "user", "assistant"],
  );
  assert.equal(messages[2]!.content, "She was");
  assert.ok(answers[1]!.reusedTokens > 4);
  const plain = chat("Once upon a time\nShe was", "--max-new-tokens", "6", "-q");
  const lines = messages.filter(({ role }) => role === "assistant").map(({ content }) => content);
  assert.equal(plain.stdout, lines.map((line) => `${line}\n`).join(""));
  const system = chat("Once", "--system", "S", "--max-new-tokens", "2", "--json");
  assert.match(system.stdout, /"role": "system"/);
});

test("answers are kept when the context is full", () => {
  const lines = "Once upon a time\nShe was\nAnd then\n";
  const args = ["--context-length", "16", "--max-new-tokens", "4", "--json"];
  const { status, stdout } = chat(lines, ...args);
  assert.equal(status, 1);
  const { kind, answers, error } = JSON.parse(stdout) as {
    kind: string;
    answers: object[];
    error: { code: string };
  };
  assert.equal(kind, "chat");
  assert.ok(answers.length > 0 && answers.length < 3, `${answers.length}`);
  assert.equal(error.code, "limit");
});

test("wrong usage says what to do", () => {
  const cases: [string[], RegExp][] = [
    [["chat", "story.pte"], /name the tokenizer: --tokenizer tokenizer\.json/],
    [["chat"], /name one \.pte file/],
    [["chat", "-", ...TOKENIZER], /named twice/],
    [["run", "story.pte", "--tokens", "Once"], /token ids such as 1,403,407/],
    [["run", "story.pte", ...TOKENIZER], /--tokenizer belongs to a language model/],
    [["run", "story.pte", "--top-k", "3"], /--top-k belongs to a language model/],
    [["run", "story.pte", "--tokens", "1", "--input", "ones"], /--input does not fit/],
    [["run", "story.pte", "--tokens", "1", "--temperature", "x"], /takes a number, not 'x'/],
  ];
  for (const [args, message] of cases) {
    const { status, stderr } = sconce(...args);
    assert.equal(status, 2, stderr);
    assert.match(stderr, message);
  }
  const range = sconce("run", "story.pte", "--tokens", "1", "--top-p", "2");
  assert.equal(range.status, 1);
  assert.match(range.stderr, /'topP' of generate\(\) must be a number above 0/);
  const files: [string[], RegExp][] = [
    [
      ["chat", "story.pte", "--tokenizer", "gone.json"],
      /^io: --tokenizer: cannot read gone\.json: ENOENT[^\n]*\n {2}Give the path of the model's tokenizer\.json/,
    ],
    [["chat", "story.pte", "--tokenizer", "."], /--tokenizer: cannot read \.: \. is not a file/],
    [
      ["run", "story.pte", "--tokens", "1", "--schema", "gone.json"],
      /--schema: cannot read gone\.json: ENOENT[^\n]*\n {2}Give the path of a file with a JSON schema/,
    ],
    [
      ["run", "story.pte", "--tokens", "1", "--context-length", "9999"],
      /Pass a smaller number|the cache of the program is shorter/,
    ],
  ];
  for (const [args, message] of files) {
    const { status, stderr } = sconce(...args);
    assert.equal(status, 1, stderr);
    assert.match(stderr, message);
  }
  const long = chat(`${"word ".repeat(400)}\n`);
  assert.equal(long.status, 1);
  assert.match(
    long.stderr,
    /limit: the prompt has 2000 characters, and the context has room for 256 tokens/,
  );
});

/** Slows answers down, so that there is time to end one. */
const SLOW = `const { setImmediate: soon } = globalThis;
globalThis.setImmediate = (...call) => setTimeout(() => soon(...call), 100);
export function slow() {}
`;

test("Ctrl-C ends a pipe at once", async () => {
  writeFileSync(join(folder, "slow.mjs"), SLOW);
  const args = [cli, "chat", "story.pte", ...TOKENIZER, "--import", "slow.mjs"];
  const child = spawn(process.execPath, args, { cwd: folder });
  child.stdin.write("Once upon a time\nAnd then\n");
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (part: string) => {
    if (text === "") child.kill("SIGINT");
    text += part;
  });
  const status = await new Promise((resolve) => child.once("exit", resolve));
  assert.equal(status, 130);
  assert.ok(text.length > 0 && text.length < 800, text);
});

test("in a terminal, Ctrl-C ends the answer first, and then the conversation", async () => {
  writeFileSync(join(folder, "slow.mjs"), SLOW);
  const words = [cli, "chat", "story.pte", ...TOKENIZER, "--import", "slow.mjs"];
  const line = [process.execPath, ...words].map((word) => `'${word}'`).join(" ");
  const child = spawn("script", ["-qec", line, "/dev/null"], {
    cwd: folder,
    env: { ...process.env, TERM: "xterm" },
  });
  let text = "";
  // The keys that are typed once the terminal shows each of these.
  const steps: [RegExp, string][] = [
    [/> $/, "Once upon a time\r"],
    [/time[\r\n]+[^]*[a-z]/, "\x03"],
    [/\n[^\n]*> $/, "/reset\r"],
    [/begins anew\.\r\n[^\n]*> $/, "\x03"],
  ];
  child.stdout.setEncoding("utf8").on("data", (part: string) => {
    text += part;
    const shown = text.replace(/\x1b\[[0-9;?]*[A-Za-z]/g, "");
    if (steps.length > 0 && steps[0]![0].test(shown)) {
      const [, keys] = steps.shift()!;
      text = "";
      child.stdin.write(keys);
    }
  });
  const status = await new Promise((resolve) => child.once("exit", resolve));
  assert.deepEqual([steps.length, status], [0, 0], text);
});
