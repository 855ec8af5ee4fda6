// Scans as trace/official/scan.c writes them out. Most go by doubling: after a step of distance d,
// each element is combined with the 2 d - 1 elements before it. Products of few elements go one
// after the other. One call reads and writes each element once. The kernels compute in float64, or
// with integers that wrap, and so do these expansions. Expansions in smaller floats round and
// overflow at every step, so they are not replaced.
#include "rt/rewrite/recognise/recognise.h"

static bool product_of(sc_rt_search *s, const sc_rt_scan_step *step, sc_evalue *value,
                       sc_evalue **before, sc_evalue **after) {
    sc_evalue *operands[2];
    (void)step;
    if (!sc_rt_is_step(s, value, SC_STEP_product, (sc_dtype)value->tensor->dtype, operands))
        return false;
    *before = operands[0];
    *after = operands[1];
    return true;
}

static bool log_sum_of(sc_rt_search *s, const sc_rt_scan_step *step, sc_evalue *value,
                       sc_evalue **before, sc_evalue **after) {
    sc_evalue *operands[2];
    (void)step;
    if (!sc_rt_is_step(s, value, SC_STEP_log_sum, SC_DTYPE_F64, operands)) return false;
    *before = operands[0];
    *after = operands[1];
    return true;
}

// --- By doubling ---------------------------------------------------------------------------------

typedef struct joint {
    sc_evalue *const *items;
    uint32_t count, dim;
    sc_evalue *along;
    const sc_tensor *out;
} joint;

// (tensors, dim, out)
static bool read_joint(const sc_rt_search *s, const sc_kernel_call *cat, joint *j) {
    if (!cat || cat->args[0]->tag != SC_EVALUE_TENSOR_LIST || cat->args[1]->tag != SC_EVALUE_INT ||
        cat->args[2]->tag != SC_EVALUE_TENSOR || cat->args[2]->tensor->rank == 0 ||
        !sc_rt_is_fixed(s, cat->args[1]))
        return false;
    *j = (joint){.items = cat->args[0]->tensors,
                 .count = cat->args[0]->count,
                 .along = cat->args[1],
                 .out = cat->args[2]->tensor};
    j->dim = sc_wrap_dim(j->along->i, j->out->rank);
    return true;
}

static bool is_alike(const joint *j, const sc_evalue *value) {
    return value->tag == SC_EVALUE_TENSOR && value->tensor->dtype == j->out->dtype;
}

// The operand of one step: its first d elements stay, and the others are combined.
static sc_evalue *step_of(sc_rt_search *s, const joint *j, const sc_rt_scan_step *step,
                          sc_rt_combined_fn combined) {
    const int64_t n = step->n, d = step->distance;
    sc_evalue *before, *after;
    if (j->count != 2) return NULL;
    sc_evalue *x = sc_rt_whole_of(s, j->items[0], j->dim);
    if (!x || !sc_rt_is_part(s, j->items[0], x, j->dim, 0, d) ||
        !sc_rt_is_shaped(x, j->out->rank, j->out->sizes) || x->tensor->dtype != j->out->dtype ||
        !is_alike(j, j->items[1]) || !combined(s, step, j->items[1], &before, &after))
        return NULL;
    return sc_rt_is_part(s, before, x, j->dim, 0, n - d) &&
                   sc_rt_is_part(s, after, x, j->dim, d, n - d)
               ? x
               : NULL;
}

static int64_t last_distance(int64_t n) {
    int64_t d = 1;
    while (d < n - d) d *= 2;
    return d;
}

sc_evalue *sc_rt_scanned(sc_rt_search *s, const sc_kernel_call *cat, sc_rt_combined_fn combined,
                         const sc_evalue *runs) {
    sc_evalue *x = NULL;
    joint first, j;
    if (!read_joint(s, cat, &first)) return NULL;
    sc_rt_scan_step step = {.dim = first.dim, .n = first.out->sizes[first.dim], .runs = runs};
    for (step.distance = last_distance(step.n); step.distance >= 1; step.distance /= 2) {
        if (x) cat = sc_rt_made_by(s, x, SC_OP_cat);
        if (!read_joint(s, cat, &j) || j.dim != first.dim) return NULL;
        x = step_of(s, &j, &step, combined);
        if (!x) return NULL;
    }
    return x;
}

// --- One after the other -------------------------------------------------------------------------

static sc_evalue *multiplied(sc_rt_search *s, const joint *j) {
    sc_evalue *x = sc_rt_whole_of(s, j->items[0], j->dim), *before, *after;
    if (!x || !sc_rt_is_part(s, j->items[0], x, j->dim, 0, 1) ||
        !sc_rt_is_shaped(x, j->out->rank, j->out->sizes) || x->tensor->dtype != j->out->dtype)
        return NULL;
    for (uint32_t i = 1; i < j->count; i++) {
        if (!is_alike(j, j->items[i]) || !product_of(s, NULL, j->items[i], &before, &after) ||
            before != j->items[i - 1] || !sc_rt_is_part(s, after, x, j->dim, i, 1))
            return NULL;
    }
    return x;
}

// --- The operators -------------------------------------------------------------------------------

static bool find(sc_rt_found *found, sc_op_id op, sc_evalue *x, sc_evalue *along) {
    static const sc_evalue no_value = {.tag = SC_EVALUE_NONE};
    *found = (sc_rt_found){.op = op,
                           .kernel = sc_kernel_get(op),
                           .args = {x, along},
                           .arg_count = 2,
                           .ends_in = op == SC_OP_cumprod ? &no_value : NULL};
    return x != NULL;
}

static bool is_exact(sc_dtype dtype) {
    return dtype == SC_DTYPE_F64 || sc_dtype_is_integral(dtype, false);
}

// Does the first item have the size of a scan's first item?
static bool may_be(const joint *j) {
    if (j->count < 2 || j->items[0]->tag != SC_EVALUE_TENSOR || j->out->is_dynamic ||
        !is_exact((sc_dtype)j->out->dtype) || j->items[0]->tensor->rank != j->out->rank)
        return false;
    const int64_t n = j->out->sizes[j->dim], first = j->items[0]->tensor->sizes[j->dim];
    return j->count == n ? first == 1 : j->count == 2 && n > 2 && first == last_distance(n);
}

bool sc_rt_is_scan(sc_rt_search *s, const sc_kernel_call *root, sc_rt_found *found) {
    joint j;
    if (!read_joint(s, root, &j) || !may_be(&j)) return false;
    if (j.count == j.out->sizes[j.dim])
        return find(found, SC_OP_cumprod, multiplied(s, &j), j.along);
    if (find(found, SC_OP_cumprod, sc_rt_scanned(s, root, product_of, NULL), j.along)) return true;
    s->parts.count = 0;
    return find(found, SC_OP_logcumsumexp, sc_rt_scanned(s, root, log_sum_of, NULL), j.along);
}
