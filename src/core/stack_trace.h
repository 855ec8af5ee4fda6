// The frames of a Python traceback, and which line is the user's own.
// Prefix: sc_stack_trace_ reads one Python traceback, frame by frame.
#ifndef SC_STACK_TRACE_H
#define SC_STACK_TRACE_H

#include "base/str.h"

// Views into the text of the trace.
typedef struct sc_stack_frame {
    sc_str path, line, function;
    sc_str code;  // empty where the trace does not show it
} sc_stack_frame;

// Takes the next frame from the beginning of `trace`; false after the last one.
bool sc_stack_trace_next(sc_str *trace, sc_stack_frame *out);

// The innermost frame outside installed packages, else outside PyTorch, else of all, as one line:
// "model.py:12 in forward: return self.fc(x)", without the code if the trace has none. Empty if
// there is no frame.
sc_str sc_stack_trace_source(sc_arena *arena, sc_str trace);

// The code of that frame, a part of `trace`; empty if the trace has none.
sc_str sc_stack_trace_code(sc_str trace);

#endif
