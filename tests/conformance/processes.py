"""Cases in processes of their own, because the official runtime aborts on some bad inputs: several
at once, and none for longer than it may take."""

import importlib
import itertools
import multiprocessing
import multiprocessing.connection
import os
import sys
import tempfile
import time
import traceback
from pathlib import Path

import node_server

# Most that one case may take; the longest takes about a hundred on an idle machine.
SECONDS = 600
# Cases that run at the same time, if there are as many processors.
AT_ONCE = 4


def child(function, arguments, folder, log, answer, address):
    import torch

    node_server.address = address

    os.dup2(log.fileno(), sys.stderr.fileno())
    torch.set_num_threads(1)  # there are as many cases at once as processors
    try:
        answer.send(("passed", function(*arguments, Path(folder)) or ""))
    except BaseException:  # whatever it is, the parent wants to hear of it
        answer.send(("failed", traceback.format_exc()))


class Running:
    """A case in a process of its own.

    Text that the official tools write to stderr meanwhile belongs to a bad verdict only.
    """

    def __init__(self, title, function, arguments, server):
        server.start()
        self.server = server
        self.title, self.began = title, time.monotonic()
        self.folder, self.log = tempfile.TemporaryDirectory(), tempfile.TemporaryFile()
        self.answer, theirs = multiprocessing.Pipe(duplex=False)
        self.process = multiprocessing.Process(
            target=child,
            args=(function, arguments, self.folder.name, self.log, theirs, server.address),
        )
        self.process.start()
        theirs.close()  # ours, so that the end of the process is the end of the pipe

    def seconds_left(self):
        return max(0, self.began + SECONDS - time.monotonic())

    # Heard before the process is waited for: a long answer stays in the pipe until it is read.
    def heard(self):
        if not self.answer.poll():
            return "failed", f"no answer in {SECONDS} s"
        try:
            return self.answer.recv()
        except EOFError:
            self.process.join()
            return "failed", f"the process ended with {self.process.exitcode} and no answer"

    def ended(self):
        """The verdict and its details."""
        verdict, text = self.heard()
        self.process.kill()
        self.process.join()
        if verdict == "failed":
            self.log.seek(0)
            text = self.log.read().decode(errors="replace") + text
        self.log.close()
        self.answer.close()
        self.folder.cleanup()
        return verdict, text


def judged(cases):
    """Yields title, verdict, text and seconds of each case when it ends. A case is a title, a
    function and its arguments, to which a folder is added. One thread forks all of them, because
    another one might hold a lock just then."""
    waiting, at_once = iter(cases), min(AT_ONCE, os.cpu_count() or 1)
    running, idle = [], [node_server.Server() for _ in range(at_once)]
    while True:
        for case in itertools.islice(waiting, len(idle)):
            running.append(Running(*case, idle.pop()))
        if not running:
            break
        left = min(case.seconds_left() for case in running)
        heard = multiprocessing.connection.wait([case.answer for case in running], left)
        for case in [c for c in running if c.answer in heard or not c.seconds_left()]:
            running.remove(case)
            verdict, text = case.ended()
            if verdict == "failed":
                case.server.stop()  # it may still be at work on the case
            idle.append(case.server)
            yield case.title, verdict, text, time.monotonic() - case.began
    for server in idle:
        server.stop()


# Everything heavy that cases use: imported once, before their processes are forked off this one.
HEAVY = (
    "executorch.backends.xnnpack.partition.xnnpack_partitioner",
    "executorch.backends.xnnpack.quantizer.xnnpack_quantizer",
    "executorch.backends.xnnpack.recipes.xnnpack_recipe_types",
    "executorch.devtools",
    "executorch.devtools.bundled_program.serialize",
    "executorch.devtools.etrecord",
    "executorch.devtools.inspector",
    "executorch.exir",
    "executorch.exir.serde.serialize",
    "executorch.export",
    "executorch.kernels.quantized",  # registers its kernels
    "executorch.runtime",
    "torchao.quantization",
    "torchao.quantization.pt2e.quantize_pt2e",
)


def preload():
    for name in HEAVY:
        importlib.import_module(name)
