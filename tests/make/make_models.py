"""Makes the files of tests/models: programs, their decompositions, PyTorch's answers, and what
ExecuTorch's exporter writes of them. The modules are in model_modules.py.

Run with torch and executorch in the environment:
    python tests/make/make_models.py FOLDER [NAME...]
A NAME that is a program of tests/models/xnnpack and no module is exported already: what the
exporter makes of it with XNNPACK is written, and its answers are those that are recorded there.
Bytes depend on the versions of both: only new programs are made into tests/models itself.
"""

import usage  # noqa: F401

import json
import re
import sys
from pathlib import Path

import executorch.kernels.quantized  # noqa: F401  what the exporter finds of quantized kernels
import model_modules
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import (
    EdgeCompileConfig,
    ExecutorchBackendConfig,
    to_edge,
    to_edge_transform_and_lower,
)
from model_modules import ENCDEC_CONSTANTS, PROGRAMS, encdec
from torch.export.pt2_archive._package import package_pt2
from torch.utils._pytree import tree_leaves, tree_map

# The test is about the exported loops, not about their graphs.
OFFICIAL_ONLY = {"map", "scan"}
# Large, with nothing in it that the others lack; and what the exporter refuses, or writes so that
# no runtime takes it.
NOT_OFFICIAL = {
    "tinyformer",
    "masks",
    "constant_cache",
    "running_stats",
    "quantized_layers",
    "number_inputs",
}
# Texts of its assertions name nodes, which decomposition names anew. PyTorch refuses to decompose
# programs that write to constants. It keeps the batch norm and the product of integers that we
# decompose.
NO_CORE = {"masks", "constant_cache", "running_stats", "quantized_layers", "number_inputs"}
WITH_DATA_FILE = {"mlp", "cnn", "encdec"}
WITH_XNNPACK = {
    "add_mul",
    "cnn",
    "cnn_dyn",
    "encdec",
    "kv_cache_index_copy_frozen",
    "linear",
    "linear_fp16",
    "lstm",
    "mlp",
    "mlp_dyn",
}
EXPORTED = Path(__file__).resolve().parent.parent / "models" / "xnnpack"


class Recorder:
    """Tensors as the tests read them: contiguous, little-endian, each at a multiple of 64 bytes."""

    def __init__(self):
        self.data, self.cases = bytearray(), []

    def leaf(self, value):
        if not isinstance(value, torch.Tensor):
            return {"py": value}
        value = value.detach()
        self.data.extend(bytes(-len(self.data) % 64))
        raw = value.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
        item = {
            "dtype": str(value.dtype).split(".")[1],
            "shape": list(value.shape),
            "strides": list(value.stride()),
            "offset": len(self.data),
            "nbytes": len(raw),
        }
        self.data.extend(raw)
        return item

    def leaves(self, tree):
        return [self.leaf(value) for value in tree_leaves(tree)]

    def call(self, module, args, kwargs):
        # Before the call, which may write its inputs.
        recorded = {
            "args": self.leaves(args),
            "kwargs": {name: self.leaves(value) for name, value in kwargs.items()},
        }
        with torch.no_grad():
            outputs = module(*args, **kwargs)
        self.cases.append({**recorded, "outputs": self.leaves(outputs)})

    def write(self, stem):
        text = json.dumps({"torch": torch.__version__, "cases": self.cases}, indent=1)
        Path(f"{stem}.ref.json").write_text(text + "\n")
        Path(f"{stem}.ref.bin").write_bytes(self.data)


def write_official(programs, folder, name, constants=None):
    folder = folder / "official"
    folder.mkdir(exist_ok=True)
    edge = to_edge(programs, constant_methods=constants)
    (folder / f"{name}.pte").write_bytes(edge.to_executorch().buffer)
    if name in WITH_DATA_FILE:
        edge = to_edge(programs, constant_methods=constants)
        split = edge.to_executorch(ExecutorchBackendConfig(external_constants=True))
        (folder / f"{name}_ptd.pte").write_bytes(split.buffer)
        (data,) = split._tensor_data.values()
        (folder / f"{name}_ptd.ptd").write_bytes(bytes(data))


def write_delegated(programs, folder, name, constants=None):
    folder = folder / "xnnpack"
    folder.mkdir(exist_ok=True)
    edge = to_edge_transform_and_lower(
        programs,
        partitioner=[XnnpackPartitioner()],
        constant_methods=constants,
        # Operators outside of core ATen, which programs may keep.
        compile_config=EdgeCompileConfig(_check_ir_validity=False),
    )
    (folder / f"{name}.pte").write_bytes(edge.to_executorch().buffer)


def exported(*arguments, **options):
    """The program, with stack traces that name no machine's folders."""
    program = torch.export.export(*arguments, **options)
    places = {
        str(Path(model_modules.__file__).resolve().parent): "/srv/models",
        str(Path(torch.__file__).parent.parent): "/usr/lib/python3/dist-packages",
    }
    for graph in (m.graph for m in program.graph_module.modules() if hasattr(m, "graph")):
        for node in graph.nodes:
            for place, neutral in places.items():
                trace = node.meta.get("stack_trace")
                if trace:
                    node.meta["stack_trace"] = trace.replace(place, neutral)
            for found in re.findall(r'File "(/[^"]*)"', node.meta.get("stack_trace") or ""):
                if not found.startswith(tuple(places.values())):
                    raise ValueError(f"the trace of {node.name} names {found}")
    return program


def make(name, folder):
    torch.manual_seed(0)
    spec = PROGRAMS[name]
    module, cases = spec.module().eval(), spec.cases()
    example = tree_map(lambda x: x.clone() if isinstance(x, torch.Tensor) else x, cases[0])
    if spec.quantize:
        module = spec.quantize(module, example)
    program = exported(module, example, spec.kwargs, dynamic_shapes=spec.dynamic)
    if name not in OFFICIAL_ONLY:
        torch.export.save(program, folder / f"{name}.pt2")
        if name not in NO_CORE:
            torch.export.save(program.run_decompositions(), folder / f"{name}.core.pt2")
    recorder = Recorder()
    for args in cases:
        recorder.call(module, args, spec.kwargs)
    recorder.write(folder / name)
    if name not in NOT_OFFICIAL:
        write_official({"forward": program}, folder, name)
    if name in WITH_XNNPACK:
        write_delegated({"forward": program}, folder, name)


def make_encdec(folder):
    torch.manual_seed(0)
    programs = {}
    for method, (module, args) in encdec().items():
        programs[method] = exported(module.eval(), args)
        torch.export.save(programs[method], folder / f"encdec.{method}.pt2")
        recorder = Recorder()
        recorder.call(module, args, {})
        recorder.write(folder / f"encdec.{method}")
    package_pt2(folder / "encdec.package.pt2", exported_programs=programs)
    write_official(programs, folder, "encdec", ENCDEC_CONSTANTS)
    write_delegated(programs, folder, "encdec", ENCDEC_CONSTANTS)


def main(folder, names):
    folder.mkdir(parents=True, exist_ok=True)
    sources = {path.stem: path for path in sorted(EXPORTED.glob("*.pt2"))}
    for name in names or [*PROGRAMS, "encdec", *sources]:
        if name == "encdec":
            make_encdec(folder)
        elif name in sources:
            write_delegated({"forward": torch.export.load(sources[name])}, folder, name)
        else:
            make(name, folder)
        print(f"made {name}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
