"""Turns calls of PyTorch operators into tests/kernels/*.case; see make_kernel_cases.py."""

import random

import torch
from case_numbers import data_text

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
    torch.complex128: "c128",
    torch.float8_e5m2: "f8e5m2",
    torch.float8_e4m3fn: "f8e4m3fn",
    torch.float8_e5m2fnuz: "f8e5m2fnuz",
    torch.float8_e4m3fnuz: "f8e4m3fnuz",
}
CODE = {U8: 0, I8: 1, I16: 2, I32: 3, I64: 4, F16: 5, F32: 6, F64: 7, B8: 11, BF16: 15}
CODE |= {torch.complex64: 9, torch.complex128: 10}
CODE |= {torch.float8_e5m2: 23, torch.float8_e4m3fn: 24}
CODE |= {torch.float8_e5m2fnuz: 25, torch.float8_e4m3fnuz: 26}
MOVED = [F32, I64, F16, U8, B8, F64]
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


def index_of(size, *shape):
    return torch.randint(0, size, shape)


def tensor_text(t):
    order = "-"
    is_last = t.dim() == 4 and t.is_contiguous(memory_format=torch.channels_last)
    if is_last and not t.is_contiguous():
        order = "0231"
        t = t.permute(0, 2, 3, 1)
        sizes = "x".join(str(t.shape[k]) for k in (0, 3, 1, 2))
    else:
        sizes = "x".join(map(str, t.shape)) or "-"
    flat = t.detach().resolve_conj().contiguous().reshape(-1)
    return f"{SHORT[t.dtype]} {sizes} {order} {data_text(flat)}"


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


def case(op, *args, tag="", tol=None, shape=False, only=0, match=True, **kwargs):
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
    if only:
        lines.append(f"only {only}")
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


def family(f, families=None):
    def write(folder):
        random.seed(1)
        torch.manual_seed(1)
        lines.clear()
        names.clear()
        try:
            f()
        except ImportError as missing:
            print(f"{f.__name__}: left as it is, without {missing.name}")
            return
        text = "\n".join(lines) + "\n"
        (folder / f"{f.__name__}.case").write_text(text)
        print(f"{f.__name__}: {sum(l.startswith('case ') for l in lines)} cases, {len(text)} bytes")

    (FAMILIES if families is None else families).append(write)
    return f


def composite(f):
    """A family of operators that have no kernel, because they are always decomposed."""
    return family(f, COMPOSITES)


FAMILIES = []
COMPOSITES = []
