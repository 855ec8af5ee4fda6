"""Runs the files of tests/emit on the official ExecuTorch runtime, strictly verified.

Each case says in PyTorch what the program must answer. Every file runs in a process of its own,
because the official runtime ends the process on some bad input. Prints one line per case; exits 1
when one fails. Called with a Python that has torch and executorch installed.
"""

import json
import multiprocessing
import pathlib
import re
import sys

import torch
import torch.utils._pytree as pytree
from executorch.runtime import Runtime, Verification

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "emit"


def constant(name, *sizes):
    """The bytes that tests/emit/emit_test.c gives the constant called `name`."""
    count = torch.Size(sizes).numel()
    values = [((i * 7 + ord(name[-1])) % 11 - 5) / 4 for i in range(count)]
    return torch.tensor(values, dtype=torch.float32).reshape(sizes)


def ramp(*sizes):
    return (torch.arange(torch.Size(sizes).numel()) % 5 - 1.5).reshape(sizes)


def linear(call):
    x = ramp(2, 8)
    weight, bias = constant("weight", 4, 8), constant("bias", 4)
    yield call("forward", x), [torch.addmm(bias, x, weight.t())]


def counter(call):
    state = constant("count", 3)
    for step in range(3):
        x = ramp(3) + step
        new = state + x
        yield call("forward", x), [new * x - state, 7, 1.5, True, None]
        state = new


def cond(call):
    w = constant("w", 4)
    for flag in (True, False, False, True, True):
        x = ramp(4) + flag
        a, n, c = ((x + w) * 2, 2, x) if flag else (x - w, 3, w)
        other = x * x if flag else -x
        yield call("forward", torch.tensor(flag), x), [a + other + n * c, a]


def map_(call):
    for y in (ramp(2), ramp(2) * 3):
        xs = ramp(3, 2)
        yield call("forward", xs, y), [(xs + y) * xs]


def random(call):
    yield call("forward", ramp(4)), [torch.ones(4, dtype=torch.bool)]


def nothing(call):
    yield call("forward", torch.empty(4, 0)), [torch.empty(2, 0)]


def scan(call):
    for init in (ramp(2), ramp(2) * 3):
        xs, carry, before = ramp(3, 2), init, []
        for x in xs:
            before.append(carry)
            carry = carry + x
        yield call("forward", init, xs), [carry, torch.stack(before)]


def while_(call):
    for start in (0, 1, 5):
        rounds = max(0, 3 - start)
        x = ramp(2)
        outputs = [torch.tensor(start + rounds), x * 2.0**rounds]
        yield call("forward", torch.tensor(start), x), outputs


def dynamic(call):
    for rows in (3, 6, 1):
        x = ramp(rows, 4)
        yield call("forward", x), [torch.relu(x).reshape(2 * rows, 2)]


def lists(call):
    x, i = ramp(1, 2, 4, 4), torch.tensor([3, 1])
    a, b = torch.cat([x, x], 1).split([1, 3], 1)
    m, at = torch.nn.functional.max_pool2d(b, 2, return_indices=True)
    yield call("forward", x, i), [m.reshape(3, 4)[:, i], at, a]


def methods(call):
    w, state = constant("b.w", 4), constant("state", 2)
    x, y = ramp(2), ramp(2, 2)
    call("second", y)  # loaded before the state changes: loading sets it
    yield call("first", x), [w]
    yield call("second", y), [y @ w.reshape(2, 2) + state + x]
    yield call("get_max_len"), [256]
    yield call("get_scale"), [0.5]
    yield call("get_sizes"), [2, 2]
    yield call("is_causal"), [True]
    yield call("get_name"), ["two"]


def empty(call):
    x = ramp(1, 2)
    yield call("forward", x), [x]


def frozen(call):
    x = ramp(2)
    yield call("forward", x, 3, 0.5, None), [x * 3]


def external(call):
    w, x = constant("layer.w", 2, 2), ramp(2, 2)
    yield call("forward", x), [x @ w + 1, w.reshape(4)]


def packed(call):
    w, v = constant("up.w", 3, 2, 2, 2), ramp(3, 2, 2, 2) / 2
    x, y = ramp(1, 3, 2, 2), ramp(1, 3, 2, 2) * 3
    up = torch.nn.functional.conv_transpose2d
    yield call("forward", x, y, v), [up(x, w, stride=2), up(y, w), up(x, v, stride=2)]
    yield call("again", y), [up(y, w, stride=2)]


def pixels(call):
    last = torch.channels_last
    w, b = constant("full.w", 6, 5, 3, 3), constant("full.b", 6)
    g, d = constant("groups.g", 6, 3, 2, 2), constant("depth.d", 6, 1, 3, 3)
    m, n = constant("product.m", 6, 4), constant("product.n", 4)
    x, y, late = ramp(1, 5, 5, 6), ramp(3, 6), ramp(6)
    conv = torch.nn.functional.conv2d
    full = conv(x, w, b, stride=2, padding=1)
    yield call("forward", x.contiguous(memory_format=last), y, late), [
        conv(full, g, groups=2),
        conv(full, d, b, padding=1, groups=6),
        conv(x, w, late, stride=2, padding=1),
        torch.addmm(n, y, m),
    ]


CASES = {
    "linear": linear,
    "counter": counter,
    "cond": cond,
    "map": map_,
    "random": random,
    "nothing": nothing,
    "scan": scan,
    "while": while_,
    "dynamic": dynamic,
    "et_view": dynamic,
    "lists": lists,
    "methods": methods,
    "empty": empty,
    "frozen": frozen,
    "external": external,
    "packed": packed,
    "pixels": pixels,
}


def check(got, wanted):
    assert len(got) == len(wanted), f"{len(got)} outputs, not {len(wanted)}"
    for index, (a, b) in enumerate(zip(got, wanted)):
        if isinstance(b, torch.Tensor):
            assert a.shape == b.shape, f"output {index}: shape {a.shape}, not {b.shape}"
            torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-6)
        else:
            assert type(a) is type(b) and a == b, f"output {index}: {a!r}, not {b!r}"


def check_trees(file):
    """PyTorch reads the trees of inputs and outputs, those with names of arguments in them, too."""
    named = False
    for text in re.findall(rb'\[1, \{"type[^\0]*', file):
        pytree.treespec_loads(text.decode())
        named = named or "forward_arg_names" in json.loads(text)[1]
    return named


def run(case, name):
    named = check_trees((FOLDER / f"{name}.pte").read_bytes())
    assert named == (name == "linear"), "which programs have names of arguments"
    weights = FOLDER / f"{name}.weights.ptd"
    program = Runtime.get().load_program(
        FOLDER / f"{name}.pte",
        verification=Verification.InternalConsistency,
        data_path=weights if weights.exists() else None,
    )
    loaded = {}

    def call(method, *inputs):
        if method not in loaded:
            loaded[method] = program.load_method(method)
        outputs = loaded[method].execute(inputs)
        return [o.clone() if isinstance(o, torch.Tensor) else o for o in outputs]

    for got, wanted in case(call):
        check(got, wanted)


def main():
    failed = 0
    context = multiprocessing.get_context("fork")
    for name, case in CASES.items():
        process = context.Process(target=run, args=(case, name))
        process.start()
        process.join(120)
        if process.is_alive():
            process.kill()
        print(f"{'ok' if process.exitcode == 0 else 'FAILED'} {name}", flush=True)
        failed += process.exitcode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
