// Expansions of histograms.
#include "trace/expand.h"
#include "trace/words/arithmetic.h"
#include "trace/words/calls.h"
#include "trace/words/choose.h"

#include <math.h>

typedef struct bounds {
    sc_x low, high;  // rank-0 tensors
} bounds;

// Without bounds those of the data, a unit apart on both sides where all of it is one value.
static bounds bounds_of_data(sc_trace *t, sc_x x) {
    sc_x all_dims = sc_x_ints(t, NULL, 0), one = sc_x_int(t, 1);
    sc_x low = CALL(t, amin, x, all_dims), high = CALL(t, amax, x, all_dims);
    sc_x single = CALL(t, eq_Tensor, low, high);
    low = sc_f_where(t, single, CALL(t, sub_Scalar, low, one), low);
    high = sc_f_where(t, single, CALL(t, add_Scalar, high, one), high);
    return (bounds){low, high};
}

static bool find_bounds(sc_trace *t, sc_x x, const sc_x *a, bounds *out) {
    double low = sc_x_real(a[2], NAN), high = sc_x_real(a[3], NAN);
    if (!isfinite(low) || !isfinite(high) || low > high) {
        sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "histc needs a finite range, but has %g to %g", low,
                      high);
        return false;
    }
    sc_dtype dtype = sc_x_dtype_of(x);
    if (low == high && !sc_dim_is(sc_x_numel(t, x), 0)) {
        *out = bounds_of_data(t, x);
        return true;
    }
    if (low == high) high = low + 1;
    out->low = sc_f_scalar(t, sc_x_float(t, low), dtype);
    out->high = sc_f_scalar(t, sc_x_float(t, high), dtype);
    return true;
}

// The bin of each element is found by the division that PyTorch makes, in its order; the last bin
// holds its right edge, too. Elements outside of all bins add 0 to the first.
sc_x sc_expand_histc(sc_trace *t, const sc_x *a) {
    sc_dtype dtype = sc_x_dtype_of(a[0]);
    int64_t bins = sc_x_small(t, a[1], 0);
    bounds range;
    if (bins <= 0 || !sc_x_is_float(a[0]))
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL,
                             "histc needs floating point numbers, and at least one bin");
    sc_x x = sc_f_to(t, sc_f_flat(t, a[0]), sc_f_opmath(dtype));
    if (!find_bounds(t, x, a, &range)) return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "no range");
    sc_x above = CALL(t, ge_Tensor, x, range.low);
    sc_x inside = sc_f_and(t, above, CALL(t, le_Tensor, x, range.high));
    sc_x width = sc_f_sub(t, range.high, range.low);
    sc_x place = CALL(t, mul_Scalar, sc_f_sub(t, x, range.low), sc_x_int(t, bins));
    place = sc_f_div(t, place, width);
    sc_x zero = sc_f_scalar_like(t, sc_x_int(t, 0), x);
    place = sc_f_where(t, inside, place, zero);
    place = sc_f_to(t, place, SC_DTYPE_I64);
    place = CALL(t, clamp, place, X_NONE, sc_x_int(t, bins - 1));
    sc_x counts = sc_f_zeros(t, X_INTS(t, bins), sc_x_dtype_of(x));
    sc_x ones = sc_f_to_dtype_of(t, inside, x);
    counts = CALL(t, scatter_add, counts, sc_x_int(t, 0), place, ones);
    return sc_f_to(t, counts, dtype);
}
