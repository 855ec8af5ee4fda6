// Max and average pooling over one to three spatial dims, with fixed or adaptive windows, in any
// layout: reads the arguments, and picks the loops for f32 or those for other dtypes.
#include "compute/pool_nd.h"
#include "kernels/iter.h"

#define AXES SC_POOL_AXES

typedef struct pool {
    const sc_tensor *in, *out, *indices;  // indices NULL for averages
    sc_nd_pooling of;
} pool;

// Elements that windows read for a tile, at most.
static double reads_of(const pool *p, int64_t tiles) {
    double reads = (double)p->out->numel / (double)sc_max_i64(tiles, 1);
    for (uint32_t k = 0; k < AXES; k++) {
        const sc_pool_axis *a = &p->of.windows.axes[k];
        reads *= p->of.windows.is_adaptive ? (double)a->in / (double)a->out : (double)a->kernel;
    }
    return reads;
}

// --- Run -----------------------------------------------------------------------------------------

static sc_status run_wide(const sc_kernel_call *call, pool *p) {
    const sc_class from = sc_class_of(p->in->dtype);
    const bool is_real = from == SC_CLASS_F32 || from == SC_CLASS_F64;
    const sc_class class_ = is_real ? SC_CLASS_F64 : SC_CLASS_I64;
    p->of.element_size = sc_dtype_bytes((sc_dtype)p->in->dtype);
    p->of.is_real = is_real;
    p->of.load = sc_loader(class_, p->in->dtype);
    p->of.store = sc_storer(class_, p->out->dtype);
    if (!p->of.load || !p->of.store || p->in->dtype == SC_DTYPE_BOOL)
        return sc_call_no_kernel(call);
    const int64_t tiles = sc_wide_pooling_tiles(&p->of);
    sc_parallel_rows(tiles, SC_COST_FUNCTION * reads_of(p, tiles), sc_wide_pooling_run, &p->of);
    return SC_OK;
}

static sc_status run_floats(const sc_kernel_call *call, pool *p) {
    const sc_pool_axis *a = p->of.windows.axes;
    if (a[0].in * a[1].in > INT32_MAX / 2 / sc_max_i64(a[2].in, 1))
        return sc_call_fail(call, SC_ERR_LIMIT, "takes at most 2^30 positions of a channel");
    const int64_t tiles = sc_float_pooling_tiles(&p->of);
    sc_parallel_rows(tiles, SC_COST_SUM * reads_of(p, tiles), sc_float_pooling_run, &p->of);
    return SC_OK;
}

static sc_status run_pool(const sc_kernel_call *call, pool *p) {
    if (p->in->dtype != p->out->dtype || (p->indices && p->indices->dtype != SC_DTYPE_I64))
        return sc_call_no_kernel(call);
    if (p->out->numel == 0) return SC_OK;
    p->of.input = p->in->data;
    p->of.output = p->out->data;
    p->of.indices = p->indices ? p->indices->data : NULL;
    return p->in->dtype == SC_DTYPE_F32 ? run_floats(call, p) : run_wide(call, p);
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
