// glu: the first half of a dim times the sigmoid of the second.
#include <math.h>

#include "base/parallel.h"
#include "compute/simd/simd_math.h"
#include "kernels/move.h"

static void gate_f32(float *x, const float *gate, int64_t n) {
    for (int64_t i = 0; i < n; i += 4) {
        size_t left = n - i < 4 ? (size_t)(n - i) : 4;
        v4f g = v4f_sigmoid(left == 4 ? v4f_load(gate + i) : v4f_load_part(gate + i, left));
        for (size_t k = 0; k < left; k++) x[i + (int64_t)k] *= g[k];
    }
}

static void gate_f64(double *x, const double *gate, int64_t n) {
    for (int64_t i = 0; i < n; i++) x[i] *= 1.0 / (1.0 + exp(-gate[i]));
}

// One half of `self` along `dim`, in the memory order of the result.
static sc_stream half_of(const sc_tensor *self, const sc_tensor *out, uint32_t dim, int64_t half) {
    sc_strided view;
    sc_stream s;
    uint32_t order[SC_RANK_MAX];
    sc_strided_of(&view, self);
    sc_strided_narrow(&view, dim, half * out->sizes[dim], out->sizes[dim], 1);
    for (uint32_t d = 0; d < out->rank; d++) order[d] = out->dim_order[d];
    sc_strided_permute(&view, order);
    sc_stream_init_dims(&s, view.data, sc_dtype_bytes((sc_dtype)self->dtype), view.rank, view.sizes,
                        view.strides);
    return s;
}

typedef struct gating {
    sc_stream a, b, to;
    sc_class class_;
    sc_load_fn load;
    sc_store_fn store;
} gating;

static void gate_part(void *work, int64_t from, int64_t end, uint32_t thread) {
    const gating *g = work;
    const uint32_t width = sc_class_bytes(g->class_);
    sc_stream a = g->a, b = g->b, to = g->to;
    sc_stream_seek(&a, from);
    sc_stream_seek(&b, from);
    sc_stream_seek(&to, from);
    (void)thread;
    for (int64_t i = from; i < end; i += SC_BLOCK) {
        double x[SC_BLOCK], gate[SC_BLOCK];
        int64_t n = sc_min_i64(SC_BLOCK, end - i);
        sc_stream_load(&a, g->load, x, width, n);
        sc_stream_load(&b, g->load, gate, width, n);
        if (g->class_ == SC_CLASS_F64)
            gate_f64(x, gate, n);
        else
            gate_f32((float *)(void *)x, (const float *)(const void *)gate, n);
        sc_stream_store(&to, g->store, x, width, n);
    }
}

// (self, dim, out)
static sc_status run_glu(const sc_kernel_call *call) {
    const sc_tensor *self = sc_call_tensor(call, 0), *out = sc_call_out(call);
    uint32_t dim = sc_call_dim(call, 1, self->rank);
    sc_class class_ = self->dtype == SC_DTYPE_F64 ? SC_CLASS_F64 : SC_CLASS_F32;
    bool fits = self->rank > 0 && out->rank == self->rank;
    for (uint32_t d = 0; fits && d < self->rank; d++)
        fits = self->sizes[d] == out->sizes[d] * (d == dim ? 2 : 1);
    if (!fits || !sc_dtype_is_float((sc_dtype)self->dtype) ||
        !sc_dtype_is_float((sc_dtype)out->dtype))
        return sc_call_fail(call, SC_ERR_SHAPE,
                            "needs a float tensor, and a result of half its size along the dim");
    if (out->numel == 0) return SC_OK;
    gating g = {.a = half_of(self, out, dim, 0),
                .b = half_of(self, out, dim, 1),
                .class_ = class_,
                .load = sc_loader(class_, self->dtype),
                .store = sc_storer(class_, out->dtype)};
    SC_TRY(sc_stream_open(call->ctx, &g.to, out, out));
    sc_parallel_rows(out->numel, SC_COST_FUNCTION + SC_COST_CONVERT, gate_part, &g);
    return SC_OK;
}

SC_KERNEL(glu, .run = run_glu);
