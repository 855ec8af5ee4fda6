// The samples: each does the whole thing on one click, from its .pt2 to a result. And the story, as
// long as it is told.
import { SconceError } from "@sconce/errors.js";
import { tell, Vocabulary } from "../../../examples/stories.mjs";
import { app, type Document, type MethodFile, type SampleId } from "../state.js";
import { forgetIfBroken, isCancelled } from "./engine.js";
import { findFaces, showSamplePhoto, stopCamera } from "./face.js";
import { fetchModel } from "./files.js";
import { loadedProgram } from "./handles.js";
import { cancel } from "./job.js";
import { defaultSettings, lowerDocument } from "./lower.js";
import { fault, report } from "./problems.js";
import { runMethod } from "./run.js";

/** Most tokens that the cache of the bundled model holds. */
export const STORY_TOKENS = 256;

interface Recipe {
  title: string;
  files: readonly (readonly [method: string, fileName: string])[];
  settings: Partial<Document["settings"]>;
  then(): Promise<void>;
}

const RECIPES: Record<SampleId, Recipe> = {
  story: {
    title: "stories260k",
    files: [["prefill", "stories260k.prefill.pt2"], ["decode", "stories260k.decode.pt2"]],
    settings: { shareState: true, constants: `get_max_seq_len = ${STORY_TOKENS}` },
    then: tellStory,
  },
  face: {
    title: "face-rfb320",
    files: [["", "face-rfb320.pt2"]],
    settings: {},
    then: async () => {
      await showSamplePhoto();
      await findFaces();
    },
  },
  mlp: {
    title: "mlp",
    files: [["", "mlp.pt2"]],
    settings: {},
    then: () => runMethod("forward"),
  },
};

export async function openSample(id: SampleId): Promise<void> {
  const recipe = RECIPES[id];
  if (app.busy.value) await cancel("");
  stopDemos();
  app.step.value = "source";
  try {
    const files: MethodFile[] = await Promise.all(recipe.files.map(async ([method, fileName]) =>
      ({ method, fileName, file: await fetchModel(fileName) })));
    const settings = { ...defaultSettings(), ...recipe.settings };
    const isDone = await lowerDocument({ title: recipe.title, kind: "pt2", files, sample: id, settings, isEdited: false });
    if (!isDone) return;
    app.step.value = "run";
    await recipe.then();
  } catch (error) {
    report(error, null);
  }
}

/** Stops whatever a sample still does. */
export function stopDemos(): void {
  stopStory();
  stopCamera();
}

// --- The story ------------------------------------------------------------------------------------

let vocabulary: Vocabulary | undefined;
/** The telling that is under way; another one takes its place. */
let telling = 0;

export function stopStory(): void {
  telling++;
  if (app.story.value.status === "running") app.story.value = { ...app.story.value, status: "done" };
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

export async function tellStory(): Promise<void> {
  const me = ++telling;
  try {
    vocabulary ??= new Vocabulary(await (await fetchModel("stories260k.tokenizer.bin")).arrayBuffer());
    const program = await loadedProgram();
    const textOf = makeText(vocabulary);
    const tokens: number[] = [];
    let [text, shown] = ["", 0];
    const begin = performance.now();
    const show = (status: "running" | "done"): void => {
      shown = performance.now();
      app.story.value = { status, text, tokens: [...tokens], ms: shown - begin };
    };
    show("running");
    for await (const token of tell(program, STORY_TOKENS)) {
      if (me !== telling) return;
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
