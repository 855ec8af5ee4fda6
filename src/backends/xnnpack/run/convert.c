// Convert: between floats, between floats and bytes, and to bytes whose rows have a zero point and
// a scale each.
#include "backends/xnnpack/run/delegate.h"

static sc_status prepare_convert(sc_xnn_delegate *d, sc_xnn_step *s) {
    (void)d;
    // Halves become f32 on the way.
    const bool is_half = sc_xnn_is_half(s->in[0]) || sc_xnn_is_half(s->out[0]);
    if (is_half) s->scratch_bytes = sc_xnn_float_bytes(s->in[0]);
    return SC_OK;
}

static void quantize_rows(const sc_xnn_operand *out, const float *x) {
    int8_t *q = out->tensor.data;
    int64_t row = out->rows ? out->tensor.numel / out->rows : 0;
    for (int64_t i = 0; i < out->rows; i++)
        sc_bytes_of_row(x + i * row, (size_t)row, q + i * row, &sc_xnn_zeros(out)[i],
                        &sc_xnn_scales(out)[i]);
}

// The elements as f32: in place, or in `copy`.
static const float *floats_of(const sc_xnn_operand *in, void *copy) {
    const sc_tensor *t = &in->tensor;
    if (t->dtype == SC_DTYPE_F32) return t->data;
    if (sc_xnn_is_byte(in)) {
        sc_grid grid = sc_xnn_grid(in);
        sc_floats_of_bytes(&grid, t->data, (size_t)t->numel, copy);
    } else {
        sc_loader(SC_CLASS_F32, t->dtype)(copy, t->data, 1, t->numel);
    }
    return copy;
}

static sc_status run_convert(sc_xnn_delegate *d, sc_xnn_step *s) {
    const sc_xnn_operand *in = s->in[0], *out = s->out[0];
    const size_t count = (size_t)out->tensor.numel;
    sc_grid grid = sc_xnn_grid(out);
    if (sc_xnn_is_byte(in) && sc_xnn_is_byte(out)) {
        sc_grid from = sc_xnn_grid(in);
        sc_bytes_of_bytes(&from, &grid, in->tensor.data, count, out->tensor.data);
        return SC_OK;
    }
    const bool is_float = out->tensor.dtype == SC_DTYPE_F32;
    const float *x = floats_of(in, is_float ? out->tensor.data : (void *)d->scratch);
    if (sc_xnn_is(out, SC_XNN_QDINT8))
        quantize_rows(out, x);
    else if (sc_xnn_is_byte(out))
        sc_bytes_of_floats(&grid, x, count, out->tensor.data);
    else if (!is_float)
        sc_storer(SC_CLASS_F32, out->tensor.dtype)(out->tensor.data, 1, x, (int64_t)count);
    else if (x != out->tensor.data)
        memcpy(out->tensor.data, x, count * sizeof(float));
    return SC_OK;
}

const sc_xnn_runner sc_xnn_run_convert = {.prepare = prepare_convert, .run = run_convert};
