"""Small modules whose decomposition is tested: tensors that lie in memory otherwise than in rows.

Tokens that become the map of a single image have strides that look channels-last, and what follows
keeps that format or does not."""

import torch
from torch import nn
import torch.nn.functional as F

from decomp_case import Fn, case, section
from decomp_dynamic import dyn

section("layouts")
C, H, W = 4, 6, 4
TOKENS = (1, H * W, C)


def seen_as_map(x):
    return x.transpose(1, 2).reshape(1, C, H, W)


def seen_as_volume(x):
    return x.transpose(1, 2).reshape(1, C, 2, H // 2, W)


class OnMap(Fn):
    """A module or function between tokens and map."""

    def __init__(self, fn, to_map=seen_as_map):
        super().__init__(lambda x: fn(to_map(x)))
        self.layer = fn if isinstance(fn, nn.Module) else None


for name, fn in {
    "conv": nn.Conv2d(C, 6, 3, padding=1),
    "conv_1x1": nn.Conv2d(C, 6, 1),
    "conv_depthwise": nn.Conv2d(C, C, 3, groups=C),
    "conv_transposed": nn.ConvTranspose2d(C, 2, 2, stride=2),
    "group_norm": nn.GroupNorm(2, C),
    "batch_norm": nn.BatchNorm2d(C),
    "layer_norm": nn.LayerNorm([H, W]),
    "bilinear": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
    "bicubic": lambda x: F.interpolate(x, size=(5, 7), mode="bicubic"),
    "nearest": lambda x: F.interpolate(x, scale_factor=2),
    "max_pool": lambda x: F.max_pool2d(x, 2),
    "avg_pool": lambda x: F.avg_pool2d(x, 2),
    "adaptive_avg_pool": lambda x: F.adaptive_avg_pool2d(x, (3, 2)),
    "adaptive_avg_pool_1": lambda x: F.adaptive_avg_pool2d(x, 1),
    "pad_constant": lambda x: F.pad(x, (1, 1, 0, 1)),
    "pad_nothing": lambda x: F.pad(x.permute(0, 2, 3, 1), (0, 0, 0, 0, 0, 0)),
    "pad_reflect": lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect"),
    "pad_replicate": lambda x: F.pad(x, (1, 1, 1, 1), mode="replicate"),
    "cat_0": lambda x: torch.cat([x, x], 0),
    "cat_1": lambda x: torch.cat([x, x + 1], 1),
    "stack_0": lambda x: torch.stack([x, x], 0),
    "stack_1": lambda x: torch.stack([x, x], 1),
    "stack_4": lambda x: torch.stack([x, x], 4),
    "index_1": lambda x: x[:, [0, 2, 1]],
    "index_2": lambda x: x[:, :, [0, 2, 1]],
    "pixel_shuffle": lambda x: F.pixel_shuffle(x, 2),
    "pixel_unshuffle": lambda x: F.pixel_unshuffle(x, 2),
    "softmax": lambda x: x.softmax(1),
    "log_softmax": lambda x: x.log_softmax(1),
    "clone": lambda x: x.clone().flatten(1),
    "add": lambda x: (x + 1).flatten(1),
    "add_channel": lambda x: (x + torch.ones(C, 1, 1)).flatten(1),
    "to_contiguous": lambda x: x.to(torch.float32, memory_format=torch.contiguous_format) * 2,
    "flip": lambda x: x.flip(2),
    "sort": lambda x: torch.sort(x, 1)[0],
    "zeros_like": lambda x: torch.zeros_like(x).flatten(1),
    "flatten": lambda x: (x * 2).flatten(2).transpose(1, 2),
}.items():
    case("map_" + name, OnMap(fn), TOKENS)
case("map_unflatten", lambda x: F.avg_pool2d(x.mT.unflatten(2, (H, W)), 2), TOKENS)
case("map_max_pool1d", lambda x: F.max_pool1d(x.mT, 2), TOKENS)
case("map_max_pool3d", OnMap(lambda x: F.max_pool3d(x, 2), seen_as_volume), TOKENS)
case("map_avg_pool3d", OnMap(lambda x: F.avg_pool3d(x, 2), seen_as_volume), TOKENS)
case("fft_middle", lambda x: torch.view_as_real(torch.fft.fft(x, dim=1)), (2, 6, 4))
case("rfft_middle", lambda x: torch.view_as_real(torch.fft.rfft(x, dim=1)), (2, 6, 4))
case("irfft_middle", lambda x: torch.fft.irfft(torch.fft.rfft(x, dim=1), dim=1), (2, 6, 4))
case("fft_twice", lambda x: torch.fft.fft(torch.fft.fft(x), dim=-2).real, (2, 6, 4))
case("dropout_slice", lambda x: F.dropout(x[..., :-1], 0.5, False).to(torch.float64), (1, 2, 3, 4))


class FrozenBags(nn.EmbeddingBag):
    def __init__(self, mode):
        super().__init__(10, 4, mode=mode, include_last_offset=True)
        self.weight.requires_grad_(False)


for mode in ("sum", "mean", "max"):
    case("bags_frozen_" + mode, FrozenBags(mode), torch.arange(6), torch.tensor([0, 2, 6]))


class Attention(nn.Module):
    """Calls view() on an attention. In memory, the decomposed one has another order than the traced
    one, so that it has no such view."""

    def forward(self, q, k, v):
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2)
        return y.reshape(q.shape[0], q.shape[2], -1).view(-1, q.shape[1] * q.shape[3])


case("sdpa_view", Attention(), *[(2, 4, 6, 8)] * 3)
dyn("sdpa_view", Attention(), *[(2, 4, 6, 8)] * 3, dims=[[0, 2]] * 3)
