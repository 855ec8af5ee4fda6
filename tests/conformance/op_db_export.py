"""A call of an operator, exported: as it is, or with a size left open, to be called with others."""

import torch
from op_db_samples import Program


def exported(case, shapes=None):
    dynamic = None if shapes is None else (tuple(shapes),)
    return torch.export.export(
        Program(case), tuple(case.inputs), dynamic_shapes=dynamic, strict=False
    )


def axes_tried(inputs):
    """Axes that may belong together: by place from the left, by size, by place from the right."""
    first = next((x for x in inputs if any(size > 1 for size in x.shape)), None)
    if first is None:
        return
    place = next(k for k, size in enumerate(first.shape) if size > 1)
    size, last = first.shape[place], first.shape[-1]
    yield size, [[place] if x.shape[place : place + 1] == (size,) else [] for x in inputs]
    yield size, [[k for k, n in enumerate(x.shape) if n == size] for x in inputs]
    if last > 1:
        yield last, [[x.dim() - 1] if x.shape[-1:] == (last,) else [] for x in inputs]


def exported_open(case):
    """The program with a size left open, or None where PyTorch leaves none of those tried open."""
    seen = []
    for size, axes in axes_tried(case.inputs):
        if axes in seen:
            continue
        seen.append(axes)
        hint = torch.export.Dim.AUTO(min=2, max=3 * size + 2)
        try:
            program = exported(case, [dict.fromkeys(found, hint) for found in axes])
        except Exception:
            continue
        if open_size(program):
            return program
    return None


def placeholders(program):
    """Facts that the trace knows of each input."""
    nodes = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    return [nodes[name].meta["val"] for name in program.graph_signature.user_inputs]


def open_size(program):
    """The first symbol that sizes of inputs depend on: (symbol, its value, least, most)."""
    for fake in placeholders(program):
        for size in fake.shape:
            for symbol in size.node.expr.free_symbols if isinstance(size, torch.SymInt) else ():
                found = program.range_constraints[symbol]
                value = size.node.shape_env.backed_var_to_val[symbol]
                return symbol, int(value), int(found.lower), int(found.upper)
    return None


def stretched(fake, tensor, symbol, size):
    """The input as it is where a symbol is so much: its rows, again and again."""
    for axis, wanted in enumerate(fake.shape):
        if isinstance(wanted, torch.SymInt):
            values = {**wanted.node.shape_env.backed_var_to_val, symbol: size}
            rows = torch.arange(int(wanted.node.expr.subs(values))) % tensor.shape[axis]
            tensor = tensor.index_select(axis, rows)
    return tensor


def other_sizes(program):
    found = open_size(program)
    if found is None:
        return
    symbol, value, least, most = found
    for size in sorted({min(value + 2, most), max(value - 1, least)} - {value}):
        yield symbol, size


def calls_of(case, program):
    """Inputs and PyTorch's answers: of the sample, and of other sizes that PyTorch takes."""
    calls = [(case.inputs, case.eager(case.inputs))]
    for symbol, size in other_sizes(program):
        try:
            pairs = zip(placeholders(program), case.inputs, strict=True)
            inputs = [stretched(fake, x, symbol, size) for fake, x in pairs]
            calls.append((inputs, case.eager(inputs)))
        except Exception:
            continue
    return calls
