// float16 and bfloat16. Kernels of the official runtime add up in these dtypes and lose small
// summands: 256 and 1 are 256 in bfloat16. PyTorch adds up in float32 and rounds once. The same
// call on operands that are cast to float32 does that, too.
#include "trace/official/official.h"

bool sc_official_is_half(const sc_node *node) {
    return sc_dtype_is_half((sc_dtype)node->outs[0]->spec.dtype);
}

static sc_x widened(sc_trace *t, sc_x x) {
    if (x->kind == SC_X_TENSOR) return sc_f_widen(t, x);
    if (x->kind == SC_X_DTYPE) return sc_x_dtype(t, sc_f_opmath((sc_dtype)x->code));
    return x;
}

static sc_x rounded(sc_trace *t, sc_x made) {
    const sc_node *node = t->source;
    if (made->kind != SC_X_LIST) return sc_official_rounded(t, made);
    sc_x *items = sc_new_array(t->arena, sc_x, node->out_count + 1);
    for (uint32_t i = 0; i < node->out_count; i++) {
        items[i] = sc_x_at(t, made, i);
        if (sc_official_wants(t, i))
            items[i] = sc_f_to(t, items[i], (sc_dtype)node->outs[i]->spec.dtype);
    }
    return sc_x_list_of(t, items, node->out_count);
}

// Any call without lists of tensors.
sc_x sc_official_in_float(sc_trace *t, const sc_x *a) {
    const sc_node *node = t->source;
    sc_x *args = sc_new_array(t->arena, sc_x, node->arg_count + 1);
    for (uint32_t i = 0; i < node->arg_count; i++) args[i] = widened(t, a[i]);
    return rounded(t, sc_trace_op(t, (sc_op_id)node->op->id, args));
}

// (self, mat1, mat2, beta, alpha): mm adds up in float32. Casting the weights would take twice
// their size.
sc_x sc_official_addmm(sc_trace *t, const sc_x *a) {
    if (!sc_x_equals(a[3], 1) || !sc_x_equals(a[4], 1)) return sc_official_in_float(t, a);
    return sc_f_add(t, CALL(t, mm, a[1], a[2]), a[0]);
}
