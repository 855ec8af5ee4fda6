// Kernels of language models besides attention over a cache: Hadamard transforms, the gated delta
// rule, and tiles of an image.
#include <math.h>

#include "base/parallel.h"
#include "kernels/convert.h"
#include "kernels/kernel.h"

// --- Hadamard transforms -------------------------------------------------------------------------

enum { ODD = 28 };  // the other factor that sizes may have

// A Hadamard matrix of order 28, by rows: a bit for each +1, the first column in the lowest one.
static const uint32_t matrix28[ODD] = {
    0x3296181, 0x6528382, 0xC854704, 0x92A8E08, 0x2751C10, 0x4CA7820, 0x994B0C0,
    0x4B980BC, 0x9534178, 0x2A6C271, 0x54D8463, 0xA9B0847, 0x536500F, 0xA4CE01E,
    0x7804CDA, 0xF009935, 0xE21326A, 0xC6224D5, 0x8E409AB, 0x1E81356, 0x3D0262D,
    0x030ED66, 0x041DACD, 0x083B51B, 0x1072AB6, 0x20E15EC, 0x41C2B59, 0x81856B3,
};

// In natural order, times `scale`.
static void transform(float *x, int64_t n, float scale) {
    for (int64_t step = 1; step < n; step *= 2) {
        for (int64_t i = 0; i < n; i += 2 * step) {
            for (int64_t k = i; k < i + step; k++) {
                const float a = x[k], b = x[k + step];
                x[k] = a + b;
                x[k + step] = a - b;
            }
        }
    }
    for (int64_t i = 0; i < n; i++) x[i] *= scale;
}

// The rows of [28, m] one by one, then each column by the matrix of order 28.
static void transform28(float *x, int64_t m) {
    for (int64_t r = 0; r < ODD; r++) transform(x + r * m, m, 1 / sqrtf((float)m));
    for (int64_t c = 0; c < m; c++) {
        float sums[ODD];
        for (int64_t i = 0; i < ODD; i++) {
            sums[i] = 0;
            for (int64_t j = 0; j < ODD; j++)
                sums[i] += matrix28[i] >> j & 1 ? x[j * m + c] : -x[j * m + c];
        }
        for (int64_t i = 0; i < ODD; i++) x[i * m + c] = sums[i];
    }
}

// (mat, out). The scratch holds a row.
static sc_status run_hadamard(const sc_kernel_call *call) {
    const sc_tensor *in = sc_call_tensor(call, 0), *out = sc_call_out(call);
    const int64_t n = in->rank ? in->sizes[in->rank - 1u] : 0;
    const size_t item = sc_dtype_bytes((sc_dtype)in->dtype);
    const sc_load_fn load = sc_loader(SC_CLASS_F32, in->dtype);
    const sc_store_fn store = sc_storer(SC_CLASS_F32, in->dtype);
    if (in->numel == 0) return SC_OK;
    if ((in->dtype != SC_DTYPE_F32 && in->dtype != SC_DTYPE_F16) || in->dtype != out->dtype ||
        !sc_tensor_is_contiguous(in) || !sc_tensor_is_contiguous(out))
        return sc_call_no_kernel(call);
    // The official kernel leaves a tensor without dimensions as it is.
    if (n == 0) {
        memcpy(out->data, in->data, item);
        return SC_OK;
    }
    if ((uint64_t)n * sizeof(float) > call->scratch_bytes) return sc_call_starved(call);
    const bool is_odd = (n & (n - 1)) != 0;
    for (int64_t r = 0; r < in->numel / n; r++) {
        const size_t at = (size_t)(r * n) * item;
        load(call->scratch, (const char *)in->data + at, 1, n);
        if (is_odd)
            transform28(call->scratch, n / ODD);
        else
            transform(call->scratch, n, 1 / sqrtf((float)n));
        store((char *)out->data + at, 1, call->scratch, n);
    }
    return SC_OK;
}

static uint64_t hadamard_scratch(const sc_kernel_call *call) {
    const sc_tensor *in = sc_call_tensor(call, 0);
    return in->rank ? (uint64_t)in->sizes[in->rank - 1u] * sizeof(float) : 0;
}

SC_KERNEL(hadamard, .run = run_hadamard, .scratch = hadamard_scratch);

// --- The gated delta rule ------------------------------------------------------------------------

// One head of keys, and the heads of queries that read its state.
typedef struct delta {
    const float *q, *k, *v, *decay, *beta;
    float *state, *out;
    int64_t heads, shares, steps, keys, values;
    bool by_channel;
} delta;

// The state decays, and learns by how much it fails to give the value of a key.
static void step_state(const delta *d, int64_t head, int64_t t, float *state, float *wrong) {
    const int64_t at = head * d->steps + t;
    const float *k = d->k + at * d->keys, *v = d->v + at * d->values;
    for (int64_t j = 0; j < d->values; j++) wrong[j] = 0;
    for (int64_t i = 0; i < d->keys; i++) {
        const float decay = d->by_channel ? d->decay[at * d->keys + i] : d->decay[at];
        float *row = state + i * d->values;
        for (int64_t j = 0; j < d->values; j++) {
            row[j] *= decay;
            wrong[j] += row[j] * k[i];
        }
    }
    for (int64_t j = 0; j < d->values; j++) wrong[j] = d->beta[at] * (v[j] - wrong[j]);
    for (int64_t i = 0; i < d->keys; i++)
        for (int64_t j = 0; j < d->values; j++) state[i * d->values + j] += k[i] * wrong[j];
}

static void read_state(const delta *d, int64_t query_head, int64_t t, const float *state) {
    const float *q = d->q + (query_head * d->steps + t) * d->keys;
    float *out = d->out + (query_head * d->steps + t) * d->values;
    for (int64_t j = 0; j < d->values; j++) out[j] = 0;
    for (int64_t i = 0; i < d->keys; i++)
        for (int64_t j = 0; j < d->values; j++) out[j] += state[i * d->values + j] * q[i];
}

typedef struct deltas {
    delta d;
    float *scratch;
} deltas;

static void run_heads(void *work, int64_t from, int64_t to, uint32_t thread) {
    const deltas *w = work;
    const delta *d = &w->d;
    float *wrong = thread ? sc_parallel_scratch(thread) : w->scratch;
    for (int64_t head = from; head < to; head++) {
        float *state = d->state + head * d->keys * d->values;
        for (int64_t t = 0; t < d->steps; t++) {
            step_state(d, head, t, state, wrong);
            for (int64_t s = 0; s < d->shares; s++) read_state(d, head * d->shares + s, t, state);
        }
    }
}

// (query, key, value, decay, beta, initial_state, out, final_state)
static sc_status run_delta(const sc_kernel_call *call) {
    const sc_tensor *t[8];
    for (uint32_t i = 0; i < 8; i++) {
        t[i] = sc_call_tensor(call, i);
        if (t[i]->dtype != SC_DTYPE_F32 || !sc_tensor_is_contiguous(t[i]))
            return sc_call_no_kernel(call);
    }
    const int64_t kept = t[1]->sizes[1];
    deltas w = {.d = {.q = t[0]->data,
                      .k = t[1]->data,
                      .v = t[2]->data,
                      .decay = t[3]->data,
                      .beta = t[4]->data,
                      .out = t[6]->data,
                      .state = t[7]->data,
                      .heads = t[1]->sizes[0] * kept,
                      .shares = kept ? t[0]->sizes[1] / kept : 0,
                      .steps = t[1]->sizes[2],
                      .keys = t[1]->sizes[3],
                      .values = t[2]->sizes[3],
                      .by_channel = t[3]->rank == 4},
                .scratch = call->scratch};
    const uint64_t room = (uint64_t)w.d.values * sizeof(float);
    const double each = 4.0 * (double)w.d.steps * (double)w.d.keys * (double)w.d.values;
    if (room > call->scratch_bytes) return sc_call_starved(call);
    memcpy(t[7]->data, t[5]->data, (size_t)t[5]->numel * sizeof(float));
    const int64_t step = sc_parallel_step(w.d.heads, each * SC_COST_COPY);
    if (step < w.d.heads && sc_parallel_reserve(room))
        sc_parallel(w.d.heads, step, run_heads, &w);
    else
        run_heads(&w, 0, w.d.heads, 0);
    return SC_OK;
}

static uint64_t delta_scratch(const sc_kernel_call *call) {
    return (uint64_t)sc_call_tensor(call, 2)->sizes[3] * sizeof(float);
}

SC_KERNEL(gated_delta_rule, .run = run_delta, .scratch = delta_scratch);

// --- Tiles ---------------------------------------------------------------------------------------

// (input [channels, height, width], tile_size, out [tiles, channels, size, size])
static sc_status run_tile_crop(const sc_kernel_call *call) {
    const sc_tensor *in = sc_call_tensor(call, 0), *out = sc_call_out(call);
    const size_t item = sc_dtype_bytes((sc_dtype)in->dtype);
    const int64_t size = sc_call_integer(call, 1);
    if (size <= 0 || in->sizes[1] % size || in->sizes[2] % size)
        return sc_call_fail(call, SC_ERR_SHAPE, "the image is not a number of whole tiles");
    if (!sc_tensor_is_contiguous(in) || !sc_tensor_is_contiguous(out))
        return sc_call_no_kernel(call);
    const int64_t across = in->sizes[2] / size;
    char *to = out->data;
    for (int64_t tile = 0; tile < out->sizes[0]; tile++) {
        for (int64_t c = 0; c < in->sizes[0]; c++) {
            for (int64_t y = 0; y < size; y++, to += (size_t)size * item) {
                const int64_t row = tile / across * size + y, column = tile % across * size;
                const int64_t at = (c * in->sizes[1] + row) * in->sizes[2] + column;
                memcpy(to, (const char *)in->data + (size_t)at * item, (size_t)size * item);
            }
        }
    }
    return SC_OK;
}

SC_KERNEL(tile_crop, .run = run_tile_crop);
