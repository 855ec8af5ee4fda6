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
        self.only = torch.nn.Linear(8, 8)

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
    x, methods, arguments = torch.randn(3, 8), {"encode": Encode(), "decode": Decode()}, []
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


def cases():
    for name in CASES:
        for words in ([], ["--backend", "xnnpack"]):
            title = f"own passes: {name}{', xnnpack' if words else ''}"
            yield title, judge, (name, words)
