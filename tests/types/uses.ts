// Types as people use them; package_types.test.ts compiles this file.
import {
  createClient,
  createEngine,
  isTensor,
  reshape,
  softmax,
  tensor,
  toNumbers,
  topk,
  type InputTensor,
  type Tensor,
  type TensorArrays,
  type TensorOf,
} from "sconce";
import { createRuntime, createRuntimeClient } from "sconce/run";
import runWasm from "sconce/run.wasm";
import wasm from "sconce/sconce.wasm";

/** Compiles where both types are the same. */
type Same<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(_: Same<A, B>): void => undefined;

export async function bytesFitTheWeb(): Promise<unknown> {
  const engine = await createEngine({ wasm });
  const client = await createClient({ wasm });
  const lowered = engine.lower({ path: "model.pt2" });
  const remote = await client.lower({ path: "model.pt2" });
  const session = await engine.export({ path: "model.pt2" }, { recipe: "xnnpack_fp32" });
  return [
    new Blob([lowered.buffer, lowered.dataFile("weights.ptd"), session.getPteBuffer()]),
    new Blob([await remote.buffer, await remote.dataFile("weights.ptd")]),
    new Response(lowered.buffer),
    new Response(await remote.buffer),
    new Response(engine.bundle(lowered.buffer, [])),
    URL.createObjectURL(lowered.toBlob()),
  ];
}

export async function runtimesOnlyRun(): Promise<unknown> {
  const runtime = await createRuntime({ wasm: runWasm });
  const client = await createRuntimeClient({ wasm: runWasm });
  // @ts-expect-error a runtime does not lower
  runtime.lower;
  // @ts-expect-error nor train
  runtime.load("model.pte").sgd;
  return [runtime.load("model.pte").run("forward"), await client.load("model.pte")];
}

export function tensorsNarrow(output: Tensor): number | bigint | undefined {
  if (output.dtype === "float32") return output.data.at(0)?.toFixed(1).length;
  if (output.dtype === "int64") return output.data[0];
  if (output.dtype === "bool") {
    same<typeof output.data, Uint8Array<ArrayBuffer>>(true);
    return output.data[0];
  }
  return undefined;
}

export function tensorsAreNarrow(anywhere: Float32Array, mixed: (number | boolean)[]): void {
  same<ReturnType<typeof softmax>, TensorOf<"float32">>(true);
  const made = tensor(new Float32Array(4), [2, 2]);
  same<typeof made.data, Float32Array<ArrayBuffer>>(true);
  same<TensorArrays["int64"], BigInt64Array<ArrayBuffer>>(true);
  const tensors: [
    TensorOf<"float32">,
    TensorOf<"float32">,
    TensorOf<"int64">,
    TensorOf<"bool">,
    TensorOf<"uint8">,
    TensorOf<"float16">,
    TensorOf<"complex64">,
    TensorOf<"float32" | "float64">,
    Tensor,
  ] = [
    tensor([[1, 2], [3]] as number[][]),
    tensor(anywhere, [-1]),
    tensor(7n),
    tensor([true]),
    tensor(new Uint8ClampedArray(4)),
    tensor([1, 2], [2], "float16"),
    tensor([{ re: 1, im: 2 }], [1], "complex64"),
    reshape(tensor([1]), [1, 1]),
    tensor(mixed),
  ];
  toNumbers(tensors[0]);
  // @ts-expect-error: float16 is bits.
  tensors[5].data satisfies Float32Array;
  // @ts-expect-error: no such dtype.
  tensor([1], [1], "float");
  // @ts-expect-error: the array of another dtype.
  ({ dtype: "float32", shape: [1], data: new Float64Array(1) }) satisfies InputTensor;
}

export async function picturesAreNarrow(image: HTMLImageElement, file: Blob): Promise<void> {
  const input = await tensor.fromImage(image, { size: [224, 224], mean: [0.5, 0.5, 0.5] });
  same<typeof input, TensorOf<"float32">>(true);
  const half = await tensor.fromImage(file, { dtype: "float16" });
  same<typeof half, TensorOf<"float16">>(true);
  await tensor.fromImage(new ImageData(1, 1));
  await tensor.fromImage({ data: new Uint8Array(3), width: 1, height: 1 });
  // @ts-expect-error: an address is no picture.
  await tensor.fromImage("photo.png");
}

export async function outputsNarrow(): Promise<string> {
  const engine = await createEngine();
  const program = engine.load({ path: "model.pte" });
  const [output] = program.run("forward", [tensor([1]), 3, null, "text", 4n]);
  if (!isTensor(output)) return String(output);
  const [best] = topk(softmax(output), 1);
  return `${best?.index} ${output.shape.join()}`;
}
