// Speech to text: sound from a file or from the microphone goes through the model, window by window,
// and its segments can be played.
import { openSpeechModel } from "@sconce/llm/speech.js";
import type { SpeechModel, Transcription } from "@sconce/llm/speech_types.js";
import type { LanguageProgram } from "@sconce/llm/types.js";
import { PHASES } from "@sconce/border/steps.gen.js";
import type { Program, Remote, Tensor } from "@sconce/types/index.js";
import type { Segment, Speech, SpeechSettings } from "../speech.js";
import { app, setStep } from "../state.js";
import { toSrt, toText, toVtt } from "../subtitles.js";
import { ask } from "./arrays.js";
import { forgetIfBroken, isCancelled } from "./engine.js";
import { download } from "./files.js";
import { loadedProgram } from "./handles.js";
import { fault, report, sentenceOf } from "./problems.js";
import { decodeSound, startRecording, type Recording } from "./sound.js";
import { hearing, showTalk } from "./talking.js";

const WINDOW_SECONDS = 30;

export function setSpeech(edit: Partial<Speech>): void {
  app.speech.value = { ...app.speech.value, ...edit };
}

export function setSpeechSetting(edit: Partial<SpeechSettings>): void {
  setSpeech({ settings: { ...app.speech.value.settings, ...edit } });
}

// --- The model ---------------------------------------------------------------------------------------

let model: { speech: SpeechModel; program: object; tokenizer: object } | null = null;
/** The work under way: reading a file, or listening. */
let work: AbortController | null = null;
/** The work before, whose last call may be under way still. */
let before: Promise<unknown> = Promise.resolve();
let sound: AudioBuffer | null = null;
/** The transcription under way. */
let current: Transcription | null = null;

/** Says which window is heard. */
function showWindow(): void {
  const { position = 0 } = current ?? {};
  const most = app.speech.value.sound?.seconds ?? 0;
  setSpeech({ heard: [position, Math.min(most, position + WINDOW_SECONDS)] });
}

/** The program, whose calls tell how far they are. */
function watched(program: Remote<Program>): LanguageProgram {
  const started = new Set<string>();
  let written = 0;
  return {
    inspect: () => program.inspect(),
    reset: () => program.reset(),
    run(method, inputs, options) {
      const isEncoder = /^enc/.test(method);
      const isFirst = !started.has(method);
      started.add(method);
      written = isEncoder ? 0 : written + 1;
      if (isEncoder) showWindow();
      const words = isEncoder ? "encoding" : `writing, ${written} tokens`;
      if (!isEncoder && written > 1) setSpeech({ progress: { phase: words, done: 0, total: 0 } });
      // Calls for one token are too quick for more.
      if (!isEncoder && !isFirst) return program.run(method, inputs, options);
      return program.run(method, inputs, {
        ...options,
        onProgress: ({ phase, done, total }) =>
          setSpeech({ progress: { phase: phase === "run" ? words : PHASES[phase], done, total } }),
      });
    },
  };
}

/** Features of windows, from a worker: the page itself never loops over samples. */
const features = (bands: number): LanguageProgram => ({
  inspect: () => ({ methods: [] }),
  reset: () => undefined,
  async run(_, [samples]) {
    const { data } = samples as Tensor & { data: Float32Array };
    showWindow();
    setSpeech({ progress: { phase: "computing features", done: 0, total: 0 } });
    return [await ask("features", [data, bands])];
  },
});

/** The bands that the encoder takes; 0 if it takes samples. */
async function bandsOf(program: Remote<Program>): Promise<number> {
  const { methods } = await program.inspect();
  const shape = methods.find(({ name }) => /^encoder?$/.test(name))?.inputs[0]?.shape ?? [];
  return shape.length === 3 ? shape[1]! : 0;
}

async function currentModel(): Promise<SpeechModel> {
  const { tokenizer: files } = app.document.value ?? {};
  if (!files?.tokenizer)
    throw fault("state", "the model has no tokenizer", "Drop its tokenizer.json.");
  const program = await loadedProgram();
  if (model?.program === program && model.tokenizer === files) return model.speech;
  const bands = await bandsOf(program);
  const speech = await openSpeechModel({
    program: watched(program),
    tokenizer: files.tokenizer,
    ...(files.config && { tokenizerConfig: files.config }),
    ...(bands > 0 && { features: features(bands) }),
  });
  if (app.document.value?.tokenizer !== files)
    throw fault("cancelled", "another model was opened", "Start again when ready.");
  model = { speech, program, tokenizer: files };
  setSpeech({ languages: speech.languages });
  return speech;
}

/** Reads the tokenizer, so that the view knows the languages. */
export async function openSpeech(): Promise<void> {
  const { value: document } = app.document;
  setSpeech({ status: "opening" });
  try {
    await currentModel();
    if (app.speech.value.status === "opening") setSpeech({ status: "ready" });
  } catch (error) {
    forgetIfBroken(error);
    if (app.document.value !== document || app.speech.value.status !== "opening") return;
    setSpeech({ status: isCancelled(error) ? "idle" : "failed" });
    if (!isCancelled(error)) report(error, "run");
  }
}

// --- Listening ---------------------------------------------------------------------------------------

async function hear(samples: Float32Array, mine: AbortController): Promise<void> {
  const { settings } = app.speech.value;
  const speech = await currentModel();
  const isMany = speech.languages.length > 0;
  if (mine.signal.aborted) return;
  const transcription = (current = speech.transcribe(samples, {
    ...(isMany && settings.language !== "" && { language: settings.language }),
    ...(isMany && settings.task === "translate" && { task: settings.task }),
    timestamps: settings.timestamps,
    signal: mine.signal,
  }));
  for await (const { start, end, text } of transcription) {
    if (mine.signal.aborted) return;
    const segment: Segment = { start, end, text: text.trim() };
    const segments = [...app.speech.value.segments, segment];
    setSpeech({ segments, language: transcription.language ?? "" });
  }
  setSpeech({ language: transcription.language ?? "" });
}

/** Does some work that can be stopped. Its error becomes a card. */
async function working(
  status: "decoding" | "listening",
  body: (mine: AbortController) => Promise<void>,
): Promise<void> {
  hearing.stop();
  const mine = (work = new AbortController());
  const isCurrent = (): boolean => work === mine;
  setSpeech({ status, fault: "", ending: "", progress: null });
  setStep("run", { status: "running" });
  const done = before.then(() => (isCurrent() ? body(mine) : undefined));
  before = done.catch(() => undefined);
  try {
    await done;
  } catch (error) {
    forgetIfBroken(error);
    if (isCurrent() && !isCancelled(error)) report(error, "run");
  } finally {
    if (isCurrent()) {
      work = null;
      setSpeech({ status: model ? "ready" : "idle", progress: null });
      if (app.steps.value.run.status === "running") setStep("run", { status: "done" });
    }
  }
}

async function hearAll(from: AudioBuffer, mine: AbortController): Promise<void> {
  const begin = performance.now();
  setSpeech({ status: "listening", segments: [], language: "", ms: 0, playing: null });
  await hear(from.getChannelData(0), mine);
  if (mine.signal.aborted) return;
  const ms = performance.now() - begin;
  const ending = app.speech.value.segments.length === 0 ? "No speech was heard." : "";
  setSpeech({ ms, ending });
  setStep("run", { status: "done", ms, note: "latest sound" });
}

/** Listens to the sound that is there, from its begin. */
export async function listen(): Promise<void> {
  const from = sound;
  if (!from || app.busy.value) return;
  stopPlaying();
  await working("listening", (mine) => hearAll(from, mine));
}

/** Reads a file of sound, and listens to it. */
export async function takeSound(file: Blob, name: string): Promise<void> {
  showTalk();
  await working("decoding", async (mine) => {
    const read = await decodeSound(file, name).catch((error: unknown) => {
      if (!mine.signal.aborted) setSpeech({ fault: sentenceOf(error, name) });
    });
    if (!read || mine.signal.aborted) return;
    stopPlaying();
    sound = read;
    setSpeech({ sound: { name, seconds: read.duration } });
    await hearAll(read, mine);
  });
}

function stop(): void {
  recording?.drop();
  recording = null;
  if (!work) return setSpeech({ status: model ? "ready" : "idle", level: 0 });
  work.abort();
  work = null;
  setSpeech({ status: model ? "ready" : "idle", progress: null, ending: "Stopped.", level: 0 });
  if (!app.busy.value) setStep("run", { status: "done" });
}

export const stopListening = stop;

// --- The microphone ----------------------------------------------------------------------------------

let recording: Recording | null = null;

/** Begins to record. */
export async function record(): Promise<void> {
  hearing.stop();
  stopPlaying();
  setSpeech({ fault: "", level: 0, recorded: 0 });
  const { value: document } = app.document;
  try {
    const started = await startRecording((level, recorded) => setSpeech({ level, recorded }));
    if (app.document.value !== document) return started.drop();
    recording = started;
    setSpeech({ status: "recording" });
  } catch (error) {
    setSpeech({ fault: sentenceOf(error) });
  }
}

/** Ends the recording, and listens to it. */
export async function stopRecording(): Promise<void> {
  const mine = recording;
  recording = null;
  if (mine) await takeSound(await mine.stop(), "Recording");
}

// --- Playing -----------------------------------------------------------------------------------------

let player: { context: AudioContext; source: AudioBufferSourceNode } | null = null;

export function stopPlaying(): void {
  player?.source.stop();
  void player?.context.close();
  player = null;
  if (app.speech.value.playing !== null) setSpeech({ playing: null });
}

/** Plays a segment; stops if it is playing. */
export function play(index: number): void {
  const wasPlaying = app.speech.value.playing === index;
  stopPlaying();
  const segment = app.speech.value.segments[index];
  if (wasPlaying || !sound || !segment) return;
  const context = new AudioContext();
  const source = context.createBufferSource();
  source.buffer = sound;
  source.connect(context.destination);
  player = { context, source };
  source.onended = () => {
    if (player?.source === source) stopPlaying();
  };
  source.start(0, segment.start, Math.max(0.1, segment.end - segment.start));
  setSpeech({ playing: index });
}

// --- Taking it out -----------------------------------------------------------------------------------

export const FORMATS = {
  txt: { title: "text", write: toText },
  srt: { title: ".srt", write: toSrt },
  vtt: { title: ".vtt", write: toVtt },
} as const;
export type Format = keyof typeof FORMATS;

export const written = (format: Format): string => FORMATS[format].write(app.speech.value.segments);

/** Saves the text as a file. */
export function saveText(format: Format): void {
  const name = app.speech.value.sound?.name.replace(/\.\w+$/, "") ?? "speech";
  download(new Blob([written(format)], { type: "text/plain" }), `${name}.${format}`);
}

hearing.stop = stop;
hearing.forget = () => {
  stop();
  stopPlaying();
  model = null;
  sound = null;
};
