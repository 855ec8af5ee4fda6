// Batches of what works element by element, along dims, or moves elements.
#include "trace/functorch/functorch.h"

// --- Element by element -------------------------------------------------------------------------

// A sample without dims stands behind tensors with dims when dtypes are promoted; its batch has
// one.
static sc_x outranked(const sc_functorch_level *v, const sc_lifted *a, sc_x x, sc_dtype dtype) {
    const sc_dtype own = sc_x_dtype_of(a->x);
    const bool yields = dtype != SC_DTYPE_NONE && own != dtype &&
                        sc_dtype_category(own) <= sc_dtype_category(dtype);
    return a->batched && sc_functorch_rank(a) == 0 && yields ? sc_f_to(v->t, x, dtype) : x;
}

// Is the parameter a condition? Its dtype is not promoted.
static bool is_condition(const sc_functorch_level *v, uint32_t index) {
    const sc_str name = v->node->op->schema->params[index].name;
    return sc_str_is(name, "condition") || sc_str_is(name, "mask");
}

sc_x sc_vmap_pointwise(const sc_functorch_level *v, const sc_lifted *a) {
    sc_x *args = sc_functorch_args(v, a);
    uint32_t rank = 0;
    sc_dtype dtype = SC_DTYPE_NONE;
    for (uint32_t i = 0; i < v->node->arg_count; i++) {
        const uint32_t own = sc_x_is_tensor(a[i].x) ? sc_functorch_rank(&a[i]) : 0;
        if (own > rank) rank = own;
        if (own == 0 || is_condition(v, i)) continue;
        const sc_dtype next = sc_x_dtype_of(a[i].x);
        dtype = dtype == SC_DTYPE_NONE ? next : sc_dtype_promote(dtype, next);
    }
    for (uint32_t i = 0; i < v->node->arg_count; i++) {
        const sc_dtype wanted = is_condition(v, i) ? SC_DTYPE_NONE : dtype;
        args[i] = outranked(v, &a[i], sc_functorch_ranked(v, &a[i], rank), wanted);
    }
    return sc_functorch_call(v, args);
}

// A format of images has no place for one more dim; it changes no number.
sc_x sc_vmap_same(const sc_functorch_level *v, const sc_lifted *a) {
    sc_x *args = sc_functorch_args(v, a);
    if (sc_functorch_others(v, a, 1)) return NULL;
    for (uint32_t i = 0; i < v->node->arg_count; i++)
        if (args[i]->kind == SC_X_FORMAT && args[i]->code != SC_MEMORY_FORMAT_PRESERVE)
            args[i] = sc_x_format(v->t, SC_MEMORY_FORMAT_CONTIGUOUS);
    return sc_functorch_call(v, args);
}

// --- Along dims ---------------------------------------------------------------------------------

static sc_x shifted(sc_trace *t, sc_x dims, uint32_t rank) {
    if (dims->kind == SC_X_INT) return sc_x_int(t, 1 + (int64_t)sc_x_wrap(t, dims, rank));
    if (dims->kind != SC_X_LIST) return dims;
    sc_x *items = sc_new_array(t->arena, sc_x, dims->count + 1);
    for (uint32_t i = 0; i < dims->count; i++) items[i] = shifted(t, dims->items[i], rank);
    return sc_x_list_of(t, items, dims->count);
}

static bool names_dims(sc_str name) {
    static const char *const names[] = {"dim", "dims", "dim1", "dim2", "dimension"};
    for (size_t i = 0; i < SC_COUNT_OF(names); i++)
        if (sc_str_is(name, names[i])) return true;
    return false;
}

static void shift_dims(const sc_functorch_level *v, sc_x *args, uint32_t rank) {
    const sc_schema *schema = v->node->op->schema;
    for (uint32_t i = 0; i < v->node->arg_count; i++)
        if (names_dims(schema->params[i].name)) args[i] = shifted(v->t, args[i], rank);
}

// The result without the dim that a sample of rank 0 was given.
static sc_x without_dim(sc_trace *t, sc_x x) {
    if (x->kind == SC_X_TENSOR) return sc_x_rank(x) == 2 ? sc_f_squeeze(t, x, 1) : x;
    if (x->kind != SC_X_LIST) return x;
    sc_x *items = sc_new_array(t->arena, sc_x, x->count + 1);
    for (uint32_t i = 0; i < x->count; i++) items[i] = without_dim(t, x->items[i]);
    return sc_x_list_of(t, items, x->count);
}

static sc_x along(const sc_functorch_level *v, const sc_lifted *a, sc_x *args) {
    const uint32_t rank = sc_functorch_rank(&a[0]);
    shift_dims(v, args, rank);
    if (rank > 0) return sc_functorch_call(v, args);
    args[0] = sc_f_unsqueeze(v->t, args[0], 1);
    return without_dim(v->t, sc_functorch_call(v, args));
}

sc_x sc_vmap_shift(const sc_functorch_level *v, const sc_lifted *a) {
    return sc_functorch_others(v, a, 1) ? NULL : along(v, a, sc_functorch_args(v, a));
}

static sc_x all_dims(sc_trace *t, uint32_t rank) {
    int64_t dims[SC_RANK_MAX];
    for (uint32_t d = 0; d < rank; d++) dims[d] = d;
    return sc_x_ints(t, dims, rank);
}

// (self, dim, ...): no dims are all of them.
sc_x sc_vmap_reduce(const sc_functorch_level *v, const sc_lifted *a) {
    sc_x *args = sc_functorch_args(v, a);
    const bool is_all = sc_x_is_none(args[1]) || (args[1]->kind == SC_X_LIST && !args[1]->count);
    const uint32_t rank = sc_functorch_rank(&a[0]);
    if (sc_functorch_others(v, a, 1)) return NULL;
    if (is_all) args[1] = all_dims(v->t, rank ? rank : 1);
    return along(v, a, args);
}

// (self, ord, dim, keepdim, dtype)
sc_x sc_vmap_norm(const sc_functorch_level *v, const sc_lifted *a) {
    sc_x *args = sc_functorch_args(v, a);
    const bool is_all = sc_x_is_none(args[2]) || (args[2]->kind == SC_X_LIST && !args[2]->count);
    const uint32_t rank = sc_functorch_rank(&a[0]);
    if (sc_functorch_others(v, a, 1)) return NULL;
    if (is_all) args[2] = all_dims(v->t, rank ? rank : 1);
    return along(v, a, args);
}

// (self, dim, keepdim): of no dims are the elements themselves.
sc_x sc_vmap_dims(const sc_functorch_level *v, const sc_lifted *a) {
    if (a[1].x->kind == SC_X_LIST && a[1].x->count == 0)
        return sc_functorch_call(v, sc_functorch_args(v, a));
    return sc_vmap_reduce(v, a);
}

// A sample as one line.
static sc_x flat(const sc_functorch_level *v, const sc_lifted *a) {
    sc_dim count = sc_dim_int(1);
    const sc_spec *spec = sc_x_spec(a->x);
    for (uint32_t d = 1; d < spec->rank; d++) count = sc_trace_mul(v->t, count, spec->sizes[d]);
    return sc_f_reshape(v->t, a->x, (sc_dim[]){v->size, count}, 2);
}

sc_x sc_vmap_mean(const sc_functorch_level *v, const sc_lifted *a) {
    return CALL(v->t, mean_dim, flat(v, a), X_INTS(v->t, 1), X_FALSE, a[1].x);
}
sc_x sc_vmap_prod(const sc_functorch_level *v, const sc_lifted *a) {
    return CALL(v->t, prod_dim_int, flat(v, a), sc_x_int(v->t, 1), X_FALSE, a[1].x);
}
sc_x sc_vmap_max(const sc_functorch_level *v, const sc_lifted *a) {
    return CALL(v->t, amax, flat(v, a), X_INTS(v->t, 1));
}
sc_x sc_vmap_min(const sc_functorch_level *v, const sc_lifted *a) {
    return CALL(v->t, amin, flat(v, a), X_INTS(v->t, 1));
}
sc_x sc_vmap_any(const sc_functorch_level *v, const sc_lifted *a) {
    return CALL(v->t, any_dim, flat(v, a), sc_x_int(v->t, 1));
}

// (self, dim, keepdim): no dim is the place in the whole sample.
sc_x sc_vmap_arg(const sc_functorch_level *v, const sc_lifted *a) {
    if (!sc_x_is_none(a[1].x)) return sc_vmap_shift(v, a);
    sc_x args[] = {flat(v, a), sc_x_int(v->t, 1), X_FALSE};
    return sc_functorch_reshape(v, sc_functorch_call(v, args), &v->node->outs[0]->spec);
}

// --- Sizes --------------------------------------------------------------------------------------

// A size that is left open stays so.
sc_x sc_vmap_view(const sc_functorch_level *v, const sc_lifted *a) {
    const uint32_t count = a[1].x->kind == SC_X_LIST ? a[1].x->count : 0;
    sc_x *sizes = sc_new_array(v->t->arena, sc_x, count + 1);
    sizes[0] = sc_x_dim(v->t, v->size);
    for (uint32_t i = 0; i < count; i++) sizes[i + 1] = a[1].x->items[i];
    sc_x list = sc_x_list_of(v->t, sizes, count + 1);
    return CALL(v->t, view, sc_f_viewable(v->t, a[0].x, list), list);
}

sc_x sc_vmap_expand(const sc_functorch_level *v, const sc_lifted *a) {
    sc_dim sizes[SC_RANK_MAX + 1];
    const sc_spec *out = &v->node->outs[0]->spec;
    sizes[0] = v->size;
    for (uint32_t d = 0; d < out->rank; d++) sizes[d + 1] = out->sizes[d];
    return sc_f_expand(v->t, sc_functorch_ranked(v, &a[0], out->rank), sizes, out->rank + 1);
}

sc_x sc_vmap_permute(const sc_functorch_level *v, const sc_lifted *a) {
    int64_t order[SC_RANK_MAX] = {0}, dims[SC_RANK_MAX];
    const uint32_t rank = sc_x_int_list(v->t, a[1].x, dims, SC_RANK_MAX - 1);
    for (uint32_t d = 0; d < rank; d++)
        order[d + 1] = 1 + (int64_t)sc_x_wrap(v->t, sc_x_int(v->t, dims[d]), rank);
    return CALL(v->t, permute, a[0].x, sc_x_ints(v->t, order, rank + 1));
}

sc_x sc_vmap_unsqueeze(const sc_functorch_level *v, const sc_lifted *a) {
    return sc_f_unsqueeze(v->t, a[0].x, 1 + sc_x_wrap(v->t, a[1].x, sc_functorch_rank(&a[0]) + 1));
}

sc_x sc_vmap_repeat(const sc_functorch_level *v, const sc_lifted *a) {
    sc_x repeats[SC_RANK_MAX + 1];
    const uint32_t count = v->node->outs[0]->spec.rank;
    repeats[0] = sc_x_int(v->t, 1);
    for (uint32_t i = 0; i < count; i++) repeats[i + 1] = sc_x_at(v->t, a[1].x, i);
    return CALL(v->t, repeat, sc_functorch_ranked(v, &a[0], count),
                sc_x_list(v->t, repeats, count + 1));
}

// --- Several tensors ----------------------------------------------------------------------------

sc_x sc_vmap_aligned(const sc_functorch_level *v, const sc_lifted *a) {
    sc_x *args = sc_functorch_args(v, a);
    const uint32_t rank = sc_functorch_rank(&a[0]);
    if (rank == 0) return NULL;
    for (uint32_t i = 0; i < v->node->arg_count; i++) {
        if (!sc_x_is_tensor(args[i])) continue;
        if (sc_functorch_rank(&a[i]) != rank) return NULL;
        args[i] = sc_functorch_front(v, &a[i]);
    }
    shift_dims(v, args, rank);
    return sc_functorch_call(v, args);
}

// PyTorch skips empty tensors of rank 1 among others.
static bool is_passed_over(const sc_lifted *a) {
    const uint32_t rank = sc_functorch_rank(a);
    return rank == 1 && sc_dim_is(sc_x_size(a->x, -1), 0);
}

sc_x sc_vmap_cat(const sc_functorch_level *v, const sc_lifted *a) {
    uint32_t count = 0, rank = 0;
    sc_x *items = sc_new_array(v->t->arena, sc_x, a[0].x->count + 1);
    for (uint32_t i = 0; i < a[0].x->count; i++) {
        const sc_lifted *item = &a[0].items[i];
        if (is_passed_over(item) && v->node->outs[0]->spec.rank != 1) continue;
        if (count && sc_functorch_rank(item) != rank) return NULL;
        rank = sc_functorch_rank(item);
        items[count++] = sc_functorch_front(v, item);
    }
    if (rank == 0) return NULL;
    return CALL(v->t, cat, sc_x_list(v->t, items, count), shifted(v->t, a[1].x, rank));
}
