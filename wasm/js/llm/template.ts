// Chat templates: messages to the text of a prompt.
import { badArgument, isObject } from "../base/check.js";
import { messageOf, SconceError, withCause } from "../base/errors.js";
import { jinjaTemplate } from "./peers.js";
import { specialTokens } from "./tokenizer.js";
import { isMediaPart } from "./media.js";
import type { ChatMessage, ChatTemplate, MessagePart, TextPart } from "./types.js";

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

/** Templates of models that see look at the types of parts, and take no text in their place. */
const PARTS = /\[\s*['"]type['"]\s*\]|\.type\b/;

/** Variables that are null unless they are given, as in transformers: templates ask for that. */
const ABSENT = { tools: null, documents: null };

/** Messages whose contents are lists of parts. */
const withParts = (messages: readonly ChatMessage[]): ChatMessage[] =>
  messages.map(({ content, ...message }) => ({
    ...message,
    content: typeof content === "string" ? [{ type: "text", text: content }] : content,
  }));

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
  const wantsParts = PARTS.test(text) && !/\bis string\b/.test(text);
  return (messages, { addGenerationPrompt, variables }) => {
    const shown = wantsParts ? withParts(messages) : messages;
    const given = { ...ABSENT, ...special, ...variables, messages: shown };
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

const isTextPart = (part: unknown): part is TextPart =>
  isObject(part) && part["type"] === "text" && typeof part["text"] === "string";

/** True for a part of a message. */
export const isPart = (part: unknown): part is MessagePart => isTextPart(part) || isMediaPart(part);

/** Throws unless it is the content of a message; `what` names it. */
export function checkContent(
  content: unknown,
  what: string,
): asserts content is ChatMessage["content"] {
  if (typeof content === "string") return;
  if (Array.isArray(content) && Array.from(content as unknown[]).every(isPart)) return;
  const parts = '{ type: "text", text } or { type: "image", image }';
  throw badArgument(what, `a string, or a list of parts such as ${parts}`, content);
}

/** Throws unless it is a list of messages. */
export function checkMessages(messages: readonly unknown[]): asserts messages is ChatMessage[] {
  Array.from(messages).forEach((message, i) => {
    if (!isObject(message) || typeof message["role"] !== "string")
      throw badArgument(`message ${i}`, "an object with role and content", message);
    checkContent(message["content"], `the content of message ${i}`);
  });
}

/** Parts that are text alone as one text; undefined if there are others. */
function plainText(content: ChatMessage["content"]): string | undefined {
  if (typeof content === "string") return content;
  const isText = content.every(isTextPart);
  return isText ? content.map((part) => (part as TextPart).text).join("") : undefined;
}

/**
 * Messages as templates take them: text where all messages are, and lists of parts otherwise. A
 * template sees the types of other parts, and not what is in them.
 */
export function templateMessages(messages: readonly ChatMessage[]): ChatMessage[] {
  const texts = messages.map(({ content }) => plainText(content));
  if (texts.every((text) => text !== undefined))
    return messages.map((message, i) => ({ ...message, content: texts[i]! }));
  return messages.map((message) => ({
    ...message,
    content:
      typeof message.content === "string"
        ? [{ type: "text", text: message.content }]
        : message.content.map((part) =>
            part.type === "text" ? part : ({ type: part.type } as MessagePart),
          ),
  }));
}
