// What a line of the user's Python says, so that advice can use the user's own names.
#ifndef SC_PYTHON_LINE_H
#define SC_PYTHON_LINE_H

#include "base/str.h"

// What the line calls the result of a node, where all of it is "NAME = torch.CALL(...)" or
// "NAME = x.CALL(...)" and CALL is what the node is named after; else empty. A part of `code`.
sc_str sc_python_name(sc_str code, sc_str node);

#endif
