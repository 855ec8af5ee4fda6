// The table of operators that the official runtime lacks. Every node of a program is looked up.
#include "trace/official/official.h"

// clang-format off
static const sc_official rows[SC_OP_COUNT] = {
#define ALWAYS NULL
#define WHERE(condition) sc_official_##condition
#define OFFICIAL(fn, op, lacks) BOTH(fn, op, lacks, NULL)
#define BOTH(fn, op, lacks, faster) [SC_OP_##op] = {lacks, sc_official_##fn, SC_OP_FOREIGN, faster},
#define FORMULA(form, op, lacks) [SC_OP_##op] = {lacks, NULL, SC_OP_##form, NULL},
#include "trace/official/official.def"
#undef OFFICIAL
#undef WHERE
#undef ALWAYS
};
// clang-format on

const sc_official *sc_official_lack(const sc_node *node) {
    const sc_official *row = &rows[node->op->id];
    if ((!row->expand && !row->form) || node->is_final) return NULL;
    return !row->lacks || row->lacks(node) ? row : NULL;
}

const sc_official *sc_official_faster(const sc_node *node) {
    const sc_official *row = &rows[node->op->id];
    return row->is_faster && row->is_faster(node) ? row : NULL;
}

sc_x sc_official_expand(sc_trace *t, const sc_official *row, const sc_x *a) {
    return row->expand ? row->expand(t, a) : sc_official_form(t, row->form, a);
}

sc_x sc_official_form(sc_trace *t, sc_op_id op, const sc_x *a) {
    const bool is_test = sc_op_gives_truth(sc_op_get(op));
    const sc_dtype dtype = is_test ? sc_x_dtype_of(a[0]) : sc_official_result_dtype(t);
    for (sc_form_id id = 0; id < SC_FORM_COUNT; id++) {
        const sc_form *form = sc_form_get(id);
        if (form->op == op && sc_form_takes(form, dtype) &&
            sc_trace_fits(t, sc_form_formula(id), a))
            return sc_trace_formula(t, sc_form_formula(id), a);
    }
    return sc_official_refuse(t);
}

sc_x sc_official_step(sc_trace *t, sc_step step, const sc_x *a) {
    return sc_trace_formula(t, sc_step_formula(step), a);
}

// The size from which an expansion is faster: for fewer elements the kernel is done before so many
// calls have begun.
enum { LARGE_MIN = 128 };

bool sc_official_is_large(const sc_node *node) {
    sc_exprs *exprs = node->graph->method->exprs;
    return sc_dim_range(sc_spec_numel(exprs, &node->outs[0]->spec)).min >= LARGE_MIN;
}
