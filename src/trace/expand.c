// The EXPAND column of the operator table: the expansion of each operator that has one.
#include "trace/expand.h"

#include "trace/text.h"

// clang-format off
static const sc_expansion expansions[SC_OP_COUNT] = {
// Without a comma: a row may hand its column on to another macro.
#define KEEP {.text = NULL}
#define EXPAND(how) {.text = how}
#define EXPAND_FN(name) {.fn = sc_expand_##name}
#define EXPAND_WHEN(name) {.fn = sc_expand_##name, .when = sc_expands_##name}
#define OP(id, schema, out, infer, expand, kernel, traits) [SC_OP_##id] = expand,
#include "ops/ops.def"
#undef OP
#undef EXPAND_WHEN
#undef EXPAND_FN
#undef EXPAND
#undef KEEP
};
// clang-format on

const sc_expansion *sc_op_expansion(const sc_op *op) {
    if (op->id >= SC_OP_COUNT || sc_op_has(op, SC_INPLACE)) return NULL;
    const sc_expansion *how = &expansions[op->id];
    return (how->fn || how->text) && !how->when ? how : NULL;
}

const sc_expansion *sc_call_expansion(const sc_op *op, const sc_x *a) {
    const sc_expansion *how = op->id < SC_OP_COUNT ? &expansions[op->id] : NULL;
    return how && how->when && how->when(a) ? how : sc_op_expansion(op);
}

sc_x sc_expand_by_text(sc_trace *t, const sc_op *op, const char *text, const sc_x *args) {
    static const sc_formula *formulas[SC_OP_COUNT];  // parsed when they are first asked for
    const sc_formula **made = &formulas[op->id];
    if (!*made) {
        const sc_formula_names names = sc_formula_names_of(op);
        *made = sc_formula_make(text, &names);
    }
    return sc_trace_formula(t, *made, args);
}
