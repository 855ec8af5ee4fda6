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


CASES = {
    "custom_op": (lambda x: torch.ops.mylib.swish(x), lambda x: x * torch.sigmoid(x), (x,)),
    "chebyshev": (lambda x: torch.special.chebyshev_polynomial_t(x, 3), chebyshev, (x,)),
    "eigvals": (
        lambda x: torch.linalg.eigvals(x @ x.T).real.sort()[0],
        lambda x: torch.linalg.eigvalsh(x @ x.T),
        (a,),
    ),
    "ldl": (
        lambda x: torch.linalg.ldl_factor(x @ x.T)[0],
        lambda x: torch.linalg.cholesky(x @ x.T),
        (a,),
        None,
        "other",
    ),
    "geqrf": (lambda x: torch.geqrf(x)[0].triu(), lambda x: torch.linalg.qr(x)[1], (a,)),
    "poisson": (lambda x: torch.poisson(x.abs()) + x, lambda x, d: d + x, (x, x), None, "other"),
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
