// A second worker, for work on large arrays that takes long and needs no engine: making up inputs,
// reading .npy files, saying what a result is like. The page itself never loops over elements.
import { readNpy } from "@sconce/cli/files/npy.js";
import { SconceError } from "@sconce/base/errors.js";
import { FRAMES, melFeatures } from "@sconce/llm/mel.js";
import { fill, makeTensor } from "@sconce/tensor/fill.js";
import type { Port, Request } from "@sconce/worker/messages.js";
import { Server } from "@sconce/worker/server.js";
import type { DType, ProgramValueInfo, Tensor, Value } from "@sconce/types/index.js";
import type { OutputView, TensorView } from "./state.js";
import { viewOf } from "./ui/numbers.js";

/** How an input is made. */
export type Filling =
  | { kind: "given"; value: Value }
  | {
      kind: "fill";
      filler: string;
      info: ProgramValueInfo;
      index: number;
      shape: readonly number[];
    }
  /** A single number stands for all. */
  | {
      kind: "numbers";
      numbers: readonly number[];
      info: ProgramValueInfo;
      shape: readonly number[];
    };

/** The worker's functions, as the page calls them. */
export interface Arrays {
  make(fillings: readonly Filling[]): Value[];
  read(file: Blob, name: string, dtype: DType | undefined): Promise<Tensor>;
  look(values: readonly Value[]): OutputView[];
  /** Reads an array that a program is calibrated on. */
  readFinite(file: Blob, name: string, dtype: DType | undefined): Promise<Tensor>;
  /** The features of 30 seconds of sound, as Whisper takes them. */
  features(samples: Float32Array<ArrayBuffer>, bands: number): Tensor;
}

function makeOne(filling: Filling): Value {
  if (filling.kind === "given") return filling.value;
  const { info, shape } = filling;
  if (filling.kind === "fill") return fill(filling.filler, info, filling.index, shape);
  const { numbers } = filling;
  return makeTensor(info, shape, (i, part) =>
    part === 0 ? numbers[numbers.length === 1 ? 0 : i]! : 0,
  );
}

/** Replaces the platform's message for lack of memory by one for people. */
function inMemory<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new SconceError(
      "out_of_memory",
      "these values do not fit into the memory of this page",
      "Use a smaller input, or close other pages.",
    );
  }
}

async function read(file: Blob, name: string, dtype: DType | undefined): Promise<Tensor> {
  const bytes = await file.arrayBuffer().catch(() => {
    throw new SconceError(
      "io",
      `${name} cannot be read`,
      "Check that the file is still there, and choose it again.",
    );
  });
  return inMemory(() => readNpy(new Uint8Array(bytes), name, dtype));
}

const arrays: Arrays = {
  make: (fillings) => inMemory(() => fillings.map(makeOne)),
  look: (values) => inMemory(() => values.map(viewOf)),
  read,
  features: (samples, bands) => ({
    dtype: "float32",
    shape: [1, bands, FRAMES],
    data: melFeatures(samples, bands),
  }),
  async readFinite(file, name, dtype) {
    const tensor = await read(file, name, dtype);
    const { nanCount, count } = inMemory(() => viewOf(tensor)) as TensorView;
    if (nanCount === 0) return tensor;
    throw new SconceError(
      "numeric",
      `${name} is not a number in ${nanCount} of its ${count} elements`,
      "Calibrate on inputs as the model meets them: NaN has no place in a range.",
    );
  },
};

const port = globalThis as unknown as Port & {
  onmessage: (event: MessageEvent<Request>) => void;
};
const server = new Server(port, arrays, "Arrays");
port.onmessage = ({ data }) => void server.handle(data);
