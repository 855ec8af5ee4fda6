// torch.autocast on the CPU: inside such a region some operators compute in the low-precision
// dtype, some in float32, some in the widest dtype among their operands; the others take what
// comes. Which do what is PyTorch's choice and stands in the operator table (SC_CAST_*). Such an
// operator's own expansion runs with autocast off; that of any other operator runs with it on.
#include "trace/trace.h"
#include "trace/words/calls.h"

// float64 never takes part.
static bool is_castable(sc_x x) {
    return x->kind == SC_X_TENSOR && sc_x_is_float(x) && sc_x_dtype_of(x) != SC_DTYPE_F64;
}

static sc_dtype widest(sc_x x, sc_dtype found) {
    if (is_castable(x)) return sc_x_dtype_of(x) == SC_DTYPE_F32 ? SC_DTYPE_F32 : found;
    for (uint32_t i = 0; x->kind == SC_X_LIST && i < x->count; i++)
        found = widest(x->items[i], found);
    return found;
}

static sc_x cast(sc_trace *t, sc_x x, sc_dtype dtype) {
    if (is_castable(x)) return sc_f_to(t, x, dtype);
    if (x->kind != SC_X_LIST) return x;
    sc_x *items = sc_new_array(t->arena, sc_x, x->count + 1);
    for (uint32_t i = 0; i < x->count; i++) items[i] = cast(t, x->items[i], dtype);
    return sc_x_list_of(t, items, x->count);
}

bool sc_trace_autocast(sc_trace *t, const sc_op *op, sc_x *args, uint32_t count) {
    sc_dtype dtype = SC_DTYPE_NONE;
    if (sc_op_has(op, SC_CAST_LOW))
        dtype = (sc_dtype)t->autocast.dtype;
    else if (sc_op_has(op, SC_CAST_FLOAT))
        dtype = SC_DTYPE_F32;
    else if (!sc_op_has(op, SC_CAST_WIDEST))
        return false;
    t->autocast.enabled = false;
    for (uint32_t i = 0; dtype == SC_DTYPE_NONE && i < count; i++)
        if (widest(args[i], SC_DTYPE_NONE) == SC_DTYPE_F32) dtype = SC_DTYPE_F32;
    for (uint32_t i = 0; dtype != SC_DTYPE_NONE && i < count; i++)
        args[i] = cast(t, args[i], dtype);
    return true;
}
