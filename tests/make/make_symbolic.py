"""Writes tests/symbolic/*.pt2: decomposed programs with dynamic sizes, whose recorded metadata
tests/ops/specs_test.c compares with inference. Run with a Python that has torch:

    python tests/make/make_symbolic.py tests/symbolic
"""

import usage  # noqa: F401

import os
import sys

import torch
import torch.nn.functional as F
from torch.export import Dim

AUTO = Dim.AUTO


def slices(x):
    return (
        x[:, :-1],
        x[:, 1:],
        x[:, ::2],
        x[:, -3:],
        x[:, x.shape[1] // 2 :],
        x[0],
        x[:, -1],
        x.narrow(1, 1, 2),
        x.select(1, 2),
    )


def joins(x):
    return (
        torch.cat([x, x[:, 1:]], 1),
        torch.stack([x, x], 1),
        x.repeat(1, 2, 1),
        x.expand(3, -1, -1, -1),
        torch.cat([x, x.new_zeros(x.shape[0], 1, 12)], 1),
        x.roll(1, 1),
        x.flip(1),
        x.chunk(3, 2),
        x.split(4, 2),
        x.repeat_interleave(2, 1),
    )


def indices(x, i):
    rows = torch.zeros(x.shape[0], 2, 12, dtype=torch.long)
    return (
        x[:, i],
        x[i[:2]],
        x[i, :, i],
        x.index_select(1, i),
        x.gather(1, rows),
        F.embedding(i, torch.randn(9, 5)),
        x.scatter(1, rows, 1.0),
        x[..., i],
    )


def unknown(x, i):
    return i.nonzero(), i[i > 1], torch.masked_select(x, x > 0), x[x > 0.5], torch.nonzero(x > 0)


def halves(x):
    h = x.shape[1] // 2
    a, b, c = x[:, :h], x[:, h:], torch.zeros(x.shape[0], h, h)
    quarter = x[:, : x.shape[1] // 4]
    return (
        a * 2,
        b + 1,
        c @ a,
        a.transpose(1, 2).contiguous(),
        a.reshape(-1, 12),
        torch.stack([a, a], 1),
        a.sum(1),
        quarter.exp().repeat(1, 2, 1),
        F.pad(a, (0, 0, 1, 0)).cumsum(1),
    )


def pyramid(x):
    y = F.avg_pool2d(F.relu(F.max_pool2d(x, 2)), 2)
    z = F.max_pool2d(y, 2)
    up = F.interpolate(z, scale_factor=2)
    return (
        y,
        z,
        z.flatten(1),
        z.flatten(2).transpose(1, 2),
        torch.cat([z, z], 1),
        z.permute(0, 2, 3, 1).reshape(x.shape[0], -1, 3),
        up + y[:, :, : 2 * z.shape[2], : 2 * z.shape[3]],
    )


def triples(x):
    return x * 2, x.reshape(x.shape[0] // 3, 3, 12)


def counted(n):
    count = n.item()
    torch._check(count >= 1)
    return torch.zeros(count) + 1


X, I = torch.randn(4, 10, 12), torch.tensor([1, 3, 2, 0])
ROWS = {0: AUTO, 1: AUTO}
PROGRAMS = [
    (slices, (X,), (ROWS,)),
    (joins, (X,), (ROWS,)),
    (indices, (X, I), (ROWS, {0: AUTO})),
    (unknown, (X, I), (ROWS, {0: AUTO})),
    (halves, (X,), (ROWS,)),
    (pyramid, (torch.randn(2, 3, 32, 40),), ({0: AUTO, 2: AUTO, 3: AUTO},)),
    (triples, (torch.randn(6, 12),), ({0: 3 * Dim("b")},)),
    (counted, (torch.tensor(4),), (None,)),
]


class Program(torch.nn.Module):
    def __init__(self, run):
        super().__init__()
        self.run = run

    def forward(self, *args):
        return self.run(*args)


for run, args, sizes in PROGRAMS:
    exported = torch.export.export(Program(run), args, dynamic_shapes={"args": sizes})
    core = exported.run_decompositions()
    for node in core.graph.nodes:  # where the program was written is nobody's business
        node.meta.pop("stack_trace", None)
    torch.export.save(core, os.path.join(sys.argv[1], run.__name__ + ".pt2"))
