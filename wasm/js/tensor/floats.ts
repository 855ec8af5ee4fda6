// Small float formats: what their bits mean, and which bits a number becomes. Numbers become float32
// first and then the nearest number of the format, a tie the even one, as in PyTorch.

/** The dtypes whose elements are bits that JavaScript has no array of numbers for. */
export type SmallFloat =
  "float16" | "bfloat16" | "float8_e5m2" | "float8_e4m3fn" | "float8_e5m2fnuz" | "float8_e4m3fnuz";

interface Format {
  readonly bits: 8 | 16;
  readonly fractionBits: number;
  readonly bias: number;
  /** The bits of the greatest finite number. */
  readonly greatest: number;
  /** The bits of infinity, if the format has it. */
  readonly infinity?: number;
  readonly nan: number;
  /** The bits of everything beyond `greatest`, infinity too. */
  readonly beyond: number;
}

const FORMATS: Record<SmallFloat, Format> = {
  float16: {
    bits: 16,
    fractionBits: 10,
    bias: 15,
    greatest: 0x7bff,
    infinity: 0x7c00,
    nan: 0x7e00,
    beyond: 0x7c00,
  },
  bfloat16: {
    bits: 16,
    fractionBits: 7,
    bias: 127,
    greatest: 0x7f7f,
    infinity: 0x7f80,
    nan: 0x7fc0,
    beyond: 0x7f80,
  },
  float8_e5m2: {
    bits: 8,
    fractionBits: 2,
    bias: 15,
    greatest: 0x7b,
    infinity: 0x7c,
    nan: 0x7f,
    beyond: 0x7c,
  },
  float8_e4m3fn: { bits: 8, fractionBits: 3, bias: 7, greatest: 0x7e, nan: 0x7f, beyond: 0x7e },
  // These two have one zero; the bits of the other are NaN.
  float8_e5m2fnuz: { bits: 8, fractionBits: 2, bias: 16, greatest: 0x7f, nan: 0x80, beyond: 0x80 },
  float8_e4m3fnuz: { bits: 8, fractionBits: 3, bias: 8, greatest: 0x7f, nan: 0x80, beyond: 0x80 },
};

/** The format of a dtype; undefined where its array holds plain numbers. */
export const isSmallFloat = (dtype: string): dtype is SmallFloat => Object.hasOwn(FORMATS, dtype);

const signOf = ({ bits }: Format): number => 1 << (bits - 1);

function decoded(format: Format, bits: number): number {
  const { fractionBits, bias, greatest, infinity, nan } = format;
  const sign = bits & signOf(format) ? -1 : 1;
  const magnitude = bits & (signOf(format) - 1);
  if (magnitude === infinity) return sign * Infinity;
  if (bits === nan || magnitude > greatest) return NaN;
  const exponent = magnitude >> fractionBits;
  const fraction = (magnitude & ((1 << fractionBits) - 1)) / (1 << fractionBits);
  return sign * (exponent ? (1 + fraction) * 2 ** (exponent - bias) : fraction * 2 ** (1 - bias));
}

const tables = new Map<SmallFloat, Float32Array>();

/** The number that each bit pattern of a format stands for. */
export function numbersOf(dtype: SmallFloat): Float32Array {
  const known = tables.get(dtype);
  if (known) return known;
  const format = FORMATS[dtype];
  const table = Float32Array.from({ length: 1 << format.bits }, (_, bits) => decoded(format, bits));
  tables.set(dtype, table);
  return table;
}

const float = new Float32Array(1);
const floatBits = new Uint32Array(float.buffer);

/** The nearest whole number, a tie the even one, of numbers below 2^51. */
export const roundedToEven = (value: number): number => value + 2 ** 52 - 2 ** 52;

/** The bits of the number of the format that is nearest to a number. */
export function encoderOf(dtype: SmallFloat): (value: number) => number {
  const format = FORMATS[dtype];
  const { fractionBits, bias, greatest, nan, beyond } = format;
  const least = 1 - bias;
  const hasTwoZeros = nan !== signOf(format);
  return (value) => {
    float[0] = value;
    const magnitude = Math.abs(float[0]!);
    if (Number.isNaN(magnitude)) return nan;
    const sign = floatBits[0]! >>> 31 ? signOf(format) : 0;
    if (magnitude === Infinity) return beyond | sign;
    const exponent = Math.max(((floatBits[0]! >>> 23) & 255) - 127, least);
    // In steps of the format at this exponent; a carry makes the next exponent.
    const steps = roundedToEven(magnitude / 2 ** (exponent - fractionBits));
    const bits = ((exponent - least) << fractionBits) + steps;
    if (bits > greatest) return beyond | sign;
    return bits || hasTwoZeros ? bits | sign : 0;
  };
}
