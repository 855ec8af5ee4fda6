// Max and average pooling over one to three spatial dims, with fixed or adaptive windows, in any
// layout. A pixel's channels are taken a block at a time when they are adjacent (channels-last),
// one by one otherwise. A NaN in a window is its maximum; averages are summed in double.
// In wasm: -O3
#include <math.h>

#include "kernels/iter.h"

#define AXES     3
#define CHANNELS 64

typedef struct axis {
    int64_t in, out, in_stride, out_stride;
    int64_t kernel, step, pad, dilation;
} axis;

typedef struct pool {
    const sc_tensor *in, *out, *indices;  // indices NULL for averages
    axis axes[AXES];                      // outermost first; missing ones have size 1
    int64_t images, channels;
    int64_t in_image, in_channel, out_image, out_channel;  // strides
    bool adaptive, is_max, counts_pad;
    int64_t divisor;  // 0: the size of the window
    bool is_real;
    sc_load_fn load;  // to double or int64
    sc_store_fn store;
} pool;

typedef struct window {
    int64_t first[AXES], count[AXES], step[AXES];
    int64_t padded;  // positions including padding, as averages count them
} window;

// The positions that window `i` of an axis covers: first, how many, how many with padding.
static void axis_window(const pool *p, const axis *a, int64_t i, int64_t *first, int64_t *count,
                        int64_t *padded) {
    if (p->adaptive) {
        *first = i * a->in / a->out;
        *count = *padded = ((i + 1) * a->in + a->out - 1) / a->out - *first;
        return;
    }
    int64_t start = i * a->step - a->pad;
    int64_t skipped = start < 0 ? (-start + a->dilation - 1) / a->dilation : 0;
    *padded = sc_max_i64(sc_min_i64(start + a->kernel, a->in + a->pad) - start, 0);
    *first = start + skipped * a->dilation;
    int64_t room = a->in - *first, fitting = room <= 0 ? 0 : (room + a->dilation - 1) / a->dilation;
    *count = sc_max_i64(sc_min_i64(a->kernel - skipped, fitting), 0);
}

static window window_at(const pool *p, const int64_t *at) {
    window w;
    w.padded = 1;
    for (int k = 0; k < AXES; k++) {
        int64_t padded;
        axis_window(p, &p->axes[k], at[k], &w.first[k], &w.count[k], &padded);
        w.step[k] = p->axes[k].dilation;
        w.padded *= padded;
    }
    return w;
}

static double divisor_of(const pool *p, const window *w) {
    if (p->divisor != 0) return (double)p->divisor;
    if (p->counts_pad && !p->adaptive) return (double)w->padded;
    return (double)(w->count[0] * w->count[1] * w->count[2]);
}

typedef struct accumulators {
    double real[CHANNELS];
    int64_t integer[CHANNELS];
    int64_t index[CHANNELS];
} accumulators;

static void start_window(const pool *p, accumulators *acc, int64_t n, int64_t first_index) {
    for (int64_t c = 0; c < n; c++) {
        acc->real[c] = p->is_max ? -INFINITY : 0.0;
        acc->integer[c] = p->is_max ? INT64_MIN : 0;
        acc->index[c] = first_index;
    }
}

static void add_f32(const pool *p, accumulators *acc, const float *x, int64_t n, int64_t index) {
    if (!p->is_max) {
        for (int64_t c = 0; c < n; c++) acc->real[c] += (double)x[c];
        return;
    }
    for (int64_t c = 0; c < n; c++) {
        double v = (double)x[c];
        if (v > acc->real[c] || v != v) {
            acc->real[c] = v;
            acc->index[c] = index;
        }
    }
}

static void add_any(const pool *p, accumulators *acc, const char *x, int64_t stride, int64_t n,
                    int64_t index) {
    double real[CHANNELS];
    int64_t integer[CHANNELS];
    p->load(p->is_real ? (void *)real : (void *)integer, x, stride, n);
    for (int64_t c = 0; c < n; c++) {
        bool larger = p->is_real ? real[c] > acc->real[c] || real[c] != real[c]
                                 : integer[c] > acc->integer[c];
        if (p->is_max && larger) acc->index[c] = index;
        if (p->is_real)
            acc->real[c] = !p->is_max ? acc->real[c] + real[c] : larger ? real[c] : acc->real[c];
        else
            acc->integer[c] = !p->is_max
                                  ? (int64_t)((uint64_t)acc->integer[c] + (uint64_t)integer[c])
                              : larger ? integer[c]
                                       : acc->integer[c];
    }
}

static void finish_window(const pool *p, accumulators *acc, const window *w, int64_t n,
                          int64_t out_offset) {
    uint32_t width = sc_dtype_bytes((sc_dtype)p->out->dtype);
    double divide_by = p->is_max ? 1.0 : divisor_of(p, w);
    for (int64_t c = 0; c < n && !p->is_max; c++) {
        acc->real[c] /= divide_by;
        acc->integer[c] = divide_by == 0 ? 0 : acc->integer[c] / (int64_t)divide_by;
    }
    p->store((char *)p->out->data + out_offset * width, p->out_channel,
             p->is_real ? (void *)acc->real : (void *)acc->integer, n);
    for (int64_t c = 0; c < n && p->indices; c++)
        ((int64_t *)p->indices->data)[out_offset + c * p->out_channel] = acc->index[c];
}

// `n` channels of one output position.
static void pool_pixel(const pool *p, const window *w, int64_t in_offset, int64_t out_offset,
                       int64_t n) {
    accumulators acc;
    const axis *a = p->axes;
    uint32_t width = sc_dtype_bytes((sc_dtype)p->in->dtype);
    bool direct = p->in->dtype == SC_DTYPE_F32 && (p->in_channel == 1 || n == 1);
    start_window(p, &acc, n, (w->first[0] * a[1].in + w->first[1]) * a[2].in + w->first[2]);
    for (int64_t i = 0, x = w->first[0]; i < w->count[0]; i++, x += w->step[0]) {
        for (int64_t j = 0, y = w->first[1]; j < w->count[1]; j++, y += w->step[1]) {
            for (int64_t k = 0, z = w->first[2]; k < w->count[2]; k++, z += w->step[2]) {
                int64_t index = (x * a[1].in + y) * a[2].in + z;
                const char *at =
                    (const char *)p->in->data +
                    (in_offset + x * a[0].in_stride + y * a[1].in_stride + z * a[2].in_stride) *
                        width;
                if (direct)
                    add_f32(p, &acc, (const float *)(const void *)at, n, index);
                else
                    add_any(p, &acc, at, p->in_channel, n, index);
            }
        }
    }
    finish_window(p, &acc, w, n, out_offset);
}

// --- Pixels of f32 -------------------------------------------------------------------------------

// Maxima of channels side by side, and where they are.
typedef struct maxima {
    float best[CHANNELS];
    int32_t index[CHANNELS];
} maxima;

static void add_channels(maxima *m, const float *x, int64_t n, int32_t index) {
    for (int64_t c = 0; c < n; c++) {
        const bool wins = x[c] > m->best[c] || x[c] != x[c];
        m->best[c] = wins ? x[c] : m->best[c];
        m->index[c] = wins ? index : m->index[c];
    }
}

static bool has_pixels(const pool *p) {
    const axis *a = p->axes;
    return p->is_max && p->in->dtype == SC_DTYPE_F32 && p->in_channel == 1 && p->out_channel == 1 &&
           a[0].in * a[1].in <= INT32_MAX / sc_max_i64(a[2].in, 1);
}

// `n` channels of one output position, whose maxima and their places lie side by side.
static void max_pixel(const pool *p, const window *w, int64_t in_offset, int64_t out_offset,
                      int64_t n) {
    maxima m;
    const axis *a = p->axes;
    const float *in = (const float *)p->in->data + in_offset;
    const int64_t first = (w->first[0] * a[1].in + w->first[1]) * a[2].in + w->first[2];
    for (int64_t c = 0; c < n; c++) {
        m.best[c] = -INFINITY;
        m.index[c] = (int32_t)first;
    }
    for (int64_t i = 0, x = w->first[0]; i < w->count[0]; i++, x += w->step[0]) {
        for (int64_t j = 0, y = w->first[1]; j < w->count[1]; j++, y += w->step[1]) {
            for (int64_t k = 0, z = w->first[2]; k < w->count[2]; k++, z += w->step[2])
                add_channels(&m, in + x * a[0].in_stride + y * a[1].in_stride + z * a[2].in_stride,
                             n, (int32_t)((x * a[1].in + y) * a[2].in + z));
        }
    }
    memcpy((float *)p->out->data + out_offset, m.best, (size_t)n * sizeof *m.best);
    for (int64_t c = 0; c < n; c++) ((int64_t *)p->indices->data)[out_offset + c] = m.index[c];
}

// --- Blocks of channels --------------------------------------------------------------------------

static void pool_block(const pool *p, int64_t in_offset, int64_t out_offset, int64_t n) {
    const axis *a = p->axes;
    const bool by_pixels = has_pixels(p);
    int64_t at[AXES];
    for (at[0] = 0; at[0] < a[0].out; at[0]++) {
        for (at[1] = 0; at[1] < a[1].out; at[1]++) {
            for (at[2] = 0; at[2] < a[2].out; at[2]++) {
                window w = window_at(p, at);
                int64_t to =
                    at[0] * a[0].out_stride + at[1] * a[1].out_stride + at[2] * a[2].out_stride;
                if (by_pixels)
                    max_pixel(p, &w, in_offset, out_offset + to, n);
                else
                    pool_pixel(p, &w, in_offset, out_offset + to, n);
            }
        }
    }
}

// --- Rows of f32 ---------------------------------------------------------------------------------

// Output columns side by side, for planes whose rows are dense (the usual layout).
typedef struct row_lanes {
    float best[CHANNELS];
    int32_t index[CHANNELS];
    double sum[CHANNELS];
} row_lanes;

// The steps that fit into x, which is at least 0. Every tap of every row asks, so dividing would
// take longer than the rest.
static int64_t steps_in(int64_t x, int64_t step) {
    return step == 1 ? x : step == 2 ? x >> 1 : x / step;
}

// Steps that compilers know become shuffles of whole vectors.
static void add_sums(double *sum, const float *from, int64_t low, int64_t high, int64_t step) {
    if (step == 1)
        for (int64_t i = low; i < high; i++) sum[i] += (double)from[i];
    else if (step == 2)
        for (int64_t i = low; i < high; i++) sum[i] += (double)from[2 * i];
    else
        for (int64_t i = low; i < high; i++) sum[i] += (double)from[i * step];
}

// One tap of the window over output columns [x, x + n): those whose input column exists.
static void add_tap(const pool *p, row_lanes *lanes, const float *row, int64_t tap, int64_t x,
                    int64_t n, int64_t base) {
    const axis *a = &p->axes[2];
    int64_t shift = tap * a->dilation - a->pad, step = a->step;
    int64_t low = shift >= 0 ? 0 : steps_in(-shift + step - 1, step);
    int64_t high = a->in - 1 - shift < 0 ? 0 : steps_in(a->in - 1 - shift, step) + 1;
    low = sc_max_i64(low - x, 0);
    high = sc_min_i64(high - x, n);
    if (low >= high) return;
    const float *from = row + x * step + shift;
    int32_t column = (int32_t)(base + x * step + shift);
    if (!p->is_max) {
        add_sums(lanes->sum, from, low, high, step);
        return;
    }
    for (int64_t i = low; i < high; i++) {
        float v = from[i * step];
        bool wins = v > lanes->best[i] || v != v;
        lanes->best[i] = wins ? v : lanes->best[i];
        lanes->index[i] = wins ? column + (int32_t)(i * step) : lanes->index[i];
    }
}

// The divisor of that column's window.
static double divisor_at(const pool *p, const window *w, int64_t x) {
    window whole = *w;
    int64_t padded;
    axis_window(p, &p->axes[2], x, &whole.first[2], &whole.count[2], &padded);
    whole.padded *= padded;
    return divisor_of(p, &whole);
}

// Windows that lie in the row as a whole have one divisor.
static void finish_averages(const pool *p, const row_lanes *lanes, const window *w, int64_t x,
                            int64_t n, float *out) {
    const axis *a = &p->axes[2];
    const int64_t reach = (a->kernel - 1) * a->dilation - a->pad, room = a->in - 1 - reach;
    const int64_t low = sc_max_i64((a->pad + a->step - 1) / a->step - x, 0);
    const int64_t high = room < 0 ? 0 : sc_min_i64(room / a->step + 1 - x, n);
    const double inside = low < high ? divisor_at(p, w, x + low) : 1;
    for (int64_t i = low; i < high; i++) out[i] = (float)(lanes->sum[i] / inside);
    for (int64_t i = 0; i < n; i++)
        if (i < low || i >= high) out[i] = (float)(lanes->sum[i] / divisor_at(p, w, x + i));
}

static void finish_row(const pool *p, const row_lanes *lanes, const window *w, int64_t x, int64_t n,
                       int64_t out_offset) {
    float *out = (float *)p->out->data + out_offset;
    int64_t *indices = p->indices ? (int64_t *)p->indices->data + out_offset : NULL;
    if (p->is_max) {
        memcpy(out, lanes->best, (size_t)n * sizeof *out);
        for (int64_t i = 0; i < n; i++) indices[i] = lanes->index[i];
        return;
    }
    finish_averages(p, lanes, w, x, n, out);
}

static void start_row(const pool *p, row_lanes *lanes, int64_t start, int64_t x, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        int64_t first, count, padded;
        lanes->sum[i] = 0.0;
        if (!p->is_max) continue;
        axis_window(p, &p->axes[2], x + i, &first, &count, &padded);
        lanes->best[i] = -INFINITY;
        lanes->index[i] = (int32_t)(start + first);
    }
}

// `w` holds the first two axes; its `padded` is their product.
static void pool_row(const pool *p, const window *w, int64_t in_offset, int64_t out_offset) {
    const axis *a = p->axes;
    for (int64_t x = 0; x < a[2].out; x += CHANNELS) {
        row_lanes lanes;
        int64_t n = sc_min_i64(CHANNELS, a[2].out - x);
        start_row(p, &lanes, (w->first[0] * a[1].in + w->first[1]) * a[2].in, x, n);
        for (int64_t i = 0, d = w->first[0]; i < w->count[0]; i++, d += w->step[0]) {
            for (int64_t j = 0, y = w->first[1]; j < w->count[1]; j++, y += w->step[1]) {
                const float *row = (const float *)p->in->data + in_offset + d * a[0].in_stride +
                                   y * a[1].in_stride;
                for (int64_t tap = 0; tap < a[2].kernel; tap++)
                    add_tap(p, &lanes, row, tap, x, n, (d * a[1].in + y) * a[2].in);
            }
        }
        finish_row(p, &lanes, w, x, n, out_offset + x);
    }
}

static bool has_rows(const pool *p) {
    const axis *a = p->axes;
    return p->in->dtype == SC_DTYPE_F32 && !p->adaptive && a[2].in_stride == 1 &&
           a[2].out_stride == 1 && a[0].in * a[1].in <= INT32_MAX / sc_max_i64(a[2].in, 1) / 2;
}

static void pool_rows(const pool *p, int64_t in_offset, int64_t out_offset) {
    const axis *a = p->axes;
    for (int64_t d = 0; d < a[0].out; d++) {
        for (int64_t y = 0; y < a[1].out; y++) {
            window w;
            int64_t padded[2];
            axis_window(p, &a[0], d, &w.first[0], &w.count[0], &padded[0]);
            axis_window(p, &a[1], y, &w.first[1], &w.count[1], &padded[1]);
            w.step[0] = a[0].dilation;
            w.step[1] = a[1].dilation;
            w.padded = padded[0] * padded[1];
            pool_row(p, &w, in_offset, out_offset + d * a[0].out_stride + y * a[1].out_stride);
        }
    }
}

static sc_status run_pool(const sc_kernel_call *call, pool *p) {
    sc_class class_ = sc_class_of(p->in->dtype);
    p->is_real = class_ == SC_CLASS_F32 || class_ == SC_CLASS_F64;
    class_ = p->is_real ? SC_CLASS_F64 : SC_CLASS_I64;
    p->load = sc_loader(class_, p->in->dtype);
    p->store = sc_storer(class_, p->out->dtype);
    if (!p->load || !p->store || p->in->dtype == SC_DTYPE_BOOL || p->in->dtype != p->out->dtype ||
        (p->indices && p->indices->dtype != SC_DTYPE_I64))
        return sc_call_no_kernel(call);
    if (p->out->numel == 0) return SC_OK;
    bool by_rows = has_rows(p);
    int64_t step = !by_rows && p->in_channel == 1 ? CHANNELS : 1;
    for (int64_t n = 0; n < p->images; n++) {
        for (int64_t c = 0; c < p->channels; c += step) {
            int64_t in = n * p->in_image + c * p->in_channel;
            int64_t out = n * p->out_image + c * p->out_channel;
            if (by_rows)
                pool_rows(p, in, out);
            else
                pool_block(p, in, out, sc_min_i64(step, p->channels - c));
        }
    }
    return SC_OK;
}

// --- Arguments -----------------------------------------------------------------------------------

// Batch, channel and `spatial` dims of input and result.
static sc_status pool_dims(const sc_kernel_call *call, pool *p, uint32_t spatial) {
    const sc_tensor *in = p->in, *out = p->out;
    if (in->rank < spatial + 1 || in->rank > spatial + 2 || out->rank != in->rank ||
        (p->indices && !sc_same_layout(p->indices, out)))
        return sc_call_fail(call, SC_ERR_SHAPE, "takes %u or %u dims", spatial + 1, spatial + 2);
    uint32_t c = in->rank - spatial - 1;
    p->channels = in->sizes[c];
    p->in_channel = in->strides[c];
    p->out_channel = out->strides[c];
    p->images = c > 0 ? in->sizes[0] : 1;
    p->in_image = c > 0 ? in->strides[0] : 0;
    p->out_image = c > 0 ? out->strides[0] : 0;
    bool fits = out->sizes[c] == p->channels && (c == 0 || out->sizes[0] == p->images);
    for (uint32_t k = 0; k < AXES; k++) {
        axis *a = &p->axes[k];
        *a = (axis){.in = 1, .out = 1, .kernel = 1, .step = 1, .dilation = 1};
        if (k + spatial < AXES) continue;
        uint32_t d = c + 1 + k - (AXES - spatial);
        a->in = in->sizes[d];
        a->out = out->sizes[d];
        a->in_stride = in->strides[d];
        a->out_stride = out->strides[d];
        fits = fits && (a->in > 0 || out->numel == 0);
    }
    return fits ? SC_OK : sc_call_fail(call, SC_ERR_SHAPE, "the shapes do not agree");
}

// Kernel, stride (kernel when empty), padding, dilation (1 when there is no such argument).
static sc_status pool_windows(const sc_kernel_call *call, pool *p, uint32_t spatial,
                              bool has_dilation) {
    int64_t kernel[AXES], step[AXES], pad[AXES], dilation[AXES] = {1, 1, 1};
    bool fits = sc_call_ints(call, 1, kernel, AXES, spatial) == spatial;
    if (sc_call_ints(call, 2, step, AXES, spatial) == 0) memcpy(step, kernel, sizeof step);
    fits = fits && sc_call_ints(call, 3, pad, AXES, spatial) == spatial;
    if (has_dilation) fits = fits && sc_call_ints(call, 4, dilation, AXES, spatial) == spatial;
    for (uint32_t k = 0; fits && k < spatial; k++) {
        axis *a = &p->axes[k + AXES - spatial];
        const int64_t most = INT32_MAX;  // keeps every product below in range
        fits = kernel[k] > 0 && step[k] > 0 && pad[k] >= 0 && dilation[k] > 0 &&
               kernel[k] <= most && step[k] <= most && pad[k] <= kernel[k] / 2 &&
               dilation[k] <= most;
        a->kernel = kernel[k];
        a->step = step[k];
        a->pad = pad[k];
        a->dilation = dilation[k];
    }
    if (!fits)
        return sc_call_fail_hint(
            call, SC_ERR_ARGUMENT,
            "Use a positive kernel and stride, and a padding of at most half the kernel.",
            "a kernel size, stride, padding or dilation is out of range");
    return SC_OK;
}

// (self, kernel, stride, padding, dilation, ceil_mode, out, indices)
static sc_status max_pool(const sc_kernel_call *call, uint32_t spatial) {
    pool p = {.in = sc_call_tensor(call, 0),
              .out = sc_call_tensor(call, 6),
              .indices = sc_call_tensor(call, 7),
              .is_max = true};
    SC_TRY(pool_dims(call, &p, spatial));
    SC_TRY(pool_windows(call, &p, spatial, true));
    return run_pool(call, &p);
}

static sc_status run_max_pool2d(const sc_kernel_call *call) { return max_pool(call, 2); }

static sc_status run_max_pool3d(const sc_kernel_call *call) { return max_pool(call, 3); }

// (self, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override, out)
static sc_status avg_pool(const sc_kernel_call *call, uint32_t spatial) {
    pool p = {.in = sc_call_tensor(call, 0), .out = sc_call_out(call)};
    SC_TRY(pool_dims(call, &p, spatial));
    SC_TRY(pool_windows(call, &p, spatial, false));
    p.counts_pad = sc_call_integer(call, 5) != 0;
    if (call->arg_count > 7 && !sc_call_is_none(call, 6)) {
        p.divisor = sc_call_integer(call, 6);
        if (p.divisor == 0)
            return sc_call_fail_hint(call, SC_ERR_ARGUMENT, "Give a divisor other than 0.",
                                     "divisor_override is 0");
    }
    return run_pool(call, &p);
}

static sc_status run_avg_pool1d(const sc_kernel_call *call) { return avg_pool(call, 1); }

static sc_status run_avg_pool2d(const sc_kernel_call *call) { return avg_pool(call, 2); }

static sc_status run_avg_pool3d(const sc_kernel_call *call) { return avg_pool(call, 3); }

// (self, output_size, out): the result's sizes say it all.
static sc_status adaptive_avg(const sc_kernel_call *call, uint32_t spatial) {
    pool p = {.in = sc_call_tensor(call, 0), .out = sc_call_out(call), .adaptive = true};
    SC_TRY(pool_dims(call, &p, spatial));
    return run_pool(call, &p);
}

static sc_status run_adaptive_avg_pool1d(const sc_kernel_call *call) {
    return adaptive_avg(call, 1);
}

static sc_status run_adaptive_avg_pool2d(const sc_kernel_call *call) {
    return adaptive_avg(call, 2);
}

static sc_status run_adaptive_avg_pool3d(const sc_kernel_call *call) {
    return adaptive_avg(call, 3);
}

// (self, output_size, out, indices)
static sc_status adaptive_max(const sc_kernel_call *call, uint32_t spatial) {
    pool p = {.in = sc_call_tensor(call, 0),
              .out = sc_call_tensor(call, 2),
              .indices = sc_call_tensor(call, 3),
              .adaptive = true,
              .is_max = true};
    SC_TRY(pool_dims(call, &p, spatial));
    return run_pool(call, &p);
}

static sc_status run_adaptive_max_pool2d(const sc_kernel_call *call) {
    return adaptive_max(call, 2);
}

static sc_status run_adaptive_max_pool3d(const sc_kernel_call *call) {
    return adaptive_max(call, 3);
}

SC_KERNEL(max_pool2d, .run = run_max_pool2d, .layout = SC_LAYOUT_ONE);
SC_KERNEL(max_pool3d, .run = run_max_pool3d);
SC_KERNEL(avg_pool1d, .run = run_avg_pool1d);
SC_KERNEL(avg_pool2d, .run = run_avg_pool2d, .layout = SC_LAYOUT_ONE);
SC_KERNEL(avg_pool3d, .run = run_avg_pool3d);
SC_KERNEL(adaptive_avg_pool1d, .run = run_adaptive_avg_pool1d);
SC_KERNEL(adaptive_avg_pool2d, .run = run_adaptive_avg_pool2d, .layout = SC_LAYOUT_ONE);
SC_KERNEL(adaptive_avg_pool3d, .run = run_adaptive_avg_pool3d);
SC_KERNEL(adaptive_max_pool2d, .run = run_adaptive_max_pool2d);
SC_KERNEL(adaptive_max_pool3d, .run = run_adaptive_max_pool3d);
