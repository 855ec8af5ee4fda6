// Resizing with antialiasing, as image libraries do: every output pixel is a weighted mean of the
// pixels that its filter covers, and the filter widens with the scale.
#include <math.h>

#include "base/parallel.h"
#include "core/pixel_scale.h"
#include "kernels/convert.h"
#include "kernels/iter.h"

typedef double (*filter_fn)(double x);

typedef struct taps {
    int64_t first, count;
    double center, inverse, total;
    filter_fn filter;
} taps;

static double triangle(double x) {
    x = fabs(x);
    return x < 1.0 ? 1.0 - x : 0.0;
}

// Keys' cubic with a = -0.5.
static double cubic(double x) {
    const double a = -0.5;
    x = fabs(x);
    if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
    return x < 2.0 ? (((x - 5.0) * x + 8.0) * x - 4.0) * a : 0.0;
}

static double weight_at(const taps *t, int64_t k) {
    return t->filter(((double)(k + t->first) - t->center + 0.5) * t->inverse);
}

static taps taps_at(int64_t i, double scale, int64_t size, filter_fn filter, double radius) {
    double support = scale >= 1.0 ? radius * scale : radius;
    taps t = {.center = scale * ((double)i + 0.5),
              .inverse = scale >= 1.0 ? 1.0 / scale : 1.0,
              .filter = filter};
    t.first = sc_max_i64(sc_f64_to_i64(t.center - support + 0.5), 0);
    t.first = sc_min_i64(t.first, size);
    t.count = sc_max_i64(sc_min_i64(sc_f64_to_i64(t.center + support + 0.5), size) - t.first, 0);
    for (int64_t k = 0; k < t.count; k++) t.total += weight_at(&t, k);
    return t;
}

static double axis_scale(const sc_kernel_call *call, uint32_t argument, int64_t in, int64_t out,
                         bool align) {
    double factor = sc_call_is_none(call, argument) ? 0.0 : sc_call_number(call, argument);
    return sc_pixel_scale(in, out, align, factor);
}

static double mean_at(const sc_tensor *in, int64_t plane, const taps *y, const taps *x) {
    uint32_t width = sc_dtype_bytes((sc_dtype)in->dtype);
    sc_load_fn load = sc_loader(SC_CLASS_F64, in->dtype);
    double sum = 0.0;
    for (int64_t r = 0; r < y->count; r++) {
        double row = 0.0;
        for (int64_t c = 0; c < x->count; c++) {
            double value;
            int64_t at = plane + (y->first + r) * in->strides[2] + (x->first + c) * in->strides[3];
            load(&value, (const char *)in->data + at * width, 1, 1);
            row += value * weight_at(x, c);
        }
        sum += row * weight_at(y, r);
    }
    double total = y->total * x->total;
    return total != 0.0 ? sum / total : sum;
}

typedef struct resizing {
    const sc_tensor *in, *out;
    double scale_y, scale_x, radius;
    filter_fn filter;
} resizing;

static void resize_rows(void *work, int64_t first, int64_t end, uint32_t thread) {
    const resizing *r = work;
    const sc_tensor *in = r->in, *out = r->out;
    const uint32_t width = sc_dtype_bytes((sc_dtype)out->dtype);
    (void)thread;
    for (int64_t y = first; y < end; y++) {
        taps v = taps_at(y, r->scale_y, in->sizes[2], r->filter, r->radius);
        for (int64_t x = 0; x < out->sizes[3]; x++) {
            taps h = taps_at(x, r->scale_x, in->sizes[3], r->filter, r->radius);
            for (int64_t p = 0; p < out->sizes[0] * out->sizes[1]; p++) {
                int64_t n = p / out->sizes[1], c = p % out->sizes[1];
                double value = mean_at(in, n * in->strides[0] + c * in->strides[1], &v, &h);
                int64_t to = n * out->strides[0] + c * out->strides[1] + y * out->strides[2] +
                             x * out->strides[3];
                sc_put_number((char *)out->data + to * width, out->dtype, value, 0, true);
            }
        }
    }
}

// (self, output_size, align_corners, scales_h, scales_w, out)
static sc_status resize(const sc_kernel_call *call, filter_fn filter, double radius) {
    const sc_tensor *in = sc_call_tensor(call, 0), *out = sc_call_out(call);
    if (in->rank != 4 || out->rank != 4 || in->sizes[0] != out->sizes[0] ||
        in->sizes[1] != out->sizes[1] || in->dtype != out->dtype ||
        (out->numel > 0 && in->numel == 0))
        return sc_call_fail(call, SC_ERR_SHAPE, "the shapes do not agree");
    if (!sc_dtype_is_float((sc_dtype)in->dtype)) return sc_call_no_kernel(call);
    bool align = sc_call_integer(call, 2) != 0;
    resizing r = {.in = in,
                  .out = out,
                  .scale_y = axis_scale(call, 3, in->sizes[2], out->sizes[2], align),
                  .scale_x = axis_scale(call, 4, in->sizes[3], out->sizes[3], align),
                  .radius = radius,
                  .filter = filter};
    const double area = fmax(r.scale_y, 1) * fmax(r.scale_x, 1) * 4 * radius * radius;
    const double row = (double)out->numel / (double)sc_max_i64(out->sizes[2], 1);
    sc_parallel_rows(out->sizes[2], SC_COST_FUNCTION * area * row, resize_rows, &r);
    return SC_OK;
}

static sc_status run_bilinear_aa(const sc_kernel_call *call) { return resize(call, triangle, 1.0); }

static sc_status run_bicubic_aa(const sc_kernel_call *call) { return resize(call, cubic, 2.0); }

SC_KERNEL(upsample_bilinear2d_aa, .run = run_bilinear_aa);
SC_KERNEL(upsample_bicubic2d_aa, .run = run_bicubic_aa);
