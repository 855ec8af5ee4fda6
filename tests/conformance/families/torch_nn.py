"""Modules of torch.nn: recurrent ones, transformers, attention, layers of all ranks, losses."""

from functools import partial

import torch
from torch import nn
from tour_case import Call, Case, Row, noise

# --- Layers: the module, and its input -----------------------------------------------------------

VECTORS, LINES, PLANES, BOXES = (
    ("size", 8),
    ("size", 4, 12),
    ("size", 4, 12, 12),
    ("size", 4, 6, 6, 6),
)
LAYERS = {
    "Linear": (lambda: nn.Linear(8, 5), VECTORS),
    "Conv1d": (lambda: nn.Conv1d(4, 6, 3, padding="same", dilation=2), LINES),
    "Conv2d circular": (lambda: nn.Conv2d(4, 6, 3, padding=1, padding_mode="circular"), PLANES),
    "Conv2d reflect": (lambda: nn.Conv2d(4, 6, 3, padding=1, padding_mode="reflect"), PLANES),
    "Conv2d groups": (lambda: nn.Conv2d(4, 8, 3, stride=2, groups=2), PLANES),
    "Conv3d": (lambda: nn.Conv3d(4, 6, 3, padding=1), BOXES),
    "ConvTranspose1d": (lambda: nn.ConvTranspose1d(4, 6, 3, stride=2, output_padding=1), LINES),
    "ConvTranspose2d": (lambda: nn.ConvTranspose2d(4, 6, 3, stride=2, groups=2), PLANES),
    "ConvTranspose3d": (lambda: nn.ConvTranspose3d(4, 6, 3, stride=2), BOXES),
    "MaxPool1d": (lambda: nn.MaxPool1d(3, 2, ceil_mode=True), LINES),
    "MaxPool2d indices": (lambda: nn.MaxPool2d(2, return_indices=True), PLANES),
    "MaxPool3d": (lambda: nn.MaxPool3d(2), BOXES),
    "AvgPool1d": (lambda: nn.AvgPool1d(3, 2, 1), LINES),
    "AvgPool2d": (lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False), PLANES),
    "AvgPool3d": (lambda: nn.AvgPool3d(2), BOXES),
    "LPPool2d": (lambda: nn.LPPool2d(2, 3), PLANES),
    "AdaptiveAvgPool1d": (lambda: nn.AdaptiveAvgPool1d(5), LINES),
    "AdaptiveAvgPool2d": (lambda: nn.AdaptiveAvgPool2d((5, None)), PLANES),
    "AdaptiveAvgPool3d": (lambda: nn.AdaptiveAvgPool3d(2), BOXES),
    "AdaptiveMaxPool2d": (lambda: nn.AdaptiveMaxPool2d(5), PLANES),
    "Unfold": (lambda: nn.Unfold(3, padding=1), PLANES),
    "Fold": (lambda: nn.Sequential(nn.Unfold(2, stride=2), nn.Fold((12, 12), 2, stride=2)), PLANES),
    "ReflectionPad2d": (lambda: nn.ReflectionPad2d((1, 2, 3, 1)), PLANES),
    "ReplicationPad3d": (lambda: nn.ReplicationPad3d(1), BOXES),
    "CircularPad1d": (lambda: nn.CircularPad1d(2), LINES),
    "ZeroPad2d": (lambda: nn.ZeroPad2d((1, 0, 2, 0)), PLANES),
    "BatchNorm1d": (lambda: nn.BatchNorm1d(8), VECTORS),
    "BatchNorm3d": (lambda: nn.BatchNorm3d(4), BOXES),
    "InstanceNorm2d": (lambda: nn.InstanceNorm2d(4, affine=True), PLANES),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), PLANES),
    "LayerNorm": (lambda: nn.LayerNorm([4, 12]), LINES),
    "RMSNorm": (lambda: nn.RMSNorm(12), LINES),
    "LocalResponseNorm": (lambda: nn.LocalResponseNorm(3), PLANES),
    "CrossMapLRN2d": (lambda: nn.CrossMapLRN2d(3), PLANES),
    "PixelShuffle": (lambda: nn.PixelShuffle(2), PLANES),
    "PixelUnshuffle": (lambda: nn.PixelUnshuffle(2), PLANES),
    "ChannelShuffle": (lambda: nn.ChannelShuffle(2), PLANES),
    "Upsample nearest": (lambda: nn.Upsample(scale_factor=2), PLANES),
    "Upsample linear": (lambda: nn.Upsample(scale_factor=1.5, mode="linear"), LINES),
    "Upsample bilinear": (
        lambda: nn.Upsample(size=(7, 20), mode="bilinear", align_corners=True),
        PLANES,
    ),
    "Upsample bicubic": (lambda: nn.Upsample(scale_factor=2, mode="bicubic"), PLANES),
    "Upsample trilinear": (lambda: nn.Upsample(scale_factor=2, mode="trilinear"), BOXES),
    "Flatten": (lambda: nn.Sequential(nn.Flatten(2), nn.Unflatten(2, (3, 48))), PLANES),
    "Softmax2d": (lambda: nn.Softmax2d(), PLANES),
    "AdaptiveLogSoftmax": (lambda: LogProbabilities(), ("size", 32)),
    "weight_norm": (lambda: nn.utils.parametrizations.weight_norm(nn.Conv1d(4, 6, 3)), LINES),
    "spectral_norm": (lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(8, 5)), VECTORS),
    "orthogonal": (lambda: nn.utils.parametrizations.orthogonal(nn.Linear(8, 5)), VECTORS),
}
ACTIVATIONS = """
    CELU ELU GELU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid LogSoftmax Mish
    PReLU ReLU6 RReLU SELU SiLU Softmax Softmin Softplus Softshrink Softsign Tanhshrink GLU Sigmoid
""".split()


class LogProbabilities(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.AdaptiveLogSoftmaxWithLoss(32, 20, [5, 10])

    def forward(self, x):
        return self.inner.log_prob(x)


class Activations(nn.Module):
    """All of them at once: each has its tests elsewhere."""

    def __init__(self):
        super().__init__()
        need = {"LogSoftmax": {"dim": -1}, "Softmax": {"dim": -1}, "Softmin": {"dim": -1}}
        self.all = nn.ModuleList(getattr(nn, name)(**need.get(name, {})) for name in ACTIVATIONS)

    def forward(self, x):
        return [activation(x) for activation in self.all]


# --- Recurrent -----------------------------------------------------------------------------------

RECURRENT = {
    "RNN": lambda: nn.RNN(8, 6, 2, nonlinearity="relu", batch_first=True),
    "RNN bidirectional": lambda: nn.RNN(8, 6, bidirectional=True, batch_first=True),
    "GRU": lambda: nn.GRU(8, 6, 2, batch_first=True),
    "GRU bidirectional": lambda: nn.GRU(8, 6, bidirectional=True, batch_first=True),
    "LSTM": lambda: nn.LSTM(8, 6, 2, batch_first=True),
    "LSTM bidirectional": lambda: nn.LSTM(8, 6, 2, bidirectional=True, batch_first=True),
    "LSTM projected": lambda: nn.LSTM(8, 6, proj_size=4, batch_first=True),
}
CELLS = {
    "RNNCell": lambda: nn.RNNCell(8, 6),
    "GRUCell": lambda: nn.GRUCell(8, 6),
    "LSTMCell": lambda: nn.LSTMCell(8, 6),
}
SEQUENCE = (5, 3, 9)


class Packed(nn.Module):
    """Sequences of several lengths, packed and unpacked."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(8, 6, batch_first=True)

    def forward(self, x):
        packed = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([5, 3]), batch_first=True)
        out, _ = self.lstm(packed)
        return nn.utils.rnn.pad_packed_sequence(out, batch_first=True)[0]


# --- Attention -----------------------------------------------------------------------------------


def attention(is_causal=False, **more):
    module = nn.MultiheadAttention(16, 4, batch_first=True, **more)

    def call(m, q, k):
        mask = nn.Transformer.generate_square_subsequent_mask(6) if is_causal else None
        return m(q, k, k, attn_mask=mask, is_causal=is_causal, need_weights=not is_causal)

    return Case(
        Call(module, call), lambda n: (torch.randn(n, 6, 16), torch.randn(n, 6, 16)), (0, 0)
    )


def transformer():
    module = nn.Transformer(16, 4, 2, 2, 32, batch_first=True)
    return Case(module, lambda n: (torch.randn(n, 5, 16), torch.randn(n, 4, 16)), (0, 0))


def encoder(**more):
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, **more)
    return Case(
        nn.TransformerEncoder(layer, 2, enable_nested_tensor=False),
        noise(2, "size", 16),
        (1,),
        SEQUENCE,
    )


def causal_encoder():
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)

    def call(m, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        return m(x, mask=mask, is_causal=True)

    module = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    return Case(Call(module, call), noise(2, "size", 16), (1,), SEQUENCE)


def padded_encoder():
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)

    def call(m, x, mask):
        return m(x, src_key_padding_mask=mask)

    def inputs(n):
        mask = torch.zeros(n, 6, dtype=torch.bool)
        mask[:, 4:] = True
        return torch.randn(n, 6, 16), mask

    module = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    return Case(Call(module, call), inputs, (0, 0))


def decoder():
    layer = nn.TransformerDecoderLayer(16, 4, 32, batch_first=True)
    return Case(
        nn.TransformerDecoder(layer, 2),
        lambda n: (torch.randn(n, 4, 16), torch.randn(n, 5, 16)),
        (0, 0),
    )


# --- Losses --------------------------------------------------------------------------------------


def likes(n):
    return torch.randn(n, 6), torch.randn(n, 6)


def probabilities(n):
    return torch.rand(n, 6) * 0.8 + 0.1, torch.rand(n, 6)


def classes(n):
    return torch.randn(n, 6), torch.randint(0, 6, (n,))


def signs(n):
    return torch.randn(n, 6), torch.randint(0, 2, (n, 6)) * 2.0 - 1


def triples(n):
    return torch.randn(n, 6), torch.randn(n, 6), torch.randn(n, 6)


LOSSES = {
    "L1Loss": (nn.L1Loss, likes),
    "MSELoss": (nn.MSELoss, likes),
    "SmoothL1Loss": (nn.SmoothL1Loss, likes),
    "HuberLoss": (nn.HuberLoss, likes),
    "PoissonNLLLoss": (partial(nn.PoissonNLLLoss, full=True), probabilities),
    "KLDivLoss": (partial(nn.KLDivLoss, reduction="batchmean"), probabilities),
    "BCELoss": (nn.BCELoss, probabilities),
    "BCEWithLogitsLoss": (nn.BCEWithLogitsLoss, probabilities),
    "CrossEntropyLoss": (nn.CrossEntropyLoss, classes),
    "CrossEntropyLoss smoothed": (
        partial(nn.CrossEntropyLoss, label_smoothing=0.1, ignore_index=0),
        classes,
    ),
    "CrossEntropyLoss of probabilities": (nn.CrossEntropyLoss, probabilities),
    "NLLLoss": (nn.NLLLoss, classes),
    "MultiMarginLoss": (nn.MultiMarginLoss, classes),
    "HingeEmbeddingLoss": (nn.HingeEmbeddingLoss, signs),
    "SoftMarginLoss": (nn.SoftMarginLoss, signs),
    "MultiLabelSoftMarginLoss": (nn.MultiLabelSoftMarginLoss, probabilities),
    "TripletMarginLoss": (nn.TripletMarginLoss, triples),
    "MultiLabelMarginLoss": (
        nn.MultiLabelMarginLoss,
        lambda n: (torch.randn(n, 6), torch.tensor([[3, 0, -1, 1, 2, 4]] * n)),
    ),
    "MarginRankingLoss": (
        nn.MarginRankingLoss,
        lambda n: (torch.randn(n), torch.randn(n), torch.sign(torch.randn(n))),
    ),
    "CosineEmbeddingLoss": (
        nn.CosineEmbeddingLoss,
        lambda n: (*likes(n), torch.sign(torch.randn(n))),
    ),
    "GaussianNLLLoss": (nn.GaussianNLLLoss, lambda n: (*likes(n), torch.rand(n, 6) + 0.1)),
    "CTCLoss": (
        nn.CTCLoss,
        lambda n: (
            torch.randn(9, n, 6).log_softmax(2),
            torch.randint(1, 6, (n, 3)),
            torch.full((n,), 9),
            torch.full((n,), 3),
        ),
    ),
}
DISTANCES = {"CosineSimilarity": nn.CosineSimilarity, "PairwiseDistance": nn.PairwiseDistance}


# --- What has indices ----------------------------------------------------------------------------


def numbers(n):
    return (torch.randint(0, 10, (n, 4)),)


INDEXED = {
    "Embedding": lambda: nn.Embedding(10, 6, padding_idx=0),
    "Embedding max_norm": lambda: nn.Embedding(10, 6, max_norm=1.0),
    "EmbeddingBag mean": lambda: nn.EmbeddingBag(10, 6),
    "EmbeddingBag max": lambda: nn.EmbeddingBag(10, 6, mode="max"),
}


class Unpooled(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool, self.unpool = nn.MaxPool2d(2, return_indices=True), nn.MaxUnpool2d(2)

    def forward(self, x):
        return self.unpool(*self.pool(x))


def batch(module, inputs):
    """Inputs of any number of rows."""
    return Case(module(), inputs, tuple(0 for _ in inputs(1)))


def loss(name):
    kind, inputs = LOSSES[name]
    is_ctc = name == "CTCLoss"
    return Case(kind(), inputs, (1, 0, 0, 0) if is_ctc else tuple(0 for _ in inputs(1)))


def recurrent(make):
    # The batch: torch.export unrolls recurrent modules over the sequence.
    return Case(make(), noise("size", 5, 8), (0,))


def fractional():
    """With the numbers that it would draw: nobody could compare what others give."""

    def pool(m, x, drawn):
        return nn.functional.fractional_max_pool2d(
            x, 3, output_ratio=(0.5, 0.5), _random_samples=drawn
        )

    return Case(
        Call(nn.Identity(), pool),
        lambda n: (torch.randn(n, 4, 12, 12), torch.rand(n, 4, 2)),
        (0, 0),
    )


def bilinear():
    return Case(nn.Bilinear(4, 5, 6), lambda n: (torch.randn(n, 4), torch.randn(n, 5)), (0, 0))


def table():
    """Names, and what makes each case."""
    for name, (make, shape) in LAYERS.items():
        yield name, partial(batch, make, noise(*shape))
    yield "activations", partial(batch, Activations, noise("size", 8))
    for name, make in RECURRENT.items():
        yield name, partial(recurrent, make)
    for name, make in CELLS.items():
        yield name, partial(batch, make, noise("size", 8))
    yield "LSTM packed", lambda: Case(Packed(), lambda n: (torch.randn(2, 5, 8),))
    yield "MultiheadAttention", attention
    yield "MultiheadAttention causal", partial(attention, is_causal=True)
    yield "MultiheadAttention bias_kv", partial(attention, add_bias_kv=True, add_zero_attn=True)
    yield "Transformer", transformer
    yield "TransformerEncoder", encoder
    yield "TransformerEncoder norm_first", partial(encoder, norm_first=True, activation="gelu")
    yield "TransformerEncoder causal", causal_encoder
    yield "TransformerEncoder padded", padded_encoder
    yield "TransformerDecoder", decoder
    yield "Bilinear", bilinear
    yield "FractionalMaxPool2d", fractional
    yield "MaxUnpool2d", partial(batch, Unpooled, noise(*PLANES))
    for name in LOSSES:
        yield name, partial(loss, name)
    for name, kind in DISTANCES.items():
        yield name, partial(batch, kind, likes)
    for name, make in INDEXED.items():
        yield name, partial(batch, make, numbers)


def rows():
    for name, make in table():
        yield Row(f"torch.nn/{name}", make)
