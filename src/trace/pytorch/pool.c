// Adaptive pooling to a size of 1, which is a mean.
#include "trace/expand.h"
#include "trace/words/arithmetic.h"
#include "trace/words/calls.h"

static bool all_ones(sc_x list) {
    for (uint32_t i = 0; i < list->count; i++)
        if (sc_x_number(list->items[i], 0) != 1) return false;
    return list->kind == SC_X_LIST;
}

// 1 x 1 is a mean; a channels-last input keeps its layout by its strides.
sc_x sc_expand_adaptive_avg_pool2d(sc_trace *t, const sc_x *a) {
    sc_x x = a[0];
    if (!all_ones(a[1])) return CALL(t, _adaptive_avg_pool2d, x, a[1]);
    sc_x out = CALL(t, mean_dim, x, X_INTS(t, -1, -2), X_TRUE);
    if (sc_spec_suggested_format(t->exprs, sc_x_spec(x)) != SC_MEMORY_FORMAT_CHANNELS_LAST)
        return out;
    sc_dim n = sc_x_size(x, 0), c = sc_x_size(x, 1), one = sc_dim_int(1);
    sc_dim sizes[4] = {n, c, one, one}, strides[4] = {c, one, c, c};
    return CALL(t, as_strided, out, sc_x_dims(t, sizes, 4), sc_x_dims(t, strides, 4));
}

sc_x sc_expand_adaptive_avg_pool3d(sc_trace *t, const sc_x *a) {
    if (!all_ones(a[1])) return CALL(t, _adaptive_avg_pool3d, a[0], a[1]);
    return CALL(t, mean_dim, a[0], X_INTS(t, -1, -2, -3), X_TRUE);
}
