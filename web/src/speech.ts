// Speech that becomes text: its part of the state.

/** A part of what was said; its times are in seconds. */
export interface Segment {
  start: number;
  end: number;
  text: string;
}

/** How speech becomes text. */
export interface SpeechSettings {
  /** The code of the language; empty: the model recognises it. */
  language: string;
  task: "transcribe" | "translate";
  timestamps: boolean;
}

/** Sound that becomes text. */
export interface Speech {
  /** "idle": the tokenizer was not read yet. "decoding": the browser reads a file of sound. */
  status: "idle" | "opening" | "failed" | "ready" | "recording" | "decoding" | "listening";
  settings: SpeechSettings;
  /** The languages that the model knows. */
  languages: readonly string[];
  /** The sound that was heard or is being heard. */
  sound: { name: string; seconds: number } | null;
  /** Why there is no sound; else empty. */
  fault: string;
  segments: readonly Segment[];
  /** Why it ended, where the sound did not. */
  ending: string;
  /** The language of the sound; empty if it is not known. */
  language: string;
  /** The work under way; `total` is 0 when unknown. */
  progress: { phase: string; done: number; total: number } | null;
  /** The window that is heard: its begin and its end in seconds. */
  heard: readonly [number, number];
  ms: number;
  /** The microphone: how loud it is, from 0 to 1, and for how many seconds it has recorded. */
  level: number;
  recorded: number;
  /** The segment that is played; null for none. */
  playing: number | null;
}

/** Before anything was heard. */
export const NO_SPEECH: Speech = {
  status: "idle",
  settings: { language: "", task: "transcribe", timestamps: true },
  languages: [],
  sound: null,
  fault: "",
  segments: [],
  ending: "",
  language: "",
  progress: null,
  heard: [0, 0],
  ms: 0,
  level: 0,
  recorded: 0,
  playing: null,
};
