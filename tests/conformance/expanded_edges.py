"""Numbers at their edges: infinite pixels and matrices, remaining rows, and empty tensors. A
dynamic size may also be 0 when the program runs. See expanded.py."""

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
    many = torch.cat([x, x.flip(1), x * 2, x - 1], 1)
    bins = Of(lambda x, r: [ops.ps_roi_align(x, r, 0.7, 3, 2, n) for n in (1, 2, 3, 5)])
    yield "ps_roi_align of odd pixels", bins, (many, rois), None
    yield "ps_roi_align of odd pixels double", bins, (many.double(), rois.double()), None
    weight, bias = torch.eye(3)[:, :, None, None].clone(), torch.zeros(3)
    offset, mask = torch.randint(-4, 5, (2, 2, 8, 9)) / 2, torch.rand(2, 1, 8, 9)
    offset[0, :, 3] -= 1e-9  # too little to count
    mask[0, 0, 0] = 0
    deform = Of(lambda x, w, o, m, b: [
        ops.deform_conv2d(x, w, o, m, b, 1, 1, 0, 0, 1, 1, 1, 1, use) for use in (True, False)
    ])  # fmt: skip
    yield "deform_conv2d of odd pixels", deform, (x, weight, offset, mask, bias), None


def boxes_of(count):
    """Each hides a part of the next ones, as far as it is left itself; some are odd."""
    low = torch.arange(count)[:, None] * 0.3 + torch.rand(count, 2)
    boxes = torch.cat([low, low + 1 + torch.rand(count, 2)], 1)
    boxes[3], boxes[5], boxes[7, 2] = NAN, 0, INF
    return boxes[torch.randperm(count)]


def hidden_boxes():
    nms = Of(lambda x, s: [torch.ops.torchvision.nms(x, s, above) for above in (0.0, 0.2, 0.5)])
    few, many = torch.export.Dim("few", max=200), torch.export.Dim("many", max=400)
    for name, count, dim in (("few", 90, few), ("many", 300, many)):
        inputs = [(boxes_of(n), torch.rand(n).round(decimals=2)) for n in (count, 8, count + 40)]
        yield f"nms of {name}", nms, inputs[0], None
        yield f"nms of {name} double", nms, tuple(x.double() for x in inputs[0]), None
        yield f"nms of {name} dynamic", nms, inputs, ({0: dim}, {0: dim})
    chain = torch.arange(120.0)[:, None] * torch.tensor([1.0, 0, 1, 0])
    chain = chain + torch.tensor([0.0, 0, 2, 1]), 1 - torch.arange(120.0) / 120
    yield "nms of a chain", nms, chain, None  # as many turns as there are boxes


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
    zeros = torch.tensor([0.0, -0.0, -0.0], dtype=torch.float64)
    both = Of(lambda x, y: torch.hypot(x, y).reciprocal())
    yield "hypot of zeros", both, (zeros, zeros.roll(1)), None
    tens = Of(lambda x: ((x * 1e6).round(decimals=-3) / 1e16 - 1).sign())
    yield "round of large", tens, (torch.tensor([1e10, 1.1e10]),), None
    scale, zero = torch.tensor([0.1, 0.3]), torch.tensor([3, -2], dtype=torch.int32)
    steps = Of(lambda x, s, z: (
        torch.fake_quantize_per_tensor_affine(x, 0.1, 3, -8, 7),
        torch.fake_quantize_per_tensor_affine(x, s[0], z[0], -8, 7),
        torch.fake_quantize_per_channel_affine(x[6:10].view(2, 2), s, z, 0, -8, 7),
    ))  # fmt: skip
    yield "fake_quantize of odd numbers", steps, (x, scale, zero), None
    least = torch.tensor([-128, 0, 6, -128, 64, 127, 1, 96, -1])
    for dtype in (torch.int8, torch.int16):
        ends = least.to(dtype) * (1 if dtype == torch.int8 else 256)
        divisors = Of(lambda a: (torch.gcd(a[:, None], a), torch.lcm(a[:, None], a)))
        yield f"divisors of {dtype}", divisors, (ends,), None
    factors = Of(lambda a: [la.svd(a), la.svd(a.mT), la.qr(a)])
    yield "factors of no columns", factors, (torch.zeros(2, 3, 0),), None
    solved = Of(lambda a: (la.inv_ex(a), la.cholesky_ex(a), la.lu_factor_ex(a), la.solve_ex(a, a)))
    yield "systems of nothing", solved, (torch.zeros(3, 0, 0),), None


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
    moved = Of(lambda x: (x << x.shape[0], x >> x.shape[0], F.pad(x, (-1, 0, 0, x.shape[0]))))
    moved_rows = [(torch.randint(-99, 99, (n, 3)),) for n in (6, 2, 70)]
    yield "shifts and padding by a size", moved, moved_rows, ({0: Dim("far", min=2, max=80)},)

    def drawn(x):
        rows = torch.randint(x.shape[0], (300,))
        least = torch.randint(-(2**53), -(2**53) + 3, (300,)) + 2**53
        return [(n >= 0, n.amax() + x[0] * 0, n.amin()) for n in (rows, least)]

    drawn_of = [(torch.zeros(n, dtype=torch.int64),) for n in (3, 2)]
    yield "randint below a size", Of(drawn), drawn_of, ({0: Dim("few", min=2, max=3)},)


def items():
    """Numbers that are floats when the program runs, as Python computes with them."""
    x = torch.tensor([1.0, -2.0, 0.5])
    rest = Of(lambda x, f: (x * (f.item() % 3), x * (f.item() % -3)))
    most = Of(lambda x, f: (x * torch.sym_max(f.item(), 0.0), x * torch.sym_min(f.item(), 2)))
    odd = (4.25, -4.25, 3.0, -3.0, 0.0, -0.0, 1e30, -1e-30, INF, NAN)
    for name, f in (("remainders", rest), ("extremes", most)):
        yield f"{name} of items", f, [(x, torch.tensor(y)) for y in odd], (None, None)
    by = Of(lambda x, f: (x * (3.0 % f.item()), x * (-7.5 % f.item())))
    given = [(x, torch.tensor(y)) for y in (2.5, -2.5, 0.1, 1.5, INF, -INF, NAN)]
    yield "remainders by items", by, given, (None, None)


def chosen_rows():
    """As many as the data says, which may be none."""
    some = torch.tensor([[0.7, NAN, 2], [0.1, 0, 1], [0.9, -INF, 5], [0.6, 2, 2]])
    given = [(some,), (some - 1,), (some[:1].repeat(4, 1),), (some.clamp(0.2, 0.4),)]

    def taken(x):
        rows = x[x[:, 0] > 0.5]
        torch._check(rows.shape[0] <= 12)
        return rows

    def extremes(x):
        x = taken(x)
        both = x.amax(1), x.amin(1, True), x[:, None].amax((-1, 1)), x.aminmax(dim=1)
        return *both, x.nan_to_num(1, 2, 3).int().amin(1), x.max(1), x.argmin(1), x.norm(INF, 1)

    def softmaxes(x):
        x, y = taken(x), taken(x)[None].double()
        return x.softmax(0), x.log_softmax(0), x.log_softmax(1), y.log_softmax(1), y.log_softmax(2)

    def sums(x):
        x = taken(x)
        return x.mean(1), x.var(1), x.prod(1), x.sum(0), x.prod(0), (x > 0).any(1), (x > 0).all(0)

    for f in (extremes, softmaxes, sums):
        yield f"{f.__name__} of chosen rows", Of(f), given, (None,)


def halves():
    """Numbers that are rounded before half precision computes with them, and those that are not."""
    head = torch.tensor([0.3, -0.3, 0.6, 7.34375, -2.34375, 7.34765625])
    x, y, third = torch.cat([head, torch.randn(58) * 3]), torch.randn(64), torch.tensor(0.3)

    def rests(x, y):
        for s in (0.3, -0.7):
            yield from (x.remainder(s), torch.fmod(x, s), x.abs().pow(s), torch.pow(abs(s), x))
        yield from (x.remainder(third), torch.fmod(x, third), torch.hypot(x, third))

    def tests(x, y):
        for s in (0.3, third, 257):
            yield from (x > s, x >= s, x < s, x <= s, x == s, x != s)

    def sums(x, y):
        yield from (x + 0.3, x - 0.3, 0.3 - x, x + third, third - x, x * 0.3, x / 0.3, third * x)
        x, y = x.round(), y.round()
        yield from (torch.add(x, y, alpha=0.3), torch.sub(x, y, alpha=0.7), x.lerp(y, 0.7))

    def edges(x, y):
        yield from (F.softshrink(x, 0.3), F.hardshrink(x, 0.3), F.threshold(x, 0.3, 1.7))
        yield from (x.round(decimals=n) for n in (1, 2, 5, -1))

    for dtype in (torch.float16, torch.bfloat16):
        for f in (rests, tests, sums, edges):

            def run(x, y, f=f, dtype=dtype):
                outs = f(x.to(dtype), y.to(dtype))
                return [o if o.dtype == torch.bool else o.float() for o in outs]

            yield f"{f.__name__} of {str(dtype)[6:]} with numbers", Of(run), (x, y), None


def quotients():
    """Rounded down: by 0, of infinities and NaN, and with the sign of what is 0."""
    ends = [0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 7.0, INF, -INF, NAN, 1e30, -1e-30, 0.1, 0.3]

    def shown(r):
        # A zero's sign is that of its reciprocal.
        return r, torch.where(r.isnan(), torch.zeros_like(r), 1 / r)

    def divided(x, y):
        yield from (*shown(x // y), *shown(torch.div(y, x, rounding_mode="floor")))
        for s in (0.0, -0.0, 0.3, -2, INF):
            yield from shown(x // s)
        yield from shown(1.0 // y)

    for dtype in (torch.float16, torch.float32, torch.float64):
        x = torch.tensor(ends, dtype=dtype)
        both = x[:, None].repeat(1, 14), x[None].repeat(14, 1)
        yield f"floor division {dtype}", Of(lambda x, y: list(divided(x, y))), both, None
    mixed = torch.arange(-4, 4), torch.tensor([0.5, -0.3, 0.0, 2.0, 0.0, -1.0, INF, 0.7])
    yield "floor division of integers", Of(lambda x, y: (x // y, x // 0.3)), mixed, None


def joined():
    """Several dtypes, of the same width and others."""
    t = torch
    pairs = [
        (t.int32, t.float32), (t.int64, t.float64), (t.int16, t.float16), (t.uint8, t.bool),
        (t.int8, t.uint8), (t.float32, t.float16), (t.int64, t.float32),
    ]  # fmt: skip

    def join(x, y):
        return t.cat([x, y]), t.hstack([y, x]), t.stack([x, y]), t.cat([x, y, x], 1)

    for one, other in pairs:
        x = t.arange(6).reshape(2, 3)
        yield f"cat of {one} and {other}", Of(join), (x.to(one), (x - 1).to(other)), None
    low = Of(lambda x: [y.float() for y in join(x.half(), x.bfloat16())])
    few = Of(lambda x: [y.float() for y in join(x.bfloat16(), x.short())])
    yield "cat of halves", low, (torch.arange(6.0).reshape(2, 3),), None
    yield "cat of bfloat16 and integers", few, (torch.arange(6.0).reshape(2, 3),), None


def truths():
    index = torch.tensor([0, 0, 1, 2, 2, 2, 4])
    given = torch.tensor([True, False, False, True, True]), index, index % 2 == 0
    for how in ("amax", "amin", "sum", "prod"):
        for own in (True, False):

            def reduce(x, i, s, how=how, own=own):
                return x.scatter_reduce(0, i, s, how, include_self=own)

            yield f"scatter {how} of truths {own}", Of(reduce), given, None


def cases():
    yield from quotients()
    yield from joined()
    yield from truths()
    yield from halves()
    yield from numbers()
    yield from chosen_rows()
    yield from items()
    yield from sizes()
    extension.declare_alone()
    yield from regions()
    yield from hidden_boxes()
    yield from matrices()
    yield from nothing()
    for name, *case in left_open():
        yield f"open {name}", *case
    yield from left_over()
