// Batches of products of two activations. Halves are computed in f32.
#include "backends/xnnpack/run/fuse.h"

// One batch dimension of each side. Its size is 1, which repeats, or that of the result.
static bool set_batch(const sc_xnn_step *s, sc_matmul *mm) {
    const sc_xnn_operand *a = s->in[0], *b = s->in[1], *out = s->out[0];
    int64_t a_batch = 1, b_batch = 1;
    mm->batch = 1;
    for (uint32_t i = 0; i + 2 < out->tensor.rank; i++) {
        mm->batch *= out->sizes[i];
        a_batch *= a->sizes[i];
        b_batch *= b->sizes[i];
    }
    mm->a.batch = a_batch == 1 ? 0 : mm->m * mm->k;
    mm->b.batch = b_batch == 1 ? 0 : mm->n * mm->k;
    mm->c_batch = mm->m * mm->n;
    return (a_batch == 1 || a_batch == mm->batch) && (b_batch == 1 || b_batch == mm->batch);
}

static bool is_real(const sc_xnn_operand *o) {
    return sc_xnn_is(o, SC_XNN_FP32) || sc_xnn_is_half(o);
}

static sc_status load_matmul(sc_xnn_delegate *d, sc_xnn_step *s) {
    return is_real(s->in[0]) && is_real(s->in[1]) && is_real(s->out[0]) ? SC_OK
                                                                        : sc_xnn_not_executed(d, s);
}

static sc_status prepare_matmul(sc_xnn_delegate *d, sc_xnn_step *s) {
    const sc_xnn_operand *a = s->in[0], *out = s->out[0];
    const bool is_transposed = s->node->flags & SC_XNN_TRANSPOSE_WEIGHTS;
    const uint32_t row = out->tensor.rank - 2u, column = out->tensor.rank - 1u;
    const int64_t m = out->sizes[row], n = out->sizes[column], k = a->sizes[column];
    const sc_record record = {.kind = SC_RECORD_MATMUL,
                              .in = SC_DTYPE_F32,
                              .weight = SC_DTYPE_F32,
                              .bias = SC_DTYPE_F32,
                              .out = SC_DTYPE_F32};
    s->matmul = sc_xnn_matmul_of(
        record, m, n, k, (sc_matrix){NULL, 0, is_transposed ? 1 : n, is_transposed ? k : 1});
    if (!set_batch(s, &s->matmul))
        return sc_xnn_step_fail(d, s, SC_ERR_DELEGATE,
                                "is not executed here: it repeats some dimensions of a batch");
    s->variant = sc_variant_pick(&s->record, NULL, UINT64_MAX);
    if (!s->variant) return sc_xnn_not_executed(d, s);
    s->scratch_bytes = sc_align_up(sc_variant_scratch_bytes(s->variant, &s->record), 64);
    for (uint32_t i = 0; sc_xnn_is_half(out) && i < 2; i++)
        s->scratch_bytes += sc_xnn_float_bytes(s->in[i]);
    if (sc_xnn_is_half(out)) s->scratch_bytes += sc_xnn_float_bytes(out);
    if (s->fusion) sc_xnn_fit(s);
    return SC_OK;
}

static sc_status run_matmul(sc_xnn_delegate *d, sc_xnn_step *s) {
    const sc_xnn_operand *out = s->out[0];
    uint8_t *scratch = d->scratch;
    if (!d->is_watched && sc_xnn_is_fused(s)) {
        sc_xnn_run_fusion(d, s);
        return SC_OK;
    }
    s->matmul.a.data = sc_xnn_floats(s->in[0], &scratch);
    s->matmul.b.data = sc_xnn_floats(s->in[1], &scratch);
    s->matmul.c = out->tensor.data;
    if (sc_xnn_is_half(out)) {
        s->matmul.c = scratch;
        scratch += sc_xnn_float_bytes(out);
    }
    sc_variant_run(s->variant, &s->record, NULL, scratch);
    if (sc_xnn_is_half(out))
        sc_storer(SC_CLASS_F32, out->tensor.dtype)(out->tensor.data, 1, s->matmul.c,
                                                   out->tensor.numel);
    return SC_OK;
}

const sc_xnn_runner sc_xnn_run_matmul = {
    .load = load_matmul, .prepare = prepare_matmul, .run = run_matmul};
