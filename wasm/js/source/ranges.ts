// A file at an address, read in ranges without waiting, which browsers allow in workers only. Every
// read is a round trip: while a file is read in order, each request asks for twice as much as the one
// before. Distant reads stay short.
import { isPage } from "../base/host.js";
import { messageOf, SconceError, withCause } from "../base/errors.js";
import type { RequestOptions } from "../types/index.js";
import { WindowedSource } from "./windows.js";

const AHEAD_BYTES_MIN = 1 << 18;
const AHEAD_BYTES_MAX = 1 << 23;
/** Shorter reads are copied, so that what is kept of them does not keep all that came with them. */
const COPIED_BYTES_MAX = 1 << 18;
/** The most bytes of a file that are kept. */
const KEPT_BYTES_MAX = 1 << 26;

interface Block {
  readonly begin: number;
  readonly bytes: Uint8Array;
}

/** Can this script read an address without waiting for it? Pages cannot, and service workers. */
export const canReadRanges = (): boolean => typeof XMLHttpRequest !== "undefined" && !isPage();

/** Headers as pairs. The platform's Headers do not reach a worker. */
export const headerList = (
  headers: RequestOptions["headers"] = {},
): (readonly [name: string, value: string])[] =>
  Symbol.iterator in headers ? [...headers] : Object.entries(headers);

/** The reason of a failed request. Node says "fetch failed", and has the reason in the cause. */
function reasonOf(error: unknown): string {
  const cause: unknown = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error ? `${messageOf(error)} (${messageOf(cause)})` : messageOf(error);
}

/** The error of an address that cannot be read. */
export function unreachable(address: string, error: unknown): SconceError {
  return withCause(
    new SconceError(
      "io",
      `${address} cannot be loaded: ${reasonOf(error)}`,
      "Check the address and the connection, and that its server allows other origins (CORS).",
    ),
    error,
  );
}

/** The error of an answer that is no success. */
export function refused(address: string, status: number): SconceError {
  const mayLack = status === 401 || status === 403;
  const isBusy = status === 429 || status >= 500;
  const hint = mayLack
    ? "Pass what it asks for: { url, headers, credentials }."
    : isBusy
      ? "Try again later: the server is busy or has a fault."
      : "Check the address.";
  return new SconceError("io", `${address} answered ${status}`, hint);
}

function cut({ begin, bytes }: Block, offset: number, end: number): Uint8Array {
  const [from, to] = [offset - begin, end - begin];
  return to - from > COPIED_BYTES_MAX ? bytes.subarray(from, to) : bytes.slice(from, to);
}

/** A file at an address, read in ranges. */
export class RangesSource extends WindowedSource {
  readonly size: number;
  /** The version of the file, where the server tells. */
  private readonly tag: string | null;
  /** Newest first. */
  private blocks: Block[] = [];
  private ahead = AHEAD_BYTES_MIN;
  /** The end of the last request. */
  private last = 0;

  constructor(
    private readonly url: string,
    private readonly options: RequestOptions = {},
  ) {
    super();
    const first = this.request("GET", `bytes=0-${this.ahead - 1}`);
    if (first.status !== 200 && first.status !== 206) throw refused(url, first.status);
    const bytes = new Uint8Array(first.response as ArrayBuffer);
    this.blocks.push({ begin: 0, bytes });
    this.last = bytes.length;
    this.tag = first.getResponseHeader("etag");
    this.size = first.status === 200 ? bytes.length : this.sizeOf(first);
  }

  private request(method: string, range?: string): XMLHttpRequest {
    const { headers, credentials } = this.options;
    const request = new XMLHttpRequest();
    try {
      request.open(method, this.url, false);
      request.responseType = "arraybuffer";
      request.withCredentials = credentials === "include";
      for (const [name, value] of headerList(headers)) request.setRequestHeader(name, value);
      if (range) request.setRequestHeader("Range", range);
      request.send();
    } catch (error) {
      throw unreachable(this.url, error);
    }
    return request;
  }

  /** Servers of other origins may hide the header that tells it. */
  private sizeOf(partial: XMLHttpRequest): number {
    const total = /\/(\d+)$/.exec(partial.getResponseHeader("content-range") ?? "");
    if (total) return Number(total[1]);
    const length = Number(this.request("HEAD").getResponseHeader("content-length"));
    if (length > 0) return length;
    const hint = "Use fetchSource, which downloads the file.";
    throw new SconceError("io", `${this.url} does not tell its size`, hint);
  }

  /** Bytes that are here already. */
  private held(offset: number, end: number): Uint8Array | undefined {
    const block = this.blocks.find(
      ({ begin, bytes }) => begin <= offset && end <= begin + bytes.length,
    );
    return block && cut(block, offset, end);
  }

  private keep(block: Block): void {
    let room = KEPT_BYTES_MAX;
    this.blocks = [block, ...this.blocks].filter(
      ({ bytes }, i) => (room -= bytes.length) >= 0 || i === 0,
    );
  }

  protected fetch(offset: number, end: number): Uint8Array {
    const held = this.held(offset, end);
    if (held) return held;
    const gap = offset - this.last;
    const isNext = gap >= 0 && gap <= this.ahead;
    this.ahead = isNext ? Math.min(2 * this.ahead, AHEAD_BYTES_MAX) : AHEAD_BYTES_MIN;
    const last = Math.min(Math.max(end, offset + this.ahead), this.size);
    // At the end of the file no bytes are ahead. The bytes before are asked for soon.
    const begin = Math.max(0, Math.min(offset, last - this.ahead));
    const answer = this.request("GET", `bytes=${begin}-${last - 1}`);
    const bytes = new Uint8Array(answer.response as ArrayBuffer);
    if (answer.status !== 206 || bytes.length !== last - begin)
      throw this.notInRanges(answer.status);
    if (answer.getResponseHeader("etag") !== this.tag) throw this.changed();
    this.keep({ begin, bytes });
    this.last = last;
    return cut({ begin, bytes }, offset, end);
  }

  private notInRanges(status: number): SconceError {
    const hint = "Serve the file with support for range requests, or use fetchSource.";
    return new SconceError("io", `${this.url} answered ${status} to a range request`, hint);
  }

  private changed(): SconceError {
    const hint = "Start again with the new file, or use fetchSource, which reads it at once.";
    return new SconceError("io", `${this.url} changed while it was read`, hint);
  }
}
