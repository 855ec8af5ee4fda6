// custom_sdpa and its relatives: attention over a cache. Halves and quantized numbers become floats
// block by block, while the attention reads them.
#include <math.h>

#include "compute/attention.h"
#include "kernels/cache.h"
#include "kernels/convert.h"

// --- Numbers that are no floats ------------------------------------------------------------------

typedef struct source {
    const sc_tensor *tensor;
    const sc_tensor *zeros, *scales;  // of quantized rows
    sc_load_fn load;
} source;

static const void *at(const sc_tensor *t, int64_t offset) {
    return (const uint8_t *)t->data + (size_t)offset * sc_dtype_bytes((sc_dtype)t->dtype);
}

static void read_halves(const sc_attention_matrix *m, int64_t offset, int64_t count, float *to) {
    const source *s = m->source;
    s->load(to, at(s->tensor, offset), m->column, count);
}

// Rows are dense, one after the other, and each has a zero point and a scale.
static void read_quantized(const sc_attention_matrix *m, int64_t offset, int64_t count, float *to) {
    const source *s = m->source;
    const int64_t row = count ? offset / count : 0;
    const int32_t zero = ((const int8_t *)s->zeros->data)[row];
    const float scale = ((const float *)s->scales->data)[row];
    const int8_t *from = (const int8_t *)s->tensor->data + offset;
    for (int64_t i = 0; i < count; i++) to[i] = (float)(from[i] - zero) * scale;
}

static void write_halves(const sc_attention *a, int64_t offset, const float *from) {
    const sc_tensor *out = a->sink;
    sc_storer(SC_CLASS_F32, out->dtype)((void *)(uintptr_t)at(out, offset), a->out_column, from,
                                        a->width);
}

static void round_all(float *weights, int64_t count, sc_dtype dtype) {
    uint16_t halves[64];
    for (int64_t i = 0; i < count; i += 64) {
        const int64_t n = sc_min_i64(64, count - i);
        sc_storer(SC_CLASS_F32, dtype)(halves, 1, weights + i, n);
        sc_loader(SC_CLASS_F32, dtype)(weights + i, halves, 1, n);
    }
}

// As the official kernel does it, so that results are its own.
static void round_f16(float *weights, int64_t count) { round_all(weights, count, SC_DTYPE_F16); }

static void round_bf16(float *weights, int64_t count) { round_all(weights, count, SC_DTYPE_BF16); }

// --- The call ------------------------------------------------------------------------------------

// The arguments of a call, wherever its operator has them.
typedef struct request {
    const sc_tensor *q, *k, *v, *mask;
    const sc_tensor *out;
    int64_t start;
    bool is_causal, is_late;  // is the sequence dimension 2, and not 1?
    double scale;
    source q_source, k_source, v_source;
} request;

static bool is_dense(const sc_tensor *t) { return sc_tensor_is_contiguous(t); }

static bool read_matrix(const sc_tensor *t, source *s, sc_attention_matrix *m) {
    s->tensor = t;
    m->source = s;
    if (s->zeros) {
        m->read = read_quantized;
        return t->dtype == SC_DTYPE_I8 && s->zeros->dtype == SC_DTYPE_I8 && s->scales &&
               s->scales->dtype == SC_DTYPE_F32 && is_dense(t) && is_dense(s->zeros) &&
               is_dense(s->scales);
    }
    m->data = t->data;
    if (t->dtype == SC_DTYPE_F32) return true;
    m->read = read_halves;
    s->load = sc_loader(SC_CLASS_F32, t->dtype);
    return sc_dtype_is_half((sc_dtype)t->dtype);
}

// Batches, heads of keys, and the heads of queries that share one of these.
static void set_items(const request *r, const sc_tensor *t, bool is_shared,
                      sc_attention_items *items) {
    const uint32_t heads = r->is_late ? 1 : 2;
    const int64_t head = t->strides[heads], kept = r->k->sizes[heads];
    const int64_t share = kept ? r->q->sizes[heads] / kept : 1;
    *items = (sc_attention_items){
        .count = 3,
        .sizes = {r->q->sizes[0], kept, share},
        .steps = {t->strides[0], is_shared ? head : head * share, is_shared ? 0 : head}};
}

static void set_steps(const request *r, const sc_tensor *t, int64_t *row, int64_t *column) {
    *row = t->strides[r->is_late ? 2 : 1];
    *column = t->sizes[3] == 1 ? 1 : t->strides[3];
}

static void add_mask(const request *r, sc_attention *a) {
    a->mask.data = r->mask->data;
    a->mask.items = (sc_attention_items){.count = 1, .sizes = {a->items}};
    a->mask.row = r->mask->strides[0];
    a->mask.column = r->mask->strides[1];
}

static bool has_mask(const request *r) { return r->mask && r->mask->numel > 0; }

// `keys`: how many are read.
static bool describe(request *r, int64_t keys, sc_attention *a) {
    const uint32_t sequence = r->is_late ? 2 : 1, heads = r->is_late ? 1 : 2;
    const int64_t depth = r->q->sizes[3];
    *a = (sc_attention){.items = r->q->sizes[0] * r->q->sizes[heads],
                        .queries = r->q->sizes[sequence],
                        .keys = keys,
                        .depth = depth,
                        .width = depth,
                        .seen = r->is_causal && !has_mask(r) ? r->start + 1 : 0};
    a->scale = (float)r->scale;
    // Quantized operands give floats; all others have one dtype.
    const unsigned result = r->q_source.zeros ? SC_DTYPE_F32 : r->q->dtype;
    if (r->k->dtype != r->q->dtype || r->v->dtype != r->q->dtype || r->out->dtype != result ||
        (r->mask && r->mask->dtype != SC_DTYPE_F32))
        return false;
    if (!read_matrix(r->q, &r->q_source, &a->q) || !read_matrix(r->k, &r->k_source, &a->k) ||
        !read_matrix(r->v, &r->v_source, &a->v))
        return false;
    set_items(r, r->q, false, &a->q.items);
    set_items(r, r->k, true, &a->k.items);
    set_items(r, r->v, true, &a->v.items);
    set_items(r, r->out, false, &a->out_items);
    set_steps(r, r->q, &a->q.row, &a->q.column);
    set_steps(r, r->k, &a->k.row, &a->k.column);
    set_steps(r, r->v, &a->v.row, &a->v.column);
    set_steps(r, r->out, &a->out_row, &a->out_column);
    if (has_mask(r)) add_mask(r, a);
    if (r->out->dtype == SC_DTYPE_F32) {
        a->out = r->out->data;
    } else {
        a->sink = r->out;
        a->round = r->out->dtype == SC_DTYPE_F16 ? round_f16 : round_bf16;
        a->write = write_halves;
    }
    return true;
}

static sc_status run(const sc_kernel_call *call, request *r) {
    const uint32_t sequence = r->is_late ? 2 : 1;
    const int64_t queries = r->q->sizes[sequence], room = r->k->sizes[sequence];
    sc_attention a;
    if (has_mask(r) && r->is_causal)
        return sc_call_fail(call, SC_ERR_ARGUMENT, "takes a mask or is_causal, not both");
    if (!has_mask(r) && (r->start < 0 || queries > room || r->start > room - queries))
        return sc_call_fail(call, SC_ERR_INDEX,
                            "%lld queries from position %lld on need more than "
                            "the %lld keys that there are",
                            (long long)queries, (long long)r->start, (long long)room);
    if (!describe(r, has_mask(r) ? room : r->start + queries, &a)) return sc_call_no_kernel(call);
    if (sc_attention_scratch_bytes(&a) > call->scratch_bytes) return sc_call_starved(call);
    sc_attention_run(&a, call->scratch);
    return SC_OK;
}

static uint64_t scratch(request *r) {
    sc_attention a;
    const int64_t keys = r->k->sizes[r->is_late ? 2 : 1];
    return describe(r, keys, &a) ? sc_attention_scratch_bytes(&a) : 0;
}

// --- The operators -------------------------------------------------------------------------------

// Argument `i`, or that of the size of a head.
static double scale_at(const sc_kernel_call *call, uint32_t i) {
    if (!sc_call_is_none(call, i)) return sc_call_number(call, i);
    return 1 / sqrt((double)sc_max_i64(sc_call_tensor(call, 0)->sizes[3], 1));
}

// (query, key, value, start_pos, attn_mask, drpout_p, is_causal, scale, ...)
static request read_custom(const sc_kernel_call *call) {
    return (request){.q = sc_call_tensor(call, 0),
                     .k = sc_call_tensor(call, 1),
                     .v = sc_call_tensor(call, 2),
                     .start = sc_call_integer(call, 3),
                     .mask = sc_call_tensor(call, 4),
                     .is_causal = sc_call_integer(call, 6) != 0,
                     .scale = scale_at(call, 7),
                     .out = sc_call_out(call)};
}

static sc_status run_custom(const sc_kernel_call *call) {
    request r = read_custom(call);
    return run(call, &r);
}

static uint64_t custom_scratch(const sc_kernel_call *call) {
    request r = read_custom(call);
    return scratch(&r);
}

// Behind the arguments of custom_sdpa: zero points and scales of queries, keys and values, and
// is_seq_at_dim_2.
static request read_quantized_call(const sc_kernel_call *call) {
    request r = read_custom(call);
    source *sources[] = {&r.q_source, &r.k_source, &r.v_source};
    for (uint32_t i = 0; i < 3; i++) {
        sources[i]->zeros = sc_call_tensor(call, 8 + 2 * i);
        sources[i]->scales = sc_call_tensor(call, 9 + 2 * i);
    }
    r.is_late = sc_call_integer(call, 14) != 0;
    return r;
}

static sc_status run_quantized(const sc_kernel_call *call) {
    request r = read_quantized_call(call);
    return run(call, &r);
}

static uint64_t quantized_scratch(const sc_kernel_call *call) {
    request r = read_quantized_call(call);
    return scratch(&r);
}

// (query, key, value, key_cache, value_cache, start_pos, seq_len, attn_mask, drpout_p, is_causal,
// scale, out)
static request read_cached(const sc_kernel_call *call) {
    return (request){.q = sc_call_tensor(call, 0),
                     .k = sc_call_tensor(call, 3),
                     .v = sc_call_tensor(call, 4),
                     .start = sc_call_integer(call, 5),
                     .mask = sc_call_tensor(call, 7),
                     .is_causal = sc_call_integer(call, 9) != 0,
                     .scale = scale_at(call, 10),
                     .out = sc_call_out(call)};
}

static sc_status run_cached(const sc_kernel_call *call) {
    request r = read_cached(call);
    SC_TRY(sc_cache_write(call, sc_call_tensor(call, 1), r.k, r.start));
    SC_TRY(sc_cache_write(call, sc_call_tensor(call, 2), r.v, r.start));
    return run(call, &r);
}

static uint64_t cached_scratch(const sc_kernel_call *call) {
    request r = read_cached(call);
    return scratch(&r);
}

SC_KERNEL(custom_sdpa, .run = run_custom, .scratch = custom_scratch);
SC_KERNEL(custom_quantized_sdpa, .run = run_quantized, .scratch = quantized_scratch);
SC_KERNEL(sdpa_with_kv_cache, .run = run_cached, .scratch = cached_scratch);
