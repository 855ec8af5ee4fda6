// Runs shape rules and holds what they share. Arguments are checked against the schema once, here,
// so that rules can be short. In-place twins run the rule of their functional op and keep self.
#include "ops/infer.h"

#include "ops/rule.h"

sc_iout *sc_infer_outs(sc_infer *in, uint32_t count) {
    in->outs = sc_new_array(in->arena, sc_iout, count ? count : 1);
    in->out_count = count;
    return in->outs;
}

// --- Checking ------------------------------------------------------------------------------------

static bool is_number(sc_iarg_kind kind) {
    return kind == SC_IARG_INT || kind == SC_IARG_FLOAT || kind == SC_IARG_BOOL;
}

static bool kind_fits(const sc_infer *in, const sc_param *param, sc_iarg_kind kind) {
    switch (param->type) {
    case SC_PARAM_TENSOR:
        // A Python number may stand where elementwise ops want a tensor.
        return kind == SC_IARG_TENSOR || (sc_op_has(in->op, SC_POINTWISE) && is_number(kind));
    case SC_PARAM_INT:
    case SC_PARAM_BOOL: return kind == SC_IARG_INT || kind == SC_IARG_BOOL;
    case SC_PARAM_FLOAT:
    case SC_PARAM_SCALAR: return is_number(kind);
    case SC_PARAM_STR: return kind == SC_IARG_STR;
    case SC_PARAM_DTYPE: return kind == SC_IARG_DTYPE;
    case SC_PARAM_LAYOUT: return kind == SC_IARG_LAYOUT || kind == SC_IARG_INT;
    case SC_PARAM_DEVICE: return kind == SC_IARG_DEVICE;
    case SC_PARAM_MEMORY_FORMAT: return kind == SC_IARG_MEMORY_FORMAT;
    case SC_PARAM_GENERATOR:
    case SC_PARAM_PART: return false;
    case SC_PARAM_GRAPH: return kind == SC_IARG_GRAPH;
    }
    return false;
}

static bool arg_fits(const sc_infer *in, const sc_param *param, const sc_iarg *arg) {
    if (arg->kind == SC_IARG_NONE)
        return param->is_optional || param->default_kind == SC_DEFAULT_NONE ||
               (in->runtime && param->default_kind != SC_DEFAULT_REQUIRED);
    if (!param->is_list) return kind_fits(in, param, arg->kind);
    if (arg->kind != SC_IARG_LIST) return false;
    for (uint32_t i = 0; i < arg->count; i++) {
        sc_iarg_kind kind = arg->items[i].kind;
        if (kind == SC_IARG_NONE ? !param->item_is_optional : !kind_fits(in, param, kind))
            return false;
    }
    return true;
}

static sc_status check(const sc_infer *in) {
    const sc_schema *schema = in->op->schema;
    if (in->arg_count != schema->param_count)
        return sc_rule_fail(in, SC_ERR_ARGUMENT, "%s takes %u arguments, not %u", in->op->name,
                            schema->param_count, in->arg_count);
    bool has_tensor = !sc_op_has(in->op, SC_POINTWISE);
    for (uint32_t i = 0; i < in->arg_count; i++) {
        has_tensor = has_tensor || in->args[i].kind == SC_IARG_TENSOR;
        if (!arg_fits(in, &schema->params[i], &in->args[i]))
            return sc_rule_fail(in, SC_ERR_ARGUMENT,
                                "argument '" SC_STR_FMT "' of %s is of the wrong kind",
                                SC_STR_ARG(schema->params[i].name), in->op->name);
    }
    if (!has_tensor)
        return sc_rule_fail(in, SC_ERR_ARGUMENT, "%s needs a tensor among its operands",
                            in->op->name);
    return SC_OK;
}

// The result of relu_ is self, whatever relu would make.
static sc_status keep_self(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    if (!self)
        return sc_rule_fail(in, SC_ERR_ARGUMENT, "%s needs a tensor to write to", in->op->name);
    if (in->out_count == 1 && in->outs[0].kind == SC_IOUT_TENSOR &&
        !sc_op_has(in->op->functional, SC_VIEW)) {
        if (in->outs[0].spec.rank != self->rank)
            return sc_rule_fail(in, SC_ERR_SHAPE,
                                "%s cannot store sizes %s in a tensor of sizes %s", in->op->name,
                                sc_rule_text(in, &in->outs[0].spec), sc_rule_text(in, self));
        in->outs[0].spec = *self;
    }
    return SC_OK;
}

// Sizes are checked here, so that no rule has to.
static sc_status check_results(const sc_infer *in) {
    for (uint32_t i = 0; i < in->out_count; i++) {
        const sc_spec *spec = &in->outs[i].spec;
        for (uint32_t d = 0; in->outs[i].kind == SC_IOUT_TENSOR && d < spec->rank; d++)
            if (!spec->sizes[d].expr && spec->sizes[d].value < 0)
                return sc_rule_fail(in, SC_ERR_SHAPE, "the result of %s would have the sizes %s",
                                    in->op->name, sc_rule_text(in, spec));
    }
    return SC_OK;
}

sc_status sc_infer_run(sc_infer *in) {
    if (sc_op_has(in->op, SC_FOREIGN) || (!in->op->infer && !sc_op_has(in->op, SC_INPLACE)))
        return sc_rule_fail(in, SC_ERR_UNSUPPORTED_OP, "no shape rule for %s", in->op->name);
    SC_TRY(check(in));
    if (in->op->infer) {
        SC_TRY(in->op->infer(in));
        SC_TRY(check_results(in));
    }
    if (!sc_op_has(in->op, SC_INPLACE)) return SC_OK;
    if (!in->op->infer) sc_infer_outs(in, 1)[0] = (sc_iout){.kind = SC_IOUT_TENSOR};
    if (!in->op->infer && sc_rule_tensor(in, 0)) in->outs[0].spec = *sc_rule_tensor(in, 0);
    return keep_self(in);
}

sc_status sc_infer_view_of(sc_infer *in, const sc_spec *base) {
    sc_iarg *args = sc_new_array(in->arena, sc_iarg, in->arg_count);
    memcpy(args, in->args, in->arg_count * sizeof(*args));
    args[0].tensor = base;
    in->args = args;
    in->op = in->op->view;
    return sc_infer_run(in);
}

// Strides go where their dims go, so the numbers of the dims can travel in their place.
sc_status sc_infer_order(sc_infer *in, uint32_t *order) {
    sc_spec numbered = *sc_rule_tensor(in, 0);
    numbered.strides = sc_new_array(in->arena, sc_dim, numbered.rank);
    for (uint32_t d = 0; d < numbered.rank; d++) numbered.strides[d] = sc_dim_int(d);
    SC_TRY(sc_infer_view_of(in, &numbered));
    for (uint32_t d = 0; d < numbered.rank; d++)
        order[d] = (uint32_t)in->outs[0].spec.strides[d].value;
    return SC_OK;
}

// --- Arguments -----------------------------------------------------------------------------------

static const sc_iarg absent = {.kind = SC_IARG_NONE};

const sc_iarg *sc_rule_arg(const sc_infer *in, const char *param) {
    const sc_schema *schema = in->op->schema;
    for (uint32_t i = 0; i < schema->param_count; i++)
        if (sc_str_is(schema->params[i].name, param)) return &in->args[i];
    return &absent;
}

const sc_spec *sc_rule_tensor(const sc_infer *in, uint32_t index) {
    SC_ASSERT(index < in->arg_count);
    return in->args[index].kind == SC_IARG_TENSOR ? in->args[index].tensor : NULL;
}

const sc_spec *sc_rule_tensor_named(const sc_infer *in, const char *param) {
    const sc_iarg *arg = sc_rule_arg(in, param);
    return arg->kind == SC_IARG_TENSOR ? arg->tensor : NULL;
}

bool sc_rule_is_none(const sc_infer *in, const char *param) {
    return sc_rule_arg(in, param)->kind == SC_IARG_NONE;
}

bool sc_rule_bool(const sc_infer *in, const char *param, bool otherwise) {
    const sc_iarg *arg = sc_rule_arg(in, param);
    if (arg->kind == SC_IARG_BOOL) return arg->b;
    return arg->kind == SC_IARG_INT && !arg->dim.expr ? arg->dim.value != 0 : otherwise;
}

bool sc_rule_is_int(const sc_iarg *arg) {
    return arg->kind == SC_IARG_INT || arg->kind == SC_IARG_BOOL;
}

sc_dim sc_rule_item_dim(const sc_iarg *arg) {
    return arg->kind == SC_IARG_INT ? arg->dim : sc_dim_int(arg->b);
}

sc_dim sc_rule_dim(const sc_infer *in, const char *param, int64_t otherwise) {
    const sc_iarg *arg = sc_rule_arg(in, param);
    return sc_rule_is_int(arg) ? sc_rule_item_dim(arg) : sc_dim_int(otherwise);
}

sc_dtype sc_rule_dtype(const sc_infer *in, const char *param, sc_dtype otherwise) {
    const sc_iarg *arg = sc_rule_arg(in, param);
    if (arg->kind == SC_IARG_DTYPE) return (sc_dtype)arg->code;
    return otherwise;
}

sc_status sc_rule_int(const sc_infer *in, const sc_iarg *arg, const char *what, int64_t *out) {
    if (!sc_rule_is_int(arg) || sc_rule_item_dim(arg).expr)
        return sc_fail(in->ctx, SC_ERR_UNSUPPORTED,
                       "Make this number a constant of the model instead of a computed one.",
                       "%s of %s must be known when the program is lowered", what, in->op->name);
    *out = sc_rule_item_dim(arg).value;
    return SC_OK;
}

double sc_rule_number(const sc_iarg *arg) {
    if (arg->kind == SC_IARG_FLOAT) return arg->f;
    return arg->kind == SC_IARG_BOOL ? arg->b : (double)arg->dim.value;
}

sc_category sc_rule_category(const sc_iarg *arg) {
    if (arg->kind == SC_IARG_TENSOR) return sc_dtype_category((sc_dtype)arg->tensor->dtype);
    return arg->kind == SC_IARG_FLOAT  ? SC_CATEGORY_FLOAT
           : arg->kind == SC_IARG_BOOL ? SC_CATEGORY_BOOL
                                       : SC_CATEGORY_INT;
}

sc_status sc_rule_wrap_dim(const sc_infer *in, int64_t dim, uint32_t rank, uint32_t *out) {
    int64_t limit = rank ? rank : 1;
    if (dim < -limit || dim >= limit)
        return sc_rule_fail(in, SC_ERR_SHAPE,
                            "dimension %lld is out of range for a tensor with %u dimensions",
                            (long long)dim, rank);
    *out = (uint32_t)(dim < 0 ? dim + limit : dim);
    return SC_OK;
}

sc_status sc_rule_fits_rank(const sc_infer *in, uint32_t rank) {
    if (rank <= SC_RANK_MAX) return SC_OK;
    return sc_rule_fail(in, SC_ERR_LIMIT, "%s: more than %d dimensions", in->op->name, SC_RANK_MAX);
}

sc_dim sc_rule_ceildiv(const sc_infer *in, sc_dim a, sc_dim b) {
    const sc_dim rounded = sc_dim_add(in->exprs, a, sc_dim_sub(in->exprs, b, sc_dim_int(1)));
    return sc_dim_floordiv(in->exprs, rounded, b);
}

sc_status sc_rule_wrapped(const sc_infer *in, const char *param, uint32_t rank, uint32_t *out) {
    int64_t dim;
    SC_TRY(sc_rule_int(in, sc_rule_arg(in, param), "the dimension", &dim));
    return sc_rule_wrap_dim(in, dim, rank, out);
}

sc_status sc_rule_dim_set(const sc_infer *in, const char *param, uint32_t rank, bool empty_is_all,
                          bool *flags) {
    const sc_iarg *arg = sc_rule_arg(in, param);
    bool list = arg->kind == SC_IARG_LIST;
    bool all = arg->kind == SC_IARG_NONE || (list && arg->count == 0 && empty_is_all);
    for (uint32_t d = 0; d < SC_RANK_MAX; d++) flags[d] = all && d < rank;
    for (uint32_t i = 0; !all && i < (list ? arg->count : 1); i++) {
        int64_t dim;
        uint32_t wrapped;
        SC_TRY(sc_rule_int(in, list ? &arg->items[i] : arg, "the dimension", &dim));
        SC_TRY(sc_rule_wrap_dim(in, dim, rank, &wrapped));
        if (flags[wrapped] && rank)
            return sc_rule_fail(in, SC_ERR_ARGUMENT, "dimension %lld appears twice",
                                (long long)dim);
        flags[wrapped] = rank > 0;
    }
    return SC_OK;
}

sc_status sc_rule_item(const sc_infer *in, const char *param, uint32_t i, sc_dim otherwise,
                       sc_dim *out) {
    const sc_iarg *arg = sc_rule_arg(in, param);
    *out = otherwise;
    if (arg->kind != SC_IARG_LIST) return SC_OK;
    if (arg->count == 1) i = 0;
    if (arg->count && i >= arg->count)
        return sc_rule_fail(in, SC_ERR_ARGUMENT, "'%s' of %s has %u items, which are too few",
                            param, in->op->name, arg->count);
    if (arg->count) *out = sc_rule_item_dim(&arg->items[i]);
    return SC_OK;
}

// --- Messages ------------------------------------------------------------------------------------

const char *sc_rule_text(const sc_infer *in, const sc_spec *spec) {
    sc_sb sb;
    sc_sb_init(&sb, in->ctx->scratch);
    sc_sb_add_char(&sb, '[');
    for (uint32_t d = 0; d < spec->rank; d++) {
        if (d) sc_sb_add_text(&sb, ", ");
        sc_dim_print(&sb, spec->sizes[d]);
    }
    sc_sb_add_char(&sb, ']');
    return sc_sb_terminate(&sb);
}

const char *sc_rule_dim_text(const sc_infer *in, sc_dim d) {
    sc_sb sb;
    sc_sb_init(&sb, in->ctx->scratch);
    sc_dim_print(&sb, d);
    return sc_sb_terminate(&sb);
}
