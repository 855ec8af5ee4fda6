"""One row of the tour: a program is exported, lowered here, run here and by the official runtime.

Every stage has its verdict, its seconds and, where it fails, its message; what comes after a
failure is not tried. Whatever is heavy happens in a process of its own (tour.py starts it).
"""

import copy
import json
import os
import re
import signal
import subprocess
import time

import runtimes
import torch
import torch.utils._pytree as pytree
import values
import xnnpack

LOWER_SECONDS, RUN_SECONDS, FORKED_SECONDS = 300, 300, 600
BACKENDS = {"portable": [], "xnnpack": ["--backend", "xnnpack"]}
LONGEST = 1500
# The limits of this process are for PyTorch: Node asks for more than it uses.
UNLIMITED = ["sh", "-c", 'ulimit -S -d unlimited; exec "$0" "$@"']


def processor_seconds():
    """CPU time of this process and those that it has waited for: a busy machine does not change
    them."""
    return sum(os.times()[:4])


class Failed(Exception):
    """A stage that says no, in words that go into the table."""


class Log:
    """Verdicts of the stages so far; a listener gets them after each."""

    def __init__(self, tell):
        self.stages, self.tell = {}, tell

    def stage(self, name, function, *arguments):
        start, worked = time.monotonic(), processor_seconds()
        try:
            told, verdict = function(*arguments), "ok"
        except Failed as error:
            told, verdict = str(error), "failed"
        except Exception as error:
            told, verdict = f"{type(error).__name__}: {error}", "failed"
        seconds = round(time.monotonic() - start, 2)
        worked = round(processor_seconds() - worked, 2)
        self.stages[name] = {"verdict": verdict, "seconds": seconds, "processor": worked}
        if verdict == "failed":
            self.stages[name]["message"] = shortened(told)
        elif isinstance(told, str):
            self.stages[name]["told"] = told
        self.tell(self.stages)
        return told if verdict == "ok" else None


def shortened(text):
    text = re.sub(r"\x1b\[[0-9;]*m", "", text).strip()
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} ... {text[-LONGEST // 2 :]}"


# --- PyTorch's side ------------------------------------------------------------------------------


def exported(case, is_dynamic, path):
    inputs = case.inputs(case.sizes[0])
    shapes = (case.shapes(),) if is_dynamic else None
    # Tracing leaves traces in what a module keeps outside of its buffers.
    module = copy.deepcopy(case.module)
    program = torch.export.export(module, inputs, dynamic_shapes=shapes, strict=False)
    torch.export.save(program, path)
    return program


def calls_of(case, is_dynamic):
    """Inputs and what PyTorch gives for them, of each size that is tried."""
    calls, module = [], copy.deepcopy(case.module)
    for size in case.calls(is_dynamic):
        torch.manual_seed(size)
        inputs = case.inputs(size)
        with torch.no_grad():
            want = module(*copy.deepcopy(inputs))
        calls.append((list(inputs), [value.detach() for value in pytree.tree_leaves(want)]))
    return calls


def in_doubles(case, inputs):
    """The outputs in twice the precision, or None where the module cannot be computed so."""
    try:
        wide = [x.double() if x.is_floating_point() else x for x in copy.deepcopy(inputs)]
        with torch.no_grad():
            return list(copy.deepcopy(case.module).double()(*wide))
    except Exception:
        return None


# --- Numbers -------------------------------------------------------------------------------------


def deviation(actual, expected):
    """Largest difference, where both are numbers; infinite where only one is."""
    got, want = actual.double(), expected.double()
    same = (got == want) | (got.isnan() & want.isnan())
    apart = torch.where(same, torch.zeros_like(got), (got - want).abs())
    apart = apart.nan_to_num(nan=float("inf"), posinf=float("inf"))
    return float(apart.max()) if apart.numel() else 0.0


def as_exact(actual, expected, exact):
    """Errors of sums in another order: no farther from the exact numbers than PyTorch is, about."""
    theirs, ours = deviation(expected, exact), deviation(actual, exact)
    return ours <= 8 * theirs + 2e-5 * max(1, float(exact.abs().max()))


def compare(case, calls, results, check):
    """The largest deviation, as text; fails by what `check` says, unless PyTorch is as far off."""
    largest, loosely = 0.0, False
    for number, ((inputs, expected), outputs) in enumerate(zip(calls, results, strict=True)):
        outputs = outputs[len(outputs) - len(expected) :]
        exact = None
        for k, want in enumerate(expected):
            try:
                check(outputs[k], want, f"call {number}, output {k}")
            except AssertionError as error:
                if exact is None:
                    exact = in_doubles(case, inputs)
                comparable = (
                    exact and outputs[k].shape == want.shape and outputs[k].dtype == want.dtype
                )
                if not (
                    comparable and want.is_floating_point() and as_exact(outputs[k], want, exact[k])
                ):
                    apart = deviation(outputs[k], want) if outputs[k].shape == want.shape else ""
                    raise Failed(f"{error} (largest difference {apart})") from error
                loosely = True
            largest = max(largest, deviation(outputs[k], want))
    return f"{largest:.1e}" + (" (as exact as PyTorch)" if loosely else "")


CHECKS = {"portable": runtimes.check_value, "xnnpack": xnnpack.check}


# --- Our side, and the official runtime ----------------------------------------------------------


def command(arguments, seconds):
    try:
        return subprocess.run(
            [*UNLIMITED, *map(str, arguments)], capture_output=True, text=True, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        raise Failed(f"not done in {seconds} s") from None


def lowered(source, flags, path):
    done = command([*runtimes.CLI, "lower", *flags, source, "-o", path], LOWER_SECONDS)
    if done.returncode != 0:
        raise Failed(done.stderr or f"ended with {done.returncode}")
    return f"{path.stat().st_size} bytes"


def run_here(folder, paths, calls):
    """Results of this runtime for some files, or its messages; all in one process."""
    listed = [{"method": "forward", "inputs": list(map(values.encoded, x))} for x, _ in calls]
    jobs = folder / "jobs.json"
    jobs.write_text(json.dumps([{"pte": str(path), "calls": listed} for path in paths.values()]))
    done = command(["node", runtimes.ROOT / "tests/conformance/run_files.mjs", jobs], RUN_SECONDS)
    if done.returncode != 0:
        raise Failed(done.stderr or f"ended with {done.returncode}")
    return dict(zip(paths, json.loads(done.stdout), strict=True))


def judge_here(case, calls, answer, check):
    if "failed" in answer:
        raise Failed(answer["failed"])
    results = [[values.decoded(value) for value in outputs] for outputs in answer["outputs"]]
    return compare(case, calls, results, check)


def kernels_missing(path):
    """The operators of a file that the official runtime has no kernels for."""
    from executorch.exir._serialize._program import deserialize_pte_binary
    from executorch.extension.pybindings.portable_lib import _get_operator_names

    known = set(_get_operator_names())
    file = deserialize_pte_binary(path.read_bytes())
    operators = getattr(file, "program", file).execution_plan[0].operators
    names = {f"{op.name}.{op.overload}" if op.overload else op.name for op in operators}
    return sorted(names - known)


def run_officially(case, path, calls, check):
    program = runtimes.load(path)
    try:
        method = program.load_method("forward")
    except RuntimeError as error:
        raise Failed(f"no kernel for {', '.join(kernels_missing(path)) or error}") from None
    results = [method.execute(copy.deepcopy(inputs)) for inputs, _ in calls]
    results = [[value.clone() for value in outputs] for outputs in results]
    return compare(case, calls, results, check)


def forked(function, arguments):
    """A stage that may take its process with it: its answer, or what it wrote before it ended."""
    reader, writer = os.pipe()
    log = os.memfd_create("log")
    child = os.fork()
    if child == 0:
        signal.alarm(FORKED_SECONDS)  # it may wait for threads that stayed behind
        os.dup2(log, 2)
        try:
            verdict, told = "ok", function(*arguments)
        except BaseException as error:
            verdict, told = "failed", str(error)
        os.write(writer, f"{verdict}\n{told}".encode()[:60000])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read().decode(errors="replace")
    _, status = os.waitpid(child, 0)
    os.lseek(log, 0, 0)
    with os.fdopen(log, "rb") as file:
        wrote = file.read().decode(errors="replace")
    verdict, _, told = answer.partition("\n")
    if verdict == "ok":
        return told
    errors = "\n".join(line for line in wrote.splitlines() if line.startswith("E "))
    raise Failed(f"{told or f'the process ended with status {status}'}\n{errors}")


def officially_lowered(program):
    """True if the official exporter takes what we refuse; asked only then."""
    from executorch.exir import to_edge

    to_edge(program).to_executorch()
    return "lowered"


# --- The row -------------------------------------------------------------------------------------


def visit(row, is_dynamic, folder, tell):
    log = Log(tell)
    case = log.stage("make", row.prepared)
    if case is None:
        return
    if is_dynamic and case.open is None:
        tell({"make": {"verdict": "none", "seconds": 0}})
        return
    source = folder / "row.pt2"
    program = log.stage("export", exported, case, is_dynamic, source)
    calls = program and log.stage("eager", calls_of, case, is_dynamic)
    if not calls:
        return
    paths = {backend: folder / f"{backend}.pte" for backend in BACKENDS}
    for backend, flags in BACKENDS.items():
        if not log.stage(f"lower {backend}", lowered, source, flags, paths[backend]):
            del paths[backend]
    if "portable" not in paths:
        log.stage("officially lowered", forked, officially_lowered, (program,))
    if paths:
        judge(log, case, calls, paths, folder)


def judge(log, case, calls, paths, folder):
    """Runs the lowered program in both runtimes."""
    answers = log.stage("ours", run_here, folder, paths, calls) or {}
    for backend, path in paths.items():
        check = CHECKS[backend]
        if backend in answers:
            log.stage(f"ours {backend}", judge_here, case, calls, answers[backend], check)
        official = (run_officially, (case, path, calls, check))
        log.stage(f"official {backend}", forked, *official)
