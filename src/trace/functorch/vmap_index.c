// Batches of tensors that are indexed, of indices, or of both.
#include "trace/functorch/functorch.h"

// A list of indices, one for each dim or none.
typedef struct places {
    const sc_lifted *items;
    uint32_t count, given;
    uint32_t first;  // dim that has one
    uint32_t rank;   // of what they broadcast to
    bool together;   // no dim without one stands between them: the result has theirs in their place
    bool batched;    // one of them
    bool has_mask;
} places;

static places look_at(const sc_lifted *items, uint32_t count) {
    places p = {.items = items, .count = count};
    uint32_t last = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!sc_x_is_tensor(items[i].x)) continue;
        const sc_dtype dtype = sc_x_dtype_of(items[i].x);
        if (p.given++ == 0) p.first = i;
        last = i;
        p.batched = p.batched || items[i].batched;
        p.has_mask = p.has_mask || dtype == SC_DTYPE_BOOL || dtype == SC_DTYPE_U8;
        if (sc_functorch_rank(&items[i]) > p.rank) p.rank = sc_functorch_rank(&items[i]);
    }
    p.together = p.given && last - p.first + 1 == p.given;
    return p;
}

// 0, 1, ... in front of `rank` dims of size 1: each sample its own.
static sc_x samples(const sc_functorch_level *v, uint32_t rank) {
    sc_dim sizes[SC_RANK_MAX + 1] = {v->size};
    for (uint32_t d = 0; d < rank; d++) sizes[d + 1] = sc_dim_int(1);
    sc_x all = sc_f_arange(v->t, sc_x_int(v->t, 0), sc_x_dim(v->t, v->size), SC_DTYPE_I64);
    return sc_f_view(v->t, all, sizes, rank + 1);
}

// The indices behind one for the batch, which NULL leaves out.
static sc_x behind(const sc_functorch_level *v, const places *p, sc_x batch) {
    sc_x *list = sc_new_array(v->t->arena, sc_x, p->count + 1);
    uint32_t count = 0;
    if (batch) list[count++] = batch;
    for (uint32_t i = 0; i < p->count; i++)
        list[count++] = sc_x_is_tensor(p->items[i].x)
                            ? sc_functorch_ranked(v, &p->items[i], p->rank)
                            : p->items[i].x;
    return sc_x_list_of(v->t, list, count);
}

// [batch, indices, dims before them, rest] as [batch, dims before them, indices, rest].
static sc_x put_back(const sc_functorch_level *v, const places *p, sc_x x) {
    for (uint32_t i = 0; i < p->rank; i++) x = sc_functorch_move(v->t, x, 1, p->rank + p->first);
    return x;
}

static sc_x indexed(const sc_functorch_level *v, const sc_lifted *self, const places *p) {
    if (p->has_mask || !p->given || p->rank + sc_functorch_rank(self) >= SC_RANK_MAX) return NULL;
    sc_x batch = !self->batched ? NULL : p->batched ? samples(v, p->rank) : X_NONE;
    sc_x x = CALL(v->t, index_Tensor, self->x, behind(v, p, batch));
    if (!p->batched) return p->together ? x : sc_functorch_move(v->t, x, p->rank, 0);
    if (!self->batched) return p->together ? sc_functorch_move(v->t, x, p->first, 0) : x;
    return p->together && p->first > 0 ? put_back(v, p, x) : x;
}

// (self, indices)
sc_x sc_vmap_index(const sc_functorch_level *v, const sc_lifted *a) {
    const places p = look_at(a[1].items, a[1].x->count);
    return indexed(v, &a[0], &p);
}

// (self, dim, index)
sc_x sc_vmap_index_select(const sc_functorch_level *v, const sc_lifted *a) {
    sc_lifted items[SC_RANK_MAX];
    const uint32_t rank = sc_functorch_rank(&a[0]);
    const uint32_t dim = sc_x_wrap(v->t, a[1].x, rank);
    if (rank == 0 || sc_functorch_rank(&a[2]) != 1) return NULL;
    for (uint32_t i = 0; i < dim; i++) items[i] = (sc_lifted){.x = X_NONE};
    items[dim] = a[2];
    const places p = look_at(items, dim + 1);
    return indexed(v, &a[0], &p);
}

// (weight, indices, ...)
sc_x sc_vmap_embedding(const sc_functorch_level *v, const sc_lifted *a) {
    if (!a[0].batched) return sc_functorch_call(v, sc_functorch_args(v, a));
    const places p = look_at(&a[1], 1);
    return indexed(v, &a[0], &p);
}

// (self, indices, values, accumulate)
sc_x sc_vmap_index_put(const sc_functorch_level *v, const sc_lifted *a) {
    const places p = look_at(a[1].items, a[1].x->count);
    const uint32_t rank = sc_functorch_rank(&a[0]) + p.rank - p.given;
    const bool moves = p.together && p.first > 0;
    if (p.has_mask || !p.given || p.rank + sc_functorch_rank(&a[0]) >= SC_RANK_MAX) return NULL;
    if (moves && sc_functorch_rank(&a[2]) > 0) return NULL;
    sc_x list = behind(v, &p, samples(v, p.rank));
    sc_x values = sc_functorch_ranked(v, &a[2], rank);
    return CALL(v->t, index_put, sc_functorch_front(v, &a[0]), list, values, a[3].x);
}
