// An answer as it is printed: piece by piece, and then how fast it was.
import { isJson, note, visible } from "../print/terminal.js";
import type { Generation, GenerationSummary } from "../../llm/types.js";

/** Text for the standard output: a terminal obeys control characters, but for ends of lines. */
function printable(text: string): string {
  if (process.stdout.isTTY !== true) return text;
  return text.replace(/[^\n\t]+/g, visible);
}

const rate = (count: number): string => (count >= 100 ? count.toFixed(0) : count.toFixed(1));

/** Prints an answer while it comes. Nothing is printed for --json. */
export async function printAnswer(
  answer: Generation,
  shown: (piece: { text: string; tokens: readonly number[] }) => string,
): Promise<GenerationSummary> {
  let last = "";
  const print = (text: string): void => {
    if (isJson() || text === "") return;
    last = text;
    process.stdout.write(printable(text));
  };
  try {
    for await (const piece of answer) print(shown(piece));
  } finally {
    if (!last.endsWith("\n")) print("\n");
  }
  return answer.summary!;
}

/** Prints how many tokens there were, and how fast they came. */
export function printSpeed(summary: GenerationSummary, used: number, length: number): void {
  const { promptTokens, reusedTokens, newTokens, finishReason } = summary;
  const { prefillTokensPerSecond: read, decodeTokensPerSecond: written } = summary;
  note(
    `${promptTokens - reusedTokens} tokens read (${rate(read)} a second), ${newTokens} written (${rate(written)} a second), ` +
      `${used} of ${length} in the context; end: ${finishReason}`,
  );
}

/** A summary as it stands in JSON. */
export const summaryJson = ({ text: _, ...summary }: GenerationSummary): object => summary;
