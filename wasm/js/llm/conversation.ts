// A conversation: messages that grow turn by turn. The model's cache keeps the tokens of earlier turns.
import { badArgument, checkTable } from "../base/check.js";
import { SconceError } from "../base/errors.js";
import { checkGenerate } from "./options.js";
import { checkContent, checkMessages } from "./template.js";
import type {
  ChatMessage,
  Conversation,
  GenerateOptions,
  Generation,
  GenerationSummary,
} from "./types.js";

/** The calls of a model that a conversation makes. */
export interface Speaker {
  /** Begins a generation, whose prompt is asked for when it is read. */
  answer(
    messages: () => readonly ChatMessage[],
    options: GenerateOptions,
    ended: (summary: GenerationSummary) => void,
  ): Generation;
}

/** The options of `chat`. */
export interface ChatOptions {
  system?: string;
  messages?: readonly ChatMessage[];
}

/** The messages that a conversation begins with. */
function firstMessages(options: ChatOptions): ChatMessage[] {
  checkTable("chat()", options, { system: "text", messages: "list" });
  const { system, messages = [] } = options;
  checkMessages(messages);
  const first = system === undefined ? [] : [{ role: "system", content: system }];
  if (first.length > 0 && messages.some(({ role }) => role === "system"))
    throw badArgument("'messages' of chat()", "a list without a system message", messages);
  return [...first, ...messages];
}

/** The messages of one conversation. */
export class Talk implements Conversation {
  private said: ChatMessage[];
  private isAnswering = false;

  constructor(
    private readonly speaker: Speaker,
    options: ChatOptions = {},
  ) {
    this.said = firstMessages(options);
  }

  get messages(): readonly ChatMessage[] {
    return [...this.said];
  }

  send(content: ChatMessage["content"], options: GenerateOptions = {}): Generation {
    checkContent(content, "the message of send()");
    checkGenerate("send()", options);
    const ask = (): readonly ChatMessage[] => {
      this.isAnswering = true;
      this.said.push({ role: "user", content });
      return this.said;
    };
    return this.speaker.answer(ask, options, (summary) => this.answered(summary));
  }

  private answered({ text, finishReason }: GenerationSummary): void {
    // Ended before the user's message was taken.
    if (!this.isAnswering) return;
    this.isAnswering = false;
    const isAnswer = text !== "" || finishReason !== "aborted";
    if (isAnswer) this.said.push({ role: "assistant", content: text });
    else this.said.pop();
  }

  reset(): void {
    if (this.isAnswering)
      throw new SconceError(
        "busy",
        "this conversation is in the middle of an answer",
        "Read the answer to its end first, or stop reading it.",
      );
    this.said = this.said.filter(({ role }) => role === "system");
  }
}
