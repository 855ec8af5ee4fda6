// What the special functions share: they are computed in float64.
#include "trace/official/special.h"

sc_x sc_o_double(sc_trace *t, sc_x x) { return sc_f_to(t, x, SC_DTYPE_F64); }

sc_x sc_o_rounded(sc_trace *t, sc_x x) { return sc_f_to(t, x, sc_o_result_dtype(t)); }
