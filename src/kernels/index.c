// Reads by index tensors along one dim: embedding, index_select and gather.
#include "base/parallel.h"
#include "kernels/index_walk.h"

// --- Rows ----------------------------------------------------------------------------------------

typedef struct rows {
    const sc_tensor *table, *indices, *out;
    uint32_t dim;  // of a selection
} rows;

static void copy_rows(void *work, int64_t first, int64_t end, uint32_t thread) {
    const rows *r = work;
    const sc_tensor *table = r->table, *indices = r->indices, *out = r->out;
    const uint32_t width = sc_dtype_bytes((sc_dtype)table->dtype), last = out->rank - 1u;
    const sc_load_fn load = sc_loader(SC_CLASS_I64, indices->dtype);
    sc_stream from, to;
    sc_stream_init_dims(&from, indices->data, sc_dtype_bytes((sc_dtype)indices->dtype),
                        indices->rank, indices->sizes, indices->strides);
    sc_stream_init_dims(&to, out->data, width, last, out->sizes, out->strides);
    sc_stream_seek(&from, first);
    sc_stream_seek(&to, first);
    (void)thread;
    for (int64_t i = first; i < end; i++) {
        int64_t index, stride;
        char *row;
        sc_stream_load(&from, load, &index, sizeof index, 1);
        sc_stream_run(&to, 1, &row, &stride);
        sc_copy_row(row, out->strides[last],
                    (const char *)table->data + index * table->strides[0] * width,
                    table->strides[1], table->sizes[1], width);
    }
}

// (weight, indices, padding_idx, scale_grad_by_freq, sparse, out): negatives are errors too.
static sc_status run_embedding(const sc_kernel_call *call) {
    const sc_tensor *weight = sc_call_tensor(call, 0), *indices = sc_call_tensor(call, 1);
    const sc_tensor *out = sc_call_out(call);
    SC_TRY(sc_index_check_dtype(call, indices));
    bool fits = weight->rank == 2 && out->rank == indices->rank + 1u && out->dtype == weight->dtype;
    for (uint32_t d = 0; fits && d < out->rank; d++)
        fits = out->sizes[d] == (d < indices->rank ? indices->sizes[d] : weight->sizes[1]);
    if (!fits) return sc_call_fail(call, SC_ERR_SHAPE, "the shapes do not agree");
    SC_TRY(sc_index_check(call, indices, weight->sizes[0]));
    rows r = {.table = weight, .indices = indices, .out = out};
    if (out->numel > 0)
        sc_parallel_rows(indices->numel, SC_COST_COPY * (double)weight->sizes[1], copy_rows, &r);
    return SC_OK;
}

// Position `i` of the index along `dim`.
static sc_status select_one(const rows *r, const sc_kernel_call *call, int64_t i) {
    const int64_t at =
        sc_index_at(r->indices, r->indices->rank > 0 ? i * r->indices->strides[0] : 0);
    sc_strided src, dst;
    sc_strided_of(&src, r->table);
    sc_strided_of(&dst, r->out);
    if (r->table->rank > 0) {
        sc_strided_drop(&src, r->dim, at);
        sc_strided_drop(&dst, r->dim, i);
    }
    return sc_move(call, &dst, &src);
}

// Positions after the first one, which has shown that moves do not fail.
static void select_part(void *work, int64_t from, int64_t to, uint32_t thread) {
    const rows *r = work;
    const sc_kernel_call no_call = {0};
    (void)thread;
    for (int64_t i = from; i < to; i++) SC_ASSERT(select_one(r, &no_call, i + 1) == SC_OK);
}

// (self, dim, index, out)
static sc_status run_index_select(const sc_kernel_call *call) {
    const sc_tensor *self = sc_call_tensor(call, 0), *index = sc_call_tensor(call, 2);
    const sc_tensor *out = sc_call_out(call);
    uint32_t dim = sc_call_dim(call, 1, self->rank);
    SC_TRY(sc_index_check_dtype(call, index));
    if (index->rank > 1 || out->rank != self->rank ||
        (out->rank > 0 && out->sizes[dim] != index->numel))
        return sc_call_fail(call, SC_ERR_SHAPE, "the shapes do not agree");
    rows r = {.table = self, .indices = index, .out = out, .dim = dim};
    SC_TRY(sc_index_check(call, index, self->rank > 0 ? self->sizes[dim] : 1));
    if (index->numel == 0) return SC_OK;
    SC_TRY(select_one(&r, call, 0));
    const double each = (double)out->numel / (double)index->numel;
    sc_parallel_rows(index->numel - 1, 100 + SC_COST_COPY * each, select_part, &r);
    return SC_OK;
}

// --- Element by element --------------------------------------------------------------------------

typedef struct gathering {
    const sc_index_walk *w;
    const sc_tensor *self, *index, *out;
    uint32_t dim;
} gathering;

static void gather_part(void *work, int64_t from, int64_t to, uint32_t thread) {
    const gathering *g = work;
    const int64_t width = sc_dtype_bytes((sc_dtype)g->self->dtype), step = g->self->strides[g->dim];
    sc_index_walk w = *g->w;
    sc_index_walk_seek(&w, from);
    (void)thread;
    for (int64_t i = from; i < to; i++, sc_index_walk_next(&w)) {
        const int64_t at = sc_index_at(g->index, w.offsets[SC_INDEX]);
        memcpy((char *)g->out->data + w.offsets[SC_INDEX_TARGET] * width,
               (const char *)g->self->data + (w.offsets[SC_INDEX_SOURCE] + at * step) * width,
               (size_t)width);
    }
}

// (self, dim, index, sparse_grad, out)
static sc_status run_gather(const sc_kernel_call *call) {
    int64_t one = 1;
    sc_tensor self = sc_index_as_vector(sc_call_tensor(call, 0), &one);
    sc_tensor index = sc_index_as_vector(sc_call_tensor(call, 2), &one);
    sc_tensor out = sc_index_as_vector(sc_call_out(call), &one);
    uint32_t dim = sc_call_dim(call, 1, self.rank);
    sc_index_walk w;
    SC_TRY(sc_index_check_dtype(call, &index));
    if (index.numel == 0 && out.numel == 0) return SC_OK;
    sc_index_walk_init(&w, &index);
    if (out.numel != index.numel || out.dtype != self.dtype ||
        !sc_index_walk_add(&w, SC_INDEX_TARGET, &out, dim, true) ||
        !sc_index_walk_add(&w, SC_INDEX_SOURCE, &self, dim, false))
        return sc_call_fail(call, SC_ERR_SHAPE, "the shapes do not agree");
    SC_TRY(sc_index_check(call, &index, self.sizes[dim]));
    gathering g = {&w, &self, &index, &out, dim};
    sc_parallel_rows(index.numel, 2 * SC_COST_CONVERT, gather_part, &g);
    return SC_OK;
}

SC_KERNEL(embedding, .run = run_embedding);
SC_KERNEL(index_select, .run = run_index_select);
SC_KERNEL(gather, .run = run_gather);
