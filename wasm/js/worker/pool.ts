// A pool of clients: a worker for each thread of the machine, one copy of the compiled module, and
// a queue of requests. With it, a server stays responsive and bounded under any number of requests.
import type { HostAbortSignal } from "../types/host.js";
import { showAs } from "../base/shown.js";
import { checkTable, mustBe, POOL_OPTIONS, USE_OPTIONS } from "../base/check.js";
import { SCRIPT } from "../engine_script.js";
import type { ClientOptions } from "./client.js";
import { startClient, type Started } from "./start.js";
import { ASYNC_DISPOSE } from "../base/dispose.js";
import { cancelled, disposed, SconceError } from "../base/errors.js";
import { prepareHost } from "../base/host.js";
import { nextToThis } from "../addresses.js";
import { ENGINE } from "../builds.js";
import { choose, machineThreads } from "../flavour.js";
import { compileModule } from "../loader.js";
import type { Engine, Remote } from "../types/index.js";

/** Options of a pool. The options of a client apply to each of its clients. */
export interface PoolOptions extends ClientOptions {
  /**
   * The largest number of workers, from 1 to 64. By default it is the number of threads of the
   * machine, but at most 16.
   */
  size?: number;
  /**
   * The number of requests that may wait for a client; 128 by default. Further requests fail with
   * the code "busy".
   */
  maxQueue?: number;
  /**
   * The largest WebAssembly memory of a worker in bytes; 256 MB by default. This memory never
   * shrinks, so a worker that has more after a request is replaced.
   */
  maxHeapBytes?: number;
  /** Prepares each new worker, for example with `client.importBackend()`. */
  prepare?: (client: PooledClient) => unknown;
}

/** A client during a request. The request does not end it; the pool takes it back. */
export type PooledClient = Omit<Remote<Engine>, "dispose" | typeof Symbol.asyncDispose>;

/** Options of `use()`. */
export interface UseOptions {
  /** Cancels the wait for a client, and then every call of the client. */
  signal?: HostAbortSignal;
}

/** Numbers of a pool, for a health check. */
export interface PoolStats {
  /** The largest number of workers. */
  size: number;
  /** The number of workers, including those that are starting. */
  workers: number;
  /** The number of requests that have a worker. */
  active: number;
  /** The number of requests that wait for a worker. */
  waiting: number;
  /** The number of requests that ended, failed ones included. */
  ended: number;
  /** The number of requests that were refused because too many waited. */
  refused: number;
  /** The number of workers that were replaced, because they broke or grew too large. */
  replaced: number;
}

/**
 * Clients that serve requests in turn.
 * @example
 * const pool = await createPool();
 * const [output] = await pool.use(async (client) => {
 *   const lowered = await client.lower(bytes);
 *   const program = await client.load(lowered);
 *   return program.run("forward", [input]);
 * });
 */
export interface Pool {
  /**
   * Runs `work` with a client that no other request uses. Requests are served in order. When `work`
   * ends, everything that it made with the client is disposed of, so return data. The signal
   * cancels the wait, and then every call of the client. Do not wait for another `use` of the same
   * pool inside of `work`: it may wait for ever.
   * @throws SconceError "busy" when too many wait, "cancelled" by the signal, "disposed" after dispose().
   */
  use<T>(work: (client: PooledClient) => T | Promise<T>, options?: UseOptions): Promise<T>;
  stats(): PoolStats;
  /** Ends all workers at once. Waiting and current requests fail with the code "disposed". */
  dispose(): Promise<void>;
  /** The same, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

const DEFAULT_SIZE_MAX = 16;
const DEFAULT_QUEUE = 128;
const DEFAULT_HEAP_BYTES = 256 << 20;

function full(maxQueue: number): SconceError {
  return new SconceError(
    "busy",
    `all clients of the pool are at work, and ${maxQueue} requests wait already`,
    "Answer 503 and let the caller try again later, or raise 'maxQueue' of createPool().",
  );
}

/** A request that waits for a client. */
interface Waiting {
  begin(): void;
  refuse(error: SconceError): void;
}

class ClientPool implements Pool {
  readonly [Symbol.toStringTag] = "Pool";
  private readonly idle: Started[] = [];
  private readonly all = new Set<Started>();
  private readonly queue: Waiting[] = [];
  private isDisposed = false;
  private starting = 0;
  private active = 0;
  private ended = 0;
  private refused = 0;
  private replaced = 0;

  constructor(
    private readonly size: number,
    private readonly maxQueue: number,
    private readonly maxHeapBytes: number,
    private readonly prepare: PoolOptions["prepare"],
    private readonly options: ClientOptions,
  ) {}

  async use<T>(
    work: (client: PooledClient) => T | Promise<T>,
    options: UseOptions = {},
  ): Promise<T> {
    mustBe("function", "the work of use()", work);
    checkTable("use()", options, USE_OPTIONS);
    const { signal } = options;
    await this.turn(signal);
    let client: Started;
    try {
      client = await this.client();
    } catch (error) {
      this.leave();
      throw error;
    }
    const lease = client.lease(signal);
    try {
      return await work(lease.client as unknown as PooledClient);
    } finally {
      lease.end();
      // The result need not wait until the worker is free.
      void this.giveBack(client).then(() => this.leave());
    }
  }

  stats(): PoolStats {
    const { size, active, ended, refused, replaced } = this;
    const workers = this.all.size + this.starting;
    return { size, workers, active, waiting: this.queue.length, ended, refused, replaced };
  }

  dispose(): Promise<void> {
    this.isDisposed = true;
    for (const { refuse } of this.queue.splice(0)) refuse(disposed("Pool"));
    for (const client of this.all) client.terminate();
    this.all.clear();
    this.idle.length = 0;
    return Promise.resolve();
  }

  [ASYNC_DISPOSE](): Promise<void> {
    return this.dispose();
  }

  // --- Turns ---

  /** Resolves when the request may have a client: there are as many requests with one as workers. */
  private turn(signal: HostAbortSignal | undefined): Promise<void> {
    if (this.isDisposed) return Promise.reject(disposed("Pool"));
    if (signal?.aborted) return Promise.reject(cancelled(signal));
    if (this.active < this.size) {
      this.active++;
      return Promise.resolve();
    }
    if (this.queue.length >= this.maxQueue) {
      this.refused++;
      return Promise.reject(full(this.maxQueue));
    }
    return this.wait(signal);
  }

  private wait(signal: HostAbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => signal?.removeEventListener("abort", onAbort);
      const waiting: Waiting = {
        begin: () => (leave(), resolve()),
        refuse: (error) => (leave(), reject(error)),
      };
      const onAbort = (): void => {
        this.queue.splice(this.queue.indexOf(waiting), 1);
        waiting.refuse(cancelled(signal));
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      this.queue.push(waiting);
    });
  }

  /** The place of a request that has ended goes to the one that has waited longest. */
  private leave(): void {
    this.active--;
    this.ended++;
    const first = this.queue.shift();
    if (!first) return;
    this.active++;
    first.begin();
  }

  // --- Clients ---

  /** One that is idle and alive, or a new one. */
  private async client(): Promise<Started> {
    for (let found = this.idle.pop(); found; found = this.idle.pop()) {
      if (!found.isDead()) return found;
      this.drop(found);
    }
    this.starting++;
    try {
      return await this.started();
    } finally {
      this.starting--;
    }
  }

  private async started(): Promise<Started> {
    if (this.isDisposed) throw disposed("Pool");
    const client = await startClient(this.options, SCRIPT);
    try {
      await this.prepare?.(client.engine as unknown as PooledClient);
      if (this.isDisposed) throw disposed("Pool");
    } catch (error) {
      client.terminate();
      throw error;
    }
    this.all.add(client);
    return client;
  }

  private async giveBack(client: Started): Promise<void> {
    if (!this.all.has(client)) return;
    // The worker answers after it has disposed of everything.
    const bytes = await (client.engine as unknown as PooledClient)
      .heapBytes()
      .catch(() => Infinity);
    if (!this.all.has(client)) return;
    if (bytes > this.maxHeapBytes) this.drop(client);
    else this.idle.push(client);
  }

  private drop(client: Started): void {
    client.terminate();
    this.all.delete(client);
    this.replaced++;
  }

  /** Starts the first client, so that what is wrong with the worker or the module is reported at once. */
  async open(): Promise<void> {
    await this.giveBack(await this.client());
  }
}

showAs(ClientPool.prototype, "Pool", (pool) => ({ ...pool.stats() }));

/**
 * Makes a pool of clients. The module is compiled once, and workers start as they are needed.
 * @throws SconceError with the code "io" when a worker or the module cannot be loaded.
 */
export async function createPool(options: PoolOptions = {}): Promise<Pool> {
  checkTable("createPool()", options, POOL_OPTIONS);
  await prepareHost();
  const {
    size = Math.min(machineThreads(), DEFAULT_SIZE_MAX),
    maxQueue = DEFAULT_QUEUE,
    maxHeapBytes = DEFAULT_HEAP_BYTES,
    prepare,
    ...own
  } = options;
  const choice = { threads: 1, ...own };
  const { module: wasm } = await compileModule(own.wasm, choose(choice), {
    build: ENGINE,
    of: nextToThis,
  });
  const client = { ...choice, wasm };
  const pool = new ClientPool(size, maxQueue, maxHeapBytes, prepare, client);
  await pool.open();
  return pool;
}
