"""Programs with complex numbers, which lowering splits into pairs of real ones. As in expanded.py,
they are exported, lowered for both targets, and run by the official runtime and by this one. Their
results are compared with PyTorch's. Complex results are compared in their parts, which may be off
by a share of the number's magnitude: a small part next to a large one is what rounding leaves of
it."""

import programs
import torch
import torch.nn.functional as F
from expanded import INF, NAN, floats
from programs import Fn

ODD = 0.0, -0.0, 1e-6, 0.5, -1.0, 20.0, 3e38, INF, -INF
PLACES = torch.tensor([2, 0])
TALL = torch.export.Dim("tall", min=3, max=9)


def numbers(*shape, dtype=torch.complex64):
    return torch.randn(shape, dtype=dtype)


def parts(f):
    """The parts of a function's complex results: what both runtimes can hand over at any size."""

    def taken(*args):
        leaves = torch.utils._pytree.tree_leaves(f(*args))
        taken.pairs = [k for k, x in enumerate(leaves) if x.is_complex()]
        return tuple(torch.view_as_real(x.resolve_conj()) if x.is_complex() else x for x in leaves)

    return Fn(taken)


class Rotary(torch.nn.Module):
    """As Llama's reference code turns queries."""

    def __init__(self):
        super().__init__()
        angles = torch.outer(torch.arange(16).float(), 1e4 ** -(torch.arange(4) / 4))
        self.register_buffer("turns", torch.polar(torch.ones_like(angles), angles))

    def forward(self, x):
        pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
        turns = self.turns[: x.shape[1]].view(1, x.shape[1], 1, 4)
        return (torch.view_as_real(pairs * turns).flatten(3),)


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(numbers(5, 4))
        self.bias = torch.nn.Parameter(numbers(5))

    def forward(self, x):
        return (F.linear(x, self.weight, self.bias),)


def write_parts(x):
    x = x.clone()
    x.real.mul_(2)
    torch.view_as_real(x)[..., 1].add_(1)
    x.conj()[0] = 3
    x[1:] *= 1j
    return x


def arithmetic(x, y):
    yield "add, sub", lambda x, y: (x + y, x - y, x + 1, 1 - x, x - y.real, y.real - x)
    yield "mul", lambda x, y: (x * y, x * 2, x * y.real, x * 1j, y.real * 1j, x.conj() * y)
    yield "div", lambda x, y: (x / y, x / 2, x / y.real, 1 / x, x / (1 + 2j), (1 + 2j) / x)
    yield "abs", lambda x, y: (x.abs(), x.angle(), x.sgn(), -x, x.conj(), x.reciprocal())
    yield "roots", lambda x, y: (x**2, x**0.5, x**-1, x**3, x.sqrt(), x.rsqrt(), x**y, 2**x)
    yield "exp", lambda x, y: (x.exp(), x.log(), x.log2(), x.log1p(), x.expm1(), x.sigmoid())
    yield "sin", lambda x, y: (x.sin(), x.cos(), x.tan(), x.sinh(), x.cosh(), x.tanh())
    yield "phases", lambda x, y: (torch.exp(1j * y.real), torch.polar(y.abs(), x.real))
    yield "compare", lambda x, y: (x == y, x != x, x == 1, x.isnan(), x.isfinite(), x.isreal())
    yield "sums", lambda x, y: (x.sum(), x.sum(0), x.mean(1), x.cumsum(0))
    yield "norms", lambda x, y: (x.norm(), x.std(), x.var(0), x.cumprod(1), x.norm(dim=1))
    yield "moves", lambda x, y: (x.t() * 2, x.flip(0), x.roll(1, 0), x[:, 1], x[..., None], x.mT)
    yield "index", lambda x, y: (x[[0, 2]], x.gather(0, torch.zeros(1, 4).long()), x[1:, ::2])
    yield "join", lambda x, y: (torch.cat([x, y.real]), torch.stack([x, y]), F.pad(x, (1, 2)))
    yield "choose", lambda x, y: (torch.where(x.real > 0, x, y.real), x.masked_fill(y.real > 0, 1))
    yield "matmul", lambda x, y: (x @ y.mH, torch.einsum("ij,ik->jk", x, y), torch.vdot(x[0], y[0]))
    yield "convert", lambda x, y: (x.to(torch.complex128), y.real.to(torch.complex64), x.real + 1)
    yield "views", lambda x, y: (x.view(torch.float32), torch.view_as_real(x) * 2, x.reshape(-1))
    yield "writes", lambda x, y: write_parts(x)
    yield "index filled", lambda x, y: x.index_fill(0, PLACES, 1 - 2j)
    yield "arcs", lambda x, y: (x.asin(), x.acos(), x.atan(), x.asinh(), x.acosh(), x.atanh())
    yield "truths", lambda x, y: (x.any(1), x.all(), torch.logical_and(x, y), torch.isclose(x, y))
    yield "filled", lambda x, y: (
        torch.full((2, 3), 1 + 2j) * x[0, 0],
        torch.full_like(x, complex(INF, 2)),
        torch.full_like(x.real, 3j, dtype=torch.complex128),
        x.new_full((2,), 1 - 1j),
    )
    yield "factors", lambda x, y: (torch.addcmul(x, x, y, value=2j), torch.sub(x, y, alpha=1j))


def drawn(x):
    """Both parts of a normal number have half of its variance and nothing to do with each other;
    those of an even one lie between 0 and 1."""
    z, even = torch.view_as_real(torch.randn_like(x)), torch.view_as_real(torch.rand_like(x))
    return (
        (z.std(0) - 0.5**0.5).abs() < 0.05, z.mean(0).abs() < 0.06,
        z.prod(1).mean().abs() < 0.05, (even.mean(0) - 0.5).abs() < 0.03,
        (even.std(0) - 12**-0.5).abs() < 0.03, (even >= 0) & (even < 1),
        (even.prod(1).mean() - 0.25).abs() < 0.03,
    )  # fmt: skip


def cases():
    """name: (module or function, inputs, dynamic shapes or None)"""
    yield "drawn", parts(drawn), (numbers(4000),), None
    x, y = numbers(3, 4), numbers(3, 4)
    for name, f in arithmetic(x, y):
        yield name, parts(f), (x, y), None
        yield f"{name} dynamic", parts(f), (x, y), ({0: TALL}, {0: TALL})
    by_size = parts(lambda x, y: (
        torch.add(x, y, alpha=x.shape[0]), torch.sub(x, y, alpha=x.shape[0]),
        torch.add(x, y.real, alpha=x.shape[0]), torch.sub(x.real, y, alpha=x.shape[0]),
        x * x.shape[0], x / x.shape[0], x + x.shape[0], x.shape[0] - x,
    ))  # fmt: skip
    yield "by size dynamic", by_size, (x, y), ({0: TALL}, {0: TALL})
    scaled = parts(lambda x, y: (
        torch.addmv(x[:, 0], x, y[0], beta=0.6, alpha=0.2),
        torch.baddbmm(x[None], x[None], y[None], beta=0.6, alpha=0.2),
    ))  # fmt: skip
    real = x.real.contiguous()
    asked = Fn(lambda x: torch.view_as_real(
        x.sum(0, dtype=torch.complex64) + x.cumsum(1, dtype=torch.complex64)
    ))  # fmt: skip
    yield "sums asked for", asked, (real,), None
    moved_in = parts(lambda x, r: (x.select_scatter(r[0], 0, 1), (x * 2).slice_scatter(r, 0)))
    yield "real moved in", moved_in, (x, real), None
    yield "scaled", scaled, (x, numbers(4, 4)), None
    yield "products", parts(lambda x: (x.prod(0), x.prod())), (x,), None
    wide = numbers(3, 4, dtype=torch.complex128)
    yield "double", parts(lambda x, y: (x * y, x / y, x + 1j, y * x.real)), (wide, wide * x), None
    none, one = numbers(0, 4), numbers()
    yield "empty", parts(lambda x: (x * x, x.abs(), x.sum(0), x.prod(0))), (none,), None
    yield "scalar", parts(lambda x: (x * 2j, x / x, x.abs(), x.sum(), x.angle())), (one,), None
    odd, beside = (0.0, -0.0, 1.0, INF, NAN), (0.0, -0.0, -INF)
    odd = torch.tensor([complex(a, b) for a in odd for b in beside])
    yield "abs of any", parts(lambda x: (x.abs(), x.angle(), x.isnan(), x.isinf())), (odd,), None
    # If one part is NaN, the other is as it comes.
    odd = torch.tensor([complex(a, b) for a in ODD for b in ODD])
    for name in ("exp", "log", "log1p", "sqrt", "sin", "cos", "tanh", "asin", "acosh", "tan"):
        f = getattr(torch, name)
        settled = odd[~f(odd).isnan()]
        yield f"{name} of any", parts(f), (settled,), None
    ends = torch.tensor([complex(a, b) for a in (INF, -INF, NAN, 1, 0) for b in (-INF, NAN, 2)])
    for f in (torch.atan, torch.atanh):
        yield f"{f.__name__} at the ends", parts(f), (ends[~f(ends).isnan()],), None
    zeros = torch.tensor([0, 0, 0, 0, 1 + 1j, -2]), torch.tensor([1, 1 + 1j, -1, -2.5, 0, -1])
    to_zero = parts(lambda x, y: (x**y, x**0, x**-1, torch.pow(0, y)))
    yield "powers of zero", to_zero, zeros, None
    far = torch.tensor([[INF, 1j], [1, 1j]])
    yield "mean of infinite", parts(lambda x: x.mean(1)), (far,), None
    half = parts(lambda x: x.chalf().to(torch.complex64) * 2)
    yield "half", half, (torch.tensor([1 + 2j, 0.5 - 3j]),), None
    square = numbers(4, 4), numbers(4, 4)
    solved = parts(lambda x, y: (
        torch.linalg.inv(x), torch.linalg.solve(x, y), torch.linalg.solve(x, y[0]),
        torch.linalg.matrix_power(x, 3), torch.kron(x, y), torch.linalg.vecdot(x, y),
    ))  # fmt: skip
    yield "solved", solved, square, None
    crossed = parts(lambda x, y: (torch.cross(x, y, dim=0), torch.linalg.cross(x, y, dim=0)))
    yield "crossed", crossed, (x, y), None
    yield "results", Fn(lambda x, y: (x * y, x.conj(), x.t(), x[0, 0] + 1)), (x, y), None
    yield "parameters", Layer(), (numbers(2, 4),), None
    yield "rotary", Rotary(), (floats(2, 9, 3, 8),), None
    pair = floats(3, 2)
    yield "pairs", parts(lambda x: torch.complex(*x.unbind(1)) * x.view(torch.complex64)[:, 0]), (
        pair,
    ), None


def in_parts(value):
    return torch.view_as_real(value.resolve_conj()) if value.is_complex() else value


def of_both(module, k, value):
    """Each part's magnitude: of what is infinite or no number, that of the part alone."""
    if not value.is_complex() and k not in getattr(getattr(module, "f", None), "pairs", ()):
        return None
    pair = in_parts(value)
    whole = torch.linalg.vector_norm(pair, dim=-1, keepdim=True).expand_as(pair)
    return torch.where(whole.isfinite(), whole, pair)


def judge(name, module, inputs, dynamic, folder):
    programs.judge(name, module, inputs, dynamic, folder, in_parts, of_both)
