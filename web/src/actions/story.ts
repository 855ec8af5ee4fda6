// The story teller: how a story begins, and then its tokens one by one, until the model ends it or
// its cache is full. One story is written at a time; a new one, or a call of the form, ends it.
import { Llama2cTokenizer } from "@sconce/llm/llama2c.js";
import { Detokenizer } from "@sconce/llm/text.js";
import { BEGIN, tell } from "../../../examples/stories.mjs";
import { app, setStep, type Story } from "../state.js";
import { formatCount, plural } from "../ui/format.js";
import { forgetIfBroken, isCancelled } from "./engine.js";
import { fetchAsset } from "./files.js";
import { loadedProgram } from "./handles.js";
import { report } from "./problems.js";
import { STORY_TOKENS } from "./samples.js";

/** More than the cache holds in any case, and few enough to be split into tokens at once. */
const PROMPT_CHARACTERS = 1000;

let vocabulary: Llama2cTokenizer | undefined;
/** The telling that is under way; another one takes its place. */
let telling = 0;

function set(edit: Partial<Story>): void {
  app.story.value = { ...app.story.value, ...edit };
}

export function setPrompt(prompt: string): void {
  set({ prompt, fault: "" });
}

/** Ends the story; the text so far stays. */
function finish(): void {
  const { tokens, ms } = app.story.value;
  set({ status: "done" });
  setStep("run", { status: "done", ms, note: plural(tokens, "token") });
}

export function stopStory(): void {
  telling++;
  if (app.story.value.status === "running") finish();
}

/** Text of tokens, as far as whole characters go. */
export function makeText(words: Llama2cTokenizer): (token: number) => string {
  const joined = new Detokenizer(words, []);
  return (token) => joined.push(token);
}

/** Why a story cannot begin like that; some of the cache must be left for what the model adds. */
function faultOf(prompt: string, tokens: readonly number[]): string {
  if (prompt.length > PROMPT_CHARACTERS) {
    const [has, most] = [prompt.length, PROMPT_CHARACTERS].map(formatCount);
    return `This beginning has ${has} characters. Write at most ${most}.`;
  }
  if (tokens.length < STORY_TOKENS) return "";
  return `This beginning has ${tokens.length} tokens, and the model holds ${STORY_TOKENS}. Begin with fewer words.`;
}

/** The pieces that the story model knows. */
export async function fetchVocabulary(): Promise<Llama2cTokenizer> {
  if (vocabulary) return vocabulary;
  const file = await fetchAsset("models/stories260k.tokenizer.bin");
  return (vocabulary = new Llama2cTokenizer(new Uint8Array(await file.arrayBuffer())));
}

/** Tokens of the beginning, or null when it is too long, which is then said at its field. */
export async function promptTokens(): Promise<number[] | null> {
  const words = await fetchVocabulary();
  const prompt = app.story.value.prompt.trim();
  const tokens = prompt.length > PROMPT_CHARACTERS ? [] : words.encode(prompt);
  const fault = faultOf(prompt, tokens);
  if (!fault) return tokens;
  set({ status: "idle", fault });
  setStep("run", { status: "done" });
  return null;
}

async function write(prompt: number[], isCurrent: () => boolean): Promise<void> {
  const program = await loadedProgram();
  const textOf = makeText(vocabulary!);
  let [text, tokens, shown] = ["", 0, 0];
  const begin = performance.now();
  for await (const token of tell(program, STORY_TOKENS, prompt)) {
    if (!isCurrent()) return;
    if (token === BEGIN && tokens > 0) break;
    text += textOf(token);
    tokens++;
    // Sixty times a second is as often as anyone can see.
    if (performance.now() - shown < 16) continue;
    shown = performance.now();
    set({ text, tokens, ms: shown - begin });
  }
  set({ text, tokens, ms: performance.now() - begin });
}

export async function tellStory(): Promise<void> {
  const me = ++telling;
  set({ status: "running", fault: "", text: "", tokens: 0, ms: 0 });
  setStep("run", { status: "running" });
  try {
    const prompt = await promptTokens();
    if (me !== telling || !prompt) return;
    await write(prompt, () => me === telling);
    if (me === telling) finish();
  } catch (error) {
    if (me !== telling) return;
    forgetIfBroken(error);
    finish();
    if (!isCancelled(error)) report(error, "run");
  }
}
