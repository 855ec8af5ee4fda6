// Reads as much of an ETDump as tests ask for: blocks, scopes and tensors, by the slots of
// schema/etdump.fbs.
class Table {
  constructor(
    private readonly view: DataView,
    private readonly at: number,
  ) {}

  private field(slot: number): number {
    const vtable = this.at - this.view.getInt32(this.at, true);
    const entry = 4 + 2 * slot;
    const offset =
      entry < this.view.getUint16(vtable, true) ? this.view.getUint16(vtable + entry, true) : 0;
    return offset && this.at + offset;
  }

  private target(slot: number): number {
    const at = this.field(slot);
    return at && at + this.view.getUint32(at, true);
  }

  int(slot: number, missing: number): number {
    const at = this.field(slot);
    return at ? this.view.getInt32(at, true) : missing;
  }

  byte(slot: number): number {
    const at = this.field(slot);
    return at ? this.view.getInt8(at) : 0;
  }

  long(slot: number): number {
    const at = this.field(slot);
    return at ? Number(this.view.getBigInt64(at, true)) : 0;
  }

  text(slot: number): string {
    const at = this.target(slot);
    const bytes = new Uint8Array(this.view.buffer, this.view.byteOffset);
    return at
      ? new TextDecoder().decode(bytes.subarray(at + 4, at + 4 + this.view.getUint32(at, true)))
      : "";
  }

  table(slot: number): Table | undefined {
    const at = this.target(slot);
    return at ? new Table(this.view, at) : undefined;
  }

  tables(slot: number): Table[] {
    const at = this.target(slot);
    const count = at ? this.view.getUint32(at, true) : 0;
    return Array.from({ length: count }, (_, i) => {
      const item = at + 4 + 4 * i;
      return new Table(this.view, item + this.view.getUint32(item, true));
    });
  }

  longs(slot: number): number[] {
    const at = this.target(slot);
    return Array.from({ length: at ? this.view.getUint32(at, true) : 0 }, (_, i) =>
      Number(this.view.getBigInt64(at + 4 + 8 * i, true)),
    );
  }
}

export interface DumpedTensor {
  dtype: number;
  sizes: number[];
  offset: number;
}

export interface DumpedEvent {
  /** Names of scopes. */
  name?: string;
  time?: number;
  /** Names that a delegate gives to its events. */
  delegate: string;
  chain: number;
  instruction: number;
  /** Names of values. */
  kind?: number;
  isOutput?: boolean;
  tensor?: DumpedTensor | undefined;
}

export interface DumpedBlock {
  name: string;
  index: number;
  events: DumpedEvent[];
}

function tensorOf(value: Table): DumpedTensor | undefined {
  const tensor = value.table(1);
  return tensor && { dtype: tensor.byte(0), sizes: tensor.longs(1), offset: tensor.long(3) };
}

function eventOf(event: Table): DumpedEvent {
  const scope = event.table(0);
  if (scope)
    return {
      name: scope.text(0),
      time: scope.long(7) - scope.long(6),
      delegate: scope.text(4),
      chain: scope.int(1, 0),
      instruction: scope.int(2, -1),
    };
  const debug = event.table(2)!;
  const value = debug.table(2)!;
  return {
    delegate: debug.text(4),
    chain: debug.long(0),
    instruction: debug.int(1, -1),
    kind: value.byte(0),
    isOutput: value.table(7) !== undefined,
    tensor: tensorOf(value),
  };
}

export function readDump(bytes: Uint8Array): DumpedBlock[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const root = new Table(view, 4 + view.getUint32(4, true));
  return root.tables(1).map((run) => ({
    name: run.text(0),
    index: run.int(1, -1),
    events: run.tables(3).map(eventOf),
  }));
}
