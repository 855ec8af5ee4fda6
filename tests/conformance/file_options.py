"""Files with options that change what is in them: the official tools read them, and both runtimes
compute what PyTorch computes."""

import runtimes
import torch
from torch.export import Dim


class Layers(torch.nn.Module):
    """Without views, for which the official emitter writes no stack traces."""

    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3)

    def forward(self, x):
        y = torch.relu(self.conv(x))
        return torch.sigmoid(y) * 2.5 + y


class Branches(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, flag, x):
        y = torch.cond(flag, lambda v: v.sin() + 1, lambda v: v.cos(), [self.linear(x)])
        return y.reshape(-1)


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(8)
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, x):
        y = torch.nn.functional.silu(self.linear(self.norm(x)))
        return torch.softmax(y.clone().to(torch.float64).to(torch.float32), -1)


def deserialized(path):
    from executorch.exir._serialize._program import deserialize_pte_binary

    pte = deserialize_pte_binary(path.read_bytes())
    return getattr(pte, "program", pte)


def export(module, inputs, folder, **shapes):
    source = folder / "model.pt2"
    program = torch.export.export(module, inputs, **shapes)
    torch.export.save(program, source)
    return source, program


def check_numbers(path, module, calls, folder):
    ours = runtimes.run_files(folder, [(path, [("forward", list(x)) for x in calls], ())])[0]
    assert isinstance(ours, list), ours
    method = runtimes.load(path).load_method("forward")
    for inputs, here in zip(calls, ours, strict=True):
        wanted = module(*inputs).detach()
        runtimes.check_value(here[0], wanted, "here")
        runtimes.check_value(method.execute(list(inputs))[0], wanted, "official")


def frames(lists):
    return [[(f.filename, f.lineno, f.name, f.context) for f in each.items] for each in lists]


def judge_traces(folder):
    from executorch.exir import ExecutorchBackendConfig, to_edge
    from executorch.exir.print_program import _stacktrace_to_framelist

    module, inputs = Layers().eval(), (torch.randn(1, 3, 6, 6),)
    source, program = export(module, inputs, folder)
    path = folder / "traced.pte"
    runtimes.lower([source, "--emit-stacktrace"], path)
    [chain] = deserialized(path).execution_plan[0].chains
    assert len(chain.stacktrace) == len(chain.instructions)
    official = to_edge(torch.export.load(source)).to_executorch(
        ExecutorchBackendConfig(emit_stacktrace=True)
    )
    [wanted] = official.executorch_program.execution_plan[0].chains
    known = {tuple(each) for each in frames(wanted.stacktrace)}
    known |= {
        tuple(frames([_stacktrace_to_framelist(node.stack_trace)])[0])
        for node in program.graph.nodes
        if node.stack_trace
    }
    written = [tuple(each) for each in frames(chain.stacktrace)]
    assert set(written) <= known, set(written) - known
    if len(written) == len(wanted.stacktrace):
        assert written == [tuple(each) for each in frames(wanted.stacktrace)]
    assert any(written)
    check_numbers(path, module, [inputs], folder)


def judge_traced_branches(folder):
    module = Branches().eval()
    calls = [(torch.tensor(flag), torch.randn(2, 4)) for flag in (True, False)]
    source, _ = export(module, calls[0], folder)
    path = folder / "traced.pte"
    runtimes.lower([source, "--emit-stacktrace"], path)
    [chain] = deserialized(path).execution_plan[0].chains
    assert len(chain.stacktrace) == len(chain.instructions)
    assert [] in frames(chain.stacktrace) and any(frames(chain.stacktrace))
    check_numbers(path, module, calls, folder)


def judge_inline(alignment, folder):
    module, inputs = Layers().eval(), (torch.randn(1, 3, 6, 6),)
    source, _ = export(module, inputs, folder)
    path = folder / "inline.pte"
    flags = ["--backend", "xnnpack", "--inline-delegates", "--delegate-alignment", str(alignment)]
    runtimes.lower([source, *flags], path)
    program = deserialized(path)
    [delegate] = program.execution_plan[0].delegates
    assert delegate.processed.location.name == "INLINE"
    data = bytes(program.backend_delegate_data[delegate.processed.index].data)
    at = path.read_bytes().index(data)
    assert at % alignment == 0, at
    check_numbers(path, module, [inputs], folder)


def judge_aligned(folder):
    from executorch.exir._serialize._program import _get_extended_header

    module, inputs = Layers().eval(), (torch.randn(1, 3, 6, 6),)
    source, _ = export(module, inputs, folder)
    path = folder / "aligned.pte"
    runtimes.lower([source, "--backend", "xnnpack", "--delegate-alignment", "4096"], path)
    file = path.read_bytes()
    program = deserialized(path)
    [delegate] = program.execution_plan[0].delegates
    # The official reader puts the segments of delegates back into the program.
    data = bytes(program.backend_delegate_data[delegate.processed.index].data)
    base = _get_extended_header(file).segment_base_offset
    at = file.index(data)
    assert at >= base and at % 4096 == 0, at
    check_numbers(path, module, [inputs], folder)


def judge_sizes(choice, folder):
    from executorch.exir import ExecutorchBackendConfig, to_edge
    from executorch.exir.passes import sym_shape_eval_pass

    module = Attention().eval()
    shapes = {"dynamic_shapes": {"x": {0: Dim("n", min=2, max=64)}}}
    source, _ = export(module, (torch.randn(5, 8),), folder, **shapes)
    path = folder / "sized.pte"
    most = {"constraint": 64, "hint": 5, "x.0=9": 9}[choice]
    runtimes.lower([source, "--sym-shape-eval", choice], path)
    plan = deserialized(path).execution_plan[0]
    assert plan.values[plan.inputs[0]].val.sizes == [most, 8]
    passes = {
        "constraint": sym_shape_eval_pass.ConstraintBasedSymShapeEvalPass,
        "hint": sym_shape_eval_pass.HintBasedSymShapeEvalPass,
    }
    if choice in passes:
        config = ExecutorchBackendConfig(sym_shape_eval_pass=passes[choice]())
        official = to_edge(torch.export.load(source)).to_executorch(config)
        wanted = official.executorch_program.execution_plan[0]
        assert wanted.values[wanted.inputs[0]].val.sizes == [most, 8]
    check_numbers(path, module, [(torch.randn(n, 8),) for n in (2, 5, most)], folder)


EDGE_FLAGS = {
    "preserved": ["--preserve-op", "aten::silu", "--preserve-op", "aten::layer_norm"],
    "memory formats": ["--skip-dim-order"],
    "mixed dtypes": ["--skip-type-promotion"],
    "unchecked": ["--no-ir-check", "--except-op", "aten::poisson", "--no-edge-ops"],
}


def judge_edge(name, folder):
    module, inputs = Attention().eval(), (torch.randn(3, 8),)
    source, _ = export(module, inputs, folder)
    path = folder / "edge.pte"
    runtimes.lower([source, *EDGE_FLAGS[name]], path)
    operators = {operator.name for operator in deserialized(path).execution_plan[0].operators}
    if name == "memory formats":
        assert not any(operator.startswith("dim_order_ops") for operator in operators), operators
    check_numbers(path, module, [inputs], folder)


def cases():
    yield "file options: stack traces", judge_traces, ()
    yield "file options: stack traces of branches", judge_traced_branches, ()
    for alignment in (16, 256, 4096):
        yield f"file options: inline delegates at {alignment}", judge_inline, (alignment,)
    yield "file options: aligned segments", judge_aligned, ()
    for choice in ("constraint", "hint", "x.0=9"):
        yield f"file options: sizes by {choice}", judge_sizes, (choice,)
    for name in EDGE_FLAGS:
        yield f"file options: {name}", judge_edge, (name,)
