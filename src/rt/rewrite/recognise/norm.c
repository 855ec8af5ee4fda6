// Normalisation of groups of channels, and of channels over a batch. The expansion subtracts their
// mean first (trace/official/group_norm.c); the kernels here do that themselves.
#include "rt/rewrite/recognise/recognise.h"

// Is it the mean over these dims, kept as dims of size 1? (self, dim, keepdim, dtype)
static bool is_mean(sc_rt_search *s, const sc_evalue *value, const sc_evalue *of,
                    const int64_t *dims, uint32_t count) {
    const sc_kernel_call *mean = sc_rt_made_by(s, value, SC_OP_mean_dim);
    if (!mean || mean->args[0] != of || mean->args[1]->tag != SC_EVALUE_INT_LIST ||
        mean->args[1]->count != count || !sc_rt_is_number(s, mean->args[2], 1) ||
        value->tensor->dtype != of->tensor->dtype)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!sc_rt_is_number(s, mean->args[1]->ints[i], (double)dims[i])) return false;
    return true;
}

// The tensor from which its mean over these dims was subtracted. (self, other, alpha)
static sc_evalue *uncentred(sc_rt_search *s, const sc_evalue *value, const int64_t *dims,
                            uint32_t count) {
    const sc_kernel_call *sub = sc_rt_made_by(s, value, SC_OP_sub_Tensor);
    if (!sub || sub->args[0]->tag != SC_EVALUE_TENSOR || !sc_rt_is_number(s, sub->args[2], 1))
        return NULL;
    sc_evalue *x = sub->args[0];
    const bool alike = sc_rt_is_shaped(x, value->tensor->rank, value->tensor->sizes) &&
                       x->tensor->dtype == value->tensor->dtype;
    return alike && is_mean(s, sub->args[1], x, dims, count) ? x : NULL;
}

// (input, weight, bias, N, C, HxW, group, eps)
static sc_evalue *of_groups(sc_rt_search *s, const sc_kernel_call *root) {
    static const int64_t dims[] = {2};
    const sc_tensor *input = root->args[0]->tensor;
    const sc_evalue *rows = root->args[3], *group = root->args[6];
    int64_t offset;
    if (rows->tag != SC_EVALUE_INT || group->tag != SC_EVALUE_INT || rows->i < 1 || group->i < 1 ||
        !sc_rt_is_fixed(s, rows) || !sc_rt_is_fixed(s, group) || rows->i > input->numel ||
        group->i > input->numel / rows->i)
        return NULL;
    const int64_t sizes[] = {rows->i, group->i, input->numel / rows->i / group->i};
    if (sizes[0] * sizes[1] * sizes[2] != input->numel) return NULL;
    const sc_evalue *groups = sc_rt_source(s, root->args[0], 3, sizes, &offset);
    sc_evalue *x = groups && offset == 0 ? uncentred(s, groups, dims, 1) : NULL;
    if (x) x = sc_rt_source(s, x, input->rank, input->sizes, &offset);
    return x && offset == 0 ? x : NULL;
}

// (input, weight, bias, training, momentum, eps)
static sc_evalue *of_channels(sc_rt_search *s, const sc_kernel_call *root) {
    const uint32_t rank = root->args[0]->tensor->rank;
    int64_t dims[SC_RANK_MAX] = {0};
    for (uint32_t i = 2; i < rank; i++) dims[i - 1] = i;
    return rank < 2 ? NULL : uncentred(s, root->args[0], dims, rank - 1);
}

// The mean that the call returns would differ.
bool sc_rt_is_centred(sc_rt_search *s, const sc_kernel_call *root, sc_rt_found *found) {
    const sc_evalue *input = root->args[0];
    if (input->tag != SC_EVALUE_TENSOR || input->tensor->is_dynamic || input->tensor->numel == 0 ||
        !sc_rt_is_idle(s, root->args[root->arg_count - 2]))
        return false;
    const sc_op_id op = (sc_op_id)root->op->id;
    sc_evalue *x = op == SC_OP_native_group_norm ? of_groups(s, root) : of_channels(s, root);
    if (!x || x->tensor->dtype != input->tensor->dtype) return false;
    *found = (sc_rt_found){
        .op = op, .kernel = sc_kernel_get(op), .args = {x}, .arg_count = 1, .stays = true};
    return true;
}
