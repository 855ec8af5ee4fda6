// Objects that hold memory of the module are small to the garbage collector, which would leave them
// alone for long once they are forgotten. So it is made to look when many of them are about.

const OBJECTS_EACH = 16;
/** More than V8 lets arrays take before it looks for those that nobody has. */
const NUDGE_BYTES = 80 << 20;

/** Counts the objects that nobody has disposed of. */
export class Undisposed {
  private count = 0;

  made(): void {
    if (++this.count % OBJECTS_EACH === 0) nudge();
  }

  /** An object was disposed of, or found by the collector. */
  gone(): void {
    this.count--;
  }
}

function nudge(): void {
  try {
    // Nobody writes to it: hosts give it addresses, and no memory.
    void new ArrayBuffer(NUDGE_BYTES);
  } catch {
    // The host is short of memory, and its collector is at work.
  }
}
