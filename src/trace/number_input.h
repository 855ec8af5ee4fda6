// Inputs that are numbers become tensors without dimensions, because the runtime's calls take no
// other numbers that change from run to run.
// Prefix: sc_number_, which is about such inputs.
#ifndef SC_TRACE_NUMBER_INPUT_H
#define SC_TRACE_NUMBER_INPUT_H

#include "trace/trace.h"

// The dtype of a tensor that holds the number; SC_DTYPE_NONE if the value is no number.
sc_dtype sc_number_dtype(const sc_value *value);
// The number that an input's tensor holds, known by the symbol of the number in the source graph.
sc_x sc_number_in_tensor(sc_trace *t, sc_value *tensor, const sc_value *number);

#endif
