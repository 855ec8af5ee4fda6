"""Architectures of torchvision: by name, with the side of an image and what makes them small."""

from functools import partial

import torch
from tour_case import Call, Case, Row, image, noise

FEW = {"num_classes": 10}
NARROW = {**FEW, "width_mult": 0.35}
TINY_VIT = {
    **FEW,
    "image_size": 32,
    "patch_size": 8,
    "num_layers": 2,
    "num_heads": 2,
    "hidden_dim": 32,
    "mlp_dim": 64,
}
TINY_SWIN = {
    **FEW,
    "patch_size": [4, 4],
    "embed_dim": 16,
    "depths": [2, 2],
    "num_heads": [2, 4],
    "window_size": [4, 4],
}
UNTRAINED = {**FEW, "aux_logits": False, "init_weights": False}

CLASSIFY = {
    "alexnet": (64, FEW),
    "convnext_tiny": (32, FEW),
    "densenet121": (32, FEW),
    "efficientnet_b0": (32, FEW),
    "efficientnet_v2_s": (32, FEW),
    "googlenet": (32, UNTRAINED),
    "inception_v3": (75, UNTRAINED),
    "mnasnet0_5": (32, FEW),
    "mnasnet1_0": (32, FEW),
    "mobilenet_v2": (32, NARROW),
    "mobilenet_v3_large": (32, NARROW),
    "mobilenet_v3_small": (32, FEW),
    "regnet_x_400mf": (32, FEW),
    "regnet_y_400mf": (32, FEW),
    "resnet18": (32, FEW),
    "resnet50": (32, FEW),
    "resnext50_32x4d": (32, FEW),
    "shufflenet_v2_x0_5": (32, FEW),
    "shufflenet_v2_x1_0": (32, FEW),
    "squeezenet1_0": (32, FEW),
    "squeezenet1_1": (32, FEW),
    "vgg11_bn": (32, FEW),
    "maxvit_t": (224, FEW),
}
SEGMENT = {
    "deeplabv3_mobilenet_v3_large": (33, {**FEW, "weights_backbone": None}),
    "deeplabv3_resnet50": (33, {**FEW, "weights_backbone": None}),
    "fcn_resnet50": (33, {**FEW, "weights_backbone": None, "aux_loss": True}),
    "lraspp_mobilenet_v3_large": (32, {**FEW, "weights_backbone": None}),
}
# Frames, side.
VIDEO = {
    "mc3_18": (4, 32, FEW),
    "r2plus1d_18": (4, 32, FEW),
    "r3d_18": (4, 32, FEW),
    "s3d": (16, 224, FEW),
}
BARE = {"weights_backbone": None, "num_classes": 5}
DETECT = {
    "fcos_resnet50_fpn": 64,
    "retinanet_resnet50_fpn": 64,
    "ssd300_vgg16": 300,
    "ssdlite320_mobilenet_v3_large": 320,
}


def named(name, **more):
    import torchvision

    return torchvision.models.get_model(name, weights=None, **more)


def classify(name, side, more):
    return Case(named(name, **more), image(side), (0,))


def small_vit():
    from torchvision.models.vision_transformer import VisionTransformer

    return Case(VisionTransformer(**TINY_VIT), image(32), (0,))


def small_swin(block):
    import torchvision.models.swin_transformer as swin

    kind = {
        "1": {},
        "2": {"block": swin.SwinTransformerBlockV2, "downsample_layer": swin.PatchMergingV2},
    }
    return Case(swin.SwinTransformer(**TINY_SWIN, **kind[block]), image(32), (0,))


def video(name, frames, side, more):
    return Case(named(name, **more), noise("size", 3, frames, side, side), (0,))


def small_mvit(rel_pos):
    from torchvision.models.video.mvit import MSBlockConfig, MViT

    cube = [3, 3, 3]
    first = MSBlockConfig(1, 16, 32, cube, cube, [1, 1, 1], [1, 4, 4])
    second = MSBlockConfig(2, 32, 32, cube, cube, [1, 2, 2], [1, 2, 2])
    module = MViT(
        (32, 32),
        4,
        [first, second],
        rel_pos,
        rel_pos,
        rel_pos,
        rel_pos,
        attention_dropout=0.0,
        num_classes=10,
    )
    return Case(module, noise("size", 3, 4, 32, 32), (0,))


def small_swin3d():
    from torchvision.models.video.swin_transformer import SwinTransformer3d

    module = SwinTransformer3d([2, 4, 4], 16, [2, 2], [2, 4], [4, 4, 4], num_classes=10)
    return Case(module, noise("size", 3, 4, 32, 32), (0,))


def optical_flow(name):
    def flow(module, first, second):
        return module(first, second, num_flow_updates=2)

    module = Call(named(name), flow)
    return Case(module, lambda n: (torch.randn(n, 3, 128, 128), torch.randn(n, 3, 128, 128)))


def heads(name, side):
    """What a detector computes before it picks boxes by what it has found."""

    def features_and_heads(module, x):
        return module.head(list(module.backbone(x).values()))

    return Case(Call(named(name, **BARE), features_and_heads), image(side), (0,))


def proposals():
    """The first half of Faster R-CNN: features, and what each anchor is."""

    def heads_of_rpn(module, x):
        return module.rpn.head(list(module.backbone(x).values()))

    module = named("fasterrcnn_mobilenet_v3_large_320_fpn", **BARE)
    return Case(Call(module, heads_of_rpn), image(64), (0,))


def quantizable(name):
    """With the modules that quantization asks for, in floats."""
    import torchvision.models.quantization as quantization

    return Case(
        getattr(quantization, name)(weights=None, quantize=False, num_classes=10), image(75), (0,)
    )


def rows():
    for name, (side, more) in CLASSIFY.items():
        yield Row(f"torchvision/{name}", partial(classify, name, side, more))
    yield Row("torchvision/vision_transformer", small_vit)
    yield Row("torchvision/swin_transformer", partial(small_swin, "1"))
    yield Row("torchvision/swin_transformer_v2", partial(small_swin, "2"))
    for name, (side, more) in SEGMENT.items():
        yield Row(f"torchvision/{name}", partial(classify, name, side, more))
    for name, (frames, side, more) in VIDEO.items():
        yield Row(f"torchvision/{name}", partial(video, name, frames, side, more))
    yield Row("torchvision/mvit_v1", partial(small_mvit, False))
    yield Row("torchvision/mvit_v2", partial(small_mvit, True))
    yield Row("torchvision/swin3d", small_swin3d)
    yield Row("torchvision/raft_small", partial(optical_flow, "raft_small"))
    for name, side in DETECT.items():
        yield Row(f"torchvision/{name}", partial(heads, name, side))
    yield Row("torchvision/fasterrcnn_mobilenet_v3_large_320_fpn", proposals)
    for name in (
        "mobilenet_v2",
        "mobilenet_v3_large",
        "resnet18",
        "shufflenet_v2_x0_5",
        "googlenet",
    ):
        yield Row(f"torchvision/quantizable_{name}", partial(quantizable, name))


def preload():
    import torchvision  # noqa: F401
