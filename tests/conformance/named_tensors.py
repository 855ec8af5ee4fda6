"""Named tensors of a backend in JavaScript: the official reader of data files finds them by name,
with the type, the sizes and the dim order that the backend gave, and with the bytes of the weights.
So does the official reader of records find them in an ETRecord."""

import runtimes
import torch

BACKEND = runtimes.ROOT / "tests" / "conformance" / "named_tensors.mjs"


class Layers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(8, 16)
        self.second = torch.nn.Linear(16, 8)

    def forward(self, x):
        return self.second(torch.tanh(self.first(x)))


def lowered(folder):
    torch.manual_seed(0)
    module = Layers().eval()
    source = folder / "model.pt2"
    torch.export.save(torch.export.export(module, (torch.randn(3, 8),)), source)
    record = folder / "model.etrecord"
    arguments = [str(source), "--import", str(BACKEND), "--backend", "KeepsWeights"]
    runtimes.lower([*arguments, "--etrecord", str(record)], folder / "model.pte")
    return module, folder / "weights.ptd", record


def check_file(module, path):
    from executorch.exir._serialize._cord import Cord
    from executorch.extension.flat_tensor.serialize.serialize import FlatTensorConfig
    from executorch.extension.flat_tensor.serialize.serialize import FlatTensorSerializer

    data = FlatTensorSerializer(FlatTensorConfig()).deserialize(Cord(path.read_bytes()))
    entries = data.named_data
    layouts = {key: entry.tensor_layout for key, entry in entries.items()}

    def content(key):
        return bytes(data.buffers[entries[key].buffer_index])

    assert layouts["plain"] is None and content("plain") == b"\x07", layouts
    image, numbers = layouts["image"], layouts["numbers"]
    assert (image.sizes, list(image.dim_order)) == ([1, 2, 3, 4], [0, 2, 3, 1]), image
    assert numbers.scalar_type.name == "LONG" and numbers.sizes == [3], numbers
    assert content("numbers") == torch.tensor([1, 2, 3]).numpy().tobytes()
    found = 0
    for name, weight in module.state_dict().items():
        layout = layouts.get(f"forward.{name}")
        if layout is None:
            continue
        found += 1
        expected = weight.detach().contiguous()
        assert layout.scalar_type.name == "FLOAT", layout
        assert layout.sizes == list(expected.shape), (name, layout)
        assert content(f"forward.{name}") == expected.numpy().tobytes(), name
    assert found == 2, sorted(layouts)


def check_record(path):
    from executorch.devtools.etrecord import parse_etrecord

    program = parse_etrecord(str(path)).edge_dialect_program
    (first, *_) = (
        module.named_data_store_output
        for module in program.graph_module.children()
        if type(module).__name__ == "LoweredBackendModule"
    )
    layout = first.external_data["weights"]["image"].tensor_layout
    assert (layout.sizes, layout.dim_order) == ([1, 2, 3, 4], [0, 2, 3, 1]), layout


def judge(folder):
    module, path, record = lowered(folder)
    check_file(module, path)
    check_record(record)


def cases():
    yield "named tensors: data file and record", judge, ()
