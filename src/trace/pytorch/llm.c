// Expansions of the operators for language models that write caches. Their writes become values, so
// that readers of a cache depend on them.
#include "trace/expand.h"
#include "trace/words/calls.h"

// The official kernels leave this result as it is, and no program reads it.
static sc_x placeholder(sc_trace *t, sc_x value) {
    const sc_dim one = sc_dim_int(1);
    return CALL(t, new_zeros, value, sc_x_dims(t, &one, 1));
}

// (value, cache, start_pos)
sc_x sc_expand_update_cache(sc_trace *t, const sc_x *a) {
    sc_trace_assign(t, a[1], CALL(t, sconce_update_cache, a[0], a[1], a[2]));
    return placeholder(t, a[0]);
}

// (value, cache, start_pos, indices)
sc_x sc_expand_update_cache_with_indices(sc_trace *t, const sc_x *a) {
    sc_trace_assign(t, a[1], CALL(t, sconce_update_cache_with_indices, a[0], a[1], a[2], a[3]));
    return placeholder(t, a[0]);
}

// (query, key, value, key_cache, value_cache, start_pos, seq_len, attn_mask, drpout_p, is_causal,
// scale)
sc_x sc_expand_sdpa_with_kv_cache(sc_trace *t, const sc_x *a) {
    sc_trace_assign(t, a[3], CALL(t, sconce_update_cache, a[1], a[3], a[5]));
    sc_trace_assign(t, a[4], CALL(t, sconce_update_cache, a[2], a[4], a[5]));
    return CALL(t, llama_custom_sdpa, a[0], a[3], a[4], a[5], a[7], a[8], a[9], a[10]);
}
