"""Small modules whose decomposition is tested: sizes that vary, and bodies."""

import torch
from torch import nn
import torch.nn.functional as F

from decomp_case import AUTO, CASES, Case, Fn, case, section, tensor
from decomp_programs import in_place, setitem


section("dynamic")


def dyn(name, module, *inputs, dims):
    shapes = tuple({i: AUTO for i in d} if d else {} for d in dims)
    plain = isinstance(module, nn.Module)
    make = (lambda: module) if plain else (lambda: Fn(module))
    CASES.append(
        Case(
            "dyn_" + name,
            make,
            lambda: [tensor(i) for i in inputs],
            shapes if plain else (shapes,),
        )
    )


dyn("linear3d", nn.Linear(8, 4), (3, 5, 8), dims=[[0]])
dyn("linear3d_b1", nn.Linear(8, 4), (2, 5, 8), dims=[[1]])
dyn("linear3d_both", nn.Linear(8, 4), (3, 5, 8), dims=[[0, 1]])
dyn("linear2d", nn.Linear(8, 4), (3, 8), dims=[[0]])
dyn("linear_nb", nn.Linear(8, 4, bias=False), (3, 5, 8), dims=[[0, 1]])
dyn("flatten1", lambda x: x.flatten(1), (3, 4, 8, 8), dims=[[0]])
dyn("flatten_hw", lambda x: x.flatten(2), (2, 4, 6, 7), dims=[[2, 3]])
dyn("view_bm1", lambda x: x.view(x.shape[0], -1), (3, 4, 8), dims=[[0]])
dyn("reshape_nc", lambda x: x.transpose(1, 2).reshape(x.shape[0], -1), (3, 4, 8), dims=[[0]])
dyn(
    "heads",
    lambda x: x.view(x.shape[0], x.shape[1], 2, 4).transpose(1, 2),
    (3, 5, 8),
    dims=[[0, 1]],
)
dyn("sdpa", lambda x: SD(x, x, x), (2, 2, 5, 8), dims=[[2]])
dyn("sdpa_b", lambda x: SD(x, x, x), (3, 2, 5, 8), dims=[[0, 2]])
dyn("sdpa_causal", lambda x: SD(x, x, x, is_causal=True), (2, 2, 5, 8), dims=[[2]])
dyn(
    "sdpa_gqa",
    lambda q, k: SD(q, k, k, enable_gqa=True),
    (2, 4, 5, 8),
    (2, 2, 7, 8),
    dims=[[2], [2]],
)
dyn("matmul44", torch.matmul, (3, 3, 4, 5), (3, 3, 5, 6), dims=[[0], [0]])
dyn("matmul44t", lambda a: a @ a.transpose(-1, -2), (2, 3, 4, 5), dims=[[2]])
dyn("ln", nn.LayerNorm(8), (3, 5, 8), dims=[[0, 1]])
dyn("gn", nn.GroupNorm(2, 4), (3, 4, 6, 7), dims=[[0, 2, 3]])
dyn("in", nn.InstanceNorm2d(4), (3, 4, 6, 7), dims=[[0, 2, 3]])
dyn("stack", lambda x: torch.stack([x, x], 1), (3, 5, 6), dims=[[0, 1]])
dyn("chunk", lambda x: x.chunk(2, -1), (3, 6), dims=[[0]])
dyn(
    "einsum",
    lambda a, b: torch.einsum("bhqd,bhkd->bhqk", a, b),
    (2, 3, 4, 5),
    (2, 3, 6, 5),
    dims=[[0, 2], [0, 2]],
)
dyn("expand", lambda a, b: a.expand(b.shape[0], -1, -1), (1, 1, 4), (3, 5, 4), dims=[[], [0]])
dyn("chunkd", lambda x: x.chunk(2, 1), (3, 6), dims=[[0]])
dyn("mean_last", lambda x: x.mean(1), (3, 6), dims=[[0]])
dyn("split", lambda x: x.split([2, 4], -1), (3, 6), dims=[[0]])
dyn(
    "cls",
    lambda a, b: torch.cat([a.expand(b.shape[0], -1, -1), b], 1),
    (1, 1, 4),
    (3, 5, 4),
    dims=[[], [0]],
)
dyn("repeat_interleave", lambda x: x.repeat_interleave(2, 1), (2, 5, 6), dims=[[1]])
dyn(
    "interp_size",
    lambda x: F.interpolate(x, (x.shape[2] * 2, x.shape[3] * 2), mode="bilinear"),
    (1, 2, 5, 6),
    dims=[[2, 3]],
)


def resize(mode, factor=None, corners=None):
    """By a factor, or to the size of another tensor."""
    if factor:
        return lambda x: F.interpolate(x, scale_factor=factor, mode=mode, align_corners=corners)
    return lambda x, y: F.interpolate(x, size=y.shape[2:], mode=mode, align_corners=corners)


dyn("up_nearest1d", resize("nearest", 2), (2, 3, 7), dims=[[2]])
dyn("up_nearest1d_size", resize("nearest"), (2, 3, 7), (1, 1, 4), dims=[[2], [2]])
dyn("up_nearest3d", resize("nearest", 1.5), (1, 2, 7, 5, 4), dims=[[2]])
dyn("up_nearest_exact", resize("nearest-exact", 2), (1, 2, 7, 5), dims=[[2]])
dyn("up_linear1d", resize("linear", 2), (2, 3, 7), dims=[[2]])
dyn("up_linear1d_corners", resize("linear", 2, corners=True), (2, 3, 7), dims=[[2]])
dyn("up_linear1d_size", resize("linear"), (2, 3, 7), (1, 1, 4), dims=[[2], [2]])
dyn("up_trilinear", resize("trilinear", 2), (1, 2, 7, 5, 4), dims=[[2]])
dyn("up_bicubic", resize("bicubic", 2), (1, 2, 7, 5), dims=[[2]])
dyn("affine_grid", lambda t: F.affine_grid(t, (t.shape[0], 3, 5, 6)), (2, 2, 3), dims=[[0]])
dyn("chunk2", lambda x: x.chunk(2, 1), (2, 7), dims=[[1]])
dyn("chunk3", lambda x: x.chunk(3, 1), (2, 7), dims=[[1]])
dyn("amp1", nn.AdaptiveMaxPool2d(1, return_indices=True), (2, 4, 8, 9), dims=[[2, 3]])
dyn("amp7", nn.AdaptiveMaxPool2d(7), (2, 4, 8, 9), dims=[[2, 3]])
dyn("aap7", nn.AdaptiveAvgPool2d(7), (2, 4, 8, 9), dims=[[2, 3]])
dyn("pos", lambda x: torch.arange(x.shape[1]).unsqueeze(0) + x, (2, 5), dims=[[1]])
dyn("slice_buf", lambda x, y: x + y[:, : x.shape[1]], (2, 5), (1, 16), dims=[[1], []])
dyn(
    "mask",
    lambda x: torch.tril(torch.ones(x.shape[1], x.shape[1], dtype=torch.bool)),
    (2, 5),
    dims=[[1]],
)
dyn("pixshuf", nn.PixelShuffle(2), (1, 4, 5, 6), dims=[[2, 3]])
dyn("unfold_pad", lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect"), (1, 2, 5, 6), dims=[[2, 3]])
dyn(
    "rope",
    lambda x, c: torch.cat([-x[..., 4:], x[..., :4]], -1) * c,
    (1, 2, 5, 8),
    (5, 8),
    dims=[[2], [0]],
)
dyn("lstm", nn.LSTM(4, 3, batch_first=True), (2, 3, 4), dims=[[0]])
dyn(
    "conv_flatten",
    nn.Sequential(nn.Conv2d(2, 3, 3, stride=2), nn.Flatten(2)),
    (1, 2, 9, 11),
    dims=[[2, 3]],
)
dyn("pool_linear", nn.Sequential(nn.MaxPool1d(2), nn.Linear(4, 5)), (3, 6, 8), dims=[[1]])
dyn(
    "arith",
    lambda x: x.view(-1).unsqueeze(0).expand(x.shape[0] * 2 + 1, x.shape[0] * 6),
    (3, 6),
    dims=[[0]],
)
dyn(
    "cat_flatten",
    lambda x, y: torch.cat([x, y], 1).flatten(0, 1),
    (3, 5, 4),
    (3, 7, 4),
    dims=[[1], [1]],
)
dyn("roll", lambda x: x.roll(1, 0), (5, 4), dims=[[0]])
dyn(
    "kv",
    lambda c, x: torch.cat([c[:, 1:], x], 1).reshape(-1, 4),
    (2, 6, 4),
    (2, 1, 4),
    dims=[[1], []],
)
dyn("setitem", in_place(lambda y: y[:, 0].add_(1)), (5, 4), dims=[[0]])


section("regions")


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


class Loop(nn.Module):
    def forward(self, x, y):
        from torch._higher_order_ops.while_loop import while_loop

        return while_loop(lambda x, y: x < 5, lambda x, y: (x + 1, y * 2), (x, y))


class Autocast(nn.Module):
    def forward(self, x, w):
        with torch.autocast("cpu", torch.bfloat16):
            y = F.linear(F.layer_norm(x, [4]), w)
            z = torch.cat([y, x], 1)
            loss = F.mse_loss(y, y + 1)
            y = F.scaled_dot_product_attention(z[None, None], z[None, None], z[None, None])
        return y, loss, x @ w


case("autocast", Autocast(), (4, 4), (4, 4))
case("no_grad", Nested(), (3, 3))
case("cond", Cond(), (2, 4))
case("while_loop", Loop(), torch.tensor(1.0), (2, 3))
