// Gives every value the layout in which its kernels work. The portable kernels compute in row-major
// order. Element-wise ones and two kinds of pooling also take operands that are all channels-last.
// So channels-last flows through such operators, and becomes row-major once before any other. It is
// restored at outputs, whose layout is part of the program's meaning.
//
// Constants become row-major for good, at no cost: their bytes are gathered when the file is
// written. Official kernels refuse mixed layouts, or compute with them wrongly.
#include "ir/part.h"
#include "passes/const_order.h"
#include "passes/passes.h"

typedef struct legaliser {
    sc_ctx *ctx;
    sc_method *method;
    sc_graph *graph;
    sc_imap twins;         // value -> its copy in the other layout
    uint32_t free_handle;  // 0: not read from the graph yet
} legaliser;

static bool is_nhwc(const legaliser *l, const sc_value *value) {
    return value->type == SC_VALUE_TENSOR && sc_spec_is_nhwc(l->method->exprs, &value->spec);
}

static void set_layout(legaliser *l, sc_value *value, bool nhwc) {
    if (value->type != SC_VALUE_TENSOR || is_nhwc(l, value) == nhwc) return;
    sc_spec_set_layout(l->method->exprs, &value->spec, nhwc);
}

// --- Which operators take what -------------------------------------------------------------------

typedef enum treatment {
    ROW_MAJOR,  // operands and results row-major
    SAME,       // channels-last if all operands are, else row-major
    FOLLOWS,    // takes any layout and writes the layout of its operand
    WRITES      // the first operand keeps its layout, and the others follow it
} treatment;

static treatment treatment_of(const sc_op *op) {
    if (sc_op_has(op, SC_MUTATES)) return WRITES;
    if (sc_op_has(op, SC_ANY_LAYOUT)) return FOLLOWS;
    return sc_op_has(op, SC_POINTWISE) || sc_op_has(op, SC_CHANNELS_LAST) ? SAME : ROW_MAJOR;
}

typedef struct operand_survey {
    const legaliser *l;
    uint32_t tensors, nhwc;
} operand_survey;

static bool survey_operand(void *user, sc_arg *arg) {
    operand_survey *survey = user;
    if (arg->value->type == SC_VALUE_TENSOR) {
        survey->tensors++;
        survey->nhwc += is_nhwc(survey->l, arg->value);
    }
    return true;
}

// --- Copies --------------------------------------------------------------------------------------

// A debug handle for copies, which no node of the source stands for.
static uint32_t take_handle(legaliser *l) {
    if (!l->free_handle) l->free_handle = sc_method_free_handle(l->method);
    return l->free_handle++;
}

static sc_status in_layout(legaliser *l, sc_node *position, sc_value *value, bool nhwc,
                           sc_value **out) {
    *out = value;
    if (value->type != SC_VALUE_TENSOR || is_nhwc(l, value) == nhwc) return SC_OK;
    uint64_t *twin = sc_imap_find(&l->twins, SC_PTR_KEY(value));
    if (twin) {
        *out = (sc_value *)(uintptr_t)*twin;
        return SC_OK;
    }
    sc_where_set_node(l->ctx, position);
    if (nhwc && value->spec.rank != 4 && value->spec.rank != 5)
        return sc_fail(l->ctx, SC_ERR_UNSUPPORTED, NULL,
                       "a tensor of rank %u cannot follow one in channels-last order",
                       value->spec.rank);
    const sc_op *op = sc_op_get(SC_OP_dim_order_ops__to_dim_order_copy);
    sc_spec spec = value->spec;
    sc_spec_set_layout(l->method->exprs, &spec, nhwc);
    sc_arg *args;
    sc_arg self = sc_arg_value(value);
    SC_TRY(sc_args_complete(l->ctx, l->ctx->scratch, op, &self, 1, &args));
    args[sc_op_param_index(op, "dim_order")] =
        sc_arg_dim_order(l->ctx->scratch, l->method->exprs, &spec);
    sc_node *copy = sc_node_new(l->graph, op, args, op->schema->param_count, 1, NULL);
    copy->outs[0]->type = SC_VALUE_TENSOR;
    copy->outs[0]->spec = spec;
    // An input that is returned in another layout: no node of the source stands for its copy.
    if (position->op || value->node)
        copy->meta = position->op ? position->meta : value->node->meta;
    else
        copy->meta.debug_handle = take_handle(l);
    sc_graph_insert_before(position, copy);
    sc_imap_set(&l->twins, SC_PTR_KEY(value), SC_PTR_KEY(copy->outs[0]));
    *out = copy->outs[0];
    return SC_OK;
}

static sc_status convert_arg(legaliser *l, sc_node *position, sc_arg *arg, bool nhwc) {
    sc_value *converted;
    if (arg->kind == SC_ARG_VALUE) {
        SC_TRY(in_layout(l, position, arg->value, nhwc, &converted));
        sc_arg_set(arg, sc_arg_value(converted));
    } else if (arg->kind == SC_ARG_LIST) {
        for (uint32_t i = 0; i < arg->count; i++)
            SC_TRY(convert_arg(l, position, &arg->items[i], nhwc));
    } else if (arg->kind == SC_ARG_MEMORY_FORMAT) {
        *arg = (sc_arg){
            .kind = SC_ARG_MEMORY_FORMAT, .code = SC_MEMORY_FORMAT_PRESERVE, .user = arg->user};
    }
    return SC_OK;
}

static sc_status convert_node(legaliser *l, sc_node *node, uint32_t first, bool nhwc) {
    for (uint32_t i = first; i < node->arg_count; i++)
        SC_TRY(convert_arg(l, node, &node->args[i], nhwc));
    for (uint32_t i = 0; i < node->out_count; i++) set_layout(l, node->outs[i], nhwc);
    return SC_OK;
}

static void follow_operand(legaliser *l, sc_node *node) {
    const sc_value *source = node->args[0].value;
    set_layout(l, node->outs[0], is_nhwc(l, source));
    sc_arg order = sc_arg_dim_order(l->ctx->scratch, l->method->exprs, &node->outs[0]->spec);
    sc_arg_set(sc_node_arg(node, "dim_order"), order);
}

// A part was compiled for the layouts of its operands, and its results have the layouts that it
// states.
static sc_status convert_operands(legaliser *l, sc_node *node, const sc_method *part) {
    sc_arg *operands = node->args[1].items;
    for (uint32_t i = 0; i < part->inputs.count; i++)
        if (part->inputs.data[i].kind == SC_INPUT_USER)
            SC_TRY(convert_arg(l, node, operands++, is_nhwc(l, part->graph->inputs.data[i])));
    return SC_OK;
}

static sc_status treat(legaliser *l, sc_node *node) {
    operand_survey survey = {.l = l};
    const sc_part *part = sc_node_part(node);
    if (part) return convert_operands(l, node, part->method);
    sc_node_visit_values(node, survey_operand, &survey);
    switch (treatment_of(node->op)) {
    case WRITES: SC_TRY(convert_node(l, node, 1, is_nhwc(l, node->args[0].value))); return SC_OK;
    case FOLLOWS: follow_operand(l, node); return SC_OK;
    case SAME: return convert_node(l, node, 0, survey.nhwc > 0 && survey.nhwc == survey.tensors);
    case ROW_MAJOR: break;
    }
    return convert_node(l, node, 0, false);
}

// --- Graphs --------------------------------------------------------------------------------------

// Inputs and results of bodies are row-major, so all bodies of a node agree on their layout.
static sc_status treat_graph(legaliser *l, const bool *wanted) {
    sc_graph *graph = l->graph;
    for (sc_node *node = graph->first; node; node = node->next) SC_TRY(treat(l, node));
    for (uint32_t i = 0; i < graph->ret->arg_count; i++)
        SC_TRY(convert_arg(l, graph->ret, &graph->ret->args[i], wanted[i]));
    return SC_OK;
}

static sc_status visit(sc_ctx *ctx, sc_graph *graph, void *user) {
    (void)user;
    sc_mark mark = sc_arena_mark(ctx->scratch);
    legaliser l = {.ctx = ctx, .method = graph->method, .graph = graph};
    sc_imap_init(&l.twins, ctx->scratch);
    bool *wanted = sc_new_array(ctx->scratch, bool, (size_t)graph->ret->arg_count + 1);
    for (uint32_t i = 0; !graph->parent && i < graph->ret->arg_count; i++) {
        const sc_arg *arg = &graph->ret->args[i];
        wanted[i] = arg->kind == SC_ARG_VALUE && is_nhwc(&l, arg->value);
    }
    for (uint32_t i = 0; graph->parent && i < graph->inputs.count; i++)
        set_layout(&l, graph->inputs.data[i], false);
    sc_status status = treat_graph(&l, wanted);
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}

sc_status sc_pass_layouts(sc_ctx *ctx, sc_method *method) {
    for (uint32_t i = 0; i < method->inputs.count; i++) {
        const sc_constant *constant = method->inputs.data[i].constant;
        if (constant && !sc_spec_is_contiguous(method->exprs, &constant->spec))
            sc_constant_make_row_major(ctx, method, i);
    }
    return sc_graphs_visit(ctx, method->graph, visit, NULL);
}
