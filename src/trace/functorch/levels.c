// Which values have a batch or a tangent at the level that is written out.
#include "trace/functorch/levels.h"

// A value with a tangent is the tensor itself outside of its level.
static const sc_known *known_of(const sc_writer *w, const sc_value *value) {
    const uint64_t *found = sc_imap_find(&w->values, SC_PTR_KEY(value));
    const sc_known *k = found ? (const sc_known *)(uintptr_t)*found : NULL;
    const bool is_here = k && w->is_open && k->region == w->regions;
    return is_here || (k && k->lifted.batched) ? k : NULL;
}

void sc_functorch_level_know(sc_writer *w, const sc_value *value, sc_lifted lifted) {
    sc_known *k = sc_new(w->trace.arena, sc_known);
    *k = (sc_known){.lifted = lifted, .region = w->regions};
    sc_imap_set(&w->values, SC_PTR_KEY(value), (uint64_t)(uintptr_t)k);
}

static sc_lifted lift_value(sc_writer *w, sc_value *value) {
    const sc_known *k = known_of(w, value);
    if (!k) return (sc_lifted){.x = sc_trace_plain(&w->trace, value)};
    if (!w->is_open || k->region != w->regions)
        sc_trace_fail(&w->trace, SC_ERR_CORRUPT, NULL,
                      "'%s' is used outside of the vmap or jvp that it belongs to",
                      value->name->text);
    return k->lifted;
}

static sc_x plain(sc_trace *t, sc_value *value) { return lift_value((sc_writer *)t, value).x; }

sc_lifted sc_functorch_level_lift(sc_writer *w, const sc_arg *arg) {
    sc_trace *t = &w->trace;
    if (arg->kind == SC_ARG_VALUE) return lift_value(w, arg->value);
    if (arg->kind != SC_ARG_LIST) return (sc_lifted){.x = sc_trace_cell(t, arg, plain)};
    sc_lifted *items = sc_new_array(t->arena, sc_lifted, arg->count + 1);
    sc_x *cells = sc_new_array(t->arena, sc_x, arg->count + 1);
    for (uint32_t i = 0; i < arg->count; i++) {
        items[i] = sc_functorch_level_lift(w, &arg->items[i]);
        cells[i] = items[i].x;
    }
    return (sc_lifted){.x = sc_x_list_of(t, cells, arg->count), .items = items};
}

const sc_lifted *sc_functorch_level_lift_args(sc_writer *w, const sc_node *node) {
    sc_lifted *args = sc_new_array(w->trace.arena, sc_lifted, node->arg_count + 1);
    for (uint32_t i = 0; i < node->arg_count; i++)
        args[i] = sc_functorch_level_lift(w, &node->args[i]);
    return args;
}

static bool is_plain(void *user, sc_arg *arg) { return known_of(user, arg->value) == NULL; }

bool sc_functorch_level_knows_any(sc_writer *w, const sc_node *node) {
    return !sc_node_visit_values(node, is_plain, w);
}

void sc_functorch_level_finish(sc_writer *w, sc_node *node) {
    sc_vec_push(w->trace.arena, &w->done, node);
}

// Replaces the node's result by a tensor that belongs to no level.
void sc_functorch_level_become(sc_writer *w, sc_node *node, uint32_t index, sc_x x) {
    if (w->trace.status == SC_OK && x->kind == SC_X_TENSOR)
        sc_replace_uses(node->outs[index], x->tensor->value);
}

bool sc_functorch_level_is_ours(sc_writer *w, sc_x level) {
    if (sc_x_number(level, -1) == w->depth) return true;
    sc_trace_fail(&w->trace, SC_ERR_CORRUPT, NULL, "%s names a level that is not the innermost",
                  w->level.node->op->name);
    return false;
}
