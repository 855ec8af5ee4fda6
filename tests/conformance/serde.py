"""Programs as records hold them: the official deserializer opens what we write of every program, as
it was exported, as edge program, and with delegated parts; PyTorch then runs it with the numbers
that it recorded.

The cases are run by run.py, which has each in a process of its own. serde.py FOLDER... judges all
programs of other folders.
"""

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import processes
import runtimes

TOOL = runtimes.ROOT / "build" / "dev" / "serde_files"
# Programs to write, and the backend that takes parts of them first.
KINDS = [("source", None), ("edge", None), ("edge", "XnnpackBackend")]
SIDES = ("state_dict", "constants", "example_inputs")


def write(source, dialect, backend, folder):
    env = {**os.environ, **({"SCONCE_BACKEND": backend} if backend else {})}
    done = subprocess.run(
        [TOOL, "write", dialect, folder, f"forward={source}"],
        capture_output=True,
        text=True,
        env=env,
    )
    assert done.returncode == 0, done.stderr
    return folder / "forward"


def read(path):
    """As parse_etrecord reads it."""
    import executorch.exir  # noqa: F401  registers the dialects
    import executorch.kernels.quantized  # noqa: F401  and operators
    from executorch.exir.serde.export_serialize import SerializedArtifact
    from executorch.exir.serde.serialize import deserialize

    sides = [path.with_name(f"{path.name}_{side}").read_bytes() for side in SIDES]
    return deserialize(SerializedArtifact(path.read_bytes(), *sides))


def check_nodes(program, dialect):
    """Every node of an edge program has a handle and names its source."""
    for node in program.graph.nodes:
        if node.op != "call_function" or dialect != "edge":
            continue
        assert node.meta.get("debug_handle"), f"{node} has no handle"
        (ancestor,) = node.meta["from_node"]
        assert ancestor.graph_id == 4242 and ancestor.name, f"{node} comes from nowhere"


def check_sources(edge, source):
    """Edge nodes come from nodes of the exported program; handles find their way back."""
    from executorch.devtools.inspector._inspector_utils import propagate_back_debug_handle

    names = {node.name for node in source.graph.nodes}
    calls = [node for node in edge.graph.nodes if node.op == "call_function"]
    lost = {node.meta["from_node"][0].name for node in calls} - names
    assert not lost, f"not in the exported program: {lost}"
    # The official function knows nothing of bodies, whose nodes lose their metadata on reading.
    if not any(node.op == "get_attr" for node in edge.graph.nodes):
        assert propagate_back_debug_handle(source, 4242, edge), "handles do not propagate"


def check_numbers(program, name, models):
    import json

    import torch.utils._pytree as pytree

    reference = json.loads((models / f"{name}.ref.json").read_text())
    data = (models / f"{name}.ref.bin").read_bytes()
    module = program.module()
    for number, case in enumerate(reference["cases"]):
        items = case["args"] + [item for group in case["kwargs"].values() for item in group]
        flat = [runtimes.as_passed(runtimes.recorded_value(item, data), item) for item in items]
        args, kwargs = pytree.tree_unflatten(flat, program.call_spec.in_spec)
        outputs = pytree.tree_leaves(module(*args, **kwargs))
        assert len(outputs) == len(case["outputs"]), f"{len(outputs)} outputs"
        for k, item in enumerate(case["outputs"]):
            expected = runtimes.recorded_value(item, data)
            runtimes.check_value(outputs[k], expected, f"case {number}, output {k}")


def judge(name, dialect, backend, folder, models=runtimes.MODELS):
    program = read(write(models / f"{name}.pt2", dialect, backend, folder))
    check_nodes(program, dialect)
    if dialect == "edge" and not backend:
        (folder / "source").mkdir()
        source = write(models / f"{name}.pt2", "source", None, folder / "source")
        check_sources(program, read(source))
    check_numbers(program, name.removesuffix(".core"), models)
    delegates = [n for n in program.graph.nodes if "call_delegate" in str(n.target)]
    return f"{len(program.graph.nodes)} nodes, {len(delegates)} delegates"


def judge_again(name, folder):
    """A program that exir.serde saved, read and written by us, is still what it was."""
    import executorch.backends.xnnpack  # noqa: F401
    import torch
    from executorch.exir.serde.serialize import load

    source = runtimes.ROOT / "tests" / "data" / "serde" / f"{name}.serde"
    path = write(source, "same", None, folder)
    torch.manual_seed(1)
    for rows in (3, 8):
        inputs = torch.randn(rows, 2)
        # Read anew each time: a program counts its calls.
        ours, theirs = read(path).module()(inputs), load(source).module()(inputs)
        for k, expected in enumerate(theirs if isinstance(theirs, tuple) else (theirs,)):
            actual = ours[k] if isinstance(ours, tuple) else ours
            runtimes.check_value(actual, expected.detach(), f"{rows} rows, output {k}")


def every_dtype():
    import torch

    plain = [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.bool]
    plain += [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
    plain += [torch.complex64, torch.complex128, torch.uint16, torch.uint32, torch.uint64]
    plain += [torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz]
    return [*plain, torch.float8_e5m2fnuz, torch.complex32]


def same(a, b):
    import torch

    assert type(a) is type(b), f"{type(b)} became {type(a)}"
    if isinstance(a, torch.Tensor):
        assert a.dtype == b.dtype and a.stride() == b.stride(), f"{b.dtype} became {a.dtype}"
        assert a.requires_grad == b.requires_grad
        assert bytes(a.detach().untyped_storage()) == bytes(b.detach().untyped_storage())
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            same(a[key], b[key])
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y)
    else:
        assert a == b or (a != a and b != b), f"{b} became {a}"


def judge_saved(folder):
    """Files of torch.save that we write load with weights_only=True as what they were."""
    import torch

    base = torch.arange(24, dtype=torch.float32).reshape(4, 6)
    value = {
        "dtypes": [torch.arange(16).to(torch.uint8).view(dtype) for dtype in every_dtype()],
        "parameter": torch.nn.Parameter(base.clone()),
        "frozen": torch.nn.Parameter(torch.arange(3), requires_grad=False),
        "views": (base.t(), base[1:, ::2], base[2, 3], base[:0], base.expand(2, 4, 6)),
        "numbers": [0, 255, 256, 65536, -1, 2**31, -(2**63), 1.5, float("inf"), float("nan"), 1j],
        "text": ["", "\u00e4\u20ac", None, True, False],
        "tuples": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)],
        "dict": {"a": {"b": {}}, 3: [[]]},
    }
    torch.save(value, folder / "saved.pt")
    done = subprocess.run(
        [TOOL, "save", folder / "saved.pt", folder / "again.pt"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    again = torch.load(folder / "again.pt", weights_only=True)
    same(again, value)
    storages = {view.untyped_storage().data_ptr() for view in again["views"]}
    assert len(storages) == 1, "views no longer share their storage"


def cases(names=runtimes.SINGLE):
    for name in names:
        for dialect, backend in KINDS:
            told = f"{dialect} with delegates" if backend else dialect
            yield f"{name}: {told} program in a record", judge, (name, dialect, backend)
    for name in ("edge", "delegated"):
        yield f"exir.serde: {name}.serde in a record again", judge_again, (name,)
    yield "torch.save: everything in a record", judge_saved, ()


def judge_elsewhere(models, name, dialect, backend, folder):
    return judge(name, dialect, backend, folder, models)


def cases_in(models):
    for source in sorted(models.glob("*.pt2")):
        name = source.name.removesuffix(".pt2")
        if not (models / f"{name.removesuffix('.core')}.ref.json").exists():
            continue
        for dialect, backend in KINDS:
            arguments = (models, name, dialect, backend)
            yield f"{name}: {dialect} {backend or ''}", judge_elsewhere, arguments


def main(folders):
    processes.preload()
    failed = 0
    found = (case for folder in folders for case in cases_in(Path(folder)))
    for title, verdict, told, _ in processes.judged(found):
        failed += verdict != "passed"
        print(f"{verdict}  {title}  {told}", flush=True)
    return failed


if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    sys.exit(main(sys.argv[1:]))
