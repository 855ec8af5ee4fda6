"""Programs that are refused, each with what its message advises to write instead.

CASES[name] = (refused, advised, inputs, dynamic shapes or None, how they compare): "equal", "drawn"
(random numbers: only sizes are compared) or "other" (the advice is another way, not the same)."""

import math

import torch
import torch.nn.functional as F

torch.manual_seed(0)
ROWS = torch.export.Dim("rows", min=2, max=16)
x, v, a = torch.randn(4, 6), torch.randn(8), torch.randn(4, 4) + 4 * torch.eye(4)
image, ids = torch.randn(1, 3, 8, 8), torch.tensor([0, 1])
wide, bytes8 = torch.randn(16, 16), (torch.rand(1, 3, 4, 4) * 255).to(torch.uint8)


@torch.library.custom_op("mylib::swish", mutates_args=())
def swish(x: torch.Tensor) -> torch.Tensor:
    return x * torch.sigmoid(x)


@swish.register_fake
def _(x):
    return torch.empty_like(x)


def chebyshev(x, n=3):
    before, now = torch.ones_like(x), x
    for _ in range(n - 1):
        before, now = now, 2 * x * now - before
    return now


def frexp(x):
    e = x.abs().log2().floor() + 1
    return x * torch.exp2(-e), e.to(torch.int32)


def condition(x):
    s = torch.linalg.svdvals(x)
    return s[..., 0] / s[..., -1]


def embedding():
    torch.manual_seed(1)
    return torch.nn.Embedding(10, 4, max_norm=1.0)


def renormalised():
    layer = embedding()
    layer.weight.data.renorm_(2, 0, 1.0)
    layer.max_norm = None
    return layer


def changed(write):
    def f(x):
        x = x.clone()
        return write(x)

    return f


def resized(x):
    y = torch.empty(0)
    y.resize_(4, 6)
    return y.copy_(x)


def write_strided(x):
    x.as_strided((2, 2), (1, 1)).zero_()
    return x


def write_indexed(x):
    x[0, :3] = 0
    return x


def whole(n):
    return torch.full((), n)


def zeros(n):
    size = n.item()
    torch._check(size >= 0)
    return torch.zeros(size) + 1


def bounded_zeros(n):
    size = n.item()
    torch._check(size >= 0)
    torch._check(size <= 8)
    return torch.zeros(size) + 1


def neighbours(x):
    return x[torch.cat([x.new_ones(1) > 0, x[1:] != x[:-1]])]


f8 = torch.float8_e4m3fn
one = torch.tensor(1.0)
scaled = (
    lambda x: torch._scaled_mm(x.to(f8), x.to(f8).t(), one, one, out_dtype=torch.float32),
    lambda x: (x.to(f8).float() @ x.to(f8).t().float()) * one * one,
)
CASES = {
    "custom_op": (lambda x: torch.ops.mylib.swish(x), lambda x: x * torch.sigmoid(x), (x,)),
    "chebyshev": (lambda x: torch.special.chebyshev_polynomial_t(x, 3), chebyshev, (x,)),
    "eigvals": (
        lambda x: torch.linalg.eigvals(x @ x.T).real.sort()[0],
        lambda x: torch.linalg.eigvalsh(x @ x.T),
        (a,),
    ),
    "cond": (torch.linalg.cond, condition, (a,)),
    "ldl": (
        lambda x: torch.linalg.ldl_factor(x @ x.T)[0],
        lambda x: torch.linalg.cholesky(x @ x.T),
        (a,),
        None,
        "other",
    ),
    "geqrf": (lambda x: torch.geqrf(x)[0].triu(), lambda x: torch.linalg.qr(x)[1], (a,)),
    "householder": (
        lambda x: torch.linalg.householder_product(*torch.geqrf(x)),
        lambda x: torch.linalg.qr(x)[0],
        (a,),
    ),
    "multinomial": (
        lambda x: x.softmax(-1).multinomial(2),
        lambda x: (x.softmax(-1) / -torch.rand_like(x).log()).topk(2).indices,
        (x,),
        None,
        "drawn",
    ),
    "normal_": (
        lambda x: x.new_empty(4, 6).normal_(1, 2),
        lambda x: torch.randn_like(x) * 2 + 1,
        (x,),
        None,
        "drawn",
    ),
    "log_normal_": (
        lambda x: torch.empty_like(x).log_normal_(1, 2),
        lambda x: (torch.randn_like(x) * 2 + 1).exp(),
        (x,),
        None,
        "drawn",
    ),
    "cauchy_": (
        lambda x: torch.empty_like(x).cauchy_(),
        lambda x: torch.tan(math.pi * (torch.rand_like(x) - 0.5)),
        (x,),
        None,
        "drawn",
    ),
    "geometric_": (
        lambda x: torch.empty_like(x).geometric_(0.3),
        lambda x: (torch.rand_like(x).log() / math.log(1 - 0.3)).ceil(),
        (x,),
        None,
        "drawn",
    ),
    "poisson": (lambda x: torch.poisson(x.abs()) + x, lambda x, d: d + x, (x, x), None, "other"),
    "max_norm": (embedding(), renormalised(), (ids,)),
    "fractional_max_pool": (
        lambda x: F.fractional_max_pool2d(x, 2, output_size=(3, 3)),
        lambda x: F.adaptive_max_pool2d(x, (3, 3)),
        (image,),
        None,
        "other",
    ),
    "frexp": (lambda x: tuple(torch.frexp(x)), frexp, (x,)),
    "histogram": (
        lambda x: torch.histogram(x, 5, range=(-3, 3))[0],
        lambda x: torch.histc(x, 5, -3, 3),
        (v,),
    ),
    "segment_reduce": (
        lambda x: torch.segment_reduce(x[:, 0], "sum", lengths=torch.tensor([2, 2])),
        lambda x: torch.zeros(2).index_add(0, torch.tensor([0, 0, 1, 1]), x[:, 0]),
        (x,),
    ),
    "index_reduce": (
        lambda x, i: x.index_reduce(0, i, x[:2], "prod"),
        lambda x, i: x.scatter_reduce(0, i[:, None].expand(2, 6), x[:2], "prod"),
        (x, ids),
    ),
    "unique_consecutive": (torch.unique_consecutive, neighbours, (v.round(),)),
    "fill_diagonal_": (
        changed(lambda x: x.fill_diagonal_(0)),
        lambda x: x.masked_fill(torch.eye(4, dtype=torch.bool), 0),
        (a,),
    ),
    "zeta": (
        lambda x: torch.special.zeta(x.abs() + 2, 1.0),
        lambda x: torch.special.zeta(x.abs() + 2, torch.tensor(1.0)),
        (x,),
    ),
    "remainder": (
        lambda x: torch.remainder(7.0, x),
        lambda x: torch.remainder(torch.tensor(7.0), x),
        (x,),
    ),
    "size_sqrt": (
        lambda x: x * torch.sym_sqrt(x.size(0)),
        lambda x: x * whole(x.size(0)).float().sqrt(),
        (x,),
        ({0: ROWS},),
    ),
    "size_power": (
        lambda x: x * x.size(0) ** 0.5,
        lambda x: x * whole(x.size(0)).float().pow(0.5),
        (x,),
        ({0: ROWS},),
    ),
    "tensor_of_sizes": (
        lambda x: torch.tensor([1, x.size(0)]) + x[0, :2],
        lambda x: torch.stack([whole(1), whole(x.size(0))]) + x[0, :2],
        (x,),
        ({0: ROWS},),
    ),
    "scaled_mm": (*scaled, (wide,)),
    "resize_": (resized, lambda x: torch.zeros(4, 6).copy_(x), (x,)),
    "set_": (lambda x: torch.empty(0).set_(x) + 1, lambda x: x + 1, (x,)),
    "write_strided": (changed(write_strided), changed(write_indexed), (x,), None, "other"),
    "bicubic_bytes": (
        lambda x: F.interpolate(x, scale_factor=2, mode="bicubic"),
        lambda x: F.interpolate(x.float(), scale_factor=2, mode="bicubic")
        .round()
        .clamp(0, 255)
        .to(torch.uint8),
        (bytes8,),
        None,
        "other",
    ),
    "dtype": (
        lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
        lambda x: F.interpolate(x.to(torch.float32), scale_factor=2, mode="bilinear"),
        (bytes8,),
        None,
        "other",
    ),
    "dropout": (
        torch.nn.LSTM(6, 5, 2, dropout=0.5).train(),
        torch.nn.LSTM(6, 5, 2, dropout=0.5).eval(),
        (torch.randn(4, 2, 6),),
        None,
        "other",
    ),
    "vmap": (lambda x: torch.vmap(lambda y: y * y.sum())(x), lambda x: x * x.sum(1, True), (x,)),
    "airy": (lambda x: torch.special.airy_ai(x) + 1, lambda x, y: y + 1, (x, x), None, "other"),
    "open_size": (zeros, bounded_zeros, (torch.tensor(2),)),
}
