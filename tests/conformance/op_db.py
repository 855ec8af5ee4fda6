"""A walk over the operators that PyTorch's own tests call (op_db), with samples of those tests in
several types: each call is exported, lowered, run here and compared with what PyTorch computes.

    op_db.py [--static | --dynamic] [--again] [--official] [NAME...]
                          operators called so (linalg.svd, or fft.* for all that begin so)
    op_db.py --table      counts, and all that is wrong or refused, by operator and message

With --official what was lowered also runs on the official runtime, each call in a process of its
own. Results are kept in build/op_db.jsonl, an operator a line; operators in it are not walked again
unless they are named or, with --again, are not all well. Closing line: N passed, N failed, of
calls.
"""

import collections
import fnmatch
import json
import logging
import multiprocessing
import os
import sys
import tempfile
import traceback
from pathlib import Path

import op_db_table
import processes
import runtimes

SECONDS = 300
RESULTS = runtimes.ROOT / "build" / "op_db.jsonl"
KINDS = ("static", "dynamic")


def known(path=RESULTS):
    """The last line of each operator."""
    if not path.exists():
        return {}
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return {(line["name"], line["kind"]): line for line in lines}


def write(line, path=RESULTS):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")


def operators():
    from torch.testing._internal.common_methods_invocations import op_db

    infos = {}
    for info in op_db:
        infos.setdefault(info.full_name, info)
    return infos


def child(infos, work, is_official, skip, answer):
    """Walks what is asked for; leaves out so many cases of the first."""
    import op_db_row
    import torch

    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    os.dup2(2, 1)
    logging.disable(logging.CRITICAL)
    torch.set_num_threads(1)

    def tell(*told):
        answer.send(told)

    with tempfile.TemporaryDirectory() as folder, op_db_row.Here() as here:
        try:
            for name, kind in work:
                visit = op_db_row.Visit(infos[name], kind == "dynamic", is_official, here)
                visit.told_of(Path(folder), skip, tell)
                tell("done", None)
                skip = 0
        except Exception:
            tell("broken", traceback.format_exc())


class Walk:
    """Work that processes do one after the other, a new one where one ends on the way."""

    def __init__(self, infos, work, is_official):
        self.infos, self.is_official = infos, is_official
        self.work, self.cases, self.begun = collections.deque(work), [], None

    def lines(self):
        while self.work:
            answer, theirs = multiprocessing.Pipe(duplex=False)
            arguments = (self.infos, list(self.work), self.is_official, len(self.cases), theirs)
            process = multiprocessing.Process(target=child, args=arguments)
            process.start()
            theirs.close()
            yield from self.told(answer)
            process.kill()
            process.join()
            if self.work:
                yield from self.lost(process.exitcode)

    def told(self, answer):
        while answer.poll(SECONDS):
            try:
                what, told = answer.recv()
            except EOFError:
                return
            if what == "begun":
                self.begun = told
            elif what == "ended":
                self.cases.append(told)
                self.begun = None
            elif what == "broken":
                raise SystemExit(told)
            else:
                yield self.line()

    def lost(self, code):
        """The process is gone in a case, which is to blame, or before the first, so that all is."""
        told = f"the process of PyTorch ended with {code}"
        if self.begun:
            self.cases.append({**self.begun, "verdict": "export", "message": told})
            self.begun = None
        else:
            yield self.line()

    def line(self):
        name, kind = self.work.popleft()
        line = {"name": name, "kind": kind, "cases": self.cases}
        self.cases, self.begun = [], None
        return line


def has_failed(line):
    return any(case["verdict"] in op_db_table.TROUBLE for case in line["cases"])


def walk(wanted, kinds, again, is_official):
    infos, lines = operators(), known()
    chosen = [n for n in infos if not wanted or any(fnmatch.fnmatchcase(n, w) for w in wanted)]
    keys = [(name, kind) for kind in kinds for name in chosen]
    work = [key for key in keys if wanted or key not in lines or (again and has_failed(lines[key]))]
    if is_official:
        processes.preload()
    for line in Walk(infos, work, is_official).lines():
        lines[line["name"], line["kind"]] = line
        write(line)
        print(op_db_table.told(line), flush=True)
    return closing([lines[key] for key in keys])


def closing(lines):
    verdicts = [case["verdict"] for line in lines for case in line["cases"]]
    failed = sum(verdict in op_db_table.TROUBLE for verdict in verdicts)
    print(f"{verdicts.count('equal')} passed, {failed} failed")
    return 1 if failed or not lines else 0


def main(arguments):
    flags = {argument for argument in arguments if argument.startswith("--")}
    wanted = [argument for argument in arguments if argument not in flags]
    unknown = flags - {"--static", "--dynamic", "--again", "--official", "--table"}
    if unknown:
        raise SystemExit(f"{', '.join(unknown)}: no such flag\n{__doc__}")
    if "--table" in flags:
        print(op_db_table.text(known().values()))
        return 0
    kinds = [kind for kind in KINDS if f"--{kind}" in flags] or KINDS
    return walk(wanted, kinds, "--again" in flags, "--official" in flags)


if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    sys.exit(main(sys.argv[1:]))
