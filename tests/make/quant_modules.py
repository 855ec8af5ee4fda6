"""The modules of tests/quant: each exercises a few of the quantizer's patterns."""

import torch
from torch import nn
from torch.nn import functional as F


class ConvBnRelu(nn.Module):
    """Norms that are folded: with and without bias, transposed, one-dimensional, without affine."""

    def __init__(self):
        super().__init__()
        self.a, self.a_norm = nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8)
        self.b, self.b_norm = nn.Conv2d(8, 8, 3, groups=8), nn.BatchNorm2d(8)
        self.c, self.c_norm = nn.ConvTranspose2d(8, 4, 2), nn.BatchNorm2d(4, affine=False)
        self.d, self.d_norm = nn.Linear(16, 6), nn.BatchNorm1d(6)

    def forward(self, x):
        x = F.relu(self.a_norm(self.a(x)))
        x = F.relu6(self.b_norm(self.b(x)))
        x = F.relu_(self.c_norm(self.c(x)))
        x = F.max_pool2d(x, 3)
        return self.d_norm(self.d(x.flatten(1)))


class LateNorm(nn.Module):
    """A norm after something else than a layer, and after a linear layer of more than rows."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)
        self.linear, self.last = nn.Linear(4, 4), nn.BatchNorm1d(9)

    def forward(self, x):
        x = self.norm(F.relu(self.conv(x)))
        return self.last(self.linear(x.flatten(2).transpose(1, 2)))


class Conv1d(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv1d(4, 8, 3, padding="same")
        self.b = nn.Conv1d(8, 8, 3, stride=2)
        self.c = nn.ConvTranspose1d(8, 6, 3)
        self.d = nn.ConvTranspose1d(6, 6, 3, groups=2)

    def forward(self, x):
        return self.d(F.relu(self.c(self.b(F.relu(self.a(x))))))


class LinearRelu(nn.Module):
    """Layers of which others read the result, weights that are shared, a relu that two read."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8, bias=False)

    def forward(self, x):
        y = F.relu(self.a(x))
        z = self.b(y)
        w = F.relu(z) + z
        return F.relu(self.a(w)), self.a(y) * 0.5


class Pools(nn.Module):
    """Pooling modules after what is quantized and after what is not; a function, and a mean."""

    def __init__(self):
        super().__init__()
        self.conv, self.pool = nn.Conv2d(3, 4, 3, padding=1), nn.AdaptiveAvgPool2d(2)
        self.last = nn.AdaptiveAvgPool2d((1, 1))
        self.gate, self.more = nn.Conv2d(4, 4, 1), nn.Conv2d(3, 4, 1)

    def forward(self, x):
        y = F.hardswish(self.conv(x))
        scale = torch.sigmoid(self.gate(self.last(y)))
        y = y * scale
        return self.pool(self.more(x)), F.adaptive_avg_pool2d(F.gelu(y), 2), y.mean((2, 3))


class StrictPools(nn.Module):
    """Pooling by a module and by a function, which a strict export tells apart from others."""

    is_strict = True

    def __init__(self):
        super().__init__()
        self.conv, self.pool = nn.Conv2d(3, 4, 3, padding=1), nn.AdaptiveAvgPool2d(2)

    def forward(self, x):
        y = F.gelu(self.conv(x))
        gate = torch.sigmoid(F.adaptive_avg_pool2d(y, 1))
        return y * gate, self.pool(torch.tanh(y)), F.adaptive_avg_pool2d(torch.sin(y), 2)


class Numbers(nn.Module):
    """Sums and products with numbers, with constants, with themselves, and too large ones."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.shift = nn.Parameter(torch.randn(8))

    def forward(self, x):
        y = (self.linear(x) + 1.5) * 3
        y = 2 * y + self.shift
        y = y + torch.tensor(0.25) + x * 1e-30 * 1e30
        return F.relu(y * y) + F.relu(y + y)


class Cats(nn.Module):
    """Chains of concatenations: of inputs, of layers, of what others read."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(7, 4, 3, padding=1)

    def forward(self, x, y):
        a = self.a(x)
        b = self.b(torch.cat([x, a], 1))
        c = torch.cat([torch.tanh(y), a, b], 1)
        d = torch.cat([c, F.relu(c), c.permute(0, 1, 3, 2)], 1)
        return d, torch.cat([y, y], 1)


class Sharing(nn.Module):
    """Operators that only move numbers, in chains, and what breaks a chain."""

    def __init__(self):
        super().__init__()
        self.conv, self.drop = nn.Conv2d(3, 4, 3, padding=1), nn.Dropout(0.5)
        self.linear, self.act = nn.Linear(16, 8), nn.ReLU6()

    def forward(self, x):
        y = self.act(self.conv(x))
        y = y.permute(0, 2, 3, 1).reshape(-1, 16)
        y = self.drop(y)
        z = self.linear(y[1:])
        z = F.hardtanh(z, -2, 2).unsqueeze(1).transpose(1, 2)
        return z.squeeze(2) + 1, y.view(-1, 4, 4).mean(-1)


class InPlace(nn.Module):
    """Sums in place, of which nothing else sees the old value, and state."""

    def __init__(self):
        super().__init__()
        self.conv, self.other = nn.Conv2d(3, 3, 3, padding=1), nn.Conv2d(3, 3, 1)
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x):
        y = self.conv(x)
        y += x
        y = F.relu_(y)
        self.total.add_(y.mean((0, 2, 3)))
        z = self.other(y)
        z *= 0.5
        return F.hardtanh_(z, -1, 1) + self.total.view(1, 3, 1, 1)


class SharedConv(nn.Module):
    """One convolution that is called twice, with its norm, and once more with a relu."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.other = nn.Conv2d(4, 4, 1)

    def forward(self, x):
        x = self.norm(self.conv(x))
        x = self.norm(self.conv(torch.tanh(x)))
        x = self.other(x)
        return F.relu(self.other(F.gelu(x)))


class Attention(nn.Module):
    """Queries, keys and values of one input; matrix products that nothing quantizes."""

    def __init__(self):
        super().__init__()
        self.q, self.k = nn.Linear(8, 8), nn.Linear(8, 8)
        self.v, self.out = nn.Linear(8, 8, bias=False), nn.Linear(8, 8)
        self.norm = nn.LayerNorm(8)

    def forward(self, x):
        y = self.norm(x)
        q, k, v = self.q(y), self.k(y), self.v(y)
        scores = torch.softmax(q @ k.transpose(1, 2) / 8**0.5, -1)
        return x + self.out(scores @ v)


class Images(nn.Module):
    """Convolutions that dynamic quantization takes: images, and not one channel each."""

    def __init__(self):
        super().__init__()
        self.a, self.deep = nn.Conv2d(3, 8, 3), nn.Conv2d(8, 8, 3, groups=8)
        self.b, self.up = nn.Conv2d(8, 4, 1), nn.ConvTranspose2d(4, 4, 2)
        self.line, self.head = nn.Conv1d(4, 4, 3), nn.Linear(4, 3)

    def forward(self, x):
        x = F.gelu(self.a(x))
        x = F.gelu(self.up(self.b(self.deep(x))))
        return F.relu(self.head(self.line(x.flatten(2)).transpose(1, 2)))


class Embedded(nn.Module):
    """A small transformer's first layer: positions are integers, and stay so."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(16, 8), nn.Embedding(8, 8)
        self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 8)
        self.register_buffer("at", torch.arange(6))

    def forward(self, ids):
        x = self.words(ids) + self.places(self.at + 1)
        return x + self.down(F.gelu(self.up(x)))


class Weights(nn.Module):
    """Weights that are computed, moved, given, or of another dtype."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(8, 6))
        self.low = nn.Linear(6, 6).to(torch.bfloat16)

    def forward(self, x, given):
        y = F.linear(x, self.w.t())
        z = F.linear(y, given)
        return self.low(z.to(torch.bfloat16)), F.linear(y, self.w[:4, :] * 2)


class Written(nn.Module):
    """Views and state that are read after they were written: PT2E quantizes the old numbers."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 3, padding=1)
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x):
        y = self.conv(x)
        flat = y.flatten(1)
        y.sub_(1)
        self.total.add_(x.mean((0, 2, 3)))
        return flat * 2, self.total * 0.5, self.conv(y)


class Integers(nn.Module):
    """Indices are joined and added up, and stay indices."""

    def __init__(self):
        super().__init__()
        self.words, self.head = nn.Embedding(34, 8), nn.Linear(8, 4)

    def forward(self, ids):
        return self.head(self.words(torch.cat([ids, ids + ids, ids + 1], 1)))


class Composed(nn.Module):
    """For several quantizers: values that one of them makes, or reads with the other."""

    def __init__(self):
        super().__init__()
        self.d_first, self.s_first = nn.Linear(8, 8), nn.Linear(8, 8)
        self.d_next, self.s_next = nn.Linear(8, 8), nn.Linear(8, 8)
        self.s_conv, self.d_conv = nn.Conv2d(2, 2, 3, padding=1), nn.Conv2d(2, 4, 3)

    def forward(self, x):
        a, b = self.d_first(x), F.relu(self.s_first(x))
        c = self.d_next(b) + self.s_next(F.hardtanh(a))
        c = self.s_conv(c.view(1, 2, 4, 8))
        return F.gelu(self.d_conv(c)).flatten(1), self.s_first(c.mean(1)) * 2


class Layers(nn.Module):
    """For torchao, which quantizes modules: linear layers with and without bias, of three dims."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(32, 16), nn.Linear(16, 8, bias=False)

    def forward(self, x):
        return self.b(F.gelu(self.a(x)))


def randomized(module):
    """Norms with statistics of real data."""
    for m in module.modules():
        if isinstance(m, nn.modules.batchnorm._BatchNorm):
            nn.init.normal_(m.running_mean, 0, 0.2)
            nn.init.uniform_(m.running_var, 0.5, 2)
            if m.affine:
                nn.init.uniform_(m.weight, 0.6, 1.4)
                nn.init.normal_(m.bias, 0, 0.2)
    return module.eval()


# name: module, sizes of the inputs (a number behind them: integers below it), recipes
STATIC, DYNAMIC = ("static_channel", "static_tensor"), ("dynamic_channel", "dynamic_tensor")
CASES = {
    "conv_bn_relu": (ConvBnRelu, [[2, 3, 10, 10]], STATIC[:1]),
    "late_norm": (LateNorm, [[2, 3, 5, 5]], STATIC[1:]),
    "conv1d": (Conv1d, [[2, 4, 12]], STATIC),
    "linear_relu": (LinearRelu, [[4, 8]], (STATIC[0], DYNAMIC[0])),
    "pools": (Pools, [[1, 3, 6, 6]], STATIC[:1]),
    "strict_pools": (StrictPools, [[1, 3, 6, 6]], STATIC[:1]),
    "numbers": (Numbers, [[3, 8]], (STATIC[1], DYNAMIC[1])),
    "cats": (Cats, [[1, 3, 4, 4], [1, 3, 4, 4]], STATIC[:1]),
    "sharing": (Sharing, [[2, 3, 4, 4]], STATIC[:1]),
    "in_place": (InPlace, [[2, 3, 5, 5]], STATIC[:1]),
    "shared_conv": (SharedConv, [[1, 4, 5, 5]], STATIC[:1]),
    "attention": (Attention, [[2, 5, 8]], (STATIC[0], DYNAMIC[0])),
    "images": (Images, [[1, 3, 8, 8]], (STATIC[0], DYNAMIC[0])),
    "embedded": (Embedded, [([2, 6], 16)], (STATIC[0], DYNAMIC[0])),
    "written": (Written, [[2, 3, 5, 5]], STATIC[:1]),
    "integers": (Integers, [([2, 6], 16)], STATIC[:1]),
    "weights": (Weights, [[3, 8], [6, 6]], (STATIC[0], DYNAMIC[1])),
    "composed": (Composed, [[8, 8]], ("dynamic_static", "static_dynamic")),
}
# Modules for torchao's recipes.
LAYERS = (Layers, [[2, 3, 32]])
# Programs of tests/models.
MODELS = {
    "mlp": (STATIC[0], DYNAMIC[0]),
    "cnn": (*STATIC, DYNAMIC[0]),
    "tinyformer": (STATIC[0], DYNAMIC[0]),
    "lstm": STATIC[:1],
    "cnn_dynbatch": STATIC[:1],
    "counter_buffer": STATIC[:1],
    "kv_cache_index_copy_frozen": STATIC[:1],
}
