"""Writes tests/kernels/*.case: operator calls with the results that PyTorch computes, in the format
that tests/unit/kernels_test.c describes. Inputs are seeded, so the files only change when the list
of calls does. Run with a Python that has torch (and executorch, for the dim_order operators):

    python tests/tools/make_kernel_cases.py tests/kernels
"""

import base64
import itertools
import random
import sys
from pathlib import Path

import torch

try:
    import executorch.exir.passes._quant_patterns_and_replacements  # noqa: F401
    import executorch.exir.passes.dim_order_ops_registry  # noqa: F401
except ImportError:
    pass
import torch.ao.quantization.fx._decomposed  # noqa: F401

aten = torch.ops.aten
F32, F64, F16, BF16 = torch.float32, torch.float64, torch.float16, torch.bfloat16
U8, I8, I16, I32, I64, B8 = (
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.bool,
)
FLOATS, INTS = [F32, F64, F16, BF16], [U8, I8, I16, I32, I64]
REAL = FLOATS + INTS
ALL = REAL + [B8]
SHORT = {
    U8: "u8",
    I8: "i8",
    I16: "i16",
    I32: "i32",
    I64: "i64",
    F16: "f16",
    F32: "f32",
    F64: "f64",
    B8: "b8",
    BF16: "bf16",
    torch.complex64: "c64",
}
CODE = {U8: 0, I8: 1, I16: 2, I32: 3, I64: 4, F16: 5, F32: 6, F64: 7, B8: 11, BF16: 15}
NAN, INF = float("nan"), float("inf")
SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    NAN,
    INF,
    -INF,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    1e-40,
    3e38,
    -7.25,
    100.0,
    -100.0,
    1e-8,
    0.3,
    7.0,
]

lines = []
names = {}


def last(t):
    return t.to(memory_format=torch.channels_last)


def make(shape, dtype, low=-4, high=4):
    if dtype == B8:
        return torch.rand(shape) > 0.5
    if dtype in INTS:
        return torch.randint(0 if dtype == U8 else low, high + 1, shape).to(dtype)
    return (torch.rand(shape) * (high - low) + low).to(dtype)


def tensor_text(t):
    order = "-"
    is_last = t.dim() == 4 and t.is_contiguous(memory_format=torch.channels_last)
    if is_last and not t.is_contiguous():
        order = "0231"
        t = t.permute(0, 2, 3, 1)
        sizes = "x".join(str(t.shape[k]) for k in (0, 3, 1, 2))
    else:
        sizes = "x".join(map(str, t.shape)) or "-"
    flat = t.detach().contiguous().reshape(-1)
    data = (
        base64.b64encode(bytes(flat.view(torch.uint8).numpy().tobytes())).decode()
        if flat.numel()
        else "-"
    )
    return f"{SHORT[t.dtype]} {sizes} {order} {data}"


def value_lines(value):
    if value is None or isinstance(value, (torch.memory_format, torch.layout, torch.device)):
        return ["n"]
    if isinstance(value, bool):
        return [f"b {int(value)}"]
    if isinstance(value, int):
        return [f"i {value}"]
    if isinstance(value, float):
        return [f"d {value!r}"]
    if isinstance(value, str):
        return [f"s {value}"]
    if isinstance(value, torch.dtype):
        return [f"i {CODE[value]}"]
    if isinstance(value, torch.Tensor):
        return ["t " + tensor_text(value)]
    if any(isinstance(v, torch.Tensor) for v in value):
        return [f"T {len(value)}"] + [line for v in value for line in value_lines(v)]
    if any(isinstance(v, float) for v in value):
        return ["D " + " ".join(map(repr, value))]
    if any(isinstance(v, bool) for v in value):
        return ["B " + " ".join(str(int(v)) for v in value)]
    return ("I " + " ".join(map(str, value))).split("\n")


def bind(op, args, kwargs):
    schema = op._schema
    values, rest = [], dict(kwargs)
    for i, p in enumerate(schema.arguments):
        if i < len(args):
            values.append(args[i])
        elif p.name in rest:
            values.append(rest.pop(p.name))
        else:
            values.append(p.default_value)
        # A list default may be one number.
        if type(values[-1]) is int and "List" in str(p.type):
            values[-1] = [values[-1]]
    assert not rest, rest
    return values


def header(op, args, kwargs, tag):
    name = str(op).removesuffix(".default").replace(".", "::", 1)
    key = (
        "_".join(
            filter(None, [tag] + [SHORT[a.dtype] for a in args if isinstance(a, torch.Tensor)][:2])
        )
        or "plain"
    )
    key = key.replace(" ", "_")
    names[(name, key)] = names.get((name, key), 0) + 1
    lines.append(f"case {key}_{names[(name, key)]} {name}")
    for value in bind(op, args, kwargs):
        lines.extend(value_lines(value))


def case(op, *args, tag="", tol=None, shape=False, match=True, **kwargs):
    """One call. match=False leaves out calls that PyTorch itself refuses."""
    before = [a.clone() if isinstance(a, torch.Tensor) else a for a in args]
    try:
        result = op(*args, **kwargs)
    except (RuntimeError, NotImplementedError, IndexError, ValueError):
        if match:
            raise
        return
    header(op, before, kwargs, tag)
    if tol:
        lines.append(f"tol {tol[0]} {tol[1]}")
    if shape:
        lines.append("shape")
    mutates = op._schema.is_mutable
    for r in (
        [result]
        if isinstance(result, torch.Tensor)
        else [result]
        if mutates
        else result
        if isinstance(result, tuple)
        else [result]
    ):
        if isinstance(r, (list, tuple)):
            lines.append(f"O {len(r)}")
            lines.extend("o " + tensor_text(t) for t in r)
        else:
            lines.append(("m " if mutates else "o ") + tensor_text(r))


def given(op, outs, *args, tag="given", tol=None, **kwargs):
    """A call that PyTorch cannot make (it crashes or leaves the result open)."""
    header(op, list(args), kwargs, tag)
    if tol:
        lines.append(f"tol {tol[0]} {tol[1]}")
    lines.extend("o " + tensor_text(o) for o in outs)


def fails(op, slug, outs, *args, tag="bad", **kwargs):
    header(op, list(args), kwargs, tag)
    lines.append(f"fails {slug}")
    lines.extend("o " + tensor_text(o) for o in outs)


def family(f):
    def write(folder):
        random.seed(1)
        torch.manual_seed(1)
        lines.clear()
        names.clear()
        f()
        text = "\n".join(lines) + "\n"
        (folder / f"{f.__name__}.case").write_text(text)
        print(f"{f.__name__}: {sum(l.startswith('case ') for l in lines)} cases, {len(text)} bytes")

    FAMILIES.append(write)
    return f


FAMILIES = []
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
    # Halves are left out: PyTorch rounds their quotient before it takes the whole part.
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


MOVED = [F32, I64, F16, U8, B8, F64]


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


def index_of(size, *shape):
    return torch.randint(0, size, shape)


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
            tol=(1e-6, 0),
        )  # PyTorch computes in f32
    if not hasattr(q, "embedding_4bit"):
        return
    for scales in (torch.rand(6), torch.rand(6, 2)):
        i = index_of(6, 2, 2)
        case(q.embedding_byte.default, make((6, 8), I8, -100, 100), scales, None, -128, 127, i)
        case(q.embedding_4bit.default, make((6, 4), U8, 0, 255), scales, None, -8, 7, i)
        case(q.embedding_2bit.default, make((6, 2), U8, 0, 255), scales, None, -2, 1, i)


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
    fails(
        aten.searchsorted.Tensor,
        "shape",
        [torch.zeros(2, 3, dtype=I64)],
        make((3, 4), F32),
        make((2, 3), F32),
    )


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    for write in FAMILIES:
        write(target)
