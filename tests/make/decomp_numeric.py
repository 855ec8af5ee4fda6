"""Counting, quantiles, losses of margins, special functions, linear algebra by factorisations. Core
graphs are ours: PyTorch keeps most of these, or has several operators where we have one."""

import math

import torch
from torch import nn
import torch.nn.functional as F

from decomp_case import BY_NUMBERS, case, section


def number(name, module, *inputs, train=False):
    BY_NUMBERS.add(name)
    case(name, module, *inputs, train=train)


section("numerics")
A, POS = (4, 6), torch.rand(4, 6) * 3 + 0.2
CLASS = torch.tensor([0, 2, 5, 1])
SIGN = torch.tensor([1.0, -1.0, 1.0, -1.0])
L = torch.linalg

number("histc", lambda x: torch.histc(x, 6, 0, 5), torch.tensor([0.0, 5, 3, 3, 6, -1, 2.5, 4.999]))
number("histc_data", lambda x: torch.histc(x, 10), A)
number("tril_indices", lambda x: torch.tril_indices(4, 6, -1) + x, ("i", 1))
number("triu_indices", lambda x: torch.triu_indices(5, 3, 1) + x, ("i", 1))
number("max_unpool2d", lambda x, i: F.max_unpool2d(x, i, 2), (1, 2, 2, 2),
       torch.tensor([[[[0, 2], [8, 15]], [[5, 6], [9, 10]]]]))
number("max_unpool3d", lambda x, i: F.max_unpool3d(x, i, 2), (1, 1, 1, 1, 2),
       torch.tensor([[[[[3, 9]]]]]))
number("put", lambda x, i, y: x.put(i, y), A, torch.tensor([1, 7]), (2,))
number("median", lambda x: torch.median(x), A)
number("nanmedian", lambda x: torch.nanmedian(x), A)
for how in ("linear", "lower", "higher", "midpoint", "nearest"):
    number("quantile_" + how, lambda x, how=how: torch.quantile(x, 0.3, 1, interpolation=how), A)
number("quantile_flat", lambda x: torch.quantile(x, 0.7), A)
number("quantile_keep", lambda x: torch.quantile(x, 0.7, keepdim=True), A)
Q = torch.tensor([0.1, 0.5, 0.9])
number("quantile_vector", lambda x, q: torch.quantile(x, q, 0, True), A, Q)
HOLES = torch.tensor([[1.0, float("nan"), 3.0, 2.0], [float("nan")] * 4, [4.0, 1.0, 2.0, 3.0]])
number("quantile_nan", lambda x, q: torch.quantile(x, q, 1), HOLES, Q)
number("nanquantile", lambda x, q: torch.nanquantile(x, q, 1), HOLES, Q)
number("nanquantile_one", lambda x: torch.nanquantile(x, 0.25), HOLES)
number("dist", lambda x, y: torch.dist(x, y, 3), A, A)
number("vecdot", lambda x, y: L.vecdot(x, y), A, A)
number("msort", lambda x: torch.msort(x), A)
number("trapezoid", lambda x: torch.trapezoid(x, dx=0.5), A)
number("trapezoid_x", lambda y, x: torch.trapezoid(y, x), A, (6,))
number("cumulative_trapezoid", lambda x: torch.cumulative_trapezoid(x), A)
number("cumulative_trapezoid_x", lambda y, x: torch.cumulative_trapezoid(y, x, dim=0), A, A)
number("renorm", lambda x: torch.renorm(x, 2, 0, 1.0), A)
number("addbmm", lambda x, a, b: torch.addbmm(x, a, b, beta=0.5, alpha=2), (4, 3), (2, 4, 6),
       (2, 6, 3))
number("fmax", lambda x, y: torch.fmax(x, y), HOLES, (4,))
number("fmin", lambda x, y: torch.fmin(x, y), HOLES, (4,))
number("ldexp", lambda x, y: torch.ldexp(x, y), A, torch.tensor([0, 1, 2, -1, -2, 5]))
number("logaddexp2", lambda x, y: torch.logaddexp2(x, y), A, A)
for name in (
    "digamma psi erfc erfinv gammaln i0 ndtr log_ndtr entr round modified_bessel_i1".split()
):
    number("special_" + name, getattr(torch.special, name), POS / 4)
number("special_xlog1py", torch.special.xlog1py, POS, POS)
number("special_xlog1py_scalar", lambda x: torch.special.xlog1py(x, 2.0), POS)
number("special_gammainc", torch.special.gammainc, POS, POS)
number("special_polygamma", lambda x: torch.special.polygamma(2, x), POS)
number("mvlgamma", lambda x: torch.mvlgamma(x, 3), POS + 2)

number("ce_smooth", lambda x, t: F.cross_entropy(x, t, label_smoothing=0.1), A, CLASS)
for how in ("none", "sum"):
    number("ce_smooth_" + how,
           lambda x, t, how=how: F.cross_entropy(x, t, label_smoothing=0.1, reduction=how),
           (2, 5, 3), torch.randint(0, 5, (2, 3)))
number("ce_smooth_weight",
       lambda x, t, w: F.cross_entropy(x, t, w, label_smoothing=0.1, ignore_index=2),
       A, CLASS, torch.rand(6))
number("ce_soft_weight", lambda x, t, w: F.cross_entropy(x, t, w, label_smoothing=0.2), A,
       torch.softmax(torch.randn(4, 6), 1), torch.rand(6))
number("cosine_embedding", lambda x, y, t: F.cosine_embedding_loss(x, y, t, 0.2), A, A, SIGN)
number("hinge_embedding", lambda x, t: F.hinge_embedding_loss(x, t), (4,), SIGN)
number("margin_ranking", lambda x, y, t: F.margin_ranking_loss(x, y, t, 0.1), (4,), (4,), SIGN)
number("triplet", lambda x, y, z: F.triplet_margin_loss(x, y, z), A, A, A)
number("triplet_swap", lambda x, y, z: F.triplet_margin_loss(x, y, z, swap=True, reduction="sum"),
       A, A, A)
number("multi_margin", lambda x, t: F.multi_margin_loss(x, t), A, CLASS)
number("multi_margin_2", lambda x, t, w: F.multi_margin_loss(x, t, 2, 0.5, w, reduction="none"), A,
       CLASS, torch.rand(6))
LABELS = torch.tensor([[0, 2, -1, 0, 0, 0], [3, 0, -1, 1, 1, 1], [1, 2, 3, 4, 5, 0], [-1] * 6])
number("multilabel_margin", lambda x, t: F.multilabel_margin_loss(x, t), A, LABELS)
number("poisson_nll", lambda x, t: F.poisson_nll_loss(x, t), A, POS)
number("poisson_nll_full", lambda x, t: F.poisson_nll_loss(x, t, log_input=False, full=True), POS,
       POS)


class TrackedNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.InstanceNorm2d(3, affine=True, track_running_stats=True)
        self.norm.num_batches_tracked = None
        self.norm.running_mean.copy_(torch.rand(3))

    def forward(self, x):
        return self.norm(x)


number("instance_norm_tracked", TrackedNorm(), (2, 3, 4, 4), train=True)
number("instance_norm_stats",
       lambda x, m, v: F.instance_norm(x, m, v, use_input_stats=False), (2, 3, 4, 4), (3,),
       torch.rand(3))

X = torch.randn(2, 4, 4, generator=torch.Generator().manual_seed(3))
SPD = X @ X.mT + torch.eye(4)
number("inv", L.inv, SPD)
number("solve", L.solve, SPD, (2, 4, 3))
number("solve_vector", lambda x, b: L.solve(x[0], b), SPD, (4,))
number("solve_right", lambda x, b: L.solve(x, b, left=False), SPD, (2, 3, 4))
number("cholesky", L.cholesky, SPD)
number("cholesky_solve", lambda l, b: torch.cholesky_solve(b, l), L.cholesky(SPD), (2, 4, 3))
number("det", torch.det, SPD)
number("slogdet", lambda x: L.slogdet(x)[1], SPD)
number("logdet", torch.logdet, SPD)
number("svdvals", L.svdvals, (2, 5, 3))
number("eigvalsh", L.eigvalsh, SPD)
number("pinv", lambda x: L.pinv(x), (2, 5, 3))
number("pinverse", torch.pinverse, (5, 3))
number("matrix_rank", lambda x: L.matrix_rank(x), (2, 5, 3))
for n in (-2, 0, 1, 2, 5):
    number(f"matrix_power_{n}", lambda x, n=n: L.matrix_power(x, n), SPD / 4)
for ord in ("fro", "nuc", 1, -1, 2, -2, float("inf"), float("-inf")):
    number(f"matrix_norm_{ord}", lambda x, ord=ord: L.matrix_norm(x, ord), (2, 5, 3))
number("matrix_norm_keep", lambda x: L.matrix_norm(x, 2, (2, 0), True).sum(), (2, 5, 3))
number("matrix_exp", torch.matrix_exp, (3, 3))
number("multi_dot_4", lambda a, b, c, d: L.multi_dot([a, b, c, d]), (4, 6), (6, 3), (3, 7), (7, 2))
number("multi_dot_ends", lambda a, b, c: L.multi_dot([a, b, c]), (6,), (6, 3), (3,))
number("inverse", L.inv, SPD)
case("svd", L.svd, (2, 5, 3))

U2, U3 = torch.rand(2, 3, 2, generator=torch.Generator().manual_seed(4)), torch.tensor(
    [[[0.1, 0.9, 0.5], [0.4, 0.0, 0.7]]])
for k, what in enumerate(("values", "places")):
    number(f"fractional_pool_{what}",
           lambda x, u, k=k: torch.ops.aten.fractional_max_pool2d(x, [3, 2], [5, 6], u)[k],
           (2, 3, 12, 13), U2)
    number(f"fractional_pool_3d_{what}",
           lambda x, u, k=k: torch.ops.aten.fractional_max_pool3d(x, [2, 3, 1], [4, 1, 5], u)[k],
           (2, 7, 8, 9), U3)
number("embedding_renorm", lambda x, i: torch.ops.aten.embedding_renorm(x, i, 1.5, 2.0),
       (6, 4), torch.tensor([[1, 4], [4, 0]]))
number("where_indices", lambda x: torch.where(x > 0)[1], (3, 4))

# Without torchvision these cannot be made, and stay as they are.
try:
    import torchvision
except ImportError:
    torchvision = None

BOX = torch.tensor([[0.0, 0, 4, 4], [1, 1, 5, 5], [6, 6, 9, 9]])
case("nms", lambda b, s: torch.ops.torchvision.nms(b, s, 0.5), BOX, (3,))
ROIS = torch.tensor([[0.0, 0, 0, 4, 4], [0, 1, 1, 6, 7]])
case(
    "roi_align",
    lambda x, r: torch.ops.torchvision.roi_align(x, r, 1.0, 2, 2, -1, False),
    *((1, 2, 8, 8), ROIS),
)
case(
    "deform",
    lambda x, o, w: torchvision.ops.deform_conv2d(x, o, w, padding=1),
    *((2, 3, 6, 6), (2, 18, 6, 6), (4, 3, 3, 3)),
)

# Operators expanded to factorisations, to rows that are looked up, or to neighbours.
number("lu", L.lu, SPD)
number("lu_solve", lambda x, b: L.lu_solve(*L.lu_factor(x), b), SPD, (2, 4, 3))
number("lu_solve_right",
       lambda x, b: L.lu_solve(*L.lu_factor(x), b, left=False, adjoint=True), SPD, (2, 3, 4))
number("householder_product", L.householder_product, (2, 5, 3), torch.rand(2, 3))
number("ormqr", lambda x, t, y: torch.ormqr(x, t, y, transpose=True), (5, 3), torch.rand(3), (5, 2))
for p in (None, "fro", "nuc", 1, -1, 2, -2, float("inf")):
    number(f"cond_{p}", lambda x, p=p: L.cond(x, p), SPD)
number("linalg_norm", lambda x: L.norm(x, 1) + L.norm(x, "nuc") + L.norm(x, "fro", (0, 1)), (5, 3))
number("nuclear_norm", lambda x: torch.nuclear_norm(x), (5, 3))
number("matrix_rank_tol", lambda x: L.matrix_rank(x, tol=1.0), SPD)
number("tensorinv", lambda x: L.tensorinv(x.reshape(2, 2, 4), ind=2), SPD[0])
number("tensorsolve", lambda x, b: L.tensorsolve(x.reshape(2, 2, 4), b), SPD[0], (2, 2))
number("vander", lambda x: torch.vander(x, 3), (4,))
number("linalg_vander", lambda x: L.vander(x), (2, 4))
VOLUME, AT = (2, 2, 3, 4, 5), torch.rand(2, 2, 3, 4, 3) * 2.6 - 1.3
for mode in ("bilinear", "nearest"):
    for padding in ("zeros", "border", "reflection"):
        for corners in (True, False):
            number(f"grid_sample_3d_{mode}_{padding}_{corners}",
                   lambda x, g, how=(mode, padding, corners): F.grid_sample(x, g, *how),
                   *(VOLUME, AT))
number("nonzero_static", lambda x: torch.nonzero_static(x > 0, size=30, fill_value=7), A)
number("nonzero_static_few", lambda x: torch.nonzero_static(x > 0, size=3), A)
number("searchsorted_number", lambda x: torch.searchsorted(x, 0.3), torch.arange(4.0))
number("searchsorted_right", lambda x: torch.searchsorted(x, 1, right=True), torch.arange(4.0))
number("isin_number", lambda x: torch.isin(2, x), torch.arange(4))
SCALES, ZEROS = torch.rand(6) + 0.05, torch.arange(6, dtype=torch.int32) - 3
number("fake_quantize_tensors",
       lambda x, s, z: torch.fake_quantize_per_tensor_affine(x, s[0], z[0], -8, 7), A, SCALES,
       ZEROS)
number("fake_quantize_channels",
       lambda x, s, z: torch.fake_quantize_per_channel_affine(x, s, z, 1, -8, 7), A, SCALES, ZEROS)
number("fake_quantize_channels_float",
       lambda x, s, z: torch.fake_quantize_per_channel_affine(x, s, z + 0.0, 1, -8, 7), A, SCALES,
       ZEROS)
number("fake_quantize_learned",
       lambda x, s, z: torch._fake_quantize_learnable_per_channel_affine(x, s, z + 0.3, 1, -8, 7),
       A, SCALES, ZEROS)
number("fake_quantize_numbers", lambda x, h: (
    torch.fake_quantize_per_tensor_affine(x, 0.1, 3, -8, 7),
    torch.fake_quantize_per_tensor_affine(h, 0.1, -2, -8, 7)), A, ("h", 4, 6))
number("fake_quantize_nan", lambda x, s, z: (
    torch.fake_quantize_per_tensor_affine(x, 0.1, 3, -8, 7),
    torch.fake_quantize_per_channel_affine(x[:, None], s[:1], z[:1], 1, -8, 7)),
    torch.tensor([float("nan"), 0.3, -9.0]), SCALES, ZEROS)
FAR = torch.tensor([float("inf"), float("-inf"), float("nan"), 1e30, -1e30, 3e9, -3e9, 2.5e8])
TIES = (torch.arange(8) - 3.5) * 0.1
for zero in (torch.int32, torch.float32, torch.float16):
    number(f"fake_quantize_far_{str(zero)[6:]}", lambda x, s, z:
           torch.ops.aten.fake_quantize_per_channel_affine_cachemask(x, s, z, 1, -8, 7),
           torch.stack([FAR, TIES, TIES + 0.001]), torch.full((8,), 0.1),
           (torch.arange(8) - 3).to(zero))
number("fake_quantize_learned_far",
       lambda x, s, z: torch._fake_quantize_learnable_per_channel_affine(x, s, z, 0, -8, 7),
       torch.stack([FAR, TIES]), torch.full((2,), 0.1), torch.tensor([1.0, -2.0]))
number("fake_quantize_mask",
       lambda x: torch.ops.aten.fake_quantize_per_tensor_affine_cachemask(x, 0.1, 3, -8, 7)[1], A)
WHOLE = torch.arange(12, dtype=torch.int32).reshape(3, 4)
number("addmv_whole", lambda x, y: torch.addmv(y[:3], x, y, alpha=1.5, beta=2.5), WHOLE, WHOLE[1])
number("baddbmm_whole", lambda x: torch.baddbmm(x[None], x[None], x[None], alpha=1.5, beta=2.5),
       WHOLE[:, :3])

# A number and a tensor promote to what is neither's where the tensor's category is lower.
OPS, BITS = torch.ops.aten, torch.tensor([True, False, True])
number("number_bits", lambda x, y: (
    OPS.bitwise_and.Scalar_Tensor(3, x), OPS.bitwise_or.Scalar_Tensor(2, x),
    OPS.bitwise_xor.Scalar_Tensor(True, x), OPS.bitwise_left_shift.Scalar_Tensor(3, x),
    OPS.bitwise_right_shift.Scalar_Tensor(5, x), OPS.bitwise_and.Scalar_Tensor(6, y)),
    BITS, torch.tensor([3, 5, 7], dtype=torch.int8))
number("number_remainder", lambda x, y: (
    OPS.remainder.Scalar_Tensor(2.5, x), OPS.remainder.Scalar_Tensor(7, x | True),
    OPS.remainder.Scalar_Tensor(7.5, y), OPS.remainder.Scalar_Tensor(7, y)),
    BITS, torch.tensor([3, 5, 2], dtype=torch.int8))
number("number_in_bools", lambda x: (torch.searchsorted(x, 2), OPS.bucketize.Scalar(2, x)),
       torch.tensor([False, True]))
TRIANGLE = torch.tensor([[1.0, 99.0], [0.5, 1.0]])
number("matrix_rank_symmetric", lambda x: (
    L.matrix_rank(x, tol=1.2, hermitian=True), L.matrix_rank(x, tol=-1.0),
    L.matrix_rank(x, tol=x[1]), L.matrix_rank(x[:0], tol=1.0)), TRIANGLE)
# Results that are not asked for are neither computed nor refused for their size.
LU = torch.rand(257, 257)
number("lu_unpack_data", lambda x: torch.lu_unpack(x, torch.ones(257, dtype=torch.int32),
                                                   unpack_pivots=False)[1], LU)
number("lu_unpack_pivots", lambda x, p: torch.lu_unpack(x, p,
                                                        unpack_data=False)[0],
       SPD[0, :3], torch.tensor([3, 2, 3], dtype=torch.int32))

# Special functions that PyTorch has kernels for, and no runtime.
WIDE = torch.cat([torch.linspace(-1.4, 1.4, 15), torch.tensor([0.0, 1.0, -1.0])])
POLYNOMIALS = [f"{base}_polynomial_{kind}" for base, kinds in (
    ("chebyshev", "tuvw"), ("shifted_chebyshev", "tuvw"), ("hermite", ("h", "he")),
    ("laguerre", "l"), ("legendre", "p")) for kind in kinds]
for name in POLYNOMIALS:
    number(f"special_{name}", lambda x, f=getattr(torch.special, name): tuple(
        f(x, n) for n in (-1, 0, 1, 2.9, 5, 10)), WIDE)
DEGREES = torch.tensor([-1, 0, 1, 2, 3, 5, 10])
for name in POLYNOMIALS:
    number(f"special_{name}_degrees", lambda x, n, f=getattr(torch.special, name): (
        f(x, n), f(0.3, n), f(2, n)), WIDE[:, None].clone(), DEGREES)
number("hermite_limit", lambda x: (
    torch.special.hermite_polynomial_h(x, 129), torch.special.hermite_polynomial_he(x, 129)), (3,))
number("polynomials_of_high_degree", lambda x: (
    torch.special.chebyshev_polynomial_w(x, 600), torch.special.legendre_polynomial_p(x, 700.5)),
    WIDE[3:12])
number("polynomial_of_integers", lambda x: torch.special.legendre_polynomial_p(x, 3),
       torch.arange(4))
number("special_airy_ai", torch.special.airy_ai, torch.cat([
    torch.linspace(-20, 12, 65), torch.tensor([0.0, 2.09, -2.09, 104.0, math.inf, math.nan])]))
number("special_zeta_number", lambda x: (
    torch.special.zeta(x + 1, 2), torch.special.zeta(3.0, x)), POS)
number("as_strided_scatter", lambda x, y: torch.as_strided_scatter(x, y, (2, 3), (6, 2), 1), A,
       (2, 3))
number("chunk_cat", lambda x, y: torch.ops.aten._chunk_cat([x, y], 0, 3), (5, 2, 2), (4, 3))
number("new_empty_strided",
       lambda x: x.new_empty_strided((2, 3), (1, 2), dtype=torch.int64).copy_(x[:2, :3]), A)
number("native_batch_norm", lambda x, m: (
    torch.ops.aten.native_batch_norm(x, None, m, m, m.exp(), False, 0.1, 1e-5)[0],
    torch.ops.aten.native_batch_norm(x, m, None, None, None, True, 0.1, 1e-5)), (4, 6), (6,))
for how in ("sum", "mean", "max", "min", "prod"):
    number(f"segment_{how}", lambda x, n, how=how: (
        torch.segment_reduce(x, how, lengths=n),
        torch.segment_reduce(x[:, 0], how, lengths=n, initial=0.5)), (4, 6),
        torch.tensor([1, 0, 3]))
number("nonzero_static_nowhere", lambda x: (
    torch.nonzero_static(x[0, 0], size=2), torch.nonzero_static(x[:0], size=2),
    torch.nonzero_static(x, size=0)), A)
