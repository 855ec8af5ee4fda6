// Convert: between floats, between floats and bytes, and to bytes whose rows have a zero point and
// a scale each.
#include "backends/xnnpack/run/delegate.h"
#include "base/parallel.h"

static sc_status prepare_convert(sc_xnn_delegate *d, sc_xnn_step *s) {
    (void)d;
    // Halves become f32 on the way.
    const bool is_half = sc_xnn_is_half(s->in[0]) || sc_xnn_is_half(s->out[0]);
    if (is_half) s->scratch_bytes = sc_xnn_float_bytes(s->in[0]);
    return SC_OK;
}

typedef struct conversion {
    const sc_xnn_operand *in, *out;
    void *floats;      // f32 memory on the way, or that of the result
    sc_grid from, to;  // of bytes
} conversion;

// Converts elements [from, to) to f32, in place or at `floats`.
static const float *floats_of(const conversion *c, int64_t from, int64_t to) {
    const sc_tensor *t = &c->in->tensor;
    float *copy = (float *)c->floats + from;
    if (t->dtype == SC_DTYPE_F32) return (const float *)t->data + from;
    if (sc_xnn_is_byte(c->in))
        sc_floats_of_bytes(&c->from, (const uint8_t *)t->data + from, (size_t)(to - from), copy);
    else
        sc_loader(SC_CLASS_F32, t->dtype)(copy, (const uint16_t *)t->data + from, 1, to - from);
    return copy;
}

static void convert_part(void *work, int64_t from, int64_t to, uint32_t thread) {
    const conversion *c = work;
    const sc_tensor *out = &c->out->tensor;
    const size_t count = (size_t)(to - from);
    uint8_t *bytes = (uint8_t *)out->data + from * sc_dtype_bytes((sc_dtype)out->dtype);
    (void)thread;
    if (sc_xnn_is_byte(c->in) && sc_xnn_is_byte(c->out)) {
        sc_bytes_of_bytes(&c->from, &c->to, (const uint8_t *)c->in->tensor.data + from, count,
                          bytes);
        return;
    }
    const float *x = floats_of(c, from, to);
    if (sc_xnn_is_byte(c->out))
        sc_bytes_of_floats(&c->to, x, count, bytes);
    else if (out->dtype != SC_DTYPE_F32)
        sc_storer(SC_CLASS_F32, out->dtype)(bytes, 1, x, to - from);
    else if ((const void *)x != bytes)
        memcpy(bytes, x, count * sizeof(float));
}

// Rows [from, to), each with a zero point and a scale of its own.
static void quantize_rows(void *work, int64_t from, int64_t to, uint32_t thread) {
    const conversion *c = work;
    const sc_xnn_operand *out = c->out;
    const int64_t row = out->tensor.numel / out->rows;
    (void)thread;
    for (int64_t i = from; i < to; i++)
        sc_bytes_of_row(floats_of(c, i * row, (i + 1) * row), (size_t)row,
                        (int8_t *)out->tensor.data + i * row, &sc_xnn_zeros(out)[i],
                        &sc_xnn_scales(out)[i]);
}

static sc_status run_convert(sc_xnn_delegate *d, sc_xnn_step *s) {
    const sc_xnn_operand *in = s->in[0], *out = s->out[0];
    const bool is_float = out->tensor.dtype == SC_DTYPE_F32;
    conversion c = {.in = in,
                    .out = out,
                    .floats = is_float ? out->tensor.data : (void *)d->scratch,
                    .from = sc_xnn_grid(in),
                    .to = sc_xnn_grid(out)};
    const double cost = SC_COST_CONVERT / 2;
    if (!sc_xnn_is(out, SC_XNN_QDINT8))
        sc_parallel_rows(out->tensor.numel, cost, convert_part, &c);
    else if (out->rows > 0)
        sc_parallel_rows(out->rows, cost * (double)(out->tensor.numel / out->rows), quantize_rows,
                         &c);
    return SC_OK;
}

const sc_xnn_runner sc_xnn_run_convert = {.prepare = prepare_convert, .run = run_convert};
