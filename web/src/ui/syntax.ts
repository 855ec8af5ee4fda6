// A line of IR text as coloured pieces, and the node that the line defines.
type Piece = readonly [
  kind: "plain" | "keyword" | "value" | "op" | "type" | "number" | "string",
  text: string,
];

const KEYWORDS = `method symbol input return graph constant parameter buffer const constant_tensor
  hint kept persistent lifted named torch schema decomposed pytree buffer_mutation input_mutation`;

const TOKEN = new RegExp(
  [
    /(?<string>"(?:[^"\\]|\\.)*")/.source,
    /(?<value>%(?:"(?:[^"\\]|\\.)*"|[\w.]+))/.source,
    /(?<op>\b[a-zA-Z_]\w*::[\w.]+)/.source,
    String.raw`(?<keyword>\b(?:${KEYWORDS.split(/\s+/).join("|")})\b)`,
    /(?<type>\b(?:[buif]\d+|bf16|c\d+|opaque|int|float|bool|none|f8\w*)(?:[[{][^\]}]*[\]}])*)/
      .source,
    /(?<number>(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?\b)/.source,
  ].join("|"),
  "g",
);

/** Pieces that together are the line. */
export function pieces(line: string): Piece[] {
  const found: Piece[] = [];
  let at = 0;
  for (const match of line.matchAll(TOKEN)) {
    if (match.index > at) found.push(["plain", line.slice(at, match.index)]);
    const kind = Object.entries(match.groups!).find(([, text]) => text !== undefined)![0];
    found.push([kind as Piece[0], match[0]]);
    at = match.index + match[0].length;
  }
  if (at < line.length) found.push(["plain", line.slice(at)]);
  return found;
}

const DEFINES = /^\s*(?:%(?:"((?:[^"\\]|\\.)*)"|([\w.]+)): |(?:"((?:[^"\\]|\\.)*)"|([\w.]+)): \()/;

/** Name of the node whose line this is; empty for signatures and returns. */
export function nodeOfLine(line: string): string {
  const match = DEFINES.exec(line);
  return match ? (match.slice(1).find((name) => name !== undefined) ?? "") : "";
}
