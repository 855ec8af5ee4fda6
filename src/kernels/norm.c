// Normalisations: layer, group and batch. Statistics take two passes (the mean, then squared
// deviations) with double sums, so short rows far from zero keep their digits. Group and batch
// norms end as one multiply-add per channel, in whichever layout the tensors have.
// In wasm: -O3
#include <math.h>

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
static void layer_norm_f32(const layer_norm *l) {
    const float *weight = l->weight ? l->weight->data : NULL;
    const float *bias = l->bias ? l->bias->data : NULL;
    int64_t n = l->row;
    for (int64_t r = 0; r < l->rows; r++) {
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

static void layer_norm_any(const layer_norm *l) {
    sc_stream from, to;
    sc_load_fn load = sc_loader(SC_CLASS_F64, l->in->dtype);
    sc_store_fn store = sc_storer(SC_CLASS_F64, l->out->dtype);
    sc_stream_init_dims(&from, l->in->data, sc_dtype_bytes((sc_dtype)l->in->dtype), l->in->rank,
                        l->in->sizes, l->in->strides);
    sc_stream_init_dims(&to, l->out->data, sc_dtype_bytes((sc_dtype)l->out->dtype), l->out->rank,
                        l->out->sizes, l->out->strides);
    for (int64_t r = 0; r < l->rows; r++) {
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
        layer_norm_f32(&l);
    else
        layer_norm_any(&l);
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

// One image: every channel c becomes x * scale[c] + shift[c].
static void scale_image(const sc_tensor *in, const sc_tensor *out, int64_t n, const float *scale,
                        const float *shift) {
    int64_t channels = in->sizes[1], pixels = plane_size(in);
    bool rows = in->dtype == SC_DTYPE_F32 && sc_same_layout(in, out) && in->strides[1] == 1 &&
                out->dtype == SC_DTYPE_F32 && sc_tensor_is_dense(in) && channels > 1 &&
                (in->sizes[0] == 1 || in->strides[0] == channels * pixels);
    if (!rows) {
        for (int64_t c = 0; c < channels; c++)
            scale_plane(in, out, n, c, (double)scale[c], (double)shift[c]);
        return;
    }
    const float *x = (const float *)in->data + n * in->strides[0];
    float *y = (float *)out->data + n * out->strides[0];
    for (int64_t p = 0; p < pixels; p++, x += channels, y += channels)
        for (int64_t c = 0; c < channels; c++) y[c] = x[c] * scale[c] + shift[c];
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
    int64_t channels = in->sizes[1] / groups, size = channels * plane_size(in);
    if (in->numel == 0) return put_no_moments(mean, rstd);
    for (int64_t n = 0; n < in->sizes[0]; n++) {
        for (int64_t g = 0; g < groups; g++) {
            int64_t sizes[SC_RANK_MAX];
            sc_stream walk = plane_of(in, n, g * channels);
            memcpy(sizes, in->sizes, in->rank * sizeof *sizes);
            sizes[1] = channels;
            sc_stream_init_dims(&walk, walk.data, walk.item_bytes, in->rank - 1u, sizes + 1,
                                in->strides + 1);
            moments m = stream_moments(walk, sc_loader(SC_CLASS_F64, in->dtype), size);
            double inverse = 1.0 / sqrt(m.variance + eps);
            sc_tensor_put_real(mean, n * groups + g, m.mean);
            sc_tensor_put_real(rstd, n * groups + g, inverse);
            for (int64_t c = g * channels; c < (g + 1) * channels; c++) {
                double scale = weight ? inverse * sc_tensor_real(weight, c) : inverse;
                double shift = (bias ? sc_tensor_real(bias, c) : 0.0) - m.mean * scale;
                scale_plane(in, out, n, c, scale, shift);
            }
        }
    }
    return SC_OK;
}

// --- Batch norm ----------------------------------------------------------------------------------

typedef struct batch_norm {
    const sc_tensor *in, *weight, *bias, *out;
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
static void batch_norm_apply(const batch_norm *b, const sc_tensor *mean, const sc_tensor *variance,
                             double eps, bool is_inverse) {
    for (int64_t n = 0; n < b->in->sizes[0]; n++) {
        if (b->in->dtype != SC_DTYPE_F64) {
            scale_image(b->in, b->out, n, b->scale, b->shift);
            continue;
        }
        for (int64_t c = 0; c < b->in->sizes[1]; c++) {
            double v = sc_tensor_real(variance, c), inverse = is_inverse ? v : 1.0 / sqrt(v + eps);
            double scale = b->weight ? inverse * sc_tensor_real(b->weight, c) : inverse;
            double shift =
                (b->bias ? sc_tensor_real(b->bias, c) : 0.0) - sc_tensor_real(mean, c) * scale;
            scale_plane(b->in, b->out, n, c, scale, shift);
        }
    }
}

// With given statistics.
static sc_status infer_batch(const sc_kernel_call *call, uint32_t out, uint32_t eps_argument) {
    batch_norm b;
    SC_TRY(batch_norm_init(call, &b, out));
    const sc_tensor *mean = sc_call_tensor(call, 3), *variance = sc_call_tensor(call, 4);
    double eps = sc_call_number(call, eps_argument);
    const sc_tensor *tensors[] = {mean, variance};
    if (!all_floats(tensors, 2) || mean->numel != b.in->sizes[1] ||
        variance->numel != b.in->sizes[1])
        return sc_call_fail(call, SC_ERR_SHAPE, "running statistics need a float per channel");
    for (int64_t c = 0; c < b.in->sizes[1]; c++)
        batch_norm_channel(&b, c, sc_tensor_real(mean, c),
                           1.0 / sqrt(sc_tensor_real(variance, c) + eps));
    batch_norm_apply(&b, mean, variance, eps, false);
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

// With the batch's own statistics; running ones are updated when given.
static sc_status train_batch(const sc_kernel_call *call, uint32_t out, double momentum, double eps,
                             const sc_tensor *running_mean, const sc_tensor *running_variance) {
    batch_norm b;
    SC_TRY(batch_norm_init(call, &b, out));
    const sc_tensor *mean = sc_call_tensor(call, out + 1), *inverse = sc_call_tensor(call, out + 2);
    const sc_tensor *tensors[] = {mean, inverse, running_mean, running_variance};
    int64_t channels = b.in->sizes[1], count = b.in->sizes[0] * plane_size(b.in);
    if (!all_floats(tensors, 4) || mean->numel != channels || inverse->numel != channels ||
        (running_mean && (running_mean->numel != channels || running_variance->numel != channels)))
        return sc_call_fail(call, SC_ERR_SHAPE, "statistics need a float per channel");
    if (count == 0) return sc_call_fail(call, SC_ERR_SHAPE, "an empty batch has no statistics");
    for (int64_t c = 0; c < channels; c++) {
        moments m = channel_moments(b.in, c);
        sc_tensor_put_real(mean, c, m.mean);
        sc_tensor_put_real(inverse, c, 1.0 / sqrt(m.variance + eps));
        batch_norm_channel(&b, c, m.mean, 1.0 / sqrt(m.variance + eps));
        if (running_mean) {
            double unbiased = m.variance * (double)count / (double)(count > 1 ? count - 1 : 1);
            sc_tensor_put_real(running_mean, c,
                               sc_tensor_real(running_mean, c) * (1 - momentum) +
                                   m.mean * momentum);
            sc_tensor_put_real(running_variance, c,
                               sc_tensor_real(running_variance, c) * (1 - momentum) +
                                   unbiased * momentum);
        }
    }
    batch_norm_apply(&b, mean, inverse, eps, true);
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
