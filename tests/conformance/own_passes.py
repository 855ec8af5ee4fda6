"""The passes of examples/passes.mjs: they leave two methods as PyTorch computes them when the
model is written so, delegated and not, on both runtimes."""

import runtimes
import torch

F = torch.nn.functional
PASSES = runtimes.ROOT / "examples" / "passes.mjs"


@torch.library.custom_op("demo::scaled_tanh", mutates_args=())
def scaled_tanh(x: torch.Tensor, scale: float) -> torch.Tensor:
    return torch.tanh(x) * scale


@scaled_tanh.register_fake
def _(x, scale):
    return torch.empty_like(x)


class Encode(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(8, 16)
        self.second = torch.nn.Linear(16, 8)

    def forward(self, x):
        hidden = torch.relu(self.first(x))
        hidden = hidden * torch.sigmoid(hidden)
        return scaled_tanh(self.second(hidden) * 0.5, 3.0)

    def expected(self, x, activation):
        """The result, and then those of the linear layers with their scales."""
        first = self.first(x)
        second = self.second(F.silu(activation(first))) * 0.5
        return torch.tanh(second) * 3.0, first, second


class Decode(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.only = torch.nn.Linear(8, 8, bias=False)

    def forward(self, x):
        return scaled_tanh(torch.relu(self.only(x) * 2.0), 1.5)

    def expected(self, x, activation):
        only = self.only(x) * 2.0
        return torch.tanh(activation(only)) * 1.5, only


def tanh_gelu(x):
    return F.gelu(x, approximate="tanh")


CASES = {
    "expandScaledTanh": ([], torch.relu, False),
    "geluForRelu": (["geluForRelu"], tanh_gelu, False),
    "fuseSilu": (["fuseSilu"], torch.relu, False),
    "foldScales": (["foldScales"], torch.relu, False),
    "showLinears": (["foldScales", "showLinears"], torch.relu, True),
}


def judge(name, backend, folder):
    passes, activation, shows = CASES[name]
    torch.manual_seed(0)
    methods, arguments = {"encode": Encode(), "decode": Decode()}, []
    # A layer over three dims is a product of matrices with views around it.
    x = torch.randn(3, 8) if shows else torch.randn(2, 3, 8)
    for method, module in methods.items():
        source = folder / f"{method}.pt2"
        torch.export.save(torch.export.export(module.eval(), (x,)), source)
        arguments += ["--method", f"{method}={source}"]
    for one in ["expandScaledTanh", *passes]:
        arguments += ["--pass", one]
    path = folder / "program.pte"
    runtimes.lower([*arguments, "--import", str(PASSES), *backend], path)
    official = runtimes.load(path)
    ours = runtimes.run_files(folder, [(path, [(method, [x]) for method in methods], ())])[0]
    assert isinstance(ours, list), ours
    for (method, module), here in zip(methods.items(), ours):
        expected = module.expected(x, activation)
        expected = expected if shows else expected[:1]
        there = official.load_method(method).execute([x])
        for who, found in (("official", there), ("here", here)):
            assert len(found) == len(expected), f"{method}, {who}: {len(found)} results"
            for k, value in enumerate(expected):
                runtimes.check_value(found[k], value.detach(), f"{method}, {who}, output {k}")


QUANTIZED = runtimes.ROOT / "tests" / "models" / "quantized_cnn.pt2"


def official_border(backend):
    """The program that ExecuTorch's own passes make of it, in memory."""
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge
    from executorch.exir.passes.quantize_io_pass import QuantizeInputs, QuantizeOutputs

    edge = to_edge(torch.export.load(QUANTIZED))
    edge = edge.transform([QuantizeInputs(edge, [0]), QuantizeOutputs(edge, [0])])
    if backend:
        edge = edge.to_backend(XnnpackPartitioner())
    return edge.to_executorch().buffer


def judge_border(backend, folder):
    """Integers go in and out, as officially: the same numbers, and the same constant methods."""
    import executorch.kernels.quantized  # noqa: F401

    torch.manual_seed(0)
    x = torch.randint(-128, 128, (1, 3, 11, 11), dtype=torch.int8)
    theirs = folder / "official.pte"
    theirs.write_bytes(official_border(backend))
    passes = ["--pass", "quantizeInputs", "--pass", "quantizeOutputs"]
    path = folder / "program.pte"
    runtimes.lower([str(QUANTIZED), *passes, *backend], path)
    official, other = runtimes.load(path), runtimes.load(theirs)
    assert sorted(official.method_names) == sorted(other.method_names)
    for name in official.method_names:
        if name != "forward":
            found, expected = (p.load_method(name).execute([]) for p in (official, other))
            assert found == expected, f"{name}: {found}, officially {expected}"
    expected = other.load_method("forward").execute([x])[0]
    ours = runtimes.run_files(folder, [(path, [("forward", [x])], ())])[0]
    for who, found in (
        ("official", official.load_method("forward").execute([x])[0]),
        ("here", ours[0][0]),
    ):
        assert found.dtype == torch.int8, f"{who}: {found.dtype}"
        apart = (found.int() - expected.int()).abs().max().item()
        assert apart <= 1, f"{who}: {apart} steps from what the official passes give"


def cases():
    for words in ([], ["--backend", "xnnpack"]):
        title = f"own passes: integers at the border{', xnnpack' if words else ''}"
        yield title, judge_border, (words,)
    for name in CASES:
        for words in ([], ["--backend", "xnnpack"]):
            title = f"own passes: {name}{', xnnpack' if words else ''}"
            yield title, judge, (name, words)
