"""Every row of jvp.def where it is hard: at zeros, ties, halves, infinities and NaN."""

import re
from pathlib import Path

import torch
import torch.nn.functional as F
from expanded import Fn
from torch.func import jvp, vmap

TABLE = Path(__file__).parents[2] / "src/trace/functorch/jvp.def"
NAN, INF = float("nan"), float("inf")
aten = torch.ops.aten

X = torch.tensor([0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, 3.0, -3.0, INF, -INF, NAN])
Y = torch.tensor([0.0, 1.0, 0.5, 0.5, -1.0, -1.0, 0.0, 2.5, 2.0, INF, 2.0, 1.0])
D = torch.linspace(-2, 3, 12)
K = torch.tensor([3.0, -3.0, 0.5, -0.5, 0.0, -0.0, 1.0, -1.0, 6.0, 2.0, -2.0, 4.0])
GRID = X.reshape(3, 4)
FINITE = torch.tensor([0.0, 1.0, -2.0, 1.0, 0.5, 0.5, -0.0, 3.0, -1.0, 3.0, 0.25, 3.0])
ROWS = torch.stack([FINITE, FINITE.flip(0), torch.zeros(12)])
DISTINCT = torch.tensor([[3.0, -1.0, INF, 0.5, 2.0], [-2.0, 4.0, -INF, 1.0, 0.0]])
SQUARE = torch.tensor([[0.0, 1.5], [-3.0, 2.0]])
PLACES = torch.tensor([2, 0])
IMAGE = torch.linspace(-1, 1, 32).reshape(1, 2, 4, 4)
KERNEL = torch.linspace(-1, 2, 12).reshape(3, 2, 2, 1)
TIES = torch.tensor([[1.0, 2.0, 2.0], [NAN, 2.0, 0.0], [-INF, -INF, -INF], [INF, 0.0, INF]])
HALVES = (torch.arange(24.0).reshape(2, 12) / 8).half()


def copied(x, src):
    y = x * 2
    y[:] = src
    return y


def convolved(x, w, b):
    return F_CONV(x, w, b, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)


F_CONV = aten.convolution.default
MAXIMA = aten.max_pool2d_with_indices.default
MATRICES = torch.tensor([[[2.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 4.0]]]) + torch.eye(3) * X[
    2:4, None, None
]
NORM, SIZES = torch.linalg.vector_norm, X.abs()
ORDERS = (0.5, 1, 1.5, 2, 3, 4, INF, -INF, 0, -1)


def norms(a):
    """Every kind, with zeros and without; the official `abs` leaves -0 as it is."""
    special = a[0] * SIZES
    each = [(NORM(a, p, 1), NORM(a[2], p), NORM(special[:9], p)) for p in ORDERS]
    single = [(NORM(a[:, :1], p, 1), a[2, 0].norm(p)) for p in ORDERS]
    named = a.norm(), a.norm(dim=0, keepdim=True), a.norm("fro", (0, 1)), a[2].norm(3)
    frobenius = torch.linalg.matrix_norm(a[2:]), torch.linalg.norm(a[2:]), (a - a[2]).norm(3, 1)
    return each, single, named, frobenius, [torch.dist(a, b, p) for p in ORDERS for b in (a, a[2])]


def deviations(a):
    flat = a[:, 3:4] + a * 0
    return a.std(1), flat.std(), flat.std(1, False), a[2].std(correction=0), a[:, :2].std(1)


# By operator: functions of X, of X and Y, of a tensor that is given, and of several by name.
UNARY = (
    "neg abs sign ceil floor round trunc reciprocal sqrt rsqrt exp exp2 expm1 log log2 log10 log1p "
    "sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh erf erfc sigmoid relu leaky_relu "
    "elu hardtanh gelu lgamma erfinv i0 alias clone hardsigmoid hardswish celu softshrink "
    "special_entr"
).split()
PAIRS = {
    "add_Tensor": lambda a, b: aten.add.Tensor(a, b, alpha=2),
    "sub_Tensor": lambda a, b: aten.sub.Tensor(a, b, alpha=2),
    "mul_Tensor": aten.mul.Tensor,
    "div_Tensor": aten.div.Tensor,
    "pow_Tensor_Tensor": aten.pow.Tensor_Tensor,
    "maximum": aten.maximum.default,
    "minimum": aten.minimum.default,
    "atan2": aten.atan2.default,
    "hypot": aten.hypot.default,
    "fmod_Tensor": aten.fmod.Tensor,
    "remainder_Tensor": aten.remainder.Tensor,
    "fmax": lambda a, b: (a.fmax(b), b.fmax(a)),
    "fmin": lambda a, b: (a.fmin(b), b.fmin(a)),
    "xlogy_Tensor": lambda a, b: (a.xlogy(b), b.xlogy(a)),
    "special_xlog1py": lambda a, b: (aten.special_xlog1py(a, b), aten.special_xlog1py(b, -a)),
    "logaddexp": aten.logaddexp.default,
    "logaddexp2": aten.logaddexp2.default,
    "where_self": lambda a, b: torch.where(D > 0, a, b),
}
ONE = {
    "_to_copy": (lambda a: a.double(), X),
    "detach": (lambda a: a.detach() * a, X),
    "full_like": (lambda a: aten.full_like.default(a, 2) * a, X),
    "view": (lambda a: a.reshape(3, 4), X),
    "expand": (lambda a: a.expand(2, 12), X),
    "permute": (lambda a: a.permute(1, 0), GRID),
    "unsqueeze": (lambda a: a.unsqueeze(1), X),
    "squeeze_dims": (lambda a: a[None].squeeze(0), X),
    "select_int": (lambda a: a.select(0, 1), GRID),
    "slice_Tensor": (lambda a: a[1::2], X),
    "split_with_sizes": (lambda a: a.split([5, 7]), X),
    "diagonal": (lambda a: a.diagonal(1), GRID),
    "unfold": (lambda a: a.unfold(0, 4, 3), X),
    "flip": (lambda a: a.flip(0), X),
    "repeat": (lambda a: a.repeat(2, 1), X),
    "constant_pad_nd": (lambda a: aten.constant_pad_nd(a, [1, 2], INF), X),
    "cat": (lambda a: torch.cat([a, Y, a]), X),
    "index_Tensor": (lambda a: a[PLACES], GRID),
    "index_select": (lambda a: a.index_select(0, PLACES), GRID),
    "gather": (lambda a: a.gather(0, PLACES), X),
    "masked_fill_Scalar": (lambda a: a.masked_fill(D > 0, INF), X),
    "sum_dim_IntList": (lambda a: (a.sum(1), a[:1, :3].sum(dtype=torch.float64)), GRID),
    "mean": (lambda a: (a.mean(), a.mean(dtype=torch.float64)), FINITE),
    "mean_dim": (lambda a: (a.mean(1), a.mean(0, dtype=torch.float64)), GRID),
    "cumsum": (lambda a: (a.cumsum(0), a.cumsum(0, dtype=torch.float64)), X),
    "avg_pool2d": (lambda a: aten.avg_pool2d(a, [2, 2]), IMAGE),
    "avg_pool3d": (lambda a: aten.avg_pool3d(a, [1, 2, 3], [1, 2, 1]), IMAGE),
    "max_pool2d_with_indices": (
        lambda a: (MAXIMA(a.sin(), [2, 2])[0], MAXIMA(a[0].cos(), [3, 2], [1, 2], [1, 0])[0]),
        IMAGE,
    ),
    "_adaptive_avg_pool2d": (lambda a: aten._adaptive_avg_pool2d(a, [3, 3]), IMAGE),
    "upsample_bilinear2d_vec": (
        lambda a: aten.upsample_bilinear2d.vec(a, [6, 7], False, None),
        IMAGE,
    ),
    "upsample_nearest2d_vec": (lambda a: aten.upsample_nearest2d.vec(a, [6, 7], None), IMAGE),
    "add_Scalar": (lambda a: a + 2, X),
    "sub_Scalar": (lambda a: aten.sub.Scalar(a, 2), X),
    "rsub_Scalar": (lambda a: aten.rsub.Scalar(a, 2, 3), X),
    "mul_Scalar": (lambda a: a * 0.0, X),
    "div_Scalar": (lambda a: a / 4, X),
    "pow_Tensor_Scalar": (lambda a: (a**0, a**1, a**2, a**3, a[:10] ** 0.5, a**-1), X),
    "digamma": (torch.digamma, X[[0, 1, 2, 3, 4, 6, 7, 9, 11]]),
    "fmod_Scalar": (lambda a: a.fmod(0.75), X),
    "remainder_Scalar": (lambda a: a.remainder(-0.75), X),
    "clamp": (lambda a: (a.clamp(-0.5, 1), a.clamp(min=0), a.clamp(max=0)), X),
    "_softmax": (lambda a: a.softmax(1), TIES),
    "_log_softmax": (lambda a: a.log_softmax(1), TIES),
    "amax": (lambda a: (a.amax(1), a.amax((0, 1)), a[1:].amax(0, True)), TIES),
    "amin": (lambda a: (a.amin(1), a.amin((0, 1)), a[1:].amin(0, True)), TIES),
    "max": (lambda a: (a.max(), a[2].max(), a[3].max()), TIES),
    "min": (lambda a: (a.min(), a[2].min(), a[3].min()), TIES),
    "max_dim": (lambda a: (a.max(1)[0], a[0].max(0)[0]), TIES[:2]),
    "min_dim": (lambda a: (a.min(1)[0], a[1].min(0)[0]), TIES[:2]),
    "sort": (lambda a: aten.sort(a)[0], FINITE.unique()[[3, 0, 5, 6, 1, 4, 2]]),
    "sort_stable": (lambda a: aten.sort.stable(a, stable=True)[0], ROWS),
    "topk": (lambda a: a.topk(3)[0], X[2:9]),
    "cummax": (lambda a: a.cummax(1)[0], TIES[1:]),
    "cummin": (lambda a: a.cummin(1)[0], TIES[1:]),
    "median_dim": (lambda a: (a.median(1)[0], a[1].median(0, True)[0]), DISTINCT),
    "kthvalue": (lambda a: (a.kthvalue(3, 1)[0], a[1].kthvalue(1)[0]), DISTINCT),
    "prod": (lambda a: (a[0, 1:6].prod(), a.prod(dtype=torch.float64), a[1, 1:4].prod()), ROWS),
    "prod_dim_int": (lambda a: (a.prod(1), a[:2, 1:6].prod(1, True), a[:2].prod(0)), ROWS),
    "cumprod": (lambda a: (a.cumprod(1), a[:, 1:6].cumprod(1), a.cumprod(0)), ROWS),
    "median": (lambda a: (a.median(), a[0].median(), a[2:].median()), TIES),
    "nanmedian": (lambda a: (a.nanmedian(), a[0].nanmedian(), a[2:].nanmedian()), TIES),
    "logit": (lambda a: (a.logit(), a.logit(0.25), a.logit(0.0)), torch.cat([X / 4, X[4:] / 2])),
    "xlogy_Scalar_Other": (lambda a: (a.xlogy(2.0), a.xlogy(0.0), a.xlogy(-1.0)), X),
    "std_correction": (deviations, ROWS),
    "linalg_vector_norm": (norms, ROWS + 0),
    "linalg_matrix_exp": (torch.linalg.matrix_exp, MATRICES / 4),
    "var_correction": (lambda a: (a.var(1), a.var(1, correction=0), a[:, :1].var(1)), ROWS),
}
LAYER = (lambda x, w, b: torch.layer_norm(x, [12], w, b)), (ROWS, FINITE, X)
MORE = {
    "copy": ("self src", copied, (X, Y)),
    "embedding": ("weight", lambda w: aten.embedding(w, PLACES), (GRID,)),
    "slice_scatter": (
        "self src",
        lambda a, b: aten.slice_scatter(a, b, 0, 1, 11, 2),
        (X, torch.tensor([INF, -INF, NAN, 0.0, 1.0])),
    ),
    "mm": ("self mat2", aten.mm, (SQUARE, SQUARE)),
    "bmm": ("self mat2", aten.bmm, (SQUARE[None], SQUARE[None])),
    "addmm": (
        "self mat1 mat2",
        lambda a, b, c: aten.addmm(a, b, c, beta=2, alpha=3),
        (SQUARE, SQUARE, SQUARE),
    ),
    "convolution": ("input weight bias", convolved, (IMAGE, KERNEL, torch.tensor([0.0, INF, 1]))),
    "_prelu_kernel": ("self weight", aten._prelu_kernel, (X, Y)),
    "clamp_min_Tensor": ("self min", lambda a, b: (a.clamp_min(b), b.clamp_min(a)), (X, Y)),
    "clamp_max_Tensor": ("self max", lambda a, b: (a.clamp_max(b), b.clamp_max(a)), (X, Y)),
    "xlogy_Scalar_Self": ("other", lambda b: (aten.xlogy(0.0, b), aten.xlogy(2.0, b)), (X,)),
    "pow_Scalar": ("exponent", lambda b: (0.0**b, 1.0**b, 2.0**b, (-2.0) ** b, INF**b), (X,)),
    "native_layer_norm": ("input weight bias", *LAYER),
    "native_group_norm": (
        "input weight bias",
        lambda x, w, b: torch.group_norm(x, 2, w, b),
        (ROWS[:2].reshape(1, 6, 4), FINITE[3:9], X[:6]),
    ),
    "_native_batch_norm_legit_no_stats": (
        "input weight bias",
        lambda x, w, b: aten._native_batch_norm_legit.no_stats(x, w, b, True, 0.1, 1e-5)[0],
        (ROWS.reshape(3, 4, 3), FINITE[3:7], X[:4]),
    ),
    "index_put": (
        "self values",
        lambda a, b: (
            aten.index_put(a, [PLACES], b),
            aten.index_put(a, [PLACES.flip(0)], b, True),
        ),
        (GRID, TIES[:2].repeat(1, 2)[:, :4]),
    ),
    "index_add": (
        "self source",
        lambda a, b: a.index_add(0, PLACES, b, alpha=2),
        (GRID, TIES[:2].repeat(1, 2)[:, :4]),
    ),
    "scatter_add": (
        "self src",
        lambda a, b: a.scatter_add(0, torch.tensor([3, 0, 3]), b),
        (X, FINITE[:3]),
    ),
    "scatter_src": (
        "self src",
        lambda a, b: a.scatter(0, torch.tensor([3, 0, 5]), b),
        (X, FINITE[:3]),
    ),
    "linalg_inv_ex": ("A", torch.linalg.inv, (MATRICES,)),
    "linalg_solve_ex": (
        "A B",
        lambda a, b: (
            torch.linalg.solve(a, b),
            torch.linalg.solve(a[0], b[0, :, 0]),
            torch.linalg.solve(a, b.mT, left=False),
        ),
        (MATRICES, FINITE.reshape(2, 3, 2)),
    ),
    "linalg_cholesky_ex": (
        "self",
        lambda a: (torch.linalg.cholesky(a), torch.linalg.cholesky(a, upper=True)),
        (MATRICES,),
    ),
    "linalg_lu_factor_ex": ("A", lambda a: (torch.linalg.det(a), a.flip(1).logdet()), (MATRICES,)),
}
EACH = {(op, "self"): (getattr(aten, op).default, (X,), 0) for op in UNARY}
for op, f in PAIRS.items():
    second = "exponent" if op.startswith("pow") else "other"
    EACH |= {(op, "self"): (f, (X, Y), 0), (op, second): (f, (X, Y), 1)}
FIRST = {"cat": "tensors"} | dict.fromkeys(
    ("upsample_bilinear2d_vec", "upsample_nearest2d_vec"), "input"
)
EACH |= {(op, FIRST.get(op, "self")): (f, (x,), 0) for op, (f, x) in ONE.items()}
for op, (names, f, inputs) in MORE.items():
    EACH |= {(op, name): (f, inputs, at) for at, name in enumerate(names.split())}
# PyTorch exports no tangent of a bound, a bias alone and a weight of groups.
BOUNDED = (lambda a, x, y: (a.clamp(x * a, y + a), (x + a).clamp(min=a), (x - a).clamp(max=a)))
EACH |= {("clamp_Tensor", name): (BOUNDED, (FINITE, X, Y), 0) for name in ("self", "min", "max")}
EACH["native_layer_norm", "bias"] = lambda x, b: torch.layer_norm(x, [12], b, b), (ROWS, FINITE), 1
GROUPS = (lambda x, b: torch.group_norm(x + b, 2, b[0], b[0])), (ROWS[:2, :6], ROWS[:1, 1:7]), 1
EACH |= {("native_group_norm", name): GROUPS for name in ("weight", "bias")}
EACH["_native_batch_norm_legit_no_stats", "bias"] = (
    lambda x, b: aten._native_batch_norm_legit.no_stats(x, b, b, True, 0.1, 1e-5)[0],
    (ROWS.reshape(3, 4, 3), FINITE[3:7]),
    1,
)


def tangent(op, name):
    f, inputs, at = EACH[op, name]

    def run(d, *x):
        return jvp(lambda y: f(*x[:at], y, *x[at + 1 :]), (x[at],), (d,))[1]

    return run, D.repeat(8)[: inputs[at].numel()].reshape_as(inputs[at]), *inputs


def together(names):
    parts = [tangent(op, name) for op, name in names]

    def run(*a):
        a = iter(a)
        return [f(*(next(a) for _ in of)) for f, *of in parts]

    return Fn(run), tuple(tensor.clone() for _, *of in parts for tensor in of)


def rows():
    found = re.findall(r"^(?:TEXT\(|RULE\(\w+, *)(\w+), *(\w+)", TABLE.read_text(), re.M)
    assert set(found) == set(EACH), f"rows without a case: {set(found) ^ set(EACH)}"
    return found


def infinite():
    """Tangents that are infinite where they do not count."""
    far = torch.where(X > 0, INF, 1.0)
    low = torch.tensor([-3.0, 0.5, 2.0, 1.0])
    d = torch.tensor([INF, 2.0, 3.0, -INF])
    filled = torch.full((4,), -INF)

    def put(a):
        o = filled.clone()
        o[:2] = a[:2]
        return o

    def run(a, d, x, far):
        return (
            jvp(put, (a,), (d,)),
            jvp(lambda a: a.clamp(0, 0.75), (a,), (d,)),
            jvp(torch.relu, (a,), (d,)),
            jvp(lambda a: (a.amax(0), a[None].amin(1)), (a,), (d,)),
            jvp(lambda a: torch.where(a > 0, 1.0, a), (x,), (far,)),
            jvp(lambda a: a.masked_fill(a > 0, 1.0), (x,), (far,)),
            jvp(lambda a: a.triu() + a.tril(-1), (x.reshape(3, 4),), (far.reshape(3, 4),)),
        )

    return Fn(run), (low, d, X, far)


def planes(a, b):
    z = torch.complex(a, b)
    return z.abs(), z.angle()


def waiting(a, b):
    """Calls that stay whole until their tangents are known, on samples and twice."""
    return (
        a.norm(dim=-1),
        a.norm(),
        a.std(-1),
        F.hardsigmoid(a),
        F.hardswish(b),
        a.fmax(b),
        a.xlogy(b),
        F.celu(a),
        F.softshrink(a),
    )


def levels():
    """Samples with tangents, and tangents of tangents; PyTorch does not export jvp in vmap."""
    a = torch.stack([ROWS, ROWS.flip(1)]).reshape(3, 2, 12)
    b = torch.stack([X.nan_to_num(1, 2, 3) * 3, Y, K])[:, None].expand(3, 2, 12)
    d, e = torch.linspace(-1, 2, 72).reshape_as(a), torch.linspace(2, -3, 72).reshape_as(a)
    of_vmap = Fn(lambda a, b, d, e: jvp(vmap(waiting), (a, b), (d, e)))
    yield "of vmap", of_vmap, (a, b, d, e)
    twice = lambda a, d: jvp(lambda a: jvp(kinks, (a,), (a,))[1], (a,), (d,))  # noqa: E731
    yield "twice", Fn(twice), (a, d)
    of_planes = Fn(lambda *a: jvp(planes, a[:2], a[2:]))
    yield "of complex", of_planes, (X[:9], Y[:9], D[:9], D[3:])


def kinks(a):
    return a.norm(dim=-1), a.std(-1), a.fmax(-a), F.celu(a)


def wide(h):
    """Halves that are added up in floats."""
    f = torch.float32
    return h.sum(0, dtype=f), h.mean(dtype=f), h.mean(1, dtype=f), h.cumsum(1, dtype=f)


def cases():
    names = rows()
    for first in range(0, len(names), 12):
        yield f"jvp rows {first}", *together(names[first : first + 12]), None
    for name, module, inputs in levels():
        yield f"jvp waiting {name}", module, tuple(a.clone() for a in inputs), None
    yield "jvp infinite", *infinite(), None
    tangents = torch.full((2, 12), 1 / 3).half()
    yield "jvp halves", Fn(lambda h, d: jvp(wide, (h,), (d,))), (HALVES, tangents), None
