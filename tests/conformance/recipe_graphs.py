"""Quantized nodes of a graph, by the nodes they were before: which of their operands and results go
through integers, with which scales, and the integers of weights. Two graphs that were made from one
program in two ways are compared node by node.
"""

import operator
from dataclasses import dataclass, field

# Operators that a constant goes through. Official folding leaves it behind where nothing reads the
# result, because one of them writes, if only its own fresh copy.
PASSING = {
    "aten.detach_.default",
    "aten.lift_fresh_copy.default",
    "aten.to.device",
    "aten._assert_tensor_metadata.default",
}
RELATIVE = 1e-6  # of scales: float32 itself has 1.2e-7


def target_of(node):
    return str(node.target) if node.op == "call_function" else ""


def is_quantize(node):
    return ".quantize_per_" in target_of(node) or ".quantize_affine" in target_of(node)


def is_dequantize(node):
    return ".dequantize_per_" in target_of(node) or ".dequantize_affine" in target_of(node)


def is_choice(node):
    return ".choose_qparams" in target_of(node)


def is_sum(op):
    """Or a product."""
    return op.startswith(("aten.add", "aten.mul"))


def is_plumbing(node):
    """Neither an operator of the program nor anything that computes."""
    if node.target is operator.getitem and is_choice(node.args[0]):
        return True
    if target_of(node) in PASSING:
        return True
    return is_quantize(node) or is_dequantize(node) or is_choice(node)


@dataclass
class Scale:
    """How a tensor is quantized; `data` is what a weight becomes."""

    kind: str  # static, dynamic or weight
    scales: list = field(default_factory=list)
    zero_points: list = field(default_factory=list)
    data: bytes = b""
    axis: int | None = None

    def __str__(self):
        if len(self.scales) != 1:
            return f"{self.kind} ({len(self.scales)} scales)"
        return f"{self.kind} ({self.scales[0]:.9g}, {self.zero_points[0]})"


@dataclass
class Place:
    """A node of the program with its operands and its result; None: they stay as they are."""

    name: str
    op: str
    operands: list
    result: Scale | None

    def is_quantized(self):
        return self.result is not None or any(self.operands)


def attribute(module, node):
    owner, _, last = node.target.rpartition(".")
    return getattr(module.get_submodule(owner), last).detach()


def numbers(module, value):
    import torch

    if isinstance(value, torch.fx.Node):
        return attribute(module, value).flatten().tolist()
    return [value]


def scale_of(module, node):
    """The grid of a dequantize node's input, or of a quantize node."""
    import torch

    # torchao's have the size of a block second.
    source, scales, zero_points = [a for a in node.args if not isinstance(a, (list, tuple))][:3]
    if isinstance(scales, torch.fx.Node) and scales.op != "get_attr":
        return Scale("dynamic")
    known = numbers(module, scales), numbers(module, zero_points)
    axis = node.args[3] if "per_channel" in target_of(node) else None
    if is_dequantize(node) and source.op == "get_attr":
        integers = attribute(module, source).contiguous()
        return Scale("weight", *known, integers.numpy().tobytes(), axis)
    return Scale("static", *known, axis=axis)


def result_of(module, node):
    """As users quantize it; of several, which come one after another, the first."""
    found = [scale_of(module, user) for user in node.users if is_quantize(user)]
    return found[0] if found else None


def operands_of(module, node):
    """A number in a sum or a product is an operand, too: quantizing makes a tensor of it."""
    import torch

    kinds = (torch.fx.Node, int, float) if is_sum(target_of(node)) else (torch.fx.Node,)
    leaves = torch.utils._pytree.tree_leaves((node.args, node.kwargs))
    return [
        scale_of(module, leaf) if isinstance(leaf, torch.fx.Node) and is_dequantize(leaf) else None
        for leaf in leaves
        if isinstance(leaf, kinds)
    ]


def places_of(module):
    calls = [node for node in module.graph.nodes if node.op == "call_function"]
    kept = [node for node in calls if not is_plumbing(node)]
    inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
    return [
        Place(node.name, target_of(node), operands_of(module, node), result_of(module, node))
        for node in [*inputs, *kept]
    ]


# --- Two of them ---------------------------------------------------------------------------------


def pairs_of(ours, theirs):
    """All that can be quantized, by the node's name and the operand's index."""
    for a, b in zip(ours, theirs, strict=True):
        assert a.op == b.op, f"'{a.name}' is {a.op} here and {b.op} there"
        assert len(a.operands) == len(b.operands), f"operands of '{a.name}'"
        for i, pair in enumerate(zip(a.operands, b.operands, strict=True)):
            yield f"{a.name}[{i}]", *pair
        yield a.name, a.result, b.result


def apart(a, b):
    """How far scales are from one another at most, relatively."""
    return max((abs(x - y) / abs(y) for x, y in zip(a.scales, b.scales, strict=True)), default=0)


def difference(a, b):
    """The difference of two scales, as text; None: they are equal."""
    if a is None and b is None:
        return None
    if a is None or b is None:
        return f"{a or 'float'} instead of {b or 'float'}"
    if (a.kind, a.axis, len(a.scales)) != (b.kind, b.axis, len(b.scales)):
        return f"{a}, axis {a.axis} instead of {b}, axis {b.axis}"
    far = apart(a, b)
    points = sum(x != y for x, y in zip(a.zero_points, b.zero_points, strict=True))
    integers = sum(x != y for x, y in zip(a.data, b.data, strict=True))
    if far <= RELATIVE and points == 0 and integers == 0:
        return None
    return f"{far:.2g} apart, {points} zero points and {integers} weights differ"


def differences(ours, theirs):
    names = [[place.op for place in places] for places in (ours, theirs)]
    assert names[0] == names[1], f"other nodes: {names[0]} instead of {names[1]}"
    told = {which: difference(a, b) for which, a, b in pairs_of(ours, theirs)}
    return {which: text for which, text in told.items() if text is not None}


def farthest(ours, theirs):
    """Differences of scales that both have."""
    both = [(a, b) for _, a, b in pairs_of(ours, theirs) if a and b]
    return max((apart(a, b) for a, b in both if len(a.scales) == len(b.scales)), default=0)
