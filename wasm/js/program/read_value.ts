// Values out of the module, as copies.
import { tensorOf } from "../tensor/bytes.js";
import type { DTypeTable } from "./dtype_table.js";
import type { Job } from "../module/job.js";
import type { Value } from "../types/index.js";

const KIND = { absent: 0, bool: 3, int: 1, double: 2, string: 4 } as const;
const OUTPUT_NUMBERS = 40;
const SIZES_AT = 8;
const DIM_ORDER_AT = 24;

/** The value that a call describes by 40 numbers at an address (`run_output`). */
export function readValue(
  job: Job,
  dtypes: DTypeTable,
  fill: (raw: Job["core"]["raw"], s: number, address: number) => number,
): Value {
  const { memory } = job.core;
  const numbers = memory.with(OUTPUT_NUMBERS * 8, (address) => {
    job.call({}, (raw, s) => fill(raw, s, address));
    return memory.numbers(address, OUTPUT_NUMBERS);
  });
  const [kind, low, high, double, dtype, rank, address, bytes] = numbers as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  switch (kind) {
    case KIND.absent:
      return null;
    case KIND.bool:
      return low !== 0;
    case KIND.double:
      return double;
    case KIND.string:
      return memory.text(address, bytes);
    case KIND.int: {
      const value = (BigInt(high) << 32n) | BigInt(low);
      const number = Number(value);
      return Number.isSafeInteger(number) ? number : value;
    }
    default: {
      const name = dtypes.name(dtype);
      const shape = numbers.slice(SIZES_AT, SIZES_AT + rank);
      const dimOrder = numbers.slice(DIM_ORDER_AT, DIM_ORDER_AT + rank);
      return { ...tensorOf(name, shape, memory.copy(address, bytes)), dimOrder };
    }
  }
}
