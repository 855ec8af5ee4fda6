// Rows of operators, arguments of nodes, and what XNNPACK demands of every tensor.
#include "backends/xnnpack/aot/rule.h"
#include "ops/op.h"

static const sc_xa_row rows[] = {
#define CONFIG(id, name, kind_id, keeps) {SC_OP_##id, SC_XNN_##kind_id, keeps, &sc_xa_##name},
#include "backends/xnnpack/aot/configs.def"
#undef CONFIG
};

const sc_xa_row *sc_xa_row_of(const sc_node *node) {
    for (uint32_t i = 0; node->op && i < SC_COUNT_OF(rows); i++)
        if (rows[i].op == node->op->id) return &rows[i];
    return NULL;
}

bool sc_xa_is(const sc_node *node, const sc_xa_family *family) {
    const sc_xa_row *row = node ? sc_xa_row_of(node) : NULL;
    return row && row->family == family;
}

// --- Refusing and joining ------------------------------------------------------------------------

bool sc_xa_refuse(sc_xa *x, const char *hint, const char *format, ...) {
    if (!x->survey) return false;
    sc_sb text;
    va_list args;
    sc_sb_init(&text, x->ctx->arena);
    va_start(args, format);
    sc_sb_vaddf(&text, format, args);
    va_end(args);
    x->reason = sc_sb_str(&text);
    x->hint = hint ? sc_str_from(hint) : (sc_str){0};
    return false;
}

static uint32_t root_of(const sc_xa *x, uint32_t mark) {
    while (x->groups[mark] != mark) {
        x->groups[mark] = x->groups[x->groups[mark]];
        mark = x->groups[mark];
    }
    return mark;
}

void sc_xa_join(sc_xa *x, const sc_node *a, const sc_node *b) {
    if (x->groups) x->groups[root_of(x, a->mark)] = root_of(x, b->mark);
}

// --- Arguments -----------------------------------------------------------------------------------

static const sc_arg *find(const sc_node *node, const char *param) {
    int32_t index = sc_op_param_index(node->op, param);
    return index >= 0 && (uint32_t)index < node->arg_count ? &node->args[index] : NULL;
}

const sc_value *sc_xa_tensor(const sc_node *node, const char *param) {
    const sc_arg *arg = find(node, param);
    return arg && arg->kind == SC_ARG_VALUE ? arg->value : NULL;
}

static bool number_of(const sc_arg *arg, double *out) {
    if (!arg) return false;
    switch (arg->kind) {
    case SC_ARG_INT: *out = (double)arg->i; return true;
    case SC_ARG_FLOAT: *out = arg->f; return true;
    case SC_ARG_BOOL: *out = arg->b; return true;
    default: return false;
    }
}

bool sc_xa_number(const sc_node *node, const char *param, double *out) {
    return number_of(find(node, param), out);
}

int64_t sc_xa_int(const sc_node *node, const char *param) {
    const sc_arg *arg = find(node, param);
    return arg && arg->kind == SC_ARG_INT ? arg->i : 0;
}

bool sc_xa_flag(const sc_node *node, const char *param) {
    const sc_arg *arg = find(node, param);
    return arg && arg->kind == SC_ARG_BOOL && arg->b;
}

int32_t sc_xa_ints(const sc_node *node, const char *param, int64_t *out, uint32_t max,
                   uint32_t spread) {
    const sc_arg *arg = find(node, param);
    if (!arg) return -1;
    uint32_t count = arg->kind == SC_ARG_LIST ? arg->count : 1;
    if (arg->kind != SC_ARG_LIST && arg->kind != SC_ARG_INT) return -1;
    if (count > max) return -1;
    for (uint32_t i = 0; i < count; i++) {
        const sc_arg *item = arg->kind == SC_ARG_LIST ? &arg->items[i] : arg;
        if (item->kind != SC_ARG_INT) return -1;
        out[i] = item->i;
    }
    if (count == 1 && spread > 1) {
        for (uint32_t i = 1; i < spread; i++) out[i] = out[0];
        count = spread;
    }
    return (int32_t)count;
}

int64_t sc_xa_dim(int64_t dim, uint32_t rank) { return dim < 0 ? dim + (int64_t)rank : dim; }

const sc_node *sc_xa_only_user(const sc_value *value) {
    if (value->use_count != 1) return NULL;
    const sc_node *user = value->first_use->user;
    return user && user->op ? user : NULL;
}

// --- Sizes ---------------------------------------------------------------------------------------

bool sc_xa_is_static(const sc_value *value) { return sc_spec_is_static(&value->spec); }

uint32_t sc_xa_dynamic_dims(const sc_value *value) {
    uint32_t count = 0;
    for (uint32_t d = 0; d < value->spec.rank; d++) count += !sc_dim_is_int(value->spec.sizes[d]);
    return count;
}

uint32_t sc_xa_size(const sc_value *value, uint32_t dim) {
    int64_t size = 0;
    return sc_spec_size_max(&value->spec, dim, &size) ? (uint32_t)size : 0;
}

bool sc_xa_shape_equal(const sc_value *a, const sc_value *b) {
    return sc_spec_same_sizes(&a->spec, &b->spec);
}

bool sc_xa_fits(sc_xa *x, const sc_value *value, const char *what) {
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
            return sc_xa_refuse(x, "Give its dynamic dimension a largest size.",
                                "dimension %u of %s has no largest size", d, what);
        if (size <= 0 || size > INT32_MAX || !sc_mul_u64(total, (uint64_t)size, &total) ||
            total > UINT64_C(1) << 40)
            return sc_xa_refuse(x, "Give its dynamic dimension a smaller largest size.",
                                "%s may have more elements than XNNPACK counts", what);
    }
    sc_exprs *exprs = x->graph->method->exprs;
    if (!sc_xa_is_constant(value) && !sc_spec_is_contiguous(exprs, spec) &&
        !sc_spec_is_channels_last(exprs, spec))
        return sc_xa_refuse(x, "Make it contiguous or channels-last before.",
                            "%s is neither contiguous nor channels-last", what);
    return true;
}

// --- Judging -------------------------------------------------------------------------------------

typedef struct operands {
    sc_xa *x;
    uint8_t tensors;  // sc_xa_tensors
    uint8_t dtype;
    bool is_fine;
} operands;

static bool look_at_dtype(operands *o, const sc_value *value, const char *what) {
    const uint8_t dtype = value->spec.dtype;
    if (o->tensors == SC_XA_OWN) return true;
    if (dtype != SC_DTYPE_F32 && dtype != SC_DTYPE_F16)
        return sc_xa_refuse(o->x, dtype == SC_DTYPE_BF16 ? "Export the model in float32." : NULL,
                            "%s is %s, and XNNPACK computes this in float32 and float16 only", what,
                            sc_dtype_name(dtype));
    if (o->tensors == SC_XA_REALS && o->dtype != SC_DTYPE_NONE && o->dtype != dtype)
        return sc_xa_refuse(o->x, "Cast them to one type.",
                            "its tensors are %s and %s, and XNNPACK does not mix them",
                            sc_dtype_name(o->dtype), sc_dtype_name(dtype));
    o->dtype = dtype;
    return true;
}

static bool look_at_operand(void *user, sc_arg *arg) {
    operands *o = user;
    if (arg->value->type == SC_VALUE_TENSOR)
        o->is_fine =
            look_at_dtype(o, arg->value, "an input") && sc_xa_fits(o->x, arg->value, "an input");
    else
        o->is_fine = sc_xa_refuse(o->x, "Export it with fixed sizes.",
                                  "it takes a number that is computed when the program runs, and "
                                  "delegates of XNNPACK take tensors only");
    return o->is_fine;
}

bool sc_xa_judge(sc_xa *x, const sc_node *node) {
    const sc_xa_row *row = sc_xa_row_of(node);
    if (!row) return sc_xa_refuse(x, NULL, "XNNPACK has nothing that computes it");
    if (sc_xnn_kinds[row->kind].since > x->runtime)
        return sc_xa_refuse(x, "Ask for a later target runtime.",
                            "the target runtime does not know XNNPACK's %s yet",
                            sc_xnn_kinds[row->kind].name);
    operands o = {x, row->family->tensors, SC_DTYPE_NONE, true};
    sc_node_visit_values(node, look_at_operand, &o);
    if (!o.is_fine) return false;
    for (uint32_t i = 0; i < node->out_count; i++) {
        const sc_value *value = node->outs[i];
        if (value->use_count == 0) continue;
        if (value->type != SC_VALUE_TENSOR)
            return sc_xa_refuse(x, NULL, "its result is not a tensor");
        if (!look_at_dtype(&o, value, "its result") || !sc_xa_fits(x, value, "its result"))
            return false;
    }
    return row->family->check(x, node);
}
