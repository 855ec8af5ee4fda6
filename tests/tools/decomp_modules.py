"""Small modules, one for each thing that decomposition must get right; named after what they do."""

import torch
from torch import nn
import torch.nn.functional as F
from torch.export import Dim

CASES = []
AUTO = Dim.AUTO


class Fn(nn.Module):
    def __init__(self, fn):
        super().__init__()
        self.fn = fn

    def forward(self, *args):
        return self.fn(*args)


class Case:
    def __init__(self, name, module, args, dynamic=None, train=False):
        self.name, self.module, self.args, self.dynamic, self.train = name, module, args, dynamic, train


def tensor(item):
    if isinstance(item, torch.Tensor):
        return item
    if isinstance(item, tuple) and item and isinstance(item[0], str):
        kind, *sizes = item
        if kind == "i":
            return torch.randint(0, 3, sizes)
        if kind == "b":
            return torch.rand(sizes) > 0.5
        return torch.rand(sizes).to({"h": torch.float16, "bf": torch.bfloat16, "d": torch.float64,
                                     "c": torch.complex64, "i32": torch.int32}[kind])
    return torch.randn(item)


def case(name, module, *inputs, dyn=None, train=False):
    """`module`: a class instance maker or a plain function; `inputs`: shapes or tensors."""
    maker = module if isinstance(module, type) else None
    if isinstance(module, nn.Module):
        make = lambda: module  # noqa: E731
    elif maker is not None:
        make = maker
    else:
        make = lambda: Fn(module)  # noqa: E731
    dynamic = None
    if dyn is not None:
        shapes = tuple({i: AUTO for i in d} if d is not None else None for d in dyn)
        dynamic = (shapes,) if make is not None and not isinstance(module, nn.Module) else shapes
    CASES.append(Case(name, make, lambda: [tensor(i) for i in inputs], dynamic, train))


A = (2, 5, 6)
IMG = (2, 4, 8, 8)

# Linear layers and products.
case("linear1d", nn.Linear(6, 4), (6,))
case("linear2d", nn.Linear(6, 4), (2, 6))
case("linear3d", nn.Linear(6, 4), (2, 5, 6))
case("linear3d_nobias", nn.Linear(6, 4, bias=False), (2, 5, 6))
case("linear4d", nn.Linear(8, 4), (2, 3, 5, 8))
case("linear4d_nc", nn.Linear(8, 4), torch.randn(2, 3, 5, 8).transpose(1, 2))
case("linear_nc", lambda x, w, b: F.linear(x.transpose(0, 1), w, b), (2, 5, 8), (4, 8), (4,))
for name, a, b in [("matmul33", (2, 3, 5), (2, 5, 4)), ("matmul32", (2, 3, 5), (5, 4)),
                   ("matmul23", (3, 5), (2, 5, 4)), ("matmul44b", (2, 1, 3, 5), (1, 7, 5, 4)),
                   ("matmul21", (3, 5), (5,)), ("matmul12", (5,), (5, 4)),
                   ("matmul11", (5,), (5,)), ("matmul31", (2, 3, 5), (5,)),
                   ("matmul13", (5,), (2, 5, 3)), ("matmul43", (2, 3, 4, 5), (3, 5, 6))]:
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
case("lin_b1_heads", lambda x: x.view(1, 5, 2, 4).transpose(1, 2)
     @ x.view(1, 5, 2, 4).transpose(1, 2).transpose(-1, -2), (1, 5, 8))
case("lin_b2_heads", lambda x: x.view(2, 5, 2, 4).transpose(1, 2)
     @ x.view(2, 5, 2, 4).transpose(1, 2).transpose(-1, -2), (2, 5, 8))
case("bool_mm", lambda a: a @ a.mT, (1, 2, 3, 5))
case("einsum_bhqd", lambda a, b: torch.einsum("bhqd,bhkd->bhqk", a, b), (2, 3, 4, 5), (2, 3, 6, 5))
case("einsum_ij_jk", lambda a, b: torch.einsum("ij,jk->ik", a, b), (4, 5), (5, 6))
case("einsum_i_j", lambda a, b: torch.einsum("i,j->ij", a, b), (4,), (5,))
case("einsum_tr", lambda a: torch.einsum("bij->bji", a), (2, 3, 4))
case("einsum_sum", lambda a: torch.einsum("bij->b", a), (2, 3, 4))
case("einsum_diag", lambda a: torch.einsum("ii->i", a), (4, 4))
case("einsum_trace", lambda a: torch.einsum("bii->b", a), (2, 4, 4))
case("einsum_dots", lambda a, b: torch.einsum("...ij,...jk->...ik", a, b), (2, 3, 4, 5), (2, 3, 5, 6))
case("einsum_implicit", lambda a, b: torch.einsum("ij,jk", a, b), (4, 5), (5, 6))
case("einsum_three", lambda a, b, c: torch.einsum("ij,jk,kl->il", a, b, c), (4, 5), (5, 6), (6, 3))
case("einsum_one_sided", lambda a, b: torch.einsum("ijk,jl->il", a, b), (2, 3, 4), (3, 5))
case("addmm", torch.addmm, (2, 4), (2, 3), (3, 4))
case("addmm_ab", lambda a, b, c: torch.addmm(a, b, c, beta=2, alpha=3), (2, 4), (2, 3), (3, 4))
case("baddbmm", lambda a, b, c: torch.baddbmm(a, b, c, beta=0, alpha=0.5), (2, 3, 4), (2, 3, 5), (2, 5, 4))
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
case("conv2d", nn.Conv2d(4, 8, 3, stride=2, padding=1), IMG)
case("conv2d_same", nn.Conv2d(4, 8, 2, padding="same"), IMG)
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
case("lrn", nn.LocalResponseNorm(2), IMG)
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
case("se_cl", nn.AdaptiveAvgPool2d(1), torch.randn(IMG).to(memory_format=torch.channels_last))
case("amp2d", nn.AdaptiveMaxPool2d(2), IMG)
case("amp1d", nn.AdaptiveMaxPool1d(2), (2, 4, 8))
case("lppool", nn.LPPool2d(2.0, 2), IMG)

# Activations and elementwise functions.
ACT = {
    "relu": F.relu, "relu6": F.relu6, "silu": F.silu, "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "hardswish": F.hardswish,
    "hardsigmoid": F.hardsigmoid, "hardtanh": F.hardtanh, "mish": F.mish, "elu": F.elu,
    "selu": F.selu, "celu": F.celu, "celu2": lambda x: F.celu(x, 2.0), "leaky": F.leaky_relu,
    "softplus": F.softplus, "softplus2": lambda x: F.softplus(x, 2.0, 10.0), "softsign": F.softsign,
    "tanhshrink": F.tanhshrink, "logsigmoid": F.logsigmoid, "softshrink": F.softshrink,
    "hardshrink": F.hardshrink, "threshold": lambda x: F.threshold(x, 0.1, 2.0), "glu": F.glu,
    "softmax": lambda x: F.softmax(x, -1), "softmax_dt": lambda x: F.softmax(x, -1, dtype=torch.float64),
    "log_softmax": lambda x: F.log_softmax(x, 1), "softmin": lambda x: F.softmin(x, 1),
    "square": torch.square, "sinc": torch.sinc, "logit_eps": lambda x: torch.logit(x, 0.1),
    "frac": torch.frac, "rad2deg": torch.rad2deg, "deg2rad": torch.deg2rad,
    "positive": torch.positive, "sgn": torch.sgn, "rsub": lambda x: 1 - x, "rdiv": lambda x: 1 / x,
    "rpow": lambda x: 2 ** x, "floordiv": lambda x: x // 2, "mod": lambda x: x % 2,
    "clamp": lambda x: x.clamp(0, 1), "clamp_min": lambda x: x.clamp_min(0.1),
    "clamp_max": lambda x: x.clamp_max(3), "clip": lambda x: x.clip(0.0, 1.0),
    "nan_to_num": torch.nan_to_num, "isfinite": torch.isfinite, "isposinf": torch.isposinf,
    "prod": lambda x: x.prod(1), "float_power": lambda x: torch.float_power(x, 2),
    "dropout_train": lambda x: F.dropout(x, 0.1, True), "rrelu": F.rrelu, "xlogy": lambda x: torch.xlogy(x, x),
    "logaddexp": lambda x: torch.logaddexp(x, x), "isclose": lambda x: torch.isclose(x, x),
    "heaviside": lambda x: torch.heaviside(x, x), "lerp": lambda x: torch.lerp(x, x, 0.3),
    "lerp_t": lambda x: torch.lerp(x, x, x), "addcmul": lambda x: torch.addcmul(x, x, x, value=0.5),
    "addcdiv": lambda x: torch.addcdiv(x, x, x), "absolute": torch.absolute,
    "arctan2": lambda x: torch.arctan2(x, x), "maxbin": lambda x: torch.max(x, x + 1),
}
for name, fn in ACT.items():
    case(name, fn, A)
for name in ("silu", "mish", "hardswish", "hardsigmoid", "softplus", "glu", "logsigmoid", "celu", "gelu",
             "elu", "softmax", "addcmul", "hardtanh", "sinc", "square"):
    case(name + "_half", ACT[name], ("h", 2, 2))
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
RED = {
    "var": lambda x: x.var(-1), "var_all": lambda x: x.var(), "std": lambda x: x.std(-1, unbiased=False),
    "std_all": lambda x: x.std(), "std_c": lambda x: x.std(1, correction=2, keepdim=True),
    "var_mean": lambda x: torch.var_mean(x, -1), "std_mean": lambda x: torch.std_mean(x, -1),
    "logsumexp": lambda x: x.logsumexp(-1), "logsumexp_kd": lambda x: x.logsumexp([0, 1], True),
    "all": lambda x: (x > 0).all(), "all_d": lambda x: (x > 0).all(-1), "sum_all": lambda x: x.sum(),
    "sum_dt": lambda x: x.sum(dtype=torch.float64), "nansum": lambda x: x.nansum(-1),
    "aminmax": lambda x: torch.aminmax(x, dim=-1), "aminmax_all": lambda x: torch.aminmax(x),
    "count_nz": torch.count_nonzero, "argsort": torch.argsort, "norm": lambda x: x.norm(dim=-1),
    "linalgnorm": lambda x: torch.linalg.norm(x, dim=-1, keepdim=True),
    "vecnorm1": lambda x: torch.linalg.vector_norm(x, 1, dim=-1),
    "vecnorm_inf": lambda x: torch.linalg.vector_norm(x, float("inf"), dim=-1),
    "vecnorm0": lambda x: torch.linalg.vector_norm(x, 0, dim=-1),
    "vecnorm_all": torch.linalg.vector_norm, "normalize": lambda x: F.normalize(x, dim=-1),
    "diff": torch.diff, "max_tuple": lambda x: x.max(1, keepdim=True).values,
    "topk3": lambda x: x.topk(2, largest=False, sorted=False).indices,
}
for name, fn in RED.items():
    case(name, fn, A)
for name in ("std", "logsumexp", "norm", "var", "vecnorm_all"):
    case(name + "_half", RED[name], ("h", 2, 2))
case("trace", torch.trace, (3, 3))
case("mean_int", lambda x: x.float().mean(0), ("i", 3, 4))
case("norm_one", lambda x: torch.linalg.vector_norm(x, 2, dim=1), (3, 1))

# Losses.
LOSS = {
    "mse": F.mse_loss, "l1": F.l1_loss, "smoothl1": F.smooth_l1_loss, "huber": F.huber_loss,
    "mse_none": lambda a, b: F.mse_loss(a, b, reduction="none"),
    "bcel": F.binary_cross_entropy_with_logits, "kl": F.kl_div,
    "bce": lambda a, b: F.binary_cross_entropy(a.sigmoid(), b.sigmoid()),
    "cossim": lambda a, b: F.cosine_similarity(a, b, -1), "pairwise": F.pairwise_distance,
}
for name, fn in LOSS.items():
    case(name, fn, (3, 5), (3, 5))
case("ce", F.cross_entropy, (3, 5), ("i", 3))
case("nll_w", lambda x, y, w: F.nll_loss(x, y, w), (3, 5), ("i", 3), (5,))
case("ce_2d", F.cross_entropy, (2, 5, 3, 3), ("i", 2, 3, 3))
case("ce_soft", F.cross_entropy, (3, 5), (3, 5))
case("cdist", torch.cdist, (2, 3, 4), (2, 5, 4))

# Views, joins and splits.
VIEW = {
    "reshape_copy": lambda x: x.transpose(0, 1).reshape(-1), "reshape_view": lambda x: x.reshape(-1),
    "flatten_nc": lambda x: x.transpose(1, 2).flatten(1), "flatten": lambda x: x.flatten(1),
    "flatten_same": lambda x: x.flatten(1, 1) + 0, "unflatten": lambda x: x.unflatten(-1, (2, 3)),
    "unflatten_m1": lambda x: x.unflatten(-1, (2, -1)), "ravel": torch.ravel,
    "squeeze": lambda x: x.unsqueeze(0).squeeze(), "squeeze_d": lambda x: x.unsqueeze(0).squeeze(0),
    "squeeze_neg": lambda x: x.unsqueeze(-1).squeeze(-1), "squeeze_noop": lambda x: x.squeeze(1),
    "transpose": lambda x: x.transpose(1, 2), "mT": lambda x: x.mT, "movedim": lambda x: x.movedim(0, -1),
    "movedim2": lambda x: x.movedim((0, 1), (2, 0)), "swapaxes": lambda x: x.swapaxes(0, -1),
    "tr_same": lambda x: x.transpose(1, 1) + 0, "contiguous_noop": lambda x: x.contiguous() + 0,
    "contiguous_t": lambda x: x.transpose(0, 1).contiguous(), "stack": lambda x: torch.stack([x, x], 1),
    "stack_last": lambda x: torch.stack([x, x], -1), "hstack": lambda x: torch.hstack([x, x]),
    "vstack": lambda x: torch.vstack([x, x]), "dstack": lambda x: torch.dstack([x[0], x[1]]),
    "column_stack": lambda x: torch.column_stack([x, x]), "chunk": lambda x: x.chunk(2, -1),
    "chunk_un": lambda x: x.chunk(2, 1), "split": lambda x: x.split(2, 1),
    "split_sizes": lambda x: x.split([1, 4], 1), "unbind": lambda x: x.unbind(1),
    "tensor_split": lambda x: x.tensor_split(2, 1), "tensor_split_i": lambda x: x.tensor_split([1, 3], 1),
    "narrow": lambda x: x.narrow(1, 1, 2), "slice_all": lambda x: x[:] + 0,
    "expand_as": lambda x: x[:1].expand_as(x), "broadcast_to": lambda x: x.broadcast_to(2, 2, 5, 6),
    "repeat_interleave": lambda x: x.repeat_interleave(2, 1),
    "repeat_interleave_flat": lambda x: x.repeat_interleave(2), "tile": lambda x: x.tile(2),
    "roll": lambda x: x.roll(1, -1), "roll2": lambda x: x.roll((1, -1), (1, 2)),
    "roll_flat": lambda x: x.roll(2), "rot90": torch.rot90, "fliplr": torch.fliplr,
    "atleast": lambda x: torch.atleast_3d(x[0, 0]), "view_as": lambda x: x.view(10, 6).view_as(x),
    "detach": lambda x: x.detach() * 2, "to_f16": lambda x: x.to(torch.float16),
    "to_noop": lambda x: x.to(torch.float32), "to_copy": lambda x: x.to(torch.float32, copy=True),
    "long": lambda x: x.long(), "type_as": lambda x: x.type_as(torch.zeros(1, dtype=torch.int64)),
    "tril": torch.tril, "triu1": lambda x: torch.triu(x, 1), "zeros_like": torch.zeros_like,
    "ones_like": lambda x: torch.ones_like(x, dtype=torch.int64), "new_zeros": lambda x: x.new_zeros(2, 3),
    "new_ones": lambda x: x.new_ones(2), "new_full": lambda x: x.new_full((2,), 1),
    "empty_like": lambda x: torch.empty_like(x), "zeros": lambda x: torch.zeros(5, 6) + x,
    "ones": lambda x: torch.ones(5, 6) + x, "arange": lambda x: torch.arange(6) + x,
    "arange_f": lambda x: torch.arange(0, 3, 0.5) + x, "arange_dt": lambda x: torch.arange(6, dtype=torch.float32) + x,
    "linspace": lambda x: torch.linspace(0, 1, 6) + x, "eye": lambda x: x @ torch.eye(6),
    "full_s": lambda x: torch.full((6,), 3) + x, "hann": lambda x: x * torch.hann_window(6),
    "hamming": lambda x: x * torch.hamming_window(6, False), "tensor_const": lambda x: x + torch.tensor([1.0]),
    "diag_embed": torch.diag_embed, "diag_embed_off": lambda x: torch.diag_embed(x, 1), "item": lambda x: x * x.sum().item(),
    "take": lambda x: x.take(torch.tensor([0, 3])), "bernoulli": lambda x: torch.bernoulli(x.sigmoid()),
    "permute_neg": lambda x: x.permute(-1, 0, 1), "hsplit": lambda x: torch.hsplit(x.view(2, 6, 5), 3),
    "real": lambda x: torch.real(x) + 1, "diagonal": lambda x: x.diagonal(0, 1, 2),
}
for name, fn in VIEW.items():
    case(name, fn, A)
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
case("ln_gelu_cl", lambda x: F.layer_norm(x.permute(0, 2, 3, 1), [4]).permute(0, 3, 1, 2).contiguous(), IMG)
case("complex_real", torch.real, ("c", 3, 4))

# Indexing.
case("take_along", lambda x, i: torch.take_along_dim(x, i, 1), (3, 6), ("i", 3, 1))
case("index_add", lambda x, i, s: x.index_add(1, i, s), (3, 6), torch.tensor([0, 2]), (3, 2))
case("index_add_alpha", lambda x, i, s: x.index_add(0, i, s, alpha=2), (3, 6), torch.tensor([0, 2]), (2, 6))
case("index_fill", lambda x, i: x.index_fill(1, i, 2.0), (3, 6), torch.tensor([0]))
case("index_copy", lambda x, i, s: x.index_copy(1, i, s), (3, 6), torch.tensor([0, 2]), (3, 2))
case("onehot", lambda x: F.one_hot(x, 5), ("i", 4))
case("isin", lambda x, y: torch.isin(x, y), ("i", 2), ("i", 3))
case("isin_s", lambda x: torch.isin(x, 1), ("i", 4))
case("select_scatter", lambda x, y: x.select_scatter(y, 1, -1), (3, 6), (3,))
case("embbag", nn.EmbeddingBag(10, 4), ("i", 2, 2))
case("nonzero_argwhere", torch.argwhere, ("i", 4))
case("masked_select", lambda x, m: x[m] * 2, (3, 6), ("b", 3, 6))

# Padding and resizing.
for mode in ("constant", "reflect", "replicate", "circular"):
    case("pad_" + mode, lambda x, m=mode: F.pad(x, (1, 2, 0, 1), mode=m), IMG)
case("pad_reflect1d", lambda x: F.pad(x, (1, 2), mode="reflect"), (2, 4, 8))
case("pad_neg", lambda x: F.pad(x, (-1, 0)), A)
case("unfold", nn.Unfold(2), (2, 4, 8, 8))
case("unfold3", nn.Unfold(3, dilation=2, padding=1, stride=2), (2, 4, 8, 8))
case("fold", nn.Fold((4, 4), 2), (1, 8, 9))
case("grid_sample", lambda x, g: F.grid_sample(x, g, align_corners=False), IMG, (2, 3, 3, 2))
case("affine_grid", lambda t: F.affine_grid(t, (2, 1, 3, 3), align_corners=False), (2, 2, 3))
case("affine_grid3", lambda t: F.affine_grid(t, (2, 1, 3, 4, 5), align_corners=True), (2, 3, 4))
for mode in ("nearest", "bilinear", "bicubic", "area", "nearest-exact"):
    case("interp_" + mode.replace("-", "_"), lambda x, m=mode: F.interpolate(x, scale_factor=2.0, mode=m), IMG)
case("interp_size", lambda x: F.interpolate(x, (5, 5), mode="bilinear", align_corners=True), IMG)
case("interp_cubic_size", lambda x: F.interpolate(x, (5, 7), mode="bicubic", align_corners=True), IMG)
case("interp_aa", lambda x: F.interpolate(x, (5, 5), mode="bilinear", antialias=True), IMG)
case("interp_bicaa", lambda x: F.interpolate(x, (5, 5), mode="bicubic", antialias=True), IMG)
case("interp1d_lin", lambda x: F.interpolate(x, scale_factor=2.0, mode="linear"), (2, 4, 6))
case("interp1d_near", lambda x: F.interpolate(x, scale_factor=2.0, mode="nearest"), (2, 4, 6))
case("interp3d", lambda x: F.interpolate(x, scale_factor=2.0, mode="trilinear"), (1, 2, 4, 4, 4))
case("interp3d_near", lambda x: F.interpolate(x, scale_factor=2.0), (1, 2, 4, 4, 4))
case("interp_half", lambda x: F.interpolate(x, scale_factor=2.0, mode="bicubic"), ("h", 1, 1, 3, 2))

# Attention and recurrence.
Q, K = (1, 2, 5, 8), (1, 2, 7, 8)
SD = F.scaled_dot_product_attention
case("sdpa", SD, Q, K, K)
case("sdpa_causal", lambda q, k, v: SD(q, k, v, is_causal=True), Q, Q, Q)
case("sdpa_boolmask", lambda q, k, v, m: SD(q, k, v, m), Q, K, K, ("b", 5, 7))
case("sdpa_fmask", lambda q, k, v, m: SD(q, k, v, m, scale=0.5), Q, K, K, (5, 7))
case("sdpa_mask3", lambda q, k, v, m: SD(q, k, v, m), Q, K, K, (2, 5, 7))
case("sdpa_gqa", lambda q, k, v: SD(q, k, v, enable_gqa=True), (1, 4, 5, 8), K, K)
case("sdpa_bf16", SD, ("bf", *Q), ("bf", *K), ("bf", *K))
case("sdpa_vdim", SD, Q, K, (1, 2, 7, 4))
case("sdpa_drop", lambda q, k, v: SD(q, k, v, dropout_p=0.1), Q, K, K)
case("sdpa_5d", SD, (1, 1, 2, 5, 8), (1, 1, 2, 7, 8), (1, 1, 2, 7, 8))
case("sdpa_neg", lambda q, k, v: SD(q, k, v, scale=-0.5), Q, K, K)
case("sdpa_B2_tr", lambda x: SD(x.transpose(1, 2), x.transpose(1, 2), x.transpose(1, 2))
     .transpose(1, 2).reshape(2, 5, -1), (2, 5, 2, 8))
case("lstm", nn.LSTM(4, 3, batch_first=True), (2, 5, 4))
case("lstm_bi2", nn.LSTM(4, 3, 2, bidirectional=True), (2, 1, 4))
case("lstm_proj", nn.LSTM(4, 3, proj_size=2), (2, 1, 4))
case("lstm_nobias", nn.LSTM(4, 3, bias=False), (2, 1, 4))
case("gru", nn.GRU(4, 3), (2, 1, 4))
case("gru_bi", nn.GRU(4, 3, bidirectional=True, batch_first=True), (1, 2, 4))
case("rnn", nn.RNN(4, 3), (2, 1, 4))
case("rnn_relu", nn.RNN(4, 3, nonlinearity="relu"), (2, 1, 4))
case("lstmcell", nn.LSTMCell(4, 3), (2, 4))
case("grucell", nn.GRUCell(4, 3), (2, 4))
case("rnncell", nn.RNNCell(4, 3), (2, 4))


class SelfAttention(nn.Module):
    def __init__(self, need_weights=True):
        super().__init__()
        self.m = nn.MultiheadAttention(8, 2, batch_first=True)
        self.need_weights = need_weights

    def forward(self, x):
        out, weights = self.m(x, x, x, need_weights=self.need_weights)
        return (out, weights) if self.need_weights else out


case("mha_bf", SelfAttention(), (2, 5, 8))
case("mha_noweights", SelfAttention(False), (2, 5, 8))
case("mha_sdpa", nn.MultiheadAttention(8, 2, batch_first=True), (2, 5, 8), (2, 5, 8), (2, 5, 8))

# In-place operators, aliases, state.


def in_place(change):
    def run(x, *rest):
        y = x.clone()
        out = change(y, *rest)
        return y if out is None else out

    return run


def setitem(y):
    y[:, 0] = 1.0
    y[1:, 2] = 2.0


def setitem_slice(y, v):
    y[:, 1:3] = v


def two_views(y):
    a = y[0]
    b = y[:, 1]
    a.add_(1)
    b.mul_(2)
    return a + 1, b + 1, y + 1


def stale_view(y):
    a = y.view(-1)
    y.add_(1)
    b = a * 2
    a.mul_(3)
    return b, y.sum()


MUT = {
    "inplace": lambda y: y.add_(1).relu_().mul_(2), "inplace_view": lambda y: y.view(-1).add_(1),
    "zero_t": lambda y: y.zero_(), "fill_": lambda y: y.fill_(2.0), "setitem": setitem,
    "unsq_mut": lambda y: (y.unsqueeze(0).mul_(2), y)[1],
    "permview_mut": lambda y: (y.permute(1, 0)[0].add_(1), y)[1],
    "squeeze_mut": lambda y: (y.unsqueeze(0).squeeze(0).add_(1), y)[1],
    "t_mut": lambda y: (y.t().add_(1), y)[1], "chunk_mut": lambda y: (y.chunk(2, 1)[1].add_(1), y)[1],
    "unbind_mut": lambda y: (y.unbind(0)[1].add_(1), y)[1], "two_views": two_views, "stale_view": stale_view,
    "hardswish_": F.hardswish, "silu_": lambda y: F.silu(y, inplace=True),
    "relu6_": lambda y: F.relu6(y, inplace=True), "detach_view": lambda y: (y.detach().add_(1), y)[1],
    "narrow_mut": lambda y: (y.narrow(1, 0, 2).zero_(), y)[1], "copy_view": lambda y: (y[0].copy_(y[1]), y)[1],
    "add_half": lambda y: y.to(torch.float16).add_(torch.ones(3, 6)), "reshape_mut": lambda y: (y.reshape(-1).add_(1), y)[1],
}
for name, fn in MUT.items():
    case(name, in_place(fn), (3, 6))
case("setitem_slice", in_place(setitem_slice), (3, 6), (3, 2))
case("masked_fill_", in_place(lambda y, m: y.masked_fill_(m, 0.0)), (3, 6), ("b", 3, 6))
case("user_in_mut", lambda x: x.add_(1), (3, 6))
case("user_view_mut", lambda x: (x[0].add_(1), x.sum())[1], (3, 6))


class Buffer(nn.Module):
    def __init__(self, step, value):
        super().__init__()
        self.register_buffer("k", value)
        self.step = step

    def forward(self, *args):
        return self.step(self.k, *args)


def write_at(k, x, p):
    k[:, p] = x.view(3)
    return k.sum(-1)


case("bufcopy", Buffer(lambda k, x: k.copy_(x) + 1, torch.zeros(2, 3)), (2, 3))
case("buf_add", Buffer(lambda k, x: (k.add_(1), k * x)[1], torch.zeros(2, 3)), (2, 3))
case("zero_", Buffer(lambda k, x: k.zero_().add_(x) * 2, torch.zeros(2, 3)), (2, 3))
case("kvcache", Buffer(write_at, torch.zeros(3, 8)), (3, 1), torch.tensor([1]))
case("kv_index_copy", Buffer(lambda k, x, p: k.index_copy_(1, p, x) + 1, torch.zeros(3, 8)), (3, 1), torch.tensor([1]))
case("kv_slice", Buffer(lambda k, x: (k[:, 2:4].copy_(x), k * 2)[1], torch.zeros(3, 8)), (3, 2))
case("buf_copy_used", Buffer(lambda k, x: (k.copy_(x * 2), k + 1)[1], torch.zeros(2, 3)), (2, 3))

# Dynamic shapes.


def dyn(name, module, *inputs, dims):
    shapes = tuple({i: AUTO for i in d} if d else {} for d in dims)
    plain = isinstance(module, nn.Module)
    make = (lambda: module) if plain else (lambda: Fn(module))
    CASES.append(Case("dyn_" + name, make, lambda: [tensor(i) for i in inputs],
                      shapes if plain else (shapes,)))


dyn("linear3d", nn.Linear(8, 4), (3, 5, 8), dims=[[0]])
dyn("linear3d_b1", nn.Linear(8, 4), (2, 5, 8), dims=[[1]])
dyn("linear3d_both", nn.Linear(8, 4), (3, 5, 8), dims=[[0, 1]])
dyn("linear2d", nn.Linear(8, 4), (3, 8), dims=[[0]])
dyn("linear_nb", nn.Linear(8, 4, bias=False), (3, 5, 8), dims=[[0, 1]])
dyn("flatten1", lambda x: x.flatten(1), (3, 4, 8, 8), dims=[[0]])
dyn("flatten_hw", lambda x: x.flatten(2), (2, 4, 6, 7), dims=[[2, 3]])
dyn("view_bm1", lambda x: x.view(x.shape[0], -1), (3, 4, 8), dims=[[0]])
dyn("reshape_nc", lambda x: x.transpose(1, 2).reshape(x.shape[0], -1), (3, 4, 8), dims=[[0]])
dyn("heads", lambda x: x.view(x.shape[0], x.shape[1], 2, 4).transpose(1, 2), (3, 5, 8), dims=[[0, 1]])
dyn("sdpa", lambda x: SD(x, x, x), (2, 2, 5, 8), dims=[[2]])
dyn("sdpa_b", lambda x: SD(x, x, x), (3, 2, 5, 8), dims=[[0, 2]])
dyn("sdpa_causal", lambda x: SD(x, x, x, is_causal=True), (2, 2, 5, 8), dims=[[2]])
dyn("sdpa_gqa", lambda q, k: SD(q, k, k, enable_gqa=True), (2, 4, 5, 8), (2, 2, 7, 8), dims=[[2], [2]])
dyn("matmul44", torch.matmul, (3, 3, 4, 5), (3, 3, 5, 6), dims=[[0], [0]])
dyn("matmul44t", lambda a: a @ a.transpose(-1, -2), (2, 3, 4, 5), dims=[[2]])
dyn("ln", nn.LayerNorm(8), (3, 5, 8), dims=[[0, 1]])
dyn("gn", nn.GroupNorm(2, 4), (3, 4, 6, 7), dims=[[0, 2, 3]])
dyn("in", nn.InstanceNorm2d(4), (3, 4, 6, 7), dims=[[0, 2, 3]])
dyn("stack", lambda x: torch.stack([x, x], 1), (3, 5, 6), dims=[[0, 1]])
dyn("chunk", lambda x: x.chunk(2, -1), (3, 6), dims=[[0]])
dyn("einsum", lambda a, b: torch.einsum("bhqd,bhkd->bhqk", a, b), (2, 3, 4, 5), (2, 3, 6, 5), dims=[[0, 2], [0, 2]])
dyn("repeat_interleave", lambda x: x.repeat_interleave(2, 1), (2, 5, 6), dims=[[1]])
dyn("interp_size", lambda x: F.interpolate(x, (x.shape[2] * 2, x.shape[3] * 2), mode="bilinear"), (1, 2, 5, 6), dims=[[2, 3]])
dyn("aap7", nn.AdaptiveAvgPool2d(7), (2, 4, 8, 9), dims=[[2, 3]])
dyn("pos", lambda x: torch.arange(x.shape[1]).unsqueeze(0) + x, (2, 5), dims=[[1]])
dyn("slice_buf", lambda x, y: x + y[:, : x.shape[1]], (2, 5), (1, 16), dims=[[1], []])
dyn("mask", lambda x: torch.tril(torch.ones(x.shape[1], x.shape[1], dtype=torch.bool)), (2, 5), dims=[[1]])
dyn("pixshuf", nn.PixelShuffle(2), (1, 4, 5, 6), dims=[[2, 3]])
dyn("unfold_pad", lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect"), (1, 2, 5, 6), dims=[[2, 3]])
dyn("rope", lambda x, c: torch.cat([-x[..., 4:], x[..., :4]], -1) * c, (1, 2, 5, 8), (5, 8), dims=[[2], [0]])
dyn("lstm", nn.LSTM(4, 3, batch_first=True), (2, 3, 4), dims=[[0]])
dyn("conv_flatten", nn.Sequential(nn.Conv2d(2, 3, 3, stride=2), nn.Flatten(2)), (1, 2, 9, 11), dims=[[2, 3]])
dyn("pool_linear", nn.Sequential(nn.MaxPool1d(2), nn.Linear(4, 5)), (3, 6, 8), dims=[[1]])
dyn("arith", lambda x: x.view(-1).unsqueeze(0).expand(x.shape[0] * 2 + 1, x.shape[0] * 6), (3, 6), dims=[[0]])
dyn("cat_flatten", lambda x, y: torch.cat([x, y], 1).flatten(0, 1), (3, 5, 4), (3, 7, 4), dims=[[1], [1]])
dyn("roll", lambda x: x.roll(1, 0), (5, 4), dims=[[0]])
dyn("kv", lambda c, x: torch.cat([c[:, 1:], x], 1).reshape(-1, 4), (2, 6, 4), (2, 1, 4), dims=[[1], []])
dyn("setitem", in_place(lambda y: y[:, 0].add_(1)), (5, 4), dims=[[0]])


class Nested(nn.Module):
    def forward(self, x):
        with torch.no_grad():
            y = F.linear(x, x)
        return y + 1


class Cond(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: self.a(x).relu(), lambda x: F.silu(x), (x,))


case("no_grad", Nested(), (3, 3))
case("cond", Cond(), (2, 4))
