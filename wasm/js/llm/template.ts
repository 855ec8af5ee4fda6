// Chat templates: messages to the text of a prompt.
import { badArgument, isObject } from "../base/check.js";
import { messageOf, SconceError, withCause } from "../base/errors.js";
import { jinjaTemplate } from "./peers.js";
import { specialTokens } from "./tokenizer.js";
import type { ChatMessage, ChatTemplate, MessagePart } from "./types.js";

/** The text of the template in tokenizer_config.json; of several, the one called "default". */
function templateIn(config: object): string | undefined {
  const { chat_template: given } = config as { chat_template?: unknown };
  if (typeof given === "string") return given;
  if (!Array.isArray(given)) return undefined;
  const named = given.filter(
    (one): one is { name: string; template: string } =>
      isObject(one) && typeof one["template"] === "string",
  );
  return (named.find(({ name }) => name === "default") ?? named[0])?.template;
}

/** Makes a template of what the caller has; undefined if there is none. */
export async function chatTemplateOf(
  given: string | ChatTemplate | undefined,
  config: object,
): Promise<ChatTemplate | undefined> {
  if (typeof given === "function") return given;
  const text = given ?? templateIn(config);
  if (text === undefined) return undefined;
  if (typeof text !== "string")
    throw badArgument("'chatTemplate' of openLanguageModel()", "a string or a function", text);
  let render: Awaited<ReturnType<typeof jinjaTemplate>>;
  try {
    render = await jinjaTemplate(text);
  } catch (error) {
    if (error instanceof SconceError) throw error;
    throw refused("format", "cannot be read", "Pass the contents of chat_template.jinja.", error);
  }
  const special = specialTokens(config);
  return (messages, { addGenerationPrompt, variables }) => {
    const given = { ...special, ...variables, messages };
    try {
      return render({ ...given, add_generation_prompt: addGenerationPrompt });
    } catch (error) {
      const hint = "Check the roles and their order: the template decides which ones it takes.";
      throw refused("argument", "refuses these messages", hint, error);
    }
  };
}

function refused(
  code: "format" | "argument",
  what: string,
  hint: string,
  error: unknown,
): SconceError {
  const message = `the chat template ${what}: ${messageOf(error).slice(0, 200)}`;
  return withCause(new SconceError(code, message, hint), error);
}

const isPart = (part: unknown): part is MessagePart =>
  isObject(part) && part["type"] === "text" && typeof part["text"] === "string";

/** Throws unless it is the content of a message; `what` names it. */
export function checkContent(
  content: unknown,
  what: string,
): asserts content is ChatMessage["content"] {
  if (typeof content === "string") return;
  if (Array.isArray(content) && Array.from(content as unknown[]).every(isPart)) return;
  throw badArgument(what, 'a string, or a list of parts such as { type: "text", text }', content);
}

/** Throws unless it is a list of messages. */
export function checkMessages(messages: readonly unknown[]): asserts messages is ChatMessage[] {
  Array.from(messages).forEach((message, i) => {
    if (!isObject(message) || typeof message["role"] !== "string")
      throw badArgument(`message ${i}`, "an object with role and content", message);
    checkContent(message["content"], `the content of message ${i}`);
  });
}

/** Messages as templates take them: parts that are text alone are one text. */
export const plainMessages = (messages: readonly ChatMessage[]): ChatMessage[] =>
  messages.map((message) => ({
    ...message,
    content:
      typeof message.content === "string"
        ? message.content
        : message.content.map(({ text }) => text).join(""),
  }));
