// The difference of two values of one kind, and its limit. Results of float arithmetic depend on
// the order of sums, so the limit depends on the precision and the largest magnitude. Quantized
// values may be a step further apart (quantization_steps.c).
#include "api/verify/compare.h"

#include <math.h>

#include "api/compiling.h"
#include "kernels/convert.h"

// More than a step, because results are computed in floats.
static const double MARGIN = 1.01;

static double tolerance_of(sc_dtype dtype) {
    switch (dtype) {
    case SC_DTYPE_F64: return 1e-9;
    case SC_DTYPE_F32: return 1e-3;
    case SC_DTYPE_F16: return 1e-2;
    case SC_DTYPE_BF16: return 5e-2;
    default: return 0;
    }
}

// The findings while values are compared. Ranges of quantized values contain zero.
typedef struct comparing {
    sc_closeness *c;
    double low, high;
} comparing;

static void note(comparing *all, double right, double found) {
    sc_closeness *c = all->c;
    const double difference = fabs(right - found);
    bool is_same = right == found || (isnan(right) && isnan(found));
    if (isfinite(right)) {
        c->largest = fmax(c->largest, fabs(right));
        all->low = fmin(all->low, right);
        all->high = fmax(all->high, right);
    }
    if (is_same) return;
    c->difference = isfinite(difference) ? fmax(c->difference, difference) : INFINITY;
}

// If scales are computed at run time, an input that is one step off moves the result by about two
// steps.
static double step_of(const comparing *all, sc_dtype dtype, sc_quantization_steps quantum) {
    if (dtype == SC_DTYPE_I8 || dtype == SC_DTYPE_U8) return quantum.times;
    if (!sc_dtype_is_float(dtype)) return 0;
    return MARGIN * fmax(quantum.times * quantum.step, 2 * (all->high - all->low) / 255);
}

static void judge(const comparing *all, sc_dtype dtype, sc_quantization_steps quantum) {
    sc_closeness *c = all->c;
    c->tolerance = tolerance_of(dtype) * fmax(1, c->largest);
    if (quantum.times) c->tolerance += step_of(all, dtype, quantum);
    c->is_close = c->difference <= c->tolerance;
}

static sc_status compare_tensors(sc_ctx *ctx, const sc_tensor *right, const sc_tensor *found,
                                 comparing *all) {
    const sc_load_fn load = sc_loader(SC_CLASS_F64, right->dtype);
    const size_t bytes = (size_t)right->numel * sc_dtype_bytes((sc_dtype)right->dtype);
    if (!load)
        return sc_fail(ctx, SC_ERR_DTYPE, NULL, "tensors of %s cannot be compared",
                       sc_dtype_name((sc_dtype)right->dtype));
    uint8_t *a = sc_try_alloc(bytes + 1), *b = sc_try_alloc(bytes + 1);
    if (a && b) {
        sc_rt_tensor_read(right, a, bytes);
        sc_rt_tensor_read(found, b, bytes);
        for (size_t at = 0; at < bytes; at += sc_dtype_bytes((sc_dtype)right->dtype)) {
            double x = 0, y = 0;
            load(&x, a + at, 1, 1);
            load(&y, b + at, 1, 1);
            note(all, x, y);
        }
    }
    const bool has_memory = a && b;
    sc_free(a);
    sc_free(b);
    return has_memory ? SC_OK : sc_fail(ctx, SC_ERR_MEMORY, NULL, "no memory to compare results");
}

static bool are_alike(const sc_evalue *a, const sc_evalue *b) {
    if (a->tag != b->tag) return false;
    if (a->tag == SC_EVALUE_STRING) return sc_str_equal(a->str, b->str);
    if (a->tag != SC_EVALUE_TENSOR) return true;
    const sc_tensor *x = a->tensor, *y = b->tensor;
    return x->dtype == y->dtype && x->rank == y->rank &&
           memcmp(x->sizes, y->sizes, x->rank * sizeof *x->sizes) == 0;
}

sc_status sc_compare_values(sc_ctx *ctx, const sc_evalue *right, const sc_evalue *found,
                            sc_quantization_steps quantum, sc_closeness *out) {
    comparing all = {.c = out};
    sc_dtype dtype = SC_DTYPE_I64;
    *out = (sc_closeness){0};
    if (!are_alike(right, found)) {
        out->is_other = true;
        out->difference = INFINITY;
        return SC_OK;
    }
    switch ((sc_evalue_tag)right->tag) {
    case SC_EVALUE_NONE:
    case SC_EVALUE_STRING: break;
    case SC_EVALUE_INT: note(&all, (double)right->i, (double)found->i); break;
    case SC_EVALUE_BOOL: note(&all, right->b, found->b); break;
    case SC_EVALUE_DOUBLE:
        note(&all, right->d, found->d);
        dtype = SC_DTYPE_F32;
        break;
    case SC_EVALUE_TENSOR:
        SC_TRY(compare_tensors(ctx, right->tensor, found->tensor, &all));
        dtype = (sc_dtype)right->tensor->dtype;
        break;
    default:
        return sc_fail(ctx, SC_ERR_UNSUPPORTED, NULL, "results that are lists are not compared");
    }
    judge(&all, dtype, quantum);
    return SC_OK;
}
