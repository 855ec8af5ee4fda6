// Products of runs of rows, each with the matrix of its own group, as in a mixture of experts. Rows
// after the last run are zeros. Half precision multiplies f32 copies.
#include "compute/matmul.h"

#include "kernels/convert.h"
#include "kernels/product.h"

// (input, weight, offs, out): run g ends before row offs[g] and begins at the end of the run
// before.
typedef struct groups {
    const sc_tensor *rows, *weight, *ends, *out;
    bool is_half;
} groups;

static groups groups_of(const sc_kernel_call *call) {
    const sc_tensor *out = sc_call_out(call);
    return (groups){.rows = sc_call_tensor(call, 0),
                    .weight = sc_call_tensor(call, 1),
                    .ends = sc_call_tensor(call, 2),
                    .out = out,
                    .is_half = sc_dtype_is_half((sc_dtype)out->dtype)};
}

static bool fits(const groups *g) {
    const sc_tensor *x = g->rows, *w = g->weight, *out = g->out;
    return x->rank == 2 && w->rank == 3 && g->ends->rank == 1 && out->rank == 2 &&
           g->ends->sizes[0] == w->sizes[0] && x->sizes[1] == w->sizes[1] &&
           out->sizes[0] == x->sizes[0] && out->sizes[1] == w->sizes[2];
}

static bool dtypes_agree(const groups *g) {
    const unsigned dtype = g->out->dtype;
    return g->rows->dtype == dtype && g->weight->dtype == dtype &&
           sc_dtype_is_float((sc_dtype)dtype) &&
           (g->ends->dtype == SC_DTYPE_I32 || g->ends->dtype == SC_DTYPE_I64);
}

static sc_status check_ends(const sc_kernel_call *call, const groups *g) {
    int64_t last = 0;
    for (int64_t i = 0; i < g->ends->numel; i++) {
        const int64_t end = sc_tensor_integer(g->ends, i * g->ends->strides[0]);
        if (end < last || end > g->rows->sizes[0])
            return sc_call_fail(call, SC_ERR_INDEX,
                                "group %lld ends at row %lld, but the group before it ends at row "
                                "%lld and there are %lld rows",
                                (long long)i, (long long)end, (long long)last,
                                (long long)g->rows->sizes[0]);
        last = end;
    }
    return SC_OK;
}

// --- One group -----------------------------------------------------------------------------------

// Multiplies rows [from, from + count) with the matrix of one group. For scratch, counts all rows.
static sc_matmul product_of(const sc_kernel_call *call, const groups *g, int64_t group,
                            int64_t from, int64_t count) {
    const sc_tensor *x = g->rows, *w = g->weight, *out = g->out;
    const int64_t bytes = (int64_t)sc_dtype_bytes((sc_dtype)out->dtype);
    return (sc_matmul){
        .record = sc_product_record(call, SC_RECORD_MATMUL, out->dtype),
        .batch = 1,
        .m = count,
        .n = w->sizes[2],
        .k = x->sizes[1],
        .a = {.data = (char *)x->data + from * x->strides[0] * bytes,
              .row = x->strides[0],
              .column = x->strides[1]},
        .b = {.data = (char *)w->data + group * w->strides[0] * bytes,
              .row = w->strides[1],
              .column = w->strides[2]},
        .c = (char *)out->data + from * out->strides[0] * bytes,
        .c_row = out->strides[0],
        .c_column = out->strides[1],
        .alpha = 1,
        .beta = 1,
        .alpha_int = 1,
        .beta_int = 1,
    };
}

// Bytes of a row-major copy in f32.
static uint64_t copy_bytes(int64_t rows, int64_t columns) {
    return sc_align_up((uint64_t)rows * (uint64_t)columns * sizeof(float), 64);
}

static uint64_t copies_bytes(const sc_matmul *mm) {
    return copy_bytes(mm->m, mm->k) + copy_bytes(mm->k, mm->n) + copy_bytes(mm->m, mm->n);
}

static void copy_floats(sc_matrix *from, int64_t rows, int64_t columns, unsigned dtype,
                        uint8_t **scratch) {
    float *to = (float *)(void *)*scratch;
    const int64_t bytes = (int64_t)sc_dtype_bytes((sc_dtype)dtype);
    for (int64_t i = 0; i < rows; i++)
        sc_loader(SC_CLASS_F32, dtype)(to + i * columns,
                                       (const char *)from->data + i * from->row * bytes,
                                       from->column, columns);
    *from = (sc_matrix){.data = to, .row = columns, .column = 1};
    *scratch += copy_bytes(rows, columns);
}

// The result follows the copies until it is stored.
static void *copy_halves(sc_matmul *mm, unsigned dtype, uint8_t *scratch) {
    copy_floats(&mm->a, mm->m, mm->k, dtype, &scratch);
    copy_floats(&mm->b, mm->k, mm->n, dtype, &scratch);
    mm->c = scratch;
    mm->c_row = mm->n;
    mm->c_column = 1;
    return scratch + copy_bytes(mm->m, mm->n);
}

static void store_halves(const sc_matmul *mm, const groups *g, int64_t from) {
    const sc_tensor *out = g->out;
    const int64_t bytes = (int64_t)sc_dtype_bytes((sc_dtype)out->dtype);
    for (int64_t i = 0; i < mm->m; i++)
        sc_storer(SC_CLASS_F32,
                  out->dtype)((char *)out->data + (from + i) * out->strides[0] * bytes,
                              out->strides[1], (const float *)mm->c + i * mm->n, mm->n);
}

static sc_status run_group(const sc_kernel_call *call, const groups *g, int64_t group, int64_t from,
                           int64_t count) {
    sc_matmul mm = product_of(call, g, group, from, count);
    const uint64_t copies = g->is_half ? copies_bytes(&mm) : 0;
    if (copies > call->scratch_bytes) return sc_call_starved(call);
    const sc_variant *variant = sc_product_variant(call, &mm.record, call->scratch_bytes - copies);
    if (!variant) return sc_call_no_kernel(call);
    void *rest = g->is_half ? copy_halves(&mm, g->out->dtype, call->scratch) : call->scratch;
    sc_product_run(call, variant, &mm.record, rest);
    if (g->is_half) store_halves(&mm, g, from);
    return SC_OK;
}

// --- The kernel ----------------------------------------------------------------------------------

// All bits zero is 0 in every type of floats.
static void clear_rows(const groups *g, int64_t from) {
    const int64_t bytes = (int64_t)sc_dtype_bytes((sc_dtype)g->out->dtype);
    for (int64_t i = from; i < g->out->sizes[0]; i++)
        for (int64_t j = 0; j < g->out->sizes[1]; j++)
            memset((char *)g->out->data + (i * g->out->strides[0] + j * g->out->strides[1]) * bytes,
                   0, (size_t)bytes);
}

static sc_status run_grouped_mm(const sc_kernel_call *call) {
    const groups g = groups_of(call);
    int64_t from = 0;
    if (!fits(&g)) return sc_call_fail(call, SC_ERR_SHAPE, "the matrices do not fit together");
    if (!dtypes_agree(&g)) return sc_call_no_kernel(call);
    SC_TRY(check_ends(call, &g));
    if (g.out->numel == 0) return SC_OK;
    for (int64_t i = 0; i < g.ends->numel; i++) {
        const int64_t end = sc_tensor_integer(g.ends, i * g.ends->strides[0]);
        if (end > from) SC_TRY(run_group(call, &g, i, from, end - from));
        from = end;
    }
    clear_rows(&g, from);
    return SC_OK;
}

static int64_t group_at(const groups *g, int64_t row) {
    int64_t group = 0;
    for (int64_t i = 0; i < g->ends->numel; i++)
        group += sc_tensor_integer(g->ends, i * g->ends->strides[0]) <= row;
    return group;
}

static sc_status run_grouped_runs(const sc_kernel_call *call) {
    const groups g = groups_of(call);
    if (!fits(&g)) return sc_call_fail(call, SC_ERR_SHAPE, "the matrices do not fit together");
    if (!dtypes_agree(&g)) return sc_call_no_kernel(call);
    if (g.out->numel == 0) return SC_OK;
    for (int64_t from = 0, to; from < g.rows->sizes[0]; from = to) {
        const int64_t group = group_at(&g, from);
        if (group == g.ends->numel) {
            clear_rows(&g, from);
            break;
        }
        for (to = from + 1; to < g.rows->sizes[0] && group_at(&g, to) == group;) to++;
        SC_TRY(run_group(call, &g, group, from, to - from));
    }
    return SC_OK;
}

static uint64_t grouped_scratch(const sc_kernel_call *call) {
    const groups g = groups_of(call);
    if (g.rows->rank != 2 || g.weight->rank != 3 || g.out->rank != 2) return 0;
    const sc_matmul mm = product_of(call, &g, 0, 0, g.rows->sizes[0]);
    const sc_variant *variant = sc_product_variant(call, &mm.record, UINT64_MAX);
    return (g.is_half ? copies_bytes(&mm) : 0) +
           (variant ? sc_variant_scratch_bytes(variant, &mm.record) : 0);
}

SC_KERNEL(grouped_mm, .run = run_grouped_mm, .scratch = grouped_scratch);
// No kernel of a row: loading chooses it.
const sc_kernel sc_k_grouped_runs = {.run = run_grouped_runs, .scratch = grouped_scratch};
