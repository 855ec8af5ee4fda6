"""Makes the files of tests/data/own: programs that call operators of a library that neither PyTorch
nor ExecuTorch has, and what the official exporter makes of them. The operators stand for those of
users.

Run with torch and executorch in the environment:
    python tests/make/make_own_operators.py FOLDER
"""

import usage  # noqa: F401

import sys
from pathlib import Path

import torch
from executorch.exir import to_edge
from torch.library import Library

OUT = Path(sys.argv[1])

SCHEMAS = {
    "scale": "(Tensor x, float alpha=1.0, *, int[] dims=[0], str mode='a', bool flag=False{out})"
    " -> {one}",
    "two.Scalar": "(Tensor[] xs, Tensor? y, Scalar s, int n=2{star}{outs}) -> {both}",
    "lists": "(Tensor x, SymInt n, int[]? k=None, *, float[] f, bool[] b, ScalarType? dtype=None"
    "{out}) -> {one}",
    "firsts": "(Tensor x, Tensor count{star}{out}) -> {one}",
}
OUT_NAMES = {
    "scale": "scale.out",
    "two.Scalar": "two.Scalar_out",
    "lists": "lists.to",
    "firsts": "firsts.out",
}

lib = Library("mylib", "DEF")
for name, text in SCHEMAS.items():
    functional = {"out": "", "outs": "", "star": "", "one": "Tensor", "both": "(Tensor, Tensor)"}
    written = {
        "out": ", Tensor(a!) out",
        "outs": ", Tensor(a!) out0, Tensor(b!) out1",
        "star": ", *",
        "one": "Tensor(a!)",
        "both": "(Tensor(a!), Tensor(b!))",
    }
    lib.define(name + text.format(**functional))
    lib.define(OUT_NAMES[name] + text.format(**written))


def scale(x, alpha=1.0, *, dims=(0,), mode="a", flag=False):
    return x * alpha + (1 if flag else 0)


def two(xs, y, s, n=2):
    return xs[0] + xs[1] * s, xs[1] * n if y is None else y * n


def lists(x, n, k=None, *, f, b, dtype=None):
    return x + n * f[0] + (f[1] if b[0] else 0)


def firsts(x, count):
    return x[: int(count)].clone()


def firsts_meta(x, count):
    size = torch.library.get_ctx().new_dynamic_size(min=0, max=8)
    return x.new_empty((size, *x.shape[1:]))


for name, function in (("scale", scale), ("two.Scalar", two), ("lists", lists)):
    lib.impl(name, function, "CompositeExplicitAutograd")
lib.impl("firsts", firsts, "CPU")
torch.library.register_fake("mylib::firsts", firsts_meta, lib=lib)


def never(*args, **kwargs):
    raise NotImplementedError("the exporter needs the schema alone")


for name in OUT_NAMES.values():
    lib.impl(name, never, "CPU")

ops = torch.ops.mylib


class Own(torch.nn.Module):
    """Arguments of every kind, and sizes that change from call to call."""

    def forward(self, x):
        a = ops.scale(x, 2)
        a = ops.scale(a, 2.5, dims=[1], mode="b", flag=True)
        p, q = ops.two([a, x], None, 3)
        r = ops.lists(p, x.shape[0], f=[1.5, 2], b=[True], dtype=torch.float32)
        return torch.relu(p) + q + r


class Plain(torch.nn.Module):
    """Calls that leave no argument out, of sizes that do not change."""

    def forward(self, x):
        a = ops.scale(x * 2, 0.5, dims=[1], mode="b", flag=True)
        p, q = ops.two([a, x], x, 3, 4)
        return p - q


class Scaled(torch.nn.Module):
    """The example of docs/your-own-operator.md."""

    def forward(self, x):
        return ops.scale(x, 3.0) + 1


class Image(torch.nn.Module):
    """Operands and results with the channels last."""

    def forward(self, x):
        return ops.scale(x.to(memory_format=torch.channels_last), 3.0) + 1


class First(torch.nn.Module):
    """A result whose size depends on values."""

    def forward(self, x, count):
        return ops.firsts(x, count) + 1


def write(name, module, args, shapes=None):
    program = torch.export.export(module, args, dynamic_shapes=shapes)
    torch.export.save(program, OUT / f"{name}.pt2")
    made = to_edge(program).to_executorch()
    (OUT / f"{name}.pte").write_bytes(made.buffer)


OUT.mkdir(parents=True, exist_ok=True)
batch = torch.export.Dim("batch", min=2, max=16)
write("own", Own(), (torch.randn(4, 3),), ({0: batch},))
write("plain", Plain(), (torch.randn(2, 3),))
write("scaled", Scaled(), (torch.randn(4, 16),))
write("image", Image(), (torch.randn(1, 2, 3, 4),))
write("firsts", First(), (torch.randn(8, 2), torch.tensor(3)))
