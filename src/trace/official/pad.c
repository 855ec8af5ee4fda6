// Negative padding: the official kernel only adds, so slices take elements away.
#include "trace/official/official.h"

bool sc_official_crops(const sc_node *node) {
    const sc_arg *pad = sc_node_arg(node, "pad");
    for (uint32_t i = 0; pad->kind == SC_ARG_LIST && i < pad->count; i++)
        if (pad->items[i].kind == SC_ARG_INT && pad->items[i].i < 0) return true;
    return false;
}

// The number of elements that a padding removes. A padding that depends on a size only adds.
static int64_t taken(sc_trace *t, sc_x number) {
    const int64_t by = sc_x_small(t, number, 0);
    return by < 0 ? -by : 0;
}

// (self, pad, value)
sc_x sc_official_crop(sc_trace *t, const sc_x *a) {
    sc_x x = a[0], pad[2 * SC_RANK_MAX];
    const uint32_t count = a[1]->kind == SC_X_LIST ? a[1]->count : 0, rank = sc_x_rank(x);
    bool grows = false;
    if (count > 2 * rank || count % 2 != 0) return sc_official_refuse(t);
    for (uint32_t i = 0; i < count && t->status == SC_OK; i += 2) {
        const uint32_t dim = rank - 1 - i / 2;
        const int64_t before = taken(t, a[1]->items[i]), after = taken(t, a[1]->items[i + 1]);
        sc_dim end = sc_trace_add(t, sc_x_size(x, dim), sc_dim_int(-after));
        x = sc_f_slice_range(t, x, dim, sc_dim_int(before), end);
        pad[i] = before ? sc_x_int(t, 0) : a[1]->items[i];
        pad[i + 1] = after ? sc_x_int(t, 0) : a[1]->items[i + 1];
        grows = grows || sc_x_number(pad[i], 1) != 0 || sc_x_number(pad[i + 1], 1) != 0;
    }
    return grows ? CALL(t, constant_pad_nd, x, sc_x_list(t, pad, count), a[2]) : x;
}
