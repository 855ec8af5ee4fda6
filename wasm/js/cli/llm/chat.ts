// sconce chat: a conversation in a terminal, or with the lines of the standard input.
import { createInterface, type Interface } from "node:readline";
import { SconceError } from "../../base/errors.js";
import { makeFastEngine } from "../engine.js";
import { claimInputs, sourceOf } from "../files/streams.js";
import { printError } from "../print/errors.js";
import { errorJson, printJson } from "../print/json.js";
import { isJson, note } from "../print/terminal.js";
import { importModules } from "../shell/backends.js";
import { defineCommand, type ValuesOf } from "../shell/command.js";
import { PROGRAM_FLAGS } from "../shell/program_flags.js";
import { chosenBy } from "../shell/flags.js";
import { EXIT, UsageError } from "../usage.js";
import type {
  Conversation,
  GenerateOptions,
  GenerationSummary,
  LanguageModel,
} from "../../llm/types.js";
import { printAnswer, printSpeed, summaryJson } from "./answer.js";
import { contextLengthOf, generateOptions, SAMPLING_FLAGS, TOKENIZER_FLAGS } from "./flags.js";
import { openModel } from "./open.js";

const FLAGS = {
  ...TOKENIZER_FLAGS,
  system: { type: "string", value: "TEXT", text: "the message that tells the model how to answer" },
  ...SAMPLING_FLAGS,
  ...PROGRAM_FLAGS,
} as const;
type Values = ValuesOf<typeof FLAGS>;

const PROMPT = "> ";
/** The exit code of a program that Ctrl-C has ended. */
const INTERRUPTED = 130;

/** Ctrl-C: it first ends the answer, and then the command. */
class Interruption {
  private stop: AbortController | undefined;
  isOver = false;

  constructor(
    private readonly lines: Interface,
    private readonly isTerminal: boolean,
  ) {
    lines.on("SIGINT", this.interrupt);
    process.on("SIGINT", this.interrupt);
  }

  /** Lines of a file are not typed by anybody who could interrupt twice. */
  private readonly interrupt = (): void => {
    this.isOver = !this.isTerminal || this.stop === undefined;
    this.stop?.abort();
    if (this.isOver) this.lines.close();
  };

  /** Runs an answer that Ctrl-C ends. */
  async during<T>(answer: (signal: AbortSignal) => Promise<T>): Promise<T> {
    this.stop = new AbortController();
    try {
      return await answer(this.stop.signal);
    } finally {
      this.stop = undefined;
    }
  }

  end(): void {
    process.off("SIGINT", this.interrupt);
  }
}

interface Turn {
  readonly lm: LanguageModel;
  readonly conversation: Conversation;
  readonly options: GenerateOptions;
  readonly interruption: Interruption;
  readonly summaries: GenerationSummary[];
}

/** Answers a line. A terminal goes on after an error. */
async function answer(line: string, turn: Turn, isTerminal: boolean): Promise<void> {
  const { lm, conversation, options, interruption, summaries } = turn;
  try {
    await interruption.during(async (signal) => {
      const generation = conversation.send(line, { ...options, signal });
      const summary = await printAnswer(generation, ({ text }) => text);
      summaries.push(summary);
      printSpeed(summary, lm.used, lm.contextLength);
    });
  } catch (error) {
    if (!(error instanceof SconceError)) throw error;
    if (error.code === "cancelled") return;
    if (!isTerminal) throw error;
    printError(error);
  }
}

async function talk(turn: Turn, lines: Interface, isTerminal: boolean): Promise<void> {
  const { conversation } = turn;
  const show = (): void => {
    if (isTerminal) lines.prompt();
  };
  show();
  for await (const line of lines) {
    if (isTerminal && line.trim() === "/reset") {
      conversation.reset();
      note("The conversation begins anew.");
    } else if (line.trim() !== "") await answer(line, turn, isTerminal);
    if (turn.interruption.isOver) return;
    show();
  }
}

async function chat(values: Values, files: string[]): Promise<number> {
  if (files.length !== 1) throw new UsageError("name one .pte file to talk with");
  const path = files[0]!;
  const { tokenizer, system, data = [] } = values;
  if (tokenizer === undefined)
    throw new UsageError("name the tokenizer: --tokenizer tokenizer.json");
  // Lines come from there.
  claimInputs(["-", path, tokenizer, ...data]);
  const loading = chosenBy(values, "load");
  const seed = loading["seed"] as number | undefined;
  const options = { ...generateOptions(values), ...(seed !== undefined && { seed }) };
  const engine = await makeFastEngine();
  await importModules(engine, values.import ?? []);
  const program = engine.load(sourceOf(path), { dataFiles: data.map(sourceOf), ...loading });
  const lm = await openModel(program, tokenizer, contextLengthOf(values));
  const conversation = lm.chat(system === undefined ? {} : { system });
  const isTerminal = process.stdin.isTTY === true && process.stdout.isTTY === true && !isJson();
  const lines = createInterface({
    input: process.stdin,
    ...(isTerminal && { output: process.stdout, prompt: PROMPT }),
  });
  if (isTerminal) note("Ctrl-C ends an answer, and then the conversation. /reset begins anew.");
  const interruption = new Interruption(lines, isTerminal);
  const summaries: GenerationSummary[] = [];
  let failed: SconceError | undefined;
  try {
    await talk({ lm, conversation, options, interruption, summaries }, lines, isTerminal);
  } catch (error) {
    // The answers so far are printed all the same.
    if (!(error instanceof SconceError) || !isJson() || summaries.length === 0) throw error;
    failed = error;
  } finally {
    interruption.end();
    lines.close();
  }
  if (isJson())
    printJson({
      kind: "chat",
      program: path,
      messages: conversation.messages,
      answers: summaries.map(summaryJson),
      ...(failed && { error: errorJson(failed, () => "") }),
    });
  engine.dispose();
  if (failed) return EXIT.failed;
  return interruption.isOver && !isTerminal ? INTERRUPTED : EXIT.done;
}

/** The command sconce chat. */
export const CHAT = defineCommand({
  name: "chat",
  summary: "talks with a language model",
  examples: [
    "sconce chat model.pte --tokenizer tokenizer.json",
    'sconce chat model.pte --tokenizer tokenizer.json --system "Answer in one sentence."',
    "sconce chat model.pte --tokenizer tokenizer.json < questions.txt",
  ],
  files: "FILE.pte",
  flags: FLAGS,
  options: ["load"],
  run: chat,
});
