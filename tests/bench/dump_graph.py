"""Writes a program as a list of calls for engines that read neither .pt2 nor .onnx: NAME.graph.json
(core ATen operators in order) and NAME.graph.bin (its float32 constants).

What every converter does is done here: what depends on constants alone is computed, batch norms
become part of the convolution before them, and so do activations. Layouts stay PyTorch's.
"""

import json
import operator

import torch
from torch.fx import map_arg

aten = torch.ops.aten
BATCH_NORM = aten._native_batch_norm_legit_no_training.default
ACTIVATIONS = {aten.relu.default: "relu", aten.hardtanh.default: "relu6"}
# Without effect in inference, all being float32.
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
    steps[node.name] = {
        "op": node.target.__name__.split(".")[0],
        "name": node.name,
        "shape": list(node.meta["val"].shape),
        "args": args,
    }
    return {"step": node.name}


def trace(program):
    """Inputs, steps and outputs; a tensor among a step's arguments is a constant."""
    values = parameters(program)  # node name -> a tensor, or {"step": its name}
    inputs, steps, outputs = [], {}, []
    for node in program.graph.nodes:
        if node.op == "placeholder" and node.name not in values:
            inputs.append({"name": node.name, "shape": list(node.meta["val"].shape)})
            values[node.name] = {"step": node.name}
        elif node.op == "call_function" and "_assert" not in str(node.target):
            values[node.name] = add_call(node, values, steps)
        elif node.op == "output":
            outputs = [values[result.name]["step"] for result in node.args[0]]
    return {"inputs": inputs, "steps": list(steps.values()), "outputs": outputs}


def dump(program, path):
    with torch.no_grad():
        graph = trace(program.run_decompositions())
    with open(f"{path}.graph.bin", "wb") as data:

        def place(tensor):
            offset = data.tell()
            data.write(tensor.to(torch.float32).contiguous().numpy().tobytes())
            return {"shape": list(tensor.shape), "offset": offset}

        text = json.dumps(graph, default=place)
    with open(f"{path}.graph.json", "w") as file:
        file.write(text)
