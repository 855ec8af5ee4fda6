// Max and average pooling over one to three spatial dims, with fixed or adaptive windows, in any
// layout. compute/pool_float.h pools f32. Other dtypes are converted and pooled here: a block of
// channels at a time if these are adjacent, else one by one.
// In wasm: -O3
#include <math.h>

#include "compute/pool_float.h"
#include "kernels/iter.h"

#define AXES SC_POOL_AXES

typedef struct pool {
    const sc_tensor *in, *out, *indices;  // indices NULL for averages
    sc_float_pooling of;                  // with pointers to floats, where these are floats
} pool;

// --- Other dtypes than f32 -----------------------------------------------------------------------

enum { LANES = 64 };  // channels at once

// Maxima or sums of the channels of one position, as doubles or integers.
typedef struct lanes {
    double real[LANES];
    int64_t integer[LANES];
    int64_t index[LANES];
} lanes;

typedef struct converting {
    const pool *p;
    bool is_real;
    sc_load_fn load;  // to double or int64
    sc_store_fn store;
} converting;

static void start(const pool *p, lanes *l, int64_t n, int64_t first_index) {
    for (int64_t c = 0; c < n; c++) {
        l->real[c] = p->indices ? -INFINITY : 0.0;
        l->integer[c] = p->indices ? INT64_MIN : 0;
        l->index[c] = first_index;
    }
}

// Sums of integers wrap.
static void add(const converting *to, lanes *l, const char *from, int64_t n, int64_t index) {
    lanes x;
    const bool is_max = to->p->indices;
    to->load(to->is_real ? (void *)x.real : (void *)x.integer, from, to->p->of.in_channel, n);
    for (int64_t c = 0; c < n; c++) {
        const bool wins = to->is_real ? x.real[c] > l->real[c] || x.real[c] != x.real[c]
                                      : x.integer[c] > l->integer[c];
        if (is_max && !wins) continue;
        if (is_max) l->index[c] = index;
        if (to->is_real)
            l->real[c] = is_max ? x.real[c] : l->real[c] + x.real[c];
        else
            l->integer[c] =
                is_max ? x.integer[c] : (int64_t)((uint64_t)l->integer[c] + (uint64_t)x.integer[c]);
    }
}

static void finish(const converting *to, lanes *l, const sc_pool_window *w, int64_t n,
                   int64_t out) {
    const pool *p = to->p;
    const uint32_t width = sc_dtype_bytes((sc_dtype)p->out->dtype);
    const double divisor = p->indices ? 1.0 : sc_pool_divisor(&p->of.windows, w);
    for (int64_t c = 0; c < n && !p->indices; c++) {
        l->real[c] /= divisor;
        l->integer[c] = divisor == 0 ? 0 : l->integer[c] / (int64_t)divisor;
    }
    to->store((char *)p->out->data + out * width, p->of.out_channel,
              to->is_real ? (void *)l->real : (void *)l->integer, n);
    for (int64_t c = 0; c < n && p->indices; c++)
        ((int64_t *)p->indices->data)[out + c * p->of.out_channel] = l->index[c];
}

// `n` channels of the result's position `at`.
static void pool_position(const converting *to, const int64_t *at, int64_t in, int64_t out,
                          int64_t n) {
    const sc_pool_windows *windows = &to->p->of.windows;
    const char *data = to->p->in->data;
    const uint32_t width = sc_dtype_bytes((sc_dtype)to->p->in->dtype);
    const sc_pool_window w = sc_pool_window_at(windows, at, AXES);
    lanes l;
    start(to->p, &l, n, sc_pool_index(windows, w.first[0], w.first[1], w.first[2]));
    for (int64_t i = 0, x = w.first[0]; i < w.count[0]; i++, x += w.step[0])
        for (int64_t j = 0, y = w.first[1]; j < w.count[1]; j++, y += w.step[1])
            for (int64_t k = 0, z = w.first[2]; k < w.count[2]; k++, z += w.step[2])
                add(to, &l, data + (in + sc_pool_offset(windows, x, y, z)) * width, n,
                    sc_pool_index(windows, x, y, z));
    finish(to, &l, &w, n, out);
}

static void pool_channels(const converting *to, int64_t in, int64_t out, int64_t n) {
    const sc_pool_axis *a = to->p->of.windows.axes;
    int64_t at[AXES];
    for (at[0] = 0; at[0] < a[0].out; at[0]++)
        for (at[1] = 0; at[1] < a[1].out; at[1]++)
            for (at[2] = 0; at[2] < a[2].out; at[2]++)
                pool_position(to, at, in,
                              out + at[0] * a[0].out_stride + at[1] * a[1].out_stride +
                                  at[2] * a[2].out_stride,
                              n);
}

// --- Run -----------------------------------------------------------------------------------------

static sc_status run_converting(const sc_kernel_call *call, const pool *p) {
    const sc_float_pooling *of = &p->of;
    sc_class class_ = sc_class_of(p->in->dtype);
    converting to = {.p = p, .is_real = class_ == SC_CLASS_F32 || class_ == SC_CLASS_F64};
    class_ = to.is_real ? SC_CLASS_F64 : SC_CLASS_I64;
    to.load = sc_loader(class_, p->in->dtype);
    to.store = sc_storer(class_, p->out->dtype);
    if (!to.load || !to.store || p->in->dtype == SC_DTYPE_BOOL) return sc_call_no_kernel(call);
    const int64_t step = of->in_channel == 1 ? LANES : 1;
    for (int64_t n = 0; n < of->images; n++)
        for (int64_t c = 0; c < of->channels; c += step)
            pool_channels(&to, n * of->in_image + c * of->in_channel,
                          n * of->out_image + c * of->out_channel,
                          sc_min_i64(step, of->channels - c));
    return SC_OK;
}

static sc_status run_floats(const sc_kernel_call *call, pool *p) {
    const sc_pool_axis *a = p->of.windows.axes;
    if (a[0].in * a[1].in > INT32_MAX / 2 / sc_max_i64(a[2].in, 1))
        return sc_call_fail(call, SC_ERR_LIMIT, "takes at most 2^30 positions of a channel");
    p->of.input = p->in->data;
    p->of.output = p->out->data;
    p->of.indices = p->indices ? p->indices->data : NULL;
    sc_float_pooling_run(&p->of, 0, sc_float_pooling_tiles(&p->of));
    return SC_OK;
}

static sc_status run_pool(const sc_kernel_call *call, pool *p) {
    if (p->in->dtype != p->out->dtype || (p->indices && p->indices->dtype != SC_DTYPE_I64))
        return sc_call_no_kernel(call);
    if (p->out->numel == 0) return SC_OK;
    return p->in->dtype == SC_DTYPE_F32 ? run_floats(call, p) : run_converting(call, p);
}

// --- Arguments -----------------------------------------------------------------------------------

// Batch, channel and `spatial` dims of input and result.
static sc_status pool_dims(const sc_kernel_call *call, pool *p, uint32_t spatial) {
    const sc_tensor *in = p->in, *out = p->out;
    if (in->rank < spatial + 1 || in->rank > spatial + 2 || out->rank != in->rank ||
        (p->indices && !sc_same_layout(p->indices, out)))
        return sc_call_fail(call, SC_ERR_SHAPE, "takes %u or %u dims", spatial + 1, spatial + 2);
    uint32_t c = in->rank - spatial - 1;
    p->of.channels = in->sizes[c];
    p->of.in_channel = in->strides[c];
    p->of.out_channel = out->strides[c];
    p->of.images = c > 0 ? in->sizes[0] : 1;
    p->of.in_image = c > 0 ? in->strides[0] : 0;
    p->of.out_image = c > 0 ? out->strides[0] : 0;
    bool fits = out->sizes[c] == p->of.channels && (c == 0 || out->sizes[0] == p->of.images);
    for (uint32_t k = 0; k < AXES; k++) {
        sc_pool_axis *a = &p->of.windows.axes[k];
        *a = (sc_pool_axis){.in = 1, .out = 1, .kernel = 1, .step = 1, .dilation = 1};
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
        sc_pool_axis *a = &p->of.windows.axes[k + AXES - spatial];
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
static sc_status max_pool(const sc_kernel_call *call) {
    const uint32_t spatial = (uint32_t)call->kernel->param;
    pool p = {.in = sc_call_tensor(call, 0),
              .out = sc_call_tensor(call, 6),
              .indices = sc_call_tensor(call, 7)};
    SC_TRY(pool_dims(call, &p, spatial));
    SC_TRY(pool_windows(call, &p, spatial, true));
    return run_pool(call, &p);
}

// (self, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override, out)
static sc_status avg_pool(const sc_kernel_call *call) {
    const uint32_t spatial = (uint32_t)call->kernel->param;
    pool p = {.in = sc_call_tensor(call, 0), .out = sc_call_out(call)};
    SC_TRY(pool_dims(call, &p, spatial));
    SC_TRY(pool_windows(call, &p, spatial, false));
    p.of.windows.counts_pad = sc_call_integer(call, 5) != 0;
    if (call->arg_count > 7 && !sc_call_is_none(call, 6)) {
        p.of.windows.divisor = sc_call_integer(call, 6);
        if (p.of.windows.divisor == 0)
            return sc_call_fail_hint(call, SC_ERR_ARGUMENT, "Give a divisor other than 0.",
                                     "divisor_override is 0");
    }
    return run_pool(call, &p);
}

// (self, output_size, out): the result's sizes determine the windows.
static sc_status adaptive_avg(const sc_kernel_call *call) {
    const uint32_t spatial = (uint32_t)call->kernel->param;
    pool p = {
        .in = sc_call_tensor(call, 0), .out = sc_call_out(call), .of.windows.is_adaptive = true};
    SC_TRY(pool_dims(call, &p, spatial));
    return run_pool(call, &p);
}

// (self, output_size, out, indices)
static sc_status adaptive_max(const sc_kernel_call *call) {
    const uint32_t spatial = (uint32_t)call->kernel->param;
    pool p = {.in = sc_call_tensor(call, 0),
              .out = sc_call_tensor(call, 2),
              .indices = sc_call_tensor(call, 3),
              .of.windows.is_adaptive = true};
    SC_TRY(pool_dims(call, &p, spatial));
    return run_pool(call, &p);
}

SC_KERNEL(max_pool2d, .run = max_pool, .param = 2, .layout = SC_LAYOUT_ONE);
SC_KERNEL(max_pool3d, .run = max_pool, .param = 3);
SC_KERNEL(avg_pool1d, .run = avg_pool, .param = 1);
SC_KERNEL(avg_pool2d, .run = avg_pool, .param = 2, .layout = SC_LAYOUT_ONE);
SC_KERNEL(avg_pool3d, .run = avg_pool, .param = 3);
SC_KERNEL(adaptive_avg_pool1d, .run = adaptive_avg, .param = 1);
SC_KERNEL(adaptive_avg_pool2d, .run = adaptive_avg, .param = 2, .layout = SC_LAYOUT_ONE);
SC_KERNEL(adaptive_avg_pool3d, .run = adaptive_avg, .param = 3);
SC_KERNEL(adaptive_max_pool2d, .run = adaptive_max, .param = 2);
SC_KERNEL(adaptive_max_pool3d, .run = adaptive_max, .param = 3);
