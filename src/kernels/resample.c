// Upsampling and grid sampling of images, in any layout and float dtype (nearest: any dtype).
// Source positions follow PyTorch exactly: a given scale factor is used directly, otherwise sizes
// decide. f32 images compute positions in f32.
#include <math.h>

#include "base/parallel.h"
#include "kernels/iter.h"

typedef struct image {
    const sc_tensor *in, *out;
    int64_t in_size[2], out_size[2];  // height, width
    uint32_t in_width, out_width;     // bytes per element
    sc_load_fn load;
    sc_store_fn store;
} image;

static sc_status image_init(const sc_kernel_call *call, image *m, bool any_dtype) {
    m->in = sc_call_tensor(call, 0);
    m->out = sc_call_out(call);
    if (m->in->rank != 4 || m->out->rank != 4 || m->in->sizes[0] != m->out->sizes[0] ||
        m->in->sizes[1] != m->out->sizes[1] ||
        (m->out->numel > 0 && (m->in->sizes[2] == 0 || m->in->sizes[3] == 0)))
        return sc_call_fail(call, SC_ERR_SHAPE, "the shapes do not agree");
    m->load = sc_loader(SC_CLASS_F64, m->in->dtype);
    m->store = sc_storer(SC_CLASS_F64, m->out->dtype);
    if (m->in->dtype != m->out->dtype || (!any_dtype && !sc_dtype_is_float((sc_dtype)m->in->dtype)))
        return sc_call_no_kernel(call);
    for (uint32_t k = 0; k < 2; k++) {
        m->in_size[k] = m->in->sizes[2 + k];
        m->out_size[k] = m->out->sizes[2 + k];
    }
    m->in_width = sc_dtype_bytes((sc_dtype)m->in->dtype);
    m->out_width = sc_dtype_bytes((sc_dtype)m->out->dtype);
    return SC_OK;
}

// The k-th scale factor of a float list argument, or 0.
static double scale_factor(const sc_kernel_call *call, uint32_t argument, uint32_t k) {
    const sc_evalue *value = call->args[argument];
    if (value->tag != SC_EVALUE_DOUBLE_LIST || k >= value->count) return 0.0;
    return value->doubles[k];
}

static float source_scale(int64_t in, int64_t out, double factor, bool align_corners) {
    if (align_corners) return out > 1 ? (float)(in - 1) / (float)(out - 1) : 0.0f;
    return factor > 0.0 ? (float)(1.0 / factor) : (float)in / (float)out;
}

// --- Nearest -------------------------------------------------------------------------------------

static int64_t nearest_source(int64_t i, float scale, int64_t size) {
    float position = floorf((float)i * scale);
    // Zero times an infinite scale is not a number.
    return position < (float)size ? (int64_t)position : size - 1;
}

// Nanoseconds for a row of all images and channels.
static double cost_of_row(const image *m, double cost) {
    return cost * (double)m->out->numel / (double)sc_max_i64(m->out_size[0], 1);
}

// Walks output pixels row by row in blocks, so that the weights of a column are computed once for
// all channels.
#define PIXELS 64

typedef struct resizing {
    image m;
    float scales[2];
    bool align;
} resizing;

// `n` pixels of an output row, from sources at `columns` of input row `row`.
static void copy_pixels(const image *m, int64_t row, int64_t y, int64_t x, const int64_t *columns,
                        int64_t n) {
    const int64_t *from = m->in->strides, *to = m->out->strides;
    const int64_t run = from[1] == 1 && to[1] == 1 ? m->in->sizes[1] : 1;
    const int64_t per_image = run > 0 ? m->in->sizes[1] / run : 0;
    for (int64_t p = 0; p < m->in->sizes[0] * per_image; p++) {
        int64_t i = p / per_image, c = p % per_image;
        const char *src =
            (const char *)m->in->data + (i * from[0] + c * from[1] + row) * m->in_width;
        char *dst =
            (char *)m->out->data + (i * to[0] + c * to[1] + y * to[2] + x * to[3]) * m->in_width;
        if (run == 1 && m->in_width == 4) {
            for (int64_t k = 0; k < n; k++)
                ((uint32_t *)(void *)dst)[k * to[3]] =
                    ((const uint32_t *)(const void *)src)[columns[k]];
            continue;
        }
        for (int64_t k = 0; k < n; k++)
            memcpy(dst + k * to[3] * m->in_width, src + columns[k] * m->in_width,
                   (size_t)run * m->in_width);
    }
}

static void nearest_rows(void *work, int64_t first, int64_t end, uint32_t thread) {
    const resizing *r = work;
    const image *m = &r->m;
    const int64_t *from = m->in->strides;
    (void)thread;
    for (int64_t y = first; y < end; y++) {
        int64_t row = nearest_source(y, r->scales[0], m->in_size[0]) * from[2];
        for (int64_t x = 0; x < m->out_size[1]; x += PIXELS) {
            int64_t columns[PIXELS], n = sc_min_i64(PIXELS, m->out_size[1] - x);
            for (int64_t k = 0; k < n; k++)
                columns[k] = nearest_source(x + k, r->scales[1], m->in_size[1]) * from[3];
            copy_pixels(m, row, y, x, columns, n);
        }
    }
}

// (input, output_size, scale_factors, out)
static sc_status run_nearest(const sc_kernel_call *call) {
    resizing r = {.align = false};
    SC_TRY(image_init(call, &r.m, true));
    for (uint32_t k = 0; k < 2; k++)
        r.scales[k] =
            source_scale(r.m.in_size[k], r.m.out_size[k], scale_factor(call, 2, k), false);
    sc_parallel_rows(r.m.out_size[0], cost_of_row(&r.m, SC_COST_SUM), nearest_rows, &r);
    return SC_OK;
}

// --- Bilinear ------------------------------------------------------------------------------------

typedef struct blend {
    int64_t low, high;  // positions
    float weight;       // of `high`
} blend;

static blend blend_at(int64_t i, float scale, int64_t size, bool align_corners) {
    float position = align_corners ? scale * (float)i : scale * ((float)i + 0.5f) - 0.5f;
    blend b;
    position = position > 0.0f ? position : 0.0f;
    b.low = position < (float)size ? sc_min_i64((int64_t)position, size - 1) : size - 1;
    b.high = sc_min_i64(b.low + 1, size - 1);
    b.weight = position - (float)b.low;
    b.weight = b.weight < 0.0f ? 0.0f : b.weight > 1.0f ? 1.0f : b.weight;
    return b;
}

// `n` elements `stride` apart, blended from four corners.
static void blend_run(const image *m, char *to, int64_t to_stride, const char *const *corners,
                      int64_t stride, int64_t n, const blend *y, const blend *x) {
    float top = 1.0f - y->weight, left = 1.0f - x->weight;
    if (m->in->dtype == SC_DTYPE_F32) {
        const float *a = (const float *)(const void *)corners[0];
        const float *b = (const float *)(const void *)corners[1];
        const float *c = (const float *)(const void *)corners[2];
        const float *d = (const float *)(const void *)corners[3];
        float *out = (float *)(void *)to;
        for (int64_t i = 0; i < n; i++) {
            int64_t k = i * stride;
            out[i * to_stride] = top * (left * a[k] + x->weight * b[k]) +
                                 y->weight * (left * c[k] + x->weight * d[k]);
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        double v[4], result;
        for (int k = 0; k < 4; k++) m->load(&v[k], corners[k] + i * stride * m->in_width, 1, 1);
        result = (double)top * ((double)left * v[0] + (double)x->weight * v[1]) +
                 (double)y->weight * ((double)left * v[2] + (double)x->weight * v[3]);
        m->store(to + i * to_stride * m->out_width, 1, &result, 1);
    }
}

// One output row of one plane of f32: columns `n` with their blends.
static void blend_row(float *to, int64_t to_step, const float *top, const float *bottom,
                      int64_t from_step, int64_t n, const blend *y, const blend *x) {
    float upper = 1.0f - y->weight;
    for (int64_t i = 0; i < n; i++) {
        int64_t low = x[i].low * from_step, high = x[i].high * from_step;
        float right = x[i].weight, left = 1.0f - right;
        to[i * to_step] = upper * (left * top[low] + right * top[high]) +
                          y->weight * (left * bottom[low] + right * bottom[high]);
    }
}

static void blend_block(const image *m, int64_t y, int64_t x, int64_t n, const blend *v,
                        const blend *h, int64_t run) {
    const int64_t *from = m->in->strides, *to = m->out->strides;
    int64_t blocks = run > 0 ? m->in->sizes[1] / run : 0;
    for (int64_t p = 0; p < m->in->sizes[0] * blocks; p++) {
        int64_t i = p / blocks, c = p % blocks;
        const char *src = (const char *)m->in->data + (i * from[0] + c * from[1]) * m->in_width;
        char *dst =
            (char *)m->out->data + (i * to[0] + c * to[1] + y * to[2] + x * to[3]) * m->out_width;
        const char *top = src + v->low * from[2] * m->in_width;
        const char *bottom = src + v->high * from[2] * m->in_width;
        if (run == 1 && m->in->dtype == SC_DTYPE_F32) {
            blend_row((float *)(void *)dst, to[3], (const float *)(const void *)top,
                      (const float *)(const void *)bottom, from[3], n, v, h);
            continue;
        }
        for (int64_t k = 0; k < n; k++) {
            const char *corners[4] = {top + h[k].low * from[3] * m->in_width,
                                      top + h[k].high * from[3] * m->in_width,
                                      bottom + h[k].low * from[3] * m->in_width,
                                      bottom + h[k].high * from[3] * m->in_width};
            blend_run(m, dst + k * to[3] * m->out_width, to[1], corners, from[1], run, v, &h[k]);
        }
    }
}

static void bilinear_rows(void *work, int64_t first, int64_t end, uint32_t thread) {
    const resizing *r = work;
    const image *m = &r->m;
    const int64_t run = m->in->strides[1] == 1 ? m->in->sizes[1] : 1;
    (void)thread;
    for (int64_t y = first; y < end; y++) {
        blend v = blend_at(y, r->scales[0], m->in_size[0], r->align);
        for (int64_t x = 0; x < m->out_size[1]; x += PIXELS) {
            blend h[PIXELS];
            int64_t n = sc_min_i64(PIXELS, m->out_size[1] - x);
            for (int64_t k = 0; k < n; k++)
                h[k] = blend_at(x + k, r->scales[1], m->in_size[1], r->align);
            blend_block(m, y, x, n, &v, h, run);
        }
    }
}

// (input, output_size, align_corners, scale_factors, out)
static sc_status run_bilinear(const sc_kernel_call *call) {
    resizing r = {.align = sc_call_integer(call, 2) != 0};
    SC_TRY(image_init(call, &r.m, false));
    for (uint32_t k = 0; k < 2; k++)
        r.scales[k] =
            source_scale(r.m.in_size[k], r.m.out_size[k], scale_factor(call, 3, k), r.align);
    const double cost = r.m.in->dtype == SC_DTYPE_F32 ? SC_COST_CONVERT : 6 * SC_COST_CONVERT;
    sc_parallel_rows(r.m.out_size[0], cost_of_row(&r.m, cost), bilinear_rows, &r);
    return SC_OK;
}

// --- Grid sampling -------------------------------------------------------------------------------

typedef enum grid_mode { GRID_BILINEAR, GRID_NEAREST, GRID_BICUBIC } grid_mode;
typedef enum grid_pad { GRID_ZEROS, GRID_BORDER, GRID_REFLECTION } grid_pad;

typedef struct grid_sampler {
    image m;
    const sc_tensor *grid;
    grid_mode mode;
    grid_pad pad;
    bool align;
} grid_sampler;

static double reflect(double x, double twice_low, double twice_high) {
    if (twice_low == twice_high) return 0.0;
    double low = twice_low / 2, span = (twice_high - twice_low) / 2;
    x = fabs(x - low);
    double extra = fmod(x, span), flips = floor(x / span);
    return fmod(flips, 2.0) == 0.0 ? extra + low : span - extra + low;
}

// Converts [-1, 1] to pixels; NaN counts as outside.
static double unnormalize(const grid_sampler *g, double x, int64_t size) {
    return g->align ? (x + 1.0) / 2.0 * (double)(size - 1) : ((x + 1.0) * (double)size - 1.0) / 2.0;
}

static double clip(double x, int64_t size) {
    return x > 0.0 ? (x < (double)(size - 1) ? x : (double)(size - 1)) : 0.0;  // NaN to 0
}

static double pad_position(const grid_sampler *g, double x, int64_t size) {
    if (g->pad == GRID_BORDER) return clip(x, size);
    if (g->pad == GRID_REFLECTION) {
        x = g->align ? reflect(x, 0.0, 2.0 * (double)(size - 1))
                     : reflect(x, -1.0, 2.0 * (double)size - 1.0);
        return clip(x, size);
    }
    return x;
}

// The pixel, or 0 outside.
static double pixel(const image *m, const char *plane, double y, double x) {
    double value;
    if (!(y >= 0.0 && y < (double)m->in_size[0] && x >= 0.0 && x < (double)m->in_size[1]))
        return 0.0;
    int64_t at = (int64_t)y * m->in->strides[2] + (int64_t)x * m->in->strides[3];
    m->load(&value, plane + at * m->in_width, 1, 1);
    return value;
}

static double sample_bilinear(const image *m, const char *plane, double y, double x) {
    double top = floor(y), left = floor(x), v = y - top, h = x - left;
    return pixel(m, plane, top, left) * (1.0 - v) * (1.0 - h) +
           pixel(m, plane, top, left + 1.0) * (1.0 - v) * h +
           pixel(m, plane, top + 1.0, left) * v * (1.0 - h) +
           pixel(m, plane, top + 1.0, left + 1.0) * v * h;
}

// Keys' cubic with a = -0.75, the weight of a pixel at distance x.
static double cubic_weight(double x) {
    const double a = -0.75;
    x = fabs(x);
    if (x <= 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
    return x < 2.0 ? ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a : 0.0;
}

static double sample_bicubic(const grid_sampler *g, const char *plane, double y, double x) {
    double top = floor(y), left = floor(x), sum = 0.0;
    for (int i = -1; i <= 2; i++) {
        double row = pad_position(g, top + i, g->m.in_size[0]), part = 0.0;
        for (int k = -1; k <= 2; k++) {
            double column = pad_position(g, left + k, g->m.in_size[1]);
            part += pixel(&g->m, plane, row, column) * cubic_weight(x - (left + k));
        }
        sum += part * cubic_weight(y - (top + i));
    }
    return sum;
}

static double sample(const grid_sampler *g, const char *plane, double y, double x) {
    if (g->mode == GRID_BICUBIC) return sample_bicubic(g, plane, y, x);
    y = pad_position(g, y, g->m.in_size[0]);
    x = pad_position(g, x, g->m.in_size[1]);
    if (g->mode == GRID_NEAREST) return pixel(&g->m, plane, nearbyint(y), nearbyint(x));
    return sample_bilinear(&g->m, plane, y, x);
}

static void sample_pixel(const grid_sampler *g, int64_t n, int64_t y, int64_t x) {
    const image *m = &g->m;
    const int64_t *steps = g->grid->strides, *from = m->in->strides, *to = m->out->strides;
    const int64_t place = n * steps[0] + y * steps[1] + x * steps[2];
    double at[2];
    m->load(at, (const char *)g->grid->data + place * m->in_width, steps[3], 2);
    const double column = unnormalize(g, at[0], m->in_size[1]);
    const double row = unnormalize(g, at[1], m->in_size[0]);
    for (int64_t c = 0; c < m->out->sizes[1]; c++) {
        const char *plane = (const char *)m->in->data + (n * from[0] + c * from[1]) * m->in_width;
        const int64_t pixel = n * to[0] + c * to[1] + y * to[2] + x * to[3];
        const double value = sample(g, plane, row, column);
        m->store((char *)m->out->data + pixel * m->out_width, 1, &value, 1);
    }
}

// Rows of all images, one after the other.
static void sample_rows(void *work, int64_t first, int64_t end, uint32_t thread) {
    const grid_sampler *g = work;
    const int64_t rows = g->m.out->sizes[2];
    (void)thread;
    for (int64_t i = first; i < end; i++)
        for (int64_t x = 0; x < g->m.out->sizes[3]; x++) sample_pixel(g, i / rows, i % rows, x);
}

// (input, grid, interpolation_mode, padding_mode, align_corners, out)
static sc_status run_grid_sampler(const sc_kernel_call *call) {
    const sc_tensor *grid = sc_call_tensor(call, 1);
    int64_t mode = sc_call_integer(call, 2), pad = sc_call_integer(call, 3);
    grid_sampler g = {
        .mode = (grid_mode)mode, .pad = (grid_pad)pad, .align = sc_call_integer(call, 4) != 0};
    SC_TRY(image_init(call, &g.m, false));
    const sc_tensor *out = g.m.out;
    if (mode < 0 || mode > 2 || pad < 0 || pad > 2)
        return sc_call_fail(call, SC_ERR_ARGUMENT, "there is no such mode");
    if (grid->rank != 4 || grid->sizes[0] != out->sizes[0] || grid->sizes[1] != out->sizes[2] ||
        grid->sizes[2] != out->sizes[3] || grid->sizes[3] != 2 || grid->dtype != g.m.in->dtype ||
        !sc_dtype_is_float((sc_dtype)grid->dtype))
        return sc_call_fail(call, SC_ERR_SHAPE, "the grid does not fit");
    g.grid = grid;
    const double cost = (mode == GRID_BICUBIC ? 48 : 6) * SC_COST_FUNCTION;
    sc_parallel_rows(out->sizes[0] * out->sizes[2], cost * (double)(out->sizes[1] * out->sizes[3]),
                     sample_rows, &g);
    return SC_OK;
}

SC_KERNEL(upsample_nearest2d, .run = run_nearest, .layout = SC_LAYOUT_ONE);
SC_KERNEL(upsample_bilinear2d, .run = run_bilinear, .layout = SC_LAYOUT_ONE);
SC_KERNEL(grid_sampler_2d, .run = run_grid_sampler);
