// The operators of tests/data/own, as a user writes them: what tests/make/make_own_operators.py
// computes with PyTorch.
import { toNumbers, type OperatorValue, type OwnOperator, type Tensor } from "sconce";

const tensorOf = (value: OperatorValue | undefined): Tensor => value as Tensor;

const numbers = (value: OperatorValue | undefined): number[] => toNumbers(tensorOf(value));

function fill(out: Tensor, values: readonly number[]): void {
  for (const [i, value] of values.entries()) out.data[i] = value;
}

export const scale: OwnOperator = {
  schema:
    "mylib::scale(Tensor x, float alpha=1.0, *, int[] dims=[0], str mode='a', bool flag=False) -> Tensor",
  infer: ({ x }) => [tensorOf(x).shape],
  run({ x, alpha, flag }, [out]) {
    const more = flag === true ? 1 : 0;
    fill(
      out!,
      numbers(x).map((v) => v * Number(alpha) + more),
    );
  },
};

export const two: OwnOperator = {
  schema: "mylib::two.Scalar(Tensor[] xs, Tensor? y, Scalar s, int n=2) -> (Tensor, Tensor)",
  infer({ xs }) {
    const { shape } = (xs as readonly Tensor[])[0]!;
    return [shape, shape];
  },
  run({ xs, y, s, n }, [first, second]) {
    const [a, b] = xs as readonly Tensor[];
    const [as, bs] = [numbers(a), numbers(b)];
    fill(
      first!,
      as.map((v, i) => v + bs[i]! * Number(s)),
    );
    fill(
      second!,
      (y === null ? bs : numbers(y)).map((v) => v * Number(n)),
    );
  },
};

export const lists: OwnOperator = {
  schema:
    "mylib::lists(Tensor x, SymInt n, int[]? k=None, *, float[] f, bool[] b, ScalarType? dtype=None) -> Tensor",
  outOverload: "to",
  infer: ({ x }) => [tensorOf(x).shape],
  run({ x, n, f, b }, [out]) {
    const [factor, more] = f as readonly number[];
    const added = (b as readonly boolean[])[0] ? more! : 0;
    fill(
      out!,
      numbers(x).map((v) => v + Number(n) * factor! + added),
    );
  },
};

export const firsts: OwnOperator = {
  schema: "mylib::firsts(Tensor x, Tensor count) -> Tensor",
  infer: ({ x, count }) => [[numbers(count)[0]!, ...tensorOf(x).shape.slice(1)]],
  run({ x }, [out]) {
    fill(out!, numbers(x).slice(0, out!.data.length));
  },
};
