// The entry of language models, over programs of an engine, a runtime or a client.
export { openLanguageModel } from "./llm/open.js";
export { decodeWav } from "./llm/sound.js";
export { openSpeechModel } from "./llm/speech.js";
export type * from "./llm/speech_types.js";
export type * from "./llm/types.js";
