// Files at addresses, downloaded whole. A download gives all of the file or an error with the address
// in it, never a part of the file and never the page that a server sends instead.
import { cancelled, noMemory, SconceError } from "../base/errors.js";
import type { FetchResponse, RequestOptions } from "../types/index.js";
import { keepFile, keptFile, mustCache, SENT_LENGTH } from "./cache.js";
import { headerList, refused, unreachable } from "./ranges.js";
import { readStream } from "./stream.js";

/** How a file is taken. */
export interface Taking {
  readonly signal?: AbortSignal | undefined;
  readonly maxBytes: number;
  /** Are few bytes needed, and can the reader ask for ranges? */
  readonly takesRanges: boolean;
  /** Called for each piece; `total` is 0 when unknown. */
  onBytes(done: number, total: number): void;
  onLog?: ((severity: "note" | "warning" | "error", text: string) => void) | undefined;
}

/** An address with the options of its request. */
export interface Address extends RequestOptions {
  readonly url: string;
}

/** A downloaded file, or its address where it is read in ranges. */
export type Taken = Uint8Array<ArrayBuffer> | Address;

/** Throws unless the answer has a file that can be read. */
function checkAnswer(response: FetchResponse, name: string): void {
  if (response.type.startsWith("opaque")) {
    const hint = "Fetch it with the mode 'cors', from a server that allows this page.";
    throw new SconceError("io", `${name} is opaque: scripts may not read it`, hint);
  }
  if (!response.ok) throw refused(name, response.status);
  if (response.status === 206)
    throw new SconceError("io", `${name} is only a part of the file`, "Fetch it without a range.");
  if (response.bodyUsed)
    throw new SconceError(
      "state",
      `${name} was read already`,
      "Pass a Response that nobody has read, or response.clone() of one.",
    );
}

/**
 * The length that the file will have. A compressed answer has another length. A page cannot find
 * out if an answer of another origin was compressed.
 */
function lengthOf(response: FetchResponse): { total: number; isExact: boolean } {
  const { headers, type } = response;
  const length = headers.get("content-length");
  const isPlain = (headers.get("content-encoding") ?? "identity") === "identity";
  if (!isPlain || length === null || !/^\d+$/.test(length)) return { total: 0, isExact: false };
  return { total: Number(length), isExact: type !== "cors" || typeof location === "undefined" };
}

/** Servers of applications answer every address with their page. No model begins like one. */
function refuseHtml(file: Uint8Array, name: string): void {
  const head = file.subarray(0, 64);
  if (!/^\uFEFF?\s*<(!doctype\s+html|html|head|body)\b/i.test(new TextDecoder().decode(head)))
    return;
  throw new SconceError(
    "format",
    `${name} is an HTML page, not a model`,
    "Check the address. Many servers answer with a page where there is no such file.",
  );
}

/** The file in an answer. */
export async function readResponse(
  response: FetchResponse,
  name: string,
  taking: Taking,
): Promise<Uint8Array<ArrayBuffer>> {
  checkAnswer(response, name);
  const length = lengthOf(response);
  const onBytes = (done: number): void =>
    taking.onBytes(done, done > length.total ? 0 : length.total);
  const file = response.body
    ? await readStream(response.body, { ...taking, ...length, name, onBytes })
    : await bodyless(response, name);
  refuseHtml(file, name);
  return file;
}

/** Some hosts have answers without streams. */
async function bodyless(response: FetchResponse, name: string): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return new Uint8Array(await response.arrayBuffer());
  } catch (error) {
    throw error instanceof RangeError ? noMemory(name) : unreachable(name, error);
  }
}

/** Smaller files are here sooner than what is needed of them in ranges: archives are read all over. */
const WHOLE_BYTES_MAX = 1 << 26;

/** Is the file of an answer better read in ranges? */
function offersRanges({ status, headers }: Response): boolean {
  return (
    status === 200 &&
    headers.get("accept-ranges") === "bytes" &&
    headers.get("content-encoding") === null &&
    Number(headers.get("content-length")) > WHOLE_BYTES_MAX
  );
}

/** An answer of the address, whatever it is. */
export async function request(
  { url, headers, credentials }: Address,
  signal: AbortSignal | undefined,
  method = "GET",
): Promise<Response> {
  if (signal?.aborted) throw cancelled(signal);
  try {
    return await fetch(url, {
      method,
      headers: headerList(headers) as [string, string][],
      ...(credentials && { credentials }),
      ...(signal && { signal }),
    });
  } catch (error) {
    throw signal?.aborted ? cancelled(signal) : unreachable(url, error);
  }
}

/** Has the server another version than the kept one, as far as it tells? */
async function hasChanged(kept: Response, address: Address, taking: Taking): Promise<boolean> {
  const head = await request(address, taking.signal, "HEAD").catch((error: unknown) => {
    if (taking.signal?.aborted) throw error;
    taking.onLog?.("warning", `${address.url} cannot be reached: the kept file is used`);
  });
  if (!head) return false;
  const marks = [
    ["etag", "etag"],
    ["last-modified", "last-modified"],
    [SENT_LENGTH, "content-length"],
  ].map(([old, now]) => [kept.headers.get(old!), head.headers.get(now!)] as const);
  const known = marks.filter(([old, now]) => old !== null && now !== null);
  return !head.ok || known.length === 0 || known.some(([old, now]) => old !== now);
}

/** The kept file, unless the server is to be asked and has another one. */
async function fromCache(
  address: Address,
  taking: Taking,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const { url, cache } = address;
  const kept = await keptFile(url);
  if (!kept || (cache === "revalidate" && (await hasChanged(kept, address, taking))))
    return undefined;
  try {
    return await readResponse(kept, url, taking);
  } catch (error) {
    if (!(error instanceof SconceError && error.code === "io")) throw error;
    taking.onLog?.("warning", `the kept file of ${url} is damaged, and is fetched again`);
    return undefined;
  }
}

/** The file at an address, or the address itself where ranges of it will do. */
export async function download(address: Address, taking: Taking): Promise<Taken> {
  const { url, headers, credentials, cache } = address;
  if (cache) {
    mustCache(url);
    const kept = await fromCache(address, taking);
    if (kept) return kept;
  }
  const response = await request(address, taking.signal);
  if (taking.takesRanges && !cache && offersRanges(response)) {
    void response.body?.cancel().catch(() => undefined);
    return { url, headers: headerList(headers), ...(credentials && { credentials }) };
  }
  const file = await readResponse(response, url, taking);
  if (cache) await keepFile(url, file, response, taking.onLog);
  return file;
}
