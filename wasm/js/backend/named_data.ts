// Named data of a loaded program, as the parts that are started see it. All parts of a program have one
// list of it, made when the first of them starts: a list for each part would take a time that grows with
// the square of their number.
import type { Pointer, RawExports } from "../border/abi.gen.js";
import { SconceError } from "../base/errors.js";
import type { Memory } from "../base/memory.js";

type Bytes = Uint8Array<ArrayBuffer>;

/** The part that is being started, and what it has read. */
interface Start {
  readonly ask: Pointer;
  readonly method: string;
  readonly read: Map<string, Bytes>;
}

/** The named data of one program. */
export class NamedData {
  /** Parts of the program that are started. */
  users = 0;
  private values: Readonly<Record<string, Bytes>> | undefined;
  private start: Start | undefined;

  constructor(
    private readonly raw: RawExports,
    private readonly memory: Memory,
  ) {}

  /** Calls `body` with the data, by name. Bytes are read when they are asked for, each once. */
  during<T>(ask: Pointer, method: string, body: (values: Readonly<Record<string, Bytes>>) => T): T {
    const before = this.start;
    this.start = { ask, method, read: new Map() };
    try {
      return body((this.values ??= this.list(ask)));
    } finally {
      this.start = before;
    }
  }

  private list(ask: Pointer): Readonly<Record<string, Bytes>> {
    const text = this.memory.zeroTerminated(this.raw.backend_names(ask));
    const all = Object.create(null) as Record<string, Bytes>;
    for (const { key, bytes } of JSON.parse(text) as { key: string; bytes: number }[]) {
      const get = (): Bytes => this.get(key, bytes);
      Object.defineProperty(all, key, { enumerable: true, get });
    }
    return Object.freeze(all);
  }

  private get(key: string, size: number): Bytes {
    if (!this.start)
      throw new SconceError(
        "state",
        `named data '${key}' can be read only while a delegate is started`,
        "Copy what is needed of it in init().",
      );
    const { ask, read } = this.start;
    const found = read.get(key) ?? this.copy(ask, key, size);
    read.set(key, found);
    return found;
  }

  private copy(ask: Pointer, key: string, size: number): Bytes {
    const at = this.memory.withTexts([key], (text, bytes) =>
      this.raw.backend_named(ask, text!, bytes!),
    );
    if (at === 0) throw new SconceError("io", `named data '${key}' cannot be read`);
    return this.memory.copy(at, size);
  }
}
