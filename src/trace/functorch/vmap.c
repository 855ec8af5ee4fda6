// The table of batches, and what becomes of calls that it has no row for.
#include "trace/functorch/functorch.h"

typedef struct vmap_row {
    sc_op_id op;
    sc_vmap_rule rule;
} vmap_row;

// clang-format off
static const vmap_row rows[] = {
#define VMAP(rule, op) {SC_OP_##op, sc_vmap_##rule},
#include "trace/functorch/vmap.def"
#undef VMAP
};
// clang-format on

static sc_vmap_rule rule_of(const sc_op *op) {
    for (size_t i = 0; i < SC_COUNT_OF(rows); i++)
        if (rows[i].op == op->id) return rows[i].rule;
    return sc_op_has(op, SC_POINTWISE) ? sc_vmap_pointwise : NULL;
}

bool sc_vmap_has_rule(const sc_op *op) { return rule_of(op) != NULL; }

// --- Sample by sample ---------------------------------------------------------------------------

static sc_x sample_of(sc_trace *t, const sc_lifted *a, int64_t index) {
    if (a->x->kind != SC_X_LIST || !a->items)
        return a->batched ? sc_f_select(t, a->x, 0, index) : a->x;
    sc_x *items = sc_new_array(t->arena, sc_x, a->x->count + 1);
    for (uint32_t i = 0; i < a->x->count; i++) items[i] = sample_of(t, &a->items[i], index);
    return sc_x_list_of(t, items, a->x->count);
}

static sc_x refuse(const sc_functorch_level *v) {
    return sc_trace_fail(v->t, SC_ERR_UNSUPPORTED_OP, SC_FUNCTORCH_HINT,
                         "torch.vmap of %s is not supported", v->node->op->name);
}

static sc_x stacked(sc_trace *t, const sc_x *samples, uint32_t count, uint32_t out) {
    sc_x *items = sc_new_array(t->arena, sc_x, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        sc_x x = samples[i]->kind == SC_X_LIST ? sc_x_at(t, samples[i], out) : samples[i];
        items[i] = sc_f_unsqueeze(t, x, 0);
    }
    return sc_f_cat(t, items, count, 0);
}

static sc_x one_by_one(const sc_functorch_level *v, const sc_lifted *a) {
    sc_trace *t = v->t;
    const uint32_t count = (uint32_t)v->size.value, outs = v->node->out_count;
    if (count > SC_VMAP_REPEATED_MAX - *v->repeated)
        return sc_trace_fail(t, SC_ERR_LIMIT, SC_FUNCTORCH_HINT,
                             "torch.vmap makes more than %d calls of operators that it has no rule "
                             "for, %s the last of them",
                             SC_VMAP_REPEATED_MAX, v->node->op->name);
    *v->repeated += count;
    sc_x *samples = sc_new_array(t->arena, sc_x, count + 1);
    sc_x *args = sc_new_array(t->arena, sc_x, v->node->arg_count + 1);
    sc_x *results = sc_new_array(t->arena, sc_x, outs + 1);
    for (uint32_t i = 0; i < count && t->status == SC_OK; i++) {
        for (uint32_t k = 0; k < v->node->arg_count; k++) args[k] = sample_of(t, &a[k], i);
        samples[i] = sc_functorch_call(v, args);
    }
    for (uint32_t i = 0; i < outs && t->status == SC_OK; i++)
        results[i] = stacked(t, samples, count, i);
    return sc_x_list_of(t, results, outs);
}

static bool find_size(void *user, sc_arg *arg) {
    const sc_spec *spec = &arg->value->spec;
    const sc_dim *size = user;
    if (arg->value->type != SC_VALUE_TENSOR) return true;
    for (uint32_t d = 0; d < spec->rank; d++)
        if (sc_dim_equal(spec->sizes[d], *size)) return false;
    return true;
}

// How large a result is may depend on the data, and then samples have results of different sizes.
static bool depends_on_data(const sc_node *node, const sc_spec *spec) {
    for (uint32_t d = 0; d < spec->rank; d++) {
        sc_dim size = spec->sizes[d];
        const sc_symbol *symbol = sc_dim_symbol(size);
        if (symbol && sc_symbol_is_unbacked(symbol) && sc_node_visit_values(node, find_size, &size))
            return true;
    }
    return false;
}

// Results for a batch without samples: of the right sizes, and empty.
static sc_x empty_results(const sc_functorch_level *v) {
    sc_trace *t = v->t;
    const uint32_t outs = v->node->out_count;
    sc_x *results = sc_new_array(t->arena, sc_x, outs + 1);
    for (uint32_t i = 0; i < outs; i++) {
        sc_dim sizes[SC_RANK_MAX + 1];
        const sc_spec *spec = &v->node->outs[i]->spec;
        sizes[0] = v->size;
        for (uint32_t d = 0; d < spec->rank; d++) sizes[d + 1] = spec->sizes[d];
        results[i] = sc_f_zeros(t, sc_x_dims(t, sizes, spec->rank + 1), (sc_dtype)spec->dtype);
    }
    return sc_x_list_of(t, results, outs);
}

static bool has_samples(const sc_functorch_level *v) {
    const sc_op_traits never = SC_RANDOM | SC_DATA_DEPENDENT | SC_HIGHER_ORDER | SC_FOREIGN |
                               SC_OWN | SC_MUTATES | SC_SYMBOLIC | SC_ASSERTION | SC_FUNCTORCH;
    for (uint32_t i = 0; i < v->node->out_count; i++)
        if (v->node->outs[i]->type != SC_VALUE_TENSOR ||
            depends_on_data(v->node, &v->node->outs[i]->spec))
            return false;
    return !sc_op_has(v->node->op, never) && !v->node->is_kept && !v->size.expr &&
           v->size.value <= SC_VMAP_SAMPLES_MAX;
}

sc_x sc_vmap_call(const sc_functorch_level *v, const sc_lifted *a) {
    const sc_vmap_rule rule = rule_of(v->node->op);
    if (sc_dim_is(v->size, 0) && has_samples(v)) return empty_results(v);
    sc_x x = rule && !v->node->is_kept ? rule(v, a) : NULL;
    if (x || v->t->status != SC_OK) return x ? x : X_NONE;
    return has_samples(v) ? one_by_one(v, a) : refuse(v);
}
