"""Kernel cases of norms, images, indexing, quantization and rarer operators."""
import itertools
import random

import torch

from kernel_case_writer import *  # noqa: F403


@family
def norm():
    for dtype in FLOATS:
        tol = (2e-2, 2e-2) if dtype in (F16, BF16) else None
        for shape in [(3, 5), (2, 3, 2, 4), (1,), (), (33,), (2, 0, 3)]:
            x = make(shape, dtype)
            for y in [x, last(x)] if len(shape) == 4 else [x]:
                for d in range(max(len(shape), 1)):
                    case(aten._softmax.default, y, d, False, tol=tol)
                    case(aten._log_softmax.default, y, d, False, tol=tol)
        rows = torch.tensor([[1, NAN, 3], [-INF, -INF, -INF], [-INF, 1, 2], [90, -90, 0]]).to(dtype)
        case(aten._softmax.default, rows, 1, False, tag="special", tol=tol)
        for shape, part in [((2, 3, 8), 1), ((2, 3, 4), 2), ((3, 1), 1), ((4, 37), 1)]:
            x, ns = make(shape, dtype), list(shape[-part:])
            w, b = make(ns, dtype), make(ns, dtype)
            case(aten.native_layer_norm.default, x, ns, w, b, 1e-5, tol=tol)
            case(aten.native_layer_norm.default, x, ns, None, None, 1e-5, tol=tol)
        for rows in (), (2,):
            case(aten.native_layer_norm.default, make((*rows, 0), dtype), [0], None, None, 1e-5)
        case(aten.native_group_norm.default, make((2, 4, 0), dtype), None, None, 2, 4, 0, 2, 1e-5)
        for shape, groups in [((2, 6, 2, 3), 3), ((1, 4, 7), 2), ((2, 4, 2, 2, 2), 1)]:
            x, c = make(shape, dtype), shape[1]
            w, b = make((c,), dtype), make((c,), dtype)
            area = x[0, 0].numel()
            case(aten.native_group_norm.default, x, w, b, shape[0], c, area, groups, 1e-5, tol=tol)
            mean, var = make((c,), dtype), make((c,), dtype).abs() + 0.1
            op = aten._native_batch_norm_legit_no_training.default
            for y in [x, last(x)] if x.dim() == 4 else [x]:
                case(op, y, w, b, mean, var, 0.1, 1e-5, tol=tol)
            case(op, x, None, None, mean, var, 0.1, 1e-5, tol=tol)
            if dtype in (F32, F64):
                case(aten._native_batch_norm_legit.no_stats, x, w, b, True, 0.1, 1e-5)


@family
def image():
    for dtype in FLOATS:
        tol = (2e-2, 2e-2) if dtype in (F16, BF16) else None
        for shape in [(1, 3, 6, 7), (2, 5, 5)]:
            base = make(shape, dtype)
            base.view(-1)[10] = NAN
            for x in [base, last(base)] if len(shape) == 4 else [base]:
                for k, s, p, d, c in [
                    ([2, 2], [2, 2], [0, 0], [1, 1], False),
                    ([3, 3], [2, 2], [1, 1], [1, 1], True),
                    ([3], [], [0], [2], False),
                ]:
                    case(aten.max_pool2d_with_indices.default, x, k, s, p, d, c, match=False)
                    case(aten.avg_pool2d.default, x, k, s, p, c, tol=tol)
                case(aten.avg_pool2d.default, x, [3, 2], [2, 1], [1, 1], True, False, tol=tol)
                case(aten.avg_pool2d.default, x, [3, 2], [2, 1], [1, 0], False, True, 5, tol=tol)
                case(aten._adaptive_avg_pool2d.default, x, [1, 1], tol=tol)
                case(aten._adaptive_avg_pool2d.default, x, [3, 4], tol=tol)
                case(aten.adaptive_max_pool2d.default, x, [3, 2])
        x = make((1, 2, 3, 4, 5), dtype)
        case(aten.max_pool3d_with_indices.default, x, [2, 3, 2], [2, 1, 2], [1, 1, 0])
        case(
            aten.avg_pool3d.default,
            x,
            [2, 3, 2],
            [2, 1, 2],
            [1, 1, 0],
            True,
            False,
            tol=tol,
            match=False,
        )
        case(aten._adaptive_avg_pool3d.default, x, [2, 3, 2], tol=tol, match=False)
        x = make((1, 2, 3, 4), dtype)
        for y in (x, last(x)):
            for size, factors in [([6, 9], None), (None, [1.7, 2.3]), ([2, 3], None)]:
                case(aten.upsample_nearest2d.vec, y, size, factors)
                for align in (True, False):
                    case(
                        aten.upsample_bilinear2d.vec,
                        y,
                        size,
                        align,
                        factors,
                        tol=tol or (1e-4, 1e-5),
                    )
        if dtype in (F32, F64):
            grid = make((1, 3, 2, 2), dtype, -1, 1) * 1.3
            for mode, pad, align in itertools.product((0, 1, 2), (0, 1, 2), (True, False)):
                case(aten.grid_sampler_2d.default, x, grid, mode, pad, align, tol=(1e-4, 1e-4))
    fails(
        aten.max_pool2d_with_indices.default,
        "argument",
        [torch.zeros(1, 1, 2, 2)] * 2,
        torch.zeros(1, 1, 4, 4),
        [2, 2],
        [0, 0],
    )


@family
def index():
    for dtype in MOVED:
        table = make((6, 3), dtype)
        case(aten.embedding.default, table, index_of(6, 2, 2)) if dtype.is_floating_point else None
        x = make((3, 4, 3), dtype)
        y = make((3, 4, 3), dtype)
        for d in range(3):
            i = index_of(x.shape[d], 2)
            case(aten.index_select.default, x, d, i)
            g = index_of(x.shape[d], 2, 3, 2)
            case(aten.gather.default, x, d, g)
            order = torch.argsort(torch.rand(3, 4, 3), dim=d)
            case(aten.scatter.src, x, d, order, y)
            case(aten.scatter.value, x, d, g, 1)
            if dtype in (F32, I64, F64):
                case(aten.scatter_add.default, x, d, g, y)
                for how in ("sum", "prod", "mean", "amax", "amin"):
                    case(aten.scatter_reduce.two, x, d, g, y, how, include_self=how < "n")
        a, b = index_of(3, 2), index_of(4, 2, 2) - 4
        few, mask = torch.rand(3) > 0.4, torch.rand(4, 3) > 0.5
        for c in [
            [a],
            [None, b],
            [a, b],
            [a, None, index_of(3, 2)],
            [None, mask],
            [few],
            [torch.tensor(1)],
            [None, None, index_of(3, 1)],
            [few, None, index_of(3, 1)],
            [a, index_of(4, 2), index_of(3, 2)],
        ]:
            case(aten.index.Tensor, x, c)
            case(aten.index_put.default, x, c, make((1,), dtype))
            if dtype in (F32, I64):
                case(aten.index_put.default, x, c, make((1,), dtype), True)
                case(aten.index_put_.default, x, c, make((1,), dtype))
        case(aten.nonzero.default, x)
        wide = torch.rand(4, 1) > 0.5
        case(aten.masked_select.default, x, wide)
        case(aten.masked_scatter.default, x, wide, make((36,), dtype))
    # Halves: as many ones as the sum would lose, if it were rounded each time.
    for dtype, much in ((F16, 2048.0), (BF16, 256.0)):
        sums, ones = torch.tensor([3.0, much, -1.5], dtype=dtype), torch.ones(40, dtype=dtype)
        at = torch.tensor([1] * 40)
        exact = {"tag": "grows", "tol": (0, 0)}
        case(aten.scatter_add.default, sums, 0, at, ones, **exact)
        case(aten.scatter_add.default, sums[:, None], 0, at[:, None], ones[:, None], **exact)
        case(aten.index_put.default, sums, [at], ones, True, **exact)
        for how, own in itertools.product(("sum", "mean", "amax"), (True, False)):
            case(aten.scatter_reduce.two, sums, 0, at, ones, how, include_self=own, **exact)
            case(aten.scatter_reduce.two, sums, 0, at % 3, ones * 7, how, include_self=own, **exact)
        for own in (True, False) if dtype == F16 else ():
            more = (ones * 1.02).to(dtype)
            case(aten.scatter_reduce.two, sums, 0, at, more, "prod", include_self=own, tag="grows",
                 tol=(1e-3, 0))
        table = torch.tensor([[much, 1.0], [1.0, 0.25]], dtype=dtype)
        rows, none = torch.tensor([0] + [1] * 40), torch.zeros(0, dtype=I64)
        bag = aten._embedding_bag(table, rows, torch.tensor([0]), False, 0)[0]
        given(aten._embedding_bag.default, [bag, none, none, none], table, rows, torch.tensor([0]),
              False, 0, tag="grows", tol=(0, 0))
    x, one = make((3, 2), F32), torch.zeros(1, 2)
    fails(aten.embedding.default, "index", [one], x, torch.tensor([3]))
    fails(aten.embedding.default, "index", [one], x, torch.tensor([-1]))
    fails(aten.index.Tensor, "index", [one], x, [torch.tensor([-4])])
    fails(aten.gather.default, "index", [one], x, 0, torch.tensor([[0, 2**32]]))
    fails(aten.scatter_add.default, "index", [x], x, 0, torch.tensor([[-1]]), one)
    fails(aten.index_select.default, "index", [one], x, 0, torch.tensor([5]))
    fails(aten.masked_scatter.default, "index", [x], x, x > -9, torch.zeros(2))


@family
def quant():
    q = torch.ops.quantized_decomposed
    for dtype, low, high in [(I8, -128, 127), (U8, 0, 255), (I16, -32768, 32767)]:
        x = make((1, 3, 2, 4), F32) * 2
        for y in (x, last(x)):
            case(q.quantize_per_tensor.default, y, 0.03, 3, low, high, dtype)
            z = q.quantize_per_tensor(y, 0.03, 3, low, high, dtype)
            case(q.dequantize_per_tensor.default, z, 0.03, 3, low, high, dtype)
        scale, zero = torch.tensor([0.03], dtype=F64), torch.tensor([3])
        case(q.quantize_per_tensor.tensor, x, scale, zero, low, high, dtype)
        case(q.dequantize_per_tensor.tensor, z.contiguous(), scale, zero, low, high, dtype)
        for axis in (0, 1, 3):
            scales = torch.rand(x.shape[axis]) * 0.1 + 0.01
            zeros = torch.randint(0, 5, (x.shape[axis],))
            args = (scales, zeros, axis, low, high, dtype)
            case(q.quantize_per_channel.default, x, *args)
            case(q.dequantize_per_channel.default, q.quantize_per_channel(x, *args), *args)
    rows = make((4, 7), F32)
    scales, zeros = q.choose_qparams_per_token_asymmetric(rows, I8)
    case(q.choose_qparams_per_token_asymmetric.default, rows, I8)
    case(q.quantize_per_token.default, rows, scales, zeros, -128, 127, I8)
    z = q.quantize_per_token(rows, scales, zeros, -128, 127, I8)
    case(q.dequantize_per_token.default, z, scales, zeros, -128, 127, I8, F32)
    for shift in (0.0, 5.0, -5.0):
        scale, zero = q.choose_qparams(rows + shift, -128, 127, 1e-7, I8)
        given(
            q.choose_qparams.tensor,
            [scale.reshape(1), zero.reshape(1)],
            rows + shift,
            -128,
            127,
            1e-7,
            I8,
        )
    if not hasattr(q, "embedding_4bit"):
        return
    for scales in (torch.rand(6), torch.rand(6, 2)):
        i = index_of(6, 2, 2)
        case(q.embedding_byte.default, make((6, 8), I8, -100, 100), scales, None, -128, 127, i)
        case(q.embedding_4bit.default, make((6, 4), U8, 0, 255), scales, None, -8, 7, i)
        case(q.embedding_2bit.default, make((6, 2), U8, 0, 255), scales, None, -2, 1, i)
    ranges = (I8, -128, 127, 2**-12), (U8, 0, 255, 1e-3), (I8, -8, 7, 1.0)
    for x in (rows * 0.01, rows.abs() + 1, -rows.abs() - 1, rows * 0):
        for dtype, low, high, eps in ranges:
            case(q.choose_qparams.tensor, x, low, high, eps, dtype)
    halves = torch.arange(-9, 9, dtype=F32).reshape(3, 6) / 2
    case(q.quantize_per_tensor.default, halves, 1.0, 3, -4, 4, I8)
    case(q.quantize_per_channel.default, halves, torch.ones(3), torch.arange(3), 0, -4, 3, I8)
    wide = torch.tensor([[-3e9, 3e9, 1e6, -1e6], [0.0, 1.5, -2.5, 7.0]])
    case(q.quantize_per_tensor.default, wide, 0.5, -1, -(2**31), 2**31 - 128, I32)
    ints = torch.tensor([[-(2**24), 2**24, 99, -1]], dtype=I32)
    for out in (F16, F32):
        case(q.dequantize_per_tensor.default, z, 0.25, -7, -128, 127, I8, out_dtype=out)
        scales = torch.rand(7) + 0.1
        case(q.dequantize_per_channel.default, z, scales, None, 1, -128, 127, I8, out_dtype=out)
    case(q.dequantize_per_tensor.default, ints, 0.25, -7, -(2**31), 2**31 - 1, I32)
    for dtype in (F16, BF16):
        case(q.quantize_per_tensor.default, rows.to(dtype), 0.03125, 5, -128, 127, I8)
    fine = torch.rand(4, 1, dtype=F64) * 0.1 + 0.01
    case(q.quantize_per_token.default, rows, fine, zeros, -8, 7, I8)
    case(q.dequantize_per_token.default, z, fine.float(), zeros, -128, 127, I8, F32)


@family
def rare():
    x = torch.tensor([0.0, -0.0, 1.0, -1.0, NAN, INF, -INF, 0.5, -2.5, 30.0, 0.999, 1e-8])
    for dtype in (F32, F64):
        y = x.to(dtype)
        for name in "erfc erfinv lgamma digamma angle signbit".split():
            case(getattr(aten, name).default, y, tol=(2e-6, 1e-6))
        case(aten.copysign.Tensor, y[:, None], y[None, :])
        case(aten.hypot.default, y[:, None], y[None, :])
        for decimals in (0, 2, -1):
            case(aten.round.decimals, make((9,), dtype) * 10, decimals=decimals)
        a, b = make((2, 3, 4), dtype), make((2, 5, 4), dtype)
        for p in (0.0, 1.0, 2.0, 3.0, INF):
            case(aten._cdist_forward.default, a, b, p, 2, tol=(1e-4, 1e-5))
            case(aten._pdist_forward.default, a[0], p)
        case(
            aten._trilinear.default,
            make((2, 3), dtype),
            make((4, 3, 5), dtype),
            make((2, 5), dtype),
            [1, 3],
            [0],
            [1, 2],
            [2, 3],
            tol=(1e-4, 1e-5),
        )
        rows, values = torch.sort(make((2, 7), dtype)).values, make((2, 3), dtype)
        for right in (False, True):
            case(aten.searchsorted.Tensor, rows, values, right=right)
            case(aten.searchsorted.Tensor, rows[0], values, out_int32=True, right=right)
            case(aten.bucketize.Tensor, values, rows[0], right=right)
        case(aten.glu.default, make((3, 6), dtype))
        case(aten.glu.default, last(make((1, 4, 2, 3), dtype)), 1)
        pixels = make((1, 2, 5, 6), dtype)
        for y in (pixels, last(pixels)):
            for size, align in itertools.product(([3, 2], [8, 9]), (True, False)):
                case(aten._upsample_bilinear2d_aa.default, y, size, align, tol=(1e-4, 1e-5))
                case(aten._upsample_bicubic2d_aa.default, y, size, align, tol=(1e-4, 1e-4))
        for transposed, groups in itertools.product((False, True), (1, 2)):
            x = make((1, 4, 4, 3), dtype)
            w = make((4, 6 // groups if transposed else 4 // groups, 3, 2), dtype)
            w = w if transposed else make((6, 4 // groups, 3, 2), dtype)
            geometry = ([2, 1], [1, 0], [1, 2], transposed, [0, 0], groups)
            grad = torch.rand_like(aten.convolution(x, w, None, *geometry))
            case(aten.convolution_backward.default, grad, x, w, [6], *geometry, [True, True, True],
                 tol=(1e-4, 1e-4))
        x = make((1, 2, 5, 6), dtype)
        y, where = aten.max_pool2d_with_indices(x, [3, 3], [2, 2], [1, 1])
        case(aten.max_pool2d_with_indices_backward.default, torch.rand_like(y), x, [3, 3], [2, 2],
             [1, 1], [1, 1], False, where)
        case(aten._unique2.default, make((3, 4), I64).to(dtype), True, True, True)
    table, ids = make((6, 3), F32), index_of(6, 7)
    for mode in (0, 1, 2):
        out = aten._embedding_bag(table, ids, torch.tensor([0, 3, 3]), False, mode)[0]
        none = torch.zeros(0, dtype=I64)
        given(
            aten._embedding_bag.default,
            [out, none, none, none],
            table,
            ids,
            torch.tensor([0, 3, 3]),
            False,
            mode,
        )
        # The last offset is no end of the indices, for which ways of adding up differ.
        for rows, padding in ((table, -1), (table, 2), (table.double(), -1)):
            more = rows, ids, torch.tensor([0, 3, 5]), False, mode, False, None, True, padding
            out = aten._embedding_bag(*more)[0]
            given(aten._embedding_bag.default, [out, none, none, none], *more)
    fails(
        aten.searchsorted.Tensor,
        "shape",
        [torch.zeros(2, 3, dtype=I64)],
        make((3, 4), F32),
        make((2, 3), F32),
    )


@family
def single():
    """One call of each operator that no other family calls."""
    q = torch.ops.quantized_decomposed
    x, m, n = make((2, 3), F32), make((3, 3), F32), make((2, 3), I64).abs()
    image = make((1, 4, 6, 6), F32)
    c = torch.complex(make((2, 3), F32), make((2, 3), F32))
    pairs = make((3, 2), F32)
    case(aten.mm.default, x, m)
    case(aten.addmm.default, x, x, m)
    case(aten.bmm.default, x[None], m[None])
    weight = make((2, 4, 3, 3), F32)
    geometry = ([1, 1], [1, 1], [1, 1], False, [0, 0], 1)
    case(aten.convolution.default, image, weight, make((2,), F32), *geometry, tol=(1e-5, 1e-5))
    four = [make((4,), F32).abs() for _ in range(4)]
    training = (*four, True, 0.1, 1e-5)
    outs = aten._native_batch_norm_legit(image, *[t.clone() for t in four], True, 0.1, 1e-5)
    given(aten._native_batch_norm_legit.default, outs, image, *training, tol=(1e-5, 1e-5))
    case(aten.avg_pool1d.default, image[0], [2])
    case(aten.adaptive_avg_pool1d.default, image[0], [3])
    case(aten.adaptive_max_pool3d.default, image, [2, 3, 3])
    none = torch.zeros(0, dtype=I64)
    ids, offsets = index_of(6, 7), torch.tensor([0, 3, 3])
    table = make((6, 3), F32)
    bag = aten._embedding_bag_forward_only(table, ids, offsets)[0]
    given(aten._embedding_bag_forward_only.default, [bag, none, none, none], table, ids, offsets)
    for bits, high in (("byte", 127), ("4bit", 7), ("2bit", 1)):
        op = getattr(q, f"embedding_{bits}").dtype
        rows = make((6, 4), I8, -high - 1, high) if bits == "byte" else make((6, 4), U8, 0, 127)
        case(op, rows, make((6,), F32), None, -high - 1, high, ids, dtype=F32, match=False)
    for name in "alias detach squeeze lift_fresh".split():
        case(getattr(aten, f"{name}_copy").default, x)
    case(aten.squeeze_copy.dim, x, 0)
    case(aten.view_copy.dtype, x, I32)
    case(aten.view_as_complex_copy.default, pairs)
    case(aten.view_as_real_copy.default, c)
    for name in "mean var min".split():
        case(getattr(aten, name).default, x)
    case(aten.var.dim, x, [1])
    case(aten.sort.default, x)
    case(aten._fft_r2c.default, x, [1], 0, True, tol=(1e-5, 1e-5))
    case(aten._fft_c2r.default, c, [1], 0, 4, tol=(1e-5, 1e-5))
    case(aten._fft_c2c.default, c, [1], 0, True, tol=(1e-5, 1e-5))
    case(aten._fft_c2c.default, c, [], 1, True)
    case(aten._fft_c2c.default, c[0, 0], [], 0, True)
    case(aten._conj_physical.default, c)
    case(aten.polar.default, x.abs(), x)
    for name in "left right".split():
        case(getattr(aten, f"bitwise_{name}_shift").Tensor_Scalar, n, 2)
    for name in "__lshift__ __rshift__".split():
        case(getattr(aten, name).Tensor, n, n)
        case(getattr(aten, name).Scalar, n, 2)
    case(aten.zeros.default, [2, 3])
    case(aten.empty.memory_format, [2, 3], dtype=F32, shape=True)
    case(aten.empty_strided.default, [2, 3], [3, 1], dtype=F32, shape=True)
    case(aten.empty_permuted.default, [2, 3], [0, 1], dtype=F32, shape=True)
    case(torch.ops.dim_order_ops._empty_dim_order.default, [2, 3], dtype=F32, dim_order=[0, 1],
         shape=True)
    for name in "rand randn".split():
        case(getattr(aten, f"{name}_like").default, x, shape=True)
    case(aten.uniform.default, x, shape=True)
    case(aten.randint.default, 9, [2, 3], shape=True)
    case(aten.randint.low, 2, 9, [2, 3], shape=True)
    case(aten.randperm.default, 5, shape=True)
    case(aten.native_dropout.default, x, 0.5, True, shape=True)
    for dtype in [d for d in CODE if d.itemsize == 1 and d.is_floating_point]:
        largest = torch.finfo(dtype).max
        for value in (0.0, -0.0, 1, -0.3, 2.1, 17.3, largest, -largest, 0.013, 1e-4, -3e-6, 1e-9):
            case(aten.full.default, [1], value, dtype=dtype)
        x = torch.zeros(2, 2, dtype=dtype)
        case(aten.constant_pad_nd.default, x, [1, 0], 0.3)
        case(aten.ones.default, [2], dtype=dtype)
    case(aten.full.default, [2], 1.5, dtype=torch.complex64)
    case(aten.constant_pad_nd.default, c, [1, 0], 0.5)
    where, more = torch.tensor([1, 1, 0]), torch.complex(make((3, 3), F32), make((3, 3), F32))
    case(aten.index_put.default, c, [where], more, True, tol=(1e-5, 1e-5))
