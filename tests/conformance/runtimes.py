"""Programs lowered by the command line and run by the official runtime and by this one, and what is
equal: what all of the conformance tests stand on."""

import json
from pathlib import Path

import node_server
from values import decoded, encoded

ROOT = Path(__file__).resolve().parent.parent.parent
MODELS = ROOT / "tests" / "models"
SAMPLES = ROOT / "models"
CLI = ["node", str(ROOT / "dist" / "cli.js")]

SINGLE = [
    "add_mul",
    "linear",
    "mlp",
    "mlp_dyn",
    "cnn",
    "cnn_dyn",
    "cnn_dynbatch",
    "counter_buffer",
    "input_mutation",
    "kv_cache_index_copy_frozen",
    "tinyformer",
    "weight_layouts",
    "linear_bf16",
    "linear_fp16",
    "linear_fp64",
    "pytree_io",
    "channels_last_input",
    "lstm",
    "cond",
    "masks",
    "token_map",
    "constant_cache",
    "running_stats",
    "quantized_cnn",
    "quantized_mlp",
    "quantized_layers",
    "encdec.encode",
    "encdec.decode",
    "encdec.forward",
]

# The official exporter, not its runtime, refuses masked_select, constants that are written to,
# batch norm in training mode, and torchao's operators.
OFFICIALLY_REFUSED = {"masks", "constant_cache", "running_stats", "quantized_layers"}

TOLERANCES = json.loads((MODELS / "tolerance.json").read_text())


def lower(arguments, output):
    done = node_server.call("command", ["lower", *arguments, "-o", output])
    assert done.returncode == 0, done.stderr


def load(path, data_path=None):
    """A program, read from its file. A caller that gives the runtime bytes would have to keep them.

    It owns the memory that its methods use, so it has to outlive them.
    """
    import executorch.extension.llm.custom_ops.custom_ops  # noqa: F401  registers its kernels
    import executorch.kernels.quantized  # noqa: F401  registers its kernels
    from executorch.runtime import Runtime

    return Runtime.get().load_program(path, data_path=data_path)


def recorded_value(item, data):
    import torch

    if "py" in item:
        return item["py"]
    dtype = getattr(torch, item["dtype"])
    raw = bytearray(data[item["offset"] : item["offset"] + item["nbytes"]])
    if not raw:
        return torch.empty(item["shape"], dtype=dtype)
    return torch.frombuffer(raw, dtype=dtype).reshape(item["shape"])


def as_passed(value, item):
    """The tensor in the memory layout that the program was exported with."""
    import torch

    if not isinstance(value, torch.Tensor) or value.numel() == 0:
        return value
    strided = torch.empty_strided(item["shape"], item["strides"], dtype=value.dtype)
    return strided.copy_(value) if 0 not in item["strides"] else value


def check_value(actual, expected, where, magnitude=None):
    """`magnitude`: what each number may be off is a share of; its own by default."""
    import torch

    if not isinstance(expected, torch.Tensor):
        assert actual == expected, f"{where}: {actual} instead of {expected}"
        return
    assert actual.dtype == expected.dtype, f"{where}: {actual.dtype} instead of {expected.dtype}"
    assert actual.shape == expected.shape, f"{where}: {actual.shape} instead of {expected.shape}"
    tolerance = TOLERANCES.get(str(expected.dtype).split(".")[1], 0)
    got, want = actual.double(), expected.double()
    same = (actual == expected) | (got.isnan() & want.isnan())
    share = (want if magnitude is None else magnitude.double()).abs().clamp(min=1)
    near = want.isfinite() & ((got - want).abs() <= tolerance * share)
    wrong = ~(same | near) if tolerance else ~same
    assert not wrong.any(), f"{where}: {got[wrong][0]} instead of {want[wrong][0]}"


def check_cases(method, name):
    reference = json.loads((MODELS / f"{name}.ref.json").read_text())
    data = (MODELS / f"{name}.ref.bin").read_bytes()
    for number, case in enumerate(reference["cases"]):
        items = case["args"] + [item for group in case["kwargs"].values() for item in group]
        inputs = [as_passed(recorded_value(item, data), item) for item in items]
        outputs = method.execute(inputs)
        # Inputs that the program writes come back as outputs before its own.
        outputs = outputs[len(outputs) - len(case["outputs"]) :]
        for k, item in enumerate(case["outputs"]):
            check_value(outputs[k], recorded_value(item, data), f"case {number}, output {k}")


def planned_bytes(program, method):
    """All planned buffers of a method, as the file declares them."""
    from executorch.exir._serialize._program import deserialize_pte_binary

    pte = deserialize_pte_binary(program)
    pte = getattr(pte, "program", pte)
    plan = next(p for p in pte.execution_plan if p.name == method)
    return sum(plan.non_const_buffer_sizes)


def official_program(files):
    import torch
    from executorch.exir import to_edge

    programs = {method: torch.export.load(file) for method, file in files.items()}
    return bytes(to_edge(programs).to_executorch().buffer)


def run_files(folder, jobs):
    """Runs files, each with calls of methods and with .ptd files, in one process of this runtime:
    the outputs of each call, or what it says instead."""
    listed = [
        {
            "pte": str(pte),
            "ptds": [str(ptd) for ptd in ptds],
            "calls": [{"method": m, "inputs": [encoded(v) for v in x]} for m, x in calls],
        }
        for pte, calls, ptds in jobs
    ]
    file = folder / "jobs.json"
    file.write_text(json.dumps(listed))
    done = node_server.call("files", [file])
    assert done.returncode == 0, done.stderr
    return [
        answer["failed"]
        if "failed" in answer
        else [[decoded(value) for value in call] for call in answer["outputs"]]
        for answer in json.loads(done.stdout)
    ]


def run_here(path, inputs, folder):
    """The outputs of this runtime by the command line, or what it says instead."""
    import numpy
    import torch

    flags = []
    for k, value in enumerate(inputs):
        numpy.save(folder / f"input_{k}.npy", value.numpy())
        flags += ["--input", str(folder / f"input_{k}.npy")]
    out = folder / "out"
    done = node_server.call("command", ["run", path, *flags, "--out", out])
    if done.returncode != 0:
        return done.stderr
    files = sorted(out.glob("output_*.npy"), key=lambda file: int(file.stem.split("_")[1]))
    return [torch.from_numpy(numpy.load(file)) for file in files]
