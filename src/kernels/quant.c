// Quantize, dequantize and the choice of scales. Scales are f32: q = round(x * (1 / scale)) + zero
// point, clamped; x = (q - zero point) * scale. A tensor is divided into slices that share a scale:
// one for the whole tensor, one per channel, or one per row.
#include <math.h>

#include "base/parallel.h"
#include "compute/simd/simd_math.h"
#include "kernels/move.h"

typedef struct grid {
    float scale;
    int64_t zero;
    int64_t low, high;  // of quantized values
} grid;

// --- Blocks --------------------------------------------------------------------------------------

static void quantize_block(int32_t *q, const float *x, int64_t n, const grid *g) {
    float inverse = (float)(1.0 / (double)g->scale), zero = (float)g->zero;
    bool small = g->high - g->low < 1 << 20 && g->zero > -(1 << 20) && g->zero < 1 << 20;
    const int64_t most = 1LL << 40;  // beyond every range, and the sum of two is still finite
    if (!small) {
        for (int64_t i = 0; i < n; i++) {
            int64_t rounded = sc_f64_to_i64((double)nearbyintf(x[i] * inverse));
            int64_t value = sc_min_i64(sc_max_i64(rounded, -most), most) +
                            sc_min_i64(sc_max_i64(g->zero, -most), most);
            q[i] = (int32_t)sc_min_i64(sc_max_i64(value, g->low), g->high);
        }
        return;
    }
    // Clamped one step outside the range before rounding, which leaves the result as it is.
    v4f low = v4f_splat((float)(g->low - g->zero - 1)),
        high = v4f_splat((float)(g->high - g->zero + 1));
    int32_t floor = (int32_t)g->low, ceiling = (int32_t)g->high;
    for (int64_t i = 0; i < n; i += 4) {
        size_t left = n - i < 4 ? (size_t)(n - i) : 4;
        v4f v = (left == 4 ? v4f_load(x + i) : v4f_load_part(x + i, left)) * inverse;
        v = v4f_select(v == v, v4f_pmin(v4f_pmax(v, low), high), v4f_zero());
        v4i rounded = v4i_from_v4f(v4f_nearest_small(v) + zero);
        for (size_t k = 0; k < left; k++) {
            int32_t value = rounded[k];
            value = value < floor ? floor : value;
            q[i + (int64_t)k] = value > ceiling ? ceiling : value;
        }
    }
}

static void dequantize_block(float *x, const int32_t *q, int64_t n, const grid *g) {
    uint32_t zero = (uint32_t)g->zero;
    for (int64_t i = 0; i < n; i++) x[i] = (float)(int32_t)((uint32_t)q[i] - zero) * g->scale;
}

// --- Slices --------------------------------------------------------------------------------------

typedef struct conversion {
    const sc_kernel_call *call;
    bool quantizes;
    sc_load_fn load;
    sc_store_fn store;
} conversion;

static sc_status conversion_init(const sc_kernel_call *call, conversion *c, bool quantizes) {
    const sc_tensor *in = sc_call_tensor(call, 0), *out = sc_call_out(call);
    unsigned real = quantizes ? in->dtype : out->dtype, whole = quantizes ? out->dtype : in->dtype;
    c->call = call;
    c->quantizes = quantizes;
    c->load = sc_loader(quantizes ? SC_CLASS_F32 : SC_CLASS_I32, in->dtype);
    c->store = sc_storer(quantizes ? SC_CLASS_I32 : SC_CLASS_F32, out->dtype);
    if (!sc_dtype_is_float((sc_dtype)real) || !sc_dtype_is_integral((sc_dtype)whole, false))
        return sc_call_no_kernel(call);
    if (!sc_same_sizes(in, out))
        return sc_call_fail(call, SC_ERR_SHAPE, "needs a result of its input's sizes");
    return SC_OK;
}

static sc_status check_scale(const conversion *c, float scale) {
    if (!c->quantizes || scale > 0.0f || scale < 0.0f) return SC_OK;
    return sc_call_fail_hint(c->call, SC_ERR_ARGUMENT, "Calibrate again: a scale is 0.",
                             "a quantization scale is zero or not a number");
}

// Elements that share a scale.
typedef struct slice {
    const conversion *c;
    sc_stream from, to;
    int64_t count;
    grid g;
} slice;

static slice slice_of(const conversion *c, const sc_strided *out, const sc_strided *in,
                      const grid *g) {
    slice s = {.c = c, .count = 1, .g = *g};
    for (uint32_t d = 0; d < in->rank; d++) s.count *= in->sizes[d];
    sc_stream_init_dims(&s.from, in->data, sc_dtype_bytes((sc_dtype)in->dtype), in->rank, in->sizes,
                        in->strides);
    sc_stream_init_dims(&s.to, out->data, sc_dtype_bytes((sc_dtype)out->dtype), out->rank,
                        out->sizes, out->strides);
    return s;
}

static void convert_part(void *work, int64_t first, int64_t end, uint32_t thread) {
    const slice *s = work;
    const conversion *c = s->c;
    sc_stream from = s->from, to = s->to;
    (void)thread;
    sc_stream_seek(&from, first);
    sc_stream_seek(&to, first);
    for (int64_t i = first; i < end; i += SC_BLOCK) {
        union {
            float real[SC_BLOCK];
            int32_t whole[SC_BLOCK];
        } a, b;
        int64_t n = sc_min_i64(SC_BLOCK, end - i);
        sc_stream_load(&from, c->load, &a, 4, n);
        if (c->quantizes)
            quantize_block(b.whole, a.real, n, &s->g);
        else
            dequantize_block(b.real, a.whole, n, &s->g);
        sc_stream_store(&to, c->store, &b, 4, n);
    }
}

// Slices along a dim, or one after the other in memory, each with a scale.
typedef struct slices {
    conversion c;
    const sc_tensor *scales, *zeros;  // `zeros` may be NULL
    grid g;                           // the range
    uint32_t axis;
    int64_t row;  // elements of a slice in memory, or 0
} slices;

// Slice `k` of a tensor.
static sc_strided slice_at(const slices *s, const sc_tensor *t, int64_t k) {
    sc_strided view;
    sc_strided_of(&view, t);
    if (s->row == 0) {
        sc_strided_drop(&view, s->axis, k);
        return view;
    }
    view = (sc_strided){
        .data = t->data, .dtype = t->dtype, .rank = 1, .sizes = {s->row}, .strides = {1}};
    view.data += k * s->row * (int64_t)sc_dtype_bytes((sc_dtype)t->dtype);
    return view;
}

static void convert_slices(void *work, int64_t first, int64_t end, uint32_t thread) {
    const slices *s = work;
    for (int64_t k = first; k < end; k++) {
        const sc_strided from = slice_at(s, sc_call_tensor(s->c.call, 0), k);
        const sc_strided to = slice_at(s, sc_call_out(s->c.call), k);
        grid g = s->g;
        g.scale = (float)sc_tensor_real(s->scales, k);
        g.zero = s->zeros ? sc_tensor_integer(s->zeros, k) : 0;
        slice one = slice_of(&s->c, &to, &from, &g);
        convert_part(&one, 0, one.count, thread);
    }
}

static sc_status run_slices(slices *s, int64_t count) {
    for (int64_t k = 0; k < count; k++)
        SC_TRY(check_scale(&s->c, (float)sc_tensor_real(s->scales, k)));
    const int64_t numel = sc_call_out(s->c.call)->numel;
    sc_parallel_rows(count, SC_COST_CONVERT * (double)numel / (double)sc_max_i64(count, 1),
                     convert_slices, s);
    return SC_OK;
}

// Views of both sides in the memory order of the result, so that dense tensors are one run.
static void ordered_views(const conversion *c, sc_strided *out, sc_strided *in) {
    const sc_tensor *result = sc_call_out(c->call);
    uint32_t dims[SC_RANK_MAX];
    sc_strided_of(in, sc_call_tensor(c->call, 0));
    sc_strided_of(out, result);
    for (uint32_t d = 0; d < result->rank; d++) dims[d] = result->dim_order[d];
    sc_strided_permute(in, dims);
    sc_strided_permute(out, dims);
}

static bool range_of(const sc_kernel_call *call, uint32_t first, grid *g) {
    g->low = sc_call_integer(call, first);
    g->high = sc_call_integer(call, first + 1);
    return g->low <= g->high && g->low >= INT32_MIN && g->high <= INT32_MAX;
}

static sc_status wrong_grid(const sc_kernel_call *call) {
    return sc_call_fail(call, SC_ERR_ARGUMENT,
                        "scales, zero points or range do not suit the tensor");
}

// (input, scale, zero_point, quant_min, quant_max, dtype, ..., out), numbers or tensors of one.
static sc_status per_tensor(const sc_kernel_call *call) {
    const bool quantizes = call->kernel->param;
    conversion c;
    grid g;
    sc_strided in, out;
    const sc_tensor *scale = sc_call_tensor(call, 1), *zero = sc_call_tensor(call, 2);
    SC_TRY(conversion_init(call, &c, quantizes));
    if (!range_of(call, 3, &g) || (scale && (scale->numel != 1 || !zero || zero->numel != 1 ||
                                             sc_class_of(scale->dtype) == SC_CLASS_COUNT ||
                                             sc_class_of(zero->dtype) == SC_CLASS_COUNT)))
        return wrong_grid(call);
    g.scale = (float)(scale ? sc_tensor_real(scale, 0) : sc_call_number(call, 1));
    g.zero = zero ? sc_tensor_integer(zero, 0) : sc_call_integer(call, 2);
    ordered_views(&c, &out, &in);
    SC_TRY(check_scale(&c, g.scale));
    slice whole = slice_of(&c, &out, &in, &g);
    sc_parallel_rows(whole.count, SC_COST_CONVERT, convert_part, &whole);
    return SC_OK;
}

static bool suits(const sc_tensor *t, int64_t count) {
    return !t || (t->numel == count && sc_class_of(t->dtype) != SC_CLASS_COUNT);
}

// (input, scales, zero_points, axis, quant_min, quant_max, dtype, ..., out)
static sc_status per_channel(const sc_kernel_call *call) {
    const sc_tensor *in = sc_call_tensor(call, 0);
    slices s = {.scales = sc_call_tensor(call, 1),
                .zeros = sc_call_tensor(call, 2),
                .axis = sc_call_dim(call, 3, in->rank)};
    SC_TRY(conversion_init(call, &s.c, call->kernel->param));
    if (in->rank == 0 || !suits(s.scales, in->sizes[s.axis]) ||
        !suits(s.zeros, in->sizes[s.axis]) || !range_of(call, 4, &s.g))
        return wrong_grid(call);
    return run_slices(&s, in->sizes[s.axis]);
}

// (input, scales, zero_points, quant_min, quant_max, dtype, ..., out): one scale per last-dim row.
static sc_status per_token(const sc_kernel_call *call) {
    const sc_tensor *in = sc_call_tensor(call, 0), *out = sc_call_out(call);
    slices s = {.scales = sc_call_tensor(call, 1), .zeros = sc_call_tensor(call, 2)};
    SC_TRY(conversion_init(call, &s.c, call->kernel->param));
    s.row = in->rank > 0 ? in->sizes[in->rank - 1u] : 1;
    const int64_t rows = s.row > 0 ? in->numel / s.row : 0;
    if (!suits(s.scales, rows) || !suits(s.zeros, rows) || !range_of(call, 3, &s.g) ||
        !sc_tensor_is_contiguous(in) || !sc_tensor_is_contiguous(out))
        return wrong_grid(call);
    return run_slices(&s, rows);
}

// --- Choosing scales -----------------------------------------------------------------------------

// Smallest and largest of `n` elements, widened to contain 0.
static void find_range(sc_stream walk, sc_load_fn load, int64_t n, double *low, double *high) {
    *low = *high = 0.0;
    for (int64_t i = 0; i < n; i += SC_BLOCK) {
        double block[SC_BLOCK];
        int64_t count = sc_min_i64(SC_BLOCK, n - i);
        sc_stream_load(&walk, load, block, sizeof *block, count);
        for (int64_t k = 0; k < count; k++) {
            *low = block[k] < *low ? block[k] : *low;
            *high = block[k] > *high ? block[k] : *high;
        }
    }
}

// (input, quant_min, quant_max, eps, dtype, scale, zero_point): in f32 like PyTorch. If the scale
// is too small to divide by, for a tensor of zeros and a small `eps`, it is 0.1.
static sc_status run_choose(const sc_kernel_call *call) {
    const sc_tensor *in = sc_call_tensor(call, 0), *scale_out = sc_call_tensor(call, 5);
    const sc_tensor *zero_out = sc_call_tensor(call, 6);
    grid g;
    sc_stream walk;
    if (!sc_dtype_is_float((sc_dtype)in->dtype) || scale_out->numel != 1 || zero_out->numel != 1 ||
        scale_out->dtype != SC_DTYPE_F64 || zero_out->dtype != SC_DTYPE_I64 ||
        !range_of(call, 1, &g) || g.low == g.high)
        return wrong_grid(call);
    double low = 0.0, high = 0.0;
    if (in->numel > 0) {
        SC_TRY(sc_stream_open(call->ctx, &walk, in, in));
        find_range(walk, sc_loader(SC_CLASS_F64, in->dtype), in->numel, &low, &high);
    }
    const float eps = (float)sc_call_number(call, 3);
    g.scale = ((float)high - (float)low) / (float)(g.high - g.low);
    g.scale = g.scale > eps ? g.scale : eps;
    if (!(g.scale > 0.0f) || isinf(1.0f / g.scale)) g.scale = 0.1f;
    g.zero = g.low - sc_f64_to_i64((double)nearbyintf((float)low / g.scale));
    *(double *)scale_out->data = (double)g.scale;
    *(int64_t *)zero_out->data = sc_max_i64(g.low, sc_min_i64(g.high, g.zero));
    return SC_OK;
}

typedef struct tokens {
    const sc_tensor *in;
    int64_t row;
    double *scales;
    int64_t *zeros;
} tokens;

static void choose_tokens(void *work, int64_t first, int64_t end, uint32_t thread) {
    const tokens *t = work;
    const sc_tensor *in = t->in;
    sc_stream walk;
    sc_stream_init_dims(&walk, in->data, sc_dtype_bytes((sc_dtype)in->dtype), in->rank, in->sizes,
                        in->strides);
    (void)thread;
    for (int64_t k = first; k < end; k++) {
        double low, high;
        if (k > 0) sc_stream_seek(&walk, k * t->row);
        find_range(walk, sc_loader(SC_CLASS_F64, in->dtype), t->row, &low, &high);
        float scale = ((float)high - (float)low) / 255.0f;
        scale = scale < 1.1920929e-7f ? 1.1920929e-7f : scale;
        float down = (float)low / scale, up = (float)high / scale;
        float zero = (-128.0f + down) + (127.0f + up) > 0 ? -128.0f - down : 127.0f - up;
        zero = zero < -128.0f ? -128.0f : zero > 127.0f ? 127.0f : zero;
        t->scales[k] = (double)scale;
        t->zeros[k] = sc_f64_to_i64(nearbyintf(zero));
    }
}

// (input, dtype, scales, zero_points): int8 per row, in f32 as PyTorch does.
static sc_status run_choose_token(const sc_kernel_call *call) {
    const sc_tensor *in = sc_call_tensor(call, 0), *scales = sc_call_tensor(call, 2);
    const sc_tensor *zeros = sc_call_tensor(call, 3);
    int64_t row = in->rank > 0 ? in->sizes[in->rank - 1u] : 1, rows = row > 0 ? in->numel / row : 0;
    if (!sc_dtype_is_float((sc_dtype)in->dtype) || scales->dtype != SC_DTYPE_F64 ||
        zeros->dtype != SC_DTYPE_I64 || scales->numel != rows || zeros->numel != rows)
        return wrong_grid(call);
    tokens t = {.in = in, .row = row, .scales = scales->data, .zeros = zeros->data};
    sc_parallel_rows(rows, 2 * SC_COST_CONVERT * (double)row, choose_tokens, &t);
    return SC_OK;
}

SC_KERNEL(quantize, .run = per_tensor, .param = true);
SC_KERNEL(dequantize, .run = per_tensor, .param = false);
SC_KERNEL(quantize_channel, .run = per_channel, .param = true);
SC_KERNEL(dequantize_channel, .run = per_channel, .param = false);
SC_KERNEL(quantize_token, .run = per_token, .param = true);
SC_KERNEL(dequantize_token, .run = per_token, .param = false);
SC_KERNEL(choose_qparams, .run = run_choose);
SC_KERNEL(choose_qparams_token, .run = run_choose_token);
