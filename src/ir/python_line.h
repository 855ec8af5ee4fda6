// A line of the user's Python, read so that advice can use the user's own names.
// Prefix: sc_python_ reads names in a line of Python.
#ifndef SC_PYTHON_LINE_H
#define SC_PYTHON_LINE_H

#include "base/str.h"

// The line's name for the result of a node, if all of it is "NAME = torch.CALL(...)" or "NAME =
// x.CALL(...)" and the node is named after CALL; else empty. The result is a part of `code`.
sc_str sc_python_name(sc_str code, sc_str node);

#endif
