// Reductions and scans along one dim that return positions or keep every step: argmax, max.dim,
// cumsum, cumprod, cummax, logcumsumexp. NaN counts as the extreme. The first of equals wins in a
// reduction, the last in a running extreme, as in PyTorch.
#include "kernels/reduce.h"

#include <math.h>

#include "base/parallel.h"

typedef struct along {
    sc_reduction reduction;
    sc_class class_;  // I64, F32 as F64, or F64: doubles hold every float
    sc_load_fn load;
    const sc_tensor *values, *indices;  // results; either may be NULL
    bool largest;
    int64_t step;  // scans: of the result along the dim, in elements
    int kind;      // scans: which
} along;

static char *element_of(const sc_tensor *t, int64_t offset) {
    return (char *)t->data + offset * sc_dtype_bytes((sc_dtype)t->dtype);
}

static void put_value(const along *a, const sc_tensor *t, int64_t offset, double real,
                      int64_t integer) {
    sc_put_number(element_of(t, offset), t->dtype, real, integer, a->class_ == SC_CLASS_F64);
}

static void put_index(const sc_tensor *t, int64_t offset, int64_t index) {
    sc_put_number(element_of(t, offset), t->dtype, 0, index, false);
}

static bool beats_real(const along *a, double x, double best) {
    if (best != best) return false;
    return x != x || (a->largest ? x > best : x < best);
}

static void extreme_position(void *user, sc_stream *elements, int64_t out_offset) {
    const along *a = user;
    union {
        double real[SC_BLOCK];
        int64_t integer[SC_BLOCK];
    } block;
    double best = 0.0;
    int64_t best_integer = 0, best_index = -1, index = 0;
    for (int64_t left = a->reduction.count; left > 0; left -= SC_BLOCK) {
        int64_t n = sc_min_i64(left, SC_BLOCK);
        sc_stream_load(elements, a->load, &block, 8, n);
        for (int64_t i = 0; i < n; i++, index++) {
            bool wins = best_index < 0;
            if (!wins && a->class_ == SC_CLASS_F64)
                wins = beats_real(a, block.real[i], best);
            else if (!wins)
                wins =
                    a->largest ? block.integer[i] > best_integer : block.integer[i] < best_integer;
            if (wins) {
                best = block.real[i];
                best_integer = block.integer[i];
                best_index = index;
            }
        }
    }
    if (a->values) put_value(a, a->values, out_offset, best, best_integer);
    put_index(a->indices, out_offset, best_index);
}

static sc_status choose_class(const sc_kernel_call *call, along *a, unsigned dtype,
                              unsigned compute_dtype) {
    sc_class class_ = sc_class_of(compute_dtype);
    a->class_ = class_ == SC_CLASS_F32 || class_ == SC_CLASS_F64 ? SC_CLASS_F64 : SC_CLASS_I64;
    a->load = sc_loader(a->class_, dtype);
    if (class_ == SC_CLASS_COUNT || !a->load) return sc_call_no_kernel(call);
    return SC_OK;
}

static sc_status layouts_differ(const sc_kernel_call *call) {
    return sc_call_fail(call, SC_ERR_SHAPE, "values and indices differ in layout");
}

static sc_status find_extreme(const sc_kernel_call *call, uint32_t mask, bool largest,
                              const sc_tensor *values, const sc_tensor *indices) {
    const sc_tensor *self = sc_call_tensor(call, 0);
    along a = {.values = values, .indices = indices, .largest = largest};
    SC_TRY(choose_class(call, &a, self->dtype, self->dtype));
    if (indices->dtype != SC_DTYPE_I64 || (values && values->dtype != self->dtype))
        return sc_call_no_kernel(call);
    if (values && !sc_same_layout(values, indices)) return layouts_differ(call);
    SC_TRY(sc_reduction_init(call->ctx, &a.reduction, self, indices, mask, SC_REDUCE_INDEX));
    if (a.reduction.count == 0 && a.reduction.out_count > 0)
        return sc_call_fail_hint(call, SC_ERR_ARGUMENT, "Check that the input is not empty.",
                                 "takes at least one element");
    sc_reduction_share(&a.reduction, SC_COST_CONVERT, extreme_position, &a);
    return SC_OK;
}

static sc_status find_arg(const sc_kernel_call *call) {
    const bool largest = call->kernel->param;
    uint32_t mask = sc_call_dim_mask(call, 1, sc_call_tensor(call, 0)->rank);
    return find_extreme(call, mask, largest, NULL, sc_call_out(call));
}

static sc_status find_pair(const sc_kernel_call *call) {
    const bool largest = call->kernel->param;
    uint32_t mask = sc_call_dim_mask(call, 1, sc_call_tensor(call, 0)->rank);
    return find_extreme(call, mask, largest, sc_call_tensor(call, call->arg_count - 2),
                        sc_call_out(call));
}

// --- Scans ---------------------------------------------------------------------------------------

enum { SCAN_SUM, SCAN_PRODUCT, SCAN_LOG_SUM_EXP };

static double log_add(double a, double b) {
    if (a != a || b != b) return NAN;
    double high = a > b ? a : b, low = a > b ? b : a;
    return high == low && isinf(high) ? high : high + log1p(exp(low - high));
}

static void scan_position(void *user, sc_stream *elements, int64_t out_offset) {
    const along *a = user;
    sc_store_fn store = sc_storer(a->class_, a->values->dtype);
    union {
        double real[SC_BLOCK];
        int64_t integer[SC_BLOCK];
    } block;
    double real = a->kind == SCAN_PRODUCT ? 1.0 : a->kind == SCAN_SUM ? 0.0 : -INFINITY;
    uint64_t integer = a->kind == SCAN_PRODUCT;
    for (int64_t left = a->reduction.count; left > 0; left -= SC_BLOCK) {
        int64_t n = sc_min_i64(left, SC_BLOCK);
        sc_stream_load(elements, a->load, &block, 8, n);
        for (int64_t i = 0; i < n; i++) {
            if (a->class_ == SC_CLASS_I64) {
                uint64_t x = (uint64_t)block.integer[i];
                integer = a->kind == SCAN_SUM ? integer + x : integer * x;
                block.integer[i] = (int64_t)integer;
                continue;
            }
            double x = block.real[i];
            real = a->kind == SCAN_SUM       ? real + x
                   : a->kind == SCAN_PRODUCT ? real * x
                                             : log_add(real, x);
            block.real[i] = real;
        }
        store(element_of(a->values, out_offset), a->step, &block, n);
        out_offset += n * a->step;
    }
}

static sc_status need_same_sizes(const sc_kernel_call *call, const sc_tensor *self,
                                 const sc_tensor *out) {
    if (sc_same_sizes(self, out)) return SC_OK;
    return sc_call_fail(call, SC_ERR_SHAPE, "needs a result of its input's sizes");
}

static sc_status scan(const sc_kernel_call *call) {
    const int kind = call->kernel->param;
    const sc_tensor *self = sc_call_tensor(call, 0), *out = sc_call_out(call);
    along a = {.values = out, .kind = kind};
    uint32_t dim = sc_call_dim(call, 1, self->rank);
    if (kind == SCAN_LOG_SUM_EXP && !sc_dtype_is_float((sc_dtype)out->dtype))
        return sc_call_no_kernel(call);
    SC_TRY(choose_class(call, &a, self->dtype, out->dtype));
    SC_TRY(sc_reduction_init_along(call->ctx, &a.reduction, self, out, dim));
    SC_TRY(need_same_sizes(call, self, out));
    a.step = out->rank > 0 ? out->strides[dim] : 1;
    sc_reduction_share(&a.reduction, SC_COST_FUNCTION, scan_position, &a);
    return SC_OK;
}

static void running_extreme_position(void *user, sc_stream *elements, int64_t out_offset) {
    const along *a = user;
    double best = 0.0;
    int64_t best_integer = 0, best_index = 0;
    for (int64_t i = 0; i < a->reduction.count; i++) {
        double real = 0.0;
        int64_t integer = 0;
        sc_stream_load(elements, a->load, a->class_ == SC_CLASS_F64 ? (void *)&real : &integer, 8,
                       1);
        bool wins = i == 0;
        if (a->class_ == SC_CLASS_F64)
            wins = wins || real != real ||
                   (best == best && (a->largest ? real >= best : real <= best));
        else
            wins = wins || (a->largest ? integer >= best_integer : integer <= best_integer);
        if (wins) {
            best = real;
            best_integer = integer;
            best_index = i;
        }
        put_value(a, a->values, out_offset + i * a->step, best, best_integer);
        put_index(a->indices, out_offset + i * a->step, best_index);
    }
}

static sc_status running_extreme(const sc_kernel_call *call) {
    const bool largest = call->kernel->param;
    const sc_tensor *self = sc_call_tensor(call, 0);
    const sc_tensor *values = sc_call_tensor(call, 2), *indices = sc_call_tensor(call, 3);
    along a = {.values = values, .indices = indices, .largest = largest};
    uint32_t dim = sc_call_dim(call, 1, self->rank);
    SC_TRY(choose_class(call, &a, self->dtype, self->dtype));
    if (indices->dtype != SC_DTYPE_I64 || values->dtype != self->dtype)
        return sc_call_no_kernel(call);
    if (!sc_same_layout(values, indices)) return layouts_differ(call);
    SC_TRY(need_same_sizes(call, self, values));
    SC_TRY(sc_reduction_init_along(call->ctx, &a.reduction, self, values, dim));
    a.step = values->rank > 0 ? values->strides[dim] : 1;
    sc_reduction_share(&a.reduction, 2 * SC_COST_FUNCTION, running_extreme_position, &a);
    return SC_OK;
}

SC_KERNEL(argmax, .run = find_arg, .param = true);
SC_KERNEL(argmin, .run = find_arg, .param = false);
SC_KERNEL(max_dim, .run = find_pair, .param = true);
SC_KERNEL(min_dim, .run = find_pair, .param = false);
SC_KERNEL(cumsum, .run = scan, .param = SCAN_SUM);
SC_KERNEL(cumprod, .run = scan, .param = SCAN_PRODUCT);
SC_KERNEL(logcumsumexp, .run = scan, .param = SCAN_LOG_SUM_EXP);
SC_KERNEL(cummax, .run = running_extreme, .param = true);
SC_KERNEL(cummin, .run = running_extreme, .param = false);
