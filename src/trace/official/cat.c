// Joins tensors of several dtypes. They are cast first, because the official runtime copies bytes.
#include "trace/official/official.h"

bool sc_official_is_mixed(const sc_node *node) {
    const sc_arg *list = sc_node_arg(node, "tensors");
    for (uint32_t i = 0; list->kind == SC_ARG_LIST && i < list->count; i++)
        if (list->items[i].kind == SC_ARG_VALUE &&
            list->items[i].value->spec.dtype != node->outs[0]->spec.dtype)
            return true;
    return false;
}

// (tensors, dim)
sc_x sc_official_cat(sc_trace *t, const sc_x *a) {
    const uint32_t count = a[0]->kind == SC_X_LIST ? a[0]->count : 0;
    sc_x *items = sc_new_array(t->arena, sc_x, count + 1);
    for (uint32_t i = 0; i < count; i++) items[i] = sc_official_rounded(t, a[0]->items[i]);
    return CALL(t, cat, sc_x_list_of(t, items, count), a[1]);
}
