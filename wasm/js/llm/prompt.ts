// Prompts of all forms as tokens, and as rows of pictures and sound among them.
import { badArgument, isObject } from "../base/check.js";
import { SconceError } from "../base/errors.js";
import type { Context } from "./context.js";
import { isMediaPart, type Media, type MediaPart, type RunMethod } from "./media.js";
import { checkMessages, isPart, templateMessages } from "./template.js";
import { checkIds, idsOf } from "./tokenizer.js";
import type {
  ChatMessage,
  ChatTemplate,
  MessagePart,
  Prompt,
  TemplateVariables,
  TextTokenizer,
} from "./types.js";

/** A token, or a part that becomes rows. */
export type PromptItem = number | MediaPart;

/** The characters of all texts of a prompt. */
function lengthOf(prompt: unknown, depth = 0): number {
  if (typeof prompt === "string") return prompt.length;
  // Messages, a message, its parts, a part: what lies deeper is refused when it is read.
  if (depth > 3 || !isObject(prompt)) return 0;
  const isList = Array.isArray(prompt);
  const inner: readonly unknown[] = isList ? prompt : [prompt["content"], prompt["text"]];
  return inner.reduce<number>((sum, one) => sum + lengthOf(one, depth + 1), 0);
}

/** Makes prompts of a model. */
export class Prompts {
  constructor(
    private readonly tokenizer: TextTokenizer,
    private readonly bosId: number | undefined,
    private readonly template: ChatTemplate | undefined,
    private readonly variables: TemplateVariables,
    private readonly media: Media,
  ) {}

  /** Throws unless there is a chat template. */
  get chatTemplate(): ChatTemplate {
    if (this.template) return this.template;
    throw new SconceError(
      "argument",
      "the model has no chat template, which messages need",
      "Pass tokenizer_config.json as tokenizerConfig, chat_template.jinja as chatTemplate, or a function.",
    );
  }

  /**
   * Throws if the texts of a prompt cannot fit into so many tokens. Splitting them into tokens would
   * take long, and be in vain.
   */
  checkLength(prompt: Prompt, tokens: number): void {
    const most = (this.tokenizer.longestToken ?? Infinity) * tokens;
    const length = lengthOf(prompt);
    if (length <= most) return;
    throw new SconceError(
      "limit",
      `the prompt has ${length} characters, and the context has room for ${tokens} tokens, which stand for ${most} at most`,
      "Shorten the prompt, leave out old messages, or export the model with a longer cache.",
    );
  }

  /** Reads a prompt. */
  read(prompt: Prompt, variables: TemplateVariables = {}): PromptItem[] {
    if (typeof prompt === "string") return this.text(prompt);
    if (!Array.isArray(prompt))
      throw badArgument("the prompt", "a text, messages, parts, or token ids", prompt);
    const list: readonly unknown[] = Array.from(prompt as ArrayLike<unknown>);
    if (typeof list[0] === "number") {
      checkIds(list, "the prompt");
      return [...list];
    }
    if (list.length > 0 && list.every(isPart)) return this.parts(list);
    checkMessages(list);
    return this.messages(list, variables);
  }

  private text(text: string): number[] {
    const ids = idsOf(this.tokenizer, text, true);
    return ids.length === 0 && this.bosId !== undefined ? [this.bosId] : ids;
  }

  /** Parts in their order, as ExecuTorch's runner takes them. */
  private parts(parts: readonly MessagePart[]): PromptItem[] {
    return parts.flatMap((part, i): PromptItem[] => {
      if (part.type !== "text") return [part];
      return i === 0 ? this.text(part.text) : idsOf(this.tokenizer, part.text, false);
    });
  }

  private messages(messages: readonly ChatMessage[], variables: TemplateVariables): PromptItem[] {
    const all = { ...this.variables, ...variables };
    const options = { addGenerationPrompt: true, variables: all };
    const text: unknown = this.chatTemplate(templateMessages(messages), options);
    if (typeof text !== "string")
      throw new SconceError(
        "argument",
        "the chat template gave no text",
        "Return a string from it.",
      );
    const ids = idsOf(this.tokenizer, text, false);
    const media = messages.flatMap(({ content }) =>
      typeof content === "string" ? [] : content.filter(isMediaPart),
    );
    // A program without the encoder is the better reason.
    for (const part of media) this.media.countOf(part);
    return media.length === 0 ? ids : this.placed(ids, media);
  }

  /** Puts parts in the places of the tokens that stand for them. */
  private placed(ids: readonly number[], parts: readonly MediaPart[]): PromptItem[] {
    const waiting = [...parts];
    const items = ids.map((id): PromptItem => {
      const kind = this.media.kindOf(id);
      if (kind === undefined) return id;
      const next = waiting.findIndex(({ type }) => type === kind);
      return next < 0 ? id : waiting.splice(next, 1)[0]!;
    });
    const [left] = waiting;
    if (left === undefined) return items;
    throw new SconceError(
      "argument",
      `the chat template has no place for ${waiting.length} of ${parts.length} parts, the first of the type '${left.type}'`,
      `Pass the token that stands for such a part: ${left.type}Token.`,
    );
  }

  /** The number of tokens, where parts have as many rows as their encoder declares. */
  count(prompt: Prompt): number {
    return this.read(prompt).reduce<number>(
      (sum, item) => sum + (typeof item === "number" ? 1 : this.media.countOf(item)),
      0,
    );
  }

  /** Encodes the parts. Gives ids, of which the negative ones stand for rows in the context. */
  async encoded(
    items: readonly PromptItem[],
    context: Context,
    run: RunMethod,
  ): Promise<readonly number[]> {
    const ids: number[] = [];
    context.clearPlaced();
    for (const item of items) {
      if (typeof item === "number") ids.push(item);
      else {
        const rows = await this.media.rowsOf(item, run);
        context.place(rows);
        for (const id of rows.ids) ids.push(id);
      }
    }
    return ids;
  }
}
