"""Writes tests/conformance/official_outside.json: for every program of tests/models and models,
how many nodes the official partitioner leaves outside of XNNPACK's delegates, so that nobody has to
wait for it again. null: the official exporter refuses the program.

Run with torch and executorch in the environment:
    python tests/make/make_delegation_counts.py [NAME...]
"""

import usage  # noqa: F401

import json
import sys
from pathlib import Path

import executorch.kernels.quantized  # noqa: F401  what the exporter finds of quantized kernels
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower

ROOT = Path(__file__).resolve().parent.parent.parent
COUNTS = ROOT / "tests" / "conformance" / "official_outside.json"


def sources():
    found = {path.name.removesuffix(".pt2"): path for path in ROOT.glob("tests/models/*.pt2")}
    found.update((path.name.removesuffix(".pt2"), path) for path in ROOT.glob("models/*.pt2"))
    return {n: p for n, p in sorted(found.items()) if not n.endswith((".core", ".package"))}


def is_outside(node):
    """Work that stays: neither a delegate nor what takes its results apart."""
    if node.op != "call_function" or "executorch_call_delegate" in str(node.target):
        return False
    return "getitem" not in str(node.target)


def delegates_of(module):
    return {name for name, _ in module.named_children() if "lowered_module" in name}


def outside(module):
    """Counts of a graph and the bodies in it."""
    skipped = delegates_of(module)
    bodies = [
        child
        for name, child in module.named_children()
        if name not in skipped and isinstance(child, torch.fx.GraphModule)
    ]
    own = sum(is_outside(node) for node in module.graph.nodes)
    return own + sum(outside(body) for body in bodies)


def count(path):
    try:
        edge = to_edge_transform_and_lower(
            torch.export.load(path), partitioner=[XnnpackPartitioner()]
        )
        left = outside(edge.exported_program().graph_module)
        edge.to_executorch()  # after counting: it adds nodes of its own
    except Exception as error:  # of any kind: that it refuses is the answer
        print(f"{path.name}: {str(error)[:200]}", file=sys.stderr)
        return None
    return left


def main(names):
    counts = json.loads(COUNTS.read_text()) if COUNTS.exists() else {}
    for name, path in sources().items():
        if not names or name in names:
            counts[name] = count(path)
    COUNTS.write_text(json.dumps(dict(sorted(counts.items())), indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
