"""Our quantization against the official one, with the same calibration data: the same nodes with
the same scales and the same integers, and as right on the official runtime.

The official side prepares, calibrates and converts with XNNPACKQuantizer and lowers as its recipes
do; ours is the command, of which the record has the quantized graph and the report the scales.
The cases are run by run.py, which has each in a process of its own.
"""

import copy
import json
import math
from dataclasses import dataclass
from unittest import mock

import picture
import recipe_graphs
import node_server
import runtimes

RECIPES = ("static_per_channel", "static_per_tensor", "dynamic_per_channel")
BATCHES = 4
FLOOR = 5  # decibels of what is right at all: weights of MobileNetV2 are random
WORSE = 1.0  # decibels that we may be below the official file on its runtime

# Graphs that may differ, and why. Each reason comes with its proof, an official side on which it
# is mended: with that, nothing may differ. A reason that explains nothing any more is an error.
#
# Products of float32 are summed up in another order here than in PyTorch, so that activations, and
# with them scales, differ in the last place. A histogram may then drop a bin more or less at its
# ends, which tells by some hundredths. Proof: official observers that see our activations.
ROUNDING = "activations are rounded otherwise"
# The official quantizer leaves a convolution before a relu alone when it quantizes dynamically,
# because it waits for a pattern that it does not try. Proof: the same without the waiting.
BEFORE_RELU = "convolutions before a relu are quantized, too"

EXCEPTIONS = {
    ("mobilenet_v2", "static_per_channel"): ROUNDING,
    ("mobilenet_v2", "static_per_tensor"): ROUNDING,
    ("face-rfb320", "static_per_channel"): ROUNDING,
    ("face-rfb320", "static_per_tensor"): ROUNDING,
    ("cnn", "dynamic_per_channel"): BEFORE_RELU,
    ("face-rfb320", "dynamic_per_channel"): BEFORE_RELU,
}
FARTHEST = 0.06  # of scales, where activations are rounded otherwise

# Least decibels of a program that the official stack gets wrong (3.6 here), on its runtime.
LEAST = {("face-rfb320", "static_per_channel"): 40, ("face-rfb320", "static_per_tensor"): 40}


# --- Models --------------------------------------------------------------------------------------


@dataclass
class Case:
    """A program with the calls that calibrate it and one that nothing has seen."""

    name: str
    path: object
    calls: list
    unseen: tuple


def random_call(like, seed):
    import torch

    generator = torch.Generator().manual_seed(seed)
    return tuple(
        torch.randn(x.shape, generator=generator, dtype=x.dtype)
        if x.is_floating_point()
        else torch.randint(0, 4, x.shape, generator=generator, dtype=x.dtype)
        for x in like
    )


def random_case(name, path):
    import torch

    example = torch.export.load(path).example_inputs
    like = torch.utils._pytree.tree_leaves(example)
    calls = [random_call(like, seed) for seed in range(BATCHES)]
    return Case(name, path, calls, random_call(like, 1000))


def kept_case(name, folder):
    return random_case(name, runtimes.MODELS / f"{name}.pt2")


def mobilenet_case(name, folder):
    import sys

    import torch

    sys.path.insert(0, str(runtimes.ROOT / "tests" / "bench"))
    from make_models import mobilenet

    torch.manual_seed(0)
    model, image = mobilenet()
    image = image[:, :, :96, :96].contiguous()  # a fifth of the time, and no fewer nodes
    torch.export.save(torch.export.export(model.eval(), (image,)), folder / "mobilenet.pt2")
    return random_case(name, folder / "mobilenet.pt2")


def photo():
    """The portrait as the detector takes it."""
    import torch

    pixels = torch.from_numpy(picture.read_png(runtimes.SAMPLES / "face-photo.320x240.png"))
    return ((pixels.float() - 127) / 128).permute(2, 0, 1)[None].contiguous()


def face_case(name, folder):
    import torch

    image = photo()
    generator = torch.Generator().manual_seed(0)
    noise = 0.1 * torch.randn(image.shape, generator=generator)
    views = [image, image.flip(3).contiguous(), 0.6 * image, (image + noise).clamp(-1, 1)]
    unseen = 0.8 * image.roll(24, 3) + 0.05
    return Case(name, runtimes.SAMPLES / "face-rfb320.pt2", [(x,) for x in views], (unseen,))


MODELS = {
    "mlp": kept_case,
    "cnn": kept_case,
    "tinyformer": kept_case,
    "mobilenet_v2": mobilenet_case,
    "face-rfb320": face_case,
}


# --- The official side ---------------------------------------------------------------------------


def quantizer_of(recipe):
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
        XNNPACKQuantizer,
        get_symmetric_quantization_config,
    )

    config = get_symmetric_quantization_config(
        is_per_channel="per_channel" in recipe, is_dynamic="dynamic" in recipe
    )
    return XNNPACKQuantizer().set_global(config)


def prepare(program, recipe):
    from torchao.quantization.pt2e.quantize_pt2e import prepare_pt2e

    return prepare_pt2e(program.module(), quantizer_of(recipe))


def quantize_officially(program, recipe, calls):
    """The converted graph. Calibration writes to buffers, which are put back."""
    import torch
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e

    state = {name: value.clone() for name, value in program.module().named_buffers()}
    observed = prepare(program, recipe)
    with torch.no_grad():
        for call in calls:
            observed(*copy.deepcopy(call))
        for name, value in observed.named_buffers():
            if name in state:
                value.copy_(state[name])
    return convert_pt2e(observed)


def official_recipe(recipe):
    from executorch.backends.xnnpack.recipes.xnnpack_recipe_types import XNNPackRecipeType
    from executorch.export import ExportRecipe

    kind = getattr(XNNPackRecipeType, f"PT2E_INT8_{recipe.upper()}")
    return ExportRecipe.get_recipe(kind)


def lower_officially(converted, example, recipe):
    import torch
    from executorch.exir import to_edge_transform_and_lower

    whole = official_recipe(recipe)
    lowered = to_edge_transform_and_lower(
        torch.export.export(converted, example),
        partitioner=whole.lowering_recipe.partitioners,
        compile_config=whole.lowering_recipe.edge_compile_config,
    )
    return bytes(lowered.to_executorch(whole.executorch_backend_config).buffer)


# --- Proofs of exceptions -----------------------------------------------------------------------


def is_observer(node):
    return node.op == "call_module" and "activation_post_process" in node.target


def observed_node(node):
    """An observer of another observer's output."""
    while is_observer(node):
        node = node.args[0]
    return node


# Permutations of the channels of images, there and back.
LAST, FIRST = (0, 2, 3, 1), (0, 3, 1, 2)


def show(graph, source):
    """A copy of the node as it is now: it may be written to in place.

    Observers take images in any order. An output would hold them to the one that is written, and
    with it convolutions to other rows, which sum up in another order: it has the channels last.
    """
    import torch

    if source.meta["val"].dim() == 4:
        source = graph.call_function(torch.ops.aten.permute.default, (source, LAST))
    order = {"memory_format": torch.contiguous_format}
    return graph.call_function(torch.ops.aten.clone.default, (source,), order)


def activations_of(observed, example):
    """A program of the observed activations, and their names in order."""
    import torch

    module = copy.deepcopy(observed)
    seen = {}
    for node in list(module.graph.nodes):
        if is_observer(node):
            source = node.args[0]
            if source.op != "get_attr" and source.name not in seen:
                with module.graph.inserting_before(node):
                    seen[source.name] = show(module.graph, source)
            node.replace_all_uses_with(source)
            module.graph.erase_node(node)
    (returned,) = (node for node in module.graph.nodes if node.op == "output")
    returned.args = (tuple(seen.values()),)
    tree = torch.utils._pytree.tree_flatten(returned.args[0])[1]
    codegen = module.graph._codegen
    codegen.pytree_info = codegen.pytree_info._replace(out_spec=tree)
    module.recompile()
    with torch.no_grad():
        return torch.export.export(module, example), list(seen)


def activations_here(program, names, calls, folder):
    """Results of our runtime for each call, by name."""
    import torch

    source, pte = folder / "activations.pt2", folder / "activations.pte"
    torch.export.save(program, source)
    runtimes.lower([str(source)], pte)
    for call in calls:
        outputs = runtimes.run_here(pte, call, folder)
        assert isinstance(outputs, list), outputs
        upright = [x.permute(FIRST) if x.dim() == 4 else x for x in outputs]
        yield dict(zip(names, upright, strict=True))


def with_our_activations(program, recipe, calls, folder):
    """The official graph, had its observers seen what we compute."""
    import torch
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e

    observed = prepare(program, recipe)
    shown, names = activations_of(observed, calls[0])
    for values in activations_here(shown, names, calls, folder):
        for node in [node for node in observed.graph.nodes if is_observer(node)]:
            source = observed_node(node)
            is_weight = source.op == "get_attr"
            value = recipe_graphs.attribute(observed, source) if is_weight else values[source.name]
            with torch.no_grad():
                observed.get_submodule(node.target)(value)
    return convert_pt2e(observed)


def without_waiting(program, recipe, calls, folder):
    """The official graph, had no convolution waited for the pattern with its relu."""
    from executorch.backends.xnnpack.quantizer import xnnpack_quantizer_utils as utils

    with mock.patch.object(utils, "is_relu_node", lambda node: False):
        return quantize_officially(program, recipe, calls)


MENDED = {ROUNDING: with_our_activations, BEFORE_RELU: without_waiting}


# --- Our side ------------------------------------------------------------------------------------


def written(call, stem):
    import numpy

    paths = [f"{stem}.{i}.npy" for i in range(len(call))]
    for path, value in zip(paths, call, strict=True):
        numpy.save(path, value.numpy())
    return ",".join(paths)


def export_here(case, recipe, folder, *flags):
    """The program, its quantized graph and the report."""
    from executorch.devtools.etrecord import parse_etrecord

    pte, report, record = (folder / f"ours.{e}" for e in ("pte", "json", "etrecord"))
    calibrate = [
        part
        for number, call in enumerate(case.calls if "static" in recipe else [])
        for part in ("--calibrate", written(call, folder / f"call{number}"))
    ]
    outputs = ["-o", pte, "--report", report, "--etrecord", record]
    command = ["export", case.path, "--recipe", recipe, *calibrate, *outputs, *flags]
    done = node_server.call("command", command)
    assert done.returncode == 0, done.stderr
    graph = parse_etrecord(str(record)).exported_program.module()
    return pte, graph, json.loads(report.read_text())


# --- What is compared ----------------------------------------------------------------------------


def decibels(outputs, expected):
    """The SNR of the worst output."""
    import torch

    worst = math.inf
    for got, want in zip(outputs, expected, strict=True):
        if not isinstance(want, torch.Tensor) or not want.is_floating_point():
            continue
        noise = float((got.double() - want.double()).square().sum())
        signal = float(want.double().square().sum())
        if math.isnan(noise):
            return -math.inf
        if noise > 0:
            worst = min(worst, 10 * math.log10(signal / noise) if signal > 0 else -math.inf)
    return worst


def eager(program, call):
    import torch

    with torch.no_grad():
        outputs = program.module()(*copy.deepcopy(call))
    return torch.utils._pytree.tree_leaves(outputs)


def run_officially(path, call, count):
    method = runtimes.load(path).load_method("forward")
    outputs = method.execute(list(call))
    return outputs[len(outputs) - count :]


def check_report(report, places):
    """The report's scales are those of the graph, one for each tensor that is quantized."""
    told = {}
    for row in report["qparams"]:
        told.setdefault(row["of"], []).append((row["scale"], row["zero_point"]))
    for place in places:
        if place.result is None or place.result.kind != "static":
            continue
        (scale,), (zero_point,) = place.result.scales, place.result.zero_points
        rows = told.get(place.name, [])
        is_there = any(abs(s - scale) <= 1e-7 * scale and z == zero_point for s, z in rows)
        assert is_there, f"'{place.name}' has {scale}, {zero_point}, the report says {rows}"
    lists = [scale for rows in told.values() for scale, _ in rows if isinstance(scale, list)]
    channels = {
        tuple(scale.scales)
        for place in places
        for scale in place.operands
        if scale and scale.axis is not None and len(scale.scales) > 1
    }
    for scales in channels:
        is_there = any(
            len(told_scales) == len(scales)
            and all(abs(a - b) <= 1e-7 * b for a, b in zip(told_scales, scales, strict=True))
            for told_scales in lists
        )
        assert is_there, f"the report has no weight with the scales {scales[:4]}..."


def compared(case, recipe, ours, folder):
    """The official graph that ours has to equal, with the plain one; and what differs from that."""
    import torch

    program = torch.export.load(case.path)
    plain = quantize_officially(program, recipe, case.calls)
    theirs = recipe_graphs.places_of(plain)
    found = recipe_graphs.differences(ours, theirs)
    reason = EXCEPTIONS.get((case.name, recipe))
    if reason is None:
        assert not found, f"{len(found)} differences: {list(found.items())[:8]}"
        return plain, plain, "no exceptions"
    assert found, f"nothing differs, but '{reason}' is listed"
    mended = MENDED[reason](program, recipe, case.calls, folder)
    left = recipe_graphs.differences(ours, recipe_graphs.places_of(mended))
    assert not left, f"not because {reason}: {list(left.items())[:8]}"
    far = recipe_graphs.farthest(ours, theirs)
    assert far <= FARTHEST, f"scales are {far:.2g} apart"
    return plain, mended, f"{len(found)} apart ({reason}, scales by {far:.1e} at most)"


def check_snr(case, recipe, mine, theirs):
    told = f"{mine:.1f} dB on the official runtime, officially {theirs:.1f}"
    assert math.isfinite(mine) and mine >= max(theirs - WORSE, FLOOR), told
    least = LEAST.get((case.name, recipe))
    assert least is None or mine >= least, told
    assert least is None or theirs < least, f"the official file is right now: {told}"
    return told


def judge(model, recipe, folder):
    import torch

    torch.set_num_threads(1)  # sums in one order on every machine, whatever else it does
    case = MODELS[model](model, folder)
    pte, graph, report = export_here(case, f"xnnpack_pt2e_int8_{recipe}", folder)
    ours = recipe_graphs.places_of(graph)
    check_report(report, ours)
    plain, mended, told = compared(case, recipe, ours, folder)
    expected = eager(torch.export.load(case.path), case.unseen)
    # A waiting node is float and as exact, which says nothing about the others.
    judged = mended if EXCEPTIONS.get((model, recipe)) == BEFORE_RELU else plain
    official = folder / "official.pte"
    official.write_bytes(lower_officially(judged, case.calls[0], recipe))
    of_each = (run_officially(path, case.unseen, len(expected)) for path in (pte, official))
    mine, theirs = (decibels(outputs, expected) for outputs in of_each)
    snr = check_snr(case, recipe, mine, theirs)
    sizes = pte.stat().st_size, official.stat().st_size
    assert sizes[0] <= sizes[1], f"{sizes[0]} bytes, officially {sizes[1]}"
    quantized = sum(place.is_quantized() for place in ours)
    return f"{quantized} of {len(ours)} nodes, {told}, {snr}, {sizes[0]} of {sizes[1]} bytes"


def cases():
    for model in MODELS:
        for recipe in RECIPES:
            yield f"recipes, {model}: {recipe}", judge, (model, recipe)
