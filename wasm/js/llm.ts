// The entry of language models, over programs of an engine, a runtime or a client.
export { openLanguageModel } from "./llm/open.js";
export type * from "./llm/types.js";
