// The largest, or smallest, of what is scattered to one place, as trace/official/scatter.c makes
// it: numbers are sorted, and scattered in that order, so that the last one stays. One call finds
// it where they lie.
#include "rt/recognise.h"

static bool is_alike(const sc_evalue *value, const sc_tensor *t) {
    return sc_rt_is_shaped(value, t->rank, t->sizes) && value->tensor->dtype == t->dtype;
}

// All of a dim, in order: (self, k, dim, largest, sorted, values, indices)
static const sc_kernel_call *sort_of(sc_rt_search *s, const sc_evalue *values, uint32_t dim) {
    const sc_kernel_call *topk = sc_rt_made_among(s, values, SC_OP_topk, 0);
    const sc_tensor *t = values->tensor;
    return topk && is_alike(topk->args[0], t) &&
                   sc_rt_is_number(s, topk->args[1], (double)t->sizes[dim]) &&
                   sc_rt_is_number(s, topk->args[2], dim) && sc_rt_is_number(s, topk->args[4], 1)
               ? topk
               : NULL;
}

// Where the sorted numbers go: (self, dim, index, sparse_grad)
static sc_evalue *places_of(sc_rt_search *s, const sc_evalue *value, const sc_kernel_call *topk,
                            uint32_t dim) {
    const sc_kernel_call *gather = sc_rt_made_by(s, value, SC_OP_gather);
    return gather && gather->args[2] == topk->args[6] && is_alike(gather->args[0], value->tensor) &&
                   sc_rt_is_shaped(value, topk->args[0]->tensor->rank,
                                   topk->args[0]->tensor->sizes) &&
                   sc_rt_is_number(s, gather->args[1], dim)
               ? gather->args[0]
               : NULL;
}

// The dim, where it is a number of the file and counted from the first.
static bool read_dim(const sc_rt_search *s, const sc_kernel_call *root, uint32_t *dim) {
    const sc_evalue *along = root->args[1], *values = root->args[3];
    if (values->tag != SC_EVALUE_TENSOR || values->tensor->is_dynamic ||
        along->tag != SC_EVALUE_INT || along->i < 0 || along->i >= values->tensor->rank)
        return false;
    *dim = (uint32_t)along->i;
    return sc_rt_is_number(s, along, *dim);
}

// What a value is the negative of.
static sc_evalue *negated(sc_rt_search *s, const sc_evalue *value) {
    const sc_kernel_call *neg = sc_rt_made_by(s, value, SC_OP_neg);
    return neg && is_alike(neg->args[0], value->tensor) ? neg->args[0] : NULL;
}

// (self, dim, index, src): of floats the smallest is the largest of the negatives, because NaN is
// the last of all.
bool sc_rt_is_extreme(sc_rt_search *s, const sc_kernel_call *root, sc_rt_found *found) {
    uint32_t dim;
    if (!read_dim(s, root, &dim)) return false;
    const bool is_float = sc_dtype_is_float((sc_dtype)root->args[3]->tensor->dtype);
    sc_evalue *turned = is_float ? negated(s, root->args[3]) : NULL;
    const sc_kernel_call *topk = sort_of(s, turned ? turned : root->args[3], dim);
    const bool falls = topk && !is_float && sc_rt_is_number(s, topk->args[3], 1);
    if (!topk || (!falls && !sc_rt_is_number(s, topk->args[3], 0))) return false;
    sc_evalue *index = places_of(s, root->args[2], topk, dim), *x = topk->args[0];
    if (turned) x = negated(s, x);
    if (!index || !x) return false;
    *found =
        (sc_rt_found){.op = SC_OP_scatter_src,
                      .kernel = turned || falls ? &sc_k_scatter_smallest : &sc_k_scatter_largest,
                      .args = {root->args[0], root->args[1], index, x},
                      .arg_count = 4};
    return true;
}
