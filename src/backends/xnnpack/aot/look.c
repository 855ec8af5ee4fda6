// Rows of operators, arguments of nodes, and XNNPACK's demands on every tensor.
#include "backends/xnnpack/aot/rule.h"
#include "base/sets.h"
#include "ops/op.h"

static const sc_xa_row rows[SC_OP_COUNT] = {
#define CONFIG(id, name, kind_id, keeps) [SC_OP_##id] = {SC_XNN_##kind_id, keeps, &sc_xa_##name},
#include "backends/xnnpack/aot/configs.def"
#undef CONFIG
};

const sc_xa_row *sc_xa_row_of(const sc_node *node) {
    const bool is_known = node->op && node->op->id < SC_OP_COUNT && rows[node->op->id].family;
    return is_known ? &rows[node->op->id] : NULL;
}

bool sc_xa_is(const sc_node *node, const sc_xa_family *family) {
    const sc_xa_row *row = node ? sc_xa_row_of(node) : NULL;
    return row && row->family == family;
}

// --- Refusing and joining ------------------------------------------------------------------------

bool sc_xa_refuse(sc_xa *x, const char *hint, const char *format, ...) {
    if (!x->is_heard) return false;
    va_list args;
    va_start(args, format);
    x->reason = sc_str_vformat(x->ctx->arena, format, args);
    va_end(args);
    x->hint = hint ? sc_str_from(hint) : (sc_str){0};
    return false;
}

uint32_t sc_xa_group_of(const sc_xa *x, uint32_t mark) { return sc_sets_root(x->groups, mark); }

void sc_xa_join(sc_xa *x, const sc_node *a, const sc_node *b) {
    if (x->groups) sc_sets_join(x->groups, a->mark, b->mark);
}

// --- Arguments -----------------------------------------------------------------------------------

const sc_arg *sc_xa_arg(const sc_node *node, const char *param) {
    static const sc_arg absent = {.kind = SC_ARG_NONE};
    const int32_t index = sc_op_param_index(node->op, param);
    return index >= 0 && (uint32_t)index < node->arg_count ? &node->args[index] : &absent;
}

const sc_value *sc_xa_tensor(const sc_node *node, const char *param) {
    const sc_arg *arg = sc_xa_arg(node, param);
    return arg->kind == SC_ARG_VALUE ? arg->value : NULL;
}

static bool number_of(const sc_arg *arg, double *out) {
    switch (arg->kind) {
    case SC_ARG_INT: *out = (double)arg->i; return true;
    case SC_ARG_FLOAT: *out = arg->f; return true;
    case SC_ARG_BOOL: *out = arg->b; return true;
    default: return false;
    }
}

bool sc_xa_number(const sc_node *node, const char *param, double *out) {
    return number_of(sc_xa_arg(node, param), out);
}

int64_t sc_xa_int(const sc_node *node, const char *param) {
    const sc_arg *arg = sc_xa_arg(node, param);
    return arg->kind == SC_ARG_INT ? arg->i : 0;
}

bool sc_xa_flag(const sc_node *node, const char *param) {
    const sc_arg *arg = sc_xa_arg(node, param);
    return arg->kind == SC_ARG_BOOL && arg->b;
}

int32_t sc_xa_ints(const sc_node *node, const char *param, int64_t *out, uint32_t max,
                   uint32_t spread) {
    const sc_arg *arg = sc_xa_arg(node, param);
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

static bool reads_values(const sc_node *node) {
    for (uint32_t i = 0; i < node->arg_count; i++)
        if (node->args[i].kind == SC_ARG_VALUE) return true;
    return false;
}

bool sc_xa_is_widened(const sc_value *value) {
    uint32_t order[SC_RANK_MAX];
    const sc_node *node = value->node;
    if (node && sc_node_permutation(node, order)) node = node->args[0].value->node;
    if (!node || !sc_op_has(node->op, SC_WIDENS) || node->outs[0]->spec.rank != 2) return false;
    const sc_value *table = sc_xa_tensor(node, "weight");
    const sc_value *indices = sc_xa_tensor(node, "indices");
    return sc_xa_is_constant(table) && indices->node && !reads_values(indices->node) &&
           !sc_xa_tensor(node, "weight_zero_points");
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

// --- Constants and targets -----------------------------------------------------------------------

bool sc_xa_is_constant(const sc_value *value) {
    const sc_method *method = value->graph->method;
    if (value->node || method->graph != value->graph || value->index >= method->inputs.count)
        return false;
    const sc_input_sig *sig = &method->inputs.data[value->index];
    if (!sig->constant || value->type != SC_VALUE_TENSOR || sig->kind == SC_INPUT_USER)
        return false;
    for (uint32_t i = 0; i < method->outputs.count; i++) {
        const sc_output_sig *out = &method->outputs.data[i];
        if ((out->kind == SC_OUTPUT_BUFFER_MUTATION || out->kind == SC_OUTPUT_PARAMETER_MUTATION ||
             out->kind == SC_OUTPUT_GRADIENT) &&
            sc_str_equal(out->target, sig->target))
            return false;
    }
    return true;
}

bool sc_xa_takes_padding(const sc_node *node) {
    return sc_xa_is(node, &sc_xa_conv) && !sc_xa_flag(node, "transposed");
}

bool sc_xa_holds_operands(sc_xa *x) {
    if (x->runtime >= SC_XNN_RUNTIME_1_4) return true;
    return sc_xa_refuse(x, "Set the target runtime to 1.4 or later.",
                        "the target runtime frees constants that are not packed weights");
}

sc_xnn_runtime sc_xa_runtime(const sc_options *options) {
    for (uint32_t i = 0; i < SC_XNN_RUNTIME_COUNT; i++)
        if (sc_str_is(options->target_runtime, sc_xnn_runtimes[i])) return (sc_xnn_runtime)i;
    return SC_XNN_RUNTIME_LATEST;
}

// --- Quantization --------------------------------------------------------------------------------

// The type of the integers, whatever the parameter's name; SC_DTYPE_NONE if the node does not say.
uint8_t sc_xa_integers_of(const sc_node *node) {
    const char *const names[] = {"dtype", "target_dtype", "input_dtype", "output_dtype"};
    for (uint32_t i = 0; i < SC_COUNT_OF(names); i++) {
        const sc_arg *dtype = sc_xa_arg(node, names[i]);
        if (sc_op_param_index(node->op, names[i]) >= 0)
            return dtype->kind == SC_ARG_DTYPE ? dtype->code : SC_DTYPE_NONE;
    }
    return SC_DTYPE_NONE;
}

bool sc_xa_has_blocks(const sc_node *node) {
    return sc_op_param_index(node->op, "block_size") >= 0;
}
