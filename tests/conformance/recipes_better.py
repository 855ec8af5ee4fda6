"""Cases that the official quantization gets wrong and ours gets right: each case shows both, and
fails on the day that the official side gets it right, too.

The cases are run by run.py, which has each in a process of its own.
"""

import recipe_graphs
import recipes

RIGHT = 30  # decibels of a right program on the official runtime, at least
WRONG = 10  # and of a wrong one at most
STATIC = "static_per_channel"


def modules():
    """By name: a module and what it is called with."""
    import torch
    from torch import nn

    class Positions(nn.Module):
        """Indices that are counted up before they are looked up."""

        def __init__(self):
            super().__init__()
            self.words, self.places = nn.Embedding(20, 16), nn.Embedding(20, 16)
            self.head = nn.Linear(16, 8)

        def forward(self, ids):
            steps = torch.arange(ids.shape[1]) + 2
            return self.head(self.words(ids + 1) + self.places(steps * 2))

    class Twice(nn.Module):
        """One convolution that is called twice."""

        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(4, 4, 3, padding=1)

        def forward(self, x):
            return self.conv(torch.tanh(self.conv(x)))

    class Layers(nn.Module):
        def __init__(self):
            super().__init__()
            self.up, self.down = nn.Linear(32, 64), nn.Linear(64, 32)

        def forward(self, x):
            return self.down(nn.functional.gelu(self.up(x)))

    class Kinds(nn.Module):
        """Two convolutions of one image, of which one is a product of matrices."""

        def __init__(self):
            super().__init__()
            self.window, self.pixel = nn.Conv2d(4, 8, 3), nn.Conv2d(4, 8, 1)

        def forward(self, x):
            return torch.cat([self.window(x).flatten(1), self.pixel(x).flatten(1)], 1)

    words = torch.zeros(2, 6, dtype=torch.int64)
    return {
        "positions": (Positions, words),
        "twice": (Twice, torch.zeros(1, 4, 8, 8)),
        "kinds": (Kinds, torch.zeros(1, 4, 8, 8)),
        "rows": (Layers, torch.zeros(4, 32)),
        "sentences": (Layers, torch.zeros(2, 5, 32)),
    }


def made(name, folder, strict=False):
    """A program of random weights and its calls."""
    import torch

    torch.manual_seed(0)
    make, like = modules()[name]
    module, path = make().eval(), folder / f"{name}.pt2"
    calls = [recipes.random_call([like], seed) for seed in range(recipes.BATCHES)]
    torch.export.save(torch.export.export(module, calls[0], strict=strict), path)
    return module, recipes.Case(name, path, calls, recipes.random_call([like], 1000))


def right_here(case, recipe, folder):
    """The quantized graph, once its program is right on the official runtime."""
    import torch

    pte, graph, _ = recipes.export_here(case, recipe, folder)
    expected = recipes.eager(torch.export.load(case.path), case.unseen)
    outputs = recipes.run_officially(pte, case.unseen, len(expected))
    found = recipes.decibels(outputs, expected)
    assert found >= RIGHT, f"{found:.1f} dB"
    return recipe_graphs.places_of(graph), f"{found:.1f} dB"


def judge_integers(folder):
    """Officially the numbers with them become floats, and so do they."""
    import torch

    _, case = made("positions", folder)
    failed = None
    try:
        recipes.quantize_officially(torch.export.load(case.path), STATIC, case.calls)
    except (RuntimeError, IndexError) as error:
        failed = str(error)
    assert failed and "indices" in failed, f"the official side is right now: {failed}"
    places, told = right_here(case, f"xnnpack_pt2e_int8_{STATIC}", folder)
    sums = [place for place in places if recipe_graphs.is_sum(place.op)]
    quantized = [place.is_quantized() for place in sums]
    assert sorted(quantized) == [False, False, False, True], f"{sums}"
    return f"{told}, officially: {failed.splitlines()[0]}"


def quantized_convolutions(places):
    found = [place for place in places if "conv2d" in place.op]
    return sum(scales[1] is not None for scales in (place.operands for place in found)), len(found)


def judge_twice(folder):
    """Officially the second use of a weight reads floats."""
    import torch

    _, case = made("twice", folder)
    converted = recipes.quantize_officially(torch.export.load(case.path), STATIC, case.calls)
    theirs = quantized_convolutions(recipe_graphs.places_of(converted))
    assert theirs == (1, 2), f"the official side is right now: {theirs}"
    places, told = right_here(case, f"xnnpack_pt2e_int8_{STATIC}", folder)
    ours = quantized_convolutions(places)
    assert ours == (2, 2), ours
    return told


def lower_weights_officially(module, example):
    import torch
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower
    from torchao.quantization import Int8WeightOnlyConfig, quantize_
    from torchao.utils import unwrap_tensor_subclass

    quantize_(module, Int8WeightOnlyConfig(version=2))
    program = torch.export.export(unwrap_tensor_subclass(module), example, strict=True)
    lowered = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])
    return bytes(lowered.to_executorch().buffer)


def judge_weights(name, folder):
    """Officially a strict export is swallowed by XNNPACK, and its numbers are wrong."""
    module, case = made(name, folder, strict=True)
    expected = [module(*case.unseen).detach()]
    official = folder / "official.pte"
    official.write_bytes(lower_weights_officially(module, case.calls[0]))
    outputs = recipes.run_officially(official, case.unseen, 1)
    theirs = recipes.decibels(outputs, expected)
    assert theirs < WRONG, f"the official side is right now: {theirs:.1f} dB"
    _, told = right_here(case, "sconce_int8_weight_only", folder)
    ours, size = (folder / "ours.pte").stat().st_size, official.stat().st_size
    assert ours <= size, f"{ours} bytes, officially {size}"
    return f"{told}, officially {theirs:.1f} dB, {ours} of {size} bytes"


def judge_kinds(folder):
    """Official files share what is quantized on the way among convolutions that read it in unlike
    forms; on some processors the numbers are wrong then."""
    import torch

    recipe = "dynamic_per_channel"
    module, case = made("kinds", folder)
    converted = recipes.quantize_officially(torch.export.load(case.path), recipe, case.calls)
    official = folder / "official.pte"
    official.write_bytes(recipes.lower_officially(converted, case.calls[0], recipe))
    outputs = recipes.run_officially(official, case.unseen, 1)
    theirs = recipes.decibels(outputs, [module(*case.unseen).detach()])
    _, told = right_here(case, f"xnnpack_pt2e_int8_{recipe}", folder)
    return f"{told}, officially {theirs:.1f} dB"


def cases():
    yield "recipes, integers beside numbers", judge_integers, ()
    yield "recipes, a weight that is used twice", judge_twice, ()
    yield "recipes, two kinds of convolutions of one image", judge_kinds, ()
    for name in ("rows", "sentences"):
        yield f"recipes, int8 weights of a strict export: {name}", judge_weights, (name,)
