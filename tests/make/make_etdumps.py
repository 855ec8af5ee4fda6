"""Writes tests/data/etdump: small programs, what the official runtime logs while it runs them, and
what the official Inspector tells of that. Needs executorch, whose runtime has event tracing.

  python3 tests/make/make_etdumps.py [FOLDER]
"""

import usage  # noqa: F401

import json
import math
import pathlib
import re
import sys
import zipfile

import pandas as pd
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.devtools import Inspector
from executorch.exir import to_edge_transform_and_lower
from executorch.extension.pybindings import portable_lib

HERE = pathlib.Path(__file__).resolve().parent
METRICS = ["SNR", "MSE", "L1"]


class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 6)
        self.second = torch.nn.Linear(6, 3)

    def forward(self, x):
        y = torch.nn.functional.gelu(self.first(x))
        return torch.softmax(self.second(y) * 2, dim=-1)


class Conv(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(2, 4, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(4)

    def forward(self, x):
        y = torch.relu(self.norm(self.conv(x)))
        a, b = torch.split(y, 2, dim=1)
        return a + b, torch.amax(y, dim=(2, 3))


class Encode(torch.nn.Module):
    def __init__(self, shared):
        super().__init__()
        self.shared = shared

    def forward(self, x):
        return torch.tanh(self.shared(x))


class Decode(torch.nn.Module):
    def __init__(self, shared):
        super().__init__()
        self.shared = shared

    def forward(self, x):
        return torch.sigmoid(x @ self.shared.weight) + 1


class Removed(torch.nn.Module):
    """Nodes that lowering leaves out, between others that it keeps."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 4)
        self.dropout = torch.nn.Dropout(0.5)

    def forward(self, x):
        return torch.relu(self.dropout(self.first(x)).contiguous()) + 1


class IndexPut(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("rows", torch.tensor([2, 0]))

    def forward(self, x, y):
        return torch.index_put(x * 2, (self.rows,), y.exp()) - 1


class Block(torch.nn.Module):
    """A transformer's block."""

    def __init__(self, width):
        super().__init__()
        self.before, self.between = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.out = torch.nn.Linear(width, width)
        self.up, self.down = torch.nn.Linear(width, 2 * width), torch.nn.Linear(2 * width, width)

    def forward(self, x):
        q, k, v = self.qkv(self.before(x)).chunk(3, dim=-1)
        seen = torch.softmax(q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5, dim=-1) @ v
        x = x + self.out(seen)
        return x + self.down(torch.nn.functional.gelu(self.up(self.between(x))))


def exported(module, inputs, strict=False, dynamic_shapes=None):
    return torch.export.export(
        module.eval(), inputs, strict=strict, dynamic_shapes=dynamic_shapes
    )


def lowered(programs, partitioner):
    edge = to_edge_transform_and_lower(
        programs,
        partitioner=[partitioner] if partitioner else None,
        generate_etrecord=True,
    )
    return edge.to_executorch()


def log(program, calls, dump, buffer_path=None):
    """Runs `calls`, a list of (method, inputs), on one program, and writes what it logged."""
    module = portable_lib._load_for_executorch_from_buffer(
        program, enable_etdump=True, debug_buffer_size=1 << 16 if buffer_path else 0
    )
    outputs = [module.run_method(method, inputs) for method, inputs in calls]
    module.write_etdump_result_to_file(str(dump), str(buffer_path) if buffer_path else "")
    if buffer_path:  # the rest of what was set aside is zeros
        data = buffer_path.read_bytes().rstrip(b"\0")
        buffer_path.write_bytes(data + bytes(-len(data) % 64))
    return outputs


def leave_out_paths(path):
    """The folders of this file and of PyTorch differ from machine to machine, and are left out."""
    with zipfile.ZipFile(path) as archive:
        entries = [(entry.filename, archive.read(entry)) for entry in archive.infolist()]
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in entries:
            if data[:1] == b"{":
                data = data.replace(f"{HERE}/".encode(), b"")
                data = re.sub(rb'(File \\+")[^"]*?/(site-packages/)', rb"\1\2", data)
            archive.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), data)


def number(value):
    value = float(value)
    return value if math.isfinite(value) else str(value)


def ops_of(row):
    """Five operators or more come abbreviated, as text; these are listed without."""
    return row["op_types"] if isinstance(row["op_types"], list) else []


def rows_of(frame):
    """The columns of the table that are numbers or lists of names."""
    rows = []
    for _, row in frame.iterrows():
        scales = [name for name in row.keys() if name.startswith("p50")]
        rows.append(
            {
                "block": row["event_block_name"],
                "name": row["event_name"],
                "raw": [number(v) for v in row["raw"]],
                **{
                    key: number(row[scales[0].replace("p50", key)])
                    for key in ("p10", "p50", "p90", "avg", "min", "max")
                },
                "ops": sorted(ops_of(row)),
                "id": row["delegate_debug_identifier"] if row["is_delegated_op"] else None,
                "backend": row["delegate_backend_name"] or None,
                "nodes": sorted(row["stack_traces"]),
            }
        )
    return rows


def gap_of(inspector, metric, graph):
    frame = inspector.calculate_numeric_gap(
        metric, disable_debug_handle_valdiation=True, reference_graph=graph
    )
    return [
        {
            "aot": list(row["aot_debug_handle"]),
            "runtime": list(row["runtime_debug_handle"]),
            "aotOps": row["aot_ops"],
            "runtimeOps": row["runtime_ops"],
            "gap": [number(v) for v in row["gap"]],
        }
        for _, row in frame.iterrows()
    ]


def judge(folder, name, record, with_gap):
    """The official Inspector's answers, where it works."""
    profile = Inspector(etdump_path=str(folder / f"{name}.etdp"), etrecord=str(record))
    told = {"events": rows_of(profile.to_dataframe(include_units=True))}
    if with_gap:
        debug = Inspector(
            etdump_path=str(folder / f"{name}.debug.etdp"),
            debug_buffer_path=str(folder / f"{name}.debug.bin"),
            etrecord=str(record),
        )
        told["gap"] = {}
        for metric in METRICS:
            for graph in ("exported_program", "edge_dialect_exported_program"):
                told["gap"].setdefault(graph, {})[metric] = gap_of(debug, metric, graph)
    (folder / f"{name}.told.json").write_text(json.dumps(told, indent=1) + "\n")


def make_single(folder, name, module, inputs, partitioner):
    made = lowered(exported(module, inputs), partitioner)
    record = made.get_etrecord()
    # Not what runs, so that gaps are those of a program that went wrong: numbers to compare with,
    # where two runtimes that are right differ by what each of them rounds.
    wanted = tuple(0.7 - value * 1.5 for value in inputs)
    record.update_representative_inputs(list(wanted))
    outputs = module(*wanted)
    outputs = list(outputs) if isinstance(outputs, tuple) else [outputs]
    record.update_reference_outputs([outputs])
    record.save(str(folder / f"{name}.etrecord"))
    leave_out_paths(folder / f"{name}.etrecord")
    log(made.buffer, [("forward", inputs)] * 4, folder / f"{name}.etdp")
    log(
        made.buffer,
        [("forward", inputs)],
        folder / f"{name}.debug.etdp",
        folder / f"{name}.debug.bin",
    )
    judge(folder, name, folder / f"{name}.etrecord", True)


def gaps_of(folder, name, graphs):
    debug = Inspector(
        etdump_path=str(folder / f"{name}.debug.etdp"),
        debug_buffer_path=str(folder / f"{name}.debug.bin"),
        etrecord=str(folder / f"{name}.etrecord"),
    )
    return {
        graph: {metric: gap_of(debug, metric, graph) for metric in METRICS} for graph in graphs
    }


def make_gaps(folder, name, program, inputs, partitioner=None, reference=None, has_exported=True):
    """Values and their gaps only; `reference` is another program that the record is to hold."""
    made = lowered(program, partitioner)
    record = made.get_etrecord()
    if reference is not None:
        record.exported_program = reference
        record.export_graph_id = id(reference.graph)
    record.update_representative_inputs([0.7 - value * 1.5 for value in inputs])
    record.save(str(folder / f"{name}.etrecord"))
    leave_out_paths(folder / f"{name}.etrecord")
    log(
        made.buffer,
        [("forward", inputs)],
        folder / f"{name}.debug.etdp",
        folder / f"{name}.debug.bin",
    )
    graphs = ["exported_program"] * has_exported + ["edge_dialect_exported_program"]
    told = {"events": [], "gap": gaps_of(folder, name, graphs)}
    (folder / f"{name}.told.json").write_text(json.dumps(told, indent=1) + "\n")


def make_origins(folder):
    """Programs that were exported in other ways, and graphs that lowering changes more."""
    x = (torch.randn(2, 4),)
    make_gaps(folder, "strict", exported(Mlp(), x, strict=True), x)
    first = exported(Mlp(), x)
    again = torch.export.export(first.module(), x)
    make_gaps(folder, "again", again, x)
    make_gaps(folder, "again_first", again, x, reference=first)
    make_gaps(folder, "removed", exported(Removed(), x), x)
    put = (torch.randn(3, 4), torch.randn(2, 4))
    make_gaps(folder, "index_put", exported(IndexPut(), put), put)
    rows = {"x": {0: torch.export.Dim("rows", min=1, max=8)}}
    make_gaps(folder, "symbolic", exported(Mlp(), x, dynamic_shapes=rows), x)
    words = (torch.randn(1, 3, 8),)
    make_gaps(folder, "block", exported(Block(8), words), words, XnnpackPartitioner())


def make_methods(folder):
    shared = torch.nn.Linear(4, 4)
    x = torch.randn(2, 4)
    made = lowered(
        {"encode": exported(Encode(shared), (x,)), "decode": exported(Decode(shared), (x,))}, None
    )
    made.get_etrecord().save(str(folder / "methods.etrecord"))
    leave_out_paths(folder / "methods.etrecord")
    calls = [("encode", (x,)), ("decode", (x,)), ("decode", (x,)), ("encode", (x,))]
    log(made.buffer, calls, folder / "methods.etdp")
    log(
        made.buffer,
        calls[:2],
        folder / "methods.debug.etdp",
        folder / "methods.debug.bin",
    )


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parent / "data" / "etdump"
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    pd.set_option("display.max_columns", None)
    make_single(folder, "mlp", Mlp(), (torch.randn(2, 4),), None)
    make_single(folder, "mlp_xnnpack", Mlp(), (torch.randn(2, 4),), XnnpackPartitioner())
    make_single(folder, "conv", Conv(), (torch.randn(1, 2, 5, 5),), None)
    make_methods(folder)
    make_origins(folder)


if __name__ == "__main__":
    main()
