// Results, limits and refusals that the expansions for the official runtime share.
#include "trace/official/official.h"

#define LARGEST_MAX (INT64_C(1) << 48)  // no memory holds more

sc_dtype sc_official_result_dtype(const sc_trace *t) {
    return (sc_dtype)t->source->outs[0]->spec.dtype;
}

sc_x sc_official_rounded(sc_trace *t, sc_x x) { return sc_f_to(t, x, sc_official_result_dtype(t)); }

bool sc_official_wants(const sc_trace *t, uint32_t result) {
    return result < t->source->out_count && t->source->outs[result]->use_count > 0;
}

int64_t sc_official_size_max(sc_trace *t, sc_dim n) {
    const int64_t most = sc_dim_range(n).max;
    if (most > LARGEST_MAX) sc_official_refuse(t);
    return t->status == SC_OK ? most : 0;
}

sc_x sc_official_refuse(sc_trace *t) {
    return sc_trace_fail(t, SC_ERR_UNSUPPORTED, NULL, "this call has no expansion");
}

sc_x sc_official_beyond(sc_trace *t, sc_limit limit) {
    if (t->status == SC_OK) *(sc_limit *)t->client = limit;
    return sc_official_refuse(t);
}

int64_t sc_official_known(sc_trace *t, sc_dim size, sc_limit limit) {
    if (!size.expr) return sc_x_small(t, sc_x_dim(t, size), 0);
    sc_official_beyond(t, limit);
    return 0;
}
