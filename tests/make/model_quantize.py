"""How the quantized programs of tests/models come about: by PT2E, and by torchao's quantize_."""

import torch
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
    XNNPACKQuantizer,
    get_symmetric_quantization_config,
)
from torch import nn
from torch.nn import functional as F
from torchao.quantization import (
    Int8DynamicActivationInt8WeightConfig,
    Int8DynamicActivationIntxWeightConfig,
    IntxWeightOnlyConfig,
    PerAxis,
    PerGroup,
    quantize_,
)
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.utils import unwrap_tensor_subclass


def pt2e(is_dynamic):
    """Per channel, calibrated on the example and on numbers like it."""

    def quantize(module, example):
        config = get_symmetric_quantization_config(is_per_channel=True, is_dynamic=is_dynamic)
        graph = torch.export.export(module, example, strict=True).module()
        observed = prepare_pt2e(graph, XNNPACKQuantizer().set_global(config))
        with torch.no_grad():
            for args in [example, tuple(torch.randn_like(x) for x in example)]:
                observed(*args)
        return convert_pt2e(observed)

    return quantize


def only(layer):
    return lambda module, name: module is layer


def every_layer_its_own_way(module, example):
    quantize_(module, IntxWeightOnlyConfig(torch.int8, PerAxis(0)), only(module.table))
    eight_by_four = Int8DynamicActivationIntxWeightConfig(torch.int4, PerGroup(32))
    quantize_(module, eight_by_four, only(module.eight_by_four))
    quantize_(module, Int8DynamicActivationInt8WeightConfig(), only(module.eight_by_eight))
    quantize_(module, IntxWeightOnlyConfig(torch.int4, PerGroup(16)), only(module.weight_only))
    return unwrap_tensor_subclass(module)


class QuantizedLayers(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(20, 32)
        self.eight_by_four = nn.Linear(32, 32)
        self.eight_by_eight = nn.Linear(32, 32)
        self.weight_only = nn.Linear(32, 8)

    def forward(self, ids):
        x = F.relu(self.eight_by_four(self.table(ids)))
        return self.weight_only(F.relu(self.eight_by_eight(x)))


class QuantizedCnn(nn.Module):
    """Depthwise and pointwise layers, a residual sum, a concatenation and a mean of the image."""

    def __init__(self):
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, 8, 3, stride=2, bias=False), nn.BatchNorm2d(8)
        self.deep, self.point = nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.Conv2d(8, 8, 1)
        self.head = nn.Linear(16, 5)
        nn.init.normal_(self.norm.running_mean, 0, 0.1)
        nn.init.uniform_(self.norm.weight, 0.8, 1.2)

    def forward(self, x):
        x = F.relu(self.norm(self.stem(x)))
        y = x + self.point(F.relu6(self.deep(x)))
        return self.head(torch.cat([x, y], 1).mean((2, 3)))
