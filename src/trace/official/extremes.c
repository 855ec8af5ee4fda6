// Extremes along dims of a tensor that may have no elements, because another dim is 0 in a run. The
// official amax and amin abort the process on empty tensors, but max and min along a dim do not.
// Those also compute places, so they are used only if the tensor can be empty.
// In wasm: -Os
#include "trace/official/official.h"

bool sc_official_can_be_empty(sc_dim size) { return sc_dim_range(size).min <= 0; }

static uint64_t bit_of(int64_t dim, uint32_t rank) {
    dim = dim < 0 ? dim + rank : dim;
    return dim >= 0 && dim < SC_RANK_MAX ? UINT64_C(1) << dim : 0;
}

// Can a dim be empty that is not among these?
static bool keeps_empty(const sc_spec *spec, uint64_t dims) {
    for (uint32_t d = 0; d < spec->rank; d++)
        if (!(dims >> d & 1) && sc_official_can_be_empty(spec->sizes[d])) return true;
    return false;
}

bool sc_official_keeps_empty(const sc_node *node) {
    const sc_arg *self = sc_node_arg(node, "self"), *dims = sc_node_arg(node, "dim");
    uint64_t listed = 0;
    if (self->kind != SC_ARG_VALUE || dims->kind != SC_ARG_LIST || dims->count == 0) return false;
    for (uint32_t i = 0; i < dims->count; i++)
        if (dims->items[i].kind == SC_ARG_INT)
            listed |= bit_of(dims->items[i].i, self->value->spec.rank);
    return keeps_empty(&self->value->spec, listed);
}

static sc_x along_one(sc_trace *t, sc_x x, uint32_t dim, sc_x keepdim, bool is_largest) {
    sc_x along = sc_x_int(t, dim);
    return sc_x_at(
        t, is_largest ? CALL(t, max_dim, x, along, keepdim) : CALL(t, min_dim, x, along, keepdim),
        0);
}

static sc_x extreme(sc_trace *t, sc_x x, sc_x dims, sc_x keepdim, bool is_largest) {
    int64_t items[SC_RANK_MAX];
    uint64_t listed = 0;
    const uint32_t rank = sc_x_rank(x), count = sc_x_int_list(t, dims, items, SC_RANK_MAX);
    for (uint32_t i = 0; i < count; i++) listed |= bit_of(items[i], rank);
    if (listed == 0 || !keeps_empty(sc_x_spec(x), listed))
        return is_largest ? CALL(t, amax, x, dims, keepdim) : CALL(t, amin, x, dims, keepdim);
    for (uint32_t d = rank; d-- > 0;)
        if (listed >> d & 1) x = along_one(t, x, d, keepdim, is_largest);
    return x;
}

sc_x sc_official_amax_of(sc_trace *t, sc_x x, sc_x dims, sc_x keepdim) {
    return extreme(t, x, dims, keepdim, true);
}

// (self, dim, keepdim)
sc_x sc_official_amax(sc_trace *t, const sc_x *a) { return extreme(t, a[0], a[1], a[2], true); }
sc_x sc_official_amin(sc_trace *t, const sc_x *a) { return extreme(t, a[0], a[1], a[2], false); }
