// Products of runs of rows, each with the matrix of its own group, as trace/official/grouped.c
// writes them out. Either matrices are gathered for each row, or all rows are multiplied with all
// matrices and each row selects its own product. One call computes each product once.
#include "rt/rewrite/recognise/recognise.h"

typedef struct groups {
    sc_evalue *run;  // for each row: the number of groups that end before it or at it
    sc_evalue *own;  // the same, at most the last group
    sc_evalue *ends, *rows, *matrices;
    int64_t row_count, group_count, k, n;
} groups;

static sc_evalue *plain_source(sc_rt_search *s, sc_evalue *value, uint32_t rank,
                               const int64_t *sizes) {
    int64_t offset;
    sc_evalue *source = sc_rt_source(s, value, rank, sizes, &offset);
    return source && offset == 0 ? source : NULL;
}

// (self, dim, keepdim, dtype, out): the sum over the last of two dims
static bool sums_last(const sc_rt_search *s, const sc_kernel_call *sum) {
    const sc_evalue *dims = sum->args[1];
    return dims->tag == SC_EVALUE_INT_LIST && dims->count == 1 &&
           (sc_rt_is_number(s, dims->ints[0], 1) || sc_rt_is_number(s, dims->ints[0], -1)) &&
           sc_rt_is_number(s, sum->args[2], 0);
}

// run = sum(ends[None, :] <= places[:, None], 1)
static bool read_runs(sc_rt_search *s, groups *g) {
    const sc_kernel_call *sum = sc_rt_made_by(s, g->run, SC_OP_sum_dim_IntList);
    if (!sum || g->run->tensor->dtype != SC_DTYPE_I64 || !sums_last(s, sum)) return false;
    const sc_kernel_call *le = sc_rt_made_by(s, sum->args[0], SC_OP_le_Tensor);
    const int64_t table[2] = {g->row_count, g->group_count}, row[2] = {1, g->group_count};
    const int64_t column[2] = {g->row_count, 1};
    if (!le || !sc_rt_is_shaped(sum->args[0], 2, table) || !sc_rt_is_shaped(le->args[0], 2, row) ||
        !sc_rt_is_shaped(le->args[1], 2, column))
        return false;
    sc_evalue *places = plain_source(s, le->args[1], 1, &g->row_count);
    g->ends = plain_source(s, le->args[0], 1, &g->group_count);
    return g->ends && g->ends->tensor->dtype == SC_DTYPE_I64 && places &&
           sc_rt_counts_up(s, places, g->row_count);
}

// own = clamp(run, None, groups - 1)
static bool is_own(sc_rt_search *s, const groups *g, const sc_evalue *own) {
    const sc_kernel_call *clamp = sc_rt_made_by(s, own, SC_OP_clamp);
    return clamp && clamp->args[0] == g->run && clamp->args[1]->tag == SC_EVALUE_NONE &&
           sc_rt_is_number(s, clamp->args[2], (double)(g->group_count - 1));
}

// --- Three forms ---------------------------------------------------------------------------------

static bool read_rows(sc_rt_search *s, groups *g, sc_evalue *value) {
    const int64_t sizes[2] = {g->row_count, g->k};
    g->rows = plain_source(s, value, 2, sizes);
    return g->rows != NULL;
}

static bool read_matrices(groups *g, sc_evalue *value) {
    if (value->tag != SC_EVALUE_TENSOR || value->tensor->rank != 3) return false;
    const int64_t *sizes = value->tensor->sizes;
    g->matrices = value;
    g->k = sizes[1];
    return sizes[0] == g->group_count && sizes[2] == g->n;
}

// squeeze(bmm(unsqueeze(rows, 1), index_select(matrices, 0, own)), 1)
static bool is_gathered(sc_rt_search *s, groups *g, sc_evalue *value) {
    const int64_t sizes[3] = {g->row_count, 1, g->n};
    sc_evalue *products = plain_source(s, value, 3, sizes);
    const sc_kernel_call *bmm = products ? sc_rt_made_by(s, products, SC_OP_bmm) : NULL;
    const sc_kernel_call *picked = bmm ? sc_rt_made_by(s, bmm->args[1], SC_OP_index_select) : NULL;
    return picked && sc_rt_is_number(s, picked->args[1], 0) && is_own(s, g, picked->args[2]) &&
           read_matrices(g, picked->args[0]) && read_rows(s, g, bmm->args[0]);
}

// bmm(expand(unsqueeze(rows, 0)), matrices)[own, places]
static bool is_at_once(sc_rt_search *s, groups *g, sc_evalue *value) {
    const sc_kernel_call *index = sc_rt_made_by(s, value, SC_OP_index_Tensor);
    const sc_evalue *list = index ? index->args[1] : NULL;
    if (!list || list->count != 2 || !list->tensors[0] || !list->tensors[1] ||
        !is_own(s, g, list->tensors[0]) || !sc_rt_counts_up(s, list->tensors[1], g->row_count))
        return false;
    const sc_kernel_call *bmm = sc_rt_made_by(s, index->args[0], SC_OP_bmm);
    if (!bmm || !read_matrices(g, bmm->args[1])) return false;
    const int64_t once[3] = {1, g->row_count, g->k};
    const sc_kernel_call *expand = sc_rt_made_by(s, bmm->args[0], SC_OP_expand_copy);
    sc_evalue *rows = expand ? expand->args[0] : bmm->args[0];
    return sc_rt_is_shaped(rows, 3, once) && read_rows(s, g, rows);
}

// One product: all rows with the matrix of one group.
static bool is_product(sc_rt_search *s, groups *g, const sc_evalue *value, int64_t group) {
    const sc_kernel_call *mm = sc_rt_made_by(s, value, SC_OP_mm);
    const int64_t whole[2] = {g->row_count, g->n};
    int64_t offset;
    if (!mm || mm->args[1]->tag != SC_EVALUE_TENSOR || mm->args[1]->tensor->rank != 2) return false;
    if (!sc_rt_is_shaped(value, 2, whole)) return false;  // `where` would broadcast it
    g->k = mm->args[1]->tensor->sizes[0];
    const int64_t sizes[3] = {g->group_count, g->k, g->n};
    sc_evalue *matrices = sc_rt_source(s, mm->args[1], 3, sizes, &offset);
    if (!g->rows) g->rows = mm->args[0];
    if (!g->matrices) g->matrices = matrices;
    return matrices && g->matrices == matrices && g->rows == mm->args[0] &&
           offset == group * g->k * g->n;
}

// where(own == i, rows @ matrices[i], earlier products)
static bool is_one_by_one(sc_rt_search *s, groups *g, sc_evalue *value) {
    const int64_t column[2] = {g->row_count, 1}, whole[2] = {g->row_count, g->n};
    for (int64_t i = g->group_count - 1; i > 0; i--) {
        if (!sc_rt_is_shaped(value, 2, whole)) return false;
        const sc_kernel_call *where = sc_rt_made_by(s, value, SC_OP_where_self);
        const sc_kernel_call *equal =
            where ? sc_rt_made_by(s, where->args[0], SC_OP_eq_Scalar) : NULL;
        if (!equal || !sc_rt_is_number(s, equal->args[1], (double)i) ||
            !sc_rt_is_shaped(equal->args[0], 2, column) || !is_product(s, g, where->args[1], i))
            return false;
        sc_evalue *own = plain_source(s, equal->args[0], 1, &g->row_count);
        if (!own || (g->own && own != g->own)) return false;
        g->own = own;
        value = where->args[2];
    }
    return g->own && is_own(s, g, g->own) && is_product(s, g, value, 0);
}

// --- The operator --------------------------------------------------------------------------------

static bool is_zero(const sc_evalue *value) {
    static const uint8_t zero[8];
    if (value->tag != SC_EVALUE_TENSOR || !value->tensor->is_constant || value->tensor->numel != 1)
        return false;
    const uint32_t bytes = sc_dtype_bytes((sc_dtype)value->tensor->dtype);
    return bytes <= sizeof zero && memcmp(value->tensor->data, zero, bytes) == 0;
}

// where(run < groups, products, 0): rows after the last run are zeros.
static bool read_root(sc_rt_search *s, const sc_kernel_call *where, groups *g) {
    const sc_tensor *out = where->args[3]->tensor;
    if (out->rank != 2 || !sc_dtype_is_float((sc_dtype)out->dtype) || !is_zero(where->args[2]) ||
        where->args[2]->tensor->rank != 0)
        return false;
    g->row_count = out->sizes[0];
    g->n = out->sizes[1];
    const int64_t column[2] = {g->row_count, 1};
    if (!sc_rt_is_shaped(where->args[0], 2, column) ||
        !sc_rt_is_shaped(where->args[1], 2, out->sizes))
        return false;
    sc_evalue *is_in = plain_source(s, where->args[0], 1, &g->row_count);
    const sc_kernel_call *lt = is_in ? sc_rt_made_by(s, is_in, SC_OP_lt_Scalar) : NULL;
    if (!lt || lt->args[1]->tag != SC_EVALUE_INT || !sc_rt_is_fixed(s, lt->args[1]) ||
        lt->args[1]->i < 1)
        return false;
    g->run = lt->args[0];
    g->group_count = lt->args[1]->i;
    return sc_rt_is_shaped(g->run, 1, &g->row_count) && read_runs(s, g);
}

static bool agree(const groups *g, const sc_tensor *out) {
    const int64_t rows[2] = {g->row_count, g->k}, matrices[3] = {g->group_count, g->k, g->n};
    return sc_rt_is_shaped(g->rows, 2, rows) && sc_rt_is_shaped(g->matrices, 3, matrices) &&
           g->rows->tensor->dtype == out->dtype && g->matrices->tensor->dtype == out->dtype;
}

bool sc_rt_is_grouped(sc_rt_search *s, const sc_kernel_call *root, sc_rt_found *found) {
    groups g = {.rows = NULL};
    if (!read_root(s, root, &g)) return false;
    const uint32_t parts = s->parts.count;
    static bool (*const forms[])(sc_rt_search *, groups *, sc_evalue *) = {is_at_once, is_gathered,
                                                                           is_one_by_one};
    for (size_t i = 0; i < SC_COUNT_OF(forms); i++) {
        groups form = g;
        s->parts.count = parts;
        if (!forms[i](s, &form, root->args[1]) || !agree(&form, root->args[3]->tensor)) continue;
        *found = (sc_rt_found){.op = SC_OP_transformers__grouped_mm_fallback,
                               .kernel = &sc_k_grouped_runs,
                               .args = {form.rows, form.matrices, form.ends},
                               .arg_count = 3};
        return true;
    }
    return false;
}
