// Reductions to one number: sum, mean, prod, amax, amin, any, var. Runs are folded in the element's
// class, eight lanes at a time, and run results in double, so long f32 sums keep their digits. When
// the kept dim is the contiguous one, columns are folded side by side instead.
// In wasm: -O3
#include "kernels/reduce.h"

#include <math.h>

#include "base/parallel.h"

#define T           float
#define A           double
#define FN(name)    f32_##name
#define PLUS(a, b)  ((a) + (b))
#define TIMES(a, b) ((a) * (b))
#define IS_NAN(x)   ((x) != (x))
#define LOWEST      (-INFINITY)
#define HIGHEST     INFINITY
#include "kernels/reduce.inc"
#undef T
#undef FN
#define T        double
#define FN(name) f64_##name
#include "kernels/reduce.inc"
#undef T
#undef A
#undef FN
#undef PLUS
#undef TIMES
#undef IS_NAN
#undef LOWEST
#undef HIGHEST
#define T           int64_t
#define A           int64_t
#define FN(name)    i64_##name
#define PLUS(a, b)  ((uint64_t)(a) + (uint64_t)(b))
#define TIMES(a, b) ((uint64_t)(a) * (uint64_t)(b))
#define IS_NAN(x)   false
#define LOWEST      INT64_MIN
#define HIGHEST     INT64_MAX
#include "kernels/reduce.inc"

typedef void (*fold_fn)(void *acc, const void *block, int64_t n);

typedef union accumulator {
    double real;
    int64_t integer;
} accumulator;

typedef struct fold_op {
    fold_fn block[SC_CLASS_COUNT];
    fold_fn rows[SC_CLASS_COUNT];
    double start_real;
    int64_t start_integer;
} fold_op;

#define FOLD(name, real, integer)                                              \
    static const fold_op fold_##name = {{[SC_CLASS_F32] = f32_##name##_block,  \
                                         [SC_CLASS_F64] = f64_##name##_block,  \
                                         [SC_CLASS_I64] = i64_##name##_block}, \
                                        {[SC_CLASS_F32] = f32_##name##_rows,   \
                                         [SC_CLASS_F64] = f64_##name##_rows,   \
                                         [SC_CLASS_I64] = i64_##name##_rows},  \
                                        real,                                  \
                                        integer};
FOLD(sum, 0.0, 0)
FOLD(prod, 1.0, 1)
FOLD(max, -INFINITY, INT64_MIN)
FOLD(min, INFINITY, INT64_MAX)

#define COLUMNS 64
// A run in the element's class stays short enough for f32 to hold its sum well.
#define RUN     512

typedef struct folding {
    const fold_op *op;
    sc_class class_;
    bool is_native;
    sc_load_fn load;
    sc_store_fn store;  // from double or int64
    sc_tensor *out;
    uint32_t out_width;
    double divide_by;  // 1 unless a mean
    const sc_reduction *reduction;
} folding;

static accumulator fold_start(const folding *f) {
    accumulator acc;
    if (f->class_ == SC_CLASS_I64)
        acc.integer = f->op->start_integer;
    else
        acc.real = f->op->start_real;
    return acc;
}

static void fold_finish(const folding *f, accumulator *acc, int64_t n, int64_t out_offset,
                        int64_t out_stride) {
    for (int64_t i = 0; i < n && f->class_ != SC_CLASS_I64 && f->divide_by != 1.0; i++)
        acc[i].real /= f->divide_by;
    f->store((char *)f->out->data + out_offset * f->out_width, out_stride, acc, n);
}

static void fold_position(void *user, sc_stream *elements, int64_t out_offset) {
    const folding *f = user;
    accumulator acc = fold_start(f);
    double block[SC_BLOCK];
    for (int64_t left = f->reduction->count; left > 0;) {
        char *data;
        int64_t stride;
        if (f->is_native && elements->strides[elements->rank - 1] == 1) {
            int64_t n = sc_stream_run(elements, sc_min_i64(left, RUN), &data, &stride);
            f->op->block[f->class_](&acc, data, n);
            left -= n;
            continue;
        }
        int64_t n = sc_min_i64(left, SC_BLOCK);
        sc_stream_load(elements, f->load, block, sc_class_bytes(f->class_), n);
        f->op->block[f->class_](&acc, block, n);
        left -= n;
    }
    fold_finish(f, &acc, 1, out_offset, 1);
}

// Folds columns: neighbours of the innermost kept dim, which are adjacent in memory.
static void fold_columns(void *user, sc_stream *elements, int64_t out_offset, int64_t n) {
    const folding *f = user;
    const sc_reduction *r = f->reduction;
    accumulator acc[COLUMNS];
    for (int64_t k = 0; k < n; k++) acc[k] = fold_start(f);
    for (int64_t left = r->count; left > 0; left--) {
        char *data;
        int64_t stride;
        double block[COLUMNS];
        sc_stream_run(elements, 1, &data, &stride);
        if (!f->is_native) f->load(block, data, 1, n);
        f->op->rows[f->class_](acc, f->is_native ? (void *)data : (void *)block, n);
    }
    fold_finish(f, acc, n, out_offset, r->out_strides[r->rank - 1]);
}

static bool prefers_columns(const sc_reduction *r) {
    return r->rank > 0 && r->in_strides[r->rank - 1] == 1 && r->sizes[r->rank - 1] >= 4 &&
           r->count > 1 && r->reduced.strides[r->reduced.rank - 1] != 1;
}

// Folds into out 0 of the call in the class that `dtype` computes in.
static sc_status fold_dims(const sc_kernel_call *call, const fold_op *op, unsigned dtype,
                           uint32_t mask, bool is_mean) {
    const sc_tensor *self = sc_call_tensor(call, 0);
    folding f;
    sc_reduction r;
    f.op = op;
    f.out = sc_call_out(call);
    f.class_ = sc_class_of(dtype);
    if (f.class_ == SC_CLASS_I32 || f.class_ == SC_CLASS_B8) f.class_ = SC_CLASS_I64;
    f.load = sc_loader(f.class_, self->dtype);
    f.store = sc_storer(f.class_ == SC_CLASS_I64 ? SC_CLASS_I64 : SC_CLASS_F64, f.out->dtype);
    if (f.class_ == SC_CLASS_COUNT || !f.load || !f.store) return sc_call_no_kernel(call);
    f.is_native = sc_class_is_native(f.class_, self->dtype);
    f.out_width = sc_dtype_bytes((sc_dtype)f.out->dtype);
    SC_TRY(sc_reduction_init(call->ctx, &r, self, f.out, mask, SC_REDUCE_MEMORY));
    f.reduction = &r;
    f.divide_by = is_mean ? (double)r.count : 1.0;
    const double cost = f.is_native ? SC_COST_SUM : SC_COST_CONVERT;
    if (prefers_columns(&r))
        sc_reduction_share_runs(&r, COLUMNS, cost, fold_columns, &f);
    else
        sc_reduction_share(&r, cost, fold_position, &f);
    return SC_OK;
}

static sc_status run_sum(const sc_kernel_call *call) {
    uint32_t mask = sc_call_dim_mask(call, 1, sc_call_tensor(call, 0)->rank);
    return fold_dims(call, &fold_sum, sc_call_out(call)->dtype, mask, false);
}

// The dims of a reduction: those of argument 1, or all of them.
enum { LISTED_DIMS, ALL_DIMS };

static uint32_t all_dims(const sc_kernel_call *call) {
    return (1u << sc_call_tensor(call, 0)->rank) - 1;
}

static uint32_t dims_of(const sc_kernel_call *call) {
    return call->kernel->param == ALL_DIMS
               ? all_dims(call)
               : sc_call_dim_mask(call, 1, sc_call_tensor(call, 0)->rank);
}

static sc_status run_mean(const sc_kernel_call *call) {
    if (!sc_dtype_is_float((sc_dtype)sc_call_out(call)->dtype)) return sc_call_no_kernel(call);
    return fold_dims(call, &fold_sum, sc_call_out(call)->dtype, dims_of(call), true);
}

static sc_status run_prod(const sc_kernel_call *call) {
    return fold_dims(call, &fold_prod, sc_call_out(call)->dtype, dims_of(call), false);
}

static sc_status extreme(const sc_kernel_call *call, const fold_op *op) {
    const uint32_t mask = dims_of(call);
    const sc_tensor *self = sc_call_tensor(call, 0);
    bool empty = false;
    for (uint32_t d = 0; d < self->rank; d++)
        empty = empty || ((mask >> d & 1) && self->sizes[d] == 0);
    if (empty && sc_call_out(call)->numel > 0)
        return sc_call_fail_hint(call, SC_ERR_ARGUMENT, "Check that the input is not empty.",
                                 "takes at least one element");
    return fold_dims(call, op, self->dtype, mask, false);
}

static sc_status run_max(const sc_kernel_call *call) { return extreme(call, &fold_max); }

static sc_status run_min(const sc_kernel_call *call) { return extreme(call, &fold_min); }

// --- Any -----------------------------------------------------------------------------------------

// Bytes that are no truth values count too, as in the loader.
static uint8_t any_of_bytes(const uint8_t *bytes, int64_t n) {
    uint8_t some = 0;
    for (int64_t i = 0; i < n; i++) some |= bytes[i];
    return some != 0;
}

static void any_position(void *user, sc_stream *elements, int64_t out_offset) {
    const folding *f = user;
    uint8_t block[SC_BLOCK], found = 0;
    for (int64_t left = f->reduction->count, n; left > 0 && !found; left -= n) {
        char *data;
        int64_t stride;
        n = sc_stream_run(elements, sc_min_i64(left, SC_BLOCK), &data, &stride);
        const bool in_place = f->load == sc_loader(SC_CLASS_B8, SC_DTYPE_BOOL) && stride == 1;
        if (!in_place) f->load(block, data, stride, n);
        found = any_of_bytes(in_place ? (const uint8_t *)data : block, n);
    }
    f->store((char *)f->out->data + out_offset * f->out_width, 1, &found, 1);
}

static sc_status run_any(const sc_kernel_call *call) {
    const sc_tensor *self = sc_call_tensor(call, 0);
    folding f;
    sc_reduction r;
    memset(&f, 0, sizeof f);
    f.out = sc_call_out(call);
    f.out_width = sc_dtype_bytes((sc_dtype)f.out->dtype);
    f.load = sc_loader(SC_CLASS_B8, self->dtype);
    f.store = sc_storer(SC_CLASS_B8, f.out->dtype);
    f.reduction = &r;
    if (!f.load || !f.store) return sc_call_no_kernel(call);
    SC_TRY(sc_reduction_init(call->ctx, &r, self, f.out, dims_of(call), SC_REDUCE_MEMORY));
    sc_reduction_share(&r, SC_COST_CONVERT, any_position, &f);
    return SC_OK;
}

// --- Variance ------------------------------------------------------------------------------------

typedef struct variance {
    const sc_reduction *reduction;
    sc_load_fn load;        // to double
    sc_tensor *var, *mean;  // mean may be NULL
    double divide_by;
} variance;

static void put_real(const sc_tensor *out, int64_t offset, double value) {
    char *at = (char *)out->data + offset * sc_dtype_bytes((sc_dtype)out->dtype);
    sc_storer(SC_CLASS_F64, out->dtype)(at, 1, &value, 1);
}

// Takes two passes: the mean, then the squared deviations.
static void variance_position(void *user, sc_stream *elements, int64_t out_offset) {
    const variance *v = user;
    sc_stream again = *elements;
    double block[SC_BLOCK], sum = 0.0, squares = 0.0;
    int64_t count = v->reduction->count;
    for (int64_t left = count; left > 0; left -= SC_BLOCK) {
        int64_t n = sc_min_i64(left, SC_BLOCK);
        sc_stream_load(elements, v->load, block, sizeof *block, n);
        f64_sum_block(&sum, block, n);
    }
    double mean = sum / (double)count;
    for (int64_t left = count; left > 0; left -= SC_BLOCK) {
        int64_t n = sc_min_i64(left, SC_BLOCK);
        sc_stream_load(&again, v->load, block, sizeof *block, n);
        for (int64_t i = 0; i < n; i++) block[i] = (block[i] - mean) * (block[i] - mean);
        f64_sum_block(&squares, block, n);
    }
    put_real(v->var, out_offset, squares / v->divide_by);
    if (v->mean) put_real(v->mean, out_offset, mean);
}

static sc_status variance_over(const sc_kernel_call *call, uint32_t mask, double correction,
                               sc_tensor *var, sc_tensor *mean) {
    const sc_tensor *self = sc_call_tensor(call, 0);
    variance v = {.load = sc_loader(SC_CLASS_F64, self->dtype), .var = var, .mean = mean};
    sc_reduction r;
    if (!sc_dtype_is_float((sc_dtype)self->dtype) || !sc_dtype_is_float((sc_dtype)var->dtype) ||
        (mean && !sc_dtype_is_float((sc_dtype)mean->dtype)))
        return sc_call_no_kernel(call);
    if (mean && !sc_same_layout(mean, var))
        return sc_call_fail(call, SC_ERR_SHAPE, "variance and mean differ in layout");
    SC_TRY(sc_reduction_init(call->ctx, &r, self, var, mask, SC_REDUCE_MEMORY));
    v.reduction = &r;
    v.divide_by = fmax((double)r.count - correction, 0.0);
    sc_reduction_share(&r, 2 * SC_COST_CONVERT, variance_position, &v);
    return SC_OK;
}

static double correction_of(const sc_kernel_call *call) {
    return sc_call_is_none(call, 2) ? 1.0 : sc_call_number(call, 2);
}

static sc_status run_var(const sc_kernel_call *call) {
    double correction = sc_call_integer(call, 1) != 0 ? 1.0 : 0.0;
    return variance_over(call, all_dims(call), correction, sc_call_out(call), NULL);
}

static sc_status run_var_dim(const sc_kernel_call *call) {
    uint32_t mask = sc_call_dim_mask(call, 1, sc_call_tensor(call, 0)->rank);
    double correction = sc_call_integer(call, 2) != 0 ? 1.0 : 0.0;
    return variance_over(call, mask, correction, sc_call_out(call), NULL);
}

static sc_status run_var_correction(const sc_kernel_call *call) {
    uint32_t mask = sc_call_dim_mask(call, 1, sc_call_tensor(call, 0)->rank);
    return variance_over(call, mask, correction_of(call), sc_call_out(call), NULL);
}

static sc_status run_var_mean(const sc_kernel_call *call) {
    uint32_t mask = sc_call_dim_mask(call, 1, sc_call_tensor(call, 0)->rank);
    return variance_over(call, mask, correction_of(call), sc_call_tensor(call, call->arg_count - 2),
                         sc_call_out(call));
}

SC_KERNEL(sum, .run = run_sum, .layout = SC_LAYOUT_TAKES);
SC_KERNEL(mean, .run = run_mean, .param = ALL_DIMS);
SC_KERNEL(mean_dim, .run = run_mean, .layout = SC_LAYOUT_TAKES);
SC_KERNEL(prod, .run = run_prod, .param = ALL_DIMS);
SC_KERNEL(prod_dim, .run = run_prod);
SC_KERNEL(amax, .run = run_max);
SC_KERNEL(amin, .run = run_min);
SC_KERNEL(max, .run = run_max, .param = ALL_DIMS);
SC_KERNEL(min, .run = run_min, .param = ALL_DIMS);
SC_KERNEL(any, .run = run_any, .param = ALL_DIMS);
SC_KERNEL(any_dims, .run = run_any);
SC_KERNEL(var, .run = run_var);
SC_KERNEL(var_dim, .run = run_var_dim);
SC_KERNEL(var_correction, .run = run_var_correction);
SC_KERNEL(var_mean, .run = run_var_mean);
