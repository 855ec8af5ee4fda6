// Pictures as tensors: in the size, the order of channels, the layout and the range that a model
// takes.
import { badArgument, checkTable, KINDS, type Kind } from "../base/check.js";
import { writerOf, zerosOf } from "./dtypes.js";
import { SconceError } from "../base/errors.js";
import { roundedToEven } from "./floats.js";
import { checkSize, pixelsOf } from "./pixels.js";
import { resized, type Box, type Picture } from "./resize.js";
import type { ImageDType, ImageInput, ImageOptions, TensorData, TensorOf } from "../types/index.js";

const isNumber = (value: unknown): value is number =>
  typeof value === "number" && Number.isFinite(value);

const oneOf = (...words: string[]): Kind => ({
  accepts: words.map((word) => `"${word}"`).join(" or "),
  test: (value) => words.includes(value as string),
});

const NUMBER: Kind = { accepts: "a number", test: isNumber };

const NUMBERS: Kind = {
  accepts: "a number, or a list of one for each channel",
  test: (value) => isNumber(value) || (Array.isArray(value) && Array.from(value).every(isNumber)),
};

const isByte = (value: unknown): boolean => KINDS.index.test(value) && Number(value) < 256;

const COLOUR: Kind = {
  accepts: "a whole number from 0 to 255, or a list of one for each channel",
  test: (value) => isByte(value) || (Array.isArray(value) && Array.from(value).every(isByte)),
};

const SIZE: Kind = {
  accepts: "[height, width] in pixels",
  test: (value) =>
    Array.isArray(value) &&
    value.length === 2 &&
    Array.from(value).every((side) => KINDS.index.test(side) && Number(side) > 0),
};

const OPTIONS = {
  size: SIZE,
  fit: oneOf("stretch", "cover", "contain"),
  background: COLOUR,
  channels: oneOf("RGB", "BGR", "L"),
  layout: oneOf("NCHW", "NHWC"),
  scale: NUMBER,
  mean: NUMBERS,
  std: NUMBERS,
  dtype: oneOf("float32", "float16", "bfloat16", "float64", "uint8"),
} as const;

/** One number for each channel. */
function perChannel(name: string, given: number | readonly number[], count: number): number[] {
  if (typeof given === "number") return Array.from({ length: count }, () => given);
  if (given.length === count) return [...given];
  throw badArgument(`'${name}' of fromImage()`, `a number, or a list of ${count}`, given);
}

/** Places of the bytes of a pixel that become the channels. */
const PLACES = { RGB: [0, 1, 2], BGR: [2, 1, 0], L: [0] } as const;

/** How much red, green and blue weigh in grey, of 2^16; as ITU-R 601-2 and Pillow have it. */
const GREY = [19595, 38470, 7471] as const;

function toGrey({ data, channels: step, ...size }: Picture): Picture {
  const grey = new Uint8Array(size.width * size.height);
  for (let i = 0, at = 0; i < grey.length; i++, at += step)
    grey[i] =
      (data[at]! * GREY[0] + data[at + 1]! * GREY[1] + data[at + 2]! * GREY[2] + 0x8000) >> 16;
  return { data: grey, channels: 1, ...size };
}

function ofGrey({ data, ...size }: Picture): Picture {
  const colours = new Uint8Array(data.length * 3);
  for (let i = 0; i < data.length; i++) colours.fill(data[i]!, 3 * i, 3 * i + 3);
  return { ...size, data: colours, channels: 3 };
}

/** The picture with bytes of one channel for "L", and of three or four otherwise. */
function withChannels(picture: Picture, channels: keyof typeof PLACES): Picture {
  if (channels === "L") return picture.channels === 1 ? picture : toGrey(picture);
  return picture.channels === 1 ? ofGrey(picture) : picture;
}

/** The middle of a picture, as large as the proportions allow. */
function middleOf({ width, height }: Picture, ratio: number): Box {
  const isWide = width / height >= ratio;
  const [wide, high] = isWide ? [ratio * height, height] : [width, width / ratio];
  const [left, top] = [(width - wide) / 2, (height - high) / 2];
  return { left, top, right: left + wide, bottom: top + high };
}

/** The size of a picture of these proportions within another one. */
function sizeWithin(picture: Picture, width: number, height: number): [number, number] {
  const ratio = picture.width / picture.height;
  if (ratio > width / height)
    return [width, Math.max(1, roundedToEven((picture.height / picture.width) * width))];
  return [Math.max(1, roundedToEven(ratio * height)), height];
}

/** The picture in the middle of bars of a colour. */
function withBars(picture: Picture, width: number, height: number, colour: number[]): Picture {
  const { data, channels } = picture;
  if (picture.width === width && picture.height === height) return picture;
  const left = roundedToEven((width - picture.width) / 2);
  const top = roundedToEven((height - picture.height) / 2);
  const all = new Uint8Array(width * height * channels);
  for (let i = 0; i < all.length; i++) all[i] = colour[i % channels]!;
  const line = picture.width * channels;
  for (let y = 0; y < picture.height; y++)
    all.set(data.subarray(y * line, (y + 1) * line), ((top + y) * width + left) * channels);
  return { data: all, width, height, channels };
}

/** The picture in the size that was asked for. */
function fitted(picture: Picture, options: ImageOptions, places: readonly number[]): Picture {
  const { size, fit = "stretch", background = 0 } = options;
  const given = perChannel("background", background, places.length);
  // In the order of the picture, which may be another one than that of the tensor.
  const colour = given.map((_, byte) => given[places.indexOf(byte)]!);
  if (!size) return picture;
  const [height, width] = size;
  checkSize("the picture while it is resized", width, picture.height);
  checkSize("the picture while it is resized", picture.width, height);
  const whole = { left: 0, top: 0, right: picture.width, bottom: picture.height };
  if (fit === "cover") return resized(picture, middleOf(picture, width / height), width, height);
  if (fit === "stretch") return resized(picture, whole, width, height);
  const inner = resized(picture, whole, ...sizeWithin(picture, width, height));
  return withBars(inner, width, height, colour);
}

/** Each byte of each channel as the tensor's array holds it. */
function tableOf(dtype: ImageDType, options: ImageOptions, channels: number): TensorData[] {
  const { scale, mean = 0, std = 1 } = options;
  const means = perChannel("mean", mean, channels);
  const divisors = perChannel("std", std, channels);
  if (divisors.includes(0)) throw badArgument("'std' of fromImage()", "numbers other than 0", std);
  // Step by step in float32, as torchvision normalizes.
  const step = dtype === "float64" ? (value: number): number => value : Math.fround;
  const item = writerOf(dtype);
  return means.map((middle, channel) => {
    const table = zerosOf(dtype, 256) as TensorData;
    for (let byte = 0; byte < 256; byte++) {
      const value = step(scale === undefined ? byte / 255 : byte * scale);
      table[byte] = item(step(step(value - step(middle)) / step(divisors[channel]!)));
    }
    return table;
  });
}

function checkOptions(options: ImageOptions): void {
  checkTable("fromImage()", options, OPTIONS);
  const { dtype, scale, mean, std, size } = options;
  if (size) checkSize("the tensor", size[1], size[0]);
  if (dtype !== "uint8" || (scale ?? mean ?? std) === undefined) return;
  throw new SconceError(
    "option",
    "a picture of uint8 keeps its bytes, and takes no scale, mean or std",
    'Leave them out, or pass the dtype "float32".',
  );
}

/** The numbers of the picture in the order of the layout. */
function laidOut(
  { data: bytes, width, height, channels }: Picture,
  dtype: ImageDType,
  options: ImageOptions,
  places: readonly number[],
): TensorData {
  const count = width * height;
  const data = zerosOf(dtype, count * places.length) as TensorData;
  const tables = dtype === "uint8" ? undefined : tableOf(dtype, options, places.length);
  const [step, plane] = options.layout === "NHWC" ? [places.length, 1] : [1, count];
  for (const [channel, place] of places.entries()) {
    const table = tables?.[channel];
    for (let i = 0; i < count; i++) {
      const byte = bytes[i * channels + place]!;
      data[i * step + channel * plane] = table ? table[byte]! : byte;
    }
  }
  return data;
}

/**
 * A picture as the tensor that a model takes. By default its bytes become float32 numbers from 0 to 1,
 * red, green and blue in planes: the shape is [1, 3, height, width].
 *
 * Resizing is bilinear, and smooth where the picture shrinks, exactly as in Pillow and torchvision.
 * `mean` and `std` are those of torchvision's Normalize. Pixels at hand need no canvas, so they work
 * on every host; a Blob is a file that the host decodes, and photos come out upright.
 * @throws SconceError with the code "unsupported" on a host without a canvas, "format" for a file that
 * is no picture, "io" for pixels that the browser keeps from the page, "limit" for more than 2^26
 * pixels, "option", "argument", "input" or "shape" for arguments that are wrong.
 * @example
 * const input = await tensor.fromImage(file, {
 *   size: [224, 224],
 *   fit: "cover",
 *   mean: [0.485, 0.456, 0.406],
 *   std: [0.229, 0.224, 0.225],
 * });
 * const [logits] = program.run("forward", [input]);
 */
export async function fromImage<D extends ImageDType = "float32">(
  image: ImageInput,
  options: ImageOptions<D> = {},
): Promise<TensorOf<D>> {
  checkOptions(options);
  const { dtype = "float32", channels = "RGB", layout = "NCHW" } = options as ImageOptions;
  const places = PLACES[channels];
  const picture = fitted(withChannels(await pixelsOf(image), channels), options, places);
  const { width, height } = picture;
  const data = laidOut(picture, dtype, options, places);
  const sizes = layout === "NHWC" ? [height, width, places.length] : [places.length, height, width];
  return { dtype, shape: [1, ...sizes], data } as unknown as TensorOf<D>;
}
