"""Small modules whose decomposition is tested: caches of language models."""

import executorch.extension.llm.custom_ops.custom_ops  # noqa: F401  registers its operators
import torch
from torch import nn

from decomp_case import AUTO, BY_NUMBERS, CASES, case, section

LLAMA = torch.ops.llama

# The values of caches, which are operators of ours: torch runs our core graphs with these.
library = torch.library.Library("sconce", "DEF")
library.define("update_cache(Tensor value, Tensor cache, SymInt start_pos) -> Tensor")
library.define(
    "update_cache_with_indices(Tensor value, Tensor cache, SymInt start_pos, Tensor indices) "
    "-> Tensor"
)


def update_cache(value, cache, start):
    return torch.slice_scatter(cache, value, 1, start, start + value.shape[1])


def update_cache_with_indices(value, cache, start, indices):
    rows = torch.arange(cache.shape[0])[:, None].expand_as(indices)
    return torch.index_put(cache, [rows, indices], value)


library.impl("update_cache", update_cache, "CompositeExplicitAutograd")
library.impl("update_cache_with_indices", update_cache_with_indices, "CompositeExplicitAutograd")

section("llm")


class Cached(nn.Module):
    def __init__(self, step, has_state=True):
        super().__init__()
        self.step = step
        if not has_state:
            return
        self.register_buffer("k", torch.zeros(1, 8, 2, 4))
        self.register_buffer("v", torch.zeros(1, 8, 2, 4))

    def forward(self, *args):
        return self.step(self, *args)


def update(m, q, k, v, start):
    at = start[0].item()
    LLAMA.update_cache(k, m.k, at)
    LLAMA.update_cache(v, m.v, at)
    return LLAMA.custom_sdpa(q, m.k, m.v, at, None, 0.0, True, None)


def update_twice(m, q, k, v):
    before = m.k + 1
    LLAMA.update_cache(k, m.k, 1)
    between = m.k * 2
    LLAMA.update_cache(v, m.k, 2)
    LLAMA.update_cache(v, m.v, 0)
    return before, between, LLAMA.custom_sdpa(q, m.k, m.v, 4, None, 0.0, True, None)


def update_indexed(m, q, k, v, indices, mask):
    LLAMA.update_cache_with_indices(k, m.k, 0, indices)
    LLAMA.update_cache_with_indices(v, m.v, 0, indices)
    return LLAMA.custom_sdpa(q, m.k, m.v, 0, mask, 0.0, False, None)


def attend(m, q, k, v):
    return LLAMA.sdpa_with_kv_cache(q, k, v, m.k, m.v, 3, 2, None, 0.0, True, None)


def update_own(m, q, k):
    """A cache that is no state of the module."""
    mine = q.repeat(1, 4, 1, 1)
    LLAMA.update_cache(k, mine, 5)
    return mine


Q, K = (1, 2, 4, 4), (1, 2, 2, 4)
mask = torch.zeros(2, 8).masked_fill(torch.rand(2, 8) > 0.5, -torch.inf)
mask[:, 0] = 0
rows = torch.tensor([[7, 0]])
for name, step, args in (
    ("cache_update", update, (Q, K, K, torch.tensor([3]))),
    ("cache_update_twice", update_twice, (Q, K, K)),
    ("cache_update_indexed", update_indexed, (Q, K, K, rows, mask)),
    ("cache_attend", attend, (Q, K, K)),
    ("cache_update_own", update_own, (K, K)),
):
    case(name, Cached(step, name != "cache_update_own"), *args)
    BY_NUMBERS.add(name)
case("cache_update_open", Cached(update), Q, K, K, torch.tensor([3]))
BY_NUMBERS.add("cache_update_open")
size = AUTO(min=1, max=7)
CASES[-1].dynamic = (({1: size}, {1: size}, {1: size}, {}),)
