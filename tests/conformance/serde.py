"""Programs as records hold them: the official deserializer opens what we write of every program, as
it was exported, as edge program, and with delegated parts; PyTorch then runs it with the numbers
that it recorded.

The cases are run by run.py, which has each in a process of its own. serde.py FOLDER... judges all
programs of other folders.
"""

import os
import subprocess
import sys
from pathlib import Path

import run

TOOL = run.ROOT / "build" / "dev" / "serde_files"
# What is written, and the backend that takes parts of it first.
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


def check_numbers(program, name, models):
    import json

    import torch.utils._pytree as pytree

    reference = json.loads((models / f"{name}.ref.json").read_text())
    data = (models / f"{name}.ref.bin").read_bytes()
    module = program.module()
    for number, case in enumerate(reference["cases"]):
        items = case["args"] + [item for group in case["kwargs"].values() for item in group]
        flat = [run.as_passed(run.recorded_value(item, data), item) for item in items]
        args, kwargs = pytree.tree_unflatten(flat, program.call_spec.in_spec)
        outputs = pytree.tree_leaves(module(*args, **kwargs))
        assert len(outputs) == len(case["outputs"]), f"{len(outputs)} outputs"
        for k, item in enumerate(case["outputs"]):
            expected = run.recorded_value(item, data)
            run.check_value(outputs[k], expected, f"case {number}, output {k}")


def judge(name, dialect, backend, folder, models=run.MODELS):
    program = read(write(models / f"{name}.pt2", dialect, backend, folder))
    check_nodes(program, dialect)
    check_numbers(program, name.removesuffix(".core"), models)
    delegates = [n for n in program.graph.nodes if "call_delegate" in str(n.target)]
    return f"{len(program.graph.nodes)} nodes, {len(delegates)} delegates"


def cases(names=run.SINGLE, models=run.MODELS):
    for name in names:
        for dialect, backend in KINDS:
            told = f"{dialect} with delegates" if backend else dialect
            yield f"{name}: {told} program in a record", judge, (name, dialect, backend)


def judge_elsewhere(models, name, dialect, backend, folder):
    return judge(name, dialect, backend, folder, models)


def main(folders):
    run.preload()
    failed = 0
    for models in map(Path, folders):
        for source in sorted(models.glob("*.pt2")):
            name = source.name.removesuffix(".pt2")
            if not (models / f"{name.removesuffix('.core')}.ref.json").exists():
                continue
            for dialect, backend in KINDS:
                arguments = (models, name, dialect, backend)
                with run.tempfile.TemporaryDirectory() as folder:
                    verdict, told = run.judged(judge_elsewhere, arguments, folder)
                failed += verdict != "passed"
                print(f"{verdict}  {name}: {dialect} {backend or ''}  {told}", flush=True)
    return failed


if __name__ == "__main__":
    run.multiprocessing.set_start_method("fork")
    sys.exit(main(sys.argv[1:]))
