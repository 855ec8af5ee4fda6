// Products of floats with weights of 8 bits, and sums of quantized numbers, as files of the
// official exporter for language models call them.
#include <math.h>

#include "base/parallel.h"
#include "kernels/iter.h"

// --- Products ------------------------------------------------------------------------------------

typedef struct mixed {
    const sc_tensor *x, *w, *scales, *out;
    int64_t inner, columns, group;  // `group`: steps of the inner dimension for each scale
    int64_t w_row, w_column;        // for a column of the result, and along the inner dimension
    bool by_row;        // is a scale that of a column of the result, or of an inner step?
    const float *rows;  // the input as floats, times the scales of inner steps
    const float *by_group;
} mixed;

static uint64_t float_bytes(const sc_tensor *t) {
    return sc_align_up((uint64_t)t->numel * sizeof(float), 64);
}

static uint64_t mixed_scratch(const sc_kernel_call *call) {
    return float_bytes(sc_call_tensor(call, 0)) + float_bytes(sc_call_tensor(call, 2));
}

// Sums of a group have one scale, which multiplies them at the end.
static float column_of(const mixed *m, int64_t row, int64_t column) {
    const int8_t *w = (const int8_t *)m->w->data + column * m->w_row;
    const float *x = m->rows + row * m->inner;
    const int64_t groups = m->group > 0 ? (m->inner + m->group - 1) / m->group : 0;
    float total = 0;
    for (int64_t g = 0; g < groups; g++) {
        const int64_t end = sc_min_i64((g + 1) * m->group, m->inner);
        float sum = 0;
        for (int64_t k = g * m->group; k < end; k++) sum += x[k] * (float)w[k * m->w_column];
        total += m->by_row ? sum * m->by_group[column * groups + g] : sum;
    }
    return total;
}

static void run_rows(void *work, int64_t from, int64_t to, uint32_t thread) {
    const mixed *m = work;
    const sc_store_fn store = sc_storer(SC_CLASS_F32, m->out->dtype);
    const size_t item = sc_dtype_bytes((sc_dtype)m->out->dtype);
    (void)thread;
    for (int64_t i = from; i < to; i++) {
        const float value = column_of(m, i / m->columns, i % m->columns);
        store((char *)m->out->data + (size_t)i * item, 1, &value, 1);
    }
}

// Widens the input and the scales. Scales of inner steps become part of the input.
static void widen(const sc_kernel_call *call, mixed *m) {
    float *rows = call->scratch;
    float *scales = (float *)(void *)((uint8_t *)call->scratch + float_bytes(m->x));
    const sc_load_fn load = sc_loader(SC_CLASS_F32, m->x->dtype);
    load(rows, m->x->data, 1, m->x->numel);
    load(scales, m->scales->data, 1, m->scales->numel);
    for (int64_t i = 0; !m->by_row && i < m->x->numel; i++) rows[i] *= scales[i % m->inner];
    m->rows = rows;
    m->by_group = scales;
}

static sc_status run_mixed(const sc_kernel_call *call, mixed *m) {
    const sc_tensor *all[] = {m->x, m->w, m->scales, m->out};
    for (uint32_t i = 0; i < 4; i++)
        if (!sc_tensor_is_contiguous(all[i])) return sc_call_no_kernel(call);
    if (!sc_call_is_none(call, 3))
        return sc_call_fail(call, SC_ERR_UNSUPPORTED, "takes no zero points");
    const unsigned dtype = m->x->dtype;
    if ((dtype != SC_DTYPE_F32 && dtype != SC_DTYPE_F16) || m->w->dtype != SC_DTYPE_I8 ||
        m->scales->dtype != dtype ||
        (m->out->dtype != SC_DTYPE_F32 && m->out->dtype != SC_DTYPE_F16))
        return sc_call_no_kernel(call);
    if (mixed_scratch(call) > call->scratch_bytes) return sc_call_starved(call);
    widen(call, m);
    sc_parallel_rows(m->out->numel, SC_COST_SUM * (double)m->inner, run_rows, m);
    return SC_OK;
}

static mixed read_mixed(const sc_kernel_call *call) {
    return (mixed){.x = sc_call_tensor(call, 0),
                   .w = sc_call_tensor(call, 1),
                   .scales = sc_call_tensor(call, 2),
                   .out = sc_call_out(call)};
}

// (input [m, k], weight [n, k], scales [n] or [n, groups], zero points, dtype, out)
static sc_status run_linear(const sc_kernel_call *call) {
    mixed m = read_mixed(call);
    m.inner = m.w->sizes[1], m.columns = m.w->sizes[0];
    m.w_row = m.inner, m.w_column = 1;
    m.by_row = true;
    const int64_t groups = m.scales->rank == 2 ? m.scales->sizes[1] : 1;
    if (groups <= 0) return sc_call_fail(call, SC_ERR_SHAPE, "there are no scales");
    m.group = (m.inner + groups - 1) / groups;
    if (m.group > 0 && (m.inner + m.group - 1) / m.group != groups)
        return sc_call_fail(call, SC_ERR_SHAPE, "%lld steps do not make %lld groups",
                            (long long)m.inner, (long long)groups);
    return run_mixed(call, &m);
}

// (input [m, k], weight [k, n], scales [k], zero points, out)
static sc_status run_mm(const sc_kernel_call *call) {
    mixed m = read_mixed(call);
    m.inner = m.w->sizes[0], m.columns = m.w->sizes[1];
    m.w_row = 1, m.w_column = m.columns;
    m.group = m.inner;
    return run_mixed(call, &m);
}

SC_KERNEL(mixed_linear, .run = run_linear, .scratch = mixed_scratch);
SC_KERNEL(mixed_product, .run = run_mm, .scratch = mixed_scratch);

// --- Sums ----------------------------------------------------------------------------------------

typedef struct affine {
    float scale;
    int64_t zero, low, high;
} affine;

static affine read_affine(const sc_kernel_call *call, uint32_t at) {
    return (affine){(float)sc_call_number(call, at), sc_call_integer(call, at + 1),
                    sc_call_integer(call, at + 2), sc_call_integer(call, at + 3)};
}

// (a, its scale, zero point, least and most, b, the same of b, the same of the result, out)
static sc_status run_add(const sc_kernel_call *call) {
    const sc_tensor *a = sc_call_tensor(call, 0), *b = sc_call_tensor(call, 5);
    const sc_tensor *out = sc_call_out(call);
    const affine of_a = read_affine(call, 1), of_b = read_affine(call, 6),
                 to = read_affine(call, 10);
    sc_stream from_a, from_b, target;
    if (a->dtype != SC_DTYPE_U8 || b->dtype != SC_DTYPE_U8 || out->dtype != SC_DTYPE_U8)
        return sc_call_no_kernel(call);
    if (to.low < 0 || to.high > UINT8_MAX || to.low > to.high)
        return sc_call_fail(call, SC_ERR_ARGUMENT, "the result does not fit into uint8");
    if (out->numel == 0) return SC_OK;
    SC_TRY(sc_stream_open(call->ctx, &from_a, a, out));
    SC_TRY(sc_stream_open(call->ctx, &from_b, b, out));
    SC_TRY(sc_stream_open(call->ctx, &target, out, out));
    const sc_load_fn load = sc_loader(SC_CLASS_F32, SC_DTYPE_U8);
    for (int64_t i = 0; i < out->numel; i += SC_BLOCK) {
        float x[SC_BLOCK], y[SC_BLOCK];
        const int64_t n = sc_min_i64(SC_BLOCK, out->numel - i);
        sc_stream_load(&from_a, load, x, sizeof *x, n);
        sc_stream_load(&from_b, load, y, sizeof *y, n);
        for (int64_t k = 0; k < n; k++) {
            const float sum =
                (x[k] - (float)of_a.zero) * of_a.scale + (y[k] - (float)of_b.zero) * of_b.scale;
            const int64_t q = sc_f64_to_i64((double)nearbyintf(sum * (1 / to.scale)));
            x[k] = (float)(q < to.low - to.zero    ? to.low
                           : q > to.high - to.zero ? to.high
                                                   : q + to.zero);
        }
        sc_stream_store(&target, sc_storer(SC_CLASS_F32, SC_DTYPE_U8), x, sizeof *x, n);
    }
    return SC_OK;
}

SC_KERNEL(quantized_add, .run = run_add);
