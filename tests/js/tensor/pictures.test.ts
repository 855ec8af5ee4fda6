// Pictures as tensors on a host without a canvas: sizes as Pillow makes them, numbers as torchvision
// normalizes them, and what is refused. The browser's own pictures are in tests/web.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { runInNewContext } from "node:vm";
import { SconceError, tensor, type ImageInput, type ImageOptions, type TensorOf } from "sconce";

const path = fileURLToPath(
  new URL("../../../../tests/data/pictures/digests.json", import.meta.url),
);
const digests = JSON.parse(readFileSync(path, "utf8")) as {
  normalized: string;
  cases: {
    from: [number, number];
    to: [number, number];
    channels: "RGB" | "L";
    fit: "stretch" | "cover" | "contain";
    digest: string;
  }[];
};

const digestOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): string =>
  createHash("sha256")
    .update(new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength))
    .digest("hex");

/** Noise of three bytes a pixel, which tests/make/make_picture_digests.py makes too. */
const noise = (height: number, width: number): Uint8Array =>
  Uint8Array.from(
    { length: width * height * 3 },
    (_, i) => (Math.imul(i, 2654435761) + 12345) >>> 13,
  );

test("pictures in other sizes are those of Pillow, bit for bit", async () => {
  assert.ok(digests.cases.length >= 60);
  for (const { from, to, channels, fit, digest } of digests.cases) {
    const [height, width] = from;
    const { data } = await tensor.fromImage(
      { data: noise(height, width), width, height },
      {
        size: to,
        channels,
        fit,
        background: channels === "L" ? 7 : [7, 8, 9],
        layout: "NHWC",
        dtype: "uint8",
      },
    );
    assert.equal(digestOf(data), digest, `${from.join()} to ${to.join()}, ${channels}, ${fit}`);
  }
});

/** A picture of two pixels: red of alpha 0, and of the bytes 10, 20, 30. */
const TWO = {
  data: Uint8ClampedArray.of(255, 0, 0, 0, 10, 20, 30, 255),
  width: 2,
  height: 1,
};

const made = async (options?: ImageOptions, image: ImageInput = TWO): Promise<number[]> =>
  Array.from((await tensor.fromImage(image, options)).data, Number);

test("bytes become numbers from 0 to 1 in planes by default", async () => {
  const { dtype, shape, data }: TensorOf<"float32"> = await tensor.fromImage(TWO);
  assert.deepEqual([dtype, shape], ["float32", [1, 3, 1, 2]]);
  assert.deepEqual(data, Float32Array.of(1, 10 / 255, 0, 20 / 255, 0, 30 / 255));
});

test("layouts, orders of channels and ranges", async () => {
  assert.deepEqual(await made({ layout: "NHWC", scale: 1 }), [255, 0, 0, 10, 20, 30]);
  assert.deepEqual(await made({ channels: "BGR", scale: 1 }), [0, 30, 0, 20, 255, 10]);
  assert.deepEqual(await made({ channels: "L", scale: 1 }), [76, 18]);
  assert.deepEqual(await made({ scale: 1, mean: 127, std: 128 }), [
    1,
    -117 / 128,
    -127 / 128,
    -107 / 128,
    -127 / 128,
    -97 / 128,
  ]);
  assert.deepEqual(
    await made({ channels: "BGR", layout: "NHWC", scale: 1, mean: [1, 2, 3] }),
    [-1, -2, 252, 29, 18, 7],
  );
  const { shape } = await tensor.fromImage(TWO, { layout: "NHWC", channels: "L", size: [5, 4] });
  assert.deepEqual(shape, [1, 5, 4, 1]);
});

test("bars have the colour that is given, in the order of the channels", async () => {
  const options = { size: [3, 2], fit: "contain", layout: "NHWC", scale: 1 } as const;
  const bars = (pixel: number[], row: number[]): number[] =>
    [pixel, pixel, row, pixel, pixel].flat();
  assert.deepEqual(await made(options), bars([0, 0, 0], [255, 0, 0, 10, 20, 30]));
  assert.deepEqual(
    await made({ ...options, channels: "BGR", background: [1, 2, 3] }),
    bars([1, 2, 3], [0, 0, 255, 30, 20, 10]),
  );
  assert.deepEqual(
    await made({ ...options, channels: "L", background: 114 }),
    bars([114], [76, 18]),
  );
});

test("all bytes are normalized as torchvision does, to the last bit", async () => {
  const data = Uint8Array.from({ length: 768 }, (_, i) => Math.floor(i / 3));
  const { data: planes } = await tensor.fromImage(
    { data, width: 256, height: 1 },
    { mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] },
  );
  assert.equal(digestOf(planes), digests.normalized);
});

test("dtypes", async () => {
  const half: TensorOf<"float16"> = await tensor.fromImage(TWO, { dtype: "float16" });
  assert.deepEqual(half.data, tensor([1, 10 / 255, 0, 20 / 255, 0, 30 / 255], [6], "float16").data);
  const bytes: TensorOf<"uint8"> = await tensor.fromImage(TWO, { dtype: "uint8" });
  assert.deepEqual(bytes.data, Uint8Array.of(255, 10, 0, 20, 0, 30));
  const { data } = await tensor.fromImage(TWO, { dtype: "float64", mean: 0.1 });
  assert.equal(data[1], 10 / 255 - 0.1);
});

test("grey pictures, those without alpha and those of another realm", async () => {
  const grey = { data: Uint8Array.of(1, 2), width: 2, height: 1 };
  assert.deepEqual(await made({ scale: 1 }, grey), [1, 2, 1, 2, 1, 2]);
  assert.deepEqual(await made({ scale: 1, channels: "L" }, grey), [1, 2]);
  const foreign = runInNewContext(
    "({ data: new Uint8ClampedArray([9, 8, 7, 255]), width: 1, height: 1 })",
  ) as ImageInput;
  assert.deepEqual(await made({ scale: 1 }, foreign), [9, 8, 7]);
});

test("a canvas of a library is read through its context", async () => {
  const canvas = {
    width: 2,
    height: 1,
    getContext: (kind: string) => (kind === "2d" ? { getImageData: () => TWO } : null),
  };
  assert.deepEqual(await made({ scale: 1 }, canvas), [255, 10, 0, 20, 0, 30]);
});

async function refused(image: unknown, options?: unknown): Promise<SconceError> {
  const error: unknown = await tensor
    .fromImage(image as ImageInput, options as ImageOptions)
    .then(String, (reason: unknown) => reason);
  assert.ok(error instanceof SconceError, String(error));
  return error;
}

test("pictures that are none", async () => {
  const rows: [unknown, string, RegExp, RegExp?][] = [
    [null, "argument", /the picture must be an ImageData.* not null/],
    ["photo.png", "argument", /not the string/, /fetch\(address\)/],
    [new URL("http://127.0.0.1/photo.png"), "argument", /not an object of class URL/, /fetch/],
    [{ ...TWO, data: [1, 2] }, "argument", /data of the picture/],
    [{ ...TWO, width: 0 }, "argument", /the width of the picture/],
    [{ ...TWO, height: 1.5 }, "argument", /the height of the picture/],
    [{ ...TWO, width: 3 }, "shape", /8 bytes do not fill a picture of 3 x 1/],
    [{ ...TWO, width: 2 ** 15 }, "limit", /32768 x 1/],
    [{ ...TWO, width: 2 ** 14, height: 2 ** 14 }, "limit", /16384 x 16384/],
    [{ width: 1, height: 1, getContext: () => null }, "argument", /2d context/],
  ];
  for (const [image, code, message, hint = /^[A-Z]/] of rows) {
    const error = await refused(image);
    assert.deepEqual([error.code, message.test(error.message)], [code, true], error.message);
    assert.match(error.hint, hint);
  }
});

test("without a decoder a file is an error that says what to pass", async () => {
  const error = await refused(new Blob([new Uint8Array(8)]));
  assert.deepEqual(
    [error.code, error.message],
    ["unsupported", "this host does not decode pictures"],
  );
  assert.match(error.hint, /\{ data, width, height \}/);
});

test("options that are none", async () => {
  const rows: [unknown, string, RegExp][] = [
    [{ sise: [1, 1] }, "option", /has no option 'sise'/],
    [{ size: [1] }, "option", /\[height, width\]/],
    [{ size: [0, 1] }, "option", /\[height, width\]/],
    [{ size: [2 ** 14, 2 ** 14] }, "limit", /the tensor has/],
    [{ fit: "fill" }, "option", /"stretch" or "cover" or "contain"/],
    [{ layout: "CHW" }, "option", /"NCHW" or "NHWC"/],
    [{ dtype: "int8" }, "option", /"float32" or/],
    [{ mean: [1, 2] }, "argument", /'mean' .* a list of 3/],
    [{ mean: NaN }, "option", /'mean'/],
    [{ background: 256 }, "option", /'background' .* from 0 to 255/],
    [{ std: 0 }, "argument", /'std' .* numbers other than 0/],
    [{ dtype: "uint8", mean: 1 }, "option", /keeps its bytes/],
    [3, "argument", /the options of fromImage\(\)/],
  ];
  for (const [options, code, message] of rows) {
    const error = await refused(TWO, options);
    assert.deepEqual([error.code, message.test(error.message)], [code, true], error.message);
  }
});
