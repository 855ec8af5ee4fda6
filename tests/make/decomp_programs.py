"""Small modules whose decomposition is tested: all but those that vary in size."""

import torch
from torch import nn
import torch.nn.functional as F

from decomp_case import A, IMG, case, section, tensor

# Indexing.
section("indexing")
case("take_along", lambda x, i: torch.take_along_dim(x, i, 1), (3, 6), ("i", 3, 1))
case("index_add", lambda x, i, s: x.index_add(1, i, s), (3, 6), torch.tensor([0, 2]), (3, 2))
case(
    "index_add_alpha",
    lambda x, i, s: x.index_add(0, i, s, alpha=2),
    (3, 6),
    torch.tensor([0, 2]),
    (2, 6),
)
case("index_fill", lambda x, i: x.index_fill(1, i, 2.0), (3, 6), torch.tensor([0]))
case("index_copy", lambda x, i, s: x.index_copy(1, i, s), (3, 6), torch.tensor([0, 2]), (3, 2))
case("onehot", lambda x: F.one_hot(x, 5), ("i", 4))
case("isin", lambda x, y: torch.isin(x, y), ("i", 2), ("i", 3))
case("isin_s", lambda x: torch.isin(x, 1), ("i", 4))
case("select_scatter", lambda x, y: x.select_scatter(y, 1, -1), (3, 6), (3,))
case("embbag", nn.EmbeddingBag(10, 4), ("i", 1, 2))
case("nonzero_argwhere", torch.argwhere, ("i", 4))
case("index_bool", lambda x, m: x[m] * 2, (3, 6), ("b", 3, 6))

# Operators that stay as they are, and small variants.
section("kept")
M, V = (3, 6), (4,)
SAME = {
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "rsqrt": torch.rsqrt,
    "erf": torch.erf,
    "expm1": torch.expm1,
    "abs": torch.abs,
    "neg": torch.neg,
    "pow2": lambda x: x**2,
    "pow05": lambda x: x**0.5,
    "pow_neg": lambda x: x**-1,
    "pow3": lambda x: x**3,
    "fmod": lambda x: torch.fmod(x, 2.0),
    "trunc_div": lambda x: torch.div(x, 3, rounding_mode="trunc"),
    "round": torch.round,
    "exp2": torch.exp2,
    "log2": torch.log2,
    "trunc": torch.trunc,
    "amax": lambda x: x.amax(-1),
    "max_dim": lambda x: x.max(-1),
    "max_all": torch.max,
    "min_all": torch.min,
    "mean": torch.mean,
    "mean_d": lambda x: x.mean((2, 1)),
    "sum_d": lambda x: x.sum(1),
    "sum_kd": lambda x: x.sum((0, 1), keepdim=True),
    "argmax": lambda x: x.argmax(-1),
    "any": lambda x: (x > 0).any(),
    "cumsum": lambda x: x.cumsum(1),
    "cumprod": lambda x: x.cumprod(1),
    "median": lambda x: x.median(-1),
    "topk": lambda x: x.topk(2),
    "sort": torch.sort,
    "sort_stable": lambda x: torch.sort(x, stable=True, descending=True),
    "amax_all": torch.amax,
    "view_m1": lambda x: x.view(2, -1),
    "unsqueeze": lambda x: x.unsqueeze(-1),
    "permute": lambda x: x.permute(2, 0, 1),
    "permute_id": lambda x: x.permute(0, 1, 2),
    "slice": lambda x: x[:, 1:3],
    "slice_step": lambda x: x[:, :, ::2],
    "slice_neg": lambda x: x[:, -2:],
    "multi_slice": lambda x: x[1:, ::2, :-1],
    "select": lambda x: x[:, 0],
    "select_neg": lambda x: x[:, -1],
    "none_idx": lambda x: x[:, None],
    "expand": lambda x: x.expand(3, 2, 5, 6),
    "repeat": lambda x: x.repeat(2, 1, 1),
    "flip": lambda x: x.flip(-1),
    "cat1": lambda x: torch.cat([x]),
    "cat_neg": lambda x: torch.cat([x, x], -1),
    "slice_all": lambda x: torch.ops.aten.alias.default(x),  # x[:], as 2.14 exports it
    "slice_full": lambda x: x[:],
    "clone": lambda x: x.clone(),
    "logical_not_f": torch.logical_not,
    "mean_dt": lambda x: x.mean(-1, dtype=torch.float64),
    "cumsum_dt": lambda x: x.cumsum(-1, dtype=torch.float64),
    "full_like": lambda x: torch.full_like(x, 2.0),
    "eqs": lambda x: x == 1,
    "nes": lambda x: x != 1,
    "add_scalar_int": lambda x: x + 1,
    "div_int": lambda x: x / 2,
    "erfc": torch.erfc,
    "tan": torch.tan,
    "cond_where": lambda x: torch.where(x > 0, x, torch.zeros_like(x)),
    "logsm_dt": lambda x: F.log_softmax(x, -1, dtype=torch.float64),
    "softmax_dim": lambda x: F.softmax(x, 1),
    "sum_none_kd": lambda x: x.sum(),
    "py_scalar_mul": lambda x: x * 2,
    "rsub_t": lambda x: torch.rsub(x, 1),
    "neg_pow": lambda x: torch.pow(2, x),
    "new_tensor": lambda x: x + x.new_tensor(1.0),
    "scalar_const": lambda x: x + torch.tensor(2.0),
    "dropout_": lambda x: torch.ops.aten.dropout_.default(x, 0.1, False),
    "permute_view": lambda x: x.permute(1, 0, 2).unsqueeze(0),
    "sel_neg": lambda x: x[:, -1] + x[:, 0:1].squeeze(1),
}
for name, fn in SAME.items():
    case(name, fn, A)
case("lerp", lambda a, b: torch.lerp(b, b, 0.3), A, A)
case("addcdiv", lambda a, b, c: torch.addcdiv(c, c, c), A, A, A)
case("addcmul", lambda a, b, c: torch.addcmul(c, c, c, value=0.5), A, A, A)
case("allclose_isclose", lambda a, b: torch.isclose(b, b), A, A)
for name in ("xlogy", "logaddexp", "heaviside", "copysign", "hypot", "atan2"):
    case(name, lambda a, b, f=getattr(torch, name): f(b, b), A, A)
case("maxbin", lambda a, b: torch.max(a, b), A, A)
case("flatten", lambda x: x.flatten(1), IMG)
case("gap", lambda x: x.mean((2, 3)), IMG)
case("expand_id", lambda x: x.expand(3, 4) + 1, (3, 4))
case("reshape_same", lambda x: x.reshape(2, 3) + 0, (2, 3))
case("numel", lambda x: x / x.numel(), V)
case("flatten_nc", lambda x: x.transpose(1, 2).flatten(1), IMG)
case("squeeze", lambda x: x.squeeze(), (1, 5, 1))
case("squeeze_d", lambda x: x.squeeze(0), (1, 5, 1))
case("squeeze_neg", lambda x: x.squeeze(-1), (1, 5, 1))
case("squeeze_ds", lambda x: x.squeeze((0, 2)), (1, 5, 1))
for name, fn in {
    "cat": lambda t: torch.cat(t, 1),
    "stack": lambda t: torch.stack(t, 1),
    "stack_last": lambda t: torch.stack(t, -1),
    "hstack": torch.hstack,
    "vstack": torch.vstack,
    "column_stack": torch.column_stack,
}.items():
    case(name, lambda a, b, f=fn: f([b, b]), A, A)
case("dstack", lambda x: torch.dstack([x, x]), (3, 4))
case("diff", torch.diff, (2, 4))
case("chunk_un", lambda x: x.chunk(3, 1), (2, 7))
case("unbind", lambda x: x.unbind(1), (2, 3))
case("take", lambda x, i: x.take(i), M, ("i", 2))
case("expand_as", lambda x, y: x.expand_as(y), (1, 6), M)
case("tril", torch.tril, M)
case("triu1", lambda x: torch.triu(x, 1), M)
case("diagonal", torch.diagonal, M)
case("diag_embed", torch.diag_embed, (1, 6))
case("zeros", lambda x: torch.zeros(2, 3) + x, (2, 3))
case("ones", lambda x: torch.ones(2, 3) + x, (2, 3))
case("arange", lambda x: x + torch.arange(6), (6,))
case("arange_f", lambda x: x + torch.arange(0, 3, 0.5), (6,))
case("arange_dt", lambda x: x + torch.arange(6, dtype=torch.float32), (6,))
case("arange_like", lambda x: torch.arange(0, 3, dtype=torch.float32) / 3, (3,))
case("linspace", lambda x: x + torch.linspace(0, 1, 6), (6,))
case("eye", lambda x: x @ torch.eye(6), M)
case("full_s", lambda x: torch.full((2,), 3) + x, (2,))
case("full_f", lambda x: torch.full((2,), 3.5, dtype=torch.float16) + x, (2,))
case("bernoulli", torch.bernoulli, torch.rand(3))
case("rand", lambda x: x + torch.rand(6), (6,))
case("item", lambda x: x[:4] * x.sum().item(), (6,))
case("softmax_half", lambda x: F.softmax(x, -1, dtype=torch.float32), ("h", 2, 2))
case("mish_half", F.mish, ("bf", 2, 2))
case("std_half", lambda x: x.std(-1), ("h", 2, 2))
case("masked_select", torch.masked_select, M, ("b", 3, 6))
case("idx_tensor", lambda x, i: x[:, i], M, ("i", 2))
case("idx_2", lambda x, i, j: x[i, j], M, ("i", 2), ("i", 2))
case("fancy", lambda x, i: x[:, i, :, i], (2, 3, 4, 5), ("i", 2))
case("idx_select", lambda x, i: x.index_select(1, i), M, ("i", 2))
case("gather", lambda x, i: x.gather(1, i), M, ("i", 3, 2))
case("scatter", lambda x, i, y: x.scatter(1, i, y), M, ("i", 3, 2), (3, 2))
case("scatter_v", lambda x, i: x.scatter(1, i, 1.0), M, ("i", 3, 2))
case("scatter_add", lambda x, i, y: x.scatter_add(1, i, y), M, ("i", 3, 2), (3, 2))
case("scatter_red", lambda x, i, y: x.scatter_reduce(0, i, y, "sum"), (4,), ("i", 3), (3,))
case("masked_fill_inf", lambda x, m: x.masked_fill(m, float("-inf")), M, ("b", 3, 6))
case("where", lambda m, a, b: torch.where(m, b, b), ("b", 3, 6), M, M)
case("index_put", lambda x, i, y: x.index_put((i,), y), M, torch.tensor([0, 2]), (2, 6))
case("to_cpu", lambda x: x.to("cpu"), M)
case("bool", lambda x: x.bool(), M)
case("bitor", lambda a, b: a | b, ("b", 4), ("b", 4))
case("bitnot", lambda a: ~a, ("b", 4))
case("lshift", lambda a: a << 1, ("i", 4))
case("rshift", lambda a: a >> 1, ("i", 4))
case("and", torch.logical_and, ("b", 4), ("b", 4))
case("add_alpha", lambda a, b: torch.add(b, b, alpha=2), V, V)
case("mixed", lambda a, b: a + b, ("i", 4), ("h", 4))
case("mulint_f", lambda a: a * 2.5, ("i", 4))
case("mod_t", torch.remainder, V, V)
case("pow_t", torch.pow, V, V)
case("sum_bool", lambda x: x.sum(-1), ("b", 4))
case("sum_int", lambda x: x.sum(-1), ("i32", 4))
case("cumsum_bool", lambda x: x.cumsum(-1), ("b", 4))
case("clampT", lambda a, b: torch.clamp(a, None, b), V, V)
case("argsort_d", lambda x: x.argsort(0, True), V)
case("layer_norm_half", lambda x: F.layer_norm(x, [2]), ("h", 2, 2))
case("lse_half", lambda x: x.logsumexp(-1), ("h", 2, 2))
case("mean_half", lambda x: x.mean(-1), ("h", 2, 2))
case("conv_nobias", nn.Conv2d(4, 8, 3, padding="valid", dilation=2, groups=2, bias=False), IMG)
case("emb_pad", nn.Embedding(10, 4, 0), ("i", 2, 3))
case("gn_cl", lambda x: F.group_norm(x.to(memory_format=torch.channels_last), 2), IMG)
case("interp_none_size", lambda x: F.interpolate(x, (16, 16)), IMG)
case("zeropad2d", nn.ZeroPad2d(1), IMG)
case("tensor_unfold", lambda x: x.unfold(2, 2, 1), A)


class PermutedLinear(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(8, 4)

    def forward(self, x):
        return self.l(x.permute(0, 2, 3, 1))


case("linear4d_perm", PermutedLinear(), (2, 8, 3, 5))
case("rfft", lambda x: torch.fft.rfft(x), (2, 16))
case("fft", lambda x: torch.fft.fft(x), (2, 16))
case("irfft", lambda x: torch.fft.irfft(x), ("c", 2, 9))
case("fftn_complex", lambda x: torch.fft.fftn(x, dim=(0, 1)), ("c", 2, 4, 3))
case("fftn_scalar_complex", torch.fft.fftn, ("c",))

for name, fn in {
    "logit": torch.logit,
    "round2": lambda x: torch.round(x, decimals=2),
    "lgamma": torch.lgamma,
    "signbit": torch.signbit,
    "erfinv": torch.erfinv,
    "angle": torch.angle,
    "sinh": torch.sinh,
    "kthvalue": lambda x: x.kthvalue(2),
    "randn_like": lambda x: x + torch.randn_like(x),
    "alias": lambda x: torch.ops.aten.alias.default(x),
    "is_all": lambda x: torch.ops.aten._is_all_true.default(x > 0),
    "var_none": lambda x: torch.ops.aten.var.correction(x),
    "int_div": lambda x: x // 2,
    "pow_half": lambda x: x**0.5,
    "max_kd": lambda x: x.max(1, keepdim=True)[0],
}.items():
    case(name, fn, A)
case("embedding", nn.Embedding(10, 4, padding_idx=0), ("i", 2, 3))
case("pdist_all", F.pdist, (4, 3))
case("unique", torch.unique, ("i", 3))
case("searchsorted", lambda a, b: torch.searchsorted(a, b), (6,), (3,))
case("bucketize", lambda a, b: torch.bucketize(a, b), (3,), (6,))
case("bucketize_s", lambda a: torch.bucketize(a, torch.tensor([0.0, 1.0])), (3,))
case("idx_bool", lambda x, m: x[m], (4, 6), ("b", 4))
case("index_mixed_bool", lambda x, m: x[:, m], (2, 3), ("b", 3))
case("masked_scatter", lambda x, m, y: x.masked_scatter(m, y), M, ("b", 3, 6), (18,))
case("nonzero", torch.nonzero, ("i", 4))
case("argwhere", torch.argwhere, ("i", 4))
case("tensor", lambda x: x + torch.tensor([1.0, 2.0]), (2,))
case("multinomial", lambda x: torch.multinomial(x, 2), torch.rand(4))
case("randint", lambda x: x + torch.randint(0, 5, (6,)), (6,))
case("scalar_tensor", lambda x: torch.scalar_tensor(2) + x, (6,))
case("view_as_complex", torch.view_as_complex, (3, 2))
case("view_as_real", torch.view_as_real, ("c", 3))
case("uniform", lambda x: torch.empty(3).uniform_() + x, (3,))
case("normal_", lambda x: torch.empty(3).normal_() + x, (3,))
case("maximum_s", lambda x: torch.clamp(x, torch.tensor(0.5)), (3,))
case("true_div_int", lambda x: x / 2, ("i", 3))

# Padding and resizing.
section("resizing")
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
    case(
        "interp_" + mode.replace("-", "_"),
        lambda x, m=mode: F.interpolate(x, scale_factor=2.0, mode=m),
        IMG,
    )
case("interp_size", lambda x: F.interpolate(x, (5, 5), mode="bilinear", align_corners=True), IMG)
case(
    "upbil_scale",
    lambda x: F.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=True),
    IMG,
)
case(
    "interp_cubic_size",
    lambda x: F.interpolate(x, (5, 7), mode="bicubic", align_corners=True),
    IMG,
)
case("interp_aa", lambda x: F.interpolate(x, (5, 5), mode="bilinear", antialias=True), IMG)
case("interp_bicaa", lambda x: F.interpolate(x, (5, 5), mode="bicubic", antialias=True), IMG)
case("interp1d_lin", lambda x: F.interpolate(x, scale_factor=2.0, mode="linear"), (2, 4, 6))
case("interp1d_near", lambda x: F.interpolate(x, scale_factor=2.0, mode="nearest"), (2, 4, 6))
case("interp3d", lambda x: F.interpolate(x, scale_factor=2.0, mode="trilinear"), (1, 2, 4, 4, 4))
case("interp3d_near", lambda x: F.interpolate(x, scale_factor=2.0), (1, 2, 4, 4, 4))
case(
    "interp_half", lambda x: F.interpolate(x, scale_factor=2.0, mode="bicubic"), ("h", 1, 1, 3, 2)
)

# Attention and recurrence.
section("sequences")
Q, K = (1, 2, 5, 8), (1, 2, 7, 8)
SD = F.scaled_dot_product_attention
case("sdpa", SD, Q, K, K)
case("sdpa_causal", lambda q, k, v: SD(q, k, v, is_causal=True), Q, Q, Q)
case("sdpa_boolmask", lambda q, k, v, m: SD(q, k, v, m), Q, K, K, ("b", 5, 7))
case("sdpa_fmask", lambda q, k, v, m: SD(q, k, v, m, scale=0.5), Q, K, K, (5, 7))
case("sdpa_mask3", lambda q, k, v, m: SD(q, k, v, m), Q, K, K, (2, 5, 7))
case("sdpa_gqa", lambda q, k, v: SD(q, k, v, enable_gqa=True), (1, 4, 5, 8), K, K)
case("sdpa_bf16", SD, ("bf", *Q), ("bf", *K), ("bf", *K))
case("sdpa_3d", SD, (2, 5, 8), (2, 7, 8), (2, 7, 8))
case("sdpa_vdim", SD, Q, K, (1, 2, 7, 4))
case("sdpa_drop", lambda q, k, v: SD(q, k, v, dropout_p=0.1), Q, K, K)
case("sdpa_5d", SD, (1, 1, 2, 5, 8), (1, 1, 2, 7, 8), (1, 1, 2, 7, 8))
case("sdpa_neg", lambda q, k, v: SD(q, k, v, scale=-0.5), Q, K, K)
case(
    "sdpa_B2_tr",
    lambda x: SD(x.transpose(1, 2), x.transpose(1, 2), x.transpose(1, 2))
    .transpose(1, 2)
    .reshape(2, 5, -1),
    (2, 5, 2, 8),
)
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
    def __init__(self, need_weights=True, batch_first=True):
        super().__init__()
        self.m = nn.MultiheadAttention(8, 2, batch_first=batch_first)
        self.need_weights = need_weights

    def forward(self, x):
        out, weights = self.m(x, x, x, need_weights=self.need_weights)
        return (out, weights) if self.need_weights else out


case("mha_bf", SelfAttention(), (2, 5, 8))
case("mha_noweights", SelfAttention(False), (2, 5, 8))
case("dropout_eval", nn.Dropout(0.1), A)
case("tfenc", nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (2, 5, 8))
case("mha_sdpa", nn.MultiheadAttention(8, 2, batch_first=True), (2, 5, 8), (2, 5, 8), (2, 5, 8))

# In-place operators, aliases, state.
section("mutation")


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


def setitem_mask(y, m):
    y[m] = 0.0


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


def turned(y):
    a = y.view(-1)
    y.transpose_(0, 1)
    a.add_(2)
    b = y.unsqueeze_(0)
    b.mul_(3)
    return y, a, b


def turned_back(y):
    a = y[1:]
    y.t_()
    y.squeeze_(0)
    y[0].mul_(2)
    return y.swapaxes_(0, 1), a


MUT = {
    "expand_mut": lambda y: (y.expand(3, 6).add_(1), y)[1],
    "expand_more_mut": lambda y: (y.expand(1, 3, 6)[0, 1].add_(1), y)[1],
    "pow_": lambda y: y.pow_(2).pow_(torch.tensor(3)),
    "floor_divide_": lambda y: y.floor_divide_(torch.tensor(2.0)),
    "dropout_eval_": nn.Dropout(inplace=True).eval(),
    "turned": turned,
    "turned_back": turned_back,
    "inplace": lambda y: y.add_(1).relu_().mul_(2),
    "inplace_view": lambda y: y.view(-1).add_(1),
    "zero_t": lambda y: y.zero_(),
    "fill_": lambda y: y.fill_(2.0),
    "fill_diagonal_": lambda y: y.fill_diagonal_(2.0),
    "fill_diagonal_wrapped": lambda y: y.view(6, 3).fill_diagonal_(2.0, wrap=True),
    "fill_diagonal_cube": lambda y: y.view(-1)[:8].view(2, 2, 2).fill_diagonal_(-1),
    "setitem": setitem,
    "unsq_mut": lambda y: (y.unsqueeze(0).mul_(2), y)[1],
    "squeeze_mut": lambda y: (y.unsqueeze(0).squeeze(0).add_(1), y)[1],
    "t_mut": lambda y: (y.t().add_(1), y)[1],
    "chunk_mut": lambda y: (y.chunk(2, 1)[1].add_(1), y)[1],
    "unbind_mut": lambda y: (y.unbind(0)[1].add_(1), y)[1],
    "two_views": two_views,
    "stale_view": stale_view,
    "hardswish_": F.hardswish,
    "silu_": lambda y: F.silu(y, inplace=True),
    "relu6_": lambda y: F.relu6(y, inplace=True),
    "detach_view": lambda y: (y.detach().add_(1), y)[1],
    "narrow_mut": lambda y: (y.narrow(1, 0, 2).zero_(), y)[1],
    "copy_view": lambda y: (y[0].copy_(y[1]), y)[1],
    "add_half": lambda y: y.to(torch.float16).add_(torch.ones(3, 6)),
    "reshape_mut": lambda y: (y.reshape(-1).add_(1), y)[1],
}
for name, fn in MUT.items():
    case(name, in_place(fn), (3, 6))
case("permview_mut", in_place(lambda y: (y.permute(1, 0)[0].add_(1), y)[1]), (2, 3))
case("setitem_slice", in_place(setitem_slice), (3, 6), (3, 2))
case("setitem_mask", in_place(setitem_mask), (3, 6), ("b", 3, 6))
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
for name, dtype, size in [
    ("copy_dt", torch.int64, (2, 3)),
    ("copy_bc", torch.float32, (3,)),
    ("copy_dt_bc", torch.int64, (3,)),
]:
    case(name, Buffer(lambda k, x: k.copy_(x) + 1, torch.zeros(2, 3, dtype=dtype)), size)
case("buf_add", Buffer(lambda k, x: (k.add_(1), k * x)[1], torch.zeros(2, 3)), (2, 3))
case("zero_", Buffer(lambda k, x: k.zero_().add_(x) * 2, torch.zeros(2, 3)), (2, 3))
case("kvcache", Buffer(write_at, torch.zeros(3, 8)), (3, 1), torch.tensor([1]))
case(
    "kv_index_copy",
    Buffer(lambda k, x, p: k.index_copy_(1, p, x) + 1, torch.zeros(3, 8)),
    (3, 1),
    torch.tensor([1]),
)
case("kv_slice", Buffer(lambda k, x: (k[:, 2:4].copy_(x), k * 2)[1], torch.zeros(3, 8)), (3, 2))
case("buf_copy_used", Buffer(lambda k, x: (k.copy_(x * 2), k + 1)[1], torch.zeros(2, 3)), (2, 3))


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(10, 4)
        self.l = nn.Linear(4, 10, bias=False)
        self.l.weight = self.e.weight

    def forward(self, i):
        return self.l(self.e(i))


case("tied", Tied(), ("i", 1, 2))
case("conv1d_wn", nn.utils.parametrizations.weight_norm(nn.Conv1d(4, 8, 3)), (2, 4, 9))
case("specnorm", nn.utils.parametrizations.spectral_norm(nn.Linear(4, 5)), (2, 4))
case("mha_sf_train", SelfAttention(batch_first=False), (5, 2, 8), train=True)
