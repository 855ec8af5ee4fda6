"""The programs of tests/models: modules, inputs of each case, and dynamic dimensions. Random
numbers are drawn in the order in which they are written here, after torch.manual_seed(0)."""

import torch
from model_quantize import QuantizedCnn, QuantizedLayers, every_layer_its_own_way, pt2e
from torch import nn
from torch._higher_order_ops.map import map as torch_map
from torch._higher_order_ops.scan import scan as torch_scan
from torch.export import Dim
from torch.nn import functional as F


class AddMul(nn.Module):
    def forward(self, x, y):
        return (x + y) * x + 1.5


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(16, 32)
        self.fc2 = nn.Linear(32, 32)
        self.fc3 = nn.Linear(32, 10, bias=False)

    def forward(self, x):
        x = torch.tanh(self.fc2(F.gelu(self.fc1(x))))
        return F.softmax(self.fc3(x), -1)


class Cnn(nn.Module):
    """Gives the normalisations statistics and scales that make a difference."""

    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.b1 = nn.BatchNorm2d(8)
        self.c2 = nn.Conv2d(8, 16, 3, stride=2, padding=1)
        self.b2 = nn.BatchNorm2d(16)
        self.pool = nn.MaxPool2d(2)
        self.fc = nn.Linear(16, 10)
        for norm in (self.b1, self.b2):
            nn.init.normal_(norm.running_mean, 0, 0.1)
            nn.init.uniform_(norm.running_var, 0.8, 1.2)
            nn.init.uniform_(norm.weight, 0.8, 1.2)
            nn.init.normal_(norm.bias, 0, 0.1)

    def forward(self, x):
        x = self.pool(F.relu(self.b1(self.c1(x))))
        x = F.relu(self.b2(self.c2(x)))
        return self.fc(x.mean((2, 3)))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.n1, self.qkv = nn.LayerNorm(width), nn.Linear(width, 3 * width)
        self.o, self.n2 = nn.Linear(width, width), nn.LayerNorm(width)
        self.f1, self.f2 = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        b, t, d = x.shape
        qkv = self.qkv(self.n1(x)).view(b, t, 3, self.heads, d // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(seen.transpose(1, 2).reshape(b, t, d))
        return x + self.f2(F.silu(self.f1(self.n2(x))))


class Tinyformer(nn.Module):
    """Embedding and head are one tensor."""

    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(128, 64)
        self.pos = nn.Parameter(torch.randn(64, 64) * 0.02)
        self.blocks = nn.ModuleList(Block(64, 4) for _ in range(2))
        self.n = nn.LayerNorm(64)
        self.head = nn.Linear(64, 128, bias=False)
        self.head.weight = self.emb.weight

    def forward(self, ids):
        x = self.emb(ids) + self.pos[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(self.n(x))


class KvCache(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.Linear(32, 96)
        self.register_buffer("k", torch.zeros(1, 4, 16, 8))
        self.register_buffer("v", torch.zeros(1, 4, 16, 8))
        self.requires_grad_(False)

    def forward(self, x, pos):
        q, k, v = self.p(x).view(1, 1, 3, 4, 8).permute(2, 0, 3, 1, 4).unbind(0)
        self.k.index_copy_(2, pos, k)
        self.v.index_copy_(2, pos, v)
        mask = torch.arange(16) <= pos
        return F.scaled_dot_product_attention(q, self.k, self.v, attn_mask=mask.view(1, 1, 1, 16))


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.tensor(0))
        self.register_buffer("ema", torch.zeros(3))
        self.register_buffer("np_", torch.tensor([0.5, 0.25, 0.125]), persistent=False)

    def forward(self, x):
        self.n.add_(1)
        self.ema.mul_(0.9).add_(x * 0.1 + self.np_)
        return self.ema * self.n, self.n + 0


class InputMutation(nn.Module):
    def forward(self, x, y):
        x.add_(y)
        return x * 2


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.LSTM(8, 16, num_layers=2, batch_first=True)
        self.o = nn.Linear(16, 4)

    def forward(self, x):
        y, (h, c) = self.l(x)
        return self.o(y), h, c


class Cond(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        positive = x.sum() > 0
        return torch.cond(positive, lambda x: self.a(x) + 1, lambda x: self.b(x).sin(), (x,))


class Masks(nn.Module):
    """Sizes that only the values of the inputs tell."""

    def forward(self, x, mask, rows):
        kept = x[rows]
        return x[mask] * 2, mask.nonzero(), torch.masked_select(x, x > 0), kept + 1, kept.sum(0)


class TokenMap(nn.Module):
    """Tokens of one image seen as a map again, and what vision models do with it."""

    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, 16, 4, stride=4)
        self.norm, self.mix = nn.LayerNorm(16), nn.Linear(16, 16)
        self.local = nn.Conv2d(16, 16, 3, padding=1, groups=16)
        self.groups, self.head = nn.GroupNorm(4, 16), nn.Conv2d(16, 4, 1)

    def forward(self, x):
        y = self.patches(x)
        size = y.shape[2:]
        y = self.mix(self.norm(y.flatten(2).transpose(1, 2)))
        y = y.transpose(1, 2).reshape(1, 16, *size)
        y = torch.cat([self.groups(self.local(y)), F.pad(y, (0, 0, 1, 1))], 2)
        y = F.interpolate(self.head(y), scale_factor=2, mode="bilinear")
        return y, F.adaptive_avg_pool2d(y, 1).flatten(1), F.avg_pool2d(y, 2).amax(1)


class ConstantCache(nn.Module):
    """A cache that is no buffer: the exporter lifts it, and what is written to it, as constants."""

    def __init__(self):
        super().__init__()
        self.keys, self.steps = torch.arange(32.0).reshape(1, 8, 4) / 32, torch.tensor(0)
        self.project = nn.Linear(4, 4)

    def forward(self, x, position):
        self.keys.index_copy_(1, position, self.project(x))
        self.steps.add_(1)
        return self.keys.softmax(1), self.steps * 2


class RunningStats(nn.Module):
    """Batch norm that goes on learning its statistics."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm2d(4, momentum=0.3)

    def forward(self, x):
        mean, var = self.norm.running_mean, self.norm.running_var
        y = F.batch_norm(x, mean, var, self.norm.weight, self.norm.bias, True, 0.3)
        return y, mean * 1, var * 1


class Map(nn.Module):
    def forward(self, xs, y):
        return torch_map(lambda x, y: x * y + 1, xs, y)


class Scan(nn.Module):
    """The running sum, and what it was before each step."""

    def forward(self, init, xs):
        return torch_scan(lambda acc, x: (acc + x, acc * 1.0 + 0.0), init, xs)


class WeightLayouts(nn.Module):
    """Weights that share storage, begin in its middle, are strided, expanded, empty or lifted."""

    def __init__(self):
        super().__init__()
        base = torch.randn(6, 8)
        self.register_buffer("base", base)
        self.register_buffer("t", base.t())
        self.register_buffer("row", base[2:4])
        self.register_buffer("strided", base[:, ::2])
        self.register_buffer("expanded", torch.randn(8).expand(6, 8))
        self.register_buffer("scalar", torch.tensor(2.5))
        self.register_buffer("empty", torch.zeros(0, 3))
        self.w = nn.Parameter(torch.randn(4, 3, 3, 3).to(memory_format=torch.channels_last))
        self.tied = self.w

    def forward(self, x):
        lifted = torch.tensor([1.0, 2.0, 3.0])
        y = x + self.base + self.t.t() + self.strided.sum() + self.row.sum()
        y = y + self.expanded * self.scalar
        image = F.conv2d(torch.ones(1, 3, 5, 5), self.w) + self.tied.sum()
        return y, image, self.empty.sum() + lifted


class PytreeIo(nn.Module):
    def forward(self, a, bs, d, *, flag=True, opt=None, scale=1.0):
        total = a + bs[0] * scale
        pair = (bs[1], [d["x"] - d["y"]])
        return {"sum": total, "pair": pair, "none": None, "k": 7, "a": a}


class Encode(nn.Module):
    def __init__(self, emb):
        super().__init__()
        self.emb, self.enc = emb, nn.Linear(32, 32)

    def forward(self, ids):
        return torch.relu(self.enc(self.emb(ids))).mean(1)


class Decode(nn.Module):
    def __init__(self, emb):
        super().__init__()
        self.emb, self.dec = emb, nn.Linear(32, 32)
        self.head = nn.Linear(32, 64, bias=False)
        self.head.weight = emb.weight

    def forward(self, tok, ctx):
        return self.head(torch.tanh(self.dec(self.emb(tok) + ctx)))


class EncDec(nn.Module):
    def __init__(self):
        super().__init__()
        emb = nn.Embedding(64, 32)
        self.e, self.d = Encode(emb), Decode(emb)

    def forward(self, ids, tok):
        return self.d(tok, self.e(ids))


class Program:
    """`cases`: makes the inputs, a tuple for each call; with the first the module is exported.
    `quantize`: makes a quantized module of a module and an example."""

    def __init__(self, module, cases, kwargs=None, dynamic=None, quantize=None):
        self.module, self.cases = module, cases
        self.kwargs, self.dynamic = kwargs or {}, dynamic
        self.quantize = quantize


def randoms(*shapes, dtype=torch.float32):
    """Cases with one random tensor each."""
    return lambda: [(torch.randn(shape).to(dtype),) for shape in shapes]


def linear(dtype):
    return Program(lambda: nn.Linear(16, 8).to(dtype), randoms((4, 16), dtype=dtype))


IMAGE = (2, 3, 32, 32)
BATCH = Dim("batch", min=1, max=8)
SIDES = Dim("h", min=16, max=128), Dim("w", min=16, max=128)
class NumberInputs(nn.Module):
    """Integers that change from call to call; torch.export keeps no other numbers as inputs."""

    def forward(self, x, n: int, scale: dict):
        return x[:, n : n + 4] * scale["by"], x.narrow(1, 0, n).sum(1), scale["by"] + n


PROGRAMS = {
    "add_mul": Program(AddMul, lambda: [(torch.randn(2, 3), torch.randn(2, 3))]),
    "linear": linear(torch.float32),
    "linear_bf16": linear(torch.bfloat16),
    "linear_fp16": linear(torch.float16),
    "linear_fp64": linear(torch.float64),
    "mlp": Program(Mlp, randoms((4, 16))),
    "mlp_dyn": Program(
        Mlp, randoms((4, 16), (1, 16), (13, 16)), dynamic=({0: Dim("b", min=1, max=64)},)
    ),
    "cnn": Program(Cnn, randoms(IMAGE)),
    "cnn_dyn": Program(
        Cnn, randoms(IMAGE, (1, 3, 48, 20)), dynamic=({0: BATCH, 2: SIDES[0], 3: SIDES[1]},)
    ),
    "cnn_dynbatch": Program(Cnn, randoms(IMAGE, (1, 3, 32, 32)), dynamic=({0: BATCH},)),
    "channels_last_input": Program(
        lambda: Cnn().to(memory_format=torch.channels_last),
        lambda: [(torch.randn(IMAGE).to(memory_format=torch.channels_last),)],
    ),
    "counter_buffer": Program(Counter, randoms(3, 3, 3)),
    "input_mutation": Program(InputMutation, lambda: [(torch.randn(3), torch.randn(3))]),
    "kv_cache_index_copy_frozen": Program(
        KvCache, lambda: [(torch.randn(1, 1, 32), torch.tensor([i])) for i in range(4)]
    ),
    "tinyformer": Program(Tinyformer, lambda: [(torch.randint(0, 128, (2, 12)),)]),
    "lstm": Program(Lstm, randoms((2, 5, 8))),
    "weight_layouts": Program(WeightLayouts, randoms((6, 8))),
    "pytree_io": Program(
        PytreeIo,
        lambda: [
            (
                torch.randn(2),
                [torch.randn(2), torch.randn(2)],
                {"x": torch.randn(2), "y": torch.randn(2)},
            )
        ],
        kwargs={"flag": True, "opt": None, "scale": 3.0},
    ),
    "masks": Program(
        Masks,
        lambda: [
            (torch.randn(4, 5), torch.rand(4, 5) > p, torch.rand(4) > p) for p in (0.5, 0.1, 1.0)
        ],
    ),
    "token_map": Program(TokenMap, randoms((1, 3, 32, 24))),
    "constant_cache": Program(
        ConstantCache, lambda: [(torch.randn(1, 1, 4), torch.tensor([i])) for i in (3, 5, 3)]
    ),
    "running_stats": Program(RunningStats, randoms(*[(3, 4, 5, 2)] * 3)),
    # A mean of 25: one of an even number is often halfway between two quantized values.
    "quantized_cnn": Program(QuantizedCnn, randoms(*[(1, 3, 11, 11)] * 2), quantize=pt2e(False)),
    "quantized_mlp": Program(Mlp, randoms((4, 16), (4, 16)), quantize=pt2e(True)),
    "quantized_layers": Program(
        QuantizedLayers,
        lambda: [(torch.randint(0, 20, (2, 3)),) for _ in range(2)],
        quantize=every_layer_its_own_way,
    ),
    "number_inputs": Program(
        NumberInputs,
        lambda: [
            (torch.randn(2, 20), n, {"by": by})
            for n, by in ((5, 3), (16, 2**40 + 1), (1, 0), (7, 5))
        ],
        dynamic=(None, Dim.DYNAMIC, {"by": Dim.DYNAMIC}),
    ),
    "cond": Program(Cond, lambda: [(torch.ones(2, 4),), (-torch.ones(2, 4),)]),
    "map": Program(Map, lambda: [(torch.randn(5, 3), torch.randn(3))]),
    "scan": Program(Scan, lambda: [(torch.zeros(3), torch.randn(4, 3))]),
}


def encdec():
    """Method -> module and inputs: three that share an embedding."""
    whole = EncDec()
    ids, tok = torch.randint(0, 64, (1, 6)), torch.randint(0, 64, (1,))
    context = whole.e(ids).detach()
    return {
        "encode": (whole.e, (ids,)),
        "decode": (whole.d, (tok, context)),
        "forward": (whole, (ids, tok)),
    }


ENCDEC_CONSTANTS = {
    "get_vocab_size": 64,
    "get_name": "encdec",
    "get_scale": 0.5,
    "is_bidirectional": True,
    "get_table": torch.arange(4),
}
