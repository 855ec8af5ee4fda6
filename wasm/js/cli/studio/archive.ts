// The page as one compressed file, which the package ships in place of its folder. The file is a
// brotli stream: four bytes with the size of an index, little end first, the index as JSON, and the
// contents in the order of the index.
import { brotliCompressSync, brotliDecompressSync, constants } from "node:zlib";
import { messageOf, SconceError } from "../../base/errors.js";

/** Files by their paths, which begin with a slash. */
export type Files = ReadonlyMap<string, Uint8Array>;

/** The page has half a megabyte; a file that inflates to more than this is no page. */
const BYTES_MAX = 64 << 20;
const HEAD = 4;

function damaged(why: string): SconceError {
  const message = `the page's archive is damaged: ${why}`;
  return new SconceError("io", message, "Install the package again.");
}

export function packFiles(files: Files): Uint8Array {
  const index = Buffer.from(JSON.stringify([...files].map(([path, { length }]) => [path, length])));
  const head = Buffer.alloc(HEAD);
  head.writeUInt32LE(index.length);
  const whole = Buffer.concat([head, index, ...files.values()]);
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
    [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
    [constants.BROTLI_PARAM_SIZE_HINT]: whole.length,
  };
  return brotliCompressSync(whole, { params });
}

function inflated(archive: Uint8Array): Buffer {
  try {
    return brotliDecompressSync(archive, { maxOutputLength: BYTES_MAX });
  } catch (error) {
    throw damaged(messageOf(error));
  }
}

function isRow(row: unknown): row is [path: string, bytes: number] {
  if (!Array.isArray(row) || row.length !== 2) return false;
  const [path, bytes] = row as unknown[];
  return typeof path === "string" && path.startsWith("/") && Number.isSafeInteger(bytes);
}

function indexOf(whole: Buffer): { rows: [path: string, bytes: number][]; end: number } {
  const end = whole.length < HEAD ? Infinity : HEAD + whole.readUInt32LE(0);
  if (end > whole.length) throw damaged("its index is not whole");
  let rows: unknown;
  try {
    rows = JSON.parse(whole.toString("utf8", HEAD, end));
  } catch (error) {
    throw damaged(messageOf(error));
  }
  if (!Array.isArray(rows) || !rows.every(isRow)) throw damaged("its index is no list of files");
  return { rows, end };
}

/** @throws SconceError with the code "io" when the bytes are no archive of `packFiles`. */
export function unpackFiles(archive: Uint8Array): Files {
  const whole = inflated(archive);
  const { rows, end } = indexOf(whole);
  const files = new Map<string, Uint8Array>();
  let at = end;
  for (const [path, bytes] of rows) {
    if (bytes < 0 || bytes > whole.length - at) throw damaged(`'${path}' is not whole`);
    files.set(path, whole.subarray(at, at + bytes));
    at += bytes;
  }
  if (at !== whole.length) throw damaged(`${whole.length - at} bytes belong to no file`);
  return files;
}
