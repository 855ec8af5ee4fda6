"""Dumps as the official tools see them: what `sconce run` records of a program is, event for event
and value for value, what the official runtime records of the same file, and the official Inspector
opens it, prints its table and takes repetitions for one block.
"""

import io
import json

import node_server
from runtimes import MODELS, SINGLE, as_passed, check_value, lower, recorded_value

# The official recorder aborts on halves, and on None and text among the outputs.
UNRECORDED = {"linear_bf16", "linear_fp16", "pytree_io"}
# XNNPACK has its own names for what it does, and its own rounding.
BACKENDS = ((), ("--backend", "xnnpack"))


def first_case(name):
    reference = json.loads((MODELS / f"{name}.ref.json").read_text())
    data = (MODELS / f"{name}.ref.bin").read_bytes()
    case = reference["cases"][0]
    items = case["args"] + [item for group in case["kwargs"].values() for item in group]
    return [as_passed(recorded_value(item, data), item) for item in items]


def flag_of(value, path):
    """An input as the command takes it."""
    import numpy
    import torch

    if value is None:
        return "none"
    if not isinstance(value, torch.Tensor):
        return str(value).lower()
    if value.dtype == torch.bfloat16:
        return "ones"
    numpy.save(path, value.contiguous().numpy())
    return str(path)


def record_here(path, inputs, folder, *flags):
    given = [flag_of(value, folder / f"input_{k}.npy") for k, value in enumerate(inputs)]
    run = ["run", path, *(part for text in given for part in ("--input", text))]
    run += ["--etdump", folder / "ours.etdp", *flags]
    done = node_server.call("command", run)
    assert done.returncode == 0, done.stderr


def record_there(path, inputs, folder):
    import executorch.kernels.quantized  # noqa: F401  registers its kernels
    from executorch.extension.pybindings.portable_lib import _load_for_executorch

    module = _load_for_executorch(str(path), enable_etdump=True, debug_buffer_size=100_000_000)
    module.run_method("forward", inputs)
    module.write_etdump_result_to_file(str(folder / "theirs.etdp"), str(folder / "theirs.bin"))


def blocks_of(path):
    from executorch.devtools.etdump.serialize import deserialize_from_etdump_flatcc

    return deserialize_from_etdump_flatcc(path.read_bytes(), size_prefixed=True).run_data


def is_of_delegate(event):
    told = event.profile_event or event.debug_event
    return told.delegate_debug_id_str is not None or told.delegate_debug_id_int not in (None, -1)


def listed(block):
    """The events in their order: all but times, values, and what delegates say of themselves."""
    lines = []
    for event in block.events:
        if is_of_delegate(event):
            continue
        scope, debug = event.profile_event, event.debug_event
        if scope:
            lines.append((scope.name, scope.chain_index, scope.instruction_id))
            continue
        entry = debug.debug_entry
        tensors = entry.tensor_list.tensors if entry.tensor_list else [entry.tensor]
        shapes = [(str(t.scalar_type), t.sizes) for t in tensors if t]
        place = debug.chain_index, debug.instruction_id
        lines.append((entry.val, *place, bool(entry.output and entry.output.bool_val), shapes))
    return lines


def open_inspector(folder, whose, has_values):
    from executorch.devtools import Inspector

    values = {"debug_buffer_path": str(folder / f"{whose}.bin")} if has_values else {}
    inspector = Inspector(etdump_path=str(folder / f"{whose}.etdp"), **values)
    inspector.print_data_tabular(file=io.StringIO())
    return inspector.event_blocks


def tensor_of(tensor, buffer):
    """By its strides, which the Inspector ignores."""
    import torch
    from executorch.devtools.inspector._inspector_utils import _parse_tensor_value

    if tensor.offset == -1 or 0 in tensor.sizes:
        return torch.empty(0)
    end = sum((size - 1) * step for size, step in zip(tensor.sizes, tensor.strides)) + 1
    flat = type(tensor)(tensor.scalar_type, [end], [1], tensor.offset)
    return _parse_tensor_value(flat, buffer).as_strided(tensor.sizes, tensor.strides)


def values_of(block, buffer):
    """The values that are written, by their place."""
    found = []
    for event in block.events:
        if event.debug_event is None or is_of_delegate(event):
            continue
        entry = event.debug_event.debug_entry
        tensors = entry.tensor_list.tensors if entry.tensor_list else [entry.tensor]
        place = event.debug_event.chain_index, event.debug_event.instruction_id
        found += [(place, tensor_of(t, buffer)) for t in tensors if t]
    return found


def check_close(actual, expected, is_quantized, where):
    """A neighbouring quantized number is close: both runtimes round sums of products."""
    if not is_quantized or not expected.numel():
        return check_value(actual, expected, where)
    difference = (actual.double() - expected.double()).abs().max()
    assert difference <= expected.double().abs().max() / 64, where


def check_against_official(path, inputs, is_quantized, folder):
    record_there(path, inputs, folder)
    both = [blocks_of(folder / f"{whose}.etdp") for whose in ("ours", "theirs")]
    assert [block.name for block in both[0]] == [block.name for block in both[1]]
    for mine, official in zip(*both):
        for a, b in zip(listed(mine), listed(official)):
            assert a == b, f"{a} instead of {b}"
        assert len(listed(mine)) == len(listed(official))
    buffers = [(folder / f"{whose}.bin").read_bytes() for whose in ("ours", "theirs")]
    actual, expected = (values_of(run, buffer) for (_, run), buffer in zip(both, buffers))
    assert len(actual) == len(expected)
    for (place, value), (_, other) in zip(actual, expected):
        check_close(value, other, is_quantized, f"instruction {place}")


def judge(name, backend, folder):
    path = folder / f"{name}.pte"
    lower([str(MODELS / f"{name}.pt2"), *backend], path)
    inputs = first_case(name)
    record_here(path, inputs, folder, "--repeat", "3")
    blocks = open_inspector(folder, "ours", False)
    runs = [(block.name, len(block.events[0].perf_data.raw)) for block in blocks]
    assert runs == [("Default", 1), ("Execute", 3)], runs
    flags = ["--debug-output", folder / "ours.bin", "--intermediates"]
    record_here(path, inputs, folder, *flags)
    block = open_inspector(folder, "ours", True)[1]
    assert block.run_output, "there are no outputs"
    if name not in UNRECORDED:
        check_against_official(path, inputs, name.startswith("quantized"), folder)
    return f"{len(block.events)} events"


def judge_methods(folder):
    """Several methods in one dump, and calls with other values, by their number."""
    path = folder / "story.pte"
    methods = [f"{m}={MODELS / f'encdec.{m}.pt2'}" for m in ("encode", "decode", "forward")]
    lower([part for m in methods for part in ("--method", m)], path)
    calls = [
        {"method": m, "inputs": [f"random:{seed}"]}
        for m in ("encode", "decode", "forward")
        for seed in (1, 2)
    ]
    (folder / "calls.json").write_text(json.dumps(calls))
    run = ["run", path, "--calls", folder / "calls.json", "--etdump", folder / "ours.etdp"]
    run += ["--debug-output", folder / "ours.bin"]
    done = node_server.call("command", run)
    assert done.returncode == 0, done.stderr
    blocks = open_inspector(folder, "ours", True)
    indices = [block.bundled_input_index for block in blocks if block.name == "Execute"]
    assert indices == [0, 1] * 3, indices


def cases():
    for name in SINGLE:
        for backend in BACKENDS:
            title = f"dump: {name} {' '.join(backend[1:])}".strip()
            yield title, judge, (name, backend)
    yield "dump: several methods", judge_methods, ()
