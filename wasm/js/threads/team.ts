// The threads of one engine. They start when there has been work for them, and end with the engine.
import { messageOf } from "../base/errors.js";
import type { RawExports } from "../border/abi.gen.js";
import { startScript, type ThreadWorker } from "./script.js";
import type { ThreadStart } from "./serve.js";

/** Enough for the frames of kernels, with a wide margin. */
const STACK_BYTES = 256 << 10;

/** Ranges of work, some microseconds each, that one thread did alone before others start. */
const MISSED_MIN = 300;

/** Ends the threads of engines that nobody can reach any more. */
const forgotten =
  typeof FinalizationRegistry === "undefined"
    ? undefined
    : new FinalizationRegistry<ThreadWorker[]>((workers) => {
        for (const worker of workers) worker.terminate();
      });

/** The threads of one engine, besides its own. */
export class Team {
  private readonly workers: ThreadWorker[] = [];
  private hasBegun = false;

  /**
   * `width` counts the engine's own thread. `note` hears why a thread is not there. `script` is the
   * file that threads run.
   */
  constructor(
    private readonly raw: RawExports,
    private readonly module: WebAssembly.Module,
    private readonly memory: WebAssembly.Memory,
    private readonly width: number,
    private readonly note: (why: string) => void,
    private readonly script: string,
  ) {
    raw.parallel_set_width(width);
    forgotten?.register(this, this.workers, this.workers);
  }

  /** Starts the threads if there has been work for them. It is called after work. */
  beginIfUseful(): void {
    if (!this.hasBegun && this.raw.parallel_missed() >= MISSED_MIN) this.begin();
  }

  /** Starts the threads. Work goes on without those that are not there yet. */
  begin(): void {
    if (this.hasBegun) return;
    this.hasBegun = true;
    for (let thread = 1; thread < this.width; thread++) {
      const stack = this.raw.memory_alloc(STACK_BYTES);
      if (stack === 0) return this.note(`there is no memory for thread ${thread}`);
      try {
        this.start(thread, stack);
      } catch (error) {
        return this.note(`thread ${thread} did not start: ${messageOf(error)}`);
      }
    }
  }

  private start(thread: number, stack: number): void {
    const { note, module, memory } = this;
    const worker = startScript(this.script, (why) =>
      note(`thread ${thread} did not start: ${why}`),
    );
    this.workers.push(worker);
    const stackBytes = STACK_BYTES;
    worker.postMessage({
      ...{ type: "thread", module, memory, thread, stack, stackBytes },
    } satisfies ThreadStart);
  }

  /** Ends the threads, at once. */
  end(): void {
    this.raw.parallel_end();
    forgotten?.unregister(this.workers);
    for (const worker of this.workers.splice(0)) worker.terminate();
  }
}
