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
# The same with what picks boxes, and others: side, and what keeps boxes of random weights few.
SMALL_IMAGE = {"min_size": 64, "max_size": 64}
ONE_STAGE = {"topk_candidates": 50, "detections_per_img": 10, "score_thresh": 0.001}
TWO_STAGES = {
    **SMALL_IMAGE,
    "rpn_pre_nms_top_n_test": 50,
    "rpn_post_nms_top_n_test": 20,
    "box_detections_per_img": 10,
    "box_score_thresh": 0.05,
}
DETECT_WHOLE = {
    "fcos_resnet50_fpn": (64, {**SMALL_IMAGE, **ONE_STAGE}),
    "retinanet_resnet50_fpn": (64, {**SMALL_IMAGE, **ONE_STAGE}),
    "ssd300_vgg16": (300, {**ONE_STAGE, "score_thresh": 0.01}),
    "ssdlite320_mobilenet_v3_large": (320, {**ONE_STAGE, "score_thresh": 0.01}),
    "fasterrcnn_mobilenet_v3_large_320_fpn": (64, TWO_STAGES),
    "maskrcnn_resnet50_fpn": (64, TWO_STAGES),
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
    """The tensors of a detector before it picks boxes."""

    def features_and_heads(module, x):
        return module.head(list(module.backbone(x).values()))

    return Case(Call(named(name, **BARE), features_and_heads), image(side), (0,))


def proposals():
    """The first half of Faster R-CNN: features, and what each anchor is."""

    def heads_of_rpn(module, x):
        return module.rpn.head(list(module.backbone(x).values()))

    module = named("fasterrcnn_mobilenet_v3_large_320_fpn", **BARE)
    return Case(Call(module, heads_of_rpn), image(64), (0,))


def nms_by_class(boxes, scores, classes, iou_threshold):
    """torchvision's batched_nms, which asks whether there are any boxes, and so is not exported."""
    import torchvision.ops

    far = boxes.max() + 1
    return torchvision.ops.nms(
        boxes + (classes.to(boxes) * far)[:, None], scores, iou_threshold
    )


def number_of(items):
    """Python's len() makes a number of this while a graph is traced."""
    return items.shape[0] if isinstance(items, torch.Tensor) else len(items)


def exportable():
    """Mends what keeps torchvision's detectors from being exported, here as users have to."""
    import torchvision.models.detection.transform as transform
    import torchvision.ops

    torchvision.ops.boxes.batched_nms = nms_by_class
    torchvision.ops.poolers.len = number_of
    # Masks as large as boxes, not as the image: a loop over boxes, one by one.
    transform.paste_masks_in_image = lambda masks, boxes, shape: masks


def used(module, images):
    """With the statistics of some images: without, deep layers tell nothing apart."""
    norms = [m for m in module.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    for norm in norms:
        norm.train()
        norm.momentum = None
    with torch.no_grad():
        module(list(images))
    for norm in norms:
        norm.eval()


def detector(name, side, more):
    """From one image to boxes."""
    exportable()
    module = named(name, **BARE, **more)
    used(module.eval(), torch.rand(2, 3, side, side))

    def first(module, x):
        return module([x])

    return Case(Call(module, first), lambda n: (torch.rand(3, side, side),))


class Regions(torch.nn.Module):
    """All that torchvision does with regions of an image, by places that do not change."""

    def __init__(self):
        super().__init__()
        self.register_buffer("boxes", torch.tensor([[0, 1.0, 2, 9, 11], [1, -2, 0, 20, 7]]))

    def forward(self, x):
        import torchvision.ops as ops

        return (
            ops.roi_align(x, self.boxes, (3, 2), 0.5, aligned=True),
            ops.roi_pool(x, self.boxes, (2, 3), 0.5),
            ops.ps_roi_align(x, self.boxes, 2, 0.5, 2),
        )


class Deformed(torch.nn.Module):
    """A convolution that decides for itself where it looks."""

    def __init__(self):
        super().__init__()
        from torchvision.ops import DeformConv2d

        self.offsets, self.masks = torch.nn.Conv2d(8, 36, 3, 2, 1), torch.nn.Conv2d(8, 18, 3, 2, 1)
        self.conv = DeformConv2d(8, 6, 3, 2, 1, groups=2)

    def forward(self, x):
        return self.conv(x, self.offsets(x), self.masks(x).sigmoid())


def operators(kind):
    return Case(kind(), noise("size", 8, 12, 10), (0,))


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
    for name, (side, more) in DETECT_WHOLE.items():
        yield Row(f"torchvision/whole {name}", partial(detector, name, side, more))
    yield Row("torchvision/regions", partial(operators, Regions))
    yield Row("torchvision/deform_conv2d", partial(operators, Deformed))
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
