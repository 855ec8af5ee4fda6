"""Makes tests/data/zip and tests/data/pickle, small files that the tests of src/format read.

Run with a Python that has PyTorch, from the root of the checkout:

    python tests/make/make_format_data.py

The results are committed: only their structure is tested, so another PyTorch release may change
their bytes.
"""

import usage  # noqa: F401

import collections
import io
import pickle
import struct
import zipfile

import torch

DATE = (1980, 1, 1, 0, 0, 0)


def entry(archive, name, data, method=zipfile.ZIP_STORED, extra=b""):
    info = zipfile.ZipInfo(name, DATE)
    info.compress_type = method
    info.extra = extra
    archive.writestr(info, data)


def make_zips(folder):
    with zipfile.ZipFile(f"{folder}/stored.zip", "w") as z:
        entry(z, "a.txt", b"hello")
        entry(z, "empty", b"")
        entry(z, "dir/b\u00e9.bin", bytes(range(256)), extra=struct.pack("<HH3x", 0x4246, 3))
    with zipfile.ZipFile(f"{folder}/deflated.zip", "w") as z:
        entry(z, "a.txt", b"hello")
        entry(z, "zeros", b"\0" * 1000, zipfile.ZIP_DEFLATED)
    with zipfile.ZipFile(f"{folder}/comment.zip", "w") as z:
        entry(z, "a.txt", b"hello")
        # A comment that looks like an end record itself.
        z.comment = b"PK\5\6" + b"\0" * 30
    with zipfile.ZipFile(f"{folder}/zip64.zip", "w", allowZip64=True) as z:
        info = zipfile.ZipInfo("a.txt", DATE)
        with z.open(info, "w", force_zip64=True) as f:
            f.write(b"hello")


def save(path, value, **options):
    torch.save(value, path, **options)


class Opaque:
    def __init__(self):
        self.weight = torch.ones(2)


def make_pickles(folder):
    base = torch.arange(12, dtype=torch.float32).reshape(3, 4)
    parameter = torch.nn.Parameter(base)
    state = collections.OrderedDict(
        weight=parameter,
        transposed=base.t(),
        row=base[1],
        tied=parameter,
        half=torch.tensor([1.0, 2.0], dtype=torch.float16),
        wide=torch.tensor([1, 2, 3], dtype=torch.uint16),
        scalar=torch.tensor(7),
        none=torch.empty(0, 5),
    )
    save(f"{folder}/state.pt", state)
    values = {
        "ints": [0, -1, 255, 256, 65536, -(2**31), 2**40, -(2**63), 2**64, 10**30],
        "floats": (0.5, float("inf")),
        "text": "caf\u00e9",
        "bytes": b"\0\xff\x80",
        "set": {1},
        "complex": 1 + 2j,
        "dtype": torch.bfloat16,
        "size": torch.Size([2, 3]),
        "none": None,
        "flags": (True, False),
        7: "int key",
        "default": collections.defaultdict(list, {"k": [1]}),
        "slice": slice(1, 2),
    }
    save(f"{folder}/values.pt", values)
    for protocol in range(5):
        plain = {k: v for k, v in values.items() if protocol > 0 and k not in ("dtype", "size")}
        plain["numbers"] = [1, 2.5, True, None, 10**12]
        if protocol == 0:
            plain = [1, 2.5, True, False, None, (10**12, -5), {3: 4}]
        with open(f"{folder}/protocol{protocol}.pkl", "wb") as f:
            pickle.dump(plain, f, protocol)
    save(f"{folder}/opaque.pt", {"object": Opaque(), "meta": torch.empty(3, device="meta")})
    cycle = []
    cycle.append(cycle)
    with open(f"{folder}/cycle.pkl", "wb") as f:
        pickle.dump(cycle, f, 2)
    deep = ()
    for _ in range(600):
        deep = (deep,)
    buffer = io.BytesIO()
    pickler = pickle._Pickler(buffer, 2)
    pickler.fast = True
    import sys

    sys.setrecursionlimit(10000)
    pickler.dump(deep)
    open(f"{folder}/deep.pkl", "wb").write(buffer.getvalue())


make_zips("tests/data/zip")
make_pickles("tests/data/pickle")
