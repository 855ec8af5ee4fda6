"""Planned bytes and .pte bytes of every program, ours and the official exporter's, as JSON. That
exporter's results do not change, so they are kept in FOLDER, with the large models.

Usage: plans.py FOLDER [NAME...]    NAME: a program; by default all
"""

import hashlib
import json
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "conformance"))

import runtimes as conformance  # noqa: E402

MAX_SEQ_LEN = 256


def programs(folder):
    """Name to the .pt2 files of its methods."""
    names = [name for name in conformance.SINGLE if name not in conformance.OFFICIALLY_REFUSED]
    rows = {name: {"forward": conformance.MODELS / f"{name}.pt2"} for name in names}
    story = {m: conformance.SAMPLES / f"stories260k.{m}.pt2" for m in ("prefill", "decode")}
    rows["stories260k"] = story
    rows["face-rfb320"] = {"forward": conformance.SAMPLES / "face-rfb320.pt2"}
    rows["mobilenet_v2"] = {"forward": folder / "mobilenet_v2.pt2"}
    rows["lstm_160"] = {"forward": folder / "lstm_160.pt2"}
    return rows


def ours(name, methods, folder):
    path = folder / f"{name}.pte"
    flags = [part for m, file in methods.items() for part in ("--method", f"{m}={file}")]
    if len(methods) > 1:
        flags += ["--constant", f"get_max_seq_len={MAX_SEQ_LEN}", "--share-state"]
    conformance.lower(flags, path)
    return path.read_bytes()


def official(methods):
    import torch
    from executorch.exir import ExecutorchBackendConfig, to_edge
    from executorch.exir.passes import MemoryPlanningPass

    several = len(methods) > 1
    exported = {method: torch.export.load(file) for method, file in methods.items()}
    begin = time.perf_counter()
    planning = MemoryPlanningPass(share_mutable_buffers=several)
    constants = {"get_max_seq_len": MAX_SEQ_LEN} if several else None
    edge = to_edge(exported, constant_methods=constants)
    program = edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning))
    return measured(bytes(program.buffer), methods) | {"seconds": time.perf_counter() - begin}


def measured(program, methods):
    planned = {method: conformance.planned_bytes(program, method) for method in methods}
    return {"planned": planned, "pte": len(program)}


def official_cached(name, methods, folder):
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in methods.values())).hexdigest()
    kept = folder / f"official.{name}.{digest[:16]}.json"
    if not kept.exists():
        print(f"exporting {name} officially", file=sys.stderr, flush=True)
        kept.write_text(json.dumps(official(methods)))
    return json.loads(kept.read_text())


def main(folder, names):
    rows, found = {}, programs(folder)
    for name in names or found:
        methods = found[name]
        with tempfile.TemporaryDirectory() as made:
            mine = measured(ours(name, methods, Path(made)), methods)
        theirs = official_cached(name, methods, folder)
        for method, planned in mine["planned"].items():
            rows[name if len(methods) == 1 else f"{name}.{method}"] = {
                "planned": planned,
                "planned_official": theirs["planned"][method],
                "pte": mine["pte"],
                "pte_official": theirs["pte"],
                "official_export_s": round(theirs["seconds"], 2),
            }
    print(json.dumps(rows))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
