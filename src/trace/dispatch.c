// Dispatch: the way that a call goes. Above functionalization composites are expanded, and all
// other calls are functionalized. Below it every operator with an expansion is expanded, and the
// rest is recorded as nodes.
#include "trace/complex/complex.h"
#include "trace/expand.h"
#include "trace/functorch/functorch.h"

// Expansions call each other a handful of levels deep; more is a cycle in the table.
#define DEPTH_MAX 64

sc_x sc_trace_expand(sc_trace *t, const sc_op *op, const sc_expansion *how, const sc_x *args) {
    if (t->depth >= DEPTH_MAX)
        return sc_trace_fail(t, SC_ERR_INTERNAL, NULL, "the expansion of %s does not end",
                             op->name);
    t->depth++;
    sc_x result = how->fn ? how->fn(t, args) : sc_expand_by_text(t, op, how->text, args);
    t->depth--;
    return t->status == SC_OK ? result : &t->poisoned;
}

// PyTorch exported that view, so it is one. By strides that are not the record's it may not be, and
// then a copy is seen in its place, as PyTorch's reshape would do it.
static bool is_taken_at_its_word(const sc_trace *t, const sc_op *op) {
    return t->plain && sc_op_has(op, SC_RESHAPES) && (t->strides_differ || !t->ctx->strict);
}

// An operator whose calls wait for their tangents is expanded for the sizes and the dtype of its
// result alone, as if no jvp were open.
static sc_x expand_and_wait(sc_trace *t, const sc_op *op, const sc_expansion *how,
                            const sc_x *args) {
    const uint32_t jvps = t->jvps;
    t->jvps = 0;
    sc_x result = sc_trace_expand(t, op, how, args);
    t->jvps = jvps;
    return sc_jvp_wait(t, op, args, result);
}

typedef enum way { EXPAND, EXPAND_AND_WAIT, FUNCTIONALIZE, RECORD } way;

// The way that a call goes. `how`: its expansion, or NULL.
static way way_of(const sc_trace *t, const sc_op *op, const sc_expansion *how, const sc_x *args) {
    if (t->plain) return !how ? RECORD : sc_jvp_waits(t, op) ? EXPAND_AND_WAIT : EXPAND;
    const bool is_composite = how && sc_op_has(op, SC_COMPOSITE);
    return is_composite && !sc_complex_has_row(op, args) ? EXPAND : FUNCTIONALIZE;
}

static sc_x answer(sc_trace *t, const sc_op *op, sc_x *args) {
    const sc_expansion *how = sc_call_expansion(op, args);
    if (is_taken_at_its_word(t, op)) args[0] = sc_f_viewable(t, args[0], args[1]);
    sc_x by_pairs = sc_complex_call(t, op, args, how && !how->when ? how : NULL);
    if (by_pairs) return by_pairs;
    switch (way_of(t, op, how, args)) {
    case EXPAND: return sc_trace_expand(t, op, how, args);
    case EXPAND_AND_WAIT: return expand_and_wait(t, op, how, args);
    case FUNCTIONALIZE: return sc_trace_functional(t, op, args, op->schema->param_count);
    case RECORD: break;
    }
    return sc_trace_record(t, op, args, op->schema->param_count);
}

sc_x sc_trace_dispatch(sc_trace *t, const sc_op *op, sc_x *args) {
    bool recast =
        t->autocast.enabled && !t->plain && sc_trace_autocast(t, op, args, op->schema->param_count);
    sc_x result = answer(t, op, args);
    if (recast) t->autocast.enabled = true;
    return result;
}
