"""Every row of vmap.def: its operator on samples, with the batch as the first dim of all tensors,
as another dim, and of one tensor alone."""

import re
from pathlib import Path

import torch
from expanded import Fn, floats, whole
from torch.func import vmap

TABLE = Path(__file__).parents[2] / "src/trace/functorch/vmap.def"
BATCH = 3
aten = torch.ops.aten


def matrices():
    return floats(BATCH, 4, 4) + 4 * torch.eye(4)


def symmetric():
    a = matrices()
    return a @ a.mT


def shuffled(*sizes):
    """No two numbers are equal, so that places are no matter of choice."""
    return torch.randperm(torch.Size(sizes).numel()).reshape(sizes) / 8


def of(f, *make, alone=None):
    """A function of one sample; what makes its tensors, batch first; which of them may have a batch
    alone, all by default."""
    return f, make, range(len(make)) if alone is None else alone


def x(*sizes):
    return lambda: floats(BATCH, *sizes)


def distinct(*sizes):
    return lambda: shuffled(BATCH, *sizes)


def places(below, *sizes):
    return lambda: whole(below, BATCH, *sizes)


def rebuilt(svd):
    u, s, v = svd
    return (u * s.unsqueeze(-2)) @ v, s


def eigen(a):
    values, vectors = aten._linalg_eigh(a)
    return values, (vectors * values.unsqueeze(-2)) @ vectors.mT


def factored(a):
    lu, pivots, info = aten.linalg_lu_factor_ex(a)
    return lu, pivots, info


def written(a, b):
    y = a * 2
    y[1:] = b
    return y


def signless(a):
    return aten.linalg_qr(a)[1].abs()


def lower(a):
    return a.tril() + 4 * torch.eye(4)


ROWS = {
    "alias": of(lambda a: aten.alias(a) + 1, x(4)),
    "detach": of(lambda a: a.detach() + 1, x(4)),
    "clone": of(lambda a: a.clone() + 1, x(4)),
    "_to_copy": of(lambda a: aten._to_copy(a, dtype=torch.float64), x(4)),
    "full_like": of(lambda a: aten.full_like(a, 3) * a, x(4)),
    "view_dtype": of(lambda a: aten.view.dtype(a, torch.int32), x(4)),
    "view_as_complex": of(lambda a: aten.view_as_complex(a).abs(), x(4, 2)),
    "view_as_real": of(lambda a: aten.view_as_real(aten.view_as_complex(a)), x(4, 2)),
    "_conj": of(lambda a: aten.view_as_complex(a).conj().angle(), x(4, 2)),
    "constant_pad_nd": of(lambda a: aten.constant_pad_nd(a, [1, -1, 0, 2], 7), x(3, 4)),
    "bucketize_Tensor": of(lambda a: aten.bucketize(a, torch.tensor([-0.5, 0.0, 0.7])), x(4)),
    "linalg_inv_ex": of(lambda a: aten.linalg_inv_ex(a)[0], matrices),
    "linalg_cholesky_ex": of(lambda a: aten.linalg_cholesky_ex(a)[0], symmetric),
    "linalg_lu_factor_ex": of(factored, matrices),
    "linalg_qr": of(signless, matrices),
    "_linalg_eigh": of(eigen, symmetric),
    "_linalg_svd": of(lambda a: rebuilt(aten._linalg_svd(a)), x(4, 3)),
    "linalg_matrix_exp": of(lambda a: aten.linalg_matrix_exp(a / 8), matrices),
    "glu": of(lambda a: (aten.glu(a, 0), aten.glu(a, -1)), x(4, 6)),
    "diagonal": of(lambda a: (aten.diagonal(a, 1), aten.diagonal(a, -1, -1, 0)), x(4, 5)),
    "select_int": of(lambda a: (aten.select(a, 0, 1), aten.select(a, -1, -2)), x(4, 5)),
    "slice_Tensor": of(lambda a: (a[1:3], aten.slice(a, -1, 0, 5, 2)), x(4, 5)),
    "split_with_sizes": of(lambda a: (*a.split([1, 3]), *a.split([2, 3], -1)), x(4, 5)),
    "squeeze_dims": of(lambda a: (a.squeeze((0, 2)), a.squeeze(-1)), x(1, 4, 1)),
    "unfold": of(lambda a: (a.unfold(0, 2, 1), a.unfold(-1, 3, 2)), x(4, 5)),
    "flip": of(lambda a: (a.flip(0), a.flip(-1, 0)), x(4, 5)),
    "cumsum": of(lambda a: (a.cumsum(0), a.cumsum(-1)), x(4, 5)),
    "cumprod": of(lambda a: (a.cumprod(0), a.cumprod(-1)), x(4, 5)),
    "logcumsumexp": of(lambda a: (a.logcumsumexp(0), a.logcumsumexp(-1)), x(4, 5)),
    "cummax": of(lambda a: (*a.cummax(0), *a.cummax(-1)), distinct(4, 5)),
    "cummin": of(lambda a: (*a.cummin(0), *a.cummin(-1)), distinct(4, 5)),
    "_softmax": of(lambda a: (a.softmax(0), a.softmax(-1)), x(4, 5)),
    "_log_softmax": of(lambda a: (a.log_softmax(0), a.log_softmax(-1)), x(4, 5)),
    "sort": of(lambda a: (*aten.sort(a, 0), *aten.sort(a, -1, True)), distinct(4, 5)),
    "sort_stable": of(lambda a: (*aten.sort(a, stable=True, dim=0), *a.sort(-1)), distinct(4, 5)),
    "topk": of(lambda a: (*a.topk(2, 0), *a.topk(3)), distinct(4, 5)),
    "any_dim": of(lambda a: ((a > 1).any(0), (a > 1).any(-1)), x(4, 5)),
    "prod_dim_int": of(lambda a: (a.prod(0), a.prod(-1, True)), x(4, 5)),
    "max_dim": of(lambda a: (*a.max(0), *a.max(-1, True)), distinct(4, 5)),
    "min_dim": of(lambda a: (*a.min(0), *a.min(-1, True)), distinct(4, 5)),
    "median_dim": of(lambda a: (*a.median(0), *a.median(-1, True)), distinct(4, 5)),
    "nanmedian_dim": of(lambda a: (*a.nanmedian(0), *a.nanmedian(-1, True)), distinct(4, 5)),
    "mode": of(lambda a: (a.mode(0)[0], a.mode(-1, True)[0]), places(3, 4, 5)),
    "kthvalue": of(lambda a: (*a.kthvalue(2, 0), *a.kthvalue(3, -1, True)), distinct(4, 5)),
    "sum_dim_IntList": of(lambda a: (a.sum(0), a.sum((-1, 0), True)), x(4, 5)),
    "mean_dim": of(lambda a: (a.mean(0), a.mean((-1, 0), True)), x(4, 5)),
    "var_correction": of(lambda a: (a.var(0), a.var((-1, 0), correction=0)), x(4, 5)),
    "var_mean_correction": of(lambda a: (*torch.var_mean(a, 0), *torch.var_mean(a)), x(4, 5)),
    "amax": of(lambda a: (a.amax(0), a.amax((-1, 0), True), a.amax()), x(4, 5)),
    "amin": of(lambda a: (a.amin(0), a.amin((-1, 0), True), a.amin()), x(4, 5)),
    "any_dims": of(lambda a: (aten.any.dims(a > 1, [0, -1]), aten.any.dims(a > 1)), x(4, 5)),
    "mean": of(lambda a: (a.mean(), a.mean(dtype=torch.float64)), x(4, 5)),
    "prod": of(lambda a: (a.prod(), a.prod(dtype=torch.float64)), x(4, 5)),
    "max": of(lambda a: a.max(), x(4, 5)),
    "min": of(lambda a: a.min(), x(4, 5)),
    "any": of(lambda a: (a > 1.5).any(), x(4)),
    "argmax": of(lambda a: (a.argmax(), a.argmax(0), a.argmax(-1, True)), distinct(4, 5)),
    "argmin": of(lambda a: (a.argmin(), a.argmin(0), a.argmin(-1, True)), distinct(4, 5)),
    "view": of(lambda a: (aten.view(a.contiguous(), [2, -1]), a.reshape(20)), x(4, 5)),
    "expand": of(lambda a: (a.expand(2, 4, 5), a[:, :1].expand(-1, 3)), x(4, 5)),
    "permute": of(lambda a: (a.permute(1, 0, 2), a.permute(-1, 0, 1)), x(4, 5, 2)),
    "unsqueeze": of(lambda a: (a.unsqueeze(0), a.unsqueeze(-1)), x(4, 5)),
    "repeat": of(lambda a: (a.repeat(2, 3), a.repeat(2, 1, 1)), x(4, 5)),
    "gather": of(lambda a, i: (a.gather(0, i), a.gather(-1, i)), x(4, 4), places(4, 2, 4)),
    "scatter_src": of(
        lambda a, i, b: (a.scatter(0, i.argsort(0), b), a.scatter(-1, i.argsort(-1), b)),
        x(4, 5),
        distinct(2, 3),
        x(2, 3),
    ),
    "scatter_value": of(lambda a, i: a.scatter(-1, i, 9.0), x(4, 5), places(5, 3, 2)),
    "scatter_add": of(
        lambda a, i, b: (a.scatter_add(0, i, b), a.scatter_add(-1, i, b)),
        x(4, 5),
        places(4, 2, 3),
        x(2, 3),
    ),
    "scatter_reduce_two": of(
        lambda a, i, b: (
            a.scatter_reduce(0, i, b, "amax"),
            a.scatter_reduce(-1, i, b, "prod", include_self=False),
        ),
        x(4, 5),
        places(4, 2, 3),
        x(2, 3),
    ),
    "slice_scatter": of(lambda a, b: aten.slice_scatter(a, b, -1, 1, 5, 2), x(4, 5), x(4, 2)),
    "copy": of(written, x(4, 5), x(3, 5), alone=[0]),
    "linalg_solve_triangular": of(
        lambda a, b: aten.linalg_solve_triangular(lower(a), b, upper=False), x(4, 4), x(4, 2)
    ),
    "cat": of(lambda a, b: (torch.cat([a, b]), torch.cat([b, a, b], -1)), x(4, 5), x(4, 5)),
    "index_Tensor": of(lambda a, i: (a[i], a[:, i], a[i, i]), x(4, 5), places(4, 3)),
    "index_put": of(
        lambda a, i, b: aten.index_put(a, [i], b, True), x(4, 5), places(4, 3), x(3, 5)
    ),
    "index_select": of(
        lambda a, i: (a.index_select(0, i), a.index_select(-1, i)), x(4, 5), places(4, 3)
    ),
    "embedding": of(aten.embedding, x(6, 5), places(6, 4)),
    "mm": of(aten.mm, x(4, 5), x(5, 2)),
    "bmm": of(aten.bmm, x(2, 4, 5), x(2, 5, 3)),
    "addmm": of(lambda c, a, b: aten.addmm(c, a, b, beta=2, alpha=3), x(2), x(4, 5), x(5, 2)),
    "convolution": of(
        lambda a, w, b: aten.convolution(a, w, b, [2, 1], [1, 0], [1, 1], False, [0, 0], 2),
        x(2, 4, 6, 5),
        x(6, 2, 3, 2),
        x(6),
    ),
    "native_layer_norm": of(
        lambda a, w, b: aten.native_layer_norm(a, [5], w, b, 1e-5)[0], x(4, 5), x(5), x(5)
    ),
    "native_group_norm": of(
        lambda a, w, b: aten.native_group_norm(a, w, b, 2, 6, 5, 3, 1e-5)[0],
        x(2, 6, 5),
        x(6),
        x(6),
    ),
    "_native_batch_norm_legit_no_training": of(
        lambda a, w, b, m: aten._native_batch_norm_legit_no_training(
            a, w, b, m, m * m + 1, 0.1, 1e-5
        )[0],
        x(2, 4, 5),
        x(4),
        x(4),
        x(4),
    ),
    "avg_pool2d": of(lambda a: aten.avg_pool2d(a, [2, 3], [1, 2], [1, 0]), x(2, 2, 6, 7)),
    "max_pool2d_with_indices": of(
        lambda a: aten.max_pool2d_with_indices(a, [2, 3], [2, 2], [1, 0]), distinct(2, 2, 6, 7)
    ),
    "_adaptive_avg_pool2d": of(lambda a: aten._adaptive_avg_pool2d(a, [2, 3]), x(2, 2, 5, 7)),
    "adaptive_max_pool2d": of(lambda a: aten.adaptive_max_pool2d(a, [2, 3]), distinct(2, 2, 5, 7)),
    "upsample_bilinear2d_vec": of(
        lambda a: aten.upsample_bilinear2d.vec(a, [7, 9], False, None), x(2, 2, 4, 5)
    ),
    "upsample_nearest2d_vec": of(
        lambda a: aten.upsample_nearest2d.vec(a, [7, 9], None), x(2, 2, 4, 5)
    ),
    "linalg_vector_norm": of(lambda a: (a.norm(dim=0), a.norm(), aten.norm(a, 3)), x(4, 5)),
    "std_correction": of(lambda a: (a.std(0), a.std((-1, 0), correction=0), a.std()), x(4, 5)),
    "hardsigmoid": of(lambda a: aten.hardsigmoid(a * 3), x(4)),
    "hardswish": of(lambda a: aten.hardswish(a * 3), x(4)),
    "celu": of(lambda a: aten.celu(a, 0.5), x(4)),
    "softshrink": of(lambda a: aten.softshrink(a, 0.25), x(4)),
    "_prelu_kernel": of(aten._prelu_kernel, x(4), x(4)),
    "fmax": of(aten.fmax, x(4, 5), x(5)),
    "fmin": of(aten.fmin, x(4, 5), x(5)),
    "clamp_min_Tensor": of(torch.clamp_min, x(4, 5), x(5)),
    "clamp_max_Tensor": of(torch.clamp_max, x(4, 5), x(5)),
    "xlogy_Tensor": of(lambda a, b: aten.xlogy(a, b * b), x(4, 5), x(5)),
    "xlogy_Scalar_Self": of(lambda a: aten.xlogy(2.0, a * a), x(4)),
    "xlogy_Scalar_Other": of(lambda a: aten.xlogy(a, 2.0), x(4)),
    "special_xlog1py": of(lambda a, b: aten.special_xlog1py(a, b * b), x(4, 5), x(5)),
    "special_entr": of(lambda a: aten.special_entr(a * a), x(4)),
    "logit": of(lambda a: (aten.logit(a.sigmoid()), aten.logit(a, 0.25)), x(4)),
    "logaddexp": of(aten.logaddexp, x(4, 5), x(5)),
    "logaddexp2": of(aten.logaddexp2, x(4, 5), x(5)),
}


def rows():
    found = re.findall(r"^VMAP\((\w+), *(\w+)\)", TABLE.read_text(), re.M)
    assert {op for _, op in found} == set(ROWS), {op for _, op in found} ^ set(ROWS)
    return sorted(found)


def calls(op):
    """The operator's calls: what gives results, and of which tensors."""
    operator, make, alone = ROWS[op]

    # Exported, a batch that is not the first dim of results gets lost: sums make it that.
    def f(*a):
        return torch.utils._pytree.tree_map(lambda result: result + 0, operator(*a))

    tensors = [one() for one in make]
    yield vmap(f), tensors
    moved = [tensor.movedim(0, 1) if tensor.dim() > 1 else tensor for tensor in tensors]
    yield vmap(f, tuple(min(1, tensor.dim() - 1) for tensor in tensors)), moved
    for at in alone if len(make) > 1 else ():
        dims = tuple(0 if k == at else None for k in range(len(make)))
        yield vmap(f, dims), [t if k == at else t[0] for k, t in enumerate(tensors)]


def together(ops):
    parts = [call for op in ops for call in calls(op)]

    def run(*a):
        a = iter(a)
        return [f(*(next(a) for _ in tensors)) for f, tensors in parts]

    return Fn(run), tuple(tensor.contiguous() for _, tensors in parts for tensor in tensors)


def cases():
    names = [op for _, op in rows()]
    for first in range(0, len(names), 12):
        yield f"vmap rows {first}", *together(names[first : first + 12]), None
