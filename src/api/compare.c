// How far two values of one kind are apart, and how far they may be: results of float arithmetic
// depend on the order of sums, so what is allowed goes by the precision and the largest magnitude.
#include <math.h>

#include "api/job.h"
#include "kernels/convert.h"

static double tolerance_of(sc_dtype dtype) {
    switch (dtype) {
    case SC_DTYPE_F64: return 1e-9;
    case SC_DTYPE_F32: return 1e-3;
    case SC_DTYPE_F16: return 1e-2;
    case SC_DTYPE_BF16: return 5e-2;
    default: return 0;
    }
}

static void note(sc_closeness *c, double right, double found) {
    const double difference = fabs(right - found);
    bool is_same = right == found || (isnan(right) && isnan(found));
    if (isfinite(right)) c->largest = fmax(c->largest, fabs(right));
    if (is_same) return;
    c->difference = isfinite(difference) ? fmax(c->difference, difference) : INFINITY;
}

static void judge(sc_closeness *c, double tolerance) {
    c->tolerance = tolerance * fmax(1, c->largest);
    c->is_close = c->difference <= c->tolerance;
}

static sc_status compare_tensors(sc_ctx *ctx, const sc_tensor *right, const sc_tensor *found,
                                 sc_closeness *out) {
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
            note(out, x, y);
        }
        judge(out, tolerance_of((sc_dtype)right->dtype));
    }
    const bool has_memory = a && b;
    sc_free(a);
    sc_free(b);
    return has_memory ? SC_OK : sc_fail(ctx, SC_ERR_MEMORY, NULL, "no memory to compare results");
}

static bool are_alike(const sc_tensor *a, const sc_tensor *b) {
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->sizes, b->sizes, a->rank * sizeof *a->sizes) == 0;
}

sc_status sc_compare_values(sc_ctx *ctx, const sc_evalue *right, const sc_evalue *found,
                            sc_closeness *out) {
    *out = (sc_closeness){0};
    if (right->tag != found->tag ||
        (right->tag == SC_EVALUE_TENSOR && !are_alike(right->tensor, found->tensor)))
        return sc_fail(ctx, SC_ERR_SHAPE, "Report this with the file: it is a defect.",
                       "a result has another kind, dtype or shape than without delegates");
    switch ((sc_evalue_tag)right->tag) {
    case SC_EVALUE_TENSOR: return compare_tensors(ctx, right->tensor, found->tensor, out);
    case SC_EVALUE_INT: note(out, (double)right->i, (double)found->i); break;
    case SC_EVALUE_BOOL: note(out, right->b, found->b); break;
    case SC_EVALUE_DOUBLE: note(out, right->d, found->d); break;
    default: break;
    }
    judge(out, right->tag == SC_EVALUE_DOUBLE ? tolerance_of(SC_DTYPE_F32) : 0);
    return SC_OK;
}
