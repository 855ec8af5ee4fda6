"""A program that is exported, lowered for both targets, run by the official runtime and by this
one, and compared with what PyTorch computes."""

import runtimes
import torch


class Fn(torch.nn.Module):
    """A function as a module, which gives what tensors its result has."""

    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, *args):
        return tuple(torch.utils._pytree.tree_leaves(self.f(*args)))


def as_it_is(value):
    return value


def by_itself(module, k, value):
    return None


def judge(name, module, inputs, dynamic, folder, seen=as_it_is, magnitude=by_itself):
    """Compares results as `seen` shows them, and as exactly as `magnitude` tells (check_value).
    `inputs` may be a list of several: the first ones are those of the export."""
    torch.manual_seed(0)
    several = inputs if isinstance(inputs, list) else [inputs]
    source = folder / "program.pt2"
    shapes = {"args": dynamic} if dynamic and isinstance(module, Fn) else dynamic
    exported = torch.export.export(module.eval(), several[0], dynamic_shapes=shapes, strict=False)
    torch.export.save(exported, source)
    ours = folder / "program.pte", folder / "whole.pte"
    runtimes.lower([str(source)], ours[0])
    runtimes.lower(["--target", "sconce", str(source)], ours[1])
    program = runtimes.load(ours[0])
    official = program.load_method("forward")
    calls = [("forward", list(these)) for these in several]
    here = runtimes.run_files(folder, [(path, calls, ()) for path in ours])
    for at, these in enumerate(several):
        expected = torch.utils._pytree.tree_leaves(module(*these))
        sizes = f", {[tuple(value.shape) for value in these]}" if several is inputs else ""
        told = [("official runtime", official.execute(list(these)))]
        for path, answer in zip(ours, here):
            assert isinstance(answer, list), f"this runtime, {path.name}: {answer}"
            told.append((f"this runtime, {path.name}", answer[at]))
        for who, outputs in told:
            assert len(outputs) == len(expected) > 0, f"{who}: {len(outputs)} results"
            for k, value in enumerate(expected):
                where = f"{who}, output {k}{sizes}"
                large = magnitude(module, k, value.detach())
                runtimes.check_value(seen(outputs[k]), seen(value.detach()), where, large)
