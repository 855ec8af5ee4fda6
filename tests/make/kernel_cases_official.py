"""Kernel cases of what the official runtime lacks: expansions and our kernels are held to them."""
import torch

from kernel_case_writer import *  # noqa: F403


def special(*values):
    return torch.tensor(values)


CONV = (1e-4, 1e-5)


def convolutions():
    # depth, kernel, stride, padding, dilation, output padding, groups
    rows = [
        (5, (3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1), (0, 0, 0), 1),
        (5, (2, 1, 3), (2, 1, 2), (1, 0, 1), (2, 1, 1), (1, 0, 1), 2),
        (4, (1, 2, 2), (1, 2, 2), (0, 0, 0), (1, 1, 1), (0, 1, 0), 1),
        (3, (3, 1, 1), (3, 1, 1), (2, 0, 0), (1, 1, 1), (2, 0, 0), 2),
        (1, (2, 2, 2), (1, 1, 1), (1, 1, 1), (1, 1, 1), (0, 0, 0), 4),
    ]
    for depth, kernel, stride, padding, dilation, more, groups in rows:
        x = make((1, 4, depth, 3, 4), F32)
        w = make((4, 4 // groups, *kernel), F32, -1, 1)
        for bias in (make((4,), F32), None):
            case(aten.convolution.default, x, w, bias, stride, padding, dilation, False, [0],
                 groups, tol=CONV)
        w = make((4, 8 // groups, *kernel), F32, -1, 1)
        case(aten.convolution.default, x, w, make((8,), F32), stride, padding, dilation, True, more,
             groups, tol=CONV)
    x, w = make((1, 2, 3, 4, 4), F64), make((2, 2, 2, 2, 2), F64)
    case(aten.convolution.default, x, w, None, [1], [0], [1], False, [0], 1)


def pools():
    for dtype in (F32, F16, I64, U8):
        base = make((2, 2, 4, 5, 6), dtype)
        lowest = torch.full_like(base, -INF) if dtype in FLOATS else base.clone()
        lowest[0, 0, 2, 3, 3] = 1
        with_nan = base.clone()
        if dtype in FLOATS:
            with_nan[0, 1, 2, 2:4, 1:5] = NAN
            with_nan[0, 0, 0, 0, 0] = NAN
        for x in (base, lowest[0], with_nan[0]):
            for k, s, p, d, c in [
                ([2], [], [0], [1], False),
                ([3, 2, 3], [2, 1, 2], [1, 1, 0], [1, 1, 2], False),
                ([2, 3, 2], [2, 2, 3], [1, 1, 1], [2, 1, 1], True),
                ([1, 3, 1], [1], [0, 1, 0], [1], True),
            ]:
                case(aten.max_pool3d_with_indices.default, x, k, s, p, d, c, match=False)
            if dtype in FLOATS:
                case(aten.adaptive_max_pool3d.default, x, [2, 4, 3], match=False)
                case(aten.adaptive_max_pool2d.default, x[0], [4, 3], match=False)
                case(aten.adaptive_max_pool2d.default, x[0], [3, 7], match=False)
                case(aten.adaptive_max_pool2d.default, x[0], [1, 1], match=False)
        if dtype != F32:
            continue
        for k, s, p, c, i, o in [
            ([2], [], [0], False, True, None),
            ([3, 2, 3], [2, 1, 2], [1, 1, 0], True, True, None),
            ([3, 2, 3], [2, 1, 2], [1, 1, 0], True, False, None),
            ([2, 3, 2], [2, 2, 3], [1, 1, 1], True, True, 5),
        ]:
            case(aten.avg_pool3d.default, base, k, s, p, c, i, o)
            case(aten.avg_pool3d.default, base[0], k, s, p, c, i, o)
        case(aten._adaptive_avg_pool3d.default, base, [2, 4, 3])
        case(aten._adaptive_avg_pool3d.default, base[1], [7, 1, 9])


def orders():
    nan = special(2.0, NAN, -1.0, 0.0, -0.0, NAN, INF, 2.0, -INF, -1.0)
    for dtype in ALL:
        shapes = [(3, 1, 2), (2, 0), (), (7,)]
        for x in [make((2, 40), dtype), *(make(shape, dtype) for shape in shapes)]:
            for descending in (False, True):
                case(aten.sort.stable, x, stable=True, dim=-1, descending=descending)
                if x.numel() < 10:  # of more equals PyTorch keeps no order
                    case(aten.sort.default, x, 0, descending)
            if x.numel() and dtype != B8:
                case(aten.cummax.default, x, 0)
                case(aten.cummin.default, x, -1)
        if dtype in FLOATS:
            x = nan.to(dtype)
            for descending in (False, True):
                case(aten.sort.default, x, 0, descending)
            case(aten.median.dim, x, 0)
            case(aten.median.dim, torch.stack([x, torch.arange(10).to(dtype)]), 1, True)
            case(aten.cummax.default, x, 0)
            case(aten.cummin.default, x, 0)
            if dtype in (F32, F64):
                case(aten.logcumsumexp.default, x, 0)
                case(aten.cumprod.default, x, 0)
    distinct = torch.randperm(60).view(3, 4, 5)
    for dtype in (F32, F64, I64, I32):
        x = distinct.to(dtype)
        for dim in range(3):
            case(aten.median.dim, x, dim)
            case(aten.kthvalue.default, x, 2, dim, True)
    case(aten.median.dim, special(3.0)[0], 0)
    # Longer than what is multiplied one after the other.
    for dtype in (F32, F64, I64):
        x = make((2, 150), dtype, -1, 1) if dtype == I64 else make((2, 150), dtype, 0.8, 1.2)
        case(aten.cumprod.default, x, 1)
    case(aten.cumprod.default, special(1e-30, 1e30, 1e30, 1e30, 1e-30, 0.0, 3.0), 0)
    case(aten.cumprod.default, make((3, 4), B8), 1)
    case(aten.logcumsumexp.default, special(-INF, -INF, 3.0, INF, INF, 1.0), 0)


def searches():
    for dtype in (F32, I64, F16):
        for n in (0, 1, 2, 8, 33):
            edges, x = make((n,), dtype).sort().values, make((3, 5), dtype)
            for right in (False, True):
                case(aten.searchsorted.Tensor, edges, x, right=right)
                case(aten.bucketize.Tensor, x, edges, right=right, out_int32=True)
    rows, x = make((3, 6), F32).sort().values, make((3, 4), F32)
    case(aten.searchsorted.Tensor, rows, x)
    case(aten.searchsorted.Tensor, rows, x, side="right")
    mixed = make((3, 6), F32)
    case(aten.searchsorted.Tensor, mixed, x, sorter=mixed.argsort())
    nan = special(-1.0, 0.0, 2.0, NAN, NAN)
    case(aten.searchsorted.Tensor, nan, special(NAN, -0.0, 0.0, 3.0, 2.0, -INF, INF))
    case(aten.bucketize.Tensor, special(NAN, -0.0, 3.0, INF), nan, right=True)
    case(aten.searchsorted.Tensor, rows[:, :0].contiguous(), x)


def bags():
    for dtype in (F32, F64):
        table, rows = make((10, 3), dtype), torch.tensor([1, 2, 4, 5, 4, 3, 2, 9])
        starts = ([0, 4], False), ([0, 0, 3, 8], False), ([0, 3, 3, 8], True), ([0], False)
        for offsets, ends in starts:
            at = torch.tensor(offsets)
            for mode in (0, 1, 2):
                for padding in (-1, 4):
                    case(aten._embedding_bag.default, table, rows, at, False, mode, False, None,
                         ends, padding, only=1)
            scales = make((8,), dtype)
            case(aten._embedding_bag.default, table, rows, at, False, 0, False, scales, ends, 2,
                 only=1)
        case(aten._embedding_bag.default, table, rows.int(), torch.tensor([0, 2]).int(), False, 0,
             only=1)


def bags_of_nan():
    for dtype in (F32, F64):
        table = torch.tensor([[1, NAN, NAN, -INF], [NAN, 1, NAN, NAN], [2, 0, NAN, 3]], dtype=dtype)
        rows = torch.tensor([0, 1, 1, 0, 0, 1, 2, 1, 2, 0, 2, 1, 1])
        for padding in (-1, 0, 1):
            case(aten._embedding_bag.default, table, rows, torch.tensor([0, 2, 4, 7, 7, 8, 11]),
                 False, 2, False, None, False, padding, only=1)


def divisors_of_the_least():
    for dtype in (I8, I16, I32, I64):
        least, most = torch.iinfo(dtype).min, torch.iinfo(dtype).max
        ends = torch.tensor([least, most, 0, 1, -1, 2, 3, 6, -6, 7, least + 1], dtype=dtype)
        case(aten.gcd.default, ends[:, None].clone(), ends)


def scattered():
    for dtype in (F32, F16, I64):
        for shape, index_shape, dim in (((4, 5), (3, 4), 0), ((4, 5), (4, 9), 1)):
            x, src = make(shape, dtype), make([s + 1 for s in index_shape], dtype)
            index = index_of(shape[dim], *index_shape)
            for how in ("sum", "prod", "mean", "amax", "amin"):
                for include in (True, False):
                    case(aten.scatter_reduce.two, x, dim, index, src, how, include_self=include)
    x = special(1.0, NAN, 3.0)
    case(aten.scatter_reduce.two, x, 0, torch.tensor([0, 0, 2]), special(NAN, 2.0, 1.0), "amax")


def elements():
    values = torch.tensor(SPECIAL)
    for dtype in (F32, F64):
        x = values.to(dtype)
        case(aten.exp2.default, x)
        case(aten.angle.default, x)
        case(aten.signbit.default, x[~x.isnan()])
        other = x[torch.randperm(len(x))]
        if dtype == F64:
            case(aten.remainder.Tensor, x, other)
            case(aten.remainder.Scalar, x, -2.5)
        fine = ~other.isnan()
        case(aten.copysign.Tensor, x[fine], other[fine])
        case(aten.hypot.default, x, other)
        case(aten.hypot.default, special(3e38, 1e-40, 0.0, -3.0).to(dtype),
             special(-3e38, 1e-41, -0.0, 4.0).to(dtype))
        for decimals in (-2, -1, 0, 1, 3):
            case(aten.round.decimals, (make((20,), dtype) * 37), decimals=decimals)
            case(aten.round.decimals, x, decimals=decimals)
    for dtype in INTS:
        case(aten.exp2.default, make((6,), dtype, -4, 4))
        case(aten.angle.default, make((6,), dtype))
        case(aten.signbit.default, make((6,), dtype))
        case(aten.remainder.Scalar, make((9,), dtype), 3)
        if dtype != U8:
            case(aten.remainder.Scalar, make((9,), dtype), -3)
            by = make((9,), dtype)
            case(aten.remainder.Tensor, make((9,), dtype), torch.where(by == 0, 1, by))
        x, bits = make((7,), dtype, -100, 100), 8 * dtype.itemsize
        by = torch.tensor([0, 1, 3, bits - 1, bits, 5, 2]).to(dtype)
        case(aten.__lshift__.Tensor, x, by)
        case(aten.__rshift__.Tensor, x, by)
        for n in (0, 1, bits - 1, bits):
            case(aten.__lshift__.Scalar, x, n)
            case(aten.__rshift__.Scalar, x, n)
    for pad in ([-1, 2], [1, -2, -1, -1], [-1, -1, 0, 3, -1, 0], [-2, -2]):
        case(aten.constant_pad_nd.default, make((3, 4, 5), F32), pad, 1.5)
        case(aten.constant_pad_nd.default, make((3, 4, 5), I64), pad, 7)


def products():
    x, w, y = make((4, 3), F32), make((6, 3, 5), F32), make((4, 5), F32)
    case(aten._trilinear.default, x, w, y, [1, 3], [0], [1, 2], [2, 3])
    x, y, z = make((3, 4), F32), make((2, 4), F32), make((2, 3), F32)
    case(aten._trilinear.default, x, y, z, [0], [1], [2], [0, 1])
    case(aten._trilinear.default, make((2,), F64), make((3,), F64), make((4,), F64), [1, 2], [0, 2],
         [0, 1], [1])


def ranks():
    nan = special(2.0, NAN, -1.0, 0.0, -0.0, NAN, INF, 2.0, -INF, -1.0)
    for dtype in (F32, F64, I64, U8):
        for x in (make((3, 6), dtype, 0, 3).round(), make((5,), dtype), make((), dtype)):
            case(aten.mode.default, x)
            case(aten.mode.default, x, 0, True)
        x = torch.randperm(15).view(3, 5).to(dtype)
        for dim in (0, 1):
            case(aten.nanmedian.dim, x, dim, dim == 0)
    case(aten.mode.default, nan[~nan.isnan()])  # PyTorch's order of NaNs is open
    case(aten.nanmedian.dim, nan[:4], 0)
    case(aten.nanmedian.dim, special(NAN, NAN, NAN), 0, only=1)


def sums():
    # Operators that the official runtime adds up in float32.
    for dtype in (I32, I64, F64):
        x = torch.tensor([[2**24, 1, 1], [1, 2**24 + 1, 5]], dtype=dtype)
        for dim in (0, 1):
            case(aten.sum.dim_IntList, x, [dim], dtype=dtype)
            case(aten.sum.dim_IntList, x, [dim])
    case(aten.sum.dim_IntList, torch.tensor([100, 27, 1], dtype=I8), [0], dtype=I8)


def antialiased():
    for dtype in (F32, F64):
        x = make((1, 2, 11, 9), dtype)
        for size, aligns in (([3, 2], False), ([8, 20], False), ([4, 3], True), ([1, 1], False)):
            case(aten._upsample_bilinear2d_aa.default, x, size, aligns, tol=CONV)
        case(aten._upsample_bilinear2d_aa.default, x, [3, 2], False, 0.3, 0.25, tol=CONV)


def refused_calls():
    """Calls that the official runtime's kernels refuse, or add up in halves."""
    for dtype in (F16, BF16):
        c, a, b = make((3,), dtype), make((2, 5), dtype), make((5, 3), dtype)
        case(aten.addmm.default, c, a, b)
        case(aten.addmm.default, c, a, b, beta=2, alpha=-3)
    none = torch.zeros(0, dtype=I64)
    case(aten.index_select.default, make((0, 3), F32), 0, none)
    case(aten.index_select.default, make((3, 0), I64), -1, none)
    x = make((2, 6), F32)
    for dtype in INTS:
        z, far = make((2, 5), dtype), torch.tensor([0, 3, 8, 70, -1]).to(dtype)
        for shift in (aten.bitwise_left_shift, aten.bitwise_right_shift):
            case(shift.Tensor, z, far)
            case(shift.Tensor_Scalar, z, 70)
            case(shift.Tensor_Scalar, z, -1)
        case(aten.ceil.default, z)
        case(aten.floor.default, z)
        case(aten.trunc.default, z)
    large = torch.tensor([2**24 + 1, -(2**24) - 1, 2**31 - 1, 5], dtype=I32)
    near = torch.tensor([2.0**24, -(2.0**24) - 1, 2.0**31, 5 + 1e-9], dtype=F64)
    for f in (aten.ceil, aten.floor, aten.trunc):
        case(f.default, large)
    for f in (aten.eq, aten.ne, aten.lt, aten.le, aten.gt, aten.ge):
        case(f.Tensor, large, near)
        case(f.Tensor, near, near.float())
    case(aten.round.decimals, make((4,), F32), decimals=39)
    case(aten.round.decimals, make((4,), F32), decimals=-40)
    for dims in ([1], [0, 1]):
        case(aten._fft_r2c.default, x, dims, 0, False, tol=CONV)


@family
def official():
    convolutions()
    pools()
    orders()
    searches()
    bags()
    scattered()
    elements()
    products()
    ranks()
    sums()
    antialiased()
    bags_of_nan()
    divisors_of_the_least()
    refused_calls()


@composite
def order():
    nan = special(2.0, NAN, -1.0, 0.0, -0.0, NAN, INF, 2.0, -INF, -1.0)
    for dtype in (F32, F64, I64, U8):
        for x in (make((3, 6), dtype, 0, 3).round(), make((5,), dtype), make((), dtype)):
            case(aten.median.default, x)
            case(aten.nanmedian.default, x)
    for x in (nan, nan[:2], nan[1:2], torch.stack([nan, torch.full_like(nan, NAN)])):
        case(aten.median.default, x)
        case(aten.nanmedian.default, x)
