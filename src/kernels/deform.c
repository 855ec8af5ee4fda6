// Convolution whose taps read pixels at individual offsets. At every place of the result the pixels
// are sampled once, and then weighted for each of its channels.
#include <math.h>

#include "base/parallel.h"
#include "kernels/kernel.h"

typedef struct deform {
    const sc_tensor *in, *weight, *offset, *mask, *bias, *out;
    int64_t stride[2], pad[2], dilation[2];
    int64_t groups, offset_groups;
    bool use_mask, is_single;
    double *column;  // sampled pixels: by channel and tap
} deform;

static double at4(const sc_tensor *t, int64_t a, int64_t b, int64_t c, int64_t d) {
    const int64_t *s = t->strides;
    return sc_tensor_real(t, a * s[0] + b * s[1] + c * s[2] + d * s[3]);
}

static double pixel(const deform *g, int64_t n, int64_t c, int64_t y, int64_t x) {
    if (y < 0 || y >= g->in->sizes[2] || x < 0 || x >= g->in->sizes[3]) return 0.0;
    return at4(g->in, n, c, y, x);
}

// Positions and samples are rounded to the operands' type step by step, as in torchvision. A
// position on a pixel ignores the next pixel, which may be infinite.
static double r(const deform *g, double x) { return g->is_single ? (double)(float)x : x; }

// A position outside the image counts as 0.
static double interpolate(const deform *g, int64_t n, int64_t c, double y, double x) {
    if (!(y > -1 && y < (double)g->in->sizes[2] && x > -1 && x < (double)g->in->sizes[3]))
        return 0.0;
    int64_t top = (int64_t)floor(y), left = (int64_t)floor(x);
    const double v = r(g, y - (double)top), h = r(g, x - (double)left);
    const double of_row[2] = {r(g, 1 - v), v}, of_column[2] = {r(g, 1 - h), h};
    double sum = 0.0;
    for (int i = 0; i < 4; i++) {
        const double weight = r(g, of_row[i / 2] * of_column[i % 2]);
        sum = r(g, sum + r(g, weight * pixel(g, n, c, top + i / 2, left + i % 2)));
    }
    return sum;
}

static void sample_place(const deform *g, int64_t n, int64_t row, int64_t column) {
    int64_t height = g->weight->sizes[2], width = g->weight->sizes[3], taps = height * width;
    int64_t per_group = g->in->sizes[1] / g->offset_groups;
    for (int64_t c = 0; c < g->in->sizes[1]; c++)
        for (int64_t i = 0; i < taps; i++) {
            int64_t tap = c / per_group * taps + i;
            double y = (double)(row * g->stride[0] - g->pad[0] + i / width * g->dilation[0]);
            double x = (double)(column * g->stride[1] - g->pad[1] + i % width * g->dilation[1]);
            y = r(g, y + at4(g->offset, n, 2 * tap, row, column));
            x = r(g, x + at4(g->offset, n, 2 * tap + 1, row, column));
            double value = interpolate(g, n, c, y, x);
            if (g->use_mask) value = r(g, value * at4(g->mask, n, tap, row, column));
            g->column[c * taps + i] = value;
        }
}

static void weigh_place(const deform *g, int64_t n, int64_t row, int64_t column) {
    int64_t width = g->weight->sizes[3], taps = g->weight->sizes[2] * width;
    int64_t inputs = g->weight->sizes[1], outputs = g->weight->sizes[0] / g->groups;
    const int64_t *step = g->out->strides;
    for (int64_t o = 0; o < g->weight->sizes[0]; o++) {
        const double *from = g->column + o / outputs * inputs * taps;
        double sum = sc_tensor_real(g->bias, o * g->bias->strides[0]);
        for (int64_t c = 0; c < inputs; c++)
            for (int64_t i = 0; i < taps; i++)
                sum += from[c * taps + i] * at4(g->weight, o, c, i / width, i % width);
        sc_tensor_put_real(g->out, n * step[0] + o * step[1] + row * step[2] + column * step[3],
                           sum);
    }
}

static uint64_t deform_scratch(const sc_kernel_call *call) {
    const sc_tensor *in = sc_call_tensor(call, 0), *weight = sc_call_tensor(call, 1);
    uint64_t count = sizeof(double);
    if (in->rank != 4 || weight->rank != 4 || !sc_mul_u64(count, (uint64_t)in->sizes[1], &count) ||
        !sc_mul_u64(count, (uint64_t)weight->sizes[2], &count) ||
        !sc_mul_u64(count, (uint64_t)weight->sizes[3], &count))
        return UINT64_MAX / 4;
    return count;
}

static bool has_places(const sc_tensor *t, const deform *g, int64_t channels) {
    return t->rank == 4 && t->sizes[0] == g->out->sizes[0] && t->sizes[1] == channels &&
           t->sizes[2] == g->out->sizes[2] && t->sizes[3] == g->out->sizes[3];
}

static bool fits(const deform *g) {
    const sc_tensor *in = g->in, *weight = g->weight, *out = g->out;
    if (in->rank != 4 || weight->rank != 4 || out->rank != 4 || g->bias->rank != 1) return false;
    int64_t taps = g->offset_groups * weight->sizes[2] * weight->sizes[3];
    return g->groups > 0 && g->offset_groups > 0 && in->sizes[1] > 0 &&
           in->sizes[1] % g->offset_groups == 0 && weight->sizes[1] * g->groups == in->sizes[1] &&
           weight->sizes[0] % g->groups == 0 && out->sizes[0] == in->sizes[0] &&
           out->sizes[1] == weight->sizes[0] && g->bias->sizes[0] == weight->sizes[0] &&
           has_places(g->offset, g, 2 * taps) && (!g->use_mask || has_places(g->mask, g, taps));
}

// Rows of all images, one after the other.
static void deform_rows(void *work, int64_t from, int64_t to, uint32_t thread) {
    deform g = *(const deform *)work;
    if (thread) g.column = sc_parallel_scratch(thread);
    for (int64_t i = from; i < to; i++) {
        const int64_t n = i / g.out->sizes[2], row = i % g.out->sizes[2];
        for (int64_t column = 0; column < g.out->sizes[3]; column++) {
            sample_place(&g, n, row, column);
            weigh_place(&g, n, row, column);
        }
    }
}

static void share_rows(deform *g, uint64_t bytes) {
    const double samples = (double)(bytes / sizeof(double));
    const double channels = (double)g->weight->sizes[0] / (double)g->groups;
    const double place = samples * (16 + channels) * SC_COST_CONVERT;
    const int64_t rows = g->out->sizes[0] * g->out->sizes[2];
    const int64_t step = sc_parallel_step(rows, place * (double)g->out->sizes[3]);
    if (step < rows && sc_parallel_reserve(bytes))
        sc_parallel(rows, step, deform_rows, g);
    else
        deform_rows(g, 0, rows, 0);
}

// (input, weight, offset, mask, bias, stride, stride, pad, pad, dilation, dilation, groups,
// offset_groups, use_mask, out)
static sc_status run_deform_conv2d(const sc_kernel_call *call) {
    deform g = {.in = sc_call_tensor(call, 0),
                .weight = sc_call_tensor(call, 1),
                .offset = sc_call_tensor(call, 2),
                .mask = sc_call_tensor(call, 3),
                .bias = sc_call_tensor(call, 4),
                .out = sc_call_out(call),
                .groups = sc_call_integer(call, 11),
                .offset_groups = sc_call_integer(call, 12),
                .use_mask = sc_call_integer(call, 13) != 0,
                .column = call->scratch};
    for (uint32_t i = 0; i < 2; i++) {
        g.stride[i] = sc_call_integer(call, 5 + i);
        g.pad[i] = sc_call_integer(call, 7 + i);
        g.dilation[i] = sc_call_integer(call, 9 + i);
    }
    uint8_t dtype = g.in->dtype;
    g.is_single = dtype == SC_DTYPE_F32;
    if ((dtype != SC_DTYPE_F32 && dtype != SC_DTYPE_F64) || g.weight->dtype != dtype ||
        g.offset->dtype != dtype || g.bias->dtype != dtype || g.out->dtype != dtype ||
        g.mask->dtype != dtype)
        return sc_call_no_kernel(call);
    if (!fits(&g)) return sc_call_fail(call, SC_ERR_SHAPE, "the operands do not fit");
    if (call->scratch_bytes < deform_scratch(call)) return sc_call_starved(call);
    share_rows(&g, deform_scratch(call));
    return SC_OK;
}

SC_KERNEL(deform_conv2d, .run = run_deform_conv2d, .scratch = deform_scratch);
