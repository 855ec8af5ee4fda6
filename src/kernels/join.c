// Ops that join several tensors or split one, and those that write a part of a copy: cat, stack,
// split, pad, slice_scatter, roll.
#include "kernels/move.h"

static sc_status move_into(const sc_kernel_call *call, const sc_strided *dst,
                           const sc_tensor *from) {
    sc_strided src;
    sc_strided_of(&src, from);
    return sc_move(call, dst, &src);
}

// --- Together ------------------------------------------------------------------------------------

static sc_status run_cat(const sc_kernel_call *call) {
    const sc_evalue *list = call->args[0];
    const sc_tensor *out = sc_call_out(call);
    uint32_t dim = sc_call_dim(call, 1, out->rank);
    int64_t start = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        const sc_tensor *part = list->tensors[i]->tensor;
        if (part->rank == 1 && part->sizes[0] == 0)
            continue;  // the legacy empty tensor is compatible with every shape
        sc_strided dst;
        sc_strided_of(&dst, out);
        if (part->rank != out->rank || out->rank == 0 || part->sizes[dim] > out->sizes[dim] - start)
            return sc_call_fail(call, SC_ERR_SHAPE, "a tensor does not fit the result");
        sc_strided_narrow(&dst, dim, start, part->sizes[dim], 1);
        SC_TRY(move_into(call, &dst, part));
        start += part->sizes[dim];
    }
    return SC_OK;
}

static sc_status run_stack(const sc_kernel_call *call) {
    const sc_evalue *list = call->args[0];
    const sc_tensor *out = sc_call_out(call);
    uint32_t dim = sc_call_dim(call, 1, out->rank);
    if (out->rank == 0 || out->sizes[dim] != (int64_t)list->count)
        return sc_call_fail(call, SC_ERR_SHAPE, "the tensors do not fit the result");
    for (uint32_t i = 0; i < list->count; i++) {
        sc_strided dst;
        sc_strided_of(&dst, out);
        sc_strided_drop(&dst, dim, i);
        SC_TRY(move_into(call, &dst, list->tensors[i]->tensor));
    }
    return SC_OK;
}

// --- Apart ---------------------------------------------------------------------------------------

static sc_status split_into(const sc_kernel_call *call, uint32_t dim) {
    const sc_tensor *self = sc_call_tensor(call, 0);
    const sc_evalue *list = call->args[call->arg_count - 1];
    int64_t start = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        const sc_tensor *part = list->tensors[i]->tensor;
        sc_strided src, dst;
        sc_strided_of(&src, self);
        sc_strided_of(&dst, part);
        if (part->rank != self->rank || self->rank == 0 ||
            part->sizes[dim] > self->sizes[dim] - start)
            return sc_call_fail(call, SC_ERR_SHAPE,
                                "a part reaches beyond the tensor that is split");
        sc_strided_narrow(&src, dim, start, part->sizes[dim], 1);
        SC_TRY(sc_move(call, &dst, &src));
        start += part->sizes[dim];
    }
    return SC_OK;
}

static sc_status run_split(const sc_kernel_call *call) {
    return split_into(call, sc_call_dim(call, 2, sc_call_tensor(call, 0)->rank));
}

static sc_status run_unbind(const sc_kernel_call *call) {
    const sc_tensor *self = sc_call_tensor(call, 0);
    const sc_evalue *list = call->args[call->arg_count - 1];
    uint32_t dim = sc_call_dim(call, 1, self->rank);
    if (self->rank == 0 || self->sizes[dim] != (int64_t)list->count)
        return sc_call_fail(call, SC_ERR_SHAPE, "the number of results is not the size of the dim");
    for (uint32_t i = 0; i < list->count; i++) {
        sc_strided src, dst;
        sc_strided_of(&src, self);
        sc_strided_of(&dst, list->tensors[i]->tensor);
        sc_strided_drop(&src, dim, i);
        SC_TRY(sc_move(call, &dst, &src));
    }
    return SC_OK;
}

// --- A part of a copy ----------------------------------------------------------------------------

static sc_status copy_whole(const sc_kernel_call *call, sc_strided *dst) {
    sc_strided_of(dst, sc_call_out(call));
    return move_into(call, dst, sc_call_tensor(call, 0));
}

static sc_status run_slice_scatter(const sc_kernel_call *call) {
    sc_strided dst;
    SC_TRY(copy_whole(call, &dst));
    if (dst.rank == 0)
        return sc_call_fail(call, SC_ERR_SHAPE, "a 0-dim tensor has no dim to slice");
    uint32_t dim = sc_call_dim(call, 2, dst.rank);
    sc_slice s = sc_call_slice(call, 3, dst.sizes[dim]);
    sc_strided_narrow(&dst, dim, s.start, s.count, s.step);
    return move_into(call, &dst, sc_call_tensor(call, 1));
}

static sc_status run_select_scatter(const sc_kernel_call *call) {
    sc_strided dst;
    SC_TRY(copy_whole(call, &dst));
    if (dst.rank == 0)
        return sc_call_fail(call, SC_ERR_SHAPE, "a 0-dim tensor has no dim to select from");
    uint32_t dim = sc_call_dim(call, 2, dst.rank);
    int64_t index = sc_call_integer(call, 3);
    SC_TRY(sc_check_index(call, &index, dst.sizes[dim]));
    sc_strided_drop(&dst, dim, index);
    return move_into(call, &dst, sc_call_tensor(call, 1));
}

// Pads are (before, after) pairs from the last dim on; negative ones crop.
static sc_status run_constant_pad(const sc_kernel_call *call) {
    int64_t pads[2 * SC_RANK_MAX];
    sc_strided src, dst;
    uint32_t count = sc_call_ints(call, 1, pads, 2 * SC_RANK_MAX, 0);
    sc_strided_of(&src, sc_call_tensor(call, 0));
    sc_strided_of(&dst, sc_call_out(call));
    if (dst.rank != src.rank || count > 2 * src.rank)
        return sc_call_fail(call, SC_ERR_ARGUMENT, "more pads than dims");
    char element[16];
    sc_call_element(call, 2, dst.dtype, element);
    sc_fill(&dst, element);
    for (uint32_t i = 0; i + 1 < count; i += 2) {
        uint32_t d = src.rank - 1 - i / 2;
        int64_t before = pads[i], skip = before < 0 ? -before : 0, at = before > 0 ? before : 0;
        int64_t n = sc_min_i64(src.sizes[d] - skip, dst.sizes[d] - at);
        if (n <= 0) return SC_OK;  // everything was cropped away
        sc_strided_narrow(&src, d, skip, n, 1);
        sc_strided_narrow(&dst, d, at, n, 1);
    }
    return sc_move(call, &dst, &src);
}

// Each rolled dim is two runs, so k of them are 2^k copies.
static sc_status run_roll(const sc_kernel_call *call) {
    const sc_tensor *self = sc_call_tensor(call, 0), *out = sc_call_out(call);
    int64_t shifts[SC_RANK_MAX], dims[SC_RANK_MAX], by[SC_RANK_MAX] = {0};
    uint32_t count = sc_call_ints(call, 1, shifts, SC_RANK_MAX, 0);
    uint32_t dim_count = sc_call_ints(call, 2, dims, SC_RANK_MAX, 0);
    sc_strided whole, target;
    if (out->numel == 0) return SC_OK;
    sc_strided_of(&whole, self);
    sc_strided_of(&target, out);
    if (dim_count == 0 && count == 1) {  // over the flattened tensor
        if (!sc_tensor_is_contiguous(self) || !sc_tensor_is_contiguous(out))
            return sc_call_fail_hint(call, SC_ERR_UNSUPPORTED, "Give roll its dims.",
                                     "works without dims on row-major tensors only");
        whole.rank = target.rank = 1;
        whole.sizes[0] = target.sizes[0] = self->numel;
        whole.strides[0] = target.strides[0] = 1;
        dims[0] = 0;
    } else if (dim_count != count || (whole.rank == 0 && count > 0)) {
        return sc_call_fail(call, SC_ERR_ARGUMENT, "needs as many shifts as dims");
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t d = sc_wrap_dim(dims[i], whole.rank);
        int64_t size = whole.sizes[d];
        by[d] = ((by[d] + shifts[i] % size) % size + size) % size;
    }
    for (uint32_t mask = 0; mask < 1u << whole.rank; mask++) {
        sc_strided src = whole, dst = target;
        bool some = true;
        for (uint32_t d = 0; some && d < whole.rank; d++) {
            int64_t wrapped = by[d], kept = whole.sizes[d] - wrapped;
            bool tail = mask >> d & 1;
            some = !tail || wrapped > 0;
            sc_strided_narrow(&src, d, tail ? kept : 0, tail ? wrapped : kept, 1);
            sc_strided_narrow(&dst, d, tail ? 0 : wrapped, tail ? wrapped : kept, 1);
        }
        if (some) SC_TRY(sc_move(call, &dst, &src));
    }
    return SC_OK;
}

SC_KERNEL(cat, .run = run_cat, .layout = SC_LAYOUT_ONE);
SC_KERNEL(stack, .run = run_stack);
SC_KERNEL(split, .run = run_split, .layout = SC_LAYOUT_ONE);
SC_KERNEL(unbind, .run = run_unbind);
SC_KERNEL(slice_scatter, .run = run_slice_scatter);
SC_KERNEL(select_scatter, .run = run_select_scatter);
SC_KERNEL(constant_pad, .run = run_constant_pad, .layout = SC_LAYOUT_ONE);
SC_KERNEL(roll, .run = run_roll);
