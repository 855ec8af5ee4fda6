"""Operators without a kernel on the official runtime, as they are expanded: each program is
exported, lowered with the target executorch and with sconce, run by the official runtime and by
this one, and compared with what PyTorch computes."""

import expanded_edges
import expanded_halves
import expanded_names
import expanded_numeric
import expanded_open
import expanded_special
import torch
import torch.nn.functional as F
from programs import Fn

NAN, INF = float("nan"), float("inf")


def floats(*shape):
    return torch.randn(shape)


def whole(high, *shape, low=0):
    return torch.randint(low, high, shape)


SPECIAL = torch.tensor([2.0, NAN, -1.0, 0.0, -0.0, NAN, INF, 2.0, -INF, -1.0])
DEPTH = torch.export.Dim("depth", min=2, max=12)
ROWS = torch.export.Dim("rows", min=1, max=9)


def embedding(mode):
    return torch.nn.EmbeddingBag(10, 4, mode=mode, padding_idx=3)


def statistics(x):
    """Expansions for both runtimes, and those into calls that only one of them has."""
    q, holes = torch.tensor([0.1, 0.5, 0.9]), torch.where(x > 1, torch.full_like(x, NAN), x)
    for how in ("linear", "lower", "higher", "midpoint", "nearest"):
        of = Fn(lambda x, q, how=how: x.quantile(q, 1, interpolation=how))
        yield f"quantile {how}", of, (x, q), None
    yield "quantile nan", Fn(lambda x: (x.quantile(0.3), x.nanquantile(0.3, 1))), (holes,), None
    yield "quantile dynamic", Fn(lambda x, q: x.quantile(q, 0)), (x, q), ({0: ROWS}, None)
    yield "msort", Fn(lambda x: (x.msort(), torch.msort(x.int()))), (x,), None
    yield "histc", Fn(lambda x: (x.histc(7, -1, 1), x.histc(5))), (x,), None
    counts = torch.tensor([2, 0, 3])
    repeat = Fn(lambda x, n: x.repeat_interleave(n, 0, output_size=5))
    yield "repeat_interleave", repeat, (x, counts), None
    select = Fn(lambda x, m: (x.masked_select(m), x.masked_select(m) * 2))
    mask = torch.tensor([[True, False, True]] * 4)
    yield "masked_select upward", select, (floats(3), mask), None
    yield "renorm", Fn(lambda x: x.renorm(2, 0, 1.5)), (x,), None
    triangle = Fn(lambda x: (torch.tril_indices(4, 5, 1) + x, torch.triu_indices(4, 5, -1) + x))
    yield "tril_indices", triangle, (whole(3, 1),), None
    places = torch.tensor([[[[0, 2], [8, 15]]]])
    unpool = Fn(lambda x, i: F.max_unpool2d(x, i, 2))
    yield "max_unpool2d", unpool, (floats(1, 1, 2, 2), places), None
    multiply = Fn(lambda x, i, s: x.scatter(0, i, s, reduce="multiply"))
    yield "scatter multiply", multiply, (floats(4, 3), whole(4, 6, 3), floats(6, 3)), None
    losses = Fn(
        lambda x, y, z, t: (
            F.triplet_margin_loss(x, y, z),
            F.multi_margin_loss(x, t),
            F.cross_entropy(x, t, label_smoothing=0.1),
            F.poisson_nll_loss(x, y),
        )
    )
    yield "losses", losses, (x, floats(3, 17), floats(3, 17), whole(17, 3)), None


def scattered_extremes():
    """NaN among infinities, integers to their bounds, along the last dim, from open sizes."""
    low, high = -(2**63), 2**63 - 1
    ends = torch.tensor([[low, high, 0, -1, low, 5]])
    index, x = torch.tensor([[0, 0, 1, 1, 2, 4]]), torch.tensor([[2.0, NAN, INF, -INF, 0.5, -1]])
    for how in ("amax", "amin"):
        for own in (True, False):

            def reduce(x, i, s, how=how, own=own):
                return x.scatter_reduce(1, i, s, how, include_self=own)

            case = f"scatter {how} {'with' if own else 'without'} self"
            yield case, Fn(reduce), (floats(1, 7), index, x), None
            yield f"{case}, integers", Fn(reduce), (whole(9, 1, 7), index, ends), None
        joined = Fn(lambda x, i, s, how=how: x.scatter_reduce(0, i, s, how))
        sizes = {0: ROWS}
        given = floats(4, 3), whole(4, 6, 3), floats(6, 3)
        yield f"scatter {how} dynamic", joined, given, (None, sizes, sizes)


def experts():
    """Each form of the expansion: few rows, all products at once, one after the other. PyTorch
    exports bfloat16 only; small whole numbers and their sums are exact in it."""
    few, many = torch.tensor([1, 1, 3], dtype=torch.int32), torch.arange(64, dtype=torch.int32)

    def multiply(x, w, ends):
        return F.grouped_mm(x.bfloat16(), w.bfloat16().transpose(1, 2), offs=ends).float()

    def inputs(rows, k, n, ends):
        x, w = whole(3, rows, k, low=-2), whole(3, len(ends), n, k, low=-2)
        return x.float(), w.float(), ends

    yield "grouped_mm few", Fn(multiply), inputs(3, 8, 16, few), None
    yield "grouped_mm all", Fn(multiply), inputs(24, 8, 16, few * 8), None
    yield "grouped_mm many", Fn(multiply), inputs(80, 8, 24, many + 17), None
    dynamic = {0: ROWS}, None, None
    yield "grouped_mm dynamic", Fn(multiply), inputs(4, 8, 16, few + 1), dynamic


def cases():
    """name: (module or function, inputs, dynamic shapes or None)"""
    x3, rows = floats(2, 4, 5, 6, 7), floats(3, 17)
    table = whole(10, 9), torch.tensor([0, 0, 4])
    yield "conv3d", torch.nn.Conv3d(4, 6, 3, (1, 2, 1), (1, 0, 2)), (x3,), None
    yield "conv3d groups", torch.nn.Conv3d(4, 8, (3, 1, 2), 2, 1, 1, groups=2), (x3,), None
    yield "conv3d batch", torch.nn.Conv3d(4, 6, 3), (x3,), ({0: ROWS},)
    yield "conv3d transposed", torch.nn.ConvTranspose3d(4, 6, 3, 2, 1, 1), (x3,), None
    yield "max_pool3d", Fn(lambda x: F.max_pool3d(x, 3, 2, 1, return_indices=True)), (x3,), None
    yield "max_pool3d ceil", Fn(lambda x: F.max_pool3d(x, 2, 3, 1, ceil_mode=True)), (x3,), None
    yield "avg_pool3d", Fn(lambda x: F.avg_pool3d(x, 3, 2, 1, True, False)), (x3,), None
    flat = {"divisor_override": 3}, {"padding": (0, 1, 1), "count_include_pad": False}
    for i, how in enumerate(flat):
        planes = Fn(lambda x, how=how: F.avg_pool3d(x, (1, 2, 3), (1, 2, 1), **how))
        yield f"avg_pool3d planes {i}", planes, (x3,), None
    yield "adaptive_avg_pool3d", Fn(lambda x: F.adaptive_avg_pool3d(x, (2, 4, 3))), (x3,), None
    yield (
        "adaptive_max_pool3d",
        Fn(lambda x: F.adaptive_max_pool3d(x, (2, 4, 3), return_indices=True)),
        (x3,),
        None,
    )
    yield (
        "adaptive_max_pool2d",
        Fn(lambda x: F.adaptive_max_pool2d(x, (3, 7), return_indices=True)),
        (x3[0].to(memory_format=torch.channels_last),),
        None,
    )
    for name, x in (("floats", rows), ("special", SPECIAL), ("integers", whole(5, 3, 20))):
        yield f"sort {name}", Fn(lambda x: torch.sort(x, stable=True)), (x,), None
        yield f"argsort {name}", Fn(lambda x: x.argsort(stable=True, descending=True)), (x,), None
        yield f"cummax {name}", Fn(lambda x: (x.cummax(-1), x.cummin(-1))), (x,), None
        # PyTorch leaves open how it orders NaNs, and of many equals which is the mode's.
        yield f"mode {name}", Fn(lambda x: torch.mode(x, -1)[0]), (x.nan_to_num(),), None
    yield "sort dynamic", Fn(lambda x: torch.sort(x, dim=0, stable=True)), (rows,), ({0: ROWS},)
    yield "sort bool", Fn(lambda x: torch.sort(x, stable=True)), (rows > 0,), None
    yield "median", Fn(lambda x: (x.median(), x.median(1), x.kthvalue(5, 1))), (rows,), None
    yield (
        "median nan",
        Fn(lambda x: (x.median(0), x.nanmedian(0), x.nanmedian())),
        (SPECIAL,),
        None,
    )
    yield "mode dynamic", Fn(lambda x: torch.mode(x, 0)[0]), (whole(3, 6, 4),), ({0: ROWS},)
    yield from statistics(rows)
    unique = Fn(lambda x: torch.unique(x, return_inverse=True, return_counts=True))
    yield "unique", unique, (whole(4, 9),), None
    counted = Fn(lambda x: torch.unique(x, return_counts=True))
    yield "unique with counts alone", counted, (whole(4, 9),), None
    alone = Fn(
        lambda x: (x.sum(-1), x.sum(0, True), x.cumsum(0), x.unfold(0, 1, 1), x.logsumexp(0))
    )
    for dtype in (torch.float32, torch.float64):
        yield f"no dims {dtype}", alone, (torch.tensor(3.5, dtype=dtype),), None
    wholes = Fn(lambda x: (x.sum(-1), x.cumsum(-1), x.sum(0, dtype=torch.float32)))
    yield "no dims, integer", wholes, (torch.tensor(7),), None
    empty = Fn(lambda x: (x.logsumexp(-1), x.log_softmax(1), x.softmax(-1), x.logsumexp(0, True)))
    yield "nothing in rows", empty, (torch.zeros(3, 0),), None
    yield "cumprod", Fn(lambda x: (x.cumprod(1), x.long().cumprod(0))), (rows,), None
    yield "logcumsumexp", Fn(lambda x: x.logcumsumexp(0)), (rows,), None
    edges = torch.tensor([-1.0, 0.0, 0.5, 0.5, 2.0])
    yield (
        "searchsorted",
        Fn(lambda e, x: torch.searchsorted(e, x, right=True)),
        (edges, rows),
        None,
    )
    yield "bucketize", Fn(lambda e, x: torch.bucketize(x, e, out_int32=True)), (edges, rows), None
    for how in ("sum", "prod", "mean", "amax", "amin"):
        yield (
            f"scatter_reduce {how}",
            Fn(
                lambda x, i, s, how=how: x.scatter_reduce(0, i, s, how, include_self=how != "mean")
            ),
            (floats(4, 3), whole(4, 6, 3), floats(6, 3)),
            None,
        )
    yield from scattered_extremes()
    for mode in ("sum", "mean", "max"):
        yield f"embedding_bag {mode}", embedding(mode), table, None
    yield from experts()
    aten, x4 = torch.ops.aten, x3[:, :3, 0].clone()
    drawn, holes = torch.rand(2, 3, 2), torch.where(x4 > 1, torch.full_like(x4, NAN), x4)
    pool = Fn(lambda x, u: aten.fractional_max_pool2d(x, [3, 2], [3, 4], u))
    yield "fractional_max_pool2d", pool, (x4, drawn), None
    yield "fractional_max_pool2d nan", pool, (holes, drawn), None
    pool = Fn(lambda x, u: aten.fractional_max_pool3d(x, [2, 3, 1], [3, 1, 4], u))
    yield "fractional_max_pool3d", pool, (x3, torch.rand(*x3.shape[:2], 3)), None
    renorm = Fn(lambda x, i: aten.embedding_renorm(x, i, 1.5, 1.0))
    yield "embedding_renorm", renorm, (floats(6, 4), torch.tensor([[1, 4], [4, 0]])), None
    yield "where of one", Fn(lambda x: torch.where(x > 0)), (floats(3, 4),), None
    yield "bilinear", torch.nn.Bilinear(3, 4, 5), (floats(2, 3), floats(2, 4)), None
    yield "round", Fn(lambda x: (x.round(decimals=2), (x * 100).round(decimals=-1))), (rows,), None
    yield (
        "exp2, angle",
        Fn(lambda x: (x.exp2(), x.angle())),
        (torch.cat([rows[0], SPECIAL]),),
        None,
    )
    yield "copysign", Fn(lambda x, y: (x.copysign(y), x.hypot(y))), (rows, rows.flip(1)), None
    yield (
        "shifts",
        Fn(lambda x, n: (x << n, x >> n, x << 3, x >> 2, x % 7, x % -5)),
        (whole(100, 4, 5, low=-100), whole(70, 4, 5)),
        None,
    )
    yield "cropped", Fn(lambda x: F.pad(x, (-1, 2, -2, -1), value=3.0)), (rows,), None
    yield "empty", Fn(lambda x: torch.empty_like(x.t()).copy_(x.t()) * 2), (rows,), None
    yield "randperm", Fn(lambda x: torch.sort(torch.randperm(9))[0] + x), (whole(5, 9),), None
    for name, function, inputs in (*expanded_names.cases(), *expanded_special.cases()):
        yield name, Fn(function), inputs, None
    yield from expanded_numeric.cases()
    yield from expanded_open.cases()
    yield from expanded_edges.cases()
    yield from expanded_halves.cases()
