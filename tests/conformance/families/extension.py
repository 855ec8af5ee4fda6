"""torchvision's operators, where its compiled part was built for another PyTorch, as it is for one
without a GPU: named and computed here, so that models export with them as they do for everybody.

Their meaning is in torchvision's documentation; their speed does not matter."""

import sys
from importlib.util import find_spec
from pathlib import Path

import torch

SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, "
    "SymInt pooled_width, int sampling_ratio, bool aligned) -> Tensor",
    "roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, "
    "SymInt pooled_width) -> (Tensor, Tensor)",
    "ps_roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, "
    "SymInt pooled_width, int sampling_ratio) -> (Tensor, Tensor)",
    "ps_roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, "
    "SymInt pooled_width) -> (Tensor, Tensor)",
    "deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, "
    "SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, "
    "SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask) -> Tensor",
)
KEPT = []


# --- Boxes ---------------------------------------------------------------------------------------


def overlaps(box, boxes):
    """Intersection over union of one box and others."""
    sides = (torch.minimum(box[2:], boxes[:, 2:]) - torch.maximum(box[:2], boxes[:, :2])).clamp(0)
    areas = (boxes[:, 2:] - boxes[:, :2]).prod(1)
    both = sides.prod(1)
    return both / ((box[2:] - box[:2]).prod() + areas - both)


def nms(dets, scores, iou_threshold):
    left, kept = scores.sort(descending=True, stable=True).indices, []
    while left.numel():
        kept.append(int(left[0]))
        left = left[1:]
        left = left[~(overlaps(dets[kept[-1]], dets[left]).double() > iou_threshold)]
    return torch.tensor(kept, dtype=torch.int64)


# --- Regions -------------------------------------------------------------------------------------


def along(at, size):
    """Places along a side: whether they are in the image, the pixels around them, and how near
    those are."""
    inside = (at >= -1) & (at <= size)
    at = at.nan_to_num(0).clamp(0, size - 1)
    low = at.floor()
    return inside, (low.long(), (low + 1).clamp(max=size - 1).long()), (1 - (at - low), at - low)


def at_points(image, ys, xs, takes_first):
    """Values of one image at all ys and xs, rounded as torchvision does; beyond one pixel around it
    zero, or, as roi_align has it, no part of the first pixel, which may be infinite."""
    is_row, rows, by_row = along(ys, image.shape[-2])
    is_column, columns, by_column = along(xs, image.shape[-1])
    total = 0
    for i in range(4):
        weight = by_row[i // 2][:, None] * by_column[i % 2]
        total = total + weight * image[:, rows[i // 2][:, None], columns[i % 2]]
    none = image[:, :1, :1] * 0 if takes_first else torch.zeros_like(image[:, :1, :1])
    return torch.where(is_row[:, None] & is_column, total, none)


def sample_places(start, width, bins, samples):
    first = start + torch.arange(bins, dtype=start.dtype) * width
    steps = (torch.arange(samples, dtype=start.dtype) + 0.5) * width / samples
    return (first[:, None] + steps).flatten()


def mean_of(points, rows, columns, many):
    """The samples of each bin, added up one after the other."""
    cells = points.unflatten(2, (columns, many[0])).unflatten(1, (rows, many[1]))
    total = 0
    for i in range(many[1]):
        for j in range(many[0]):
            total = total + cells[:, :, i, :, j]
    return total / (many[0] * many[1])


def roi_align(image, rois, scale, rows, columns, ratio, aligned, takes_first=True):
    out = torch.zeros(len(rois), image.shape[1], rows, columns, dtype=image.dtype)
    for k, roi in enumerate(rois):
        start, end = (corner * scale - 0.5 * aligned for corner in (roi[1:3], roi[3:5]))
        sides = end - start if aligned else (end - start).clamp(1)
        bins = sides / torch.tensor([columns, rows])
        many = [ratio] * 2 if ratio > 0 else [int(n) for n in bins.ceil().clamp(0)]
        if 0 in many:
            continue
        x, y = (
            sample_places(start[d], bins[d], n, many[d]) for d, n in enumerate((columns, rows))
        )
        points = at_points(image[int(roi[0])], y, x, takes_first)
        out[k] = mean_of(points, rows, columns, many)
    return out


def ps_roi_align(image, rois, scale, rows, columns, ratio):
    whole = roi_align(image, rois, scale, rows, columns, ratio, True, False)
    mapping = torch.arange(image.shape[1], dtype=torch.int32).reshape(-1, rows, columns)
    y, x = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
    return whole[:, mapping.long(), y, x], mapping.expand(len(rois), -1, -1, -1).contiguous()


def span(start, end, size, number, limit):
    """Begin and end of the bins of a region, in whole pixels."""
    width = max(end - start + 1, 1) / number
    places = torch.arange(number)
    first, last = (places * width).floor() + start, ((places + 1) * width).ceil() + start
    return list(zip(first.clamp(0, limit).int().tolist(), last.clamp(0, limit).int().tolist()))


def roi_pool(image, rois, scale, rows, columns):
    height, width = image.shape[-2:]
    out = torch.zeros(len(rois), image.shape[1], rows, columns, dtype=image.dtype)
    where = torch.full(out.shape, -1, dtype=torch.int32)
    for k, roi in enumerate(rois):
        # A half goes away from zero, as in C.
        x0, y0, x1, y1 = ((v := float(c) * scale) + (0.5 if v >= 0 else -0.5) for c in roi[1:])
        ys = span(int(y0), int(y1), height, rows, height)
        xs = span(int(x0), int(x1), width, columns, width)
        for i, (top, bottom) in enumerate(ys):
            for j, (left, right) in enumerate(xs):
                part = image[int(roi[0]), :, top:bottom, left:right]
                if part.numel():
                    out[k, :, i, j], at = part.flatten(1).max(1)
                    line = right - left
                    where[k, :, i, j] = ((top + at // line) * width + left + at % line).int()
    return out, where


# --- Convolutions whose taps move ----------------------------------------------------------------


def between_pixels(image, y, x):
    """Values of images at places of their own, rounded as torchvision does; outside there is 0."""
    height, width = image.shape[-2:]
    inside = (y > -1) & (y < height) & (x > -1) & (x < width)
    y, x = y.nan_to_num(0), x.nan_to_num(0)
    down, right = y - y.floor(), x - x.floor()
    total = 0
    for i in range(4):
        row, column = y.floor() + i // 2, x.floor() + i % 2
        is_there = inside & (row >= 0) & (row < height) & (column >= 0) & (column < width)
        at = row.clamp(0, height - 1).long() * width + column.clamp(0, width - 1).long()
        at = at.flatten(1)[:, None].expand(-1, image.shape[1], -1)
        pixel = image.flatten(2).gather(2, at).unflatten(2, y.shape[1:])
        pixel = torch.where(is_there[:, None], pixel, torch.zeros_like(pixel))
        weight = (down if i // 2 else 1 - down) * (right if i % 2 else 1 - right)
        total = total + weight[:, None] * pixel
    return torch.where(inside[:, None], total, torch.zeros_like(total))


def tap(image, offset, tap_y, tap_x, stride):
    """The input of one tap: a group of channels in a batch of its own."""
    rows, columns = offset.shape[-2:]
    y = offset[:, 0] + (torch.arange(rows)[:, None] * stride[0] + tap_y)
    x = offset[:, 1] + (torch.arange(columns) * stride[1] + tap_x)
    return between_pixels(image, y, x)


def deform_conv2d(x, weight, offset, mask, bias, *sizes):
    stride, pad, dilation, (groups, parts, use_mask) = sizes[:2], sizes[2:4], sizes[4:6], sizes[6:]
    batch, _, height, width = x.shape
    high, wide = weight.shape[2:]
    rows, columns = offset.shape[-2:]
    image = x.reshape(batch * parts, -1, height, width)
    moves = offset.reshape(batch * parts, high * wide, 2, rows, columns)
    masks = mask.reshape(batch * parts, high * wide, 1, rows, columns) if use_mask else None
    taps = []
    for n in range(high * wide):
        at = (n // wide * dilation[0] - pad[0], n % wide * dilation[1] - pad[1])
        seen = tap(image, moves[:, n], *at, stride)
        taps.append(seen * masks[:, n] if use_mask else seen)
    seen = torch.stack(taps, 2).reshape(batch, groups, -1, rows, columns).double()
    kernels = weight.double().reshape(groups, weight.shape[0] // groups, -1)
    out = torch.einsum("bgkyx,gok->bgoyx", seen, kernels).flatten(1, 2)
    return (out + bias.double()[:, None, None]).to(x.dtype)


COMPUTED = {
    "nms": nms,
    "roi_align": roi_align,
    "roi_pool": roi_pool,
    "ps_roi_align": ps_roi_align,
    "deform_conv2d": deform_conv2d,
}


def declare():
    """Called before torchvision is imported; whether anything was missing."""
    found = find_spec("torchvision")
    if found is None:
        raise SystemExit(
            "torchvision, timm and transformers are missing: npm run conformance -- tour"
        )
    try:
        torch.ops.load_library(str(Path(found.origin).parent / "_C.so"))
        return
    except OSError:
        pass
    library = torch.library.Library("torchvision", "DEF")
    KEPT.append(library)  # what it declares goes with it
    for schema in SCHEMAS:
        library.define(schema)
    for name, function in COMPUTED.items():
        library.impl(name, function, "CPU")
    complete()


def declare_alone():
    """nms, deform_conv2d and regions, but of roi_pool, where torchvision is not installed."""
    library = torch.library.Library("torchvision", "DEF")
    KEPT.append(library)
    shapes = {
        "nms": lambda dets, *_: dets.new_empty(
            torch.library.get_ctx().new_dynamic_size(), dtype=torch.int64
        ),
        "roi_align": lambda x, rois, scale, rows, columns, *_: x.new_empty(
            rois.shape[0], x.shape[1], rows, columns
        ),
        "ps_roi_align": lambda x, rois, scale, rows, columns, *_: tuple(
            x.new_empty(rois.shape[0], x.shape[1] // (rows * columns), rows, columns, dtype=dtype)
            for dtype in (x.dtype, torch.int32)
        ),
        "deform_conv2d": lambda x, weight, offset, *_: x.new_empty(
            x.shape[0], weight.shape[0], *offset.shape[-2:]
        ),
    }
    for name, shape in shapes.items():
        library.define(next(schema for schema in SCHEMAS if schema.startswith(f"{name}(")))
        library.impl(name, COMPUTED[name], "CPU")
        torch.library.register_fake(f"torchvision::{name}", shape)


def complete():
    """The work that torchvision does itself if its compiled part is there."""
    import torchvision._meta_registrations as shapes

    for name in COMPUTED:
        if name != "nms":
            torch.library.register_fake(f"torchvision::{name}", getattr(shapes, f"meta_{name}"))
    for name in ("torchvision.extension", "torchvision.ops.roi_align"):
        sys.modules[name]._has_ops = lambda: True
