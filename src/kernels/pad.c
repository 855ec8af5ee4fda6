// Copies rows with a rule for their ends: reflection and replication padding, and triangles. Also
// repeat_interleave, which writes out run lengths.
#include "base/parallel.h"
#include "kernels/move.h"

typedef enum edge_rule { EDGE_REFLECTS, EDGE_REPLICATES } edge_rule;

typedef struct edge_pad {
    edge_rule rule;
    uint32_t rank, padded;  // dims, and how many of the last ones have pads
    int64_t before[3];      // of the padded dims, outermost first
    const sc_tensor *in, *out;
} edge_pad;

// The source of position `x` of the padded dim.
static int64_t edge_source(edge_rule rule, int64_t x, int64_t before, int64_t size) {
    int64_t i = x - before;
    if (rule == EDGE_REPLICATES) return sc_min_i64(sc_max_i64(i, 0), size - 1);
    i = i < 0 ? -i : i;
    return i >= size ? 2 * (size - 1) - i : i;
}

// Writes one row of the last dim: left edge, the input, right edge.
static void pad_row(const edge_pad *p, char *to, const char *from, uint32_t width) {
    uint32_t last = p->rank - 1;
    int64_t size = p->in->sizes[last], total = p->out->sizes[last];
    int64_t before = p->before[p->padded - 1];
    int64_t to_step = p->out->strides[last], from_step = p->in->strides[last];
    int64_t first = sc_max_i64(before, 0), skipped = sc_max_i64(-before, 0);
    int64_t middle = sc_min_i64(size - skipped, total - first);
    for (int64_t x = 0; x < total; x++) {
        if (x == first && middle > 0) {
            sc_copy_row(to + x * to_step * width, to_step, from + skipped * from_step * width,
                        from_step, middle, width);
            x += middle - 1;
            continue;
        }
        int64_t source = edge_source(p->rule, x, before, size);
        memcpy(to + x * to_step * width, from + source * from_step * width, width);
    }
}

static sc_status check_pads(const sc_kernel_call *call, edge_pad *p) {
    int64_t pads[6];
    uint32_t count = sc_call_ints(call, 1, pads, 6, 0);
    p->in = sc_call_tensor(call, 0);
    p->out = sc_call_out(call);
    p->rank = p->in->rank;
    p->padded = count / 2;
    bool fits = count % 2 == 0 && count > 0 && p->padded <= p->rank && p->out->rank == p->rank &&
                p->out->dtype == p->in->dtype;
    for (uint32_t d = 0; fits && d < p->rank; d++) {
        uint32_t from_last = p->rank - 1 - d;
        bool padded = from_last < p->padded;
        int64_t before = padded ? pads[2 * from_last] : 0;
        int64_t after = padded ? pads[2 * from_last + 1] : 0, size = p->in->sizes[d];
        if (padded) p->before[p->padded - 1 - from_last] = before;
        fits = p->out->sizes[d] == size + before + after && before > -(1LL << 40) &&
               after > -(1LL << 40) && (!padded || size > 0 || p->out->sizes[d] == 0) &&
               (!padded || p->rule != EDGE_REFLECTS || (before < size && after < size));
    }
    if (!fits)
        return sc_call_fail(call, SC_ERR_ARGUMENT,
                            "pads do not suit the shape (reflection needs pads below the size)");
    return SC_OK;
}

// Rows of the last dim, counted through all others.
static void pad_rows(void *work, int64_t first, int64_t end, uint32_t thread) {
    const edge_pad *p = work;
    const uint32_t width = sc_dtype_bytes((sc_dtype)p->in->dtype), outer = p->rank - 1;
    (void)thread;
    for (int64_t i = first; i < end; i++) {
        int64_t to = 0, from = 0, left = i;
        for (uint32_t d = outer; d-- > 0; left /= p->out->sizes[d]) {
            const int64_t at = left % p->out->sizes[d];
            const uint32_t from_last = p->rank - d;
            int64_t source = at;
            if (from_last <= p->padded)
                source =
                    edge_source(p->rule, at, p->before[p->padded - from_last], p->in->sizes[d]);
            to += at * p->out->strides[d];
            from += source * p->in->strides[d];
        }
        pad_row(p, (char *)p->out->data + to * width, (const char *)p->in->data + from * width,
                width);
    }
}

static sc_status run_edges(const sc_kernel_call *call) {
    const edge_rule rule = (edge_rule)call->kernel->param;
    edge_pad p = {.rule = rule};
    SC_TRY(check_pads(call, &p));
    if (p.out->numel == 0) return SC_OK;
    const int64_t row = p.out->sizes[p.rank - 1];
    sc_parallel_rows(p.out->numel / row, 20 + SC_COST_SUM * (double)row, pad_rows, &p);
    return SC_OK;
}

// --- Triangles -----------------------------------------------------------------------------------

// Copies columns [first, last) of every row, which the diagonal decides; the rest is zero.
static sc_status keep_triangle(const sc_kernel_call *call) {
    const bool lower = call->kernel->param;
    sc_strided src, dst;
    char zero[16] = {0};
    sc_strided_of(&src, sc_call_tensor(call, 0));
    sc_strided_of(&dst, sc_call_out(call));
    if (src.rank < 2 || dst.rank != src.rank)
        return sc_call_fail(call, SC_ERR_SHAPE, "a triangle needs at least two dims");
    sc_fill(&dst, zero);
    uint32_t row = src.rank - 2, column = src.rank - 1;
    int64_t rows = sc_min_i64(src.sizes[row], dst.sizes[row]), columns = src.sizes[column];
    int64_t diagonal = sc_min_i64(sc_max_i64(sc_call_integer(call, 1), -rows - 1), columns + 1);
    for (int64_t r = 0; r < rows; r++) {
        int64_t edge = sc_min_i64(sc_max_i64(r + diagonal + (lower ? 1 : 0), 0), columns);
        int64_t first = lower ? 0 : edge, last = lower ? edge : columns;
        sc_strided to = dst, from = src;
        if (last <= first || columns != dst.sizes[column]) continue;
        sc_strided_narrow(&to, row, r, 1, 1);
        sc_strided_narrow(&from, row, r, 1, 1);
        sc_strided_narrow(&to, column, first, last - first, 1);
        sc_strided_narrow(&from, column, first, last - first, 1);
        SC_TRY(sc_move(call, &to, &from));
    }
    return SC_OK;
}

// --- Run lengths ---------------------------------------------------------------------------------

static sc_status run_repeat_interleave(const sc_kernel_call *call) {
    const sc_tensor *repeats = sc_call_tensor(call, 0), *out = sc_call_out(call);
    sc_load_fn load = sc_loader(SC_CLASS_I64, repeats->dtype);
    sc_store_fn store = sc_storer(SC_CLASS_I64, out->dtype);
    if (repeats->dtype != SC_DTYPE_I32 && repeats->dtype != SC_DTYPE_I64)
        return sc_call_no_kernel(call);
    if (repeats->rank != 1 || out->rank != 1 || !store)
        return sc_call_fail(call, SC_ERR_SHAPE, "repeats must be a vector of integers");
    uint32_t from_width = sc_dtype_bytes((sc_dtype)repeats->dtype);
    uint32_t to_width = sc_dtype_bytes((sc_dtype)out->dtype);
    int64_t written = 0;
    for (int64_t i = 0; i < repeats->numel; i++) {
        int64_t count;
        load(&count, (const char *)repeats->data + i * from_width, 1, 1);
        if (count < 0 || count > out->numel - written)
            return sc_call_fail_hint(call, SC_ERR_INDEX, "Check the values of the repeats.",
                                     "repeat %lld does not fit the result", (long long)count);
        for (int64_t k = 0; k < count; k++)
            store((char *)out->data + (written + k) * to_width, 1, &i, 1);
        written += count;
    }
    if (written != out->numel)
        return sc_call_fail(call, SC_ERR_SHAPE, "the repeats sum to %lld, but the result has %lld",
                            (long long)written, (long long)out->numel);
    return SC_OK;
}

SC_KERNEL(reflection_pad, .run = run_edges, .param = EDGE_REFLECTS);
SC_KERNEL(replication_pad, .run = run_edges, .param = EDGE_REPLICATES);
SC_KERNEL(tril, .run = keep_triangle, .param = true);
SC_KERNEL(triu, .run = keep_triangle, .param = false);
SC_KERNEL(repeat_interleave, .run = run_repeat_interleave);
