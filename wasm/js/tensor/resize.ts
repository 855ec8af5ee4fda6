// Resizing as Pillow 13 does it, bit for bit: bilinear, with the centres of pixels at a half, and over
// as many pixels as one covers when a picture shrinks. torchvision's Resize of a picture is the same.

/** Bytes of a picture, row by row, its channels in turn. */
export interface Picture {
  readonly data: Uint8Array;
  readonly width: number;
  readonly height: number;
  readonly channels: number;
}

/** A part of a picture; its edges may lie within pixels. */
export interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** Weights are whole numbers: parts of this. */
const PRECISION_BITS = 22;

interface Weights {
  /** The first pixel of each output pixel, and how many there are. */
  readonly first: Int32Array;
  readonly count: Int32Array;
  /** So many for each output pixel. */
  readonly stride: number;
  readonly weights: Int32Array;
}

/** How much each pixel of a line weighs in each pixel of the resized line. */
function weightsOf(size: number, from: number, to: number, outSize: number): Weights {
  const [low, high] = [Math.fround(from), Math.fround(to)];
  const scale = Math.fround(high - low) / outSize;
  const support = Math.max(scale, 1);
  const stride = Math.ceil(support) * 2 + 1;
  const first = new Int32Array(outSize);
  const count = new Int32Array(outSize);
  const weights = new Int32Array(outSize * stride);
  const line = new Float64Array(stride);
  for (let out = 0; out < outSize; out++) {
    const center = low + (out + 0.5) * scale;
    const begin = Math.max(0, Math.trunc(center - support + 0.5));
    const end = Math.min(size, Math.trunc(center + support + 0.5));
    let sum = 0;
    for (let i = begin; i < end; i++) {
      const distance = Math.abs((i - center + 0.5) * (1 / support));
      sum += line[i - begin] = Math.max(0, 1 - distance);
    }
    for (let i = 0; i < end - begin; i++) {
      const weight = sum === 0 ? line[i]! : line[i]! / sum;
      weights[out * stride + i] = Math.trunc(0.5 + weight * (1 << PRECISION_BITS));
    }
    first[out] = begin;
    count[out] = end - begin;
  }
  return { first, count, stride, weights };
}

/** The layout of a pass: items of a line are one `step` apart, and lines one `line` apart. */
interface Pass {
  readonly lines: number;
  /** Those that are resized; alpha, the fourth one, is left out. */
  readonly channels: number;
  readonly source: { readonly step: number; readonly line: number };
  readonly target: { readonly step: number; readonly line: number };
}

/** The byte that items of a line make, each with its weight. */
function mixed(
  source: Uint8Array,
  at: number,
  step: number,
  weights: Int32Array,
  from: number,
  count: number,
): number {
  let sum = 1 << (PRECISION_BITS - 1);
  for (let i = 0; i < count; i++) sum += source[at + i * step]! * weights[from + i]!;
  return Math.min(255, sum >> PRECISION_BITS);
}

/** Resizes every line of a picture. */
function resizeLines(source: Uint8Array, target: Uint8Array, table: Weights, pass: Pass): void {
  const { first, count, stride, weights } = table;
  const { lines, channels } = pass;
  const { step } = pass.source;
  for (let line = 0; line < lines; line++) {
    for (let out = 0; out < first.length; out++) {
      const start = line * pass.source.line + first[out]! * step;
      const end = line * pass.target.line + out * pass.target.step;
      for (let channel = 0; channel < channels; channel++)
        target[end + channel] = mixed(
          source,
          start + channel,
          step,
          weights,
          out * stride,
          count[out]!,
        );
    }
  }
}

const coloursOf = ({ channels }: Picture): number => Math.min(channels, 3);

/** The picture in another width; what is between two edges of it fills that. */
function inWidth(picture: Picture, left: number, right: number, width: number): Picture {
  if (width === picture.width && left === 0 && right === width) return picture;
  const { height, channels: step } = picture;
  const channels = coloursOf(picture);
  const data = new Uint8Array(width * height * channels);
  resizeLines(picture.data, data, weightsOf(picture.width, left, right, width), {
    lines: height,
    channels,
    source: { step, line: picture.width * step },
    target: { step: channels, line: width * channels },
  });
  return { data, width, height, channels };
}

/** The same of its height: a line is what lies below one another. */
function inHeight(picture: Picture, top: number, bottom: number, height: number): Picture {
  if (height === picture.height && top === 0 && bottom === height) return picture;
  const { width } = picture;
  const channels = coloursOf(picture);
  const data = new Uint8Array(width * height * channels);
  resizeLines(picture.data, data, weightsOf(picture.height, top, bottom, height), {
    lines: width,
    channels,
    source: { step: width * picture.channels, line: picture.channels },
    target: { step: width * channels, line: channels },
  });
  return { data, width, height, channels };
}

/** A picture, or a box of it, in another size. Each pass rounds, so their order counts. */
export function resized(picture: Picture, box: Box, width: number, height: number): Picture {
  const shorter = picture.height - height;
  const wide = (one: Picture): Picture => inWidth(one, box.left, box.right, width);
  const high = (one: Picture): Picture => inHeight(one, box.top, box.bottom, height);
  const isHeightFirst = shorter > 0 && shorter > (picture.width - width) * 2;
  return isHeightFirst ? wide(high(picture)) : high(wide(picture));
}
