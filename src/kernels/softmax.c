// softmax and log-softmax along one dim. The maximum is subtracted first; sums are kept in double.
// Contiguous f32 rows go four lanes at a time, all others through blocks of the class.
// In wasm: -O3
#include <math.h>

#include "base/parallel.h"
#include "compute/simd/simd_math.h"
#include "kernels/reduce.h"

typedef struct softmax {
    sc_reduction reduction;
    sc_class class_;  // F32 or F64
    sc_load_fn load;
    sc_store_fn store;
    const sc_tensor *out;
    int64_t step;  // of the result along the dim
    bool takes_log;
    bool in_f32;     // input and result
    bool is_direct;  // f32 in and out, both dense along the dim
} softmax;

// --- Dense f32 rows ------------------------------------------------------------------------------

// Keeps four maxima, so that one need not wait for the next. A NaN may be lost, but the row's sum
// is NaN then.
static float row_max(const float *x, int64_t n) {
    v4f best[4];
    for (int k = 0; k < 4; k++) best[k] = v4f_splat(-INFINITY);
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        for (int k = 0; k < 4; k++) best[k] = v4f_pmax(v4f_load(x + i + 4 * k), best[k]);
    for (; i + 4 <= n; i += 4) best[0] = v4f_pmax(v4f_load(x + i), best[0]);
    const v4f all = v4f_pmax(v4f_pmax(best[0], best[1]), v4f_pmax(best[2], best[3]));
    float max = -INFINITY;
    for (int k = 0; k < 4; k++) max = all[k] > max ? all[k] : max;
    for (; i < n; i++) max = x[i] > max ? x[i] : max;
    return max;
}

// out[i] = e^(x[i] - max) if `out` is given; returns the sum.
static double row_exp_sum(float *out, const float *x, int64_t n, float max) {
    double sum = 0.0;
    int64_t i = 0;
    while (i + 4 <= n) {
        v4f part = v4f_zero();
        for (int64_t end = sc_min_i64(n - 3, i + 256); i < end; i += 4) {
            v4f e = v4f_exp(v4f_load(x + i) - max);
            if (out) v4f_store(out + i, e);
            part = part + e;
        }
        sum += (double)v4f_sum(part);
    }
    if (i < n) {
        size_t left = (size_t)(n - i);
        v4f e = v4f_exp(v4f_load_part(x + i, left) - max);
        if (out) v4f_store_part(out + i, e, left);
        for (size_t k = 0; k < left; k++) sum += (double)e[k];
    }
    return sum;
}

static void row_softmax(float *out, const float *x, int64_t n) {
    double sum = row_exp_sum(out, x, n, row_max(x, n));
    float scale = (float)(1.0 / sum);
    for (int64_t i = 0; i < n; i++) out[i] *= scale;
}

static void row_log_softmax(float *out, const float *x, int64_t n) {
    float max = row_max(x, n);
    float log_sum = v4f_log(v4f_splat((float)row_exp_sum(NULL, x, n, max)))[0];
    for (int64_t i = 0; i < n; i++) out[i] = (x[i] - max) - log_sum;
}

// --- Everything else -----------------------------------------------------------------------------

static double strided_max(const softmax *s, sc_stream walk, double *block) {
    double max = -INFINITY;
    for (int64_t left = s->reduction.count; left > 0; left -= SC_BLOCK) {
        int64_t n = sc_min_i64(left, SC_BLOCK);
        sc_stream_load(&walk, s->load, block, sc_class_bytes(s->class_), n);
        for (int64_t i = 0; i < n; i++) {
            double x = s->class_ == SC_CLASS_F32 ? (double)((const float *)block)[i] : block[i];
            max = x > max ? x : max;
        }
    }
    return max;
}

static double strided_sum(const softmax *s, sc_stream walk, double *block, double max) {
    double sum = 0.0;
    for (int64_t left = s->reduction.count; left > 0; left -= SC_BLOCK) {
        int64_t n = sc_min_i64(left, SC_BLOCK);
        sc_stream_load(&walk, s->load, block, sc_class_bytes(s->class_), n);
        if (s->class_ == SC_CLASS_F32) {
            sum += row_exp_sum(NULL, (const float *)block, n, (float)max);
            continue;
        }
        for (int64_t i = 0; i < n; i++) sum += exp(block[i] - max);
    }
    return sum;
}

static void finish_f32(const softmax *s, float *block, int64_t n, float max, double sum) {
    if (s->takes_log) {
        float log_sum = v4f_log(v4f_splat((float)sum))[0];
        for (int64_t i = 0; i < n; i++) block[i] = (block[i] - max) - log_sum;
        return;
    }
    float scale = (float)(1.0 / sum);
    (void)row_exp_sum(block, block, n, max);
    for (int64_t i = 0; i < n; i++) block[i] *= scale;
}

static void finish_f64(const softmax *s, double *block, int64_t n, double max, double sum) {
    double log_sum = log(sum);
    for (int64_t i = 0; i < n; i++)
        block[i] = s->takes_log ? (block[i] - max) - log_sum : exp(block[i] - max) / sum;
}

static void strided_write(const softmax *s, sc_stream walk, double *block, double max, double sum,
                          int64_t out_offset) {
    uint32_t width = sc_dtype_bytes((sc_dtype)s->out->dtype);
    for (int64_t left = s->reduction.count; left > 0; left -= SC_BLOCK) {
        int64_t n = sc_min_i64(left, SC_BLOCK);
        sc_stream_load(&walk, s->load, block, sc_class_bytes(s->class_), n);
        if (s->class_ == SC_CLASS_F32)
            finish_f32(s, (float *)block, n, (float)max, sum);
        else
            finish_f64(s, block, n, max, sum);
        s->store((char *)s->out->data + out_offset * width, s->step, block, n);
        out_offset += n * s->step;
    }
}

// --- Columns of f32 ------------------------------------------------------------------------------

#define COLUMNS 64

// Up to four columns.
static v4f load_some(const float *p, size_t count) {
    return count == 4 ? v4f_load(p) : v4f_load_part(p, count);
}
static void store_some(float *p, v4f v, size_t count) {
    if (count == 4)
        v4f_store(p, v);
    else
        v4f_store_part(p, v, count);
}

// `n` adjacent columns, row by row: three passes that read memory in order.
static void softmax_columns(void *user, sc_stream *elements, int64_t out_offset, int64_t n) {
    const softmax *s = user;
    const float *x = (const float *)(const void *)elements->data;
    const int64_t x_step = elements->strides[0];
    float *y = (float *)s->out->data + out_offset;
    float max[COLUMNS], sum[COLUMNS];
    int64_t count = s->reduction.count;
    for (int64_t c = 0; c < n; c++) {
        max[c] = -INFINITY;
        sum[c] = 0.0f;
    }
    for (int64_t r = 0; r < count; r++) {
        const float *row = x + r * x_step;
        for (int64_t c = 0; c < n; c++) max[c] = row[c] > max[c] ? row[c] : max[c];
    }
    for (int64_t r = 0; r < count; r++) {
        const float *row = x + r * x_step;
        float *out = y + r * s->step;
        for (int64_t c = 0; c < n; c += 4) {
            size_t left = n - c < 4 ? (size_t)(n - c) : 4;
            v4f v = load_some(row + c, left) - load_some(max + c, left);
            v4f e = v4f_exp(v);
            store_some(out + c, s->takes_log ? v : e, left);
            store_some(sum + c, load_some(sum + c, left) + e, left);
        }
    }
    for (int64_t c = 0; c < n; c++)
        sum[c] = s->takes_log ? v4f_log(v4f_splat(sum[c]))[0] : 1.0f / sum[c];
    for (int64_t r = 0; r < count; r++) {
        float *out = y + r * s->step;
        for (int64_t c = 0; c < n; c++) out[c] = s->takes_log ? out[c] - sum[c] : out[c] * sum[c];
    }
}

static bool has_columns(const softmax *s) {
    const sc_reduction *r = &s->reduction;
    return s->in_f32 && r->rank > 0 && r->in_strides[r->rank - 1] == 1 &&
           r->out_strides[r->rank - 1] == 1 && r->sizes[r->rank - 1] >= 4 &&
           r->count <= 1 << 16;  // f32 sums, one per column
}

static void softmax_position(void *user, sc_stream *elements, int64_t out_offset) {
    const softmax *s = user;
    if (s->is_direct) {
        float *out = (float *)s->out->data + out_offset;
        const float *x = (const float *)(const void *)elements->data;
        if (s->takes_log)
            row_log_softmax(out, x, s->reduction.count);
        else
            row_softmax(out, x, s->reduction.count);
        return;
    }
    double block[SC_BLOCK];
    double max = strided_max(s, *elements, block);
    double sum = strided_sum(s, *elements, block, max);
    strided_write(s, *elements, block, max, sum, out_offset);
}

static sc_status normalize(const sc_kernel_call *call) {
    const bool takes_log = call->kernel->param;
    const sc_tensor *self = sc_call_tensor(call, 0), *out = sc_call_out(call);
    softmax s = {.out = out, .takes_log = takes_log};
    uint32_t dim = sc_call_dim(call, 1, self->rank);
    bool is_double = self->dtype == SC_DTYPE_F64 || out->dtype == SC_DTYPE_F64;
    s.class_ = is_double ? SC_CLASS_F64 : SC_CLASS_F32;
    s.load = sc_loader(s.class_, self->dtype);
    s.store = sc_storer(s.class_, out->dtype);
    if (!sc_dtype_is_float((sc_dtype)self->dtype) || !sc_dtype_is_float((sc_dtype)out->dtype))
        return sc_call_no_kernel(call);
    if (!sc_same_sizes(self, out))
        return sc_call_fail(call, SC_ERR_SHAPE, "needs a result of its input's sizes");
    SC_TRY(sc_reduction_init_along(call->ctx, &s.reduction, self, out, dim));
    s.step = out->rank > 0 && out->sizes[dim] > 1 ? out->strides[dim] : 1;
    s.is_direct = self->dtype == SC_DTYPE_F32 && out->dtype == SC_DTYPE_F32 && s.step == 1 &&
                  s.reduction.reduced.strides[0] == 1;
    s.in_f32 = self->dtype == SC_DTYPE_F32 && out->dtype == SC_DTYPE_F32;
    if (!s.is_direct && has_columns(&s) && s.reduction.count > 0) {
        sc_reduction_share_runs(&s.reduction, COLUMNS, SC_COST_FUNCTION, softmax_columns, &s);
        return SC_OK;
    }
    if (s.reduction.count > 0)
        sc_reduction_share(&s.reduction, SC_COST_FUNCTION, softmax_position, &s);
    return SC_OK;
}

SC_KERNEL(softmax, .run = normalize, .param = false);
SC_KERNEL(log_softmax, .run = normalize, .param = true);
