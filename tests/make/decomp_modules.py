"""Small modules, one for each thing that decomposition must get right: single operators."""

import torch
from torch import nn
import torch.nn.functional as F

from decomp_case import A, IMG, case, section

# Linear layers and products.
section("products")
case("linear1d", nn.Linear(6, 4), (6,))
case("linear2d", nn.Linear(6, 4), (2, 6))
case("linear3d", nn.Linear(6, 4), (2, 5, 6))
case("linear3d_nobias", nn.Linear(6, 4, bias=False), (2, 5, 6))
case("linear4d", nn.Linear(8, 4), (2, 3, 5, 8))
case("linear4d_nc", nn.Linear(8, 4), torch.randn(2, 3, 5, 8).transpose(1, 2))
case("linear_nc", lambda x, w, b: F.linear(x.transpose(0, 1), w, b), (2, 5, 8), (4, 8), (4,))
for name, a, b in [
    ("matmul33", (2, 3, 5), (2, 5, 4)),
    ("matmul32", (2, 3, 5), (5, 4)),
    ("matmul23", (3, 5), (2, 5, 4)),
    ("matmul44b", (2, 1, 3, 5), (1, 7, 5, 4)),
    ("matmul21", (3, 5), (5,)),
    ("matmul12", (5,), (5, 4)),
    ("matmul11", (5,), (5,)),
    ("matmul31", (2, 3, 5), (5,)),
    ("matmul13", (5,), (2, 5, 3)),
    ("matmul43", (2, 3, 4, 5), (3, 5, 6)),
]:
    case(name, torch.matmul, a, b)


class MatmulParam(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(8, 4))

    def forward(self, x):
        return x.transpose(0, 1) @ self.w


class MatmulBuffer(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("w", torch.randn(8, 4))

    def forward(self, x):
        return x.transpose(0, 1) @ self.w


class MatmulParam23(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(3, 8))

    def forward(self, x):
        return self.w @ x


class MatmulParam33(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(1, 8, 4))

    def forward(self, x):
        return x @ self.w


case("matmul_param_nc", MatmulParam(), (2, 5, 8))
case("matmul_buf_nc", MatmulBuffer(), (2, 5, 8))
case("matmul_param23", MatmulParam23(), (2, 8, 5))
case("matmul_param33", MatmulParam33(), (2, 5, 8))
case("mm_b1t", lambda a, b: a @ b.transpose(-1, -2), (1, 2, 3, 5), (1, 2, 3, 5))
case("mm_b2t", lambda a, b: a @ b.transpose(-1, -2), (2, 2, 3, 5), (2, 2, 3, 5))
case(
    "lin_b1_heads",
    lambda x: (
        x.view(1, 5, 2, 4).transpose(1, 2) @ x.view(1, 5, 2, 4).transpose(1, 2).transpose(-1, -2)
    ),
    (1, 5, 8),
)
case(
    "lin_b2_heads",
    lambda x: (
        x.view(2, 5, 2, 4).transpose(1, 2) @ x.view(2, 5, 2, 4).transpose(1, 2).transpose(-1, -2)
    ),
    (2, 5, 8),
)
case("bool_mm", lambda a: a @ a.mT, (1, 2, 3, 5))
case("einsum_bhqd", lambda a, b: torch.einsum("bhqd,bhkd->bhqk", a, b), (2, 3, 4, 5), (2, 3, 6, 5))
case("einsum_ij_jk", lambda a, b: torch.einsum("ij,jk->ik", a, b), (4, 5), (5, 6))
case("einsum_i_j", lambda a, b: torch.einsum("i,j->ij", a, b), (4,), (5,))
case("einsum_tr", lambda a: torch.einsum("bij->bji", a), (2, 3, 4))
case("einsum_sum", lambda a: torch.einsum("bij->b", a), (2, 3, 4))
case("einsum_diag", lambda a: torch.einsum("ii->i", a), (4, 4))
case("einsum_trace", lambda a: torch.einsum("bii->b", a), (2, 4, 4))
case(
    "einsum_dots",
    lambda a, b: torch.einsum("...ij,...jk->...ik", a, b),
    (2, 3, 4, 5),
    (2, 3, 5, 6),
)
case("einsum_implicit", lambda a, b: torch.einsum("ij,jk", a, b), (4, 5), (5, 6))
case("einsum_three", lambda a, b, c: torch.einsum("ij,jk,kl->il", a, b, c), (4, 5), (5, 6), (6, 3))
case("einsum_one_sided", lambda a, b: torch.einsum("ijk,jl->il", a, b), (2, 3, 4), (3, 5))
case("addmm", torch.addmm, (2, 4), (2, 3), (3, 4))
case("addmm_ab", lambda a, b, c: torch.addmm(a, b, c, beta=2, alpha=3), (2, 4), (2, 3), (3, 4))
case(
    "baddbmm",
    lambda a, b, c: torch.baddbmm(a, b, c, beta=0, alpha=0.5),
    (2, 3, 4),
    (2, 3, 5),
    (2, 5, 4),
)
case("baddbmm_ab", lambda a, b, c: torch.baddbmm(a, b, c, beta=2), (2, 3, 4), (2, 3, 5), (2, 5, 4))
case("addmv", lambda a, b, c: torch.addmv(a, b, c), (3,), (3, 5), (5,))
case("outer", torch.outer, (4,), (5,))
case("dot", torch.dot, (5,), (5,))
case("mv", torch.mv, (3, 5), (5,))
case("addr", torch.addr, (3, 4), (3,), (4,))
case("kron", torch.kron, (2, 2), (2, 2))
case("cross", lambda a, b: torch.linalg.cross(a, b), (2, 3), (2, 3))
case("tensordot", lambda a, b: torch.tensordot(a, b, dims=([-1], [0])), (2, 3), (3, 4))
case("tensordot2", lambda a, b: torch.tensordot(a, b, dims=([1, 2], [1, 0])), (2, 3, 4), (4, 3, 5))
case("bilinear", nn.Bilinear(3, 4, 5), (2, 3), (2, 4))
case("chain_matmul", lambda a, b: torch.linalg.multi_dot([a, b]), (2, 3), (3, 4))
case("inner", torch.inner, (2, 3), (4, 3))

# Convolutions, normalisation, pooling.
case(
    "products_of_whole_numbers",
    lambda m, v, a, b: (torch.matmul(m, v), torch.dot(a, a), torch.vdot(a, a), torch.dot(b, b)),
    torch.arange(12, dtype=torch.int32).view(3, 4),
    torch.arange(4, dtype=torch.int32),
    torch.tensor([1, -2, 3, 5], dtype=torch.int8),
    torch.tensor([2**40, 1, -3, 7]),
)
section("layers")
case("conv2d", nn.Conv2d(4, 8, 3, stride=2, padding=1), IMG)
case("conv2d_same", nn.Conv2d(4, 8, 4, padding="same"), IMG)
case("conv_same_sym", nn.Conv2d(4, 8, 3, padding="same"), IMG)
case("conv_valid", nn.Conv2d(4, 8, 3, padding="valid", dilation=2, groups=2, bias=False), IMG)
case("conv2d_nobatch", nn.Conv2d(4, 8, 3), (4, 8, 8))
case("conv1d", nn.Conv1d(4, 8, 3), (2, 4, 9))
case("conv3d", nn.Conv3d(2, 3, 2), (1, 2, 4, 4, 4))
case("convT2d", nn.ConvTranspose2d(4, 8, 3, stride=2, padding=1, output_padding=1, groups=2), IMG)
case("convT1d", nn.ConvTranspose1d(4, 8, 3, stride=2, padding=1), (2, 4, 9))
case("conv2d_reflect", nn.Conv2d(4, 8, 3, padding=1, padding_mode="reflect"), IMG)
case("conv_cl", nn.Conv2d(4, 8, 3), torch.randn(IMG).to(memory_format=torch.channels_last))
case("bn2d_eval", nn.BatchNorm2d(4), IMG)
case("bn2d_train", nn.BatchNorm2d(4), IMG, train=True)
case("bn1d_train", nn.BatchNorm1d(6, momentum=0.3), (5, 6), train=True)
case("bn2d_train_mixed", nn.BatchNorm2d(4), ("h", *IMG), train=True)
case("bn2d_train_plain", nn.BatchNorm2d(4, affine=False), IMG, train=True)
LAST = torch.arange(512.0).sin().reshape(IMG).to(memory_format=torch.channels_last)
case("bn2d_train_last", nn.BatchNorm2d(4), LAST, train=True)
case("bn2d_train_last_half", nn.BatchNorm2d(4).half(), LAST.half(), train=True)
case("bn1d_train_half", nn.BatchNorm1d(6).half(), ("h", 5, 6), train=True)
case("bn1d_train_length", nn.BatchNorm1d(3), (4, 3, 5), train=True)
case("bn1d_train_length_half", nn.BatchNorm1d(3).half(), ("h", 4, 3, 5), train=True)
case("bn1d_2d", nn.BatchNorm1d(6), (2, 6))
case("bn_cl", nn.BatchNorm2d(4), torch.randn(IMG).to(memory_format=torch.channels_last))
case("instnorm", nn.InstanceNorm2d(4, affine=True), IMG)
case("groupnorm", nn.GroupNorm(2, 4), IMG)
case("layernorm", nn.LayerNorm(6), A)
case("ln_2dims", nn.LayerNorm([5, 8]), (2, 5, 8))
case("layernorm_noaffine", nn.LayerNorm(6, elementwise_affine=False), A)
case("ln_nc", lambda x: F.layer_norm(x.transpose(0, 1), [6]), A)
case("gn_nc", lambda x: F.group_norm(x.transpose(2, 3), 2), (2, 4, 8, 6))
case("rmsnorm", nn.RMSNorm(6), A)
case("rms_half", lambda x, w: F.rms_norm(x, [2], w), ("h", 2, 2), ("h", 2))
case("lrn", nn.LocalResponseNorm(3), IMG)
case("weight_norm", lambda v, g: torch._weight_norm(v, g, 0), (8, 4, 3), (8, 1, 1))
case("maxpool2d", nn.MaxPool2d(3, 2, 1), IMG)
case("maxpool2d_ceil", nn.MaxPool2d(3, 2, ceil_mode=True), IMG)
case("maxpool2d_cl", nn.MaxPool2d(2), torch.randn(IMG).to(memory_format=torch.channels_last))
case("maxpool1d", nn.MaxPool1d(2), (2, 4, 8))
case("maxpool3d", nn.MaxPool3d(2), (1, 2, 4, 4, 4))
case("avgpool2d", nn.AvgPool2d(2), IMG)
case("avgpool1d", nn.AvgPool1d(2), (2, 4, 8))
case("aap2d_1", nn.AdaptiveAvgPool2d(1), IMG)
case("aap2d_7", nn.AdaptiveAvgPool2d(7), IMG)
case("aap2d_4", nn.AdaptiveAvgPool2d(4), IMG)
case("aap1d", nn.AdaptiveAvgPool1d(1), (2, 4, 8))
case("aap1d_3", nn.AdaptiveAvgPool1d(4), (2, 4, 8))
case("aap3d", nn.AdaptiveAvgPool3d(1), (1, 2, 4, 4, 4))
case(
    "se_cl",
    lambda x: F.adaptive_avg_pool2d(x.to(memory_format=torch.channels_last), 1),
    IMG,
)
case("amp2d", nn.AdaptiveMaxPool2d(2), IMG)
case("amp1d", nn.AdaptiveMaxPool1d(2), (2, 4, 8))
case("lppool", nn.LPPool2d(2.0, 2), IMG)

# Activations and elementwise functions.
section("elementwise")
ACT = {
    "relu": F.relu,
    "relu6": F.relu6,
    "silu": F.silu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "hardswish": F.hardswish,
    "hardsigmoid": F.hardsigmoid,
    "hardtanh": F.hardtanh,
    "mish": F.mish,
    "elu": F.elu,
    "selu": F.selu,
    "celu": F.celu,
    "celu2": lambda x: F.celu(x, 2.0),
    "leaky": F.leaky_relu,
    "softplus": F.softplus,
    "softplus2": lambda x: F.softplus(x, 2.0, 10.0),
    "softsign": F.softsign,
    "tanhshrink": F.tanhshrink,
    "logsigmoid": F.logsigmoid,
    "softshrink": F.softshrink,
    "hardshrink": F.hardshrink,
    "threshold": lambda x: F.threshold(x, 0.1, 2.0),
    "glu": F.glu,
    "softmax": lambda x: F.softmax(x, -1),
    "softmax_dt": lambda x: F.softmax(x, -1, dtype=torch.float64),
    "log_softmax": lambda x: F.log_softmax(x, 1),
    "softmin": lambda x: F.softmin(x, 1),
    "square": torch.square,
    "sinc": torch.sinc,
    "logit_eps": lambda x: torch.logit(x, 0.1),
    "frac": torch.frac,
    "rad2deg": torch.rad2deg,
    "deg2rad": torch.deg2rad,
    "positive": torch.positive,
    "sgn": torch.sgn,
    "rsub": lambda x: 1 - x,
    "rdiv": lambda x: 1 / x,
    "rpow": lambda x: 2**x,
    "floordiv": lambda x: x // 2,
    "mod": lambda x: x % 2,
    "clamp": lambda x: x.clamp(0, 1),
    "clamp_min": lambda x: x.clamp_min(0.1),
    "clamp_max": lambda x: x.clamp_max(3),
    "clip": lambda x: x.clip(0.0, 1.0),
    "nan_to_num": torch.nan_to_num,
    "isfinite": torch.isfinite,
    "isposinf": torch.isposinf,
    "prod": lambda x: x.prod(1),
    "float_power": lambda x: torch.float_power(x, 2),
    "dropout_train": lambda x: F.dropout(x, 0.1, True),
    "rrelu": F.rrelu,
    "lerp_t": lambda x: torch.lerp(x, x, x),
    "isclose": lambda x: torch.isclose(x, x),
    "absolute": torch.absolute,
    "arctan2": lambda x: torch.arctan2(x, x),
}
for name, fn in ACT.items():
    case(name, fn, A)
for name in (
    "silu",
    "hardswish",
    "hardsigmoid",
    "softplus",
    "glu",
    "logsigmoid",
    "celu",
    "gelu",
    "elu",
    "hardtanh",
    "sinc",
    "square",
):
    case(name + "_half", ACT[name], ("h", 2, 2))
case("addcmul_half", lambda x: torch.addcmul(x, x, x, value=0.5), ("h", 2, 2))
case("softmax_to_float", lambda x: F.softmax(x, -1, dtype=torch.float32), ("h", 2, 2))
case("prelu", nn.PReLU(4), IMG)
case("prelu1", nn.PReLU(), IMG)
case("frac_int_mul", lambda x: torch.rad2deg(x), ("i", 3))
case("isfinite_int", torch.isfinite, ("i", 3))
case("bitand", lambda a, b: a & b, ("b", 4), ("b", 4))
case("bool_ops", lambda a, b: (a & b) | (~a ^ b), ("b", 4), ("b", 4))
case("masked_fill", lambda x, m: x.masked_fill(m, -1e9), (3, 6), ("b", 3, 6))
case("masked_fill_t", lambda x, m, v: x.masked_fill(m, v), (3, 6), ("b", 3, 6), torch.tensor(2.0))
case("where_s", lambda m, x: torch.where(m, x, 0.0), ("b", 3, 6), (3, 6))
case("where_ss", lambda m: torch.where(m, 1.0, 0.0), ("b", 3, 6))
case("where_self", lambda m, x: torch.where(m, 1, x), ("b", 3, 6), ("i", 3, 6))
case("floor_div_int", lambda a, b: a // b, ("i", 4), torch.tensor([1, 2, 3, 4]))
case("add_bool_f", lambda a, b: a + b, ("b", 4), (4,))

# Reductions.
section("reductions")
RED = {
    "var": lambda x: x.var(-1),
    "var_all": lambda x: x.var(),
    "std": lambda x: x.std(-1, unbiased=False),
    "std_all": lambda x: x.std(),
    "std_c": lambda x: x.std(1, correction=2, keepdim=True),
    "var_mean": lambda x: torch.var_mean(x, -1),
    "std_mean": lambda x: torch.std_mean(x, -1),
    "logsumexp": lambda x: x.logsumexp(-1),
    "logsumexp_kd": lambda x: x.logsumexp([0, 1], True),
    "all": lambda x: (x > 0).all(),
    "all_d": lambda x: (x > 0).all(-1),
    "sum_all": lambda x: x.sum(),
    "sum_dt": lambda x: x.sum(dtype=torch.float64),
    "nansum": lambda x: x.nansum(-1),
    "aminmax": lambda x: torch.aminmax(x, dim=-1),
    "aminmax_all": lambda x: torch.aminmax(x),
    "count_nz": torch.count_nonzero,
    "argsort": torch.argsort,
    "norm": lambda x: x.norm(dim=-1),
    "linalgnorm": lambda x: torch.linalg.norm(x, dim=-1, keepdim=True),
    "vecnorm1": lambda x: torch.linalg.vector_norm(x, 1, dim=-1),
    "vecnorm_inf": lambda x: torch.linalg.vector_norm(x, float("inf"), dim=-1),
    "vecnorm0": lambda x: torch.linalg.vector_norm(x, 0, dim=-1),
    "vecnorm_all": torch.linalg.vector_norm,
    "normalize": lambda x: F.normalize(x, dim=-1),
    "max_tuple": lambda x: x.max(1, keepdim=True).values,
    "topk3": lambda x: x.topk(2, largest=False, sorted=False).indices,
}
for name, fn in RED.items():
    case(name, fn, A)
U8 = torch.tensor([[0, 1, 2], [3, 4, 5]], dtype=torch.uint8)
case("all_u8", lambda x: (x.all(), x.all(1), x.all((0, 1), True)), U8)
case("einsum_swapped", lambda x, y: torch.einsum("aec,cb->bae", x, y), (2, 3, 4), (4, 5))
case("einsum_between", lambda x, y: torch.einsum("cz,abz->acb", x, y), (2, 3), (4, 5, 3))
case("count_nonzero_dim", lambda x: x.count_nonzero(1), (2, 3))
case("diff_0", lambda x, y: x.diff(n=0, prepend=y), (2, 3), (2, 1))
case("tensordot_1", lambda x, y: torch.tensordot(x, y, ([0, 1], [2, 0])), (1, 1, 1), (2, 1, 2))
case("tensordot_2", lambda x, y: torch.tensordot(x, y, ([0, 1], [0, 2])), (3, 4, 2), (3, 2, 1))
case("logsumexp_ints", lambda x: x.logsumexp(-1), ("i", 2, 3))
for name in ("logsumexp", "norm", "var", "vecnorm_all"):
    case(name + "_half", RED[name], ("h", 2, 2))
case("trace", torch.trace, (3, 3))
case("mean_int", lambda x: x.float().mean(0), ("i", 3, 4))
case("norm_one", lambda x: torch.linalg.vector_norm(x, 2, dim=1), (3, 1))

# Losses.
section("losses")
LOSS = {
    "mse": F.mse_loss,
    "l1": F.l1_loss,
    "smoothl1": F.smooth_l1_loss,
    "huber": F.huber_loss,
    "mse_none": lambda a, b: F.mse_loss(a, b, reduction="none"),
    "bcel": F.binary_cross_entropy_with_logits,
    "kl": F.kl_div,
    "bce": lambda a, b: F.binary_cross_entropy(a.sigmoid(), b.sigmoid()),
    "pdist": F.pairwise_distance,
}
for name, fn in LOSS.items():
    case(name, fn, (3, 5), (3, 5))
case("cossim", lambda a, b: F.cosine_similarity(a, b, -1), A, A)
case("ce", F.cross_entropy, (3, 5), ("i", 3))
case("nll_w", lambda x, y, w: F.nll_loss(x, y, w), (3, 5), ("i", 3), (5,))
case("ce_2d", F.cross_entropy, (2, 5, 3, 3), ("i", 2, 3, 3))
case("ce_soft", F.cross_entropy, (3, 5), (3, 5))
case("cdist", torch.cdist, (2, 3, 4), (2, 5, 4))

# Views, joins and splits.
section("shapes")
VIEW = {
    "reshape_copy": lambda x: x.transpose(0, 1).reshape(-1),
    "reshape_view": lambda x: x.reshape(-1),
    "flatten_same": lambda x: x.flatten(1, 1) + 0,
    "unflatten": lambda x: x.unflatten(-1, (2, 3)),
    "unflatten_m1": lambda x: x.unflatten(-1, (2, -1)),
    "ravel": torch.ravel,
    "squeeze_noop": lambda x: x.squeeze(1),
    "transpose": lambda x: x.transpose(1, 2),
    "mT": lambda x: x.mT,
    "movedim": lambda x: x.movedim(0, -1),
    "movedim2": lambda x: x.movedim((0, 1), (2, 0)),
    "swapaxes": lambda x: x.swapaxes(0, -1),
    "tr_same": lambda x: x.transpose(1, 1) + 0,
    "contiguous_noop": lambda x: x.contiguous(),
    "contiguous_t": lambda x: x.transpose(0, 1).contiguous(),
    "chunk": lambda x: x.chunk(2, -1),
    "split": lambda x: x.split(2, 1),
    "split_sizes": lambda x: x.split([1, 4], 1),
    "tensor_split": lambda x: x.tensor_split(2, 1),
    "tensor_split_i": lambda x: x.tensor_split([1, 3], 1),
    "narrow": lambda x: x.narrow(1, 1, 2),
    "broadcast_to": lambda x: x.broadcast_to(2, 2, 5, 6),
    "repeat_interleave": lambda x: x.repeat_interleave(2, 1),
    "repeat_interleave_flat": lambda x: x.repeat_interleave(2),
    "tile": lambda x: x.tile(2),
    "roll": lambda x: x.roll(1, -1),
    "roll2": lambda x: x.roll((1, -1), (1, 2)),
    "roll_flat": lambda x: x.roll(2),
    "rot90": torch.rot90,
    "fliplr": torch.fliplr,
    "atleast": lambda x: torch.atleast_3d(x[0, 0]),
    "view_as": lambda x: x.view(10, 6).view_as(x),
    "detach": lambda x: x.detach() * 2,
    "to_f16": lambda x: x.to(torch.float16),
    "to_noop": lambda x: x.to(torch.float32),
    "to_copy": lambda x: x.to(torch.float32, copy=True),
    "long": lambda x: x.long(),
    "zeros_like": torch.zeros_like,
    "ones_like": lambda x: torch.ones_like(x, dtype=torch.int64),
    "new_zeros": lambda x: x.new_zeros(2, 3),
    "new_ones": lambda x: x.new_ones(2),
    "new_full": lambda x: x.new_full((2,), 1),
    "empty_like": lambda x: torch.empty_like(x),
    "hann": lambda x: x * torch.hann_window(6),
    "hamming": lambda x: x * torch.hamming_window(6, False),
    "tensor_const": lambda x: x + torch.tensor([1.0]),
    "diag_embed_off": lambda x: torch.diag_embed(x, 1),
    "permute_neg": lambda x: x.permute(-1, 0, 1),
    "hsplit": lambda x: torch.hsplit(x.view(2, 6, 5), 3),
    "real": lambda x: torch.real(x) + 1,
}
for name, fn in VIEW.items():
    case(name, fn, A)
case("type_as", lambda x, y: x.type_as(y), A, ("i", 1))
case("T", lambda x: x.T, (3, 4))
case("t", lambda x: x.t(), (3, 4))
case("diag", torch.diag, (3,))
case("diag2", torch.diag, (3, 3))
case("diagflat", torch.diagflat, (2, 2))
case("meshgrid", lambda a, b: torch.meshgrid(a, b, indexing="ij"), (3,), (4,))
case("meshgrid_xy", lambda a, b: torch.meshgrid(a, b, indexing="xy"), (3,), (4,))
case("cart", torch.cartesian_prod, (3,), (4,))
case("contiguous_cl", lambda x: x.contiguous(memory_format=torch.channels_last), IMG)
case("to_cl", lambda x: x.to(memory_format=torch.channels_last), IMG)
case("pixshuf", nn.PixelShuffle(2), IMG)
case("pixunshuf", nn.PixelUnshuffle(2), IMG)
case("pixshuf_cl", nn.PixelShuffle(2), torch.randn(IMG).to(memory_format=torch.channels_last))
case("chanshuf", nn.ChannelShuffle(2), IMG)
case("tril_bool", lambda x: torch.tril(x > 0), (3, 6))
case(
    "ln_gelu_cl",
    lambda x: F.layer_norm(x.permute(0, 2, 3, 1), [4]).permute(0, 3, 1, 2).contiguous(),
    IMG,
)
case("complex_real", torch.real, ("c", 3, 4))
case("complex_imag", torch.imag, ("c", 3, 4))
