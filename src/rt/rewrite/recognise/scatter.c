// The largest or smallest of the numbers that are scattered to one place, as
// trace/official/scatter.c writes it. Numbers are sorted and scattered in that order, so that the
// last one stays. For products, numbers are sorted by their places and scanned, so that the last
// number of each place is the product. One call finds both without sorting.
#include "rt/rewrite/recognise/recognise.h"

static bool is_alike(const sc_evalue *value, const sc_tensor *t) {
    return sc_rt_is_shaped(value, t->rank, t->sizes) && value->tensor->dtype == t->dtype;
}

// Sorts all of a dim: (self, k, dim, largest, sorted, values, indices)
static const sc_kernel_call *sort_of(sc_rt_search *s, const sc_evalue *values, uint32_t dim) {
    const sc_kernel_call *topk = sc_rt_made_among(s, values, SC_OP_topk, 0);
    const sc_tensor *t = values->tensor;
    return topk && is_alike(topk->args[0], t) &&
                   sc_rt_is_number(s, topk->args[1], (double)t->sizes[dim]) &&
                   sc_rt_is_number(s, topk->args[2], dim) && sc_rt_is_number(s, topk->args[4], 1)
               ? topk
               : NULL;
}

// The places that the sorted numbers are scattered to: (self, dim, index, sparse_grad)
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

// The dim, if it is a number of the file, counted from the first.
static bool read_dim(const sc_rt_search *s, const sc_kernel_call *root, uint32_t *dim) {
    const sc_evalue *along = root->args[1], *values = root->args[3];
    if (values->tag != SC_EVALUE_TENSOR || values->tensor->is_dynamic ||
        along->tag != SC_EVALUE_INT || along->i < 0 || along->i >= values->tensor->rank)
        return false;
    *dim = (uint32_t)along->i;
    return sc_rt_is_number(s, along, *dim);
}

// The operand of a negation.
static sc_evalue *negated(sc_rt_search *s, const sc_evalue *value) {
    const sc_kernel_call *neg = sc_rt_made_by(s, value, SC_OP_neg);
    return neg && is_alike(neg->args[0], value->tensor) ? neg->args[0] : NULL;
}

// (self, dim, index, src): the smallest float is the largest of the negated ones, because NaN sorts
// last.
bool sc_rt_is_extreme(sc_rt_search *s, const sc_kernel_call *root, sc_rt_found *found) {
    uint32_t dim;
    if (!read_dim(s, root, &dim)) return false;
    const bool is_float = sc_dtype_is_float((sc_dtype)root->args[3]->tensor->dtype);
    sc_evalue *flipped = is_float ? negated(s, root->args[3]) : NULL;
    const sc_kernel_call *topk = sort_of(s, flipped ? flipped : root->args[3], dim);
    const bool falls = topk && !is_float && sc_rt_is_number(s, topk->args[3], 1);
    if (!topk || (!falls && !sc_rt_is_number(s, topk->args[3], 0))) return false;
    sc_evalue *index = places_of(s, root->args[2], topk, dim), *x = topk->args[0];
    if (flipped) x = negated(s, x);
    if (!index || !x) return false;
    *found =
        (sc_rt_found){.op = SC_OP_scatter_src,
                      .kernel = flipped || falls ? &sc_k_scatter_smallest : &sc_k_scatter_largest,
                      .args = {root->args[0], root->args[1], index, x},
                      .arg_count = 4};
    return true;
}

// --- Products ------------------------------------------------------------------------------------

typedef struct product {
    const sc_tensor *out;
    sc_evalue *along, *index, *source;
    sc_evalue *key, *place;  // keys of place and position, sorted; and their places
    uint32_t dim;
    int64_t n, end;  // along the dim: numbers, and places for them
    bool includes_self;
} product;

static bool is_index(const product *p, const sc_evalue *value) {
    return sc_rt_is_shaped(value, p->index->tensor->rank, p->index->tensor->sizes) &&
           value->tensor->dtype == SC_DTYPE_I64;
}

static bool is_full_of(sc_rt_search *s, const sc_evalue *value, double number) {
    const sc_kernel_call *full = sc_rt_made_by(s, value, SC_OP_full);
    return full && value->tensor->dtype == SC_DTYPE_I64 &&
           sc_rt_is_number(s, full->args[1], number);
}

static bool is_only(const sc_evalue *value, int64_t number) {
    return value->tag == SC_EVALUE_TENSOR && value->tensor->is_constant &&
           value->tensor->numel == 1 && value->tensor->dtype == SC_DTYPE_I64 &&
           sc_tensor_integer(value->tensor, 0) == number;
}

// Counts the numbers of each place, or whether there are any: (self, dim, index, src)
static bool read_hits(sc_rt_search *s, const sc_evalue *value, product *p) {
    const sc_kernel_call *gt = sc_rt_made_by(s, value, SC_OP_gt_Scalar);
    const sc_kernel_call *add = gt ? sc_rt_made_by(s, gt->args[0], SC_OP_scatter_add) : NULL;
    if (!add || !sc_rt_is_number(s, gt->args[1], 0) || add->args[1]->tag != SC_EVALUE_INT ||
        add->args[1]->i < 0 || add->args[1]->i >= p->out->rank ||
        !sc_rt_is_fixed(s, add->args[1]) || !sc_rt_is_shaped(value, p->out->rank, p->out->sizes) ||
        !sc_rt_is_shaped(add->args[0], p->out->rank, p->out->sizes))
        return false;
    p->along = add->args[1];
    p->dim = (uint32_t)p->along->i;
    p->index = add->args[2];
    if (p->index->tag != SC_EVALUE_TENSOR || p->index->tensor->rank != p->out->rank ||
        p->index->tensor->is_dynamic)
        return false;
    p->n = p->index->tensor->sizes[p->dim];
    p->end = p->out->sizes[p->dim];
    return is_index(p, p->index) && is_index(p, add->args[3]) && is_full_of(s, add->args[0], 0) &&
           is_full_of(s, add->args[3], 1);
}

// 0, 1, 2, ... along the dim.
static bool are_positions(sc_rt_search *s, const product *p, sc_evalue *value) {
    int64_t offset;
    if (value->tag != SC_EVALUE_TENSOR || value->tensor->rank != p->out->rank ||
        value->tensor->numel != p->n || value->tensor->sizes[p->dim] != p->n)
        return false;
    const sc_evalue *row = sc_rt_source(s, value, 1, &p->n, &offset);
    const sc_kernel_call *range =
        row && offset == 0 ? sc_rt_made_by(s, row, SC_OP_arange_start_step) : NULL;
    return range && row->tensor->dtype == SC_DTYPE_I64 && sc_rt_is_number(s, range->args[0], 0) &&
           sc_rt_is_number(s, range->args[2], 1);
}

// index * 2^32 + positions, sorted, and the places in it: key >> 32
static bool read_place(sc_rt_search *s, sc_evalue *value, product *p) {
    const sc_kernel_call *shift = sc_rt_made_by(s, value, SC_OP_bitwise_right_shift_Tensor_Scalar);
    if (!shift || !is_index(p, value) || !is_index(p, shift->args[0]) ||
        !sc_rt_is_number(s, shift->args[1], 32))
        return false;
    p->place = value;
    p->key = shift->args[0];
    const sc_kernel_call *topk = sort_of(s, p->key, p->dim);
    const sc_kernel_call *add = topk ? sc_rt_made_by(s, topk->args[0], SC_OP_add_Tensor) : NULL;
    const sc_kernel_call *mul = add ? sc_rt_made_by(s, add->args[0], SC_OP_mul_Tensor) : NULL;
    return mul && sc_rt_is_number(s, topk->args[3], 0) && sc_rt_is_number(s, add->args[2], 1) &&
           is_index(p, add->args[0]) && mul->args[0] == p->index &&
           is_only(mul->args[1], INT64_C(1) << 32) && are_positions(s, p, add->args[1]);
}

// Adds one element at the end: (self, pad, value)
static bool is_longer(sc_rt_search *s, const product *p, const sc_evalue *value) {
    const sc_kernel_call *pad = sc_rt_made_by(s, value, SC_OP_constant_pad_nd);
    const uint32_t at = 2 * (p->out->rank - 1u - p->dim) + 1;
    if (!pad || pad->args[0] != p->place || pad->args[1]->tag != SC_EVALUE_INT_LIST ||
        pad->args[1]->count <= at || !sc_rt_is_number(s, pad->args[2], -1))
        return false;
    for (uint32_t i = 0; i < pad->args[1]->count; i++)
        if (!sc_rt_is_number(s, pad->args[1]->ints[i], i == at)) return false;
    return true;
}

// Is the next place a different one?
static bool ends_place(sc_rt_search *s, const product *p, const sc_evalue *value) {
    const sc_kernel_call *ne = sc_rt_made_by(s, value, SC_OP_ne_Tensor);
    if (!ne || ne->args[0] != p->place) return false;
    const sc_kernel_call *slice = sc_rt_made_by(s, ne->args[1], SC_OP_slice_copy_Tensor);
    const sc_evalue *longer = slice ? slice->args[0] : sc_rt_base(s, ne->args[1]);
    return longer && is_longer(s, p, longer) &&
           sc_rt_is_part(s, ne->args[1], longer, p->dim, 1, p->n);
}

static bool product_in_runs(sc_rt_search *s, const sc_rt_scan_step *step, sc_evalue *value,
                            sc_evalue **before, sc_evalue **after) {
    const int64_t left = step->n - step->distance;
    sc_evalue *operands[4];
    if (!sc_rt_is_step(s, value, SC_STEP_product_in_run, (sc_dtype)value->tensor->dtype, operands))
        return false;
    *before = operands[0];
    *after = operands[1];
    return sc_rt_is_part(s, operands[2], step->runs, step->dim, 0, left) &&
           sc_rt_is_part(s, operands[3], step->runs, step->dim, step->distance, left);
}

// The numbers in the order of their places: (self, dim, index, sparse_grad)
static bool read_source(sc_rt_search *s, const sc_evalue *sorted, product *p) {
    const sc_kernel_call *gather = sorted ? sc_rt_made_by(s, sorted, SC_OP_gather) : NULL;
    const sc_kernel_call *low =
        gather ? sc_rt_made_by(s, gather->args[2], SC_OP_bitwise_and_Scalar) : NULL;
    if (!low || low->args[0] != p->key || !is_index(p, gather->args[2]) ||
        !sc_rt_is_number(s, low->args[1], (double)UINT32_MAX) ||
        !sc_rt_is_number(s, gather->args[1], p->dim))
        return false;
    p->source = gather->args[0];
    return sc_rt_is_shaped(p->source, p->out->rank, p->index->tensor->sizes) &&
           p->source->tensor->dtype == p->out->dtype;
}

// The last number of each place is scattered there. All others are scattered to an extra element
// behind the end: (self, dim, index, src)
static bool read_products(sc_rt_search *s, const sc_evalue *value, product *p) {
    if (!is_alike(value, p->out)) return false;
    const sc_evalue *all = sc_rt_whole_of(s, value, p->dim);
    const sc_kernel_call *put = all ? sc_rt_made_by(s, all, SC_OP_scatter_src) : NULL;
    const sc_kernel_call *to = put ? sc_rt_made_by(s, put->args[2], SC_OP_where_self) : NULL;
    if (!to || !sc_rt_made_by(s, put->args[0], SC_OP_full) ||
        !sc_rt_is_part(s, value, all, p->dim, 0, p->end) || !is_index(p, put->args[2]) ||
        !sc_rt_is_number(s, put->args[1], p->dim) || !is_only(to->args[2], p->end) ||
        !read_place(s, to->args[1], p) || !ends_place(s, p, to->args[0]))
        return false;
    const sc_kernel_call *cat = sc_rt_made_by(s, put->args[3], SC_OP_cat);
    return cat && sc_rt_is_number(s, cat->args[1], p->dim) &&
           read_source(s, sc_rt_scanned(s, cat, product_in_runs, p->place), p);
}

// (condition, self, other): products where any number came, and the old content elsewhere
bool sc_rt_is_product(sc_rt_search *s, const sc_kernel_call *root, sc_rt_found *found) {
    product p = {.out = root->args[3]->tensor};
    sc_evalue *self = root->args[2], *made = root->args[1];
    s->parts.count = 0;
    if (!is_alike(self, p.out) || !read_hits(s, root->args[0], &p)) return false;
    const sc_kernel_call *mul = sc_rt_made_by(s, made, SC_OP_mul_Tensor);
    p.includes_self = mul && mul->args[0] == self && is_alike(made, p.out);
    if (!read_products(s, p.includes_self ? mul->args[1] : made, &p)) return false;
    *found =
        (sc_rt_found){.op = SC_OP_scatter_src,
                      .kernel = p.includes_self ? &sc_k_scatter_multiplied : &sc_k_scatter_products,
                      .args = {self, p.along, p.index, p.source},
                      .arg_count = 4};
    return true;
}
