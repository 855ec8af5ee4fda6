"""Kernel cases of arithmetic, movement, creation and reduction; see make_kernel_cases.py."""
import itertools
import random

import torch

from kernel_case_writer import *  # noqa: F403
UNARY = """abs neg relu sign ceil floor round trunc reciprocal sqrt rsqrt exp exp2 expm1 log log1p
 log2 log10 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf sigmoid isnan isinf
 logical_not bitwise_not""".split()


@family
def unary():
    for name in UNARY:
        op = getattr(aten, name).default
        for dtype in ALL:
            x = make((5,), dtype)
            case(op, x, match=False)
            if dtype in FLOATS:
                case(op, torch.tensor(SPECIAL).to(dtype), tag="special", match=False)
        case(op, make((), F32), tag="scalar", match=False)
        case(op, make((0, 3), F32), tag="empty", match=False)
        case(op, last(make((1, 3, 2, 2), F32)), tag="last", match=False)
    for dtype in FLOATS:
        for x in (make((7,), dtype), torch.tensor([0.0, -0.0, NAN, 3.0, -30.0]).to(dtype)):
            for approximate in ("none", "tanh"):
                case(aten.gelu.default, x, approximate=approximate)
            case(aten.elu.default, x, 1.5, 1.2, 0.7)
            case(aten.leaky_relu.default, x, 0.1)
            case(aten.logit.default, torch.sigmoid(x))
            case(aten.logit.default, torch.sigmoid(x), 0.1)
    for dtype in REAL:
        case(aten.hardtanh.default, make((3, 5), dtype), -1, 2, match=False)
    for dtype in (F32, F64, F16, BF16):
        for count in (1, 9):
            for approximate in ("none", "tanh"):
                case(aten.gelu.default, torch.full((count,), -INF, dtype=dtype),
                     approximate=approximate)
    fails(aten.gelu.default, "argument", [make((2,), F32)], make((2,), F32), approximate="exact")


BINARY = """mul div maximum minimum atan2 pow fmod remainder eq ne lt le gt ge logical_and
 logical_or logical_xor bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift
 floor_divide add sub""".split()


def overload(name):
    packet = getattr(aten, name)
    if name == "pow":
        return packet.Tensor_Tensor
    return packet.Tensor if "Tensor" in packet.overloads() else packet.default


def operands(name, a_shape, a_dtype, b_shape, b_dtype):
    a, b = make(a_shape, a_dtype), make(b_shape, b_dtype)
    whole = not (a.is_floating_point() or b.is_floating_point())
    if name in ("fmod", "remainder", "floor_divide") and whole:
        b = torch.where(b == 0, torch.ones_like(b), b)
    if (name.endswith("shift") or name == "pow") and b.dtype != B8 and not b.is_floating_point():
        b = b.abs()
    return a, b


@family
def binary():
    shapes = [
        ((3, 4), (4,)),
        ((2, 1, 3), (4, 1)),
        ((), (3,)),
        ((2,), ()),
        ((), ()),
        ((0, 3), (1, 3)),
    ]
    for name in BINARY:
        op = overload(name)
        for dtype in ALL:
            case(op, *operands(name, (6,), dtype, (6,), dtype), match=False)
        for a_dtype, b_dtype in [
            (F32, F64),
            (I32, F32),
            (U8, I8),
            (I64, U8),
            (B8, I16),
            (F16, BF16),
            (F16, I64),
            (B8, F32),
        ]:
            case(op, *operands(name, (5,), a_dtype, (5,), b_dtype), match=False)
        for a_shape, b_shape in shapes:
            case(op, *operands(name, a_shape, F32, b_shape, F32), tag="shape", match=False)
            case(op, *operands(name, a_shape, I64, b_shape, I64), tag="shape", match=False)
        case(op, *operands(name, (2, 3, 2, 2), F32, (3, 1, 1), F32), tag="four", match=False)
        a, b = operands(name, (2, 3, 2, 2), F32, (2, 3, 2, 2), F32)
        case(op, last(a), last(b), tag="last", match=False)
        if name not in ("fmod", "remainder", "floor_divide"):
            few = torch.tensor([0.0, -0.0, 1.0, NAN, INF, -INF, -2.5])
            case(op, few[:, None], few[None, :], tag="special", match=False)
    for alpha in (2, -1):
        for dtype in (F32, I32, U8, F16):
            case(aten.add.Tensor, make((5,), dtype), make((5,), dtype), alpha=alpha)
            case(aten.sub.Tensor, make((5,), dtype), make((5,), dtype), alpha=alpha)
    # Halves are left out: PyTorch rounds each step of theirs.
    for mode, dtype in itertools.product((None, "trunc", "floor"), [F32, F64] + INTS):
        a, b = operands("floor_divide", (3, 5), dtype, (3, 5), dtype)
        case(aten.div.Tensor_mode, a, b, rounding_mode=mode)
    big, minus = torch.tensor([-(2**63), 5]), torch.tensor([-1, -1])
    zero, wrapped = torch.tensor([0, 0]), torch.tensor([-(2**63), -5])
    for name in ("fmod", "remainder", "floor_divide"):
        given(overload(name), [wrapped if name == "floor_divide" else zero], big, minus)
        fails(overload(name), "numeric", [big], big, torch.tensor([1, 0]))
    given(aten.div.Tensor_mode, [wrapped], big, minus, rounding_mode="trunc")
    fails(aten.div.Tensor_mode, "argument", [big], big, minus, rounding_mode="up")


@family
def scalars():
    for dtype, s in itertools.product(ALL, (3, -2, 2.5, True, 300)):
        a = make((5,), dtype)
        for name in "add sub mul div eq ne lt le gt ge".split():
            case(getattr(aten, name).Scalar, a, s, match=False)
        for name in "bitwise_and bitwise_or bitwise_xor fmod remainder".split():
            case(getattr(aten, name).Scalar, a, s, match=False)
        case(aten.rsub.Scalar, a, s, 2, match=False)
        case(aten.clamp.default, a, s, None, match=False)
        case(aten.clamp.default, a, None, s, match=False)
        mask = torch.tensor([True, False, True, True, False])
        case(aten.where.self, mask, a, a * 2 if dtype != B8 else a, match=False)
    for dtype in REAL:
        a = make((5,), dtype)
        for exponent in (2, 3, 0.5, -0.5, -1, -2, 1.7, 0):
            case(aten.pow.Tensor_Scalar, a.abs() if dtype != U8 else a, exponent, match=False)
        case(aten.pow.Scalar, 2, a.abs() if dtype != U8 else a, match=False)
        case(aten.clamp.Tensor, make((3, 5), dtype), a, None)
        case(aten.clamp.Tensor, make((3, 5), dtype), a, a + 1)
        case(aten.div.Scalar_mode, a, 2, rounding_mode="floor")
        case(aten.masked_fill.Scalar, make((3, 5), dtype), torch.rand(5) > 0.5, 7)
    for a_dtype, b_dtype in itertools.product(ALL, (F32, I64, B8)):
        case(aten.where.self, torch.rand(3, 1) > 0.5, make((3, 4), a_dtype), make((4,), b_dtype))
    fails(aten.pow.Tensor_Scalar, "argument", [make((2,), I64)], make((2,), I64), -2)
    # Bounds beyond the dtype, which PyTorch refuses unless negative ones wrap.
    for dtype, far in itertools.product(INTS[:-1], (300, 2**40)):
        least, most = torch.iinfo(dtype).min, torch.iinfo(dtype).max
        a = torch.tensor([least, 0, 1, 5, most], dtype=dtype)
        low, high = max(-far, least), min(far, most)
        bounds = [(-far, far), (-far, None), (None, far), (-far, 3), (1, far)]
        for lower, upper in bounds + [(far, None), (None, -far)]:
            ends = (low if lower == -far else high if lower == far else lower,
                    high if upper == far else low if upper == -far else upper)
            given(aten.clamp.default, [a.clamp(*ends)], a, lower, upper, tag="far")
        given(aten.hardtanh.default, [a.clamp(low, high)], a, -far, far, tag="far")
        given(aten.hardtanh.default, [a], a, -1e30, 1e30, tag="far")
    case(aten.clamp.default, torch.tensor([0, 1, 5, 255], dtype=U8), -3, 5)
    case(aten.clamp.default, torch.tensor([0, 1, 5, 255], dtype=U8), -255, None)
    case(aten.clamp.default, torch.tensor([0, 1, 5, 255], dtype=U8), None, -5)


SIGNED = """neg relu ceil floor round trunc sqrt expm1 log1p sin tan asin atan sinh tanh asinh atanh
 erf erfinv abs sign""".split()


@family
def zeros():
    """To the bit: which sign they have. One element and many take different ways in PyTorch."""
    for dtype, count in itertools.product(FLOATS, (1, 9)):
        x, exact = torch.tensor([-0.0] * count + [0.0]).to(dtype), {"match": False, "tol": (0, 0)}
        for name in SIGNED:
            op = getattr(aten, name)
            case(op.default, x, **exact)
        for approximate in ("none", "tanh"):
            case(aten.gelu.default, x, approximate=approximate, **exact)
        case(aten.elu.default, x, **exact)
        case(aten.leaky_relu.default, x, 0.1, **exact)
        case(aten.hardtanh.default, x, -1.0, 1.0, **exact)
        case(aten.atan2.default, x, x.abs() + 1, **exact)


@family
def halves():
    """To the bit: which numbers are rounded to half precision first."""
    for dtype in (F16, BF16):
        a = torch.cat([torch.tensor([0.3, -0.3, 0.6, 7.34375, 257]), make((27,), F32)]).to(dtype)
        b, exact = make((32,), dtype), {"match": False, "tol": (0, 0)}
        for name in "add sub mul div eq ne lt le gt ge fmod remainder".split():
            case(getattr(aten, name).Scalar, a, 0.3, **exact)
            case(getattr(aten, name).Tensor, a, torch.tensor(0.3), **exact)
            case(getattr(aten, name).Tensor, a, torch.tensor(-0.7, dtype=F64), **exact)
            case(getattr(aten, name).Scalar, a, 257, **exact)
        for name in "mul div atan2 hypot".split():
            form = getattr(aten, name)
            form = form.Tensor if "Tensor" in form.overloads() else form.default
            case(form, torch.tensor(0.3), a, **exact)
        for mode in ("floor", "trunc"):
            case(aten.div.Tensor_mode, a, torch.tensor(0.3), rounding_mode=mode, **exact)
        # Almost whole: the quotient is rounded before its whole part is taken.
        tenths = (torch.arange(1, 33) * 0.1).to(dtype)
        few = (torch.arange(1, 5)[:, None] * 0.1).to(dtype)
        case(aten.div.Tensor_mode, tenths.view(4, 8), few, rounding_mode="trunc", **exact)
        case(aten.div.Tensor_mode, -tenths, few[:1, 0], rounding_mode="trunc", **exact)
        case(aten.rsub.Scalar, a, 0.3, 1, **exact)
        case(aten.pow.Tensor_Scalar, a.abs(), 1.7, **exact)
        case(aten.pow.Scalar, 0.3, a, **exact)
        # As many as PyTorch takes at once: of fewer it rounds each step, too. Whole numbers have
        # exact products.
        case(aten.add.Tensor, a.round(), b.round(), alpha=0.3, **exact)
        case(aten.sub.Tensor, a.round(), b.round(), alpha=0.7, **exact)
        for decimals in (1, 2, 5, -1):
            case(aten.round.decimals, a, decimals=decimals, **exact)
        # Masks are no numbers, though all of their elements be one.
        for mask in (torch.tensor(True), torch.tensor([True]), torch.tensor([False])):
            case(aten.where.self, mask, a, b, **exact)
            case(aten.where.self, mask, a, torch.tensor(0.3), **exact)
            case(aten.masked_fill.Scalar, a, mask, 0.3, **exact)


@composite
def halves_taken_apart():
    """To the bit: what is computed in float32, with numbers as they are."""
    for dtype in (F16, BF16):
        a = torch.cat([torch.tensor([0.3, -0.3, 0.6]), make((29,), F32, -1, 1)]).to(dtype)
        b, exact = make((32,), dtype), (0, 0)
        # Signs of what shrinks to zero depend on how many elements there are.
        for op in (aten.softshrink.default, aten.hardshrink.default):
            case(op, a, 0.3, tol=(0, 1e-30))
        case(aten.threshold.default, a, 0.3, 1.7, tol=exact)
        for weight in (0.3, 0.7):
            case(aten.lerp.Scalar, a.round(), b.round(), weight, tol=exact)
            case(aten.lerp.Tensor, a.round(), b.round(), a[:1] + weight, tol=exact)


@family
def move():
    for dtype in MOVED:
        for shape in [(2, 3, 2, 3), (3, 5), (4,), (2, 0, 3), ()]:
            x, r = make(shape, dtype, high=90), len(shape)
            case(aten.clone.default, x)
            case(aten.view_copy.default, x, [x.numel()])
            case(aten.unsqueeze_copy.default, x, 0)
            case(aten.expand_copy.default, x, [2] + list(shape))
            case(aten.repeat.default, x, [2] * (r + 1))
            if r == 0:
                case(aten.unfold_copy.default, x, 0, 1, 1)
                continue
            for d in (0, -1):
                n = x.shape[d]
                case(aten.slice_copy.Tensor, x, d, 1, 2**63 - 1, 2)
                case(aten.slice_copy.Tensor, x, d, -3, -1)
                case(aten.cat.default, [x, x], d)
                case(aten.stack.default, [x, x], d)
                case(aten.roll.default, x, [1], [d])
                case(aten.constant_pad_nd.default, x, [1, 2], 3)
                if n:
                    case(aten.select_copy.int, x, d, n - 1)
                    case(aten.unbind_copy.int, x, d)
                    case(aten.select_scatter.default, x, make(x.select(d, 0).shape, dtype), d, 0)
                if n > 2:
                    case(aten.split_with_sizes_copy.default, x, [1, n - 1], d)
                    case(aten.split_copy.Tensor, x, 2, d)
                    case(aten.unfold_copy.default, x, d, 2, 2)
                    case(aten.narrow_copy.default, x, d, 1, 2)
                    part = x.narrow(d, 0, 2).contiguous()
                    case(aten.slice_scatter.default, x, part, d, 0, 2)
            case(aten.flip.default, x, list(range(r)))
            dims = list(range(r))
            random.shuffle(dims)
            case(aten.permute_copy.default, x, dims)
            if r > 1:
                case(aten.transpose_copy.int, x, 0, -1)
                case(aten.diagonal_copy.default, x, 1)
                case(aten.diagonal_copy.default, x, -1)
            if r == 4:
                case(aten.permute_copy.default, last(x), [0, 2, 3, 1])
                case(aten.clone.default, x, memory_format=torch.channels_last)
                case(aten.clone.default, last(x), memory_format=torch.contiguous_format)
                case(aten.constant_pad_nd.default, x, [1, 0, -1, 2], 0.0)
                case(aten.squeeze_copy.dims, x[:1], [0, 1])
        case(aten.t_copy.default, make((3, 5), dtype))
        case(aten.as_strided_copy.default, make((5, 6), dtype), [3, 2], [2, 5], 4)
        case(aten.pixel_shuffle.default, make((2, 8, 2, 3), dtype), 2)
        case(aten.pixel_unshuffle.default, make((2, 3, 4, 2), dtype), 2)
        case(aten.copy.default, make((2, 3), dtype), make((3,), F32))
        case(aten.copy_.default, make((2, 3), dtype), make((2, 3), I64))
        if dtype in (F32, F16, U8):
            case(aten.permute_copy.default, make((35, 38), dtype), [1, 0], tag="tiles")
    for a, b in itertools.product(ALL, ALL):
        case(aten._to_copy.default, make((7,), a, 0, 4), dtype=b)
    case(aten._to_copy.default, last(make((2, 3, 2, 2), F32)), dtype=F16)
    case(aten.cat.default, [make((2,), F32), make((2,), I32), torch.empty(0)], 0, tag="mixed")
    if hasattr(torch.ops, "dim_order_ops"):
        ops = torch.ops.dim_order_ops
        case(
            ops._to_dim_order_copy.default,
            make((1, 2, 3, 3), F32),
            dtype=F16,
            dim_order=[0, 2, 3, 1],
        )
        case(ops._clone_dim_order.default, last(make((1, 2, 3, 3), F32)), dim_order=[0, 1, 2, 3])
    x = make((2, 3), F32)
    fails(aten.select_copy.int, "index", [make((3,), F32)], x, 0, 2)
    fails(aten.as_strided_copy.default, "index", [make((2, 2), F32)], x, [2, 2], [3, 3], 1)
    fails(aten.permute_copy.default, "argument", [x], x, [0, 0])
    for dtype, result in ((F32, torch.complex64), (F64, torch.complex128), (I32, torch.complex64)):
        case(aten._to_copy.default, make((2, 3), dtype), dtype=result)
    case(aten._to_copy.default, last(make((2, 3, 2, 2), F32)), dtype=torch.complex128)


@family
def create():
    for dtype in ALL:
        case(aten.full.default, [2, 3], 3, dtype=dtype)
        case(aten.full_like.default, make((2, 2), dtype), 1.0)
        case(aten.scalar_tensor.default, 1, dtype=dtype)
        case(aten.zeros.default, [0, 3], dtype=dtype)
        case(aten.ones.default, [4], dtype=dtype)
        case(aten.fill.Scalar, make((2, 3), dtype), 1)
        case(aten.fill.Tensor, make((2, 3), dtype), torch.tensor(2))
        if dtype != B8:
            case(aten.arange.default, 5, dtype=dtype)
            case(aten.arange.start_step, 1, 9, 3, dtype=dtype)
        x = make((2, 3, 4), dtype)
        for k in (-1, 0, 2, 9):
            case(aten.tril.default, x, k)
            case(aten.triu.default, x, k)
    case(aten.arange.start_step, 0.5, 3.0, 0.3)
    case(aten.arange.start_step, 5, 0, -1)
    for dtype in (F32, F64):
        x = make((1, 2, 3, 4, 5), dtype)
        case(aten.reflection_pad1d.default, x[0, 0, 0], [2, 1])
        case(aten.reflection_pad2d.default, x[0], [1, 2, 0, 1])
        case(aten.reflection_pad3d.default, x, [1, 2, 2, 1, 1, 2])
        case(aten.replication_pad1d.default, x[0, 0], [2, 1])
        case(aten.replication_pad2d.default, x[0], [1, 2, 0, 3])
        case(aten.replication_pad3d.default, x, [1, 2, 3, 1, 1, 0])
    case(aten.repeat_interleave.Tensor, torch.tensor([2, 0, 3]), output_size=5)
    case(aten.rand.default, [2, 3], shape=True)
    case(aten.randn.default, [2, 3], shape=True)
    fails(aten.full.default, "argument", [torch.zeros(2, dtype=U8)], [2], 300)
    fails(aten.reflection_pad1d.default, "argument", [torch.zeros(2, 9)], torch.zeros(2, 3), [3, 3])


REDUCED = [(3, 5), (2, 3, 2, 3), (7,), (), (270,), (0, 3)]


@family
def reduce():
    for dtype, shape in itertools.product(ALL, REDUCED):
        if shape == (270,) and dtype != F32:
            continue
        base, r = make(shape, dtype), len(shape)
        if dtype in (I8, I16, U8) and r == 4:
            continue
        for x in [base, last(base)] if r == 4 and dtype in (F32, F16) else [base]:
            dims = [[], [0], [-1], [0, -1], [1, 2]][: 1 + 2 * (r > 0) + (r > 1) + (r > 3)]
            for d in dims:
                keep = random.random() < 0.5
                tol = (1e-2, 1e-2) if dtype in (F16, BF16) else (1e-5, 1e-5)
                case(aten.sum.dim_IntList, x, d, keep, tol=tol)
                case(aten.amax.default, x, d, keep, match=False)
                case(aten.amin.default, x, d, keep, match=False)
                case(aten.any.dims, x, d or None, keep, match=False)
                if dtype in FLOATS:
                    case(aten.mean.dim, x, d, keep, tol=tol)
                if dtype in FLOATS and base.numel() > 8:
                    case(aten.var.correction, x, d or None, correction=1, keepdim=keep, tol=tol)
                    case(
                        aten.var_mean.correction, x, d or None, correction=0, keepdim=keep, tol=tol
                    )
            case(aten.prod.default, base, match=False)
            case(aten.max.default, x, match=False)
            case(aten.any.default, x)
            case(aten.argmax.default, x, match=False)
            for d in range(r):
                case(aten.argmax.default, x, d, True, match=False)
                case(aten.argmin.default, x, d, match=False)
                case(aten.max.dim, x, d, match=False)
                case(aten.min.dim, x, d, True, match=False)
                case(aten.prod.dim_int, x, d, match=False)
                case(aten.any.dim, x, d)
                if r < 3:
                    case(aten.cumsum.default, x, d, tol=tol)
                    case(aten.cumprod.default, x, d, match=False, tol=tol)
                    case(aten.cummax.default, x, d, match=False)
                    case(aten.cummin.default, x, d, match=False)
                    case(aten.sort.stable, x, stable=True, dim=d, descending=keep, match=False)
                    if dtype in FLOATS:
                        case(aten.logcumsumexp.default, x, d, tol=tol)
    rows = torch.tensor([[1, NAN, 3], [NAN, -INF, INF], [-INF, -INF, -INF], [2, 2, 1]])
    for dtype in FLOATS:
        x = rows.to(dtype)
        for op in (aten.amax.default, aten.amin.default, aten.sum.dim_IntList, aten.any.dims):
            case(op, x, [1], tag="special")
        for op in (aten.max.dim, aten.min.dim, aten.median.dim, aten.cummax.default):
            case(op, x, 1, tag="special")
        case(aten.argmax.default, x, 1, tag="special")
        case(aten.sort.stable, x, stable=True, dim=1, descending=True, tag="special")
        case(aten.topk.default, torch.randperm(9).to(dtype), 3)
        case(aten.topk.default, torch.randperm(9).to(dtype).reshape(3, 3), 2, 0, False)
        case(aten.kthvalue.default, torch.randperm(9).to(dtype), 4)
        case(aten.median.dim, torch.randperm(8).to(dtype), 0)
    case(aten.sum.dim_IntList, make((4,), F32), [0], dtype=F64, tag="as")
    case(aten.sum.dim_IntList, torch.full((1, 100), 0.1), [1], tag="long", tol=(1e-6, 0))
    fails(aten.amax.default, "argument", [make((3,), F32)], make((0, 3), F32), [0])
    fails(aten.argmax.default, "argument", [torch.tensor(0)], make((0,), F32))
