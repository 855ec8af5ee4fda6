"""A tour of the architectures that people have: exported by name from torchvision, timm,
transformers and torch.nn, small and with random weights, lowered here, run here and by the official
runtime.

    tour.py [--static | --dynamic] [--again] [NAME...]   rows whose names contain one of these
    tour.py --table [FILE...]                            what is known of all rows, as markdown,
                                                         here and in files from elsewhere
    tour.py --summary [FILE...]                          how many rows of each package got how far
    tour.py --list [NAME...]

What is known is kept in build/tour.jsonl, a row a line; rows that are there are not run again
unless they are named or, with --again, have failed. Closing line: N passed, N failed.
"""

import json
import logging
import multiprocessing
import os
import resource
import sys
import tempfile
import time
import warnings
from pathlib import Path

import processes
import runtimes
import tour_table

SECONDS, BYTES = 900, 8 << 30
RESULTS = runtimes.ROOT / "build" / "tour.jsonl"
KINDS = ("static", "dynamic")


def rows():
    """All rows, of one package after the other."""
    import families

    for module in families.modules():
        yield from module.rows()


def known(paths=(RESULTS,)):
    """The last line of each row, of one file after the other."""
    texts = [path.read_text() for path in paths if path.exists()]
    lines = [json.loads(line) for text in texts for line in text.splitlines()]
    return {(line["name"], line["kind"]): line for line in lines}


def listed(names):
    """Rows that this walk knows, and those of files that others have walked."""
    missing = [name for name in names if not Path(name).exists()]
    if missing:
        raise SystemExit(f"{', '.join(missing)}: no such file")
    return known([RESULTS, *map(Path, names)]).values()


def write(line, path=RESULTS):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")


def child(row, kind, folder, answer):
    import torch
    import tour_row

    resource.setrlimit(resource.RLIMIT_DATA, (BYTES, resource.RLIM_INFINITY))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    torch.set_num_threads(1)
    tour_row.visit(row, kind == "dynamic", Path(folder), answer.send)


def stages_of(process, answer):
    """All that a process tells of its stages until it ends, or is ended."""
    stages, deadline = {}, time.monotonic() + SECONDS
    while answer.poll(max(0, deadline - time.monotonic())):
        try:
            stages = answer.recv()
        except EOFError:
            process.join()
            if process.exitcode != 0:
                told = f"the process ended with {process.exitcode}"
                stages["end"] = {"verdict": "failed", "seconds": 0, "message": told}
            return stages
    process.kill()
    told = f"not done in {SECONDS} s"
    return {**stages, "end": {"verdict": "failed", "seconds": SECONDS, "message": told}}


def visited(row, kind):
    answer, theirs = multiprocessing.Pipe(duplex=False)
    with tempfile.TemporaryDirectory() as folder:
        process = multiprocessing.Process(target=child, args=(row, kind, folder, theirs))
        process.start()
        theirs.close()
        stages = stages_of(process, answer)
        process.join()
    return {"name": row.name, "kind": kind, "stages": stages}


def has_failed(line):
    return any(stage["verdict"] == "failed" for stage in line["stages"].values())


def preload():
    """Everything heavy once, before the processes of the rows are forked off this one."""
    import executorch.backends.xnnpack  # noqa: F401
    import families

    processes.preload()
    families.preload()


def tour(wanted, kinds, again):
    preload()
    lines = known()
    chosen = [row for row in rows() if not wanted or any(word in row.name for word in wanted)]
    for kind in kinds:
        for row in chosen:
            line = lines.get((row.name, kind))
            if line and not wanted and not (again and has_failed(line)):
                continue
            line = visited(row, kind)
            lines[row.name, kind] = line
            write(line)
            print(tour_table.told(line), flush=True)
    seen = [lines[row.name, kind] for row in chosen for kind in kinds]
    failed = sum(map(has_failed, seen))
    print(f"{len(seen) - failed} passed, {failed} failed")
    return 1 if failed or not seen else 0


def main(arguments):
    flags = {argument for argument in arguments if argument.startswith("--")}
    wanted = [argument for argument in arguments if argument not in flags]
    unknown = flags - {"--static", "--dynamic", "--again", "--table", "--summary", "--list"}
    if unknown:
        raise SystemExit(f"{', '.join(unknown)}: no such flag\n{__doc__}")
    if "--table" in flags:
        print(tour_table.markdown(listed(wanted)))
        return 0
    if "--summary" in flags:
        print(tour_table.summary(listed(wanted)))
        return 0
    if "--list" in flags:
        preload()
        print("\n".join(row.name for row in rows()))
        return 0
    kinds = [kind for kind in KINDS if f"--{kind}" in flags] or KINDS
    return tour(wanted, kinds, "--again" in flags)


if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    sys.exit(main(sys.argv[1:]))
