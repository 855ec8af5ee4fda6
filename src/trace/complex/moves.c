// Complex tensors that are filled, converted, joined and written into.
#include "trace/complex/complex.h"

static sc_dtype part_dtype(sc_dtype dtype) { return sc_dtype_to_real(dtype); }

// --- New ones ------------------------------------------------------------------------------------

// With the number in the real part: fills the tensor of zeros that the call would make of 0.
static sc_x filled(sc_trace *t, const sc_op *op, const sc_x *a, uint32_t number, uint32_t dtype) {
    const uint32_t count = op->schema->param_count;
    sc_x *args = sc_new_array(t->arena, sc_x, count + 1);
    sc_dtype part = a[dtype]->kind == SC_X_DTYPE ? (sc_dtype)a[dtype]->code : SC_DTYPE_NONE;
    if (part == SC_DTYPE_NONE) part = sc_x_dtype_of(a[0]);
    memcpy(args, a, count * sizeof *args);
    args[dtype] = sc_x_dtype(t, part_dtype(part));
    if (sc_x_is_complex(args[0])) args[0] = sc_complex_of(t, args[0]).re;
    if (a[number]->kind == SC_X_BOOL) args[number] = sc_x_int(t, a[number]->b);
    sc_x re = sc_trace_call(t, op, args, count);
    if (!sc_dtype_is_complex(part)) return re;
    args[number] = sc_x_int(t, 0);
    return sc_complex_make(t, (sc_complex){re, sc_trace_call(t, op, args, count)},
                           part_dtype(part));
}

// (size, fill_value, dtype, ...)
sc_x sc_complex_full(sc_trace *t, const sc_op *op, const sc_x *a) { return filled(t, op, a, 1, 2); }

// (self, fill_value, dtype, ...)
sc_x sc_complex_full_like(sc_trace *t, const sc_op *op, const sc_x *a) {
    return filled(t, op, a, 1, 2);
}

// (s, dtype, ...)
sc_x sc_complex_scalar_tensor(sc_trace *t, const sc_op *op, const sc_x *a) {
    return filled(t, op, a, 0, 1);
}

// (size or self, dtype, ...): both parts are drawn, each times `scale`.
static sc_x drawn(sc_trace *t, const sc_op *op, const sc_x *a, double scale) {
    const uint32_t count = op->schema->param_count;
    sc_x *args = sc_new_array(t->arena, sc_x, count + 1);
    const sc_dtype dtype = a[1]->kind == SC_X_DTYPE ? (sc_dtype)a[1]->code : sc_x_dtype_of(a[0]);
    memcpy(args, a, count * sizeof *args);
    if (sc_x_is_complex(a[0])) args[0] = sc_complex_of(t, a[0]).re;
    args[1] = sc_x_dtype(t, part_dtype(dtype));
    sc_x re = sc_trace_call(t, op, args, count);
    if (!sc_dtype_is_complex(dtype)) return re;
    sc_complex z = {re, sc_trace_call(t, op, args, count)};
    if (scale != 1) {
        z.re = sc_f_mul(t, z.re, sc_x_float(t, scale));
        z.im = sc_f_mul(t, z.im, sc_x_float(t, scale));
    }
    return sc_complex_make(t, z, part_dtype(dtype));
}

sc_x sc_complex_rand(sc_trace *t, const sc_op *op, const sc_x *a) { return drawn(t, op, a, 1); }

// Random numbers of variance 1: each part has half of it.
sc_x sc_complex_randn(sc_trace *t, const sc_op *op, const sc_x *a) {
    return drawn(t, op, a, 0.70710678118654752);
}

// --- Conversions ---------------------------------------------------------------------------------

// (self, dtype, layout, device, pin_memory, non_blocking, memory_format). To a real dtype the
// imaginary part is left away.
sc_x sc_complex_to_copy(sc_trace *t, const sc_op *op, const sc_x *a) {
    const sc_dtype to = a[1]->kind == SC_X_DTYPE ? (sc_dtype)a[1]->code : sc_x_dtype_of(a[0]);
    const bool stays = sc_dtype_is_complex(to);
    if (sc_x_is_complex(a[0]) && to == SC_DTYPE_BOOL) return sc_complex_is_not_zero(t, a[0]);
    if (sc_x_is_complex(a[0]) && stays) return sc_complex_by_parts(t, op, a);
    sc_x args[7];
    memcpy(args, a, sizeof args);
    args[0] = sc_complex_of(t, a[0]).re;
    args[1] = sc_x_dtype(t, part_dtype(to));
    sc_x re = sc_trace_call(t, op, args, 7);
    return stays ? sc_complex_make(t, (sc_complex){re, sc_f_zeros_of(t, re)}, part_dtype(to)) : re;
}

// (self, src, non_blocking)
sc_x sc_complex_copy(sc_trace *t, const sc_op *op, const sc_x *a) {
    (void)op;
    sc_x x = sc_f_to_dtype_of(t, a[1], a[0]);
    if (!sc_x_is_complex(a[0])) return CALL(t, copy, a[0], x);
    return CALL(t, expand, x, sc_x_sizes(t, a[0], 0, SC_RANK_MAX));
}

// (self, dtype), of complex numbers as real ones of their parts, and the other way round
sc_x sc_complex_view_dtype(sc_trace *t, const sc_op *op, const sc_x *a) {
    const sc_dtype to = (sc_dtype)a[1]->code, from = sc_x_dtype_of(a[0]);
    const uint32_t rank = sc_x_rank(a[0]);
    sc_dim sizes[SC_RANK_MAX + 1];
    if (to == from) return CALL(t, alias, a[0]);
    if (rank == 0 || rank >= SC_RANK_MAX) return sc_complex_refuse(t, op);
    for (uint32_t i = 0; i < rank; i++) sizes[i] = sc_x_size(a[0], i);
    if (to == part_dtype(from)) {
        sizes[rank - 1] = sc_trace_mul(t, sizes[rank - 1], sc_dim_int(2));
        return sc_f_reshape(t, sc_complex_pair(t, a[0]), sizes, rank);
    }
    if (from != part_dtype(to)) return sc_complex_refuse(t, op);
    sizes[rank - 1] = sc_trace_floordiv(t, sizes[rank - 1], sc_dim_int(2));
    sizes[rank] = sc_dim_int(2);
    return CALL(t, view_as_complex, sc_f_reshape(t, a[0], sizes, rank + 1));
}

// --- Putting together ----------------------------------------------------------------------------

static sc_dtype common_of(sc_x list) {
    sc_promotion p = {0};
    for (uint32_t i = 0; i < list->count; i++)
        sc_promotion_add_tensor(&p, sc_x_dtype_of(list->items[i]), true);
    return sc_promotion_result(&p);
}

// (tensors, dim)
sc_x sc_complex_cat(sc_trace *t, const sc_op *op, const sc_x *a) {
    const sc_dtype dtype = common_of(a[0]);
    sc_x *items = sc_new_array(t->arena, sc_x, a[0]->count + 1);
    for (uint32_t i = 0; i < a[0]->count; i++) items[i] = sc_f_to(t, a[0]->items[i], dtype);
    sc_x args[2] = {sc_x_list_of(t, items, a[0]->count), a[1]};
    return sc_complex_by_parts(t, op, args);
}

// (condition, self, other)
sc_x sc_complex_where(sc_trace *t, const sc_op *op, const sc_x *a) {
    const sc_dtype part = sc_complex_common(a[1], a[2]);
    sc_complex x = sc_complex_of(t, a[1]), y = sc_complex_of(t, a[2]);
    (void)op;
    x.im = x.im->kind == SC_X_TENSOR ? x.im : sc_f_scalar(t, x.im, part);
    y.im = y.im->kind == SC_X_TENSOR ? y.im : sc_f_scalar(t, y.im, part);
    sc_x first = sc_f_to(t, x.re, part), other = sc_f_to(t, y.re, part);
    sc_x re = sc_f_where(t, a[0], first, other);
    first = sc_f_to(t, x.im, part), other = sc_f_to(t, y.im, part);
    sc_x im = sc_f_where(t, a[0], first, other);
    return sc_complex_make(t, (sc_complex){re, im}, part);
}

// A real number in the call is one for the real part.
static sc_x with_number(sc_trace *t, const sc_op *op, const sc_x *a, uint32_t number) {
    sc_x args[4];
    const uint32_t count = op->schema->param_count;
    memcpy(args, a, count * sizeof *args);
    sc_complex z = sc_complex_of(t, a[0]);
    args[0] = z.re;
    sc_x re = sc_trace_call(t, op, args, count);
    args[0] = z.im;
    args[number] = sc_x_int(t, 0);
    return sc_complex_make(t, (sc_complex){re, sc_trace_call(t, op, args, count)},
                           sc_x_dtype_of(z.re));
}

// (self, pad, value)
sc_x sc_complex_pad(sc_trace *t, const sc_op *op, const sc_x *a) {
    return with_number(t, op, a, 2);
}

// (self, dim, index, value)
sc_x sc_complex_scatter_value(sc_trace *t, const sc_op *op, const sc_x *a) {
    return with_number(t, op, a, 3);
}

// (self, indices, values, accumulate)
sc_x sc_complex_index_put(sc_trace *t, const sc_op *op, const sc_x *a) {
    if (!sc_x_is_complex(a[0])) return sc_complex_refuse(t, op);
    sc_x args[4] = {a[0], a[1], sc_f_to_dtype_of(t, a[2], a[0]), a[3]};
    return sc_complex_by_parts(t, op, args);
}

// (self, mask): how many there are is asked once, not of each part
sc_x sc_complex_masked_select(sc_trace *t, const sc_op *op, const sc_x *a) {
    (void)op;
    sc_x x = a[0], mask = a[1];
    if (sc_x_rank(x) == 0) x = sc_f_unsqueeze(t, x, 0);
    if (sc_x_rank(mask) == 0) mask = sc_f_unsqueeze(t, mask, 0);
    sc_x both = CALL(t, broadcast_tensors, X_LIST(t, x, mask));
    x = sc_x_at(t, both, 0);
    return CALL(t, index_Tensor, x, X_LIST(t, sc_x_at(t, both, 1)));
}
