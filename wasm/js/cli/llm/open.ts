// Opening a language model from files: the tokenizer, and the files next to it.
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { readWhole } from "../files/files.js";
import { SconceError, withCause } from "../../base/errors.js";
import { isInputStream } from "../files/streams.js";
import { note } from "../print/terminal.js";
import { openLanguageModel } from "../../llm/open.js";
import type {
  LanguageModel,
  LanguageModelOptions,
  LanguageProgram,
  TextTokenizer,
} from "../../llm/types.js";
import { readNamed } from "./flags.js";

/** A file in the folder of another one; undefined if there is none. */
function nextTo(path: string, name: string): string | undefined {
  const file = join(dirname(path), name);
  return !isInputStream(path) && existsSync(file) ? file : undefined;
}

const textOf = (path: string): string => new TextDecoder().decode(readWhole(path));

/** An error whose hint names an option of the library, with the flag in its place. */
function byFlag(error: unknown): unknown {
  if (!(error instanceof SconceError) || !/Pass contextLength\b/.test(error.hint)) return error;
  const hint = error.hint.replace("Pass contextLength", "Pass --context-length N");
  return withCause(new SconceError(error.code, error.message, hint), error);
}

/** Opens a language model, and prints its warnings. */
export async function openModel(
  program: LanguageProgram,
  tokenizer: string | TextTokenizer,
  contextLength: number | undefined,
): Promise<LanguageModel> {
  const options: LanguageModelOptions = {
    program,
    tokenizer: typeof tokenizer === "string" ? readNamed("tokenizer", tokenizer) : tokenizer,
    ...(contextLength !== undefined && { contextLength }),
  };
  if (typeof tokenizer === "string") {
    const config = nextTo(tokenizer, "tokenizer_config.json");
    const template = nextTo(tokenizer, "chat_template.jinja");
    if (config !== undefined) options.tokenizerConfig = textOf(config);
    if (template !== undefined) options.chatTemplate = textOf(template);
  }
  const lm = await openLanguageModel(options).catch((error: unknown) => {
    throw byFlag(error);
  });
  for (const { message } of lm.warnings) note(`warning: ${message}`);
  return lm;
}
