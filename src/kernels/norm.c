// Normalisations: layer, group and batch. Statistics take two passes (the mean, then squared
// deviations) with double sums, so short rows far from zero keep their digits. Group and batch
// norms end as one multiply-add per channel, in whichever layout the tensors have.
// In wasm: -O3
#include <math.h>

#include "base/parallel.h"
#include "compute/simd/simd.h"
#include "kernels/iter.h"

static bool all_floats(const sc_tensor *const *tensors, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (tensors[i] && !sc_dtype_is_float((sc_dtype)tensors[i]->dtype)) return false;
    }
    return true;
}

typedef struct moments {
    double mean, variance;
} moments;

// --- Rows of floats ------------------------------------------------------------------------------

static double sum_f32(const float *x, int64_t n) {
    double sum = 0.0;
    int64_t i = 0;
    while (i + 8 <= n) {
        v4f a = v4f_zero(), b = v4f_zero();
        for (int64_t end = sc_min_i64(n - 7, i + 512); i < end; i += 8) {
            a = a + v4f_load(x + i);
            b = b + v4f_load(x + i + 4);
        }
        sum += (double)v4f_sum(a + b);
    }
    for (; i < n; i++) sum += (double)x[i];
    return sum;
}

static double squares_f32(const float *x, int64_t n, float mean) {
    double sum = 0.0;
    int64_t i = 0;
    while (i + 8 <= n) {
        v4f a = v4f_zero(), b = v4f_zero();
        for (int64_t end = sc_min_i64(n - 7, i + 512); i < end; i += 8) {
            v4f p = v4f_load(x + i) - mean, q = v4f_load(x + i + 4) - mean;
            a = a + p * p;
            b = b + q * q;
        }
        sum += (double)v4f_sum(a + b);
    }
    for (; i < n; i++) sum += (double)(x[i] - mean) * (double)(x[i] - mean);
    return sum;
}

// Moments of the next `n` elements of any float dtype; the stream is left where it was.
static moments stream_moments(sc_stream walk, sc_load_fn load, int64_t n) {
    double block[SC_BLOCK];
    moments m = {0.0, 0.0};
    sc_stream again = walk;
    for (int64_t left = n; left > 0; left -= SC_BLOCK) {
        int64_t count = sc_min_i64(left, SC_BLOCK);
        sc_stream_load(&walk, load, block, sizeof *block, count);
        for (int64_t i = 0; i < count; i++) m.mean += block[i];
    }
    m.mean /= (double)n;
    for (int64_t left = n; left > 0; left -= SC_BLOCK) {
        int64_t count = sc_min_i64(left, SC_BLOCK);
        sc_stream_load(&again, load, block, sizeof *block, count);
        for (int64_t i = 0; i < count; i++) m.variance += (block[i] - m.mean) * (block[i] - m.mean);
    }
    m.variance /= (double)n;
    return m;
}

// --- Layer norm ----------------------------------------------------------------------------------

typedef struct layer_norm {
    const sc_tensor *in, *weight, *bias, *out, *mean, *rstd;
    int64_t row, rows;
    double eps;
} layer_norm;

static void keep_moments(const layer_norm *l, int64_t row, double mean, double rstd) {
    if (l->mean->numel == l->rows) sc_tensor_put_real(l->mean, row, mean);
    if (l->rstd->numel == l->rows) sc_tensor_put_real(l->rstd, row, rstd);
}

// The mean in two parts: a float alone would cost rows far from zero their digits.
static void layer_norm_f32(void *work, int64_t from, int64_t to, uint32_t thread) {
    const layer_norm *l = work;
    const float *weight = l->weight ? l->weight->data : NULL;
    const float *bias = l->bias ? l->bias->data : NULL;
    int64_t n = l->row;
    (void)thread;
    for (int64_t r = from; r < to; r++) {
        const float *x = (const float *)l->in->data + r * n;
        float *y = (float *)l->out->data + r * n;
        double mean = sum_f32(x, n) / (double)n;
        float center = (float)mean, rest = (float)(mean - (double)center);
        double variance = squares_f32(x, n, center) / (double)n - (double)rest * (double)rest;
        float rstd = (float)(1.0 / sqrt(variance + l->eps));
        keep_moments(l, r, mean, (double)rstd);
        int64_t i = 0;
        for (; i + 4 <= n; i += 4) {
            v4f v = ((v4f_load(x + i) - center) - rest) * rstd;
            v = weight ? v * v4f_load(weight + i) : v;
            v = bias ? v + v4f_load(bias + i) : v;
            v4f_store(y + i, v);
        }
        for (; i < n; i++) {
            float v = ((x[i] - center) - rest) * rstd;
            v = weight ? v * weight[i] : v;
            y[i] = bias ? v + bias[i] : v;
        }
    }
}

static void layer_norm_any(void *work, int64_t first, int64_t end, uint32_t thread) {
    const layer_norm *l = work;
    sc_stream from, to;
    sc_load_fn load = sc_loader(SC_CLASS_F64, l->in->dtype);
    sc_store_fn store = sc_storer(SC_CLASS_F64, l->out->dtype);
    sc_stream_init_dims(&from, l->in->data, sc_dtype_bytes((sc_dtype)l->in->dtype), l->in->rank,
                        l->in->sizes, l->in->strides);
    sc_stream_init_dims(&to, l->out->data, sc_dtype_bytes((sc_dtype)l->out->dtype), l->out->rank,
                        l->out->sizes, l->out->strides);
    sc_stream_seek(&from, first * l->row);
    sc_stream_seek(&to, first * l->row);
    (void)thread;
    for (int64_t r = first; r < end; r++) {
        moments m = stream_moments(from, load, l->row);
        double rstd = 1.0 / sqrt(m.variance + l->eps);
        keep_moments(l, r, m.mean, rstd);
        for (int64_t i = 0; i < l->row; i += SC_BLOCK) {
            double block[SC_BLOCK];
            int64_t n = sc_min_i64(SC_BLOCK, l->row - i);
            sc_stream_load(&from, load, block, sizeof *block, n);
            for (int64_t k = 0; k < n; k++) {
                double v = (block[k] - m.mean) * rstd;
                v = l->weight ? v * sc_tensor_real(l->weight, i + k) : v;
                block[k] = l->bias ? v + sc_tensor_real(l->bias, i + k) : v;
            }
            sc_stream_store(&to, store, block, sizeof *block, n);
        }
    }
}

static bool is_plain_f32(const sc_tensor *t) {
    return !t || (t->dtype == SC_DTYPE_F32 && sc_tensor_is_contiguous(t));
}

// The moments of zero elements, as in PyTorch.
static sc_status put_no_moments(const sc_tensor *mean, const sc_tensor *rstd) {
    for (int64_t i = 0; i < mean->numel; i++) sc_tensor_put_real(mean, i, 0.0);
    for (int64_t i = 0; i < rstd->numel; i++) sc_tensor_put_real(rstd, i, NAN);
    return SC_OK;
}

// (input, normalized_shape, weight, bias, eps, out, mean, rstd)
static sc_status run_layer_norm(const sc_kernel_call *call) {
    layer_norm l = {.in = sc_call_tensor(call, 0),
                    .weight = sc_call_tensor(call, 2),
                    .bias = sc_call_tensor(call, 3),
                    .out = sc_call_tensor(call, 5),
                    .mean = sc_call_tensor(call, 6),
                    .rstd = sc_call_tensor(call, 7)};
    int64_t shape[SC_RANK_MAX];
    uint32_t count = sc_call_ints(call, 1, shape, SC_RANK_MAX, 0);
    const sc_tensor *tensors[] = {l.in, l.weight, l.bias, l.out, l.mean, l.rstd};
    if (!all_floats(tensors, 6)) return sc_call_no_kernel(call);
    l.eps = sc_call_number(call, 4);
    l.row = 1;
    bool fits = count <= l.in->rank && sc_same_sizes(l.in, l.out);
    for (uint32_t i = 0; fits && i < count; i++) {
        fits = shape[i] == l.in->sizes[l.in->rank - count + i];
        l.row *= shape[i];
    }
    if (!fits || (l.weight && l.weight->numel != l.row) || (l.bias && l.bias->numel != l.row))
        return sc_call_fail(call, SC_ERR_SHAPE, "the shapes do not agree");
    if (l.in->numel == 0) return put_no_moments(l.mean, l.rstd);
    l.rows = l.in->numel / l.row;
    if (is_plain_f32(l.in) && is_plain_f32(l.out) && is_plain_f32(l.weight) && is_plain_f32(l.bias))
        sc_parallel_rows(l.rows, 3 * SC_COST_SUM * (double)l.row, layer_norm_f32, &l);
    else
        sc_parallel_rows(l.rows, 5 * SC_COST_CONVERT * (double)l.row, layer_norm_any, &l);
    return SC_OK;
}

// --- Channels ------------------------------------------------------------------------------------

// The dims after batch and channel, as a stream at image `n`, channel `c`.
static sc_stream plane_of(const sc_tensor *t, int64_t n, int64_t c) {
    sc_stream s;
    uint32_t width = sc_dtype_bytes((sc_dtype)t->dtype);
    int64_t offset = n * t->strides[0] + c * t->strides[1];
    sc_stream_init_dims(&s, (char *)t->data + offset * width, width, t->rank - 2u, t->sizes + 2,
                        t->strides + 2);
    return s;
}

static int64_t plane_size(const sc_tensor *t) {
    int64_t size = 1;
    for (uint32_t d = 2; d < t->rank; d++) size *= t->sizes[d];
    return size;
}

static void scale_plane(const sc_tensor *in, const sc_tensor *out, int64_t n, int64_t c,
                        double scale, double shift) {
    sc_stream from = plane_of(in, n, c), to = plane_of(out, n, c);
    int64_t size = plane_size(in);
    if (in->dtype == SC_DTYPE_F32 && out->dtype == SC_DTYPE_F32 && sc_stream_is_dense(&from) &&
        sc_stream_is_dense(&to)) {
        const float *x = (const float *)(const void *)from.data;
        float *y = (float *)(void *)to.data, a = (float)scale, b = (float)shift;
        for (int64_t i = 0; i < size; i++) y[i] = x[i] * a + b;
        return;
    }
    for (int64_t i = 0; i < size; i += SC_BLOCK) {
        double block[SC_BLOCK];
        int64_t count = sc_min_i64(SC_BLOCK, size - i);
        sc_stream_load(&from, sc_loader(SC_CLASS_F64, in->dtype), block, sizeof *block, count);
        for (int64_t k = 0; k < count; k++) block[k] = block[k] * scale + shift;
        sc_stream_store(&to, sc_storer(SC_CLASS_F64, out->dtype), block, sizeof *block, count);
    }
}

typedef struct group_norm {
    const sc_tensor *in, *weight, *bias, *out, *mean, *rstd;
    int64_t groups, channels;  // channels of a group
    double eps;
} group_norm;

static moments group_moments(const group_norm *g, int64_t n, int64_t first) {
    const sc_tensor *in = g->in;
    int64_t sizes[SC_RANK_MAX];
    sc_stream walk = plane_of(in, n, first);
    memcpy(sizes, in->sizes, in->rank * sizeof *sizes);
    sizes[1] = g->channels;
    sc_stream_init_dims(&walk, walk.data, walk.item_bytes, in->rank - 1u, sizes + 1,
                        in->strides + 1);
    return stream_moments(walk, sc_loader(SC_CLASS_F64, in->dtype), g->channels * plane_size(in));
}

// Groups of all images, one after the other.
static void group_norm_part(void *work, int64_t from, int64_t to, uint32_t thread) {
    const group_norm *g = work;
    (void)thread;
    for (int64_t i = from; i < to; i++) {
        const int64_t n = i / g->groups, first = i % g->groups * g->channels;
        const moments m = group_moments(g, n, first);
        const double inverse = 1.0 / sqrt(m.variance + g->eps);
        sc_tensor_put_real(g->mean, i, m.mean);
        sc_tensor_put_real(g->rstd, i, inverse);
        for (int64_t c = first; c < first + g->channels; c++) {
            double scale = g->weight ? inverse * sc_tensor_real(g->weight, c) : inverse;
            double shift = (g->bias ? sc_tensor_real(g->bias, c) : 0.0) - m.mean * scale;
            scale_plane(g->in, g->out, n, c, scale, shift);
        }
    }
}

// (input, weight, bias, N, C, HxW, group, eps, out, mean, rstd)
static sc_status run_group_norm(const sc_kernel_call *call) {
    const sc_tensor *in = sc_call_tensor(call, 0), *weight = sc_call_tensor(call, 1);
    const sc_tensor *bias = sc_call_tensor(call, 2), *out = sc_call_tensor(call, 8);
    const sc_tensor *mean = sc_call_tensor(call, 9), *rstd = sc_call_tensor(call, 10);
    const sc_tensor *tensors[] = {in, weight, bias, out, mean, rstd};
    int64_t groups = sc_call_integer(call, 6);
    double eps = sc_call_number(call, 7);
    if (!all_floats(tensors, 6)) return sc_call_no_kernel(call);
    if (in->rank < 2 || !sc_same_sizes(in, out) || groups <= 0 || in->sizes[1] % groups != 0 ||
        (weight && weight->numel != in->sizes[1]) || (bias && bias->numel != in->sizes[1]) ||
        mean->numel != in->sizes[0] * groups || rstd->numel != mean->numel)
        return sc_call_fail(call, SC_ERR_SHAPE, "the shapes do not agree");
    if (in->numel == 0) return put_no_moments(mean, rstd);
    group_norm g = {in, weight, bias, out, mean, rstd, groups, in->sizes[1] / groups, eps};
    const double size = (double)(g.channels * plane_size(in));
    sc_parallel_rows(mean->numel, 3 * SC_COST_CONVERT * size, group_norm_part, &g);
    return SC_OK;
}

// --- Batch norm ----------------------------------------------------------------------------------

typedef struct batch_norm {
    const sc_tensor *in, *weight, *bias, *out;
    const sc_tensor *mean, *variance;  // given or taken: per channel
    double eps;
    bool is_inverse;       // `variance` is the inverse of the deviation
    float *scale, *shift;  // per channel, in scratch
} batch_norm;

static uint64_t batch_norm_scratch(const sc_kernel_call *call) {
    const sc_tensor *in = sc_call_tensor(call, 0);
    return in->rank < 2 ? 0 : 2 * (uint64_t)in->sizes[1] * sizeof(float);
}

static sc_status batch_norm_init(const sc_kernel_call *call, batch_norm *b, uint32_t out) {
    b->in = sc_call_tensor(call, 0);
    b->weight = sc_call_tensor(call, 1);
    b->bias = sc_call_tensor(call, 2);
    b->out = sc_call_tensor(call, out);
    const sc_tensor *tensors[] = {b->in, b->weight, b->bias, b->out};
    if (!all_floats(tensors, 4)) return sc_call_no_kernel(call);
    if (b->in->rank < 2 || !sc_same_sizes(b->in, b->out) ||
        (b->weight && b->weight->numel != b->in->sizes[1]) ||
        (b->bias && b->bias->numel != b->in->sizes[1]))
        return sc_call_fail(call, SC_ERR_SHAPE, "the shapes do not agree");
    if (call->scratch_bytes < 2 * (uint64_t)b->in->sizes[1] * sizeof(float))
        return sc_call_starved(call);
    b->scale = call->scratch;
    b->shift = b->scale + b->in->sizes[1];
    return SC_OK;
}

static void batch_norm_channel(batch_norm *b, int64_t c, double mean, double inverse) {
    double scale = b->weight ? inverse * sc_tensor_real(b->weight, c) : inverse;
    b->scale[c] = (float)scale;
    b->shift[c] = (float)((b->bias ? sc_tensor_real(b->bias, c) : 0.0) - mean * scale);
}

// f64 keeps its precision: each plane is scaled with doubles.
static void scale_f64_plane(const batch_norm *b, int64_t n, int64_t c) {
    const double v = sc_tensor_real(b->variance, c);
    const double inverse = b->is_inverse ? v : 1.0 / sqrt(v + b->eps);
    const double scale = b->weight ? inverse * sc_tensor_real(b->weight, c) : inverse;
    const double shift =
        (b->bias ? sc_tensor_real(b->bias, c) : 0.0) - sc_tensor_real(b->mean, c) * scale;
    scale_plane(b->in, b->out, n, c, scale, shift);
}

static void scale_planes(void *work, int64_t from, int64_t to, uint32_t thread) {
    const batch_norm *b = work;
    const int64_t channels = b->in->sizes[1];
    (void)thread;
    for (int64_t i = from; i < to; i++) {
        const int64_t n = i / channels, c = i % channels;
        if (b->in->dtype == SC_DTYPE_F64)
            scale_f64_plane(b, n, c);
        else
            scale_plane(b->in, b->out, n, c, (double)b->scale[c], (double)b->shift[c]);
    }
}

// Pixels of all images, with adjacent channels.
static void scale_pixels(void *work, int64_t from, int64_t to, uint32_t thread) {
    const batch_norm *b = work;
    const int64_t channels = b->in->sizes[1];
    const float *x = (const float *)b->in->data + from * channels;
    float *y = (float *)b->out->data + from * channels;
    (void)thread;
    for (int64_t p = from; p < to; p++, x += channels, y += channels)
        for (int64_t c = 0; c < channels; c++) y[c] = x[c] * b->scale[c] + b->shift[c];
}

static bool has_pixels(const sc_tensor *in, const sc_tensor *out) {
    return in->dtype == SC_DTYPE_F32 && sc_same_layout(in, out) && in->strides[1] == 1 &&
           out->dtype == SC_DTYPE_F32 && sc_tensor_is_dense(in) && in->sizes[1] > 1 &&
           (in->sizes[0] == 1 || in->strides[0] == in->sizes[1] * plane_size(in));
}

static void batch_norm_apply(batch_norm *b) {
    const int64_t size = plane_size(b->in), channels = b->in->sizes[1], images = b->in->sizes[0];
    const bool is_f32 = b->in->dtype == SC_DTYPE_F32 && b->out->dtype == SC_DTYPE_F32;
    const double cost = is_f32 ? SC_COST_SUM : 2 * SC_COST_CONVERT;
    if (has_pixels(b->in, b->out))
        sc_parallel_rows(images * size, cost * (double)channels, scale_pixels, b);
    else
        sc_parallel_rows(images * channels, cost * (double)size, scale_planes, b);
}

// With given statistics.
static sc_status infer_batch(const sc_kernel_call *call, uint32_t out, uint32_t eps_argument) {
    batch_norm b;
    SC_TRY(batch_norm_init(call, &b, out));
    b.mean = sc_call_tensor(call, 3);
    b.variance = sc_call_tensor(call, 4);
    b.eps = sc_call_number(call, eps_argument);
    b.is_inverse = false;
    const sc_tensor *tensors[] = {b.mean, b.variance};
    if (!all_floats(tensors, 2) || b.mean->numel != b.in->sizes[1] ||
        b.variance->numel != b.in->sizes[1])
        return sc_call_fail(call, SC_ERR_SHAPE, "running statistics need a float per channel");
    for (int64_t c = 0; c < b.in->sizes[1]; c++)
        batch_norm_channel(&b, c, sc_tensor_real(b.mean, c),
                           1.0 / sqrt(sc_tensor_real(b.variance, c) + b.eps));
    batch_norm_apply(&b);
    return SC_OK;
}

// Takes moments over batch and plane.
static moments channel_moments(const sc_tensor *in, int64_t c) {
    moments all = {0.0, 0.0};
    int64_t images = in->sizes[0], size = plane_size(in);
    sc_load_fn load = sc_loader(SC_CLASS_F64, in->dtype);
    for (int64_t n = 0; n < images; n++)
        all.mean += stream_moments(plane_of(in, n, c), load, size).mean;
    all.mean /= (double)images;
    for (int64_t n = 0; n < images; n++) {
        moments m = stream_moments(plane_of(in, n, c), load, size);
        all.variance += m.variance + (m.mean - all.mean) * (m.mean - all.mean);
    }
    all.variance /= (double)images;
    return all;
}

// Statistics of the batch itself, and running ones to update, or NULL.
typedef struct training {
    batch_norm b;
    const sc_tensor *running_mean, *running_variance;
    double momentum;
} training;

static void update_running(const training *t, int64_t c, moments m) {
    const double count = (double)t->b.in->sizes[0] * (double)plane_size(t->b.in);
    const double unbiased = m.variance * count / (count > 1 ? count - 1 : 1);
    sc_tensor_put_real(t->running_mean, c,
                       sc_tensor_real(t->running_mean, c) * (1 - t->momentum) +
                           m.mean * t->momentum);
    sc_tensor_put_real(t->running_variance, c,
                       sc_tensor_real(t->running_variance, c) * (1 - t->momentum) +
                           unbiased * t->momentum);
}

static void take_statistics(void *work, int64_t from, int64_t to, uint32_t thread) {
    training *t = work;
    (void)thread;
    for (int64_t c = from; c < to; c++) {
        const moments m = channel_moments(t->b.in, c);
        const double inverse = 1.0 / sqrt(m.variance + t->b.eps);
        sc_tensor_put_real(t->b.mean, c, m.mean);
        sc_tensor_put_real(t->b.variance, c, inverse);
        batch_norm_channel(&t->b, c, m.mean, inverse);
        if (t->running_mean) update_running(t, c, m);
    }
}

// With the batch's own statistics; running ones are updated when given.
static sc_status train_batch(const sc_kernel_call *call, uint32_t out, double momentum, double eps,
                             const sc_tensor *running_mean, const sc_tensor *running_variance) {
    training t = {
        .running_mean = running_mean, .running_variance = running_variance, .momentum = momentum};
    SC_TRY(batch_norm_init(call, &t.b, out));
    const sc_tensor *mean = sc_call_tensor(call, out + 1), *inverse = sc_call_tensor(call, out + 2);
    const sc_tensor *tensors[] = {mean, inverse, running_mean, running_variance};
    int64_t channels = t.b.in->sizes[1], count = t.b.in->sizes[0] * plane_size(t.b.in);
    if (!all_floats(tensors, 4) || mean->numel != channels || inverse->numel != channels ||
        (running_mean && (running_mean->numel != channels || running_variance->numel != channels)))
        return sc_call_fail(call, SC_ERR_SHAPE, "statistics need a float per channel");
    if (count == 0) return sc_call_fail(call, SC_ERR_SHAPE, "an empty batch has no statistics");
    t.b.mean = mean;
    t.b.variance = inverse;
    t.b.eps = eps;
    t.b.is_inverse = true;
    sc_parallel_rows(channels, 2 * SC_COST_CONVERT * (double)count, take_statistics, &t);
    batch_norm_apply(&t.b);
    return SC_OK;
}

// (input, weight, bias, running_mean, running_var, momentum, eps, out, save_mean, save_invstd)
static sc_status run_batch_norm(const sc_kernel_call *call) { return infer_batch(call, 7, 6); }

// (input, weight, bias, running_mean, running_var, training, momentum, eps, out, mean, invstd)
static sc_status run_batch_norm_legit(const sc_kernel_call *call) {
    if (sc_call_integer(call, 5) == 0) return infer_batch(call, 8, 7);
    return train_batch(call, 8, sc_call_number(call, 6), sc_call_number(call, 7),
                       sc_call_tensor(call, 3), sc_call_tensor(call, 4));
}

// (input, weight, bias, training, momentum, eps, out, mean, invstd)
static sc_status run_batch_norm_no_stats(const sc_kernel_call *call) {
    return train_batch(call, 6, 0.0, sc_call_number(call, 5), NULL, NULL);
}

SC_KERNEL(layer_norm, .run = run_layer_norm);
SC_KERNEL(group_norm, .run = run_group_norm);
SC_KERNEL(batch_norm, .run = run_batch_norm, .scratch = batch_norm_scratch,
          .layout = SC_LAYOUT_ONE);
SC_KERNEL(batch_norm_legit, .run = run_batch_norm_legit, .scratch = batch_norm_scratch);
SC_KERNEL(batch_norm_no_stats, .run = run_batch_norm_no_stats, .scratch = batch_norm_scratch);
