"""Commands and files run by Node, in servers that start once (serve_node.mjs). Each place for a
case has a server of its own, so that no case waits for another. A server that has died is started
anew before its place gets the next case."""

import json
import os
import socket
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

SCRIPT = Path(__file__).resolve().parent / "serve_node.mjs"
# The socket of the server, which the process of each case sets. None: a process for each call.
address = None


@dataclass
class Done:
    """A finished call, with the fields of subprocess.CompletedProcess."""

    returncode: int
    stdout: str
    stderr: str


def call(kind, args):
    """Exit code and output of a call. A server that ends half way fails the case."""
    if address is None:
        return call_alone(kind, args)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        asked = {"kind": kind, "args": [str(arg) for arg in args], "folder": os.getcwd()}
        connection.sendall(json.dumps(asked).encode())
        connection.shutdown(socket.SHUT_WR)
        text = b"".join(iter(lambda: connection.recv(1 << 20), b""))
    assert text, f"Node ended during {kind} {args}"
    answer = json.loads(text)
    return Done(answer["code"], answer["stdout"], answer["stderr"])


def call_alone(kind, args):
    root = SCRIPT.parent.parent.parent
    script = {"command": root / "dist" / "cli.js", "files": SCRIPT.parent / "run_files.mjs"}[kind]
    done = subprocess.run(["node", script, *args], capture_output=True, text=True)
    return Done(done.returncode, done.stdout, done.stderr)


class Server:
    def __init__(self):
        self.process = None

    def start(self):
        """Leaves a server that runs alone."""
        if self.process and self.process.poll() is None:
            return
        self.folder = tempfile.TemporaryDirectory()
        self.address = os.path.join(self.folder.name, "node")
        self.process = subprocess.Popen(
            ["node", "--no-concurrent-recompilation", SCRIPT, self.address],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self.process.stdout.readline() == b"ready\n", "the server of Node does not start"

    def stop(self):
        if not self.process:
            return
        self.process.kill()
        self.process.wait()
        self.process = None
        self.folder.cleanup()
