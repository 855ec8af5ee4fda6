// Cancelling a call that a worker is at work on. It hears no messages meanwhile, so it looks: at
// memory that both ends share or, where a page may share none, at a URL that the page revokes.

/** Crosses with a call that can be cancelled. With neither, only a message tells, between calls. */
export interface Stop {
  readonly memory?: SharedArrayBuffer;
  /** Revoked once the call is cancelled. */
  readonly url?: string;
  /** Never revoked: shows whether the worker can read URLs of the page. */
  readonly kept?: string;
}

/** Pages share memory if they are isolated; hosts that are no pages always do. */
function mayShare(): boolean {
  const { crossOriginIsolated } = globalThis as { crossOriginIsolated?: boolean };
  return typeof SharedArrayBuffer === "function" && crossOriginIsolated !== false;
}

const mayMakeUrls = (): boolean =>
  typeof XMLHttpRequest !== "undefined" && typeof URL.createObjectURL === "function";

const emptyUrl = (): string => URL.createObjectURL(new Blob());

let kept: string | undefined;

// --- The caller's end ------------------------------------------------------------------------------

/** Tells the worker that one call is cancelled. */
export class Stopper {
  readonly stop: Stop;

  constructor() {
    if (mayShare()) this.stop = { memory: new SharedArrayBuffer(4) };
    else if (mayMakeUrls()) this.stop = { url: emptyUrl(), kept: (kept ??= emptyUrl()) };
    else this.stop = {};
  }

  raise(): void {
    if (this.stop.memory) Atomics.store(new Int32Array(this.stop.memory), 0, 1);
    this.end();
  }

  /** The call is over. */
  end(): void {
    if (this.stop.url) URL.revokeObjectURL(this.stop.url);
  }
}

// --- The worker's end ------------------------------------------------------------------------------

/** The time between two tries of a URL: trying takes a small part of it, and nobody waits long. */
const TRY_MS = 50;
const TRY_SHARE = 1 / 20;
const LONGEST_MS = 1000;

/** True if a URL of no bytes can be read. */
function isReadable(url: string): boolean {
  try {
    const request = new XMLHttpRequest();
    request.open("GET", url, false);
    request.send();
    return request.status === 200;
  } catch {
    return false;
  }
}

/** True if URLs of the page can be read in this worker. Unknown before the first try. */
let areReadable: boolean | undefined;

/** Gives whether the call was cancelled, whenever it is asked. */
function lookAt(stop: Stop): () => boolean {
  if (stop.memory) {
    const flag = new Int32Array(stop.memory);
    return () => Atomics.load(flag, 0) !== 0;
  }
  const { url, kept: other } = stop;
  if (url === undefined || other === undefined) return () => false;
  let next = performance.now() + TRY_MS;
  return () => {
    const begin = performance.now();
    if (begin < next) return false;
    // A content policy that forbids blob: in connect-src lets calls run on to their ends.
    areReadable ??= isReadable(other);
    const isRevoked = areReadable && !isReadable(url);
    const end = performance.now();
    next = end + Math.min(LONGEST_MS, Math.max(TRY_MS, (end - begin) / TRY_SHARE));
    return isRevoked;
  };
}

/** The signal of a call in the worker: `aborted` looks whether the caller has cancelled. */
export class RemoteSignal extends EventTarget {
  readonly reason = undefined;
  /** True if a look at shared memory is enough, at any time, so that no message is awaited. */
  readonly isShared: boolean;
  private isAborted = false;
  private readonly look: () => boolean;

  constructor(stop: Stop) {
    super();
    this.isShared = stop.memory !== undefined;
    this.look = lookAt(stop);
  }

  get aborted(): boolean {
    return (this.isAborted ||= this.look());
  }

  /** A message has reported it. */
  abort(): void {
    this.isAborted = true;
    this.dispatchEvent(new Event("abort"));
  }
}
