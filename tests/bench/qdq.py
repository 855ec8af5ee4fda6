"""Writes a graph of torch's static 8-bit quantization as .onnx: the same bytes of weights, scales
and zero points, each operator between DequantizeLinear and QuantizeLinear, which is what
onnxruntime turns into operators on bytes.

Operators that keep scale and zero point (clamping, flattening) are written on bytes: onnxruntime
would compute it in floats. Biases become 32-bit integers of the product of both scales, as they do
in XNNPACK. Both round halves to even. Values between operators are bytes without a sign, the same
quanta with zero points that are 128 higher: what onnxruntime makes of signed ones in wasm is slower
and a quantum off here and there.
"""

import numpy
import onnx
import torch
import torch.ao.quantization.fx._decomposed  # noqa: F401, registers the operators
from onnx import helper, numpy_helper

aten = torch.ops.aten
quantized = torch.ops.quantized_decomposed

QUANTIZE = quantized.quantize_per_tensor.default
DEQUANTIZE = quantized.dequantize_per_tensor.default
BY_CHANNEL = quantized.dequantize_per_channel.default


UNSIGNED = 128  # what is added to a byte with a sign


def tensor_of(array, dtype):
    return numpy.asarray(array).astype(dtype)


class Writer:
    """`names` has what stands for a node of the graph, `nodes` and `constants` are the file's."""

    def __init__(self, constants):
        self.given = constants  # placeholder name to tensor
        self.names, self.nodes, self.constants = {}, [], []

    def constant(self, name, array):
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def call(self, op, result, inputs, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [result], name=result, **attributes))
        return result

    def grid(self, node):
        """The operands after the first of QuantizeLinear and DequantizeLinear."""
        _, scale, zero, low, high, dtype = node.args
        assert (low, high, dtype) == (-128, 127, torch.int8), f"{node.name} has another range"
        zero = tensor_of(zero + UNSIGNED, numpy.uint8)
        return [
            self.constant(f"{node.name}_scale", tensor_of(scale, numpy.float32)),
            self.constant(f"{node.name}_zero", zero),
        ]

    def quantize(self, node):
        source = node.args[0]
        if source.target in ON_BYTES:
            assert source.args[0].args[1:] == node.args[1:], f"{source.name} changes its scale"
            return ON_BYTES[source.target](self, node, source)
        return self.call("QuantizeLinear", node.name, [self.names[source], *self.grid(node)])

    def dequantize(self, node):
        inputs = [self.names[node.args[0]], *self.grid(node)]
        return self.call("DequantizeLinear", node.name, inputs)

    def weight(self, node):
        """A convolution or a linear layer; `node` dequantizes it by its first dimension."""
        weight, scale, zero, axis, *_ = node.args
        assert axis == 0 and not self.given[zero.name].any(), f"{node.name} has zero points"
        values = self.given[weight.name].numpy()
        scales = tensor_of(self.given[scale.name].numpy(), numpy.float32)
        inputs = [
            self.constant(weight.name, tensor_of(values, numpy.int8)),
            self.constant(scale.name, scales),
            self.constant(zero.name, numpy.zeros(len(scales), numpy.int8)),
        ]
        return self.call("DequantizeLinear", node.name, inputs, axis=0), scales

    def operands(self, node):
        """Input, weight and bias of a convolution or a linear layer."""
        x, weight, bias = node.args[:3]
        weight, scales = self.weight(weight)
        scales = tensor_of(x.args[1], numpy.float32) * scales
        name = f"{node.name}_bias"
        inputs = [
            self.constant(
                f"{name}_bytes",
                tensor_of(numpy.rint(self.given[bias.name].numpy() / scales), numpy.int32),
            ),
            self.constant(f"{name}_scale", scales),
            self.constant(f"{name}_zero", numpy.zeros(len(scales), numpy.int32)),
        ]
        return [self.names[x], weight, self.call("DequantizeLinear", name, inputs, axis=0)]


def clamp(writer, node, source):
    _, scale, zero, least, most, _ = node.args
    bounds = [numpy.clip(numpy.rint(b / scale) + zero, least, most) for b in source.args[1:3]]
    limits = [
        writer.constant(f"{source.name}_{i}", tensor_of(b + UNSIGNED, numpy.uint8))
        for i, b in enumerate(bounds)
    ]
    return writer.call("Clip", node.name, [bytes_before(writer, source), *limits])


def flatten(writer, node, source):
    return writer.call("Flatten", node.name, [bytes_before(writer, source)], axis=source.args[1])


def bytes_before(writer, node):
    return writer.names[node.args[0].args[0]]


def convolution(writer, node):
    defaults = [[1, 1], [0, 0], [1, 1], 1]
    given = list(node.args[3:])
    strides, padding, dilations, groups = given + defaults[len(given) :]
    attributes = {"strides": strides, "pads": [*padding, *padding], "dilations": dilations}
    return writer.call("Conv", node.name, writer.operands(node), group=groups, **attributes)


def linear(writer, node):
    return writer.call("Gemm", node.name, writer.operands(node), transB=1)


def add(writer, node):
    return writer.call("Add", node.name, [writer.names[source] for source in node.args])


def average(writer, node):
    assert list(node.args[1]) == [1, 1], f"{node.name} does not average whole pictures"
    return writer.call("GlobalAveragePool", node.name, [writer.names[node.args[0]]])


# The tensor to write when the result is quantized again, on the same grid.
ON_BYTES = {
    aten.hardtanh_.default: clamp,
    aten.flatten.using_ints: flatten,
    aten.dropout.default: lambda writer, node, source: bytes_before(writer, source),
}
OPS = {
    QUANTIZE: Writer.quantize,
    DEQUANTIZE: Writer.dequantize,
    aten.conv2d.default: convolution,
    aten.linear.default: linear,
    aten.add.Tensor: add,
    aten.adaptive_avg_pool2d.default: average,
}


def value(node, name=None):
    shape = list(node.meta["val"].shape)
    return helper.make_tensor_value_info(name or node.name, onnx.TensorProto.FLOAT, shape)


def write_qdq(program, constants, path):
    """`program` as exported, without decompositions; `constants` has its placeholders' tensors."""
    writer, inputs, outputs = Writer(constants), [], []
    for node in program.graph.nodes:
        if node.op == "placeholder" and node.name not in constants:
            inputs.append(value(node))
            writer.names[node] = node.name
        elif node.op == "output":
            outputs = [value(result, writer.names[result]) for result in node.args[0]]
        elif node.op == "call_function" and node.target not in (BY_CHANNEL, *ON_BYTES):
            assert node.target in OPS, f"there is no ONNX for {node.target}"
            writer.names[node] = OPS[node.target](writer, node)
    graph = helper.make_graph(writer.nodes, "quantized", inputs, outputs, writer.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 10
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)
