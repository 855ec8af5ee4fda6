"""Delegated parts of tests/emit as the official stack sees them: its deserializer finds the
delegates, calls, segments and named data that the .ir files ask for, and its runtime takes the
files and misses only the backend. Prints one line per case; exits 1 when one fails. Called with a
Python that has torch and executorch installed.
"""

import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "emit"
NOT_FOUND = "0x:20"  # of a method whose backend is not registered


def delegates(plan, inline):
    """Backend, what it gets, and its compile specs."""
    return [
        (
            delegate.id,
            inline[delegate.processed.index].data,
            {spec.key: spec.value for spec in delegate.compile_specs},
        )
        for delegate in plan.delegates
    ]


def calls(plan):
    """Which delegate, and how many values it takes and gives."""
    code = (instruction.instr_args for instruction in plan.chains[0].instructions)
    return [(call.delegate_index, len(call.args)) for call in code if is_delegate_call(call)]


def is_delegate_call(call):
    return type(call).__name__ == "DelegateCall"


def named(file):
    data = file.named_data
    if data is None:
        return {}
    return {key: data.buffers[entry.buffer_index] for key, entry in data.pte_data.items()}


def segments(path):
    """Sizes as the file's own directory has them: the deserializer takes segments apart."""
    from executorch.exir._serialize._flatbuffer_program import _flatbuffer_to_program
    from executorch.exir._serialize._program import _get_extended_header

    data = path.read_bytes()
    header = _get_extended_header(data)
    return [s.size for s in _flatbuffer_to_program(data[: header.program_size]).segments]


ADD, SEVEN = b"add \x00\x01\xfe", b"decode" + bytes(10)

# Delegates and calls of each method, named data, sizes of segments.
CASES = {
    "delegate": (
        {
            "forward": (
                [
                    ("TestBackend", ADD, {"mode": b"fast", "threads": b"\x04\x00\xff"}),
                    ("TestBackend", ADD, {}),
                ],
                [(0, 2), (1, 5)],
            )
        },
        {"first": b"named bytes", "again": b"named bytes", "empty": b""},
        [8, 7, 11, 0],
    ),
    "delegate_cond": (
        {"forward": ([("TestBackend", b"mul", {})], [(0, 2)])},
        {},
        [0, 3],
    ),
    "delegate_methods": (
        {
            "decode": ([("FirstBackend", SEVEN, {})], [(0, 2)]),
            "encode": (
                [("SecondBackend", b"", {"empty": b""}), ("FirstBackend", SEVEN, {})],
                [(0, 3), (1, 2)],
            ),
        },
        {"shared": b"weights of both"},
        [0, 8, 16, 15],
    ),
}


def equal(got, wanted, what):
    assert got == wanted, f"{what}: {got}, not {wanted}"


def check_file(path, methods, data, sizes):
    from executorch.exir._serialize._program import deserialize_pte_binary

    file = deserialize_pte_binary(path.read_bytes())
    plans = {plan.name: plan for plan in file.program.execution_plan}
    equal(set(plans), set(methods), "methods")
    for name, (wanted, wanted_calls) in methods.items():
        equal(delegates(plans[name], file.program.backend_delegate_data), wanted, name)
        equal(calls(plans[name]), wanted_calls, f"calls of {name}")
    equal(named(file), data, "named data")
    equal(segments(path), sizes, "sizes of segments")


def check_runtime(path, methods):
    from executorch.runtime import Runtime, Verification

    program = Runtime.get().load_program(path, verification=Verification.InternalConsistency)
    for name in methods:
        try:
            program.load_method(name)
        except RuntimeError as error:
            assert NOT_FOUND in str(error), error
        else:
            raise AssertionError(f"{name} was loaded without its backend")


def main():
    failed = 0
    for name, (methods, data, sizes) in CASES.items():
        path = FOLDER / f"{name}.pte"
        try:
            check_file(path, methods, data, sizes)
            check_runtime(path, methods)
            print(f"ok {name}", flush=True)
        except Exception as error:
            failed += 1
            print(f"FAILED {name}: {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
