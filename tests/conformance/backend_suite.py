"""The backend suite of the executorch package, through Sconce. Its tests make modules and inputs,
and the official tools export (and quantize) them. We lower them, and both runtimes run the results.
Modules that the official tools skip, because they do not run or export, are skipped.

    backend_suite.py [--models] [--quantized] [NAME...]     tests whose names contain one of these

Closing line: N passed, N failed.
"""

import collections
import copy
import logging
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import processes
import runtimes

# Lowered by one process each.
TOGETHER = 25


class Collector:
    """Takes the place of the official runner: keeps what each test would have lowered."""

    def __init__(self, folder, wanted, flows):
        self.folder, self.wanted, self.flows, self.cases = folder, wanted, flows, []
        self.skipped = collections.Counter()

    def run_test(self, model, inputs, flow, test_name, base_name, index, params, **more):
        """Has the arguments of the official function, and tells that nothing has failed."""
        import torch
        from executorch.backends.test.suite.reporting import TestCaseSummary, TestResult

        torch.manual_seed(int.from_bytes(base_name.encode(), "little") % 2**31)
        name = f"{test_name}{f' {index}' if index else ''}"
        result = TestResult.SUCCESS
        try:
            self.keep(name, model, inputs, flow, more.get("dynamic_shapes"))
        except Exception as error:
            self.skipped[f"{type(error).__name__}: {error}".splitlines()[0][:120]] += 1
            result = TestResult.SKIPPED
        return TestCaseSummary(
            backend=flow.backend,
            base_name=base_name,
            subtest_index=index,
            flow=flow.name,
            name=name,
            params=params,
            result=result,
            error=None,
            tensor_error_statistics=[],
        )

    def keep(self, name, model, inputs, flow, dynamic_shapes):
        import torch
        from executorch.backends.test.harness.stages import StageType

        model(*inputs)
        tester = flow.tester_factory(model, inputs)
        if flow.quantize:
            tester.quantize(flow.quantize_stage_factory() if flow.quantize_stage_factory else None)
        tester.export(tester._get_default_stage(StageType.EXPORT, dynamic_shapes=dynamic_shapes))
        program = tester.get_artifact()
        expected, quantum = tester._calculate_reference_output(copy.deepcopy(program), inputs)
        stem = self.folder / f"{len(self.cases):04}"
        torch.export.save(program, stem.with_suffix(".pt2"))
        torch.save((inputs, expected, quantum), stem.with_suffix(".io"))
        self.cases.append((name, flow.backend, stem))

    # --- What pytest asks a plugin ---------------------------------------------------------------

    def pytest_collection_modifyitems(self, items):
        chosen = [i for i in items if not self.wanted or any(w in i.nodeid for w in self.wanted)]
        items[:] = chosen

    def pytest_configure(self, config):
        config.addinivalue_line("markers", "timeout: of the official suite")


def flows(is_quantized):
    from executorch.backends.test.suite import flow

    named = [flow._register_flow(lambda: [portable()], "portable"), flow._load_xnnpack()]
    return {f.name: f for group in named for f in group if is_quantized or not f.quantize}


def portable():
    from executorch.backends.test.suite.flows.portable import PORTABLE_TEST_FLOW

    return PORTABLE_TEST_FLOW


def collected(folder, wanted, is_quantized, with_models):
    """All cases of the suite, as files in a folder."""
    import executorch.backends.test.suite as suite
    import pytest
    from executorch.backends.test.suite import flow, runner

    collector = Collector(folder, wanted, flows(is_quantized))
    flow.all_flows = lambda: collector.flows
    runner.run_test = collector.run_test
    root = Path(suite.__file__).parent
    # Its fixtures stand above its tests; "suite" must not be looked up here.
    parts = ["operators", *(["models"] if with_models else [])]
    options = [
        "-q",
        "--no-header",
        "--import-mode=importlib",
        "-p",
        "no:cacheprovider",
        "--tb=line",
        "-W",
        "ignore",
    ]
    options += [f"--rootdir={root}", f"--confcutdir={root}"]
    # Written to nowhere: what is skipped or fails there is not ours.
    out = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    try:
        pytest.main([*options, *(str(root / part) for part in parts)], plugins=[collector])
    finally:
        os.dup2(out, 1)
    return collector


# --- Lowering and running ------------------------------------------------------------------------


def lower(cases, backend):
    """The answer of the command for each file that it refuses; many files in one process."""
    refused = {}
    for start in range(0, len(cases), TOGETHER):
        stems = [stem for _, _, stem in cases[start : start + TOGETHER]]
        out = stems[0].parent / "out"
        out.mkdir(exist_ok=True)
        flags = ["--backend", "xnnpack"] if backend == "xnnpack" else []
        files = [str(stem.with_suffix(".pt2")) for stem in stems]
        done = subprocess.run(
            [*runtimes.CLI, "lower", *flags, *files, "-o", f"{out}/"],
            capture_output=True,
            text=True,
        )
        for stem in stems:
            if not (out / f"{stem.name}.pte").exists():
                refused[stem.name] = said_of(stem.name, done.stderr)
    return refused


def said_of(name, text):
    """The lines about one of several files."""
    lines = text.splitlines()
    first = next((k for k, line in enumerate(lines) if f"{name}.pt2" in line), None)
    return "\n".join(lines[first : first + 6] if first is not None else lines[-6:])


def judge(stem, backend):
    """Both runtimes on one file: the failures."""
    import torch
    import torch.utils._pytree as pytree
    import tour_row
    import xnnpack

    inputs, expected, quantum = torch.load(stem.with_suffix(".io"), weights_only=False)
    inputs = pytree.tree_leaves(inputs)
    expected = [value.detach() for value in pytree.tree_leaves(expected)]
    path = stem.parent / "out" / f"{stem.name}.pte"

    def check(actual, want, where):
        if backend == "portable":
            runtimes.check_value(actual, want, where)
        else:
            xnnpack.check(actual, want, where, quantum)

    def compared(results):
        assert len(results) >= len(expected), f"{len(results)} outputs of {len(expected)}"
        for k, want in enumerate(expected):
            check(results[len(results) - len(expected) + k], want, f"output {k}")
        return ""

    def here():
        (results,) = xnnpack.run_here(stem.parent, path, [("forward", inputs)])
        return compared(results)

    def officially():
        method = runtimes.load(path).load_method("forward")
        return compared(method.execute(copy.deepcopy(inputs)))

    failed = {}
    for who, function in (("ours", here), ("official", officially)):
        try:
            tour_row.forked(function, ())
        except tour_row.Failed as error:
            failed[who] = str(error)
    return failed


def report(line, failed):
    told = "".join(f"\n    {who}: {' '.join(text.split())[:300]}" for who, text in failed.items())
    print(f"{'failed' if failed else 'passed'}  {line}{told}", flush=True)


def main(arguments):
    flags = {argument for argument in arguments if argument.startswith("--")}
    wanted = [argument for argument in arguments if argument not in flags]
    if flags - {"--models", "--quantized"}:
        raise SystemExit(__doc__)
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    import families.extension
    import torch

    families.extension.declare()
    processes.preload()
    torch.set_num_threads(1)  # the threads of a process are not there in those forked off it
    with tempfile.TemporaryDirectory() as name:
        start = time.monotonic()
        found = collected(Path(name), wanted, "--quantized" in flags, "--models" in flags)
        skipped = sum(found.skipped.values())
        seconds = time.monotonic() - start
        print(
            f"{len(found.cases)} programs, {skipped} skipped, exported in {seconds:.0f} s",
            flush=True,
        )
        for reason, count in found.skipped.most_common():
            print(f"    {count} skipped: {reason}", flush=True)
        failed = judged(found.cases)
    print(f"{len(found.cases) - failed} passed, {failed} failed")
    return 1 if failed or not found.cases else 0


def judged(cases):
    count = 0
    for backend in ("portable", "xnnpack"):
        part = [case for case in cases if case[1] == backend]
        refused = lower(part, backend)
        for name, _, stem in part:
            said = refused.get(stem.name)
            failed = {"lowering": said} if said is not None else judge(stem, backend)
            report(name, failed)
            count += bool(failed)
    return count


if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    sys.exit(main(sys.argv[1:]))
