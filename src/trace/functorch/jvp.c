// The table of tangents.
#include "trace/functorch/functorch.h"
#include "trace/text.h"
#include "trace/words/arithmetic.h"

typedef struct jvp_row {
    sc_op_id op;
    const char *param;
    const char *text;
    sc_x (*rule)(const sc_functorch_level *v, const sc_lifted *a, sc_x d);
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

enum { NAMES = 3 };  // d, out, out1

static const jvp_row *row_of(const sc_op *op, sc_str param) {
    for (size_t i = 0; i < SC_COUNT_OF(rows); i++)
        if (rows[i].op == op->id && sc_str_is(param, rows[i].param)) return &rows[i];
    return NULL;
}

bool sc_jvp_has_row(const sc_op *op) {
    for (size_t i = 0; i < SC_COUNT_OF(rows); i++)
        if (rows[i].op == op->id) return true;
    return false;
}

bool sc_jvp_waits(const sc_trace *t, const sc_op *op) { return t->jvps > 0 && sc_jvp_has_row(op); }

sc_x sc_jvp_wait(sc_trace *t, const sc_op *op, const sc_x *args, sc_x apart) {
    const uint32_t count = op->schema->param_count;
    sc_arg *list = sc_new_array(t->arena, sc_arg, count + 1);
    if (t->status != SC_OK || apart->kind != SC_X_TENSOR) return apart;
    for (uint32_t i = 0; i < count; i++) list[i] = sc_trace_arg(t, args[i]);
    if (t->status != SC_OK) return apart;
    sc_node *node = sc_node_new(t->graph, op, list, count, 1, NULL);
    node->meta = t->meta;
    node->mark = (uint32_t)++t->recorded;
    node->outs[0]->type = SC_VALUE_TENSOR;
    node->outs[0]->spec = apart->tensor->value->spec;
    if (!node->outs[0]->name) node->outs[0]->name = node->name;
    if (t->before)
        sc_graph_insert_before(t->before, node);
    else
        sc_graph_append(t->graph, node);
    return sc_trace_plain(t, node->outs[0]);
}

// The formula of a row, over the parameters of the operator and behind them d, out and out1; parsed
// when it is first asked for.
static const sc_formula *formula_of(const jvp_row *row) {
    static const sc_formula *formulas[SC_COUNT_OF(rows)];
    const sc_formula **made = &formulas[row - rows];
    if (*made) return *made;
    sc_formula_names names = sc_formula_names_of(sc_op_get(row->op));
    SC_ASSERT(names.count + NAMES <= SC_FORMULA_NAMES);
    names.items[names.count++] = SC_STR("d");
    names.items[names.count++] = SC_STR("out");
    names.items[names.count++] = SC_STR("out1");
    *made = sc_formula_make(row->text, &names);
    return *made;
}

static sc_x by_text(const sc_functorch_level *v, const sc_lifted *a, const jvp_row *row, sc_x d) {
    sc_trace *t = v->t;
    const sc_node *node = v->node;
    const uint32_t count = node->op->schema->param_count;
    sc_x *args = sc_new_array(t->arena, sc_x, count + NAMES);
    for (uint32_t i = 0; i < count; i++) args[i] = a[i].x;
    args[count] = d;
    for (uint32_t i = 0; i < 2; i++)
        args[count + 1 + i] = i < node->out_count ? sc_trace_plain(t, node->outs[i]) : X_NONE;
    return sc_trace_formula(t, formula_of(row), args);
}

// The addend of one parameter, in the sizes and the dtype of the result.
static sc_x fitting(const sc_functorch_level *v, sc_x x, const sc_spec *out) {
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

static sc_x refused(const sc_functorch_level *v, const char *what) {
    return sc_trace_fail(v->t, SC_ERR_UNSUPPORTED_OP, SC_FUNCTORCH_HINT,
                         "torch.func.jvp of %s%s is not supported", v->node->op->name, what);
}

static bool is_complex(const sc_lifted *a) {
    for (uint32_t i = 0; a->items && i < a->x->count; i++)
        if (is_complex(&a->items[i])) return true;
    return a->tangent && !sc_dtype_is_float(sc_x_dtype_of(a->tangent));
}

// A result after the first that should have a tangent: all results of lists have one, those of
// other calls do not.
static bool needs_more(const sc_node *node) {
    const sc_schema *schema = node->op->schema;
    for (uint32_t i = 1; i < node->out_count && schema->return_count > 1; i++) {
        const sc_value *out = node->outs[i];
        if (out->type == SC_VALUE_TENSOR && out->use_count &&
            !sc_dtype_is_integral((sc_dtype)out->spec.dtype, true))
            return true;
    }
    return false;
}

// The addend of one parameter's tangent; NULL if it is absent.
static sc_x added(const sc_functorch_level *v, const sc_lifted *a, uint32_t index) {
    const sc_node *node = v->node;
    const jvp_row *row = row_of(node->op, node->op->schema->params[index].name);
    if (!row || node->is_kept) return refused(v, "");
    if (is_complex(&a[index])) return refused(v, " of complex numbers");
    if (row->text && !*row->text) return NULL;
    sc_x d = a[index].tangent;
    sc_x x = row->rule ? row->rule(v, a, d) : by_text(v, a, row, d);
    return fitting(v, x, &node->outs[0]->spec);
}

sc_x sc_jvp_call(const sc_functorch_level *v, const sc_lifted *a) {
    const sc_node *node = v->node;
    const sc_dtype dtype = (sc_dtype)node->outs[0]->spec.dtype;
    sc_x sum = NULL;
    bool changes = false;
    for (uint32_t i = 0; i < node->arg_count; i++) changes = changes || has_tangent(&a[i]);
    if (!changes) return NULL;
    if (needs_more(node)) return refused(v, ", of more than its first result,");
    if (sc_dtype_is_integral(dtype, true)) return NULL;
    if (!sc_dtype_is_float(dtype)) return refused(v, " with complex results");
    for (uint32_t i = 0; i < node->arg_count; i++) {
        sc_x x = has_tangent(&a[i]) ? added(v, a, i) : NULL;
        if (x) sum = sum ? sc_f_add(v->t, sum, x) : x;
    }
    return sum;
}
