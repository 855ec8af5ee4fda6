// The conversation as the rest of the page sees it: its fields, and stopping it. The code that runs
// the model comes with the first conversation (talk.ts).
import type { LanguageModel } from "@sconce/llm/types.js";
import { looksLikeSpeech } from "../derived.js";
import {
  app,
  setStep,
  type Attachment,
  type Talk,
  type TalkSettings,
  type TokenizerFiles,
} from "../state.js";
import { plural } from "../ui/format.js";

interface Answer {
  controller: AbortController;
  /** True if the last turn of the state is its own. */
  hasTurn: boolean;
}

/** Objects that talk.ts keeps from call to call. */
export const talking: {
  /** The answer that is being generated; another one, or a call of the form, takes its place. */
  answer: Answer | null;
  /** True if the program's caches may hold something else than the conversation. */
  isTouched: boolean;
  /** The model, and what it was opened from. Its first call prepares the weights. */
  model: { lm: LanguageModel; program: object; files: TokenizerFiles; hasRun: boolean } | null;
} = { answer: null, isTouched: false, model: null };

/** The work of a speech model, which its own code fills in (speech.ts). */
export const hearing: { stop: () => void; forget: () => void } = {
  stop: () => undefined,
  forget: () => undefined,
};

export function setTalk(edit: Partial<Talk>): void {
  app.talk.value = { ...app.talk.value, ...edit };
}

export function setDraft(draft: string): void {
  setTalk({ draft, fault: "" });
}

export function setTalkSetting(name: keyof TalkSettings, value: string): void {
  setTalk({ settings: { ...app.talk.value.settings, [name]: value } });
}

export const isTalking = (): boolean => talking.answer !== null;

/** Ends the answer in the state. The text so far stays; without any, the message is a draft again. */
export function finishAnswer(ending: string): void {
  const { turns, draft, attached, figures, takesMessages } = app.talk.value;
  const last = talking.answer?.hasTurn ? turns.at(-1) : undefined;
  talking.answer = null;
  const isEmpty = takesMessages && last?.text === "";
  const isFree = draft === "" && attached.length === 0;
  setTalk({
    status: talking.model ? "ready" : "idle",
    progress: null,
    turns: isEmpty
      ? turns.slice(0, -1)
      : turns.map((turn) => (turn === last ? { ...turn, ending } : turn)),
    ...(isEmpty && isFree ? { draft: last.given, attached: last.attached } : {}),
  });
  if (app.busy.value) return;
  const { readMs = 0, ms = 0, tokens = 0 } = figures ?? {};
  setStep("run", { status: "done", ms: readMs + ms, note: plural(tokens, "token") });
}

function abort(): void {
  const { answer } = talking;
  if (!answer) return;
  answer.controller.abort();
  finishAnswer("Stopped.");
}

/** Stops the answer at the user's wish: the cache still holds the conversation. */
export const stopAnswer = abort;

/** Stops the answer for other work on the program, which writes the same caches. */
export function stopTalk(): void {
  abort();
  talking.isTouched = true;
  hearing.stop();
}

/** Gives back the pictures of thumbnails that are not shown any more. */
function dropPictures(pictures: readonly Attachment[]): void {
  const { attached, turns } = app.talk.value;
  const shown = new Set([...attached, ...turns.flatMap((turn) => turn.attached)]);
  for (const picture of pictures) if (!shown.has(picture)) URL.revokeObjectURL(picture.url);
}

/** Begins another conversation. */
export function newTalk(): void {
  abort();
  const { turns } = app.talk.value;
  setTalk({ turns: [], fault: "", figures: null, used: 0 });
  dropPictures(turns.flatMap(({ attached }) => attached));
}

/** Lets go of the model: another takes its place, or none. */
export function forgetTalk(): void {
  abort();
  talking.model = null;
  hearing.forget();
  const { turns, attached } = app.talk.value;
  setTalk({
    ...{ status: "idle", turns: [], attached: [], fault: "", figures: null },
    ...{ warnings: [], used: 0, contextLength: 0 },
  });
  dropPictures([...attached, ...turns.flatMap((turn) => turn.attached)]);
}

export function showTalk(): void {
  app.step.value = "run";
  app.views.value = { ...app.views.value, run: looksLikeSpeech.value ? "speech" : "talk" };
}
