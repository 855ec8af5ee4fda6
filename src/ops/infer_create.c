// Rules of ops that make tensors from sizes and numbers. Without a dtype argument, numbers decide:
// bool, int64 or float32.
#include <math.h>

#include "ops/rule.h"

static sc_status sizes_of(sc_infer *in, const sc_iarg *sizes, sc_dtype dtype, sc_spec *out) {
    SC_TRY(sc_rule_fits_rank(in, sizes->count));
    *out = sc_rule_new(in, dtype, sizes->count);
    for (uint32_t d = 0; d < sizes->count; d++) {
        out->sizes[d] = sc_rule_item_dim(&sizes->items[d]);
        if (sc_rule_less(out->sizes[d], sc_dim_int(0), false))
            return sc_rule_fail(in, SC_ERR_SHAPE, "%s: a size is negative", in->op->name);
    }
    return SC_OK;
}

static sc_dtype dtype_of_number(const sc_iarg *arg) {
    return arg->kind == SC_IARG_FLOAT  ? SC_DTYPE_F32
           : arg->kind == SC_IARG_BOOL ? SC_DTYPE_BOOL
                                       : SC_DTYPE_I64;
}

sc_status sc_infer_full(sc_infer *in) {
    sc_spec spec;
    sc_dtype dtype = sc_rule_dtype(in, "dtype", dtype_of_number(sc_rule_arg(in, "fill_value")));
    SC_TRY(sizes_of(in, &in->args[0], dtype, &spec));
    return sc_rule_publish_contiguous(in, spec);
}

// ones, zeros, rand, randn: float32 unless the call says otherwise.
sc_status sc_infer_filled(sc_infer *in) {
    sc_spec spec;
    SC_TRY(sizes_of(in, &in->args[0], sc_rule_dtype(in, "dtype", SC_DTYPE_F32), &spec));
    return sc_rule_publish_contiguous(in, spec);
}

sc_status sc_infer_empty(sc_infer *in) {
    sc_spec spec;
    const sc_iarg *format = sc_rule_arg(in, "memory_format");
    SC_TRY(sizes_of(in, &in->args[0], sc_rule_dtype(in, "dtype", SC_DTYPE_F32), &spec));
    sc_rule_set_format(in, &spec,
                       format->kind == SC_IARG_MEMORY_FORMAT ? (sc_memory_format)format->code
                                                             : SC_MEMORY_FORMAT_CONTIGUOUS);
    return sc_rule_publish(in, spec);
}

sc_status sc_infer_empty_strided(sc_infer *in) {
    sc_spec spec;
    const sc_iarg *strides = &in->args[1];
    SC_TRY(sizes_of(in, &in->args[0], sc_rule_dtype(in, "dtype", SC_DTYPE_F32), &spec));
    if (strides->count != spec.rank)
        return sc_rule_fail(in, SC_ERR_ARGUMENT, "%s: %u sizes but %u strides", in->op->name,
                            spec.rank, strides->count);
    for (uint32_t d = 0; d < spec.rank; d++) spec.strides[d] = sc_rule_item_dim(&strides->items[d]);
    return sc_rule_publish(in, spec);
}

sc_status sc_infer_empty_permuted(sc_infer *in) {
    sc_spec spec;
    SC_TRY(sizes_of(in, &in->args[0], sc_rule_dtype(in, "dtype", SC_DTYPE_F32), &spec));
    SC_TRY(sc_rule_set_order(in, &spec, &in->args[1], "physical layout"));
    return sc_rule_publish(in, spec);
}

sc_status sc_infer_like(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    const sc_iarg *format = sc_rule_arg(in, "memory_format");
    sc_spec spec = sc_rule_like(in, sc_rule_dtype(in, "dtype", (sc_dtype)self->dtype), self);
    if (format->kind == SC_IARG_MEMORY_FORMAT && format->code != SC_MEMORY_FORMAT_PRESERVE)
        sc_rule_set_format(in, &spec, (sc_memory_format)format->code);
    else
        sc_rule_preserve(in, &spec, self);
    return sc_rule_publish(in, spec);
}

sc_status sc_infer_scalar_tensor(sc_infer *in) {
    return sc_rule_publish(in, sc_rule_new(in, sc_rule_dtype(in, "dtype", SC_DTYPE_F32), 0));
}

sc_status sc_infer_randint(sc_infer *in) {
    sc_spec spec;
    SC_TRY(sizes_of(in, sc_rule_arg(in, "size"), sc_rule_dtype(in, "dtype", SC_DTYPE_I64), &spec));
    return sc_rule_publish_contiguous(in, spec);
}

sc_status sc_infer_randperm(sc_infer *in) {
    sc_spec spec = sc_rule_new(in, sc_rule_dtype(in, "dtype", SC_DTYPE_I64), 1);
    spec.sizes[0] = sc_rule_dim(in, "n", 0);
    if (sc_rule_less(spec.sizes[0], sc_dim_int(0), false))
        return sc_rule_fail(in, SC_ERR_SHAPE, "%s: a size is negative", in->op->name);
    return sc_rule_publish_contiguous(in, spec);
}

sc_status sc_infer_multinomial(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    if (self->rank != 1 && self->rank != 2)
        return sc_rule_fail(in, SC_ERR_SHAPE, "%s takes 1 or 2 dimensions, not %u", in->op->name,
                            self->rank);
    sc_spec spec = sc_rule_like(in, SC_DTYPE_I64, self);
    spec.sizes[self->rank - 1] = sc_rule_dim(in, "num_samples", 1);
    return sc_rule_publish_contiguous(in, spec);
}

// --- Arange --------------------------------------------------------------------------------------

static const sc_iarg int_zero = {.kind = SC_IARG_INT},
                     int_one = {.kind = SC_IARG_INT, .dim = {1, NULL}};

// ceil((end - start) / step), exact on integers.
static sc_status count_steps(sc_infer *in, const sc_iarg *start, const sc_iarg *end,
                             const sc_iarg *step, sc_dim *out) {
    bool floats =
        start->kind == SC_IARG_FLOAT || end->kind == SC_IARG_FLOAT || step->kind == SC_IARG_FLOAT;
    int64_t by = 0;
    if (floats) {
        const sc_iarg *all[3] = {start, end, step};
        for (uint32_t i = 0; i < 3; i++)
            if (sc_rule_is_int(all[i])) SC_TRY(sc_rule_int(in, all[i], "the range", &by));
        double count = ceil((sc_rule_number(end) - sc_rule_number(start)) / sc_rule_number(step));
        if (!(count >= 0) || count > 0x1p53)
            return sc_rule_fail(in, SC_ERR_ARGUMENT, "%s cannot go from %g to %g in steps of %g",
                                in->op->name, sc_rule_number(start), sc_rule_number(end),
                                sc_rule_number(step));
        *out = sc_dim_int((int64_t)count);
        return SC_OK;
    }
    SC_TRY(sc_rule_int(in, step, "the step", &by));
    sc_dim span = sc_dim_sub(in->exprs, sc_rule_item_dim(end), sc_rule_item_dim(start));
    if (by < 0) span = sc_dim_neg(in->exprs, span);
    if (by == 0 || by == INT64_MIN || sc_rule_less(span, sc_dim_int(0), false))
        return sc_rule_fail(in, SC_ERR_ARGUMENT, "%s: the step leads away from the end",
                            in->op->name);
    sc_dim size = sc_dim_int(by < 0 ? -by : by);
    *out = sc_rule_ceildiv(in, span, size);
    return SC_OK;
}

// A start of 0 and a step of 1, unless the call says otherwise.
sc_status sc_infer_arange(sc_infer *in) {
    const sc_iarg *start = sc_rule_arg(in, "start"), *end = sc_rule_arg(in, "end"),
                  *step = sc_rule_arg(in, "step");
    if (start->kind == SC_IARG_NONE) start = &int_zero;
    if (step->kind == SC_IARG_NONE) step = &int_one;
    bool floats =
        start->kind == SC_IARG_FLOAT || end->kind == SC_IARG_FLOAT || step->kind == SC_IARG_FLOAT;
    sc_spec spec =
        sc_rule_new(in, sc_rule_dtype(in, "dtype", floats ? SC_DTYPE_F32 : SC_DTYPE_I64), 1);
    SC_TRY(count_steps(in, start, end, step, &spec.sizes[0]));
    return sc_rule_publish_contiguous(in, spec);
}

sc_status sc_infer_no_results(sc_infer *in) {
    sc_infer_outs(in, 0);
    return SC_OK;
}
