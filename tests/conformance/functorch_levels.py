"""Programs with torch.vmap and torch.func.jvp, as torch.export leaves them: each is judged as those
of expanded.py are."""

import torch
import torch.nn.functional as F
from expanded import Fn, floats, whole
from torch.func import functional_call, jvp, stack_module_state, vmap

BATCH = torch.export.Dim("batch", min=2, max=7)


class Wide(torch.nn.Module):
    """A small network with weights of its own, for each sample or as a whole."""

    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(5, 8), torch.nn.Linear(8, 3)
        self.norm = torch.nn.LayerNorm(8)

    def forward(self, x):
        return self.second(self.norm(F.gelu(self.first(x))))


class Each(torch.nn.Module):
    """A module on each sample, with the weights of all of them."""

    def __init__(self, inner, **how):
        super().__init__()
        self.inner, self.how = inner, how

    def forward(self, x):
        return vmap(self.inner, **self.how)(x)


class Tangent(torch.nn.Module):
    """A module and how it changes with its input."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x, d):
        return jvp(self.inner, (x,), (d,))


class Ensemble(torch.nn.Module):
    """Several networks of one kind, each with weights of its own, as torch.func stacks them."""

    def __init__(self, make, count):
        super().__init__()
        self.base = [make().eval()]
        models = [make().eval() for _ in range(count)]
        params, buffers = stack_module_state(models)
        self.names = list(params)
        self.state = torch.nn.ParameterList([p.detach() for p in params.values()])
        self.buffer_names = list(buffers)
        for i, value in enumerate(buffers.values()):
            self.register_buffer(f"b{i}", value)

    def forward(self, x):
        base = self.base[0]
        buffers = [getattr(self, f"b{i}") for i in range(len(self.buffer_names))]

        def one(params, buffers, x):
            named = dict(zip(self.names, params)) | dict(zip(self.buffer_names, buffers))
            return functional_call(base, named, (x,))

        return vmap(one, in_dims=(0, 0, None))(list(self.state), buffers, x)


def mask_of(padding):
    """The attention mask of transformers: a function of four numbers, over all of them."""

    def allowed(b, h, q, kv):
        return (kv <= q) & torch.ops.aten.index(padding, [b, kv]) & (q - kv < 3)

    def run(x):
        b, h = torch.arange(padding.shape[0]), torch.arange(2)
        q, kv = torch.arange(x.shape[1]), torch.arange(padding.shape[1])
        f = allowed
        for dims in ((None, None, None, 0), (None, None, 0, None), (None, 0, None, None)):
            f = vmap(f, in_dims=dims)
        return vmap(f, in_dims=(0, None, None, None))(b, h, q, kv)

    return run


class Masked(torch.nn.Module):
    def forward(self, x, padding):
        mask = mask_of(padding)(x)
        scores = (x @ x.transpose(1, 2)).unsqueeze(1).expand(-1, 2, -1, -1)
        return scores.masked_fill(~mask, -1e4).softmax(-1), mask


def networks():
    image, batch = floats(3, 2, 3, 6, 6), floats(4, 5)
    conv = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3, padding=1),
        torch.nn.BatchNorm2d(4),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.GroupNorm(2, 4),
    )
    yield "vmap mlp", Each(Wide()), (floats(6, 5),), None
    plain = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
    yield "vmap mlp dynamic", Each(plain), (floats(6, 5),), ({0: BATCH},)
    yield "vmap conv", Each(conv.eval()), (image,), None
    yield "vmap conv one image", Each(conv[0]), (floats(4, 3, 6, 6),), None
    pools = torch.nn.Sequential(torch.nn.AvgPool2d(2), torch.nn.Upsample(scale_factor=2))
    yield "vmap images", Each(pools), (image,), None
    yield "vmap adaptive", Each(torch.nn.AdaptiveAvgPool2d(2)), (image,), None
    mlp = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.GELU(), torch.nn.Linear(8, 3))
    yield "jvp mlp", Tangent(mlp), (floats(4, 5), floats(4, 5)), None
    yield "ensemble mlp", Ensemble(Wide, 3), (batch,), None

    def small():
        return torch.nn.Sequential(
            torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Tanh()
        )

    yield "ensemble conv", Ensemble(small, 3), (floats(2, 3, 6, 6),), None


def vectors():
    x, y, v = floats(3, 4, 5), floats(3, 4, 5), floats(5)
    b = floats(4)
    first = {0: BATCH}
    yield "vmap one", lambda x: vmap(lambda a: a.sum(0) * 2 + 1)(x), (x,), None
    yield "vmap one dynamic", lambda x: vmap(lambda a: a.sum(0) * 2 + 1)(x), (x,), (first,)
    yield (
        "vmap two",
        lambda x, y: vmap(lambda a, b: (a * b).sum(0) + a.softmax(-1).mm(b.T).mean())(x, y),
        (x, y),
        None,
    )
    yield (
        "vmap two dynamic",
        lambda x, y: vmap(lambda a, b: (a * b).sum(0) + a.softmax(-1).mm(b.T).mean())(x, y),
        (x, y),
        (first, first),
    )
    yield "vmap none", lambda x, v: vmap(torch.dot, in_dims=(0, None))(x[0], v), (x, v), None
    yield "vmap captured", lambda x, v: vmap(lambda a: a @ v)(x), (x, v), None
    yield (
        "vmap dims",
        lambda x, y: vmap(lambda a, b: (a - b.t(), a.sum()), in_dims=(1, 2))(x, y),
        (x, floats(5, 3, 4)),
        None,
    )
    yield "vmap last", lambda v: vmap(lambda a: a.sum(), in_dims=-1, out_dims=-1)(v), (x,), None
    yield (
        "vmap constant",
        lambda x: vmap(lambda a: (a.sum(0), torch.ones(3), torch.arange(2) + 1))(x),
        (x,),
        None,
    )
    yield (
        "vmap nested",
        lambda x, v: vmap(vmap(lambda a, c: a * c + 1, in_dims=(0, None)), in_dims=(0, None))(
            x, v
        ),
        (x, v),
        None,
    )
    yield (
        "vmap outer",
        lambda b, v: vmap(lambda p: vmap(lambda q: (p * q, p > q, torch.maximum(p, q)))(v))(b),
        (b, v),
        None,
    )
    yield "vmap chunks", lambda x: vmap(lambda a: a.cos().sum(), chunk_size=2)(x), (x,), None
    yield "vmap twice", lambda x: vmap(lambda a: a.exp())(vmap(lambda a: a.sum(0))(x)), (x,), None
    yield (
        "vmap sizes",
        lambda x: vmap(lambda a: a.reshape(-1, 2).sum(1) / a.shape[0])(x),
        (floats(3, 4, 6),),
        ({0: BATCH, 1: torch.export.Dim("rows", min=1, max=9)},),
    )
    yield (
        "vmap promotes",
        lambda b, v: vmap(lambda p: (p * v, p + 1, v.int() + p.int()))(b),
        (b.double(), v),
        None,
    )
    yield "vmap written", lambda x: vmap(lambda a: a.clone().mul_(2).add_(a))(x), (x,), None
    yield "vmap writes", lambda x: vmap(lambda a: a.add_(1))(x.clone()) * 2, (x,), None


def operators():
    x, y = floats(3, 4, 5), floats(3, 4, 5)
    rows, index = whole(4, 3, 2), whole(4, 3, 4, 5)
    q, k, v = floats(3, 2, 6, 4), floats(3, 2, 6, 4), floats(3, 2, 6, 4)
    table, ids = floats(10, 6), whole(10, 3, 4)

    def each(name, f, *inputs, dims=0):
        return f"vmap {name}", lambda *a: vmap(f, in_dims=dims)(*a), inputs, None

    yield each("matmul", torch.matmul, floats(3, 4, 5), floats(3, 5, 2))
    yield each("matmul right", torch.matmul, floats(4, 5), floats(3, 5, 2), dims=(None, 0))
    yield each("bmm", torch.matmul, floats(3, 2, 4, 5), floats(2, 5, 2), dims=(0, None))
    yield each("einsum", lambda a, b: torch.einsum("ij,kj->ik", a, b), x, y)
    square = [floats(3, 4, 4)] * 3
    yield each("addmm", lambda c, a, b: torch.addmm(c, a, b, beta=2, alpha=3), *square)
    alone = [square[0], floats(4, 5), floats(5, 4)]
    yield each("addmm alone", lambda c, a, b: c.addmm(a, b, beta=0), *alone, dims=(0, None, None))
    yield each("attention", F.scaled_dot_product_attention, q, k, v)
    yield each("softmax", lambda a: (a.softmax(0), a.log_softmax(-1)), x)
    yield each("cumsum", lambda a: (a.cumsum(0), a.cumsum(-1), a.cumprod(1)), x)
    yield each("argmax", lambda a: (a.argmax(), a.argmax(1), a.argmin(0, keepdim=True)), x)
    yield each("where", lambda a, b: torch.where(a > b, a, 0.5 * b), x, y)
    yield each("cat", lambda a, b: (torch.cat([a, b], 1), torch.stack([a, b, a], -1)), x, y)
    yield each("cat captured", lambda a, b: torch.cat([a, b]), x, floats(2, 5), dims=(0, None))
    yield each("splits", lambda a: (*a.split(2), *a.unbind(1)[:2], a.chunk(2, -1)[1]), x)
    yield each("slices", lambda a: (a[1], a[:, 1:4:2], a[..., -1], a[None].squeeze(0)), x)
    yield each("expand", lambda a: (a.sum(0).expand(2, 3, 5), a.repeat(2, 1, 2)), x)
    yield each("diagonal", lambda a: (a.diagonal(1), a.tril(), a.flip(0), a.roll(1, 0)), x)
    yield each("pad", lambda a: F.pad(a, (1, 2, 0, 1), value=2.0), x)
    yield each("sums", lambda a: (a.sum(), a.mean(), a.mean(0), a.amax((0, 1)), a.var(1)), x)
    yield each("max", lambda a: (a.max(), a.min(), *a.max(0), *a.min(1, keepdim=True)), x)
    yield each("logic", lambda a: ((a > 0).any(), (a > 0).all(1), (a > 9).any(0), a.prod()), x)
    yield each("sort", lambda a: (*a.sort(0), *a.topk(2, -1)), x)
    yield each("scalars", lambda a: (a.sum(0), a.softmax(0), a.cumsum(0)), floats(4))
    yield each("layer_norm", lambda a, w: F.layer_norm(a, (5,), w, w), x, floats(3, 5))
    yield each("gather", lambda a, i: (a.gather(0, i), a.scatter(0, i, 1.0)), x, index)
    yield each("index", lambda a, i: (a[i], a[:, i], a[i, i], a[:, None, i]), x, rows)
    yield each("index captured", lambda a, i: (a[i], a[:, i]), x, whole(4, 2), dims=(0, None))
    pairs = lambda g, i: vmap(lambda i: torch.ops.aten.index(g, [i, None, i]))(i)  # noqa: E731
    yield "vmap index pairs", pairs, (floats(4, 4, 4), rows), None
    yield each("index_select", lambda a, i: a.index_select(1, i), x, rows)
    add = lambda a, i: a.index_put((i,), torch.ones(5), accumulate=True)  # noqa: E731
    yield each("index_put", add, x, rows)
    put = lambda a, i: a.index_put((torch.zeros_like(i), i), a[0, :2])  # noqa: E731
    yield each("index_put pairs", put, x, rows)
    yield each("embedding", F.embedding, ids, table, dims=(0, None))
    yield each("embeddings", F.embedding, whole(10, 3, 4), floats(3, 10, 6))
    grouped = floats(3, 2, 4, 9), floats(3, 6, 2, 3), floats(3, 6)
    yield each("conv groups", lambda x, w, b: F.conv1d(x, w, b, groups=2), *grouped)
    upward = floats(3, 1, 2, 4, 4), floats(2, 3, 3, 3)
    up = lambda a, w: F.conv_transpose2d(a, w, stride=2)  # noqa: E731
    yield each("transposed", up, *upward, dims=(0, None))
    yield each("one by one", lambda a, b: torch.cdist(a, b) + a.histc(4, -1, 1).sum(), x, y)
    yield each("distance", F.pairwise_distance, x, y)
    condition = lambda c, a, b: torch.where(c, a, b)  # noqa: E731
    yield each("condition", condition, floats(4) > 0, floats(4, 3), floats(4, 3))
    yield each("mask", lambda a, m: a.masked_fill(m, -1.0), floats(4, 3), floats(4) > 0)
    yield each("masks", lambda a, m: a.masked_fill(m, -1.0), x, y > 0)


def normalized(x):
    """A norm, of whose second tangents PyTorch forgets those of mean and spread."""
    if torch.compiler.is_exporting():
        return F.layer_norm(x, (4,))
    spread = x.var(-1, correction=0, keepdim=True) + 1e-5
    return (x - x.mean(-1, keepdim=True)) * spread.rsqrt()


def tangents():
    x, y = floats(3, 4), floats(3, 4)

    def of(name, f, *inputs, dims=None):
        count = len(inputs) // 2
        run = lambda *a: jvp(f, a[:count], a[count:])  # noqa: E731
        return f"jvp {name}", run, inputs, dims

    yield "jvp sin", lambda x, y: jvp(lambda a: a.sin() * y, (x,), (y,)), (x, y), None
    yield of("two", lambda a, b: (a * b, a / (b.abs() + 1), a - b), x, y, y, x)
    yield of("dynamic", lambda a: (a.exp() * a).sum(1), x, y, dims=({0: BATCH}, {0: BATCH}))
    yield (
        "jvp aux",
        lambda x, y: jvp(lambda a: (a.sin() * 2, a.cos()), (x,), (y,), has_aux=True),
        (x, y),
        None,
    )
    f = lambda a: (a.tanh() + a.sigmoid(), a.exp().sqrt(), a.cos(), a.erf())  # noqa: E731
    yield of("functions", f, x, y)
    yield of("logs", lambda a: ((a * a + 1).log(), (a * a + 1).rsqrt(), a.abs().log1p()), x, y)
    f = lambda a: (F.relu(a), F.gelu(a), F.silu(a), F.elu(a), F.softplus(a))  # noqa: E731
    yield of("activations", f, x, y)
    f = (  # noqa: E731
        lambda a: (F.leaky_relu(a), F.hardtanh(a), F.gelu(a, approximate="tanh"), a.clamp(-0.5, 1))
    )
    yield of("more", f, x, y)
    yield of("powers", lambda a: (a**3, a.square(), 1 / (a + 9), 2**a, a.abs() ** 1.5), x, y)
    yield of("products", lambda a, b: (a @ b.t(), torch.bmm(a[None], b.t()[None])), x, y, y, x)
    f = (  # noqa: E731
        lambda a: (a.sum(), a.mean(0), a.var(1), a.amax(1), a.max(0)[0], a.cumsum(1))
    )
    yield of("sums", f, x, y)
    yield of("softmax", lambda a: (a.softmax(-1), a.log_softmax(0), a.logsumexp(1)), x, y)
    f = (  # noqa: E731
        lambda a: (a.t().reshape(2, 6), a[1:, None], a.expand(2, 3, 4), a.flip(0))
    )
    yield of("views", f, x, y)
    f = lambda a: (torch.cat([a, x]), torch.stack([a, 2 * a]), a.split(2, 1)[1])  # noqa: E731
    yield of("joins", f, x, y)
    yield of("choices", lambda a, b: (torch.where(a > b, a, b), torch.maximum(a, b)), x, y, y, x)
    rows, places = torch.tensor([2, 0]), torch.tensor([[1, 0], [3, 3], [0, 2]])
    yield of("index", lambda a: (a.index_select(0, rows), a.gather(1, places)), x, y)
    yield of("sort", lambda a: (a.sort(1)[0], a.topk(2, 0)[0]), x, y)
    scale, weight = torch.arange(4.0), floats(2, 3, 3, 3)
    yield of("norm", lambda a: F.layer_norm(a, (4,), scale, scale), x, y)
    twice = lambda a, b: jvp(normalized, (a,), (b,))[1]  # noqa: E731
    yield of("norm twice", twice, x, y, y, x)
    yield of("conv", lambda a: F.conv2d(a, weight), *[floats(1, 3, 5, 5)] * 2)
    yield of("cut", lambda a: (a.sin() * a.detach(), (a * 2).round() + a), x, y)
    yield of("attention", lambda a: (a @ a.mT / 2).softmax(-1) @ a, *[floats(1, 2, 5, 4)] * 2)
    yield (
        "jvp of vmap",
        lambda x, y: jvp(lambda a: vmap(lambda r: r.softmax(0) * r.sum())(a), (x,), (y,)),
        (x, y),
        None,
    )


def cases():
    yield from networks()
    padding = torch.arange(6) < torch.tensor([[6], [4], [2]])
    yield "vmap mask", Masked(), (floats(3, 6, 4), padding), None
    batch, length = BATCH, torch.export.Dim("length", min=2, max=9)
    dynamic = {"x": {0: batch, 1: length}, "padding": {0: batch, 1: length}}
    yield "vmap mask dynamic", Masked(), (floats(3, 6, 4), padding), dynamic
    for group in (vectors, operators, tangents):
        for name, function, inputs, dynamic in group():
            yield name, Fn(function), inputs, dynamic
