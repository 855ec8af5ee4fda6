"""Numbers at their edges: infinite pixels and matrices, rows that are left over, and nothing at
all, also where a size that was left open is 0 when the program runs. See expanded.py."""

import torch
import torch.nn.functional as F
from families import extension
from programs import Fn as Of
from torch.export import Dim

NAN, INF = float("nan"), float("inf")
NONE_OR_MORE = Dim("none_or_more", min=0, max=9)
la = torch.linalg


def odd_pixels(*shape):
    """Beside numbers that take everything from others."""
    x = torch.randn(shape)
    x[0, 0, 3, 4], x[0, 1, 2, 2], x[1, 0, 0, 0], x[1, 1, -1, -1] = INF, NAN, INF, -INF
    x[0, 2, 5, 5], x[0, 2, 5, 6], x[0, 2, 4, 5] = 1e8, 1, -1e8
    return x


def regions():
    extension.declare_alone()
    ops, x = torch.ops.torchvision, odd_pixels(2, 3, 8, 9)
    rois = [[0, 1.3, 2.2, 6.1, 7.7], [1, -3, -3, 12, 11], [1, 0, 0, 0.5, 0.4], [0, 8, 7, 30, 40],
            [0, 2, 3, 2, 3], [0, -1.5, -1.5, 0.5, 0.5], [0, 1, 1, NAN, 4]]  # fmt: skip
    rois = torch.tensor(rois)
    align = Of(lambda x, r: [
        ops.roi_align(x, r, 0.7, 3, 2, n, aligned)
        for n in (1, 2, 3, 5) for aligned in (True, False)
    ])  # fmt: skip
    yield "roi_align of odd pixels", align, (x, rois), None
    yield "roi_align of odd pixels double", align, (x.double(), rois.double()), None
    weight, bias = torch.eye(3)[:, :, None, None].clone(), torch.zeros(3)
    offset, mask = torch.randint(-4, 5, (2, 2, 8, 9)) / 2, torch.rand(2, 1, 8, 9)
    offset[0, :, 3] -= 1e-9  # too little to count
    mask[0, 0, 0] = 0
    deform = Of(lambda x, w, o, m, b: [
        ops.deform_conv2d(x, w, o, m, b, 1, 1, 0, 0, 1, 1, 1, 1, use) for use in (True, False)
    ])  # fmt: skip
    yield "deform_conv2d of odd pixels", deform, (x, weight, offset, mask, bias), None


def matrices():
    first = torch.tensor([[1, 2, INF], [3, 4, 5], [5, 6, 7]])
    second = torch.tensor([[4, INF, 2], [1, 4, 5], [2, 6, 7]])
    last = torch.tensor([[0, INF, 1], [0, 1, 2], [0, 3, 4]])
    several = torch.stack([first, second, last])
    yield "lu of infinite", Of(lambda a: (la.lu_factor_ex(a), la.lu(a))), (several,), None
    heads = [[[0.0, 1], [1, 2]], [[-0.0, 1], [1, 2]], [[-0.0, 1], [-1, 2]], [[-0.0, 1], [0, 2]]]
    yield "qr of zeros", Of(lambda a: la.qr(a, "complete")), (torch.tensor(heads),), None
    for dtype, near in ((torch.float32, 1e-5), (torch.float64, 1e-12)):
        a = torch.randn(4, 1, dtype=dtype) @ torch.randn(1, 4, dtype=dtype)
        one, scale = torch.eye(4, dtype=dtype), float(a.abs().max())

        def again(a, s, one=one, scale=scale, near=near):
            (u, w, v), (q, r), (e, z) = la.svd(a), la.qr(a), la.eigh(s)
            wrong = ((u * w) @ v - a) / scale, u.mT @ u - one, v @ v.mT - one, w[1:] / scale
            wrong += (q @ r - a) / scale, q.mT @ q - one
            wrong += ((z * e) @ z.mT - s) / scale**2, z.mT @ z - one
            return [x.abs().max() < near for x in wrong]

        yield f"factors of rank one {dtype}", Of(again), (a, a @ a.mT), None


def nothing():
    """Static sizes of 0."""
    for sizes in ((0, 3), (3, 0), (0, 0)):
        norms = Of(lambda x: [
            la.matrix_norm(x, order) for order in ("fro", "nuc", 1, 2, INF)
        ] + [la.vector_norm(x, order) for order in (0, 1, 2, 3)])  # fmt: skip
        yield f"norms of nothing {sizes}", norms, (torch.zeros(sizes),), None
    x = torch.zeros(0, 3)
    yield "norms of no rows", Of(lambda x: [
        la.vector_norm(x, order, 1) for order in (INF, -INF, 2, 1)
    ]), (x,), None  # fmt: skip
    no_matrices = Of(lambda x: [la.matrix_norm(x, order) for order in ("nuc", 2, 1, INF)])
    yield "norms of no matrices", no_matrices, (torch.zeros(0, 3, 2),), None
    runs = Of(lambda x: (
        torch.unique_consecutive(x, return_inverse=True, return_counts=True),
        torch.unique(x, return_inverse=True, return_counts=True),
    ))  # fmt: skip
    yield "unique of nothing", runs, (torch.zeros(0),), None
    yield "unique of no rows", Of(lambda x: torch.unique(x, dim=0)), (x,), None


def left_open():
    """name, function, inputs of the export and others, dynamic sizes of the export."""
    x, y = torch.randn(4, 3), torch.randint(0, 3, (4, 2))
    open_rows = ({0: NONE_OR_MORE},)
    sums = Of(lambda x: (x.logsumexp(0), x.logsumexp(0, True), x.logsumexp((0, 1))))
    for dtype in (torch.float32, torch.float64, torch.float16):
        few = x[:1].to(dtype), torch.full((2, 3), -INF, dtype=dtype), x[:0].to(dtype)
        yield f"logsumexp {dtype}", sums, [(x.to(dtype),), *((a,) for a in few)], open_rows
    norms = Of(lambda x: (la.matrix_norm(x, 1), la.vector_norm(x, 2, 0), la.matrix_norm(x)))
    yield "norms", norms, [(x,), (x[:1],), (x[:0],)], open_rows
    for name, f in (("unique", torch.unique), ("unique_consecutive", torch.unique_consecutive)):
        found = Of(lambda x, f=f: f(x, return_inverse=True, return_counts=True))
        yield name, found, [(y,), (y[:1],), (y[:0],)], open_rows
    rows = Of(lambda x: torch.unique(x, dim=0))
    yield "unique rows", rows, [(y,), (y[:1],), (y[:0],)], open_rows
    runs = Of(lambda x: (*x.cummax(0), *x.cummin(0), x.cumprod(0), x.logcumsumexp(0)))
    yield "scans", runs, [(x,), (x[:1],), (x[:0],)], open_rows
    products = Of(lambda x, i, s: x.scatter_reduce(0, i, s, "prod"))
    given = [(x, torch.randint(0, 3, (n, 1)), torch.randn(n, 1)) for n in (4, 1, 0)]
    yield "scatter_reduce prod", products, given, (None, *open_rows, *open_rows)
    two = Dim("two", min=2, max=16)
    parts = [torch.tensor([0, -0.0, 0, 3, INF]), torch.tensor([0, 0, -1, 4, 1])]
    for dtype in (torch.float32, torch.float64):
        pairs = [tuple(p.to(dtype)[at] for p in parts) for at in (slice(4), slice(1, 5), slice(2))]
        logs = Of(lambda z, y: torch.view_as_real(torch.log(torch.complex(z, y))))
        yield f"infinite complex {dtype}", logs, pairs, ({0: two}, {0: two})


def left_over():
    """Rows behind the last segment."""
    for how in ("sum", "mean", "max", "min", "prod"):
        runs = Of(lambda x, n, how=how: [
            torch.segment_reduce(x, how, lengths=n, unsafe=True, initial=initial)
            for initial in (None, 1.5)
        ])  # fmt: skip
        inputs = torch.randn(7, 3), torch.tensor([2, 0, 3])
        yield f"segment_reduce {how} of some rows", runs, inputs, None


def numbers():
    """Single ones, on whose sign or last digit kernels differ."""
    x = torch.tensor([0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 0.5, 2.5, -2.5, 1e-40, 3e38])
    for dtype in (torch.float16, torch.float32, torch.float64):
        yield f"roots {dtype}", Of(lambda x: (x**0.5, x**-0.5)), (x.to(dtype),), None
    # A 0 is as it comes by what it divides.
    signs = Of(lambda x, y: (x.copysign(y).reciprocal(), x.copysign(-0.0).reciprocal()))
    yield "copysign of zeros", signs, (torch.tensor([0.0, -0.0, 0.0, -0.0, 1.0]), x[:5]), None
    tens = Of(lambda x: ((x * 1e6).round(decimals=-3) / 1e16 - 1).sign())
    yield "round of large", tens, (torch.tensor([1e10, 1.1e10]),), None
    factors = Of(lambda a: [la.svd(a), la.svd(a.mT), la.qr(a)])
    yield "factors of no columns", factors, (torch.zeros(2, 3, 0),), None


def sizes():
    """Remainders of sizes, which are Python's: of the sign of what divides."""
    wide = torch.export.Dim("wide", min=2, max=40)
    whole = Of(lambda x: (F.pad(x, (0, -x.shape[1] % 8)), x.sum() * ((3 - x.shape[1]) % -5)))
    widths = [(torch.randn(2, n),) for n in (5, 8, 13, 2)]
    yield "remainders of sizes", whole, widths, ({1: wide},)
    turns = Of(lambda x: (x.roll(5, 0), x.roll((-9, 2), (0, 1)), x.roll(7)))
    heights = [(torch.randn(n, 3),) for n in (6, 2, 1, 0)]
    yield "roll by more than there are", turns, heights, ({0: NONE_OR_MORE},)
    yield "roll of known size", turns, (torch.randn(2, 3),), None


def cases():
    yield from numbers()
    yield from sizes()
    yield from regions()
    yield from matrices()
    yield from nothing()
    for name, *case in left_open():
        yield f"open {name}", *case
    yield from left_over()
