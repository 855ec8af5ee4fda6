"""Makes the programs that are too large to keep: MobileNetV2 and ResNet-18 (torchvision's layers,
random weights), the first in 8 bits, too, a small vision transformer, an encoder of MiniLM's size,
one of the size of a vision transformer, unrolled LSTMs and linear layers, as .pt2; and what other
engines read of the ones that run side by side: .onnx, in 8 bits by qdq.py and ort_int8.py, and the
lists of calls of dump_graph.py.

Usage: make_models.py FOLDER NAME...
"""

import sys
from pathlib import Path

import torch
from dump_graph import dump, parameters
from torch import nn

SAMPLES = Path(__file__).resolve().parent.parent.parent / "models"


def conv_bn(inputs, outputs, kernel, stride, groups=1):
    padding = (kernel - 1) // 2
    conv = nn.Conv2d(inputs, outputs, kernel, stride, padding, groups=groups, bias=False)
    return [conv, nn.BatchNorm2d(outputs), nn.ReLU6(inplace=True)]


class Inverted(nn.Module):
    """Expand, filter each channel, project; the input is added where shapes allow."""

    def __init__(self, inputs, outputs, stride, expansion):
        super().__init__()
        hidden = inputs * expansion
        layers = conv_bn(inputs, hidden, 1, 1) if expansion != 1 else []
        layers += conv_bn(hidden, hidden, 3, stride, groups=hidden)
        layers += [nn.Conv2d(hidden, outputs, 1, bias=False), nn.BatchNorm2d(outputs)]
        self.conv = nn.Sequential(*layers)
        self.residual = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.conv(x) if self.residual else self.conv(x)


class MobileNetV2(nn.Module):
    # expansion, channels, repeats, stride of the first
    BLOCKS = [
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    ]

    def __init__(self):
        super().__init__()
        layers, channels = conv_bn(3, 32, 3, 2), 32
        for expansion, outputs, repeats, stride in self.BLOCKS:
            for i in range(repeats):
                layers.append(Inverted(channels, outputs, stride if i == 0 else 1, expansion))
                channels = outputs
        layers += conv_bn(channels, 1280, 1, 1)
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(1280, 1000))

    def forward(self, x):
        x = nn.functional.adaptive_avg_pool2d(self.features(x), (1, 1))
        return self.classifier(torch.flatten(x, 1))


def mobilenet():
    """Weights and statistics with which every layer tells inputs apart, as in a trained model."""
    model, x = MobileNetV2(), torch.randn(1, 3, 224, 224)
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out")
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.bias, 0, 0.2)
            module.momentum = 1  # the statistics are those of the next batch
    with torch.no_grad():
        model(torch.randn(4, 3, 224, 224))
    return model, x


class Residual(nn.Module):
    """Two convolutions of 3x3; the input is added, by a third where shapes change."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        first, second = conv_bn(inputs, outputs, 3, stride), conv_bn(outputs, outputs, 3, 1)
        self.conv = nn.Sequential(*first[:2], nn.ReLU(), *second[:2])
        changes = stride != 1 or inputs != outputs
        self.short = nn.Sequential(*conv_bn(inputs, outputs, 1, stride)[:2] if changes else [])

    def forward(self, x):
        return nn.functional.relu(self.conv(x) + self.short(x))


def resnet18():
    layers = [*conv_bn(3, 64, 7, 2)[:2], nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    for inputs, outputs in ((64, 64), (64, 128), (128, 256), (256, 512)):
        layers += [Residual(inputs, outputs, outputs // inputs), Residual(outputs, outputs, 1)]
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000)]
    return nn.Sequential(*layers), torch.randn(1, 3, 224, 224)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(32, 32, num_layers=3, batch_first=True)

    def forward(self, x):
        return self.lstm(x)[0]


def recurrent(steps):
    return Recurrent(), torch.randn(1, steps, 32)


def mobilenet_int8():
    """As the official quantizer has it for XNNPACK: static, weights by channel."""
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
        XNNPACKQuantizer,
        get_symmetric_quantization_config,
    )
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    model, x = mobilenet()
    graph = torch.export.export(model.eval(), (x,)).module()
    config = get_symmetric_quantization_config(is_per_channel=True)
    prepared = prepare_pt2e(graph, XNNPACKQuantizer().set_global(config))
    with torch.no_grad():
        for _ in range(4):
            prepared(torch.randn_like(x))
    return convert_pt2e(prepared), x


class Encoder(nn.Module):
    """Sentences to vectors, in as many layers as asked for."""

    def __init__(self, width, layers, heads, length, words):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList(EncoderLayer(width, heads) for _ in range(layers))
        self.register_buffer("order", torch.arange(length))

    def forward(self, ids):
        x = self.norm(self.words(ids) + self.places(self.order))
        for layer in self.layers:
            x = layer(x)
        return nn.functional.normalize(x.mean(1), dim=-1)


class EncoderLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x):
        batch, length, width = x.shape
        shape = (batch, length, self.heads, width // self.heads)
        q, k, v = (f(x).view(shape).transpose(1, 2) for f in (self.q, self.k, self.v))
        seen = nn.functional.scaled_dot_product_attention(q, k, v)
        x = self.norm_1(x + self.o(seen.transpose(1, 2).reshape(batch, length, width)))
        return self.norm_2(x + self.down(nn.functional.gelu(self.up(x))))


class Patches(nn.Module):
    """A vision transformer, with the norms of its layers behind them: ViT-Tiny/16 by default."""

    def __init__(self, width=192, layers=12, heads=3, size=224, patch=16):
        super().__init__()
        self.cut = nn.Conv2d(3, width, patch, patch)
        self.first = nn.Parameter(torch.randn(1, 1, width))
        self.places = nn.Parameter(torch.randn(1, (size // patch) ** 2 + 1, width))
        self.layers = nn.Sequential(*(EncoderLayer(width, heads) for _ in range(layers)))
        self.head = nn.Linear(width, 1000)

    def forward(self, x):
        x = torch.cat([self.first, self.cut(x).flatten(2).transpose(1, 2)], 1)
        return self.head(self.layers(x + self.places)[:, 0])


def encoder(width, layers, heads, words):
    return Encoder(width, layers, heads, 128, words), torch.randint(0, words, (1, 128))


MODELS = {
    "mobilenet_v2": mobilenet,
    "mobilenet_v2_int8": mobilenet_int8,
    "resnet18": resnet18,
    "vit_tiny": lambda: (Patches(), torch.randn(1, 3, 224, 224)),
    "minilm": lambda: encoder(384, 6, 12, 30522),
    "vit_350mb": lambda: encoder(768, 12, 12, 2048),
    "lstm_160": lambda: recurrent(160),
    "lstm_1280": lambda: recurrent(1280),
    "linear_384": lambda: (nn.Linear(384, 384), torch.randn(192, 384)),
    "linear_500mb": lambda: (nn.Linear(11180, 11180), torch.randn(1, 11180)),
}


class Stateless(nn.Module):
    """A program whose changing buffers are inputs and outputs after its own."""

    def __init__(self, program):
        super().__init__()
        signature = program.run_decompositions().graph_signature
        self.names = list(signature.buffers_to_mutate.values())
        self.first = [program.state_dict[name] for name in self.names]
        self.program = program.module()

    def forward(self, tokens, places, *states):
        states = [state.clone() for state in states]
        buffers = dict(zip(self.names, states, strict=True))
        logits = torch.func.functional_call(self.program, buffers, (tokens, places))
        return logits, *states


def write_onnx(model, inputs, path):
    torch.onnx.export(model, inputs, path, dynamo=True, external_data=False, verbose=False)


def export_story(name, folder):
    """Decoding, for engines that have one method and no state, and so needs no prefilling."""
    program = torch.export.load(SAMPLES / f"{name}.decode.pt2")
    dump(program, folder / name)
    model = Stateless(program)
    inputs = [torch.zeros(shape, dtype=torch.int64) for shape in ((1, 1), (1,))]
    with torch.no_grad():
        inputs = (*inputs, *model.first)
        write_onnx(torch.export.export(model, inputs), inputs, folder / f"{name}.onnx")


def export(name, folder):
    torch.manual_seed(0)
    model, x = MODELS[name]()
    # A quantized graph is one for inference already, and says so when asked to be.
    program = torch.export.export(model if name.endswith("int8") else model.eval(), (x,))
    if name in ("mobilenet_v2", "minilm"):
        write_onnx(model, (x,), folder / f"{name}.onnx")
        dump(program, folder / name)
    if name == "mobilenet_v2_int8":
        from qdq import write_qdq  # its onnx is the bench's alone

        write_qdq(program, parameters(program), folder / f"{name}.onnx")
    torch.export.save(program, folder / f"{name}.pt2")


def main(folder, names):
    for name in names:
        if name in MODELS:
            export(name, folder)
        elif name == "stories260k":
            export_story(name, folder)
        elif name == "face-rfb320_int8":
            from ort_int8 import write_face  # onnxruntime is the bench's alone

            write_face(folder, name)
        else:
            dump(torch.export.load(SAMPLES / f"{name}.pt2"), folder / name)
        print(f"made {name}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), dict.fromkeys(sys.argv[2:]))
