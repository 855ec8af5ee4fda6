// The pixels of pictures: those at hand as they are, others drawn by the host in their own size.
import { badArgument, isObject, KINDS } from "../base/check.js";
import { SconceError, withCause } from "../base/errors.js";
import { isPage } from "../base/host.js";
import type { Picture } from "./resize.js";
import { isBlob, tagOf } from "../base/tags.js";
import type { ImageInput } from "../types/index.js";

const ACCEPTS =
  "an ImageData, ImageBitmap, image element, canvas, VideoFrame, Blob, or { data, width, height }";

/** Pixels of a picture, at most: half a gigabyte as RGBA would be too much for many hosts. */
export const PIXELS_MAX = 2 ** 26;
/** Pixels of a side, at most. */
export const SIDE_MAX = 2 ** 14;

/** Throws where a picture is too large; `what` names it. */
export function checkSize(what: string, width: number, height: number): void {
  if (width <= SIDE_MAX && height <= SIDE_MAX && width * height <= PIXELS_MAX) return;
  throw new SconceError(
    "limit",
    `${what} has ${width} x ${height} pixels`,
    `Pass at most ${SIDE_MAX} pixels a side and ${PIXELS_MAX} in all.`,
  );
}

type Drawable = CanvasImageSource & object;

/** Width and height of what a canvas can draw, by its class. */
const SIZES: Record<string, (image: never) => readonly [number, number]> = {
  ImageBitmap: ({ width, height }: ImageBitmap) => [width, height],
  OffscreenCanvas: ({ width, height }: OffscreenCanvas) => [width, height],
  HTMLCanvasElement: ({ width, height }: HTMLCanvasElement) => [width, height],
  HTMLImageElement: (image: HTMLImageElement) => [image.naturalWidth, image.naturalHeight],
  HTMLVideoElement: (video: HTMLVideoElement) => [video.videoWidth, video.videoHeight],
  VideoFrame: (frame: VideoFrame) => [frame.displayWidth, frame.displayHeight],
};

interface Raw {
  readonly data: ArrayLike<number>;
  readonly width: number;
  readonly height: number;
}

const isRaw = (image: unknown): image is Raw =>
  isObject(image) && "data" in image && "width" in image && "height" in image;

/** The picture of an ImageData and its kin: 1, 3 or 4 bytes a pixel. */
function ofRaw({ data, width, height }: Raw): Picture {
  const tag = tagOf(data);
  if (tag !== "Uint8ClampedArray" && tag !== "Uint8Array")
    throw badArgument("the data of the picture", "a Uint8ClampedArray or a Uint8Array", data);
  for (const [name, size] of Object.entries({ width, height })) {
    if (!KINDS.index.test(size) || size === 0)
      throw badArgument(`the ${name} of the picture`, "a whole number, 1 or more", size);
  }
  checkSize("the picture", width, height);
  const channels = data.length / (width * height);
  if (![1, 3, 4].includes(channels))
    throw new SconceError(
      "shape",
      `${data.length} bytes do not fill a picture of ${width} x ${height}`,
      "Pass 4 bytes a pixel (RGBA), 3 (RGB) or 1 (grey).",
    );
  return { data: data as Uint8Array, width, height, channels };
}

type Context = Pick<CanvasRenderingContext2D, "drawImage" | "getImageData">;

/** A canvas of this host to draw on. */
function contextOf(width: number, height: number): Context {
  const settings = { willReadFrequently: true } as const;
  let context: Context | null = null;
  if (typeof OffscreenCanvas !== "undefined")
    context = new OffscreenCanvas(width, height).getContext("2d", settings);
  else if (isPage()) {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [width, height];
    context = canvas.getContext("2d", settings) as Context | null;
  }
  if (context) return context;
  throw new SconceError(
    "unsupported",
    "this host has no canvas to draw the picture on",
    "Decode the picture, and pass { data, width, height } with its pixels.",
  );
}

/** The pixels of a canvas. It does not give them when a part came from another site. */
function shown(context: Context, width: number, height: number): Picture {
  try {
    return ofRaw(context.getImageData(0, 0, width, height));
  } catch (error) {
    if (error instanceof SconceError) throw error;
    throw withCause(
      new SconceError(
        "io",
        `the pixels of the picture cannot be read: ${(error as Error).message}`,
        "Load pictures of another site with crossOrigin set, from a server that allows it.",
      ),
      error,
    );
  }
}

function ofDrawable(image: Drawable): Picture {
  const [width, height] = SIZES[tagOf(image)]!(image as never);
  if (!(width > 0 && height > 0))
    throw new SconceError(
      "input",
      "the picture has no pixels: it is not loaded, closed, or empty",
      "Wait until it is loaded, and use it before it is closed.",
    );
  checkSize("the picture", width, height);
  const context = contextOf(width, height);
  context.drawImage(image, 0, 0, width, height);
  return shown(context, width, height);
}

/** The error of a picture that the host does not understand. */
function undecodable(cause: unknown): SconceError {
  return withCause(
    new SconceError(
      "format",
      `the picture cannot be decoded: ${cause instanceof Error ? cause.message : String(cause)}`,
      "Pass a PNG, a JPEG, a WebP, or another format of this host.",
    ),
    cause,
  );
}

async function ofBlob(blob: Blob): Promise<Picture> {
  if (typeof createImageBitmap === "undefined")
    throw new SconceError(
      "unsupported",
      "this host does not decode pictures",
      "Decode the file, with the package sharp for example, and pass { data, width, height }.",
    );
  const bitmap = await createImageBitmap(blob).catch((error: unknown) => {
    throw undecodable(error);
  });
  try {
    return ofDrawable(bitmap);
  } finally {
    bitmap.close();
  }
}

/** The canvas of a library, such as those of Node, which draws only its own kind. */
interface OwnCanvas {
  readonly width: number;
  readonly height: number;
  getContext(kind: "2d"): Context | null;
}

const isOwnCanvas = (image: unknown): image is OwnCanvas =>
  isObject(image) && typeof image["getContext"] === "function" && "width" in image;

function ofOwnCanvas(canvas: OwnCanvas): Picture {
  const { width, height } = canvas;
  checkSize("the picture", width, height);
  const context = canvas.getContext("2d");
  if (context) return shown(context, width, height);
  throw badArgument("the canvas", "one with a 2d context", canvas);
}

/** The pixels of a picture, in its own size. */
export async function pixelsOf(image: ImageInput): Promise<Picture> {
  if (isBlob(image)) return ofBlob(image);
  if (Object.hasOwn(SIZES, tagOf(image))) {
    const drawable = image as Drawable;
    if (tagOf(image) === "HTMLImageElement")
      await (drawable as HTMLImageElement).decode().catch((error: unknown) => {
        throw undecodable(error);
      });
    return ofDrawable(drawable);
  }
  if (isRaw(image)) return ofRaw(image);
  if (isOwnCanvas(image)) return ofOwnCanvas(image);
  const { code, message } = badArgument("the picture", ACCEPTS, image);
  const isAddress = typeof image === "string" || tagOf(image) === "URL";
  const fetched = "Fetch it: tensor.fromImage(await (await fetch(address)).blob()).";
  throw new SconceError(code, message, isAddress ? fetched : `Pass ${ACCEPTS}.`);
}
