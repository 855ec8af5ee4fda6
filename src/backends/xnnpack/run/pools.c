// Pooling of images with channels last, as records of compute. Halves are computed in f32.
#include <math.h>

#include "backends/xnnpack/run/delegate.h"
#include "base/parallel.h"

static bool is_average(const sc_xnn_step *s) { return s->node->kind != SC_XNN_MAX_POOL; }

static void set_window(const sc_xnn_step *s, sc_pooling *p) {
    const sc_xnn_window *w = &s->node->window;
    const sc_xnn_operand *in = s->in[0];
    if (s->node->kind == SC_XNN_GLOBAL_AVERAGE) {
        for (int i = 0; i < 2; i++) {
            p->out[i] = p->stride[i] = p->dilation[i] = 1;
            p->kernel[i] = in->sizes[1 + i];
        }
        return;
    }
    for (int i = 0; i < 2; i++) p->out[i] = s->out[0]->sizes[1 + i];
    p->kernel[0] = w->kernel_height, p->kernel[1] = w->kernel_width;
    p->stride[0] = w->stride_height, p->stride[1] = w->stride_width;
    p->pad[0] = w->padding_top, p->pad[1] = w->padding_left;
    p->dilation[0] = is_average(s) ? 1 : w->dilation_height;
    p->dilation[1] = is_average(s) ? 1 : w->dilation_width;
}

static void set_range(const sc_xnn_step *s, sc_pooling *p) {
    const sc_xnn_operand *in = s->in[0], *out = s->out[0];
    p->finish.clamps = s->node->has_range;
    p->finish.low = s->node->low;
    p->finish.high = s->node->high;
    if (!sc_xnn_is_byte(out)) return;
    int low, high;
    sc_xnn_byte_range(s, out, &low, &high);
    p->finish.clamps = true;
    p->finish.low = (float)low;
    p->finish.high = (float)high;
    p->finish.zero = out->value->quant.zero_point;
    p->in_zero = in->value->quant.zero_point;
    p->scale = in->value->quant.scale / out->value->quant.scale;
}

static sc_status prepare_pool(sc_xnn_delegate *d, sc_xnn_step *s) {
    const sc_xnn_operand *in = s->in[0], *out = s->out[0];
    const bool is_half = sc_xnn_is_half(out);
    const int64_t channels = in->sizes[3];
    (void)d;
    s->pool = (sc_pooling){.dtype = is_half ? SC_DTYPE_F32 : out->tensor.dtype,
                           .batch = in->sizes[0],
                           .channels = channels,
                           .in = {in->sizes[1], in->sizes[2]}};
    set_window(s, &s->pool);
    set_range(s, &s->pool);
    for (int i = 0; i < 3; i++) s->pool.in_step[i] = in->strides[i];
    s->pool.out_step[2] = channels;
    s->pool.out_step[1] = channels * s->pool.out[1];
    s->pool.out_step[0] = s->pool.out_step[1] * s->pool.out[0];
    if (is_half) s->scratch_bytes = sc_xnn_float_bytes(in) + sc_xnn_float_bytes(out);
    return SC_OK;
}

static sc_status run_pool(sc_xnn_delegate *d, sc_xnn_step *s) {
    const sc_xnn_operand *in = s->in[0], *out = s->out[0];
    const bool is_half = sc_xnn_is_half(out);
    s->pool.input = in->tensor.data;
    s->pool.output = out->tensor.data;
    if (is_half) {
        sc_loader(SC_CLASS_F32, in->tensor.dtype)(d->scratch, in->tensor.data, 1, in->tensor.numel);
        s->pool.input = d->scratch;
        s->pool.output = d->scratch + sc_xnn_float_bytes(in);
    }
    const sc_pooling *p = &s->pool;
    const double reads = (double)(p->out[1] * p->channels) * (double)(p->kernel[0] * p->kernel[1]);
    sc_parallel_rows(sc_pooling_tiles(p), SC_COST_SUM * reads,
                     is_average(s) ? sc_pooling_average : sc_pooling_max, &s->pool);
    if (is_half)
        sc_storer(SC_CLASS_F32, out->tensor.dtype)(out->tensor.data, 1, s->pool.output,
                                                   out->tensor.numel);
    return SC_OK;
}

const sc_xnn_runner sc_xnn_run_pool = {.prepare = prepare_pool, .run = run_pool};

// --- Maxima and where they are -------------------------------------------------------------------

// The rows or columns of an image that a window at `from` covers. A window that begins in the
// padding repeats the element next to it there.
typedef struct extent {
    int64_t first, last, from;
} extent;

static extent extent_of(int64_t from, int64_t kernel, int64_t size) {
    return (extent){sc_min_i64(sc_max_i64(from, 0), size - 1),
                    sc_min_i64(sc_max_i64(from + kernel - 1, 0), size - 1), from};
}

static int64_t place_in(const extent *e, int64_t at) { return at == e->first ? 0 : at - e->from; }

// Positions count the elements of a window column by column, as XNNPACK does. The first of several
// maxima counts, and likewise of several NaNs, which are larger than all numbers.
static void find_maximum(const sc_xnn_step *s, const float *image, int64_t y, int64_t x,
                         float *maximum, int32_t *position) {
    const sc_xnn_window *w = &s->node->window;
    const sc_xnn_operand *in = s->in[0];
    const int64_t height = w->kernel_height, width = w->kernel_width;
    const extent rows = extent_of(y * height - w->padding_top, height, in->sizes[1]);
    const extent columns = extent_of(x * width - w->padding_left, width, in->sizes[2]);
    *maximum = -INFINITY;
    *position = 0;
    bool is_first = true;
    if (!in->sizes[1] || !in->sizes[2]) return;
    for (int64_t c = columns.first; c <= columns.last; c++) {
        for (int64_t r = rows.first; r <= rows.last; r++) {
            float value = image[r * in->strides[1] + c * in->strides[2]];
            bool is_larger = value > *maximum || (value != value && *maximum == *maximum);
            if (!is_first && !is_larger) continue;
            is_first = false;
            *maximum = value;
            *position = (int32_t)(place_in(&columns, c) * height + place_in(&rows, r));
        }
    }
}

// Rows of all results, one after the other.
static void argmax_part(void *work, int64_t from, int64_t to, uint32_t thread) {
    const sc_xnn_step *s = work;
    const sc_xnn_operand *in = s->in[0], *out = s->out[0];
    float *maximum = (float *)out->tensor.data + from * out->strides[1];
    int32_t *position = (int32_t *)s->out[1]->tensor.data + from * out->strides[1];
    (void)thread;
    for (int64_t row = from; row < to; row++) {
        const int64_t n = row / out->sizes[1], y = row % out->sizes[1];
        const float *image = (const float *)in->tensor.data + n * in->strides[0];
        for (int64_t x = 0; x < out->sizes[2]; x++)
            for (int64_t c = 0; c < out->sizes[3]; c++)
                find_maximum(s, image + c, y, x, maximum++, position++);
    }
}

static sc_status run_argmax_pool(sc_xnn_delegate *d, sc_xnn_step *s) {
    const sc_xnn_operand *out = s->out[0];
    const sc_xnn_window *w = &s->node->window;
    const double reads = (double)out->strides[1] * (double)w->kernel_height * w->kernel_width;
    (void)d;
    sc_parallel_rows(out->sizes[0] * out->sizes[1], SC_COST_CONVERT * reads, argmax_part, s);
    return SC_OK;
}

const sc_xnn_runner sc_xnn_run_argmax_pool = {.run = run_argmax_pool};
