"""Makes tests/data/serde: small edge programs as the official exir.serde saves them.

Run with a Python that has executorch, from the root of the checkout. The results name no machine.

    python tests/make/make_serde_data.py
"""

import usage  # noqa: F401

import io
import zipfile
from pathlib import Path

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge
from executorch.exir.serde.serialize import save

HERE = Path(__file__).resolve().parent
OUT = HERE.parent / "data" / "serde"
PATHS = [
    (HERE, b"/srv/models"),
    (Path(torch.__file__).parent.parent, b"/usr/lib/python3/dist-packages"),
]


class Counting(torch.nn.Module):
    """Tuples, a symbol, a buffer that is written, and a dtype with a number of its own."""

    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
        self.register_buffer("n", torch.zeros(1, dtype=torch.int64))

    def forward(self, x):
        self.n.add_(1)
        values, indices = torch.max(x @ self.w, 1)
        normed = torch.nn.functional.layer_norm(x, (2,))
        return normed + values.unsqueeze(1), indices, self.n.to(torch.uint16)


class Linear(torch.nn.Module):
    """A layer that XNNPACK takes, and an operator that it leaves."""

    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(2, 3)

    def forward(self, x):
        return self.fc(x).cumsum(0)


def edge_of(module):
    torch.manual_seed(0)
    rows = torch.export.Dim("rows", min=2, max=8)
    shapes = ({0: rows},)
    return to_edge(torch.export.export(module, (torch.randn(3, 2),), dynamic_shapes=shapes))


def write(name, program):
    """The archive, stored at a fixed date, without the folder of this script."""
    saved = io.BytesIO()
    save(program, saved)
    with zipfile.ZipFile(saved) as old, zipfile.ZipFile(OUT / name, "w") as new:
        for info in old.infolist():
            content = old.read(info)
            if info.filename.endswith(".json"):
                for path, shown in PATHS:
                    content = content.replace(str(path).encode(), shown)
            new.writestr(zipfile.ZipInfo(info.filename), content)


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    write("edge.serde", edge_of(Counting()).exported_program())
    delegated = edge_of(Linear()).to_backend(XnnpackPartitioner())
    write("delegated.serde", delegated.exported_program())
