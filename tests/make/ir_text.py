"""Exported programs as the text of Sconce's IR (grammar: src/ir/print.c)."""

import math
import operator
import re

import torch
from torch.export.graph_signature import InputKind, OutputKind

DTYPES = {
    torch.uint8: "u8",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.float16: "f16",
    torch.float32: "f32",
    torch.float64: "f64",
    torch.complex32: "c32",
    torch.complex64: "c64",
    torch.complex128: "c128",
    torch.bool: "b8",
    torch.bfloat16: "bf16",
}
FORMATS = {
    torch.contiguous_format: "contiguous",
    torch.preserve_format: "preserve",
    torch.channels_last: "channels_last",
    torch.channels_last_3d: "channels_last_3d",
}
INPUTS = {
    InputKind.PARAMETER: "parameter",
    InputKind.BUFFER: "buffer",
    InputKind.CONSTANT_TENSOR: "constant_tensor",
}
OUTPUTS = {
    OutputKind.BUFFER_MUTATION: "buffer_mutation",
    OutputKind.USER_INPUT_MUTATION: "input_mutation",
    OutputKind.PARAMETER_MUTATION: "parameter_mutation",
}


def quoted(text):
    text = re.sub(r" on node '\w+'$", "", text)  # node names are nobody's business here
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def number(value):
    if isinstance(value, bool):
        return "True" if value else "False"
    if isinstance(value, int):
        return str(value)
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    text = repr(float(value))
    return text


def dim(value):
    return str(value.node.expr) if isinstance(value, torch.SymInt) else str(int(value))


def contiguous(sizes):
    strides, step = [], 1
    for size in reversed(sizes):
        strides.insert(0, step)
        step = step * (size if isinstance(size, torch.SymInt) else max(int(size), 1))
    return strides


def spec(tensor):
    sizes, strides = list(tensor.shape), list(tensor.stride())
    text = DTYPES[tensor.dtype] + "[" + ", ".join(map(dim, sizes)) + "]"
    if [dim(s) for s in strides] != [dim(s) for s in contiguous(sizes)]:
        text += "{" + ", ".join(map(dim, strides)) + "}"
    offset = tensor.storage_offset()
    if dim(offset) != "0":
        text += "<" + dim(offset) + ">"
    return text


def type_of(value):
    if isinstance(value, torch.Tensor):
        return ": " + spec(value)
    if isinstance(value, torch.SymInt):
        return ": int(" + dim(value) + ")"
    if isinstance(value, torch.SymFloat):
        return ": float"
    if isinstance(value, torch.SymBool):
        return f": bool({value.node.expr})"
    if isinstance(value, bool):
        return ": bool"
    if isinstance(value, int):
        return f": int({value})"
    if isinstance(value, float):
        return ": float"
    return ": none"


def op_name(target):
    if isinstance(target, torch._ops.OpOverload):
        name = target._schema.name
        if target._overloadname not in ("", "default"):
            name += "." + target._overloadname
        return name
    if isinstance(target, torch._ops.HigherOrderOperator):
        return "higher_order::" + target._name
    module = getattr(target, "__module__", "")
    return (
        "sym::" + target.__name__ if module in ("_operator", "math", "torch") else target.__name__
    )


class Printer:
    def __init__(self, ep):
        self.ep = ep
        self.lines = []

    def arg(self, value, graph_module, indent):
        if isinstance(value, torch.fx.Node):
            if value.op == "get_attr":
                body = getattr(graph_module, value.target)
                lines = []
                self.body(body, indent + 1, lines, None)
                return f"graph {value.target} {{\n" + "\n".join(lines) + "\n" + "  " * indent + "}"
            return "%" + value.name
        if value is None:
            return "None"
        if isinstance(value, (list, tuple)):
            return "[" + ", ".join(self.arg(v, graph_module, indent) for v in value) + "]"
        if isinstance(value, str):
            return quoted(value)
        if isinstance(value, torch.dtype):
            return DTYPES[value]
        if isinstance(value, torch.layout):
            return "strided"
        if isinstance(value, torch.memory_format):
            return FORMATS[value]
        if isinstance(value, torch.device):
            return f'device("{value.type}")'
        return number(value)

    def call(self, node, graph_module, indent):
        parts = []
        schema = getattr(node.target, "_schema", None)
        if schema is None:
            args = list(node.args)
            if "wrap_with_" in op_name(node.target):
                body = next(
                    i
                    for i, a in enumerate(args)
                    if isinstance(a, torch.fx.Node) and a.op == "get_attr"
                )
                args[body + 1 :] = [args[body + 1 :]]
            parts = [self.arg(a, graph_module, indent) for a in args]
        else:
            given = dict(node.kwargs)
            for i, param in enumerate(schema.arguments):
                if i < len(node.args):
                    value = node.args[i]
                elif param.name in given:
                    value = given[param.name]
                else:
                    continue
                text = self.arg(value, graph_module, indent)
                parts.append(text if i < len(node.args) else f"{param.name}={text}")
        return op_name(node.target) + "(" + ", ".join(parts) + ")"

    def outs(self, node):
        """Names and values of the results, in order."""
        value = node.meta.get("val")
        if not isinstance(value, (list, tuple)):
            return None
        names = [None] * len(value)
        for user in node.users:
            if user.target is operator.getitem and names[user.args[1]] is None:
                names[user.args[1]] = user.name
        return [(n or f"{node.name}_unused_{i}", v) for i, (n, v) in enumerate(zip(names, value))]

    def merge_getitems(self, graph):
        first = {}
        for node in list(graph.nodes):
            if node.target is operator.getitem:
                key = (node.args[0], node.args[1])
                if key in first:
                    node.replace_all_uses_with(first[key])
                    graph.erase_node(node)
                else:
                    first[key] = node

    def body(self, graph_module, indent, lines, signature):
        pad = "  " * indent
        inputs = {} if signature is None else {s.arg.name: s for s in signature.input_specs}
        self.merge_getitems(graph_module.graph)
        for node in graph_module.graph.nodes:
            if node.op == "placeholder":
                value = node.meta.get("val")
                text = f"{pad}input %{node.name}{type_of(value)}"
                sig = inputs.get(node.name)
                if sig is not None and sig.kind in INPUTS:
                    tensor = self.ep.state_dict.get(sig.target)
                    tensor = self.ep.constants.get(sig.target) if tensor is None else tensor
                    grad = " grad" if tensor is not None and tensor.requires_grad else ""
                    data = spec(tensor if tensor is not None else value)
                    size = value.numel() * value.element_size()
                    text += f'{grad} {INPUTS[sig.kind]} "{sig.target}"'
                    text += " persistent" if sig.persistent else ""
                    text += f" const {data} {size}"
                lines.append(text)
            elif node.op == "call_function" and node.target is not operator.getitem:
                outs = self.outs(node)
                call = self.call(node, graph_module, indent)
                if outs is None:
                    if node.meta.get("val") is None:
                        lines.append(f"{pad}{node.name}: () = {call}")
                    else:
                        lines.append(f"{pad}%{node.name}{type_of(node.meta['val'])} = {call}")
                else:
                    text = ", ".join(f"%{n}{type_of(v)}" for n, v in outs)
                    lines.append(f"{pad}{node.name}: ({text}) = {call}")
            elif node.op == "output":
                values = node.args[0] if isinstance(node.args[0], (list, tuple)) else [node.args[0]]
                parts = []
                for i, value in enumerate(values):
                    text = self.arg(value, graph_module, indent)
                    if signature is not None:
                        sig = signature.output_specs[i]
                        if sig.kind in OUTPUTS:
                            text += f' {OUTPUTS[sig.kind]} "{sig.target}"'
                    parts.append(text)
                lines.append(f"{pad}return " + ", ".join(parts))

    def program(self):
        lines = ["method forward {"]
        env = next(
            (
                n.meta["val"].fake_mode.shape_env
                for n in self.ep.graph.nodes
                if hasattr(n.meta.get("val"), "fake_mode") and n.meta["val"].fake_mode.shape_env
            ),
            None,
        )
        for symbol, bounds in self.ep.range_constraints.items():
            if not symbol.is_Symbol:
                continue
            is_low = not bounds.lower.is_finite or bounds.lower < -(2**62)
            low = "-inf" if is_low else int(bounds.lower)
            high = (
                "inf" if not bounds.upper.is_finite or bounds.upper > 2**62 else int(bounds.upper)
            )
            hints = {} if env is None else getattr(env, "backed_var_to_val", None) or env.var_to_val
            hint = f" hint {int(hints[symbol])}" if symbol in hints else ""
            lines.append(f"  symbol {symbol} [{low}, {high}]{hint}")
        self.body(self.ep.graph_module, 1, lines, self.ep.graph_signature)
        return "\n".join(lines) + "\n}\n"


def ir_text(ep):
    return Printer(ep).program()
