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
TIMES = torch.arange(6.0) ** 2
SMALL = torch.tensor([[3.0, -0.25, 0.0], [1e-45, -3e-39, 3e38]])
complexes = torch.randn(3, 3, dtype=torch.complex64)
wide, bytes8 = torch.randn(16, 16), (torch.rand(1, 3, 4, 4) * 255).to(torch.uint8)


@torch.library.custom_op("flash_attn::_flash_attn_forward", mutates_args=())
def flash(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(q, k, v)


@torch.library.custom_op("flash_attn::_flash_attn_varlen_forward", mutates_args=())
def flash_runs(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(q, k, v)


flash.register_fake(lambda q, k, v: torch.empty_like(q))
flash_runs.register_fake(lambda q, k, v: torch.empty_like(q))


def stand_in(name):
    """An operator of that name, for the message alone: what it computes does not matter."""

    @torch.library.custom_op(name, mutates_args=())
    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    double.register_fake(lambda x: torch.empty_like(x))
    return double


EIGHT = torch.rand(2, 16, 32).to(torch.float8_e4m3fn)


def experts(x):
    w = EIGHT.transpose(-1, -2)
    ends = torch.full((2,), 8, dtype=torch.int32).cumsum(0, dtype=torch.int32)
    ones = torch.ones(16), torch.ones(2, 16)
    return torch._scaled_grouped_mm(x, w, *ones, offs=ends, out_dtype=torch.bfloat16)


def double(x):
    return x * 2


def frexp(x):
    e = torch.where(x == 0, 0.0, x.abs().double().log2().floor() + 1)
    return (x.double() * torch.exp2(-e)).float(), e.to(torch.int32)


def cells(x, n, low, high):
    i = ((x - low) / (high - low) * n).long().clamp(0, n - 1)
    return torch.zeros(n * n).index_add(0, i[:, 0] * n + i[:, 1], torch.ones(len(x))).view(n, n)


def determinant(x):
    return torch.linalg.det(twins(x)).sqrt()


def pseudoinverse(x):
    rows, columns = x.shape[-2:]
    p = torch.linalg.pinv(twins(x))
    return torch.view_as_real(torch.complex(p[..., :columns, :rows], p[..., columns:, :rows]))


# Whose numbers the application draws, and gives as one more input.
def drawn_outside(draw):
    return lambda x: draw(x), lambda x, d: d + 0 * x, (x.exp(), x), None, "other"


def by_edges(x):
    e = torch.tensor([-1.0, 0.0, 0.5, 2.0])
    i = torch.bucketize(x, e, right=True) - 1
    i = torch.where(x == e[-1], len(e) - 2, i)
    k = (i >= 0) & (i < len(e) - 1)
    places = i.clamp(0, len(e) - 2).flatten()
    return torch.zeros(len(e) - 1).index_add(0, places, k.float().flatten())


def next_after(x, y):
    step = torch.where((y > x) == (x > 0), 1, -1).int()
    return (x.view(torch.int32) + step).view(torch.float32)


def uneven_gradient(x):
    h = TIMES.diff()
    s = x.diff() / h
    inner = (s[..., :-1] * h[1:] + s[..., 1:] * h[:-1]) / (h[1:] + h[:-1])
    return torch.cat([s[..., :1], inner, s[..., -1:]], -1)


def packed(x):
    lengths = torch.tensor([6, 4, 3, 2])
    return torch.nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True).data


def eigh_of_twins(x):
    return torch.linalg.eigvalsh(twins(x))[..., ::2]


def svd_of_twins(x):
    return torch.linalg.svdvals(twins(x))[..., ::2]


def twins(x):
    return torch.cat([torch.cat([x.real, -x.imag], -1), torch.cat([x.imag, x.real], -1)], -2)


def apart(x):
    return torch.vmap(lambda y: torch.cdist(y, y + 1))(x)


def vmap_in_a_body(x):
    return torch.cond(x.sum() > 0, torch.vmap(lambda y: y * 2), lambda x: x + 1, (x,))


def plain_in_a_body(x):
    return torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x + 1, (x,))


class Decomposed:
    """The same program, of which exported.run_decompositions() is saved."""

    def __init__(self, program):
        self.program = program

    def __call__(self, *args):
        return self.program(*args)


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


def bounded(x, most=16):
    torch._check(x.shape[0] <= most)
    return x


f8 = torch.float8_e4m3fn
one = torch.tensor(1.0)
scaled = (
    lambda x: torch._scaled_mm(x.to(f8), x.to(f8).t(), one, one, out_dtype=torch.float32),
    lambda x: (x.to(f8).float() @ x.to(f8).t().float()) * one * one,
)
CASES = {
    "eig": (
        lambda x: torch.linalg.eig(x @ x.T)[0].real.sort()[0],
        lambda x: torch.linalg.eigh(x @ x.T)[0],
        (a,),
    ),
    "decomposed_eigvals": (
        lambda x: torch.ops.aten._linalg_eigvals(x @ x.T).real.sort()[0],
        lambda x: torch.linalg.eigvalsh(x @ x.T),
        (a,),
    ),
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
    "binomial": (lambda x: torch.binomial(x, x * 0), lambda x: x * 0, (x.abs(),), None, "other"),
    "gamma": drawn_outside(torch._standard_gamma),
    "dirichlet": drawn_outside(torch._sample_dirichlet),
    "rrelu": (
        lambda x: torch.ops.aten.rrelu_with_noise_functional(x, x, 0.1, 0.3, True)[0],
        lambda x: F.rrelu(x, 0.1, 0.3),
        (x,),
        None,
        "other",
    ),
    "poisson": (lambda x: torch.poisson(x.abs()) + x, lambda x, d: d + x, (x, x), None, "other"),
    "frexp": (lambda x: tuple(torch.frexp(x)), frexp, (SMALL,)),
    "histogramdd": (
        lambda x: torch.histogramdd(x, [3, 3], range=[-4.0, 4.0, -4.0, 4.0])[0],
        lambda x: cells(x, 3, -4, 4),
        (x[:, :2],),
    ),
    "generator": (
        lambda x: x + torch.rand(6, generator=None),
        lambda x: x + torch.rand(6),
        (x,),
        None,
        "drawn",
    ),
    "complex_det": (lambda x: torch.linalg.det(x).abs(), determinant, (complexes,)),
    "complex_pinv": (
        lambda x: torch.view_as_real(torch.linalg.pinv(x)),
        pseudoinverse,
        (complexes,),
    ),
    "complex_cholesky": (
        lambda x: torch.linalg.cholesky(x @ x.mH).real,
        lambda x: torch.linalg.solve(x, x @ x.mH).real,
        (complexes,),
        None,
        "other",
    ),
    "complex_qr": (
        lambda x: torch.linalg.qr(x)[1].abs(),
        lambda x: torch.linalg.inv(x).abs(),
        (complexes,),
        None,
        "other",
    ),
    "shrunk": (
        lambda x: x.clone().resize_(2, 2),
        lambda x: x.flatten()[:4].view(2, 2),
        (a,),
    ),
    "histogram": (
        lambda x: torch.histogram(x, 5, range=(-3, 3))[0],
        lambda x: torch.histc(x, 5, -3, 3),
        (v,),
    ),
    "histogram_of_edges": (
        lambda x: torch.histogram(x.flatten(), torch.tensor([-1.0, 0.0, 0.5, 2.0]))[0],
        by_edges,
        (x,),
    ),
    "segment_reduce": (
        lambda x: torch.segment_reduce(x[:, 0], "sum", offsets=torch.tensor([0, 2, 4])),
        lambda x: torch.segment_reduce(x[:, 0], "sum", lengths=torch.tensor([2, 2])),
        (x,),
    ),
    "nextafter": (torch.nextafter, next_after, (x, x.flip(0))),
    "tensor_split": (
        lambda x: torch.tensor_split(x, torch.tensor([2, 4]), 1)[1],
        lambda x: x.tensor_split([2, 4], 1)[1],
        (x,),
    ),
    "hash_tensor": (
        lambda x: torch.hash_tensor(x),
        lambda x: x.view(torch.int32).long().sum(),
        (x,),
        None,
        "other",
    ),
    "uneven_gradient": (
        lambda x: torch.gradient(x, spacing=(TIMES,), dim=1)[0],
        uneven_gradient,
        (x,),
    ),
    "packed": (
        packed,
        lambda x: x[torch.arange(4), torch.tensor([6, 4, 3, 2]) - 1],
        (x[..., None],),
        None,
        "other",
    ),
    "complex_eigh": (
        lambda x: torch.linalg.eigh(x @ x.mH)[0],
        lambda x: eigh_of_twins(x @ x.mH),
        (complexes,),
    ),
    "complex_eigvalsh": (
        lambda x: torch.linalg.eigvalsh(x @ x.mH),
        lambda x: eigh_of_twins(x @ x.mH),
        (complexes,),
    ),
    "complex_svd": (lambda x: torch.linalg.svd(x)[1], svd_of_twins, (complexes,)),
    "complex_unique": (
        lambda x: torch.unique(x),
        lambda x: torch.unique(torch.view_as_real(x.flatten()), dim=0),
        (complexes,),
        None,
        "other",
    ),
    "complex_unique_rows": (
        lambda x: torch.unique(x, dim=0),
        lambda x: torch.unique(torch.view_as_real(x), dim=0),
        (complexes,),
        None,
        "other",
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
    "scaled_mm": (*scaled, (wide,)),
    "resize_": (resized, lambda x: torch.zeros(4, 6).copy_(x), (x,)),
    "set_": (lambda x: torch.empty(0).set_(x) + 1, lambda x: x + 1, (x,)),
    "write_strided": (changed(write_strided), changed(write_indexed), (x,), None, "other"),
    "bicubic_bytes": (
        lambda x: F.interpolate(x, scale_factor=2, mode="bicubic"),
        lambda x: (
            F.interpolate(x.float(), scale_factor=2, mode="bicubic")
            .round()
            .clamp(0, 255)
            .to(torch.uint8)
        ),
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
    "smooth_bytes": (
        lambda x: F.interpolate(x, (3, 3), mode="bilinear", antialias=True),
        lambda x: F.interpolate(x.to(torch.float32), (3, 3), mode="bilinear", antialias=True),
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
    "vmap": (apart, Decomposed(apart), (torch.randn(3, 4, 6),), ({0: ROWS},)),
    "vmap_in_a_body": (vmap_in_a_body, plain_in_a_body, (torch.randn(3, 4),)),
    "flash": (flash, F.scaled_dot_product_attention, (image, image, image)),
    "flash_runs": (flash_runs, F.scaled_dot_product_attention, (image, image, image)),
    "packed_experts": (stand_in("llama::quantized_moe_ffn"), double, (image,)),
    "packed_linear": (stand_in("torchao::_linear_8bit_act_4bit_weight"), double, (image,)),
    "packed_embedding": (stand_in("torchao::_shared_embedding_4bit"), double, (image,)),
    "other_alias": (stand_in("executorch::alias"), double, (image,)),
    "other_cache": (stand_in("executorch::update_cross_attn_cache"), double, (image,)),
    "experts": (
        experts,
        lambda x: torch.bmm(x.float()[None], x.float()[None].transpose(-1, -2)),
        (EIGHT[0],),
        None,
        "other",
    ),
    "open_counts": (
        lambda x: torch.bincount(x) + 1,
        lambda x: bounded(torch.bincount(x)) + 1,
        (torch.tensor([1, 4, 4, 7]),),
    ),
    "open_rows": (
        lambda x, n: x.repeat_interleave(n, 0) * 2,
        lambda x, n: bounded(x.repeat_interleave(n, 0)) * 2,
        (x, torch.tensor([1, 0, 2, 3])),
    ),
    "open_size": (zeros, bounded_zeros, (torch.tensor(2),)),
}
