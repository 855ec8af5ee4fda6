"""Writes tests/quant/weights.txt: weights, and what PyTorch and torchao make of them: ranges,
scales, integers, folded batch norms, halves. Run with a Python that has torch and torchao:

    python tests/make/make_weight_data.py tests/quant/weights.txt
"""

import usage  # noqa: F401
import sys

import torch
import torch.ao.quantization.fx._decomposed  # noqa: F401
from torch.nn.utils.fusion import fuse_conv_bn_weights
from torchao.quantization.quant_primitives import (
    MappingType,
    choose_qparams_affine,
    quantize_affine,
)

from quant_numbers import bits, digest, lines, make

EPS = 2.0**-12
F32, F16, BF16 = torch.float32, torch.float16, torch.bfloat16
NAMES = {F32: "f32", F16: "f16", BF16: "bf16"}
q = torch.ops.quantized_decomposed


def weight(name, sizes, recipe, dtype=F32):
    lines.append(f"weight {name} {NAMES[dtype]} " + " ".join(map(str, sizes)))
    count = 1
    for size in sizes:
        count *= size
    return make(recipe[0], count, *recipe[1:]).reshape(sizes).to(dtype)


def folded(w, axis, seed):
    """As a batch norm with made-up statistics does it."""
    generator = torch.Generator().manual_seed(seed)
    n = w.shape[axis]
    mean, var, gamma, beta = (torch.rand(n, generator=generator) + 0.1 for _ in range(4))
    factors = gamma * torch.rsqrt(var + 1e-5)
    lines.append(f"factors {axis} " + " ".join(bits(f) for f in factors))
    return fuse_conv_bn_weights(w, None, mean, var, 1e-5, gamma, beta, axis == 1)[0].detach()


def slices(w, by):
    """The weight as one row per slice."""
    if by == "whole":
        return w.reshape(1, -1)
    kind, n = by.split()
    if kind == "axis":
        return w.movedim(int(n), 0).flatten(1)
    return w.reshape(-1, int(n))


def ranges(w, by):
    rows = slices(w, by)
    low, high = torch.aminmax(rows, dim=1)
    lines.append(f"ranges {by} {digest(low.float())} {digest(high.float())}")
    return low.float(), high.float()


def pt2e(w, by, low=-127, high=127):
    """The observers' formula, then the decomposed operators."""
    least, most = ranges(w, by)
    scales = torch.maximum(torch.maximum(-least, most), torch.zeros(1)) / ((high - low) / 2)
    scales = torch.maximum(scales, torch.tensor(EPS))
    zeros = torch.zeros(len(scales), dtype=torch.int64)
    if by == "whole":
        out = q.quantize_per_tensor(w, float(scales), 0, low, high, torch.int8)
    elif by.startswith("axis"):
        axis = int(by.split()[1])
        out = q.quantize_per_channel(w, scales, zeros, axis, low, high, torch.int8)
    else:
        size = int(by.split()[1])
        rows = slices(w, by).shape[0]
        shape = (w.shape[0], rows // w.shape[0])
        out = q.quantize_per_channel_group(
            w, scales.reshape(shape), zeros.reshape(shape), low, high, torch.int8, size
        )
    lines.append(f"quantize {by} {low} {high} {bits(EPS)} 0 {digest(scales)} {digest(out)}")


def torchao(w, by, low, high):
    ranges(w, by)
    size = w.shape[1] if by.startswith("axis") else int(by.split()[1])
    scale, zero = choose_qparams_affine(
        w,
        MappingType.SYMMETRIC,
        (1, size),
        target_dtype=torch.int8,
        quant_min=low,
        quant_max=high,
        zero_point_dtype=torch.int8,
        keepdim=True,
    )
    assert (zero == 0).all()
    out = quantize_affine(
        w, (1, size), scale, zero, output_dtype=torch.int8, quant_min=low, quant_max=high
    )
    eps = torch.finfo(w.dtype).smallest_normal
    lines.append(
        f"quantize {by} {low} {high} {bits(eps)} 1 {digest(scale.float())} {digest(out)}"
    )


def convert(w, dtype):
    lines.append(f"convert {NAMES[dtype]} {digest(w.to(dtype))}")


BELL, WIDE = ("bell", 3, 0.01, 0.2), ("cubed", 9, 0.0, 40.0)

for dtype in (F32, F16, BF16):
    name = NAMES[dtype]
    w = weight(f"linear_{name}", (24, 96), BELL, dtype)
    pt2e(w, "whole")
    pt2e(w, "axis 0")
    pt2e(w, "axis 1")
    if dtype == F32:
        pt2e(w, "groups 32", -8, 7)
    torchao(w, "groups 32", -8, 7)
    torchao(w, "axis 0", -8, 7)
    torchao(w, "axis 0", -128, 127)
    convert(w, F32)
    convert(w, F16)
    convert(w, BF16)
    w = weight(f"conv_{name}", (7, 5, 3, 3), WIDE, dtype)
    pt2e(w, "axis 0")
    pt2e(w, "axis 1")
    w = folded(weight(f"conv_bn_{name}", (7, 5, 3, 3), BELL, dtype), 0, 1)
    pt2e(w, "axis 0")
    pt2e(w, "whole")
    convert(w, dtype)
    convert(w, F16)
    w = folded(weight(f"conv_transpose_bn_{name}", (6, 5, 3, 3), WIDE, dtype), 1, 2)
    pt2e(w, "axis 1")
    convert(w, dtype)
w = weight("tiny", (4, 8), ("bell", 5, 0.0, 1e-9))
pt2e(w, "axis 0")
torchao(w, "groups 4", -8, 7)
w = weight("zeros", (2, 4), ("steps", 5, 0.0, 0.0))
pt2e(w, "axis 0")
pt2e(w, "whole")
w = weight("huge", (3, 1000), ("cubed", 6, 0.0, 3e38))
pt2e(w, "axis 0")
convert(w, F16)
w = weight("long", (3, 5001), BELL)
pt2e(w, "axis 0")
pt2e(w, "axis 1")

with open(sys.argv[1], "w") as f:
    f.write("\n".join(lines) + "\n")
