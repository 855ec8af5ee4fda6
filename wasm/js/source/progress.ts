// Progress of one call's downloads together.
import type { ProgressListener } from "../types/index.js";

interface File {
  done: number;
  total: number;
}

/** Listeners hear of it as often as anyone can see, and of the end of each file. */
const PAUSE_MS = 16;

export class DownloadProgress {
  private readonly files: File[] = [];
  private last = -Infinity;

  constructor(private readonly listener: ProgressListener | undefined) {}

  /** Takes how far one of the files is; its `total` is 0 when unknown. */
  ofFile(): (done: number, total: number) => void {
    const file: File = { done: 0, total: 0 };
    let isListed = false;
    return (done, total) => {
      if (!isListed) this.files.push(file);
      isListed = true;
      Object.assign(file, { done, total });
      this.tell(done === total);
    };
  }

  private tell(isEnd: boolean): void {
    const now = performance.now();
    if (!this.listener || (now - this.last < PAUSE_MS && !isEnd)) return;
    this.last = now;
    const sum = (of: (file: File) => number): number =>
      this.files.reduce((total, file) => total + of(file), 0);
    const isKnown = this.files.every(({ total }) => total > 0);
    this.listener({
      phase: "download",
      done: sum(({ done }) => done),
      total: isKnown ? sum(({ total }) => total) : 0,
    });
  }
}
