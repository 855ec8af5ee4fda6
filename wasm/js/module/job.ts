// A job: the module's memory of one piece of work, with the sources that it reads.
import type { Core, HostOptions } from "./core.js";
import type { Pointer, RawExports } from "../border/abi.gen.js";
import { busy, disposed, noMemory } from "../base/errors.js";
import { readySource } from "../source/access.js";
import type { Source } from "../types/index.js";

/**
 * A job with the sources it reads. Closed once its last owner has let go, a call under way being
 * an owner too.
 */
export class Job {
  readonly handle: Pointer;
  readonly sources: number[] = [];
  /** True while a call of this job has called back and waits for the answer. */
  isWaiting = false;
  private owners = 1;

  constructor(readonly core: Core) {
    core.mayEnter();
    this.handle = core.enter(undefined, {}, () => core.raw.job_open());
    if (this.handle === 0) throw noMemory("another job");
  }

  /** Makes `owner` the one that a share belongs to: it goes by `disown`, or with the owner. */
  own(owner: object): this {
    this.core.watch(owner, this);
    return this;
  }

  /** Releases the share of an owner. */
  disown(owner: object): void {
    this.core.unwatch(owner);
    this.release();
  }

  retain(): this {
    this.owners++;
    return this;
  }

  release(): void {
    if (--this.owners > 0) return;
    this.core.release(this.sources);
    try {
      this.core.enter(this, {}, () => this.core.raw.job_close(this.handle));
    } catch (error) {
      // A dead engine's memory goes with it.
      if (!this.core.isDead) throw error;
    }
  }

  /** Runs what takes several calls, none of which may find the job closed. */
  hold<T>(body: () => T): T {
    if (this.owners === 0) throw disposed("object");
    if (this.isWaiting) throw busy("this object");
    this.core.mayEnter();
    this.retain();
    try {
      return body();
    } finally {
      this.release();
    }
  }

  enter<T>(options: HostOptions, body: (raw: RawExports, job: Pointer) => T): T {
    return this.hold(() => this.core.enter(this, options, () => body(this.core.raw, this.handle)));
  }

  /** A call that returns a status; throws its report when it fails. */
  call(options: HostOptions, body: (raw: RawExports, job: Pointer) => number): void {
    this.enter(options, (raw, s) => this.core.check(s, body(raw, s)));
  }

  /** The same for calls with a text result. */
  textOf(body: (raw: RawExports, job: Pointer) => number, options: HostOptions = {}): string {
    return this.enter(options, (raw, s) => {
      this.core.check(s, body(raw, s));
      return this.core.text(s);
    });
  }

  /** A call from inside of a pass, which runs in the middle of a call of this job. */
  fromPass(body: (raw: RawExports, job: Pointer) => number): void {
    const { core, handle } = this;
    core.enter(this, {}, () => core.check(handle, body(core.raw, handle)));
  }

  /** Says that a program of this job is no longer needed. In the middle of a call it stays. */
  drop(program: number): void {
    const { core } = this;
    if (this.owners === 0 || this.isWaiting || core.isDead || !core.isIdle) return;
    this.enter({}, (raw, s) => raw.compile_drop(s, program));
  }

  addSource(source: Source, what: string): Pointer {
    const ready = readySource(source, what);
    return this.enter({}, (_, s) => this.core.addSource(s, ready, what, this.sources));
  }
}

/** Works in a fresh job, which stays open only if the work succeeds and keeps it. */
export function inJob<T>(core: Core, body: (job: Job) => T, keep: boolean): T {
  const job = new Job(core);
  let done = false;
  try {
    const result = body(job);
    done = true;
    return result;
  } finally {
    if (!done || !keep) job.release();
  }
}
