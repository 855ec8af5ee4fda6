// The types of pictures that become tensors.
import type { Host, HostBlob } from "./host.js";
import type { DType } from "./tensor.js";

/**
 * Pixels in memory, row by row from the top. Each has 4 bytes (RGBA, as in an ImageData), 3 (RGB)
 * or 1 (grey). Decoders such as sharp give such pixels.
 */
export interface ImagePixels {
  readonly data: Uint8ClampedArray | Uint8Array;
  readonly width: number;
  readonly height: number;
}

/** A canvas with a 2d context, of any library. */
export interface ImageCanvas {
  readonly width: number;
  readonly height: number;
  getContext(kind: "2d"): unknown;
}

/** A picture for `tensor.fromImage`. All but `ImagePixels` and `ImageCanvas` need a host with a canvas. */
export type ImageInput =
  | ImagePixels
  | ImageCanvas
  | HostBlob
  | Host<"ImageBitmap">
  | Host<"HTMLImageElement">
  | Host<"HTMLCanvasElement">
  | Host<"HTMLVideoElement">
  | Host<"OffscreenCanvas">
  | Host<"VideoFrame">;

/** The dtypes that a picture can become. */
export type ImageDType = Extract<DType, "float32" | "float16" | "bfloat16" | "float64" | "uint8">;

/** Options for turning a picture into a tensor. */
export interface ImageOptions<D extends ImageDType = ImageDType> {
  /** Height and width in pixels; by default those of the picture. */
  readonly size?: readonly [height: number, width: number];
  /**
   * How a picture of other proportions fills `size`. "stretch", the default, changes them. "cover"
   * cuts off two edges. "contain" adds bars of the colour `background`.
   */
  readonly fit?: "stretch" | "cover" | "contain";
  /** The colour of bars, 0 to 255 for all channels or for each; 0 by default. */
  readonly background?: number | readonly number[];
  /** "RGB" by default; "L" is grey. Alpha is left out. */
  readonly channels?: "RGB" | "BGR" | "L";
  /** The shape: "NCHW", the default, is [1, channels, height, width], "NHWC" [1, height, width, channels]. */
  readonly layout?: "NCHW" | "NHWC";
  /** The factor for each byte, applied first; 1/255 by default. */
  readonly scale?: number;
  /**
   * The number that is subtracted next, for all channels or for each in the order of `channels`; 0
   * by default.
   */
  readonly mean?: number | readonly number[];
  /** The divisor, applied last, for all channels or for each; 1 by default. */
  readonly std?: number | readonly number[];
  /** The dtype; "float32" by default. "uint8" keeps the bytes, and takes no scale, mean or std. */
  readonly dtype?: D;
}
