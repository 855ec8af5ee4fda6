// Files of a tokenizer, in the forms in which callers have them.
import { badArgument, isObject } from "../base/check.js";
import { messageOf, SconceError, withCause } from "../base/errors.js";
import { tagOf } from "../base/tags.js";
import type { TokenizerFile } from "./types.js";

interface BlobLike {
  arrayBuffer(): Promise<ArrayBuffer>;
}

const isBlob = (value: object): value is BlobLike =>
  typeof (value as Partial<BlobLike>).arrayBuffer === "function";

/** The bytes or the text of a file. Objects stay what they are. */
export async function contentsOf(
  file: TokenizerFile,
  what: string,
): Promise<string | Uint8Array | object> {
  if (typeof file === "string") return file;
  if (!isObject(file)) throw badArgument(what, "text, bytes, a Blob, or an object", file);
  if (ArrayBuffer.isView(file))
    return new Uint8Array(file.buffer as ArrayBuffer, file.byteOffset, file.byteLength);
  if (tagOf(file) === "ArrayBuffer") return new Uint8Array(file as unknown as ArrayBuffer);
  return isBlob(file) ? new Uint8Array(await file.arrayBuffer()) : file;
}

/** The object that a file of JSON stands for. */
export function jsonOf(contents: string | Uint8Array | object, what: string): object {
  if (typeof contents === "object" && !ArrayBuffer.isView(contents)) return contents;
  const text = typeof contents === "string" ? contents : new TextDecoder().decode(contents);
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch (error) {
    throw withCause(
      new SconceError(
        "format",
        `${what} is not JSON: ${messageOf(error).slice(0, 100)}`,
        "Pass the contents of the file, not its path.",
      ),
      error,
    );
  }
  if (isObject(value) && !Array.isArray(value)) return value;
  throw new SconceError("format", `${what} is not an object of JSON`);
}
