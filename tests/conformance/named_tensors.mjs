// A backend for tests/conformance/named_tensors.py: it keeps weights of its parts as tensors in a data
// file, and one more tensor in another dim order.
export default {
  id: "KeepsWeights",
  supports: ({ op }) => op === "aten::addmm" || "it is no layer",
  preprocess({ constants, method }) {
    const entries = constants.map((constant) => [
      `${method}.${constant.target}`,
      {
        bytes: constant.bytes(),
        externalTag: "weights",
        tensorLayout: { dtype: constant.dtype, shape: constant.shape },
      },
    ]);
    const image = Float32Array.from({ length: 24 }, (_, i) => i);
    return {
      namedData: {
        ...Object.fromEntries(entries),
        image: {
          bytes: new Uint8Array(image.buffer),
          externalTag: "weights",
          tensorLayout: { dtype: "float32", shape: [1, 2, 3, 4], dimOrder: [0, 2, 3, 1] },
        },
        numbers: {
          bytes: { dtype: "int64", shape: [3], data: BigInt64Array.of(1n, 2n, 3n) },
          externalTag: "weights",
        },
        plain: { bytes: new Uint8Array([7]), externalTag: "weights" },
      },
    };
  },
  init: () => null,
  execute: () => [],
};
