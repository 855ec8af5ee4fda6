"""Prints the first lines of a script of this folder as its usage, if `--help` asks for them.

Import it first: the script then needs no torch to answer, and writes no file.
"""

import sys

if {"-h", "--help"} & set(sys.argv[1:]):
    print((sys.modules["__main__"].__doc__ or "").strip())
    raise SystemExit
