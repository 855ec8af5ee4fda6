// Looks up rows in a dim that may be empty. The official kernel of index_select refuses a dim of
// size 0, but the kernel of index does not.
#include "trace/official/official.h"

bool sc_official_may_be_empty(const sc_node *node) {
    const sc_arg *self = sc_node_arg(node, "self"), *dim = sc_node_arg(node, "dim");
    if (self->kind != SC_ARG_VALUE || dim->kind != SC_ARG_INT) return false;
    const sc_spec *spec = &self->value->spec;
    const int64_t at = dim->i < 0 ? dim->i + spec->rank : dim->i;
    return at >= 0 && at < spec->rank && sc_f_may_be_empty(spec->sizes[at]);
}

// (self, dim, index)
sc_x sc_official_index_select(sc_trace *t, const sc_x *a) {
    sc_x items[SC_RANK_MAX];
    const uint32_t dim = sc_x_wrap(t, a[1], sc_x_rank(a[0]));
    for (uint32_t i = 0; i < dim; i++) items[i] = X_NONE;
    items[dim] = sc_f_atleast_1d(t, a[2]);
    return CALL(t, index_Tensor, a[0], sc_x_list(t, items, dim + 1));
}
