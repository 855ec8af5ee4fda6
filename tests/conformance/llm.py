"""Operators of ExecuTorch's libraries for language models, called as its exporters call them:
caches that are written in place, attention over them, and a static cache as transformers has it."""

import executorch.extension.llm.custom_ops.custom_ops  # noqa: F401  registers its operators
import torch
from torch import nn

LLAMA = torch.ops.llama
ROOM = 16


class Cached(nn.Module):
    """A module whose caches hold [batch, row, head, number]."""

    def __init__(self, step, heads=2, dtype=torch.float32):
        super().__init__()
        self.step = step
        for name in ("k", "v"):
            self.register_buffer(name, torch.zeros(1, ROOM, heads, 8, dtype=dtype))

    def forward(self, *args):
        return self.step(self, *args)


class Static(nn.Module):
    """The cache of transformers: rows are written at positions, and masked attention reads all."""

    def __init__(self):
        super().__init__()
        self.q = nn.Linear(16, 16)
        for name in ("k", "v"):
            self.register_buffer(name, torch.zeros(1, 2, ROOM, 8))

    def forward(self, x, positions):
        rows = self.q(x).view(1, -1, 2, 8).transpose(1, 2)
        self.k.index_copy_(2, positions, rows)
        self.v.index_copy_(2, positions, rows + 1)
        hidden = torch.arange(ROOM)[None] > positions[:, None]
        mask = torch.zeros(hidden.shape).masked_fill(hidden, -torch.inf)
        return nn.functional.scaled_dot_product_attention(rows, self.k, self.v, mask)


def causal(m, q, k, v, start):
    at = start[0].item()
    LLAMA.update_cache(k, m.k, at)
    LLAMA.update_cache(v, m.v, at)
    return LLAMA.custom_sdpa(q, m.k, m.v, at, None, 0.0, True, None)


def ring(m, q, k, v, rows, mask):
    LLAMA.update_cache_with_indices(k, m.k, 0, rows)
    LLAMA.update_cache_with_indices(v, m.v, 0, rows)
    return LLAMA.custom_sdpa(q, m.k, m.v, 0, mask, 0.0, False, 0.3)


def legacy(m, q, k, v, start):
    at = start[0].item()
    torch._check(at >= 0)
    torch._check(at < ROOM)
    return LLAMA.sdpa_with_kv_cache(q, k, v, m.k, m.v, at, 1, None, 0.0, True, None)


def read_later(m, q, k, v, start):
    """Old rows are read after the write, so that the cache cannot be written at once."""
    at = start[0].item()
    before = m.k
    after = torch.slice_scatter(m.k, k, 1, 2, 2 + k.shape[1])
    LLAMA.update_cache(k, m.k, at)
    return before + 0, after, m.k * 2


def hadamard(x):
    return LLAMA.fast_hadamard_transform(x)


def calls(*starts, heads=2, queries=4, dtype=torch.float32):
    made, at = [], 0
    for count in starts:
        q = torch.randn(1, count, queries, 8).to(dtype)
        k, v = (torch.randn(1, count, heads, 8).to(dtype) for _ in range(2))
        made.append((q, k, v, torch.tensor([at])))
        at += count
    return made


def ring_calls():
    made = []
    for rows in ([0, 1], [15, 0], [7, 3]):
        q, k, v = (torch.randn(1, 2, heads, 8) for heads in (4, 2, 2))
        mask = torch.zeros(2, ROOM).masked_fill(torch.rand(2, ROOM) > 0.6, -torch.inf)
        mask[:, rows[0]] = 0
        made.append((q, k, v, torch.tensor([rows]), mask))
    return made


class Fn(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, *args):
        return self.f(*args)


def cases():
    size = torch.export.Dim("s", min=1, max=ROOM - 1)
    tokens = ({1: size}, {1: size}, {1: size}, None)
    dynamic = {"args": tokens}
    yield "causal attention over a cache", Cached(causal), calls(5, 1, 1, 3, 6), dynamic
    half = calls(5, 1, 3, dtype=torch.float16)
    yield "a cache of float16", Cached(causal, dtype=torch.float16), half, dynamic
    half = calls(5, 1, 3, dtype=torch.bfloat16)
    yield "a cache of bfloat16", Cached(causal, dtype=torch.bfloat16), half, dynamic
    yield "a ring of rows", Cached(ring), ring_calls(), None
    yield "attention that writes its cache", Cached(legacy), calls(1, 1, 1, 1), None
    yield "a cache that is read later", Cached(read_later), calls(2, 2, 2), None
    static = [(torch.randn(1, 3, 16), torch.arange(3)), (torch.randn(1, 3, 16), torch.arange(3, 6))]
    yield "a static cache", Static(), static, None
    yield "Hadamard transforms", Fn(hadamard), [(torch.randn(3, 64),), (torch.randn(3, 64),)], None
    heads = [torch.randn(1, 4, 5, 8), torch.randn(1, 2, 5, 8) * 0.3, torch.randn(1, 2, 5, 6)]
    state = [torch.rand(1, 2, 5), torch.rand(1, 2, 5), torch.randn(1, 2, 8, 6)]
    yield "the gated delta rule", Fn(LLAMA.gated_delta_rule), (*heads, *state), None
