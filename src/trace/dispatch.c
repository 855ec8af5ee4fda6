// What a call does. Above functionalization composites are taken apart, and everything else goes
// through functionalization; below it every operator with an expansion is taken apart, and what is
// left becomes a node.
// In wasm: -Os
#include "trace/complex/complex.h"
#include "trace/expand.h"
#include "trace/functorch/functorch.h"

// Expansions call each other a handful of levels deep; more is a cycle in the table.
#define DEPTH_MAX 64

sc_x sc_trace_expand(sc_trace *t, const sc_op *op, const sc_x *args) {
    const sc_expansion *how = sc_call_expansion(op, args);
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

// Below functionalization: what waits for its tangent is expanded for what its result is like.
static sc_x apart_or_whole(sc_trace *t, const sc_op *op, const sc_x *args) {
    const uint32_t jvps = t->jvps;
    const bool waits = sc_jvp_waits(t, op);
    if (waits) t->jvps = 0;
    sc_x result = sc_trace_expand(t, op, args);
    t->jvps = jvps;
    return waits ? sc_jvp_wait(t, op, args, result) : result;
}

static sc_x answer(sc_trace *t, const sc_op *op, sc_x *args) {
    const sc_expansion *how = sc_call_expansion(op, args);
    if (is_taken_at_its_word(t, op)) args[0] = sc_f_viewable(t, args[0], args[1]);
    sc_x apart = sc_complex_call(t, op, args);
    if (apart) return apart;
    const bool composite = sc_op_has(op, SC_COMPOSITE) && !sc_complex_has_row(op, args);
    if (how && t->plain) return apart_or_whole(t, op, args);
    if (how && composite) return sc_trace_expand(t, op, args);
    if (t->plain) return sc_trace_record(t, op, args, op->schema->param_count);
    return sc_trace_functional(t, op, args, op->schema->param_count);
}

sc_x sc_trace_dispatch(sc_trace *t, const sc_op *op, sc_x *args) {
    bool recast =
        t->autocast.enabled && !t->plain && sc_trace_autocast(t, op, args, op->schema->param_count);
    sc_x result = answer(t, op, args);
    if (recast) t->autocast.enabled = true;
    return result;
}
