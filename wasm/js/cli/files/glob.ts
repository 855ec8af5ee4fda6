// Files by a pattern or a folder, in the order that people count in: x2 before x10.
import { readdirSync, type Dirent } from "node:fs";
import { join } from "node:path";

const WILD = /[*?[]/;
const collator = new Intl.Collator("en", { numeric: true });

/** Names in their natural order. */
export const inOrder = (names: readonly string[]): string[] =>
  [...names].sort((a, b) => collator.compare(a, b) || (a < b ? -1 : 1));

/** True if the text contains wildcards. */
export const isPattern = (text: string): boolean => WILD.test(text);

/** A part of a path as an expression: * is any text, ? a letter, [abc] one of these. */
function expressionOf(part: string): RegExp {
  const source = part.replace(/\*+|\?|\[[^\]]+\]|[^*?[]+|\[/gu, (token) => {
    if (token.startsWith("*")) return ".*";
    if (token === "?") return ".";
    if (token.length > 1 && token.startsWith("["))
      return token.replace(/^\[!/, "[^").replaceAll("\\", "\\\\");
    return token.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
  });
  return new RegExp(`^${source}$`, "su");
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder === "" ? "." : folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

/** The entries of a folder that a part of a pattern fits; hidden ones only where it says so. */
function matching(folder: string, part: string): string[] {
  const expression = expressionOf(part);
  return entriesOf(folder)
    .map(({ name }) => name)
    .filter((name) => expression.test(name) && (part.startsWith(".") || !name.startsWith(".")));
}

/** The paths that fit a pattern, in order. */
export function globbed(pattern: string): string[] {
  const isRooted = pattern.startsWith("/");
  let found = [isRooted ? "/" : ""];
  for (const part of pattern.split("/").filter((text) => text !== ""))
    found = found.flatMap((folder) =>
      isPattern(part)
        ? matching(folder, part).map((name) => join(folder, name))
        : [join(folder, part)],
    );
  return inOrder(found);
}

/** The .npy files in a folder, in order. */
export const arraysIn = (folder: string): string[] =>
  inOrder(entriesOf(folder).map(({ name }) => name))
    .filter((name) => name.endsWith(".npy"))
    .map((name) => join(folder, name));

/** The folders in a folder, in order. */
export const foldersIn = (folder: string): string[] =>
  inOrder(
    entriesOf(folder).flatMap((entry) => (entry.isDirectory() ? join(folder, entry.name) : [])),
  );
