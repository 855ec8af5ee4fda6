// Writes as much of an ETDump as tests need: one run of delegates' events with metadata.

export interface DelegateEvent {
  id: string;
  metadata: Uint8Array;
}

/** A FlatBuffer from its end: what is pointed to is written before what points to it. */
class Writer {
  private bytes: number[] = [];

  private get size(): number {
    return this.bytes.length;
  }

  /** So that `bytes` more end at a multiple of `to`, from the end. */
  private align(to: number, bytes: number): void {
    while ((this.size + bytes) % to !== 0) this.bytes.unshift(0);
  }

  private put(values: readonly number[]): void {
    this.bytes.unshift(...values);
  }

  private static number(value: number, bytes: number): number[] {
    return Array.from({ length: bytes }, (_, i) => Math.floor(value / 2 ** (8 * i)) & 0xff);
  }

  vector(data: Uint8Array, terminator: number[] = []): number {
    this.align(4, data.length + terminator.length);
    this.put([...data, ...terminator]);
    this.put(Writer.number(data.length, 4));
    return this.size;
  }

  text(value: string): number {
    return this.vector(new TextEncoder().encode(value), [0]);
  }

  refs(targets: readonly number[]): number {
    this.align(4, 4 * targets.length);
    for (const target of [...targets].reverse()) this.put(Writer.number(this.size + 4 - target, 4));
    this.put(Writer.number(targets.length, 4));
    return this.size;
  }

  /** Fields by slot: eight bytes of a number, or a reference. */
  table(fields: Readonly<Record<number, { long: number } | { ref: number }>>): number {
    const slots = Math.max(...Object.keys(fields).map(Number)) + 1;
    this.align(8, 0);
    const end = this.size;
    const places = new Map<number, number>();
    for (const [slot, field] of Object.entries(fields)) {
      const value = "long" in field ? field.long : this.size + 8 - field.ref;
      if ("ref" in field) this.put([0, 0, 0, 0]);
      this.put(
        "long" in field ? Writer.number(value, 8) : Writer.number(this.size + 4 - field.ref, 4),
      );
      places.set(Number(slot), this.size);
    }
    this.align(8, 4);
    const vtableBytes = 4 + 2 * slots;
    const padding = (4 - (vtableBytes % 4)) % 4;
    this.put(Writer.number(vtableBytes + padding, 4));
    const start = this.size;
    this.put(Array.from({ length: padding }, () => 0));
    const entries = Array.from({ length: slots }, (_, slot) => {
      const place = places.get(slot);
      return Writer.number(place === undefined ? 0 : start - place, 2);
    });
    this.put([Writer.number(vtableBytes, 2), Writer.number(start - end, 2), ...entries].flat());
    return start;
  }

  /** The file: its size, where the root is, the identifier. */
  file(root: number, identifier: string): Uint8Array {
    this.align(8, 8);
    this.put([...new TextEncoder().encode(identifier)]);
    this.put(Writer.number(this.size + 4 - root, 4));
    return Uint8Array.from([...Writer.number(this.size, 4), ...this.bytes]);
  }
}

/** A dump of one run, by the slots of schema/etdump.fbs. */
export function dumpOf(events: readonly DelegateEvent[]): Uint8Array {
  const w = new Writer();
  const written = events.map(({ id, metadata }, i) => {
    const [text, bytes] = [w.text(id), w.vector(metadata)];
    const times = { 6: { long: 10 * i + 1 }, 7: { long: 10 * i + 5 } };
    return w.table({ 0: { ref: w.table({ 4: { ref: text }, 5: { ref: bytes }, ...times }) } });
  });
  const name = w.text("Execute");
  const run = w.table({ 0: { ref: name }, 3: { ref: w.refs(written) } });
  return w.file(w.table({ 1: { ref: w.refs([run]) } }), "ED00");
}
