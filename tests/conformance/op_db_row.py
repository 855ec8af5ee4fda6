"""One operator: each of its calls is exported, lowered and run here, and judged by what PyTorch
answers. Its verdict is one of those in op_db_table, with message and, where known, operator."""

import copy
import json
import re
import select
import subprocess
import warnings

import op_db_export
import op_db_judge
import op_db_samples
import runtimes
import torch
import tour_row
import values

SECONDS = 60


class Here:
    """A Node process that lowers and runs; another one where it ends or does not answer."""

    def __init__(self):
        self.process = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process:
            self.process.kill()

    def start(self):
        self.process = subprocess.Popen(
            [*tour_row.UNLIMITED, "node", runtimes.ROOT / "tests/conformance/op_db.mjs"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def ask(self, job):
        if self.process is None or self.process.poll() is not None:
            self.start()
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], SECONDS)
        line = self.process.stdout.readline() if ready else ""
        if line:
            return json.loads(line)
        self.process.kill()
        self.process.wait()
        told = "the process ended" if ready else f"no answer in {SECONDS} s"
        return {"stage": "", "code": "panic", "op": "", "message": told}


def first_line(error):
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = re.sub(r"\x1b\[[0-9;]*m", "", lines[0] if lines else "")
    return f"{type(error).__name__}: {text}"[:300]


def is_dense(values):
    return all(not isinstance(x, torch.Tensor) or x.layout is torch.strided for x in values)


def program_of(case, is_dynamic, path):
    """The calls to make of the program that was saved, or a verdict."""
    try:
        expected = case.eager(case.inputs)
    except Exception as error:
        return None, {"verdict": "none", "message": first_line(error)}
    if not is_dense([*case.inputs, *expected]):
        return None, {"verdict": "outside"}
    try:
        export = op_db_export.exported_open if is_dynamic else op_db_export.exported
        program = export(case)
        if program is None:
            return None, {"verdict": "fixed"}
        torch.export.save(program, path)
    except Exception as error:
        return None, {"verdict": "export", "message": first_line(error)}
    return op_db_export.calls_of(case, program), None


def officially(case, path, calls):
    program = runtimes.load(path)
    try:
        method = program.load_method("forward")
    except RuntimeError as error:
        missing = tour_row.kernels_missing(path)
        return f"lacks {', '.join(missing)}" if missing else f"refuses {error}"
    results = [method.execute(copy.deepcopy(inputs)) for inputs, _ in calls]
    results = [[x.clone() if isinstance(x, torch.Tensor) else x for x in r] for r in results]
    wrong = op_db_judge.difference(case, calls, results)
    return f"wrong {wrong}" if wrong else "equal"


def asked_officially(case, path, calls):
    try:
        return tour_row.forked(officially, (case, path, calls))
    except tour_row.Failed as error:
        return f"failed {error}"[:600]


def judged(case, calls, answer):
    if "outputs" in answer:
        results = [[values.decoded(x) for x in outputs] for outputs in answer["outputs"]]
        wrong = op_db_judge.difference(case, calls, results)
        return {"verdict": "wrong", "message": wrong} if wrong else {"verdict": "equal"}
    stage, code = answer["stage"], answer["code"]
    verdict = "crash" if code == "panic" else "refused" if stage == "lower" else "failed"
    told = {"code": code, "op": answer["op"], "message": answer["message"][:600]}
    return {"verdict": verdict, **told}


class Visit:
    """All calls of an operator, in one of the two ways."""

    def __init__(self, info, is_dynamic, is_official, here):
        self.info, self.is_dynamic = info, is_dynamic
        self.is_official, self.here = is_official, here

    def told_of(self, folder, skip, tell):
        """Reports the beginning and the result of each case, without the first `skip`."""
        warnings.simplefilter("ignore")
        for case in op_db_samples.of(self.info)[skip:]:
            known = {"dtype": case.dtype, "sample": case.number, "called": case.told()}
            tell("begun", known)
            tell("ended", {**known, **self.result_of(case, folder)})

    def result_of(self, case, folder):
        if isinstance(case, op_db_samples.Unmade):
            return {"verdict": "unmade", "message": first_line(case.error)}
        pt2, pte = folder / "case.pt2", folder / "case.pte"
        calls, verdict = program_of(case, self.is_dynamic, pt2)
        if verdict:
            return verdict
        inputs = [[values.encoded(x) for x in inputs] for inputs, _ in calls]
        pte.unlink(missing_ok=True)
        kept = str(pte) if self.is_official else ""
        told = judged(case, calls, self.here.ask({"pt2": str(pt2), "pte": kept, "calls": inputs}))
        if pte.exists():
            told["official"] = asked_officially(case, pte, calls)
        return told
