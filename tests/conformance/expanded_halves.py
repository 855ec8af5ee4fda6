"""float16 and bfloat16, which kernels of the official runtime add up in; and variances of what is
far from 0. See expanded.py."""

import torch
import torch.nn.functional as F
from programs import Fn

ROWS = torch.export.Dim("rows", min=1, max=9)


def low(f, dtype):
    """`f` in that dtype, of float32 and into float16, which files of arrays know. An eighth of a
    result is within float16's tolerance where it is within bfloat16's."""

    def of(*args):
        results = f(*[x.to(dtype) if x.is_floating_point() else x for x in args])
        leaves = torch.utils._pytree.tree_leaves(results)
        return [(y.float() / 8).half() if dtype == torch.bfloat16 else y for y in leaves]

    return Fn(of)


def sums(dtype):
    nn, rows, image = torch.nn, torch.randn(3, 3000), torch.randn(2, 8, 32, 32)
    units, at = torch.ones(2, 700), torch.zeros(700, dtype=torch.int64)

    def module(made):
        return made.to(dtype).eval().requires_grad_(False)

    yield "layer_norm", module(nn.LayerNorm(3000)), (rows,)
    mean = lambda x: torch.native_layer_norm(x, [3000], None, None, 1e-5)  # noqa: E731
    yield "layer_norm's mean", mean, (rows,)
    yield "group_norm", module(nn.GroupNorm(4, 8)), (image + 0.5,)
    yield "batch_norm", lambda x: F.batch_norm(x, None, None, training=True), (image + 0.5,)
    yield "linear", module(nn.Linear(3000, 7)), (rows,)
    scaled = lambda c, a, b: torch.addmm(c, a, b, beta=0.5, alpha=0.02)  # noqa: E731
    yield "addmm", scaled, (torch.randn(7), rows.abs(), torch.rand(3000, 7))
    yield "conv1d", module(nn.Conv1d(64, 8, 9)), (torch.randn(1, 64, 20),)
    yield "conv2d", module(nn.Conv2d(256, 8, 3)), (torch.randn(1, 256, 8, 8),)
    # Its weights are large: a step of bfloat16 at 8, by which machines differ, is no error.
    turned = module(nn.ConvTranspose2d(256, 8, 3))
    yield "conv2d transposed", turned, (torch.randn(1, 256, 8, 8) / 4,)
    yield "conv3d", module(nn.Conv3d(64, 4, 3)), (torch.randn(1, 64, 5, 5, 5),)
    yield "avg_pool2d", lambda x: F.avg_pool2d(x, 32), (torch.rand(1, 2, 32, 32),)
    yield "cumsum", lambda x: (x.cumsum(1), x.cumsum(0)), (units,)
    var = lambda x: (x.var(1), x.std(), torch.var_mean(x, 1, correction=0))  # noqa: E731
    yield "var", var, (rows + 3,)
    yield "index_add", lambda x, i, y: x.index_add(1, i, y), (torch.zeros(2, 3), at, units)

def cases():
    for dtype in (torch.float16, torch.bfloat16):
        name = str(dtype).removeprefix("torch.")
        for what, f, inputs in sums(dtype):
            yield f"{name} {what}", low(f, dtype), inputs, None
        pool = low(lambda x: (F.avg_pool2d(x, 2), x.cumsum(0)), dtype)
        yield f"{name} dynamic", pool, (torch.randn(3, 4, 4),), ({0: ROWS},)
    mean = low(lambda x, i, y: x.scatter_reduce(0, i, y, "mean"), torch.float16)
    given = torch.zeros(3), torch.zeros(700, dtype=torch.int64), torch.rand(700)
    yield "float16 scatter_reduce", mean, given, None
    scatter = low(lambda x, i, y: x.scatter_add(0, i, y), torch.float16)
    yield "float16 scatter_add", scatter, given, None
    product = low(lambda x: (x.prod(1), x.prod()), torch.bfloat16)
    yield "bfloat16 prod", product, (1 + torch.randn(3, 900) / 1000,), None
    for far in (0, 32):
        image, nn = far + torch.randn(2, 4, 32, 32), torch.nn
        yield f"instance_norm of {far}", nn.InstanceNorm2d(4, affine=True), (image,), None
        yield f"group_norm of {far}", nn.GroupNorm(2, 4), (image,), ({0: ROWS},)
        norm = Fn(lambda x: torch.native_group_norm(x, None, None, 2, 4, 1024, 2, 1e-5))
        yield f"group_norm's mean of {far}", norm, (image,), None
        norm = Fn(lambda x: F.batch_norm(x, None, None, training=True))
        yield f"batch_norm of {far}", norm, (image,), None
