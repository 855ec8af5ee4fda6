// The samples: each does the whole thing on one click, from its .pt2 to a result. And the story, as
// long as it is told.
import { SconceError } from "@sconce/errors.js";
import { BEGIN, tell, Vocabulary } from "../../../examples/stories.mjs";
import { app, type SampleId } from "../state.js";
import { forgetIfBroken, isCancelled } from "./engine.js";
import { findFaces, showSamplePhoto, stopCamera } from "./face.js";
import { fetchModel } from "./files.js";
import { loadedProgram } from "./handles.js";
import { lowerDocument } from "./lower.js";
import { fault, report } from "./problems.js";
import { runMethod } from "./run.js";
import { sampleDocument, STORY_TOKENS } from "./samples.js";

/** What a sample does once it is lowered. */
const THEN: Record<SampleId, () => Promise<void>> = {
  story: tellStory,
  face: async () => {
    await showSamplePhoto();
    await findFaces();
  },
  mlp: () => runMethod("forward"),
};

export async function openSample(id: SampleId): Promise<void> {
  stopDemos();
  app.step.value = "source";
  if (!(await lowerDocument(sampleDocument(id)))) return;
  app.step.value = "run";
  try {
    await THEN[id]();
  } catch (error) {
    report(error, "run");
  }
}

/** Stops whatever a sample still does. */
export function stopDemos(): void {
  stopStory();
  stopCamera();
}

// --- The story ----------------------------------------------------------------------------------

let vocabulary: Vocabulary | undefined;
/** The telling that is under way; another one takes its place. */
let telling = 0;

export function stopStory(): void {
  telling++;
  if (app.story.value.status === "running")
    app.story.value = { ...app.story.value, status: "done" };
}

/** Text of tokens, as far as whole characters go. */
function makeText(words: Vocabulary): (token: number) => string {
  const decoder = new TextDecoder();
  let previous = -1;
  return (token) => {
    const text = previous < 0 ? "" : decoder.decode(words.bytes(token, previous), { stream: true });
    previous = token;
    return text;
  };
}

export function setPrompt(prompt: string): void {
  app.story.value = { ...app.story.value, prompt };
}

async function fetchVocabulary(): Promise<Vocabulary> {
  const file = await fetchModel("stories260k.tokenizer.bin");
  return new Vocabulary(await file.arrayBuffer());
}

/** Tokens of how the story begins; some of the cache must be left for what the model adds. */
function encode(words: Vocabulary, prompt: string): number[] {
  const tokens = words.encode(prompt);
  if (tokens.length < STORY_TOKENS) return tokens;
  throw fault(
    "input",
    `this beginning has ${tokens.length} tokens, and the model holds ${STORY_TOKENS}`,
    "Begin with fewer words.",
  );
}

export async function tellStory(): Promise<void> {
  const me = ++telling;
  try {
    vocabulary ??= await fetchVocabulary();
    const prompt = encode(vocabulary, app.story.value.prompt.trim());
    const program = await loadedProgram();
    const textOf = makeText(vocabulary);
    const tokens: number[] = [];
    let [text, shown] = ["", 0];
    const begin = performance.now();
    const show = (status: "running" | "done"): void => {
      shown = performance.now();
      const ms = shown - begin;
      app.story.value = { ...app.story.value, status, text, tokens: [...tokens], ms };
    };
    show("running");
    for await (const token of tell(program, STORY_TOKENS, prompt)) {
      if (me !== telling) return;
      if (token === BEGIN && tokens.length > 0) break;
      text += textOf(token);
      tokens.push(token);
      // Sixty times a second is as often as anyone can see.
      if (performance.now() - shown > 16) show("running");
    }
    show("done");
  } catch (error) {
    if (me !== telling || isCancelled(error)) return;
    forgetIfBroken(error);
    app.story.value = { ...app.story.value, status: "done" };
    report(error instanceof SconceError ? error : fault("internal", String(error), ""), "run");
  }
}
