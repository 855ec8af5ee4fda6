"""A program that is exported, lowered for both targets, run by the official runtime and by this
one, and compared with what PyTorch computes."""

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


def judge(run, name, module, inputs, dynamic, folder, seen=as_it_is):
    """Compares results as `seen` shows them."""
    torch.manual_seed(0)
    source = folder / "program.pt2"
    expected = torch.utils._pytree.tree_leaves(module.eval()(*inputs))
    shapes = {"args": dynamic} if dynamic and isinstance(module, Fn) else dynamic
    torch.export.save(
        torch.export.export(module, inputs, dynamic_shapes=shapes, strict=False), source
    )
    ours = folder / "program.pte", folder / "whole.pte"
    run.lower([str(source)], ours[0])
    run.lower(["--target", "sconce", str(source)], ours[1])
    told = [("official runtime", run.load(ours[0]).load_method("forward").execute(list(inputs)))]
    for path in ours:
        told.append((f"this runtime, {path.name}", run.run_here(path, inputs, folder)))
    for who, outputs in told:
        assert isinstance(outputs, list), f"{who}: {outputs}"
        for k, value in enumerate(expected):
            run.check_value(seen(outputs[k]), seen(value.detach()), f"{who}, output {k}")
