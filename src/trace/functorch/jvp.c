// The table of tangents.
#include "trace/expand.h"
#include "trace/functorch/functorch.h"

typedef struct jvp_row {
    sc_op_id op;
    const char *param;
    const char *text;
    sc_x (*rule)(const sc_level *v, const sc_lifted *a, sc_x d);
} jvp_row;

// clang-format off
static const jvp_row rows[] = {
#define TEXT(op, param, text) {SC_OP_##op, #param, text, NULL},
#define RULE(rule, op, param) {SC_OP_##op, #param, NULL, sc_jvp_##rule},
#include "trace/functorch/jvp.def"
#undef TEXT
#undef RULE
};
// clang-format on

enum { NAMES = 3 };

static const jvp_row *row_of(const sc_op *op, sc_str param) {
    for (size_t i = 0; i < SC_COUNT_OF(rows); i++)
        if (rows[i].op == op->id && sc_str_is(param, rows[i].param)) return &rows[i];
    return NULL;
}

// The operator with d, out and out1 as its last parameters.
static sc_op *with_names(sc_arena *arena, const sc_op *op) {
    static const char *const names[NAMES] = {"d", "out", "out1"};
    const sc_schema *schema = op->schema;
    sc_op *named = sc_new(arena, sc_op);
    sc_schema *longer = sc_new(arena, sc_schema);
    *named = *op;
    *longer = *schema;
    longer->params = sc_new_array(arena, sc_param, schema->param_count + NAMES);
    memcpy(longer->params, schema->params, schema->param_count * sizeof(sc_param));
    for (uint32_t i = 0; i < NAMES; i++)
        longer->params[longer->param_count++] = (sc_param){.name = sc_str_from(names[i])};
    named->schema = longer;
    return named;
}

static sc_x by_text(const sc_level *v, const sc_lifted *a, const char *text, sc_x d) {
    sc_trace *t = v->t;
    const sc_node *node = v->node;
    const uint32_t count = node->op->schema->param_count;
    sc_x *args = sc_new_array(t->arena, sc_x, count + NAMES);
    for (uint32_t i = 0; i < count; i++) args[i] = a[i].x;
    args[count] = d;
    for (uint32_t i = 0; i < 2; i++)
        args[count + 1 + i] = i < node->out_count ? sc_trace_plain(t, node->outs[i]) : X_NONE;
    return sc_expand_text(t, with_names(t->arena, node->op), text, args);
}

// What one parameter adds, in the sizes and the dtype of the result.
static sc_x fitting(const sc_level *v, sc_x x, const sc_spec *out) {
    if (x->kind != SC_X_TENSOR) return x;
    x = sc_f_to(v->t, x, (sc_dtype)out->dtype);
    return sc_spec_same_sizes(sc_x_spec(x), out) ? x : sc_f_expand(v->t, x, out->sizes, out->rank);
}

static bool has_tangent(const sc_lifted *a) {
    if (!a->items) return a->tangent != NULL;
    for (uint32_t i = 0; i < a->x->count; i++)
        if (a->items[i].tangent) return true;
    return false;
}

sc_x sc_jvp_call(const sc_level *v, const sc_lifted *a) {
    const sc_node *node = v->node;
    const sc_spec *out = &node->outs[0]->spec;
    sc_x sum = NULL;
    if (!sc_dtype_is_float((sc_dtype)out->dtype)) return NULL;
    for (uint32_t i = 0; i < node->arg_count; i++) {
        if (!has_tangent(&a[i])) continue;
        const jvp_row *row = row_of(node->op, node->op->schema->params[i].name);
        if (!row || node->is_kept)
            return sc_trace_fail(v->t, SC_ERR_UNSUPPORTED_OP, SC_FUNCTORCH_HINT,
                                 "torch.func.jvp of %s is not supported", node->op->name);
        if (row->text && !*row->text) continue;
        sc_x x = row->rule ? row->rule(v, a, a[i].tangent) : by_text(v, a, row->text, a[i].tangent);
        x = fitting(v, x, out);
        sum = sum ? CALL(v->t, add_Tensor, sum, x) : x;
    }
    return sum;
}
