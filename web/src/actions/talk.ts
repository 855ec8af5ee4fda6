// Talking with the program: it is opened as a language model, and then answers message by message.
// The state has the conversation; the model's cache keeps the tokens that it shares with the next
// prompt.
import { openLanguageModel } from "@sconce/llm/open.js";
import type {
  FinishReason,
  GenerationSummary,
  LanguageModel,
  LanguageModelOptions,
  LanguageProgram,
  MessagePart,
  Prompt,
} from "@sconce/llm/types.js";
import { PHASES } from "@sconce/border/steps.gen.js";
import { SconceError } from "@sconce/base/errors.js";
import { isTensorLike } from "@sconce/tensor/bytes.js";
import type { InputValue, Program, Remote } from "@sconce/types/index.js";
import { app, setStep, type Attachment, type TokenizerFiles, type Turn } from "../state.js";
import { hasFault, optionsOf } from "../talk.js";
import { formatCount, plural } from "../ui/format.js";
import { forgetIfBroken, isCancelled } from "./engine.js";
import { loadedProgram } from "./handles.js";
import { fault, report, sentenceOf } from "./problems.js";
import { finishAnswer, setTalk, talking } from "./talking.js";

/** Sixty times a second is as often as anyone can see. */
const FRAME_MS = 16;
/** Hardly any token stands for more: longer texts are refused before they are split into tokens. */
const CHARACTERS_PER_TOKEN = 32;

// --- The model ---------------------------------------------------------------------------------------

/** The prompt that is being read, call by call; `from` is where its new tokens begin. */
let reading: { lm: LanguageModel; tokens: number; from: number } | null = null;

/** A call's progress as that of the whole prompt. */
function ofPrompt(call: Amount, tokens: number): Amount {
  const { total } = call;
  if (!reading || total === 0 || reading.tokens <= reading.from) return call;
  const { lm, tokens: all, from } = reading;
  return { done: lm.used - from + (tokens * call.done) / total, total: all - from };
}

/** Methods whose calls are no part of the prompt's progress. */
const BEFORE: Readonly<Record<string, string>> = {
  vision_encoder: "looking at a picture",
  audio_encoder: "listening to a recording",
  token_embedding: "",
};

/** The program, whose first call and longer prompts report their progress and can be stopped. */
function watched(program: Remote<Program>): LanguageProgram {
  const show = (method: string, phase: keyof typeof PHASES, call: Amount, tokens: number): void => {
    if (app.talk.value.status !== "reading") return;
    const before = phase === "run" ? BEFORE[method] : undefined;
    const isOfPrompt = phase === "run" && reading !== null && before === undefined;
    const words = isOfPrompt ? plural(reading!.tokens, "token") : before || PHASES[phase];
    setTalk({ progress: { phase: words, ...(isOfPrompt ? ofPrompt(call, tokens) : call) } });
  };
  let isFirst = true;
  return {
    inspect: () => program.inspect(),
    reset: () => program.reset(),
    run(method, inputs, options) {
      const tokens = lengthOf(inputs[0]);
      // A single token is too quick for that.
      if (!isFirst && tokens === 1) return program.run(method, inputs);
      isFirst = inputs.length === 0;
      if (reading && reading.from < 0 && BEFORE[method] === undefined)
        reading.from = reading.lm.used;
      return program.run(method, inputs, {
        ...options,
        onProgress: ({ phase, done, total }) => show(method, phase, { done, total }, tokens),
      });
    },
  };
}

/** The tokens of a call: ids [1, S] or [S], or their rows [1, S, E]. */
const lengthOf = (input: InputValue | undefined): number => {
  const shape = isTensorLike(input) ? input.shape : [];
  return shape.length > 1 ? shape[1]! : (shape[0] ?? 0);
};

interface Amount {
  done: number;
  total: number;
}

type Normalization = NonNullable<LanguageModelOptions["imageOptions"]>;

/** How pictures are normalized, as preprocessor_config.json has it. */
function imageOptionsOf(text: string): Normalization {
  const numbers = (value: unknown): value is number[] =>
    Array.isArray(value) && value.length === 3 && value.every(Number.isFinite);
  let config: Record<string, unknown> = {};
  try {
    config = Object(JSON.parse(text)) as Record<string, unknown>;
  } catch {
    throw fault("format", "preprocessor_config.json is not JSON", "Drop the file as it was saved.");
  }
  const { image_mean: mean, image_std: std, rescale_factor: scale, do_normalize } = config;
  const isScaled = typeof scale === "number" && Number.isFinite(scale);
  const factor = isScaled ? { scale } : {};
  if (do_normalize === false) return { mean: 0, std: 1, ...factor };
  if (numbers(mean) && numbers(std)) return { mean, std, ...factor };
  throw fault(
    "format",
    "preprocessor_config.json does not have image_mean and image_std of three numbers",
    "Drop the one that belongs to the model.",
  );
}

/** A program with the files of its tokenizer. */
export async function openModel(
  program: Remote<Program>,
  { tokenizer, config, template, preprocessor }: TokenizerFiles,
): Promise<LanguageModel> {
  if (!tokenizer)
    throw fault("state", "the model has no tokenizer", "Drop tokenizer.json together with it.");
  const chatTemplate = await template?.text();
  const imageOptions = preprocessor && imageOptionsOf(await preprocessor.text());
  return openLanguageModel({
    program: watched(program),
    tokenizer,
    ...(config && { tokenizerConfig: config }),
    ...(chatTemplate !== undefined && { chatTemplate }),
    ...(imageOptions && { imageOptions }),
  });
}

/** True if the model has a chat template. */
function takesMessages(lm: LanguageModel): boolean {
  try {
    lm.chat();
    return true;
  } catch {
    return false;
  }
}

/** The model of the document that is open; opened again where its program is another one. */
async function currentModel(): Promise<LanguageModel> {
  const files = app.document.value?.tokenizer;
  if (!files)
    throw fault("state", "the model has no tokenizer", "Drop tokenizer.json together with it.");
  const program = await loadedProgram();
  const { model } = talking;
  if (model?.program === program && model.files === files) return model.lm;
  const lm = await openModel(program, files);
  if (app.document.value?.tokenizer !== files)
    throw fault("cancelled", "another model was opened", "Start again when ready.");
  talking.model = { lm, program, files, hasRun: false };
  setTalk({
    takesMessages: takesMessages(lm),
    contextLength: lm.contextLength,
    warnings: lm.warnings.map(({ message }) => message),
  });
  return lm;
}

let opening: Promise<void> | null = null;

/** Reads the tokenizer, so that the view knows what the model takes. */
export function openTalk(): Promise<void> {
  return (opening ??= open().finally(() => (opening = null)));
}

async function open(): Promise<void> {
  const files = app.document.value?.tokenizer;
  const isCurrent = (): boolean => app.document.value?.tokenizer === files;
  setTalk({ status: "opening" });
  try {
    await currentModel();
    // A message may have been sent meanwhile.
    if (isCurrent() && app.talk.value.status === "opening") setTalk({ status: "ready" });
  } catch (error) {
    forgetIfBroken(error);
    if (!isCurrent() || app.talk.value.status !== "opening") return;
    setTalk({ status: isCancelled(error) ? "idle" : "failed" });
    if (!isCancelled(error)) report(error, "run");
  }
}

// --- An answer ---------------------------------------------------------------------------------------

/** A text with the pictures and recordings before it. */
function contentOf(given: string, attached: readonly Attachment[]): string | MessagePart[] {
  if (attached.length === 0) return given;
  const text: MessagePart[] = given === "" ? [] : [{ type: "text", text: given }];
  return [...attached.map(({ part }) => part), ...text];
}

/** The messages so far and the new one; or what the model goes on with. */
function promptOf(given: string, attached: readonly Attachment[]): Prompt {
  const { settings, turns, takesMessages: isChat } = app.talk.value;
  if (!isChat) return contentOf(given, attached);
  const system = settings.system.trim();
  const said = turns.filter(({ text }) => text !== "");
  return [
    ...(system === "" ? [] : [{ role: "system", content: system }]),
    ...said.flatMap((turn) => [
      { role: "user", content: contentOf(turn.given, turn.attached) },
      { role: "assistant", content: turn.text },
    ]),
    { role: "user", content: contentOf(given, attached) },
  ];
}

/** Why an answer ended, where it needs saying. */
function endingOf(reason: FinishReason, lm: LanguageModel): string {
  if (reason === "length") return "Stopped at the most new tokens of the settings.";
  if (reason !== "context") return "";
  return `The context of ${formatCount(lm.contextLength)} tokens is full.`;
}

const isTooLong = (given: string, lm: LanguageModel): boolean =>
  given.length > CHARACTERS_PER_TOKEN * lm.contextLength;

/** Why the model cannot take a prompt, before any work is spent on it; else empty. */
function faultOf(given: string, tokens: number, lm: LanguageModel): string {
  const most = formatCount(lm.contextLength);
  if (isTooLong(given, lm))
    return `This text has ${formatCount(given.length)} characters, and the context holds ${most} tokens. Write less.`;
  if (tokens === 0) return "Write how the text begins: this tokenizer has no token for it.";
  if (tokens < lm.contextLength) return "";
  const hint =
    app.talk.value.turns.length > 0 && app.talk.value.takesMessages
      ? "Begin a new conversation."
      : "Write less.";
  return `This takes ${formatCount(tokens)} tokens, and the context holds ${most}. ${hint}`;
}

function setLast(edit: Partial<Turn>): readonly Turn[] {
  const { turns } = app.talk.value;
  return turns.map((turn, i) => (i === turns.length - 1 ? { ...turn, ...edit } : turn));
}

/** Reads the answer into the state. Gives its summary; null when another answer took over. */
async function readAnswer(
  lm: LanguageModel,
  prompt: Prompt,
  given: string,
  { signal }: AbortController,
): Promise<GenerationSummary | null> {
  const { settings, takesMessages: isChat } = app.talk.value;
  const generation = lm.generate(prompt, { ...optionsOf(settings), signal });
  const begin = performance.now();
  let [text, tokens, first, shown] = [isChat ? "" : given, 0, 0, 0];
  const show = (now: number): void => {
    shown = now;
    const figures = { readTokens: 0, readMs: first - begin, tokens, ms: now - first };
    setTalk({ status: "writing", turns: setLast({ text }), figures, used: lm.used });
  };
  for await (const piece of generation) {
    if (signal.aborted) return null;
    const now = performance.now();
    first ||= now;
    text += piece.text;
    tokens += piece.tokens.length;
    if (now - shown >= FRAME_MS) show(now);
  }
  if (signal.aborted) return null;
  first ||= performance.now();
  show(performance.now());
  return generation.summary ?? null;
}

/** The answer before this one, which may be in the middle of a token. */
let before: Promise<unknown> = Promise.resolve();

async function answer(given: string, mine: NonNullable<typeof talking.answer>): Promise<void> {
  const { controller } = mine;
  const { signal } = controller;
  await before;
  await opening;
  const lm = await currentModel();
  if (signal.aborted) return;
  if (talking.isTouched) await lm.reset();
  talking.isTouched = false;
  if (signal.aborted) return;
  const { attached } = app.talk.value;
  const prompt = promptOf(given, attached);
  const tokens = isTooLong(given, lm) ? Infinity : lm.tokenCount(prompt);
  const wrong = faultOf(given, tokens, lm);
  const { takesMessages: isChat, turns } = app.talk.value;
  if (wrong) {
    talking.answer = null;
    setTalk({ status: "ready", fault: wrong, ...(isChat ? {} : { turns: [] }) });
    return setStep("run", { status: "done" });
  }
  mine.hasTurn = true;
  reading = { lm, tokens, from: -1 };
  const turn: Turn = { given, attached, text: isChat ? "" : given, ending: "" };
  const { model } = talking;
  setTalk({
    status: "reading",
    progress: model?.hasRun ? null : { phase: "preparing the weights", done: 0, total: 0 },
    turns: isChat ? [...turns, turn] : [turn],
    ...(isChat && { draft: "", attached: [] }),
    figures: null,
  });
  const summary = await readAnswer(lm, prompt, given, controller);
  if (model) model.hasRun = true;
  if (!summary) return;
  setTalk({
    used: lm.used,
    figures: {
      readTokens: summary.promptTokens - summary.reusedTokens,
      readMs: summary.prefillMs,
      tokens: summary.newTokens,
      ms: summary.decodeMs,
    },
  });
  finishAnswer(endingOf(summary.finishReason, lm));
}

/** Sends the draft. One answer is generated at a time. */
export async function say(): Promise<void> {
  const { draft, attached, settings, takesMessages: isChat } = app.talk.value;
  const given = draft.trim();
  const isEmpty = given === "" && attached.length === 0;
  const isFree = talking.answer === null && app.busy.value === null;
  if (!isFree || hasFault(settings) || (isChat && isEmpty)) return;
  const mine = { controller: new AbortController(), hasTurn: false };
  talking.answer = mine;
  setTalk({ fault: "", status: "reading", progress: null });
  setStep("run", { status: "running" });
  const written = answer(given, mine);
  before = written.catch(() => undefined);
  try {
    await written;
  } catch (error) {
    forgetIfBroken(error);
    if (talking.answer !== mine) return;
    finishAnswer(isCancelled(error) ? "Stopped." : "An error ended it.");
    if (isCancelled(error)) return;
    if (error instanceof SconceError && error.code === "limit")
      setTalk({ fault: sentenceOf(error) });
    else report(error, "run");
  }
}
