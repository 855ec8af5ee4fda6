// XNNPACK's demands on every node and tensor.
#include "backends/xnnpack/aot/rule.h"

static void note_unbacked(void *user, sc_symbol *symbol) {
    *(bool *)user |= sc_symbol_is_unbacked(symbol);
}

// XNNPACK refuses tensors without elements when it runs, and data-dependent sizes may be 0. Sizes
// of inputs are positive, as PyTorch assumes.
static bool can_be_empty(sc_dim size) {
    bool is_unbacked = false;
    if (!size.expr || sc_dim_range(size).min > 0) return false;
    sc_dim_visit_symbols(size, note_unbacked, &is_unbacked);
    return is_unbacked;
}

static bool fits(sc_xa *x, const sc_value *value, const char *what) {
    const sc_spec *spec = &value->spec;
    if (spec->rank > SC_XNN_RANK_MAX)
        return sc_xa_refuse(x, "Reshape it to fewer dimensions.",
                            "%s has %u dimensions, XNNPACK's tensors have at most %u", what,
                            spec->rank, SC_XNN_RANK_MAX);
    uint64_t total = 1;
    for (uint32_t d = 0; d < spec->rank; d++) {
        int64_t size;
        if (sc_dim_is(spec->sizes[d], 0)) return sc_xa_refuse(x, NULL, "%s has no elements", what);
        if (!sc_spec_size_max(spec, d, &size) || size >= SC_DIM_INF)
            return sc_xa_refuse(x, "Give its dynamic dimension a maximum.",
                                "dimension %u of %s has no maximum", d, what);
        if (can_be_empty(spec->sizes[d]))
            return sc_xa_refuse(x, "Add a check that it has at least one: torch._check(size > 0).",
                                "the data decides whether %s has elements, and XNNPACK refuses "
                                "tensors without elements",
                                what);
        if (size <= 0 || size > INT32_MAX || !sc_mul_u64(total, (uint64_t)size, &total) ||
            total > UINT64_C(1) << 40)
            return sc_xa_refuse(x, "Give its dynamic dimension a smaller maximum.",
                                "%s may have more elements than XNNPACK can count", what);
    }
    sc_exprs *exprs = x->graph->method->exprs;
    if (!x->is_early && !sc_xa_is_constant(value) && !sc_spec_is_contiguous(exprs, spec) &&
        !sc_spec_is_channels_last(exprs, spec))
        return sc_xa_refuse(x, "Make it contiguous or channels-last first.",
                            "%s is neither contiguous nor channels-last", what);
    return true;
}

// --- Judging -------------------------------------------------------------------------------------

typedef struct operands {
    sc_xa *x;
    const sc_node *node;
    uint8_t tensors;  // sc_xa_tensors
    uint8_t dtype;
    bool is_fine;
} operands;

static const char *hint_for(uint8_t dtype) {
    if (dtype == SC_DTYPE_BF16 || dtype == SC_DTYPE_F64) return "Export the model in float32.";
    return "Cast it to float32 first, if that is exact: integers up to 2^24 are.";
}

static bool look_at_dtype(operands *o, const sc_value *value, const char *what) {
    const uint8_t dtype = value->spec.dtype;
    if (o->tensors == SC_XA_OWN) return true;
    if (dtype != SC_DTYPE_F32 && dtype != SC_DTYPE_F16)
        return sc_xa_refuse(o->x, hint_for(dtype),
                            "%s is %s, and XNNPACK computes this in float32 and float16 only", what,
                            sc_dtype_name(dtype));
    if (o->tensors == SC_XA_REALS && o->dtype != SC_DTYPE_NONE && o->dtype != dtype)
        return sc_xa_refuse(o->x, "Cast them to one type.",
                            "its tensors are %s and %s, and XNNPACK does not mix them",
                            sc_dtype_name(o->dtype), sc_dtype_name(dtype));
    o->dtype = dtype;
    return true;
}

static bool holds(const sc_arg *arg, const sc_value *value) {
    for (uint32_t i = 0; arg->kind == SC_ARG_LIST && i < arg->count; i++)
        if (holds(&arg->items[i], value)) return true;
    return arg->kind == SC_ARG_VALUE && arg->value == value;
}

// Names the parameter only, so that many nodes with the same fault have the same text.
static void name_operand(const operands *o, const sc_value *value, sc_sb *out) {
    const sc_schema *schema = o->node->op->schema;
    const uint32_t count = sc_min_u32(o->node->arg_count, schema->param_count);
    uint32_t i = 0;
    while (i + 1 < count && !holds(&o->node->args[i], value)) i++;
    sc_sb_addf(out, "its operand '" SC_STR_FMT "'", SC_STR_ARG(schema->params[i].name));
}

static bool look_at_value(operands *o, const sc_value *value, const char *what) {
    if (value->type != SC_VALUE_TENSOR)
        return sc_xa_refuse(o->x, "Export it with fixed sizes.",
                            "%s is a number that is computed when the program runs, and delegates "
                            "of XNNPACK take tensors only",
                            what);
    return look_at_dtype(o, value, what) && fits(o->x, value, what);
}

static void say_why(operands *o, const sc_value *value) {
    sc_arena *scratch = o->x->ctx->scratch;
    sc_mark mark = sc_arena_mark(scratch);
    sc_sb name;
    sc_sb_init(&name, scratch);
    name_operand(o, value, &name);
    (void)look_at_value(o, value, sc_sb_terminate(&name));
    sc_arena_rewind(scratch, mark);
}

// The name is only looked up for a reason. To look up each of a long list would take quadratic
// time.
static bool look_at_operand(void *user, sc_arg *arg) {
    operands *o = user;
    const bool is_heard = o->x->is_heard;
    o->x->is_heard = false;
    o->is_fine = look_at_value(o, arg->value, "it");
    o->x->is_heard = is_heard;
    if (!o->is_fine && is_heard) say_why(o, arg->value);
    return o->is_fine;
}

// Before the edge dialect, numbers may stand where tensors are required.
static bool has_tensors(const sc_node *node) {
    const sc_schema *schema = node->op->schema;
    for (uint32_t i = 0; i < schema->param_count; i++) {
        const sc_param *param = &schema->params[i];
        const uint8_t kind = i < node->arg_count ? node->args[i].kind : SC_ARG_NONE;
        if (param->type != SC_PARAM_TENSOR || param->is_list) continue;
        if (kind != SC_ARG_VALUE && !(kind == SC_ARG_NONE && param->is_optional && i > 0))
            return false;
    }
    return true;
}

// A copy of the same type, next to the only node that reads it, is another name for its operand.
static bool is_name(const sc_xa *x, const sc_value *value) {
    sc_xa quiet = {.ctx = x->ctx,
                   .graph = x->graph,
                   .runtime = x->runtime,
                   .is_early = x->is_early,
                   .looked_at = x->looked_at};
    const sc_node *node = value->node, *user = sc_xa_only_user(value);
    return user && user->out_count > 0 && user->outs[0]->spec.rank > 0 &&
           sc_xa_is(node, &sc_xa_copy) && node->args[0].value->spec.dtype == value->spec.dtype &&
           sc_xa_judge(&quiet, user);
}

// A number in XNNPACK has one dimension, and runtimes do not return one as a tensor without
// dimensions.
static bool has_dims(sc_xa *x, const sc_value *value) {
    if (value->spec.rank > 0 || is_name(x, value)) return true;
    return sc_xa_refuse(x, "Keep a dimension of 1.",
                        "its result is a number, not a tensor with dimensions");
}

bool sc_xa_judge(sc_xa *x, const sc_node *node) {
    const sc_xa_row *row = sc_xa_row_of(node);
    if (!row)
        return sc_xa_refuse(x,
                            "Compute it with other operators, or also name a backend that takes "
                            "it.",
                            "XNNPACK has no operator for it");
    if (!has_tensors(node)) return sc_xa_refuse(x, NULL, "one of its tensor operands is a number");
    if (sc_xnn_kinds[row->kind].since > x->runtime)
        return sc_xa_refuse(x, "Set a later target runtime.",
                            "the target runtime does not know XNNPACK's %s yet",
                            sc_xnn_kinds[row->kind].name);
    operands o = {x, node, row->family->tensors, SC_DTYPE_NONE, true};
    sc_node_visit_values(node, look_at_operand, &o);
    if (!o.is_fine) return false;
    for (uint32_t i = 0; i < node->out_count; i++) {
        const sc_value *value = node->outs[i];
        // Families check the sizes of the first operand, even if it is not read.
        if (i > 0 && value->use_count == 0) continue;
        if (i > 0 && node->op->schema->return_count > 1)
            return sc_xa_refuse(
                x, "Compute its other results with another operator.",
                "more than its first result is used, and XNNPACK computes only that one");
        if (value->type != SC_VALUE_TENSOR)
            return sc_xa_refuse(x, NULL, "its result is not a tensor");
        if (!look_at_dtype(&o, value, "its result") || !fits(x, value, "its result") ||
            !has_dims(x, value))
            return false;
    }
    return row->family->check(x, node);
}
