#include "trace/number_input.h"

sc_dtype sc_number_dtype(const sc_value *value) {
    switch (value->type) {
    case SC_VALUE_INT: return SC_DTYPE_I64;
    case SC_VALUE_FLOAT: return SC_DTYPE_F64;
    case SC_VALUE_BOOL: return SC_DTYPE_BOOL;
    default: return SC_DTYPE_NONE;
    }
}

sc_x sc_number_in_tensor(sc_trace *t, sc_value *tensor, const sc_value *number) {
    const sc_x held = sc_trace_fresh(t, tensor);
    const sc_x read = sc_trace_record(t, sc_op_get(SC_OP__local_scalar_dense), &held, 1);
    if (t->status != SC_OK) return X_NONE;
    sc_value *value = sc_trace_arg(t, read).value;
    value->type = number->type;
    value->has_dim = number->has_dim;
    value->dim = number->dim;
    return sc_trace_number(t, value);
}
