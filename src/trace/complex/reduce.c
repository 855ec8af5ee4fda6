// Products, means, norms and variances of complex numbers.
#include "trace/complex/complex.h"

static sc_complex sliced(sc_trace *t, sc_complex z, uint32_t dim, int64_t start, int64_t end) {
    sc_x from = sc_x_int(t, start), to = sc_x_int(t, end);
    sc_x re = sc_f_slice(t, z.re, dim, from, to);
    return (sc_complex){re, sc_f_slice(t, z.im, dim, from, to)};
}

static sc_complex joined(sc_trace *t, sc_complex x, sc_complex y, uint32_t dim) {
    sc_x re = sc_f_join(t, x.re, y.re, dim);
    return (sc_complex){re, sc_f_join(t, x.im, y.im, dim)};
}

// Halves are multiplied with each other until one is left.
static sc_complex product_along(sc_trace *t, sc_complex z, uint32_t dim, int64_t count) {
    while (count > 1 && t->status == SC_OK) {
        const int64_t half = count / 2;
        sc_complex rest = sliced(t, z, dim, 2 * half, count), low = sliced(t, z, dim, 0, half);
        sc_complex made = sc_complex_times(t, low, sliced(t, z, dim, half, 2 * half));
        z = count % 2 ? joined(t, made, rest, dim) : made;
        count = half + count % 2;
    }
    return z;
}

static sc_complex empty_product(sc_trace *t, sc_complex z, uint32_t dim) {
    sc_dim sizes[SC_RANK_MAX];
    const sc_spec *spec = sc_x_spec(z.re);
    for (uint32_t i = 0; i < spec->rank; i++) sizes[i] = i == dim ? sc_dim_int(1) : spec->sizes[i];
    sc_x list = sc_x_dims(t, sizes, spec->rank);
    sc_x one = sc_f_full(t, list, sc_x_int(t, 1), (sc_dtype)spec->dtype);
    return (sc_complex){one, sc_f_zeros(t, list, (sc_dtype)spec->dtype)};
}

static sc_dtype part_of(sc_x x, sc_x dtype) {
    return sc_dtype_to_real(dtype->kind == SC_X_DTYPE ? (sc_dtype)dtype->code : sc_x_dtype_of(x));
}

static sc_complex squeezed(sc_trace *t, sc_complex z, uint32_t dim) {
    sc_x re = sc_f_squeeze(t, z.re, dim);
    return (sc_complex){re, sc_f_squeeze(t, z.im, dim)};
}

// (self, dim, keepdim, dtype)
sc_x sc_complex_prod_dim(sc_trace *t, const sc_op *op, const sc_x *a) {
    const sc_dtype part = part_of(a[0], a[3]);
    const uint32_t dim = sc_x_wrap(t, a[1], sc_x_rank(a[0]));
    (void)op;
    sc_complex z = sc_complex_operand(t, a[0], part);
    if (sc_x_rank(a[0]) == 0) return sc_complex_make(t, z, part);
    const int64_t count = sc_x_static_size(t, a[0], dim);
    z = count ? product_along(t, z, dim, count) : empty_product(t, z, dim);
    return sc_complex_make(t, sc_x_truth(a[2]) ? z : squeezed(t, z, dim), part);
}

// (self, dtype)
sc_x sc_complex_prod(sc_trace *t, const sc_op *op, const sc_x *a) {
    (void)op;
    sc_x flat = sc_f_flat(t, a[0]);
    return CALL(t, prod_dim_int, flat, sc_x_int(t, 0), X_FALSE, a[1]);
}

// (self, dim, dtype): each with the one before it, then with what stands two before, four, ...
sc_x sc_complex_cumprod(sc_trace *t, const sc_op *op, const sc_x *a) {
    const sc_dtype part = part_of(a[0], a[2]);
    const uint32_t dim = sc_x_wrap(t, a[1], sc_x_rank(a[0]));
    (void)op;
    sc_complex z = sc_complex_operand(t, a[0], part);
    const int64_t count = sc_x_rank(a[0]) ? sc_x_static_size(t, a[0], dim) : 1;
    for (int64_t step = 1; step < count && t->status == SC_OK; step *= 2) {
        sc_complex kept = sliced(t, z, dim, 0, step), late = sliced(t, z, dim, step, count);
        z = joined(t, kept, sc_complex_times(t, late, sliced(t, z, dim, 0, count - step)), dim);
    }
    return sc_complex_make(t, z, part);
}

// Divided by a complex count, as in PyTorch: what is infinite in one part is NaN in the other.
sc_x sc_complex_mean(sc_trace *t, const sc_op *op, const sc_x *a) {
    const int dtype = sc_op_param_index(op, "dtype");
    sc_x args[4];
    memcpy(args, a, op->schema->param_count * sizeof *args);
    if (!sc_x_is_complex(a[0])) args[0] = sc_f_to(t, a[0], (sc_dtype)a[dtype]->code);
    sc_complex z = sc_complex_of(t, sc_complex_by_parts(t, op, args));
    sc_x zero = sc_x_float(t, 0), re = sc_f_add(t, z.re, sc_f_mul(t, z.im, zero));
    sc_x im = sc_f_sub(t, z.im, sc_f_mul(t, z.re, zero));
    return sc_complex_make(t, (sc_complex){re, im}, sc_x_dtype_of(re));
}

// The variance of a complex number: the sum of those of its parts.
sc_x sc_complex_var(sc_trace *t, const sc_op *op, const sc_x *a) {
    sc_complex z = sc_complex_of(t, a[0]);
    sc_x re[4] = {z.re, a[1], a[2], a[3]}, im[4] = {z.im, a[1], a[2], a[3]};
    sc_x first = sc_trace_call(t, op, re, 4);
    return sc_f_add(t, first, sc_trace_call(t, op, im, 4));
}

// (self, dim, correction, keepdim)
sc_x sc_complex_var_mean(sc_trace *t, const sc_op *op, const sc_x *a) {
    (void)op;
    sc_x var = CALL(t, var_correction, a[0], a[1], a[2], a[3]);
    return X_LIST(t, var, CALL(t, mean_dim, a[0], a[1], a[3]));
}

// (self, dim, correction, keepdim)
sc_x sc_complex_std(sc_trace *t, const sc_op *op, const sc_x *a) {
    (void)op;
    return CALL(t, sqrt, CALL(t, var_correction, a[0], a[1], a[2], a[3]));
}

// Norms know sizes alone.
sc_x sc_complex_norm(sc_trace *t, const sc_op *op, const sc_x *a) {
    const uint32_t count = op->schema->param_count;
    sc_x *args = sc_new_array(t->arena, sc_x, count + 1);
    for (uint32_t i = 0; i < count; i++)
        args[i] =
            a[i]->kind == SC_X_DTYPE ? sc_x_dtype(t, sc_dtype_to_real((sc_dtype)a[i]->code)) : a[i];
    args[0] = CALL(t, abs, a[0]);
    return sc_trace_call(t, op, args, count);
}
