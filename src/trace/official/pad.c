// Padding by less than nothing: the official kernel only adds, so what is taken away are slices.
#include "trace/official/official.h"

bool sc_official_crops(const sc_node *node) {
    const sc_arg *pad = sc_node_arg(node, "pad");
    for (uint32_t i = 0; pad->kind == SC_ARG_LIST && i < pad->count; i++)
        if (pad->items[i].kind == SC_ARG_INT && pad->items[i].i < 0) return true;
    return false;
}

// (self, pad, value)
sc_x sc_official_crop(sc_trace *t, const sc_x *a) {
    int64_t pad[2 * SC_RANK_MAX];
    const uint32_t count = sc_x_int_list(t, a[1], pad, 2 * SC_RANK_MAX), rank = sc_x_rank(a[0]);
    sc_x x = a[0];
    bool grows = false;
    for (uint32_t i = 0; i + 1 < count && t->status == SC_OK; i += 2) {
        const uint32_t dim = rank - 1 - i / 2;
        const int64_t before = pad[i] < 0 ? -pad[i] : 0, after = pad[i + 1] < 0 ? pad[i + 1] : 0;
        sc_dim end = sc_trace_add(t, sc_x_size(x, dim), sc_dim_int(after));
        x = sc_o_part(t, x, dim, sc_dim_int(before), end);
        pad[i] = pad[i] > 0 ? pad[i] : 0;
        pad[i + 1] = pad[i + 1] > 0 ? pad[i + 1] : 0;
        grows = grows || pad[i] || pad[i + 1];
    }
    return grows ? CALL(t, constant_pad_nd, x, sc_x_ints(t, pad, count), a[2]) : x;
}
