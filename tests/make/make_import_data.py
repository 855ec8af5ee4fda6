"""Makes tests/import/*.pt2, small exported programs whose import the unit tests compare with text.

Run with a Python that has PyTorch and ExecuTorch, from the root of the checkout:

    python tests/make/make_import_data.py [FILE.pt2]

FILE.pt2 is a program of PyTorch 2.6, which becomes legacy.pt2. The results are committed. Node
metadata is cut down to what the importer reads, and names no machine.
"""

import usage  # noqa: F401

import io
import json
import sys
import zipfile

import torch
from executorch.exir import to_edge
from torch.export import Dim, export
from torch.export.pt2_archive._package import package_pt2

DATE = (1980, 1, 1, 0, 0, 0)


def trim_graph(graph):
    for number, node in enumerate(graph["nodes"]):
        trace = f'File "model.py", line {number + 1}, in forward\n    {node["target"]}'
        stack = node["metadata"].get("nn_module_stack")
        node["metadata"] = {"stack_trace": trace}
        if stack and "/" not in stack:
            node["metadata"]["nn_module_stack"] = stack
        for argument in node["inputs"]:
            if "as_graph" in argument["arg"]:
                trim_graph(argument["arg"]["as_graph"]["graph"])


def trim_model(data):
    model = json.loads(data)
    trim_graph(model["graph_module"]["graph"])
    model["guards_code"] = []
    model["torch_version"] = "2.x"
    return json.dumps(model).encode()


def trim_archive(data, path):
    source = zipfile.ZipFile(io.BytesIO(data))
    with zipfile.ZipFile(path, "w") as out:
        for name in source.namelist():
            content = source.read(name)
            if "sample_inputs" in name or "/.data/" in name or "example_inputs" in name:
                continue
            if "/models/" in name or name == "serialized_exported_program.json":
                content = trim_model(content)
            if name.startswith("archive/"):
                name = "m" + name[7:]
            out.writestr(zipfile.ZipInfo(name, DATE), content)


def save(name, program):
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    trim_archive(buffer.getvalue(), f"tests/import/{name}.pt2")


def save_pickled(name, program):
    """As PyTorch 2.8 did it: one torch.save file for all weights, one for all constants."""
    source = zipfile.ZipFile(f"tests/import/{name}.pt2")
    with zipfile.ZipFile(f"tests/import/{name}_pickled.pt2", "w") as out:
        for entry in source.namelist():
            if "/data/" not in entry:
                out.writestr(zipfile.ZipInfo(entry, DATE), source.read(entry))
        for folder, value in [("weights", program.state_dict), ("constants", program.constants)]:
            buffer = io.BytesIO()
            torch.save(dict(value), buffer)
            out.writestr(zipfile.ZipInfo(f"m/data/{folder}/model.pt", DATE), buffer.getvalue())


class Inputs(torch.nn.Module):
    def forward(self, x, flag: bool, none, scale: float, mode: str, extra):
        a, b, c = x.split(2)
        values, _ = x.topk(2)
        y = a * scale if flag else b
        return {"y": y + extra["k"], "list": [c, values.sum()], "five": 5, "none": none}


class Weights(torch.nn.Module):
    def __init__(self):
        super().__init__()
        base = torch.arange(12.0).reshape(3, 4)
        self.weight = torch.nn.Parameter(base)
        self.tied = self.weight
        self.register_buffer("transposed", base.t())
        self.register_buffer("column", base[:, 1])
        self.register_buffer("row", base[1])
        self.register_buffer("expanded", torch.tensor([2.0]).expand(4))
        self.register_buffer("short", torch.ones(2, dtype=torch.bfloat16), persistent=False)
        self.register_buffer("empty", torch.ones(0, 4))
        self.constant = torch.tensor([1, 2, 3])

    def forward(self, x):
        y = x @ self.transposed + self.column + self.constant
        y = y @ self.weight + self.tied.sum() + self.row + self.expanded
        return torch.cat([y, self.empty]), self.short


class Symbols(torch.nn.Module):
    def forward(self, x, y):
        n = x.shape[0] * x.shape[1]
        z = x.reshape(n) + torch.ones(max(x.shape[0], 2))[0]
        count = y.sum().item()
        torch._check(count >= 0)
        torch._check(count <= 100)
        return z, torch.zeros(count), x[:, : x.shape[1] // 2]


class Mutation(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x):
        self.count.add_(1)
        x.mul_(2)
        return x + self.count


class Control(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x):
        y = torch.cond(x.sum() > 0, lambda x: self.linear(x), lambda x: x.sin(), (x,))
        with torch.no_grad():
            return y * 2


class Arguments(torch.nn.Module):
    def forward(self, x, i):
        y = x.to(memory_format=torch.channels_last).to(torch.float16)
        y = torch.full_like(y, float("-inf")) + torch.zeros(1, dtype=torch.float64)
        y = torch.nan_to_num(y, nan=float("nan"), posinf=1e-05)
        z = y[:, i, :, i][1:]
        return z.clamp(max=2**40), torch.nn.functional.gelu(y, approximate="tanh")


@torch.library.custom_op("my::two", mutates_args=())
def two(x: torch.Tensor, text: str, values: list[float]) -> tuple[torch.Tensor, list[torch.Tensor]]:
    return x.clone(), [x + 1, x + 2]


@two.register_fake
def _(x, text, values):
    return torch.empty_like(x), [torch.empty_like(x), torch.empty_like(x)]


class Custom(torch.nn.Module):
    def forward(self, x):
        a, b = torch.ops.my.two(x, 'caf\u00e9 "\n', [1.5, float("inf")])
        return a + b[1]


class ComplexNumbers(torch.nn.Module):
    def forward(self, x, half, wide):
        # One without dims widens none that has some.
        filled = torch.full((2,), 1 + 2j), torch.full_like(wide, 3 - 1j), x.new_full((2,), 2j)
        return x.addcmul(x, wide, value=2j) + half * 1j, torch.sub(x, wide, alpha=3j), *filled


class Edge(torch.nn.Module):
    """After to_edge(): positional arguments have no names then, and empty lists no kind."""

    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(2, 3, 1)
        self.norm = torch.nn.LayerNorm(3)

    def forward(self, x):
        y = self.norm(self.conv(x).permute(0, 2, 3, 1))
        values, indices = y.topk(2, sorted=True)
        total = y.sum().to(torch.float64) * 2
        return values, indices, total, x[1:, :, 0], torch.full((x.shape[0], 2), 1.5)


def main():
    torch.manual_seed(0)
    x = torch.arange(24.0).reshape(6, 4)
    save("inputs", export(Inputs(), (x, True, None, 0.5, "fast", {"k": torch.ones(4)})))
    weights = export(Weights(), (torch.ones(2, 4),))
    save("weights", weights)
    save_pickled("weights", weights)
    dims = {"x": {0: Dim("batch", min=1, max=64), 1: 2 * Dim("_width", min=1, max=64)}, "y": None}
    save(
        "symbols", export(Symbols(), (torch.ones(4, 6), torch.tensor([1, 2])), dynamic_shapes=dims)
    )
    mutation = export(Mutation(), (torch.ones(3),))
    save("mutation", mutation)
    save("mutation_core", mutation.run_decompositions())
    save("control", export(Control(), (torch.ones(2, 3),)))
    save("arguments", export(Arguments(), (torch.ones(2, 3, 4, 5), torch.tensor([0, 1]))))
    save("custom", export(Custom(), (torch.ones(3),)))
    wide = torch.tensor(1j, dtype=torch.complex128)
    numbers = torch.ones(2, dtype=torch.complex64), torch.ones(2).half(), wide
    save("complex_numbers", export(ComplexNumbers(), numbers))
    programs = {
        "encode": export(torch.nn.Linear(2, 2), (torch.ones(1, 2),)),
        "text/decode": export(torch.nn.ReLU(), (torch.ones(2),)),
    }
    buffer = io.BytesIO()
    package_pt2(buffer, exported_programs=programs)
    trim_archive(buffer.getvalue(), "tests/import/package.pt2")
    batch = {"x": {0: Dim("batch", min=3, max=8)}}
    edge = to_edge(export(Edge(), (torch.ones(3, 2, 4, 4),), dynamic_shapes=batch))
    save("edge", edge.exported_program())
    if len(sys.argv) > 1:
        trim_archive(open(sys.argv[1], "rb").read(), "tests/import/legacy.pt2")


main()
