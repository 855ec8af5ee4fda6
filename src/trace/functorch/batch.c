// Tensors with a batch in front, and what rules do with them.
#include "trace/functorch/functorch.h"

uint32_t sc_functorch_rank(const sc_lifted *a) {
    const uint32_t rank = sc_x_rank(a->x);
    return a->batched && rank ? rank - 1 : rank;
}

sc_x sc_functorch_front(const sc_functorch_level *v, const sc_lifted *a) {
    sc_dim sizes[SC_RANK_MAX + 1];
    const sc_spec *spec = sc_x_spec(a->x);
    if (a->batched || !sc_x_is_tensor(a->x)) return a->x;
    sizes[0] = v->size;
    for (uint32_t d = 0; d < spec->rank; d++) sizes[d + 1] = spec->sizes[d];
    return sc_f_expand(v->t, a->x, sizes, spec->rank + 1);
}

sc_x sc_functorch_ranked(const sc_functorch_level *v, const sc_lifted *a, uint32_t rank) {
    sc_dim sizes[SC_RANK_MAX + 1];
    const sc_spec *spec = sc_x_spec(a->x);
    const uint32_t own = sc_functorch_rank(a);
    if (!a->batched || own >= rank || rank >= SC_RANK_MAX) return a->x;
    sizes[0] = spec->sizes[0];
    for (uint32_t d = 0; d < rank - own; d++) sizes[d + 1] = sc_dim_int(1);
    for (uint32_t d = 0; d < own; d++) sizes[rank - own + 1 + d] = spec->sizes[d + 1];
    return sc_f_reshape(v->t, a->x, sizes, rank + 1);
}

sc_x sc_functorch_reshape(const sc_functorch_level *v, sc_x x, const sc_spec *like) {
    sc_dim sizes[SC_RANK_MAX + 1];
    sizes[0] = v->size;
    for (uint32_t d = 0; d < like->rank; d++) sizes[d + 1] = like->sizes[d];
    return sc_f_reshape(v->t, x, sizes, like->rank + 1);
}

sc_x sc_functorch_move(sc_trace *t, sc_x x, uint32_t from, uint32_t to) {
    int64_t order[SC_RANK_MAX];
    const uint32_t rank = sc_x_rank(x);
    if (from == to || from >= rank || to >= rank) return x;
    for (uint32_t d = 0, next = 0; d < rank; d++) {
        if (next == from) next++;
        order[d] = d == to ? from : next++;
    }
    return sc_f_permute(t, x, order);
}

static bool has_batch(const sc_lifted *a) {
    if (a->x->kind != SC_X_LIST) return a->batched;
    for (uint32_t i = 0; a->items && i < a->x->count; i++)
        if (a->items[i].batched) return true;
    return false;
}

bool sc_functorch_others(const sc_functorch_level *v, const sc_lifted *a, uint32_t mask) {
    for (uint32_t i = 0; i < v->node->arg_count; i++)
        if ((i >= 32 || !(mask >> i & 1)) && has_batch(&a[i])) return true;
    return false;
}

sc_x *sc_functorch_args(const sc_functorch_level *v, const sc_lifted *a) {
    sc_x *args = sc_new_array(v->t->arena, sc_x, v->node->arg_count + 1);
    for (uint32_t i = 0; i < v->node->arg_count; i++) args[i] = a[i].x;
    return args;
}

sc_x sc_functorch_call(const sc_functorch_level *v, const sc_x *args) {
    return sc_trace_call(v->t, v->node->op, args, v->node->arg_count);
}
