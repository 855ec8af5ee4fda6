"""Writes tests/ops/infer.case: operator calls on tensors without data, with the dtype, sizes and
strides that PyTorch gives. One call a line:

    name(arguments) -> results | error

Tensors are dtype[sizes]{strides}, strides left out when row-major; a result's stride that is _ may
be any. Run with a Python that has torch:
    python tests/make/make_cases.py > tests/ops/infer.case
"""

import usage  # noqa: F401
import os
import sys

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

sys.path.insert(0, os.path.dirname(__file__))
from layout_cases import layouts  # noqa: E402

SHORT = {
    torch.uint8: "u8",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.float16: "f16",
    torch.float32: "f32",
    torch.float64: "f64",
    torch.bool: "b8",
    torch.bfloat16: "bf16",
    torch.complex64: "c64",
    torch.complex128: "c128",
    torch.complex32: "c32",
}
FORMATS = {
    torch.contiguous_format: "contiguous_format",
    torch.preserve_format: "preserve_format",
    torch.channels_last: "channels_last",
    torch.channels_last_3d: "channels_last_3d",
}
# PyTorch computes these from several others, and what strides their dims of size 1 get depends on
# all of them. They place no element; rules follow where others follow them, as far as is sensible.
LOOSE = {
    "_log_softmax",
    "mul.Tensor",
    "native_dropout",
    "native_group_norm",
    "native_layer_norm",
    "tril",
    "triu",
    "upsample_bilinear2d.vec",
}
aten = torch.ops.aten
mode = FakeTensorMode()
lines = []


def numbers(values):
    return ", ".join(str(int(v)) for v in values)


def row_major(sizes):
    strides, step = [], 1
    for size in reversed(sizes):
        strides.insert(0, step)
        step *= max(size, 1)
    return strides


def text(value, loose=False):
    if isinstance(value, torch.Tensor):
        sizes, strides = list(value.shape), list(value.stride())
        out = f"{SHORT[value.dtype]}[{numbers(sizes)}]"
        if loose and 1 in sizes and 0 not in sizes:
            known = ["_" if n == 1 else str(s) for n, s in zip(sizes, strides)]
            return out + "{" + ", ".join(known) + "}"
        plain = strides == row_major(sizes) or 0 in sizes
        return out if plain else out + "{" + numbers(strides) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(text(v) for v in value) + "]"
    if isinstance(value, torch.dtype):
        return SHORT[value]
    if isinstance(value, torch.memory_format):
        return FORMATS[value]
    if isinstance(value, str):
        return f"'{value}'"
    return repr(value)


def case(name, *args, **kwargs):
    base, _, overload = name.partition(".")
    op = getattr(getattr(aten, base), overload or "default")
    try:
        with mode:
            result = op(*args, **kwargs)
    except {"view": ValueError, "upsample_nearest2d.vec": RuntimeError}.get(name, ()):
        lines.append(f"aten::{name}({', '.join(text(a) for a in args)}) -> error")
        return
    except Exception as error:
        print(f"{name}: {type(error).__name__} {str(error)[:90]}", file=sys.stderr)
        return
    results = list(result) if isinstance(result, (list, tuple)) else [result]
    call = [text(a) for a in args] + [f"{k}={text(v)}" for k, v in kwargs.items()]
    loose = name in LOOSE
    lines.append(f"aten::{name}({', '.join(call)}) -> {', '.join(text(r, loose) for r in results)}")


def tensor(sizes, dtype=torch.float32, order=None, strides=None):
    """Dense in the physical order given (outermost first), or with these strides."""
    with mode:
        if strides:
            return torch.empty_strided(sizes, strides, dtype=dtype)
        if order:
            inverse = [order.index(d) for d in range(len(order))]
            return torch.empty([sizes[d] for d in order], dtype=dtype).permute(inverse)
        return torch.empty(sizes, dtype=dtype)


def images(dtype=torch.float32, sizes=(2, 4, 8, 8)):
    n, c, h, w = sizes
    yield tensor(sizes, dtype)
    yield tensor(sizes, dtype, order=[0, 2, 3, 1])
    yield tensor(sizes, dtype, order=[0, 2, 1, 3])
    yield tensor(sizes, dtype, strides=[2 * c * h * w, 2 * h * w, 2 * w, 2])
    yield tensor(sizes, dtype, strides=[0, 2 * h * w, 2 * w, 1])
    # One image: tokens seen as a map, the same with the stride that makes no format clear, and a
    # map of one pixel.
    yield tensor([1, c, h, w], dtype, strides=[c * h * w, 1, w * c, c])
    yield tensor([1, c, h, w], dtype, strides=[c, 1, w * c, c])
    yield tensor([1, c, h, w], dtype, strides=[n * c * h * w, h, n * c * h, 1])
    yield tensor([n, c, 1, 1], dtype, strides=[c, 1, c, c])


def rows(dtype=torch.float32):
    yield tensor([5, 2, 6], dtype)
    yield tensor([5, 2, 6], dtype, order=[1, 0, 2])
    yield tensor([5, 2, 6], dtype, order=[2, 1, 0])
    yield tensor([5, 2, 6], dtype, strides=[24, 12, 2])
    yield tensor([5, 2, 6], dtype, strides=[6, 0, 1])
    yield tensor([1, 2, 6], dtype, order=[0, 2, 1])
    yield tensor([1, 2, 6], dtype, strides=[2, 1, 2])
    yield tensor([5, 1, 6], dtype, strides=[6, 1, 1])


FLOAT_UNARY = """acos acosh asin asinh atan atanh cos cosh digamma erf erfc erfinv exp exp2 expm1
lgamma
log log10 log1p log2 reciprocal rsqrt sigmoid sin sinh sqrt tan tanh""".split()
KEEP_UNARY = "abs neg relu sign ceil floor round trunc".split()
BOOL_UNARY = "isinf isnan logical_not signbit".split()
BINARY = """add.Tensor sub.Tensor mul.Tensor div.Tensor fmod.Tensor remainder.Tensor
pow.Tensor_Tensor
maximum minimum atan2 eq.Tensor lt.Tensor logical_and floor_divide hypot copysign.Tensor""".split()
SCALAR = """add.Scalar sub.Scalar rsub.Scalar mul.Scalar div.Scalar fmod.Scalar remainder.Scalar
pow.Tensor_Scalar eq.Scalar ge.Scalar""".split()
SOME = [
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.float64,
    torch.int64,
    torch.int32,
    torch.uint8,
    torch.int8,
    torch.bool,
]


def pointwise():
    for name in FLOAT_UNARY[:3] + KEEP_UNARY[:2] + BOOL_UNARY[:1]:
        for x in list(images()) + list(rows()):
            case(name, x)
    for name in FLOAT_UNARY + KEEP_UNARY + BOOL_UNARY:
        for dtype in SOME:
            case(name, tensor([3], dtype))
    for name in BINARY:
        for a in SOME:
            for b in (torch.float16, torch.int32, torch.bool):
                case(name, tensor([3], a), tensor([3], b))
                case(name, tensor([3], a), tensor([], b))
    for name in SCALAR:
        for dtype in SOME:
            for number in (2, 1.5, True):
                case(name, tensor([3], dtype), number)
    for a in images():
        for b in images():
            case("add.Tensor", a, b)
            case("where.self", tensor([2, 4, 8, 8], torch.bool), a, b)
        for sizes in ([8], [4, 1, 1], [1, 4, 1, 1], [2, 4, 8, 1], [], [3, 2, 4, 8, 8]):
            case("mul.Tensor", a, tensor(sizes))
            case("mul.Tensor", tensor(sizes), a)
            case("sub.Tensor", a, tensor(sizes, torch.float64))
    for a in rows():
        for b in rows():
            case("add.Tensor", a, b)
            case("eq.Tensor", a, b)
        case("clamp", a, 0.0, 1.0)
        case("clamp.Tensor", a, tensor([6]), tensor([2, 1]))
        case("leaky_relu", a)
        case("elu", a)
        case("gelu", a, approximate="tanh")
        case("hardtanh", a, 0, 6)
        case("where.self", tensor([5, 1, 1], torch.bool), a, tensor([6]))
        case("masked_fill.Scalar", a, tensor([5, 1, 6], torch.bool), 0)
    case("add.Tensor", tensor([5, 1]), tensor([1, 6]))
    case("add.Tensor", tensor([5, 1], strides=[1, 5]), tensor([1, 6]))
    case("add.Tensor", tensor([3, 1, 4]), tensor([3, 5, 1], order=[1, 0, 2]))
    case("add.Tensor", tensor([0, 3]), tensor([1, 3]))
    case("add.Tensor", tensor([3]), 1)
    case("add.Tensor", tensor([3], torch.int32), 1.5)
    case("mul.Tensor", tensor([2, 4, 8, 8], order=[0, 2, 3, 1]), 2)
    case(
        "div.Tensor_mode", tensor([3], torch.int32), tensor([3], torch.int64), rounding_mode="floor"
    )
    case("div.Tensor_mode", tensor([3], torch.int32), tensor([3], torch.int64), rounding_mode=None)
    case("div.Scalar_mode", tensor([3], torch.int32), 2, rounding_mode="trunc")
    case("pow.Scalar", 2, tensor([3]))
    case("pow.Scalar", 2, tensor([3], torch.int32))
    case("pow.Scalar", 2.0, tensor([3], torch.int32))
    case("clamp", tensor([3], torch.int32), 0, 6)
    case("clamp", tensor([3], torch.int32), 0.5)
    case("bitwise_and.Tensor", tensor([3], torch.bool), tensor([2, 1], torch.bool))
    case("bitwise_or.Scalar", tensor([3], torch.int32), 1)
    case("bitwise_left_shift.Tensor", tensor([3], torch.int32), tensor([3], torch.int64))
    case("__lshift__.Scalar", tensor([3], torch.int32), 1)
    case(
        "where.self", tensor([3], torch.bool), tensor([3], torch.float16), tensor([], torch.float64)
    )
    case(
        "where.self", tensor([3], torch.bool), tensor([3], torch.int32), tensor([3], torch.float16)
    )
    case("abs", tensor([3], torch.complex64))
    case("round.decimals", tensor([3]), decimals=2)
    for x in rows():
        case("native_dropout", x, 0.5, True)


def views(copy):
    c = "_copy" if copy else ""
    for x in list(images()) + list(rows()):
        n = x.dim()
        case(f"alias{c}", x)
        case(f"detach{c}", x)
        case(f"permute{c}", x, list(reversed(range(n))))
        case(f"permute{c}", x, [-1] + list(range(n - 1)))
        case(f"transpose{c}.int", x, 0, -1)
        case(f"select{c}.int", x, 1, 1)
        case(f"select{c}.int", x, -1, -2)
        case(f"slice{c}.Tensor", x, -1, 1, 5, 2)
        case(f"slice{c}.Tensor", x, 0, 1)
        case(f"slice{c}.Tensor", x, 0, -3, 9223372036854775807)
        case(f"slice{c}.Tensor", x, 1, 5, 2)
        case(f"split{c}.Tensor", x, 3, -1)
        case(f"split_with_sizes{c}", x, [1, 1] if n == 3 else [1, 3], 1)
        case(f"unbind{c}.int", x, 1)
        case(f"unsqueeze{c}", x, 0)
        case(f"unsqueeze{c}", x, 2)
        case(f"unsqueeze{c}", x, -1)
        case(f"squeeze{c}", x)
        case(f"squeeze{c}.dim", x, 1)
        case(f"expand{c}", x, [3] + list(x.shape))
        case(f"expand{c}", x, [3] + [-1] * n)
        case(f"diagonal{c}", x)
        case(f"diagonal{c}", x, -1, -1, 0)
        case(f"unfold{c}", x, -1, 3, 2)
        case(f"view{c}", x, list(x.shape))
        case(f"view{c}", x, [-1])
        case(f"view{c}", x, [x.shape[0], 1, -1])
        case(f"view{c}", x, list(x.shape[:-1]) + [2, -1])
        case(f"view{c}", x, list(x.shape[:-2]) + [-1])
        case(f"view{c}.dtype", x, torch.int32)
    for x in (tensor([1, 3, 1, 2]), tensor([1, 3, 1, 2], order=[3, 2, 1, 0])):
        case(f"squeeze{c}", x)
        case(f"squeeze{c}.dim", x, 0)
        case(f"squeeze{c}.dim", x, 1)
        case(f"squeeze{c}.dims", x, [0, -2, 1])
        case(f"view{c}", x, [3, 1, 2])
        case(f"expand{c}", x, [5, 3, 7, 2])
    case(f"t{c}", tensor([2, 3]))
    case(f"t{c}", tensor([2]))
    case(f"view{c}", tensor([0, 3]), [3, 0])
    case(f"view{c}", tensor([]), [1, 1])
    case(f"view{c}", tensor([1]), [])
    case(f"unsqueeze{c}", tensor([]), 0)
    case(f"expand{c}", tensor([]), [2, 3])
    case(f"view{c}.dtype", tensor([4, 6]), torch.float16)
    case(f"view{c}.dtype", tensor([4, 6], torch.float16), torch.float32)
    case(f"as_strided{c}", tensor([24]), [2, 3], [3, 1], 5)
    case(f"as_strided{c}", tensor([24]), [2, 3], [1, 2])
    case(f"view_as_real{c}", tensor([2, 3], torch.complex64))
    case(f"view_as_complex{c}", tensor([3, 2, 2]))
    if copy:
        case("narrow_copy", tensor([5, 6]), 1, 2, 3)
    else:
        case("_unsafe_view", tensor([4, 6]), [24])
        case("_reshape_alias", tensor([4, 6]), [24], [1])


def shape():
    for x in list(images()) + list(rows()):
        n = x.dim()
        case("clone", x)
        case("clone", x, memory_format=torch.contiguous_format)
        case("_to_copy", x, dtype=torch.float16)
        case("_to_copy", x, memory_format=torch.contiguous_format)
        if n == 4:
            case("clone", x, memory_format=torch.channels_last)
        case("copy", x, tensor([x.shape[-1]]))
        case("cat", [x, x], 1)
        case("cat", [x, tensor(list(x.shape))], -1)
        case("cat", [tensor([0]), x], 0)
        case("cat", [x], 0)
        case("stack", [x, x], 1)
        case("stack", [x, x], -1)
        case("constant_pad_nd", x, [1, 2])
        case("constant_pad_nd", x, [1, -2, 0, 3], 1.5)
        case("constant_pad_nd", x, [0, 0, -1, 0])
        case("flip", x, [0, -1])
        case("repeat", x, [2] * n)
        case("repeat", x, [3] + [1] * n)
        case("roll", x, [1], [0])
        case("tril", x)
        case("triu", x, 1)
    for x in images():
        case("pixel_shuffle", x, 2)
        case("pixel_unshuffle", x, 2)
        case("reflection_pad2d", x, [1, 2, 0, 1])
        case("replication_pad2d", x, [1, 2, 0, 1])
    for x in rows():
        case("reflection_pad1d", x, [1, 2])
        case("replication_pad1d", x, [1, 2])
    case("cat", [tensor([3]), tensor([4], torch.float64)], 0)
    case("cat", [tensor([3], torch.int32), tensor([4], torch.bool)], 0)
    case("repeat_interleave.Tensor", tensor([3], torch.int64), output_size=7)
    case("replication_pad3d", tensor([2, 3, 4, 5, 6]), [1, 1, 2, 2, 0, 1])
    case("lift_fresh_copy", tensor([2]))


def reductions():
    for x in list(images()) + list(rows()):
        for dims in ([1], [-1, 0], [], None):
            for keep in (False, True):
                case("sum.dim_IntList", x, dims, keep)
                case("mean.dim", x, dims, keep)
                case("var.correction", x, dims, correction=1, keepdim=keep)
                case("var_mean.correction", x, dims, correction=0, keepdim=keep)
                if dims is not None:
                    case("amax", x, dims, keep)
        for keep in (False, True):
            case("argmax", x, 1, keep)
            case("argmin", x, None, keep)
            case("any.dim", x, 1, keep)
            case("any.dims", x, [0, 1], keep)
            case("prod.dim_int", x, 1, keep)
            case("max.dim", x, -1, keep)
            case("min.dim", x, 0, keep)
            case("median.dim", x, 1, keep)
            case("kthvalue", x, 1, 1, keep)
        for name in ("max", "min", "any", "mean", "prod"):
            case(name, x)
        case("cumsum", x, 1)
        case("cumprod", x, -1)
        case("cummax", x, 0)
        case("logcumsumexp", x, 0)
        case("_softmax", x, 1, False)
        case("_log_softmax", x, -1, False)
        case("sort", x)
        case("sort.stable", x, stable=True, dim=0, descending=True)
        case("topk", x, 2)
        case("topk", x, 1, 0)
    for dtype in SOME:
        for name in ("sum.dim_IntList", "amax"):
            case(name, tensor([2, 3], dtype), [1])
        case("prod", tensor([2, 3], dtype))
        case("cumsum", tensor([2, 3], dtype), 0)
        case("any", tensor([2, 3], dtype))
        case("max", tensor([2, 3], dtype))
        case("argmax", tensor([2, 3], dtype))
        case("sum.dim_IntList", tensor([2, 3], dtype), [1], dtype=torch.float64)
    case("mean", tensor([2, 3], torch.int32), dtype=torch.float32)
    case("amax", tensor([]), [])
    case("sum.dim_IntList", tensor([]), [-1])
    case("cumsum", tensor([]), 0)


def linalg():
    a, b = tensor([3, 5]), tensor([5, 4])
    for left in (a, tensor([3, 5], order=[1, 0])):
        for right in (b, tensor([5, 4], order=[1, 0])):
            case("mm", left, right)
            case("addmm", tensor([4]), left, right)
            case("addmm", tensor([3, 1]), left, right)
    case("bmm", tensor([2, 3, 5]), tensor([2, 5, 4], order=[2, 1, 0]))
    case("_cdist_forward", tensor([2, 3, 5]), tensor([2, 4, 5]), 2.0, None)
    case("_pdist_forward", tensor([4, 5]))
    case(
        "_trilinear",
        tensor([2, 1, 3]),
        tensor([4, 3, 5]),
        tensor([2, 1, 5]),
        [1, 3],
        [0],
        [1, 2],
        [2, 3],
    )
    case("linalg_inv_ex", tensor([2, 3, 3]))
    case("linalg_cholesky_ex", tensor([3, 3]))
    case("_fft_r2c", tensor([2, 9]), [1], 0, True)
    case("_fft_c2r", tensor([2, 5], torch.complex64), [1], 0, 9)
    case("_fft_c2c", tensor([2, 5], torch.complex64), [1], 0, True)
    for x in images():
        for w in (tensor([6, 4, 3, 3]), tensor([6, 4, 3, 3], order=[0, 2, 3, 1])):
            case("convolution", x, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)
            case("convolution", x, w, tensor([6]), [2], [0], [2], False, [0], 1)
        case("convolution", x, tensor([4, 1, 3, 3]), None, [2, 2], [1, 1], [1, 1], False, [0, 0], 4)
        case("convolution", x, tensor([4, 3, 3, 3]), None, [2, 2], [1, 1], [1, 1], True, [1, 1], 2)
        case("convolution", x, tensor([6, 4, 1, 1]), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    for x in (
        tensor([2, 4, 8]),
        tensor([2, 4, 8], order=[0, 2, 1]),
        tensor([2, 4, 8], order=[1, 0, 2]),
        tensor([2, 4, 8], order=[2, 0, 1]),
    ):
        for w in (tensor([6, 4, 3]), tensor([6, 4, 3], order=[0, 2, 1]), tensor([6, 4, 1])):
            case("convolution", x, w, tensor([6]), [1], [1], [1], False, [0], 1)
            case("convolution", x, w, None, [2], [1], [1], False, [0], 1)
    case(
        "convolution",
        tensor([4, 8, 8]),
        tensor([6, 4, 3, 3]),
        None,
        [1, 1],
        [1, 1],
        [1, 1],
        False,
        [0, 0],
        1,
    )
    last = [0, 2, 3, 4, 1]
    for x in (
        tensor([1, 2, 4, 5, 6]),
        tensor([1, 2, 4, 5, 6], order=last),
        tensor([2, 2, 4, 5, 6]),
        tensor([2, 2, 4, 5, 6], order=last),
    ):
        for w in (tensor([3, 2, 2, 2, 2]), tensor([3, 2, 2, 2, 2], order=last)):
            case("convolution", x, w, None, [1, 1, 1], [0, 0, 0], [1, 1, 1], False, [0, 0, 0], 1)


def nn():
    vector = [tensor([4]) for _ in range(4)]
    for x in images():
        case("_native_batch_norm_legit_no_training", x, *vector, 0.1, 1e-5)
        case("_native_batch_norm_legit.no_stats", x, vector[0], None, True, 0.1, 1e-5)
        case("_native_batch_norm_legit_functional", x, *vector, True, 0.1, 1e-5)
        case("native_layer_norm", x, [x.shape[-1]], None, None, 1e-5)
        last = list(x.shape[-2:])
        case("native_layer_norm", x, last, tensor(last), tensor(last), 1e-5)
        case("max_pool2d_with_indices", x, [2, 2])
        case("max_pool2d_with_indices", x, [3, 3], [2, 2], [1, 1], [1, 1], True)
        case("max_pool2d_with_indices", x, [3, 3], [2, 2], [1, 1], [2, 2])
        case("avg_pool2d", x, [3, 3], [2, 2], [1, 1], True)
        case("avg_pool2d", x, [2, 2])
        case("_adaptive_avg_pool2d", x, [3, 5])
        case("_adaptive_avg_pool2d", x, [1, 1])
        case("adaptive_max_pool2d", x, [3, 3])
        case("upsample_bilinear2d.vec", x, [16, 12], False, None)
        case("upsample_bilinear2d.vec", x, None, True, [2.0, 1.5])
        for to in (None, [2.0, 2.0]), (None, []), ([4, 4], []), ([4, 4], [2.0, 2.0]):
            case("upsample_nearest2d.vec", x, *to)
        case("_upsample_bilinear2d_aa", x, [4, 4], False)
        case("grid_sampler_2d", x, tensor([x.shape[0], 3, 5, 2]), 0, 0, False)
        case("glu", x, 1)
    case("avg_pool1d", tensor([2, 4, 9]), [3], [2], [1])
    case("native_group_norm", tensor([2, 4, 8, 8]), vector[0], vector[1], 2, 4, 64, 2, 1e-5)
    case("max_pool3d_with_indices", tensor([1, 2, 6, 6, 6]), [2, 2, 2])
    case("avg_pool3d", tensor([1, 2, 6, 6, 6]), [2, 2, 2])
    case("_adaptive_avg_pool3d", tensor([1, 2, 6, 6, 6]), [2, 3, 1])
    case("max_pool2d_with_indices", tensor([4, 8, 8]), [2, 2])
    for x in (
        tensor([2, 3, 4, 6, 6], order=[0, 2, 3, 4, 1]),
        tensor([1, 3, 4, 6, 6], strides=[432, 1, 108, 18, 3]),
        tensor([2, 3, 4, 6, 6], order=[0, 1, 3, 4, 2]),
    ):
        case("max_pool3d_with_indices", x, [2, 2, 2])
        case("avg_pool3d", x, [2, 2, 2])
        case("_adaptive_avg_pool3d", x, [2, 3, 1])
        case("replication_pad3d", x, [1, 1, 2, 2, 0, 1])
        case("reflection_pad3d", x, [1, 1, 2, 2, 0, 1])
        case("constant_pad_nd", x, [1, 1, 2, 2, 0, 1])
    case("native_layer_norm", tensor([2, 8], torch.bfloat16), [8], None, None, 1e-5)
    case("native_group_norm", tensor([2, 4, 8], torch.float16), None, None, 2, 4, 8, 2, 1e-5)
    case("_native_batch_norm_legit_no_training", tensor([2, 4], torch.float16), *vector, 0.1, 1e-5)
    case(
        "_native_batch_norm_legit_no_training",
        tensor([2, 4, 8], order=[0, 2, 1]),
        *vector,
        0.1,
        1e-5,
    )
    case("col2im", tensor([2, 27, 36]), [8, 8], [3, 3], [1, 1], [0, 0], [1, 1])
    case("embedding", tensor([10, 4]), tensor([3, 2], torch.int64))
    case("embedding", tensor([10, 4], torch.float16), tensor([], torch.int32))
    case("_embedding_bag", tensor([10, 4]), tensor([6], torch.int64), tensor([3], torch.int64))
    case(
        "_embedding_bag",
        tensor([10, 4]),
        tensor([6], torch.int64),
        tensor([3], torch.int64),
        False,
        1,
    )
    case(
        "_embedding_bag",
        tensor([10, 4]),
        tensor([6], torch.int64),
        tensor([3], torch.int64),
        False,
        2,
        False,
        None,
        True,
    )
    for mode in (0, 1, 2):
        table, ids, offsets = tensor([10, 4]), tensor([6], torch.int64), tensor([3], torch.int64)
        call = table, ids, offsets, False, mode, False, None
        case("_embedding_bag_forward_only", *call, False)
        case("_embedding_bag_forward_only", *call, True)


def index():
    long = torch.int64
    for x in list(images()) + list(rows()):
        n = x.dim()
        i3, i21 = tensor([3], long), tensor([2, 1], long)
        case("index.Tensor", x, [i3])
        case("index.Tensor", x, [None, i3])
        case("index.Tensor", x, [None, i21, i3])
        case("index.Tensor", x, [i21, None, i3])
        case("index.Tensor", x, [tensor([], long)])
        case("index.Tensor", x, [None, tensor([], long)])
        case("index.Tensor", x, [tensor([], long), None, i3])
        case("index.Tensor", x, [tensor([], long), None, tensor([], long)])
        case("index_put", x, [i3], tensor([1]))
        case("index_select", x, 1, i3)
        case("gather", x, 1, tensor([1] * n, long))
        case("scatter.value", x, 1, tensor([1] * n, long), 2.0)
        case("scatter.src", x, 1, tensor([1] * n, long), x)
        case("scatter_add", x, 1, tensor([1] * n, long), x)
        case("scatter_reduce.two", x, 1, tensor([1] * n, long), x, "amax")
        case("masked_scatter", x, tensor([x.shape[-1]], torch.bool), tensor([100]))
        case("select_scatter", x, tensor(list(x.shape[1:])), 0, 1)
        case("slice_scatter", x, tensor(list(x.shape)), 0)
        case("fill.Scalar", x, 1)
    case("searchsorted.Tensor", tensor([8]), tensor([2, 3]))
    case("bucketize.Tensor", tensor([2, 3]), tensor([8]), out_int32=True)


def create():
    case("arange.start_step", 0, 10, 3)
    case("arange.start_step", 10, 0, -3)
    case("arange.start_step", 0.0, 1.0, 0.3)
    case("arange.start_step", 0, 5, dtype=torch.int32)
    case("arange.start_step", 0, 0)
    case("arange", 5)
    case("arange", 2.5)
    case("arange.start", 1, 5)
    case("full", [2, 3], 1)
    case("full", [2, 3], True)
    case("full", [2, 3], 1.5)
    case("full", [], 1, dtype=torch.float16)
    case("ones", [2])
    case("zeros", [2], dtype=torch.bool)
    case("scalar_tensor", 1)
    case("scalar_tensor", 1, dtype=torch.int64)
    case("empty.memory_format", [2, 3, 4, 5], memory_format=torch.channels_last)
    case("empty_strided", [2, 3], [1, 2])
    case("empty_permuted", [2, 3, 4], [2, 0, 1])
    case("rand", [2])
    case("randn", [2], dtype=torch.float64)
    case("randint.low", 0, 5, [3])
    case("randperm", 6)
    case("multinomial", tensor([2, 5]), 3)
    for x in list(images()) + list(rows()):
        case("full_like", x, 1)
        case("full_like", x, 1, dtype=torch.bool, memory_format=torch.contiguous_format)
        case("rand_like", x)
        case("randn_like", x, dtype=torch.float64)


for group in (pointwise, shape, reductions, linalg, nn, index, create):
    group()
layouts(case, tensor)
views(False)
views(True)
seen = set()
for line in lines:
    if line not in seen:
        seen.add(line)
        print(line)
