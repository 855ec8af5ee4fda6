// Runtime tensors: strides from sizes and dim order, resizing within capacity, and copies between
// row-major bytes and any layout.
#include "rt/run/tensor.h"

#include "base/strides.h"
#include "rt/operands.h"

void sc_rt_tensor_set_strides(sc_tensor *t) {
    (void)sc_strides_of(t->sizes, t->rank, t->dim_order, t->strides);
    t->numel = 1;
    for (uint32_t d = 0; d < t->rank; d++) t->numel *= t->sizes[d];
}

uint64_t sc_rt_tensor_bytes(const sc_tensor *t) {
    return (uint64_t)t->numel * sc_dtype_bytes((sc_dtype)t->dtype);
}

static bool same_sizes(const sc_tensor *t, const int64_t *sizes) {
    for (uint32_t d = 0; d < t->rank; d++) {
        if (t->sizes[d] != sizes[d]) return false;
    }
    return true;
}

static void print_sizes(sc_sb *sb, const int64_t *sizes, uint32_t rank) {
    sc_sb_add_char(sb, '[');
    for (uint32_t d = 0; d < rank; d++)
        sc_sb_addf(sb, "%s%lld", d ? ", " : "", (long long)sizes[d]);
    sc_sb_add_char(sb, ']');
}

static sc_status refuse(sc_ctx *ctx, const sc_tensor *t, const int64_t *sizes, uint32_t rank) {
    sc_sb have, want;
    sc_sb_init(&have, ctx->scratch);
    sc_sb_init(&want, ctx->scratch);
    print_sizes(&have, t->sizes, t->rank);
    print_sizes(&want, sizes, rank);
    return sc_fail(
        ctx, SC_ERR_SHAPE,
        t->is_dynamic ? "Pass inputs of the sizes that the method declares. If the data decides "
                        "the size, lower the model again with a larger --max-size."
                      : "Pass inputs of the sizes that the method declares.",
        "a result of shape %s does not fit its tensor of %s, which holds %llu bytes%s",
        sc_sb_terminate(&want), sc_sb_terminate(&have), (unsigned long long)t->capacity_bytes,
        t->is_dynamic ? "" : " and cannot change");
}

sc_status sc_rt_tensor_resize(sc_ctx *ctx, sc_tensor *t, const int64_t *sizes, uint32_t rank) {
    uint64_t bytes = sc_dtype_bytes((sc_dtype)t->dtype);
    if (rank == t->rank && same_sizes(t, sizes)) return SC_OK;
    if (rank != t->rank || !t->is_dynamic) return refuse(ctx, t, sizes, rank);
    for (uint32_t d = 0; d < rank; d++) {
        // Sizes of 0 count as 1, as in strides, so these cannot overflow either.
        uint64_t size = sizes[d] ? (uint64_t)sizes[d] : 1;
        if (sizes[d] < 0 || !sc_mul_u64(bytes, size, &bytes)) return refuse(ctx, t, sizes, rank);
    }
    bool empty = false;
    for (uint32_t d = 0; d < rank; d++) empty = empty || sizes[d] == 0;
    if (empty ? bytes > INT64_MAX : bytes > t->capacity_bytes) return refuse(ctx, t, sizes, rank);
    memcpy(t->sizes, sizes, rank * sizeof *sizes);
    sc_rt_tensor_set_strides(t);
    return SC_OK;
}

static bool overlap(const sc_tensor *a, const sc_tensor *b) {
    uintptr_t a_first = (uintptr_t)a->data, b_first = (uintptr_t)b->data;
    uint64_t a_bytes = sc_rt_tensor_bytes(a), b_bytes = sc_rt_tensor_bytes(b);
    return a_bytes && b_bytes && a_first < b_first + b_bytes && b_first < a_first + a_bytes;
}

// Identical memory does not clash for element-wise operators and for those that only pass values
// on.
static bool clash(const sc_op *op, const sc_tensor *operand, const sc_tensor *out) {
    bool may_be_one = sc_op_has(op, SC_POINTWISE | SC_HANDS_ON | SC_OVERWRITES) &&
                      operand->data == out->data &&
                      sc_rt_tensor_bytes(operand) == sc_rt_tensor_bytes(out);
    return operand != out && !may_be_one && overlap(operand, out);
}

const char *sc_rt_call_write_fault(const sc_kernel_call *call) {
    sc_rt_operands out = sc_rt_operands_of_call(call, SC_RT_WRITES);
    while (sc_rt_operands_next(&out)) {
        if (!out.tensor) continue;
        if (out.tensor->is_constant) return "writes to a constant";
        sc_rt_operands in = sc_rt_operands_of_call(call, SC_RT_TAKES);
        while (sc_rt_operands_next(&in)) {
            if (in.tensor && !in.tensor->is_constant && clash(call->op, in.tensor, out.tensor))
                return "overwrites one of its operands";
        }
    }
    return NULL;
}

// --- Row-major and back --------------------------------------------------------------------------

static bool is_row_major(const sc_tensor *t) { return sc_tensor_is_contiguous(t); }

// Copies between a tensor and row-major bytes, element by element in row-major order.
static void walk(const sc_tensor *t, uint8_t *strided, uint8_t *dense, bool to_dense) {
    const size_t item = sc_dtype_bytes((sc_dtype)t->dtype);
    int64_t at[SC_RANK_MAX] = {0};
    for (int64_t n = 0; n < t->numel; n++, dense += item) {
        int64_t offset = 0;
        for (uint32_t d = 0; d < t->rank; d++) offset += at[d] * t->strides[d];
        uint8_t *there = strided + (size_t)offset * item;
        memcpy(to_dense ? dense : there, to_dense ? there : dense, item);
        for (uint32_t d = t->rank; d-- > 0;) {
            if (++at[d] < t->sizes[d]) break;
            at[d] = 0;
        }
    }
}

void sc_rt_tensor_write(sc_tensor *t, void *to, const void *row_major) {
    if (t->numel == 0) return;
    if (is_row_major(t))
        memcpy(to, row_major, (size_t)sc_rt_tensor_bytes(t));
    else
        walk(t, to, (uint8_t *)(uintptr_t)row_major, false);
}

void sc_rt_tensor_read(const sc_tensor *t, void *out, size_t bytes) {
    SC_ASSERT(bytes == sc_rt_tensor_bytes(t));
    if (bytes == 0) return;
    if (is_row_major(t))
        memcpy(out, t->data, bytes);
    else
        walk(t, t->data, out, true);
}
