// Pictures and sound in prompts: an encoder of the program turns each into rows, which take the places of
// rows of the embedding table.
import { badArgument, isObject } from "../base/check.js";
import { SconceError } from "../base/errors.js";
import { isTensorLike } from "../tensor/bytes.js";
import { write, zerosOf } from "../tensor/dtypes.js";
import { fromImage } from "../tensor/image.js";
import type {
  ImageDType,
  ImageInput,
  ImageOptions,
  InputValue,
  ProgramMethodInfo,
  ProgramValueInfo,
  Tensor,
  Value,
} from "../types/index.js";
import { isFloatType } from "./layout.js";
import { FRAMES, melFeatures, WINDOW_SAMPLES } from "./mel.js";
import type { Metadata } from "./metadata.js";
import { samplesOf } from "./sound.js";
import type { AudioPart, ImagePart } from "./types.js";

export type MediaPart = ImagePart | AudioPart;
export type MediaKind = MediaPart["type"];

/** The rows of a picture or a sound, and the ids that stand for them among tokens. */
export interface MediaRows {
  readonly tensor: Tensor;
  /** Ids are negative, and each row has one that no other row has. */
  readonly ids: readonly number[];
}

/** Runs a method of the program. */
export type RunMethod = (method: string, inputs: readonly InputValue[]) => Promise<Value[]>;

const ENCODERS: Readonly<Record<MediaKind, string>> = {
  image: "vision_encoder",
  audio: "audio_encoder",
};
const PLACEHOLDERS: Readonly<Record<MediaKind, readonly string[]>> = {
  image: ["image_token_id", "vision_token_id", "image_placeholder_id"],
  audio: ["audio_token_id", "audio_placeholder_id"],
};
/** Samples come in blocks of so many for encoders that also take the count of real ones. */
const BLOCK = 7680;

/** The object in a part, by which it is known when it comes again. */
const objectOf = (part: MediaPart): object =>
  (part.type === "image" ? part.image : part.audio) as object;

/** True for a part that is a picture or sound. */
export function isMediaPart(part: unknown): part is MediaPart {
  if (!isObject(part)) return false;
  const { type } = part;
  return (type === "image" || type === "audio") && isObject(part[type]);
}

/** Turns pictures and sound into rows. */
export class Media {
  private readonly known = new WeakMap<object, MediaRows>();
  private last = 0;

  private constructor(
    private readonly encoders: ReadonlyMap<MediaKind, ProgramMethodInfo>,
    private readonly tokens: ReadonlyMap<MediaKind, number>,
    private readonly normalization: ImageOptions,
  ) {}

  /** Reads the encoders of a program and what it tells about them. */
  static of(
    methods: readonly ProgramMethodInfo[],
    metadata: Metadata,
    given: { image?: number | undefined; audio?: number | undefined; options?: ImageOptions },
  ): Media {
    const encoders = new Map<MediaKind, ProgramMethodInfo>();
    const tokens = new Map<MediaKind, number>();
    for (const kind of ["image", "audio"] as const) {
      const method = methods.find(({ name }) => name === ENCODERS[kind]);
      if (!method) continue;
      encoders.set(kind, method);
      const token = given[kind] ?? metadata.id(...PLACEHOLDERS[kind]);
      if (token !== undefined) tokens.set(kind, token);
    }
    const mean = metadata.numbers("image_mean");
    const std = metadata.numbers("image_std");
    const [scale] = metadata.numbers("rescale_factor") ?? [];
    const declared = {
      ...(mean && { mean }),
      ...(std && { std }),
      ...(scale !== undefined && { scale }),
    };
    return new Media(encoders, tokens, { ...declared, ...given.options });
  }

  /** True if the program has encoders. */
  get isPresent(): boolean {
    return this.encoders.size > 0;
  }

  /** The kind of part whose place a token marks. */
  kindOf(token: number): MediaKind | undefined {
    return [...this.tokens].find(([, id]) => id === token)?.[0];
  }

  /** The number of rows that an encoder declares. */
  countOf(part: MediaPart): number {
    const { shape = [] } = this.encoder(part.type).outputs[0] ?? {};
    return shape.at(-2) ?? 1;
  }

  private encoder(kind: MediaKind): ProgramMethodInfo {
    const found = this.encoders.get(kind);
    if (found) return found;
    throw new SconceError(
      "unsupported",
      `the program has no method ${ENCODERS[kind]}, which parts of the type '${kind}' need`,
      "Leave these parts out, or export the encoder with the model.",
    );
  }

  /** The rows of a part. The same object is encoded once. */
  async rowsOf(part: MediaPart, run: RunMethod): Promise<MediaRows> {
    const object = objectOf(part);
    const known = this.known.get(object);
    if (known) return known;
    const { name, inputs } = this.encoder(part.type);
    const given =
      part.type === "image"
        ? [await this.picture(part.image, name, inputs)]
        : audioInputs(part.audio, name, inputs);
    const [output] = await run(name, given);
    const tensor = rowsTensor(output, name);
    const count = tensor.shape[1]!;
    const rows = { tensor, ids: Array.from({ length: count }, () => --this.last) };
    this.known.set(object, rows);
    return rows;
  }

  private async picture(
    image: ImagePart["image"],
    method: string,
    inputs: readonly ProgramValueInfo[],
  ): Promise<InputValue> {
    if (isTensorLike(image)) return image;
    const [input, ...others] = inputs;
    const shape = input?.shape ?? [];
    const [channels, height, width] = shape.slice(-3) as [number, number, number];
    const isPicture =
      (shape.length === 3 || (shape.length === 4 && shape[0] === 1)) && channels === 3;
    if (!input || others.length > 0 || !isPicture)
      throw new SconceError(
        "unsupported",
        `method '${method}' does not take a picture [1, 3, height, width]`,
        "Pass the tensor that it takes as the picture.",
      );
    const dtype = input.dtype as ImageDType;
    const { mean, std } = this.normalization;
    if (dtype !== "uint8" && (mean === undefined || std === undefined))
      throw new SconceError(
        "option",
        "the program does not tell how its pictures are normalized",
        "Pass imageOptions: { mean, std }, as preprocessor_config.json has them.",
      );
    const options = dtype === "uint8" ? {} : this.normalization;
    const tensor = await fromImage(image as ImageInput, {
      ...options,
      dtype,
      size: [height, width],
    });
    return shape.length === 3 ? ({ ...tensor, shape } as Tensor) : (tensor as Tensor);
  }
}

function rowsTensor(output: Value | undefined, method: string): Tensor {
  const shape = isTensorLike(output) ? output.shape : [];
  const isRows = shape.length === 2 || (shape.length === 3 && shape[0] === 1);
  const [count, width] = shape.slice(-2) as [number, number];
  if (isTensorLike(output) && isRows && count > 0 && isFloatType(output.dtype))
    return { ...(output as Tensor), shape: [1, count, width] };
  throw new SconceError(
    "mismatch",
    `method '${method}' gave no rows [1, rows, width]`,
    "Export the model again: its methods do not fit each other.",
  );
}

function tensorAs(info: ProgramValueInfo, values: Float32Array, shape: readonly number[]): Tensor {
  const dtype = info.dtype ?? "float32";
  const data = zerosOf(dtype, values.length);
  write(data, dtype, values);
  return { dtype, shape, data } as Tensor;
}

/** The inputs of an encoder of sound: features of 30 seconds each, or samples. */
function audioInputs(
  audio: AudioPart["audio"],
  method: string,
  inputs: readonly ProgramValueInfo[],
): InputValue[] {
  if (isTensorLike(audio)) return [audio];
  const samples = samplesOf(audio);
  const [input, length, ...others] = inputs;
  const shape = input?.shape ?? [];
  const unfit = (message: string): SconceError =>
    new SconceError("unsupported", message, "Pass the tensor that it takes as the sound.");
  if (!input || others.length > 0 || samples.length === 0)
    throw samples.length === 0
      ? badArgument("the sound of a part", "samples", audio)
      : unfit(`method '${method}' takes ${inputs.length} inputs`);
  if (shape.length === 3 && shape[2] === FRAMES && !length)
    return [featuresOf(samples, input, method)];
  const [batch, most] = shape.length === 1 ? [1, shape[0]!] : (shape as [number, number]);
  if (shape.length > 2 || batch !== 1)
    throw unfit(`method '${method}' takes neither features [1, bands, 3000] nor samples`);
  const wanted = length ? Math.ceil(samples.length / BLOCK) * BLOCK : samples.length;
  const size = input.dynamic ? wanted : most;
  checkLength(samples.length, Math.min(size, most), method);
  const whole = new Float32Array(size);
  whole.set(samples);
  const sound = tensorAs(input, whole, shape.length === 1 ? [size] : [1, size]);
  if (!length) return [sound];
  return [sound, { dtype: "int64", shape: [], data: BigInt64Array.of(BigInt(samples.length)) }];
}

function checkLength(count: number, most: number, method: string): void {
  if (count <= most) return;
  throw new SconceError(
    "limit",
    `the sound has ${count} samples, and method '${method}' takes ${most}`,
    "Pass less sound at once.",
  );
}

function featuresOf(samples: Float32Array, input: ProgramValueInfo, method: string): Tensor {
  const [most, bands] = input.shape as [number, number];
  const windows = Math.ceil(samples.length / WINDOW_SAMPLES);
  checkLength(windows * WINDOW_SAMPLES, most * WINDOW_SAMPLES, method);
  const count = input.dynamic ? windows : most;
  const all = new Float32Array(count * bands * FRAMES);
  for (let i = 0; i < windows; i++) {
    const window = samples.subarray(i * WINDOW_SAMPLES, (i + 1) * WINDOW_SAMPLES);
    all.set(melFeatures(window, bands), i * bands * FRAMES);
  }
  return tensorAs(input, all, [count, bands, FRAMES]);
}
