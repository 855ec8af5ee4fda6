// The line of a Python traceback that is the user's own.
// Prefix: sc_stack_.
#ifndef SC_STACK_TRACE_H
#define SC_STACK_TRACE_H

#include "base/str.h"

// The innermost frame outside installed packages, else outside PyTorch, else of all, as one line:
// "model.py:12 in forward: return self.fc(x)", without the code if the trace has none. Empty if
// there is no frame.
sc_str sc_stack_trace_source(sc_arena *arena, sc_str trace);

// The code of that frame, a part of `trace`; empty if the trace has none.
sc_str sc_stack_trace_code(sc_str trace);

#endif
