"""Bundled programs across both sides: the official tools read and verify what the command writes.
Both notice results that differ, and `sconce run --verify` reads and verifies what they write.
"""

import json

import node_server
from runtimes import MODELS, check_value, lower

MODELS_OF_FLOATS = ("mlp", "cnn", "cnn_dyn", "channels_last_input", "counter_buffer", "tinyformer")
BACKENDS = ((), ("--backend", "xnnpack"))


def command(*arguments):
    return node_server.call("command", arguments)


def check_read(path, cases):
    """With the official deserializer, and its runtime runs the cases."""
    from executorch.devtools.bundled_program.serialize import (
        deserialize_from_flatbuffer_to_bundled_program,
    )
    from executorch.extension.pybindings.portable_lib import _load_bundled_program_from_buffer

    data = path.read_bytes()
    read = deserialize_from_flatbuffer_to_bundled_program(data)
    (suite,) = read.method_test_suites
    assert (suite.method_name, len(suite.test_cases)) == ("forward", cases)
    for case in range(cases):
        # Another one for each: its state survives.
        module = _load_bundled_program_from_buffer(data)
        module.verify_result_with_bundled_expected_output("forward", case, 1e-3, 1e-4)


def judge_ours(name, backend, folder):
    path, bundle, calls = folder / "m.pte", folder / "m.bpte", folder / "calls.json"
    lower([str(MODELS / f"{name}.pt2"), *backend], path)
    calls.write_text(json.dumps([{"inputs": ["random:1"]}, {"inputs": ["zeros"]}]))
    done = command("bundle", path, "--calls", calls, "-o", bundle)
    assert done.returncode == 0, done.stderr
    check_read(bundle, 2)
    done = command("run", bundle, "--verify")
    assert done.returncode == 0, done.stdout + done.stderr


def judge_differing(folder):
    """Bundles that expect the results of ones for zeros: both sides say that it differs."""
    import numpy

    path, bundle, calls = folder / "m.pte", folder / "m.bpte", folder / "calls.json"
    lower([str(MODELS / "mlp.pt2")], path)
    out = folder / "out"
    assert command("run", path, "--input", "ones", "--out", out).returncode == 0
    assert numpy.load(out / "output_0.npy").size
    call = {"inputs": ["zeros"], "expected": [str(out / "output_0.npy")]}
    calls.write_text(json.dumps([call]))
    done = command("bundle", path, "--calls", calls, "-o", bundle)
    assert done.returncode == 0, done.stderr
    assert command("run", bundle, "--verify").returncode == 1
    try:
        check_read(bundle, 1)
    except RuntimeError:
        return
    raise AssertionError("the official runtime takes them for equal")


def judge_theirs(name, folder):
    import torch
    from executorch.devtools import BundledProgram
    from executorch.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
    from executorch.devtools.bundled_program.serialize import (
        serialize_from_bundled_program_to_flatbuffer,
    )
    from executorch.exir import to_edge

    exported = torch.export.load(MODELS / f"{name}.pt2")
    module, (args, kwargs) = exported.module(), exported.example_inputs
    inputs = [*args, *kwargs.values()]
    cases = []
    for scale in (1, 0.5):
        given = [value * scale if value.is_floating_point() else value for value in inputs]
        cases.append(MethodTestCase(inputs=given, expected_outputs=[module(*given)]))
    program = to_edge(exported).to_executorch()
    bundled = BundledProgram(program, [MethodTestSuite(method_name="forward", test_cases=cases)])
    path = folder / "theirs.bpte"
    path.write_bytes(serialize_from_bundled_program_to_flatbuffer(bundled))
    done = command("run", path, "--verify", "--rtol", "1e-3", "--atol", "1e-4")
    assert done.returncode == 0 and "2 cases as expected" in done.stdout, done.stdout + done.stderr
    done = command("run", path, "--input", "ones", "--out", folder / "out")
    assert done.returncode == 0, done.stderr
    ones = [torch.ones_like(value) for value in inputs]
    import numpy

    result = torch.from_numpy(numpy.load(folder / "out" / "output_0.npy"))
    check_value(result, module(*ones).detach(), "of the program in it")


def cases():
    for name in MODELS_OF_FLOATS:
        for backend in BACKENDS:
            yield f"bundle: {name} {' '.join(backend[1:])}".strip(), judge_ours, (name, backend)
    yield "bundle: what differs", judge_differing, ()
    for name in ("mlp", "cnn", "channels_last_input"):
        yield f"bundle: official {name}", judge_theirs, (name,)
