"""Writes a program as a list of calls for engines that read neither .pt2 nor .onnx: NAME.calls.json
(core ATen operators in order, with linear layers and attention whole) and NAME.calls.bin (its
float32 constants).

The work of every converter is done here: what depends on constants alone is computed, batch norms
become part of the convolution before them, and so do activations; of shapes that follow upon each
other only the last is given, and nothing twice. Layouts stay PyTorch's. A buffer
that the program changes is a state: zeros at first, then what the last call left.
"""

import json
import operator

import torch
from torch.fx import map_arg

aten = torch.ops.aten
BATCH_NORM = aten._native_batch_norm_legit_no_training.default
ACTIVATIONS = {aten.relu.default: "relu", aten.hardtanh.default: "relu6"}
# Operators that tfjs has a call for, or runs better written by hand than decomposed.
WHOLE = {aten.linear.default, aten.scaled_dot_product_attention.default}
RESHAPES = {aten.view.default, aten.unsqueeze.default}
# Without effect in inference, all being float32; of a norm only its first result is read.
NOTHING = {operator.getitem, aten.clone.default, aten._to_copy.default}


def parameters(program):
    """Placeholder name to tensor."""
    signature = program.graph_signature
    held = signature.inputs_to_parameters | signature.inputs_to_buffers
    held = held | signature.inputs_to_lifted_tensor_constants
    known = program.state_dict | program.constants
    return {name: known[target].detach() for name, target in held.items()}


def convolution_before(node):
    """The name of the convolution that only `node` reads, perhaps batch-normed, or None."""
    source = node.args[0]
    while len(source.users) == 1 and source.target in (operator.getitem, BATCH_NORM):
        source = source.args[0]
    single = len(source.users) == 1 and source.target == aten.convolution.default
    return source.name if single else None


def fold(step, scale, shift, mean, variance, _, epsilon):
    """Makes the batch norm with these arguments part of a convolution's step."""
    factor = scale / torch.sqrt(variance + epsilon)
    _, weight, bias = step["args"][:3]
    bias = shift - mean * factor + (0 if bias is None else bias * factor)
    step["args"][1:3] = weight * factor.reshape(-1, 1, 1, 1), bias


def add_call(node, values, steps):
    """Adds the step of a call, or changes one before it; returns what stands for the result."""
    args = list(map_arg(node.args, lambda source: values[source.name]))
    sources = [values[source.name] for source in node.all_input_nodes]
    if node.target in NOTHING:
        return args[0]
    if all(isinstance(source, torch.Tensor) for source in sources):
        return node.target(*args, **node.kwargs)
    before = convolution_before(node) if node.target in (BATCH_NORM, *ACTIVATIONS) else None
    if node.target == BATCH_NORM:
        assert before, f"{node.name} does not follow a convolution"
        fold(steps[before], *args[1:])
        return {"step": before}
    if before and (node.target == aten.relu.default or args[1:] == [0.0, 6.0]):
        steps[before]["activation"] = ACTIVATIONS[node.target]
        return {"step": before}
    assert not node.kwargs, f"{node.name} has named arguments"
    if node.target in RESHAPES:
        return add_view(node, args[0], steps)
    name = node.target.__name__.split(".")[0]
    steps[node.name] = {"op": name, "name": node.name, "shape": shape_of(node), "args": args}
    return {"step": node.name}


def add_view(node, source, steps):
    """The same numbers in another shape, of what had them first."""
    step = steps.get(source["step"])
    source = step["args"][0] if step and step["op"] == "view" else source
    view = {"op": "view", "shape": shape_of(node), "args": [source]}
    for name, other in steps.items():
        if other["op"] == "view" and other == view | {"name": name}:
            return {"step": name}
    steps[node.name] = view | {"name": node.name}
    return {"step": node.name}


def used(steps, ends):
    """The steps that one of `ends` comes from."""
    kept, wanted = [], set(ends)
    for step in reversed(steps):
        if step["name"] in wanted:
            kept.append(step)
            wanted |= set(names_in(step["args"]))
    return kept[::-1]


def names_in(arg):
    """The names of the steps that arguments come from."""
    if isinstance(arg, (list, tuple)):
        return [name for item in arg for name in names_in(item)]
    return [arg["step"]] if isinstance(arg, dict) else []


def shape_of(node):
    value = node.meta["val"]
    return list((value[0] if isinstance(value, (tuple, list)) else value).shape)


def states(program, values):
    """Takes the buffers that change from the constants: for each its name and that of its next."""
    signature = program.graph_signature
    names = {target: name for name, target in signature.inputs_to_buffers.items()}
    changed = {}
    for source, target in signature.buffers_to_mutate.items():
        assert not values.pop(names[target]).any(), f"{target} does not begin with zeros"
        changed[names[target]] = source
    return changed


def trace(program):
    """Inputs, states, steps and outputs; a tensor among a step's arguments is a constant."""
    values = parameters(program)  # node name -> a tensor, or {"step": its name}
    changed = states(program, values)
    inputs, kept, steps, outputs = [], [], {}, []
    for node in program.graph.nodes:
        if node.op == "placeholder" and node.name not in values:
            known = {"name": node.name, "shape": shape_of(node)}
            if node.name in changed:
                kept.append(known | {"next": changed[node.name]})
            else:
                inputs.append(known)
            values[node.name] = {"step": node.name}
        elif node.op == "call_function" and "_assert" not in str(node.target):
            values[node.name] = add_call(node, values, steps)
        elif node.op == "output":
            outputs = [values[result.name]["step"] for result in node.args[0]][len(kept) :]
    steps = used(list(steps.values()), [*outputs, *changed.values()])
    return {"inputs": inputs, "states": kept, "steps": steps, "outputs": outputs}


def dump(program, path):
    table = torch.export.default_decompositions()
    for whole in WHOLE:
        del table[whole]
    with torch.no_grad():
        graph = trace(program.run_decompositions(table))
    with open(f"{path}.calls.bin", "wb") as data:

        def place(tensor):
            offset = data.tell()
            if tensor.dtype == torch.bool:  # a mask of attention: what it adds
                tensor = torch.zeros(tensor.shape).masked_fill(~tensor, float("-inf"))
            data.write(tensor.to(torch.float32).contiguous().numpy().tobytes())
            return {"shape": list(tensor.shape), "offset": offset}

        text = json.dumps(graph, default=place)
    with open(f"{path}.calls.json", "w") as file:
        file.write(text)
