// Sums of products of three tensors. Nearly all calls are bilinear forms, which are two matrix
// products. All products at once would be much larger than both.
#include "trace/official/official.h"

static bool is_list(sc_x list, int64_t first, int64_t second) {
    return list->kind == SC_X_LIST && list->count == (second < 0 ? 1u : 2u) &&
           sc_x_number(list->items[0], -1) == first &&
           (second < 0 || sc_x_number(list->items[1], -1) == second);
}

// x [b, i], weight [o, i, j] and y [b, j], as bilinear calls it.
static bool is_bilinear(const sc_x *a) {
    return sc_x_rank(a[0]) == 2 && sc_x_rank(a[1]) == 3 && sc_x_rank(a[2]) == 2 &&
           is_list(a[3], 1, 3) && is_list(a[4], 0, -1) && is_list(a[5], 1, 2) &&
           is_list(a[6], 2, 3);
}

static uint32_t rank_of(const sc_node *node, uint32_t i) {
    return node->args[i].kind == SC_ARG_VALUE ? node->args[i].value->spec.rank : 0;
}

bool sc_official_is_form(const sc_node *node) {
    return rank_of(node, 0) == 2 && rank_of(node, 1) == 3 && rank_of(node, 2) == 2;
}

static sc_x bilinear(sc_trace *t, const sc_x *a) {
    static const int64_t input_first[] = {1, 0, 2};
    const sc_spec *w = sc_x_spec(a[1]);
    const sc_dim matrix[2] = {w->sizes[1], sc_trace_mul(t, w->sizes[0], w->sizes[2])};
    const sc_dim cube[3] = {sc_x_size(a[0], 0), w->sizes[0], w->sizes[2]};
    sc_x weight = sc_f_view(t, sc_f_permute(t, a[1], input_first), matrix, 2);
    sc_x half = sc_f_view(t, CALL(t, mm, a[0], weight), cube, 3);
    return sc_f_squeeze(t, CALL(t, bmm, half, sc_f_unsqueeze(t, a[2], 2)), 2);
}

static sc_x expanded(sc_trace *t, sc_x x, sc_x dims, uint32_t rank) {
    for (uint32_t dim = 0; dim < rank; dim++)
        for (uint32_t i = 0; dims->kind == SC_X_LIST && i < dims->count; i++)
            if (sc_x_wrap(t, dims->items[i], rank) == dim) x = sc_f_unsqueeze(t, x, dim);
    return x;
}

// (i1, i2, i3, expand1, expand2, expand3, sumdim, unroll_dim)
sc_x sc_official_trilinear(sc_trace *t, const sc_x *a) {
    if (is_bilinear(a)) return bilinear(t, a);
    const uint32_t more = a[3]->kind == SC_X_LIST ? a[3]->count : 0;
    const uint32_t rank = sc_x_rank(a[0]) + more;
    sc_x x = expanded(t, a[0], a[3], rank), y = expanded(t, a[1], a[4], rank);
    sc_x z = expanded(t, a[2], a[5], rank), all = sc_f_mul(t, x, y);
    all = sc_f_mul(t, all, z);
    if (a[6]->kind == SC_X_LIST && a[6]->count == 0) return all;
    return sc_f_sum(t, all, a[6], false);
}
