// An operator of your own, which a model calls as torch.ops.mylib.scale(x, alpha).
// docs/your-own-operator.md explains it.
//   sconce run model.pte --input ones --import operators.mjs
import { isTensor } from "sconce";

/** @type {import("sconce").OwnOperator} */
export const scale = {
  schema: "mylib::scale(Tensor x, float alpha=1.0) -> Tensor",
  infer: ({ x }) => (isTensor(x) ? [x.shape] : []),
  run({ x, alpha }, [out]) {
    if (!isTensor(x) || x.dtype !== "float32" || !out) throw new TypeError("scale takes float32");
    for (const [i, value] of x.data.entries()) out.data[i] = value * Number(alpha);
  },
};
