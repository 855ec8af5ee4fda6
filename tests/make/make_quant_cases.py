"""Writes tests/quant: small programs, and what PT2E with XNNPACKQuantizer makes of them.

Run with torch, torchao and executorch in the environment:
    python tests/make/make_quant_cases.py [NAME...]
A program is kept as it is when it is there: its weights are part of what is expected. A text
of each quantized program has all nodes, in order, with all arguments; numbers that calibration
found are compared up to rounding. tests/quant/quant_test.c makes the same text.
"""

import usage  # noqa: F401

import sys
import zlib
from pathlib import Path

import numpy
import torch
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
    XNNPACKQuantizer,
    get_symmetric_quantization_config,
)
from quant_modules import CASES, LAYERS, MODELS, randomized
from torch.fx import Node
from torchao.quantization import (
    Int8DynamicActivationIntxWeightConfig,
    IntxWeightOnlyConfig,
    PerAxis,
    PerGroup,
    quantize_,
)
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer import ComposableQuantizer
from torchao.utils import unwrap_tensor_subclass

HERE = Path(__file__).resolve().parent.parent
BATCHES = 3


def numbers(count, seed):
    """The inputs of quant_test.c, bit for bit: from -2 to 2."""
    i = numpy.arange(count, dtype=numpy.uint64) + numpy.uint64(seed * 7919 + 1)
    bits = (i * numpy.uint64(2654435761)) & numpy.uint64(0xFFFFFFFF)
    bits ^= bits >> numpy.uint64(15)
    bits = (bits * numpy.uint64(2246822519)) & numpy.uint64(0xFFFFFFFF)
    return (bits >> numpy.uint64(8)).astype(numpy.float64) / 2**22 - 2


def inputs(like, seed):
    made = []
    for index, (sizes, dtype, below) in enumerate(like):
        values = numbers(int(numpy.prod(sizes)), seed * 16 + index)
        if below:
            values = numpy.floor((values + 2) / 4 * below)
        made.append(torch.tensor(values).to(dtype).reshape(sizes))
    return tuple(made)


ADD, MUL = torch.ops.aten.add.Tensor, torch.ops.aten.mul.Tensor


def has_float(node):
    values = [arg.meta["val"] for arg in node.args if isinstance(arg, Node)]
    return any(getattr(value, "dtype", None) == torch.float32 for value in values)


class Quantizer(XNNPACKQuantizer):
    """The official one, but numbers with integers stay numbers: else indices become floats."""

    def transform_for_annotation(self, model):
        beside = [n for n in model.graph.nodes if n.target in (ADD, MUL) and not has_float(n)]
        kept = [node.target for node in beside]
        for node in beside:
            node.target = torch.ops.aten.sub.Tensor  # one that is left alone
        changed = super().transform_for_annotation(model)
        for node, target in zip(beside, kept, strict=True):
            node.target = target
        return changed


def in_dynamic(node):
    """Is it in a module whose name begins with a d, or a parameter of one?"""
    if node.op == "get_attr":
        return node.target.startswith("d_")
    stack = node.meta.get("nn_module_stack", {})
    return any(path.split(".")[-1].startswith("d_") for path, _ in stack.values())


def composed(recipe):
    """Dynamic for some modules and static for what is left, or the other way round."""
    quantizers = {
        how: Quantizer().set_global(
            get_symmetric_quantization_config(is_per_channel=True, is_dynamic=how == "dynamic")
        )
        for how in recipe.split("_")
    }
    first = recipe.split("_")[0]
    quantizers[first].set_filter_function(
        in_dynamic if first == "dynamic" else lambda node: not in_dynamic(node)
    )
    return ComposableQuantizer(list(quantizers.values()))


def quantizer_of(recipe):
    how, scales = recipe.split("_")
    if scales in ("static", "dynamic"):
        return composed(recipe)
    config = get_symmetric_quantization_config(
        is_per_channel=scales == "channel", is_dynamic=how == "dynamic"
    )
    return Quantizer().set_global(config)


def quantized(program, recipe, like):
    module = program.module()
    state = {name: value.clone() for name, value in module.named_buffers()}
    observed = prepare_pt2e(module, quantizer_of(recipe))
    with torch.no_grad():
        for batch in range(BATCHES):
            observed(*inputs(like, batch))
        for name, value in observed.named_buffers():
            if name in state:  # what calibration wrote is not the program's
                value.copy_(state[name])
    return convert_pt2e(observed)


# Left behind by folding because one of them writes, if only its own fresh copy.
DEAD = {"detach_.default", "lift_fresh_copy.default", "to.device"}


class Text:
    def __init__(self, module):
        self.module, self.lines, self.names, self.constants = module, [], {}, {}
        for node in reversed(module.graph.nodes):
            if not node.users and getattr(node.target, "__name__", "") in DEAD:
                module.graph.erase_node(node)
        nodes, users = 0, 0
        for node in module.graph.nodes:
            target = getattr(node.target, "__name__", "")
            if node.op == "placeholder":
                self.names[node] = f"${users}"
                users += 1
            elif node.op == "get_attr":
                self.names[node] = "@" + node.target
            elif target == "getitem":
                self.names[node] = f"{self.names[node.args[0]]}.{node.args[1]}"
            elif node.op == "call_function" and target == "copy_.default":
                self.lines.append(f"write {self.arg(node.args[0])} {self.arg(node.args[1])}")
            elif node.op == "call_function":
                self.names[node] = f"%{nodes}"
                self.lines.append(f"{self.name(node)} {' '.join(self.args(node))}")
                nodes += 1
            elif node.op == "output":
                values = torch.utils._pytree.tree_leaves(node.args)
                self.lines.append("return " + " ".join(self.arg(v) for v in values))
        self.lines += [self.constant(name) for name in self.constants]

    def name(self, node):
        schema = node.target._schema
        return schema.name + ("." + schema.overload_name if schema.overload_name else "")

    def args(self, node):
        for i, param in enumerate(node.target._schema.arguments):
            if i < len(node.args):
                yield self.arg(node.args[i])
            elif param.name in node.kwargs:
                yield self.arg(node.kwargs[param.name])
            else:
                is_dtype = param.name == "output_dtype"
                yield self.arg(torch.float32 if is_dtype else param.default_value)

    def arg(self, value):
        if isinstance(value, Node):
            if self.names[value].startswith("@"):
                self.constants[value.target] = True
            return self.names[value]
        if isinstance(value, (list, tuple)):
            return "[" + ",".join(self.arg(v) for v in value) + "]"
        if isinstance(value, (bool, int, float)):
            return f"{float(value):.9g}"
        if isinstance(value, torch.dtype):
            return str(value).replace("torch.", "")
        return "none" if value is None else "?" if not isinstance(value, str) else value

    # Integers by their checksum, the floats that quantization adds one by one.
    def constant(self, name):
        owner, _, last = name.rpartition(".")
        value = getattr(self.module.get_submodule(owner), last).detach().contiguous()
        sizes = ",".join(str(size) for size in value.shape)
        line = f"@{name} {str(value.dtype).replace('torch.', '')} [{sizes}]"
        if not value.dtype.is_floating_point:
            return f"{line} crc {zlib.crc32(value.numpy().tobytes()):08x}"
        if value.dtype != torch.float32 or value.numel() > 64:
            return line
        return f"{line} " + " ".join(f"{x:.9g}" for x in value.flatten().tolist())


# torchao quantizes modules, before they are exported.
TORCHAO = {
    "int8_channel": IntxWeightOnlyConfig(torch.int8, PerAxis(0)),
    "int4_group": IntxWeightOnlyConfig(torch.int4, PerGroup(8)),
    "8da4w_channel": Int8DynamicActivationIntxWeightConfig(torch.int4, PerAxis(0)),
    "8da4w_group": Int8DynamicActivationIntxWeightConfig(torch.int4, PerGroup(16)),
}


def save(program, path):
    """Without the folder of this machine in the stack traces."""
    for node in program.graph.nodes:
        if "stack_trace" in node.meta:
            node.meta["stack_trace"] = node.meta["stack_trace"].replace(f"{HERE.parent}/", "")
    torch.export.save(program, path)


def write_layers():
    path = HERE / "quant" / "layers.pt2"
    module, sizes = LAYERS
    example = inputs([(size, torch.float32, 0) for size in sizes], 0)
    if not path.exists():
        save(torch.export.export(module().eval(), example), path)
    for recipe, config in TORCHAO.items():
        layers = module().eval()
        layers.load_state_dict(torch.export.load(path).state_dict)
        quantize_(layers, config)
        program = torch.export.export(unwrap_tensor_subclass(layers), example)
        write(HERE / "quant" / f"layers.{recipe}.txt", Text(program.module()).lines)


def write(path, text):
    path.write_text("\n".join(text) + "\n")
    print(path.name, len(text))


def main():
    torch.manual_seed(7)
    wanted = sys.argv[1:]
    for name, (module, sizes, recipes) in CASES.items():
        path = HERE / "quant" / f"{name}.pt2"
        like = [
            (s[0], torch.int64, s[1]) if isinstance(s, tuple) else (s, torch.float32, 0)
            for s in sizes
        ]
        if wanted and name not in wanted:
            continue
        if not path.exists():
            is_strict = getattr(module, "is_strict", False)
            program = torch.export.export(
                randomized(module()), inputs(like, 0), strict=is_strict
            )
            save(program, path)
        for recipe in recipes:
            try:
                text = Text(quantized(torch.export.load(path), recipe, like)).lines
            except Exception as error:
                print(name, recipe, type(error).__name__, str(error)[:300])
                continue
            write(HERE / "quant" / f"{name}.{recipe}.txt", text)
    if not wanted or "layers" in wanted:
        write_layers()
    for name, recipes in MODELS.items():
        if wanted and name not in wanted:
            continue
        path = HERE / "models" / f"{name}.pt2"
        example = torch.utils._pytree.tree_leaves(torch.export.load(path).example_inputs)
        like = [(list(x.shape), x.dtype, 0 if x.is_floating_point() else 4) for x in example]
        for recipe in recipes:
            try:
                text = Text(quantized(torch.export.load(path), recipe, like)).lines
            except Exception as error:
                print(name, recipe, type(error).__name__, str(error)[:300])
                continue
            write(HERE / "quant" / f"{name}.{recipe}.txt", text)


main()
