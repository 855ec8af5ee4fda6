// Decides which nodes are quantized, and which of their operands and results get a scale, by
// XNNPACKQuantizer's patterns. Each pattern goes over the whole graph before the next one starts. A
// node belongs to the first pattern that takes it.
//
// It differs from PT2E where PT2E is wrong:
// - Every convolution with a shared weight is quantized, and not only the first.
// - A convolution before a relu is quantized dynamically.
// - Operands that no observer accepts are not quantized: integers, which PT2E accepts for cat, and
//   float64.
// - A value that is written in place and read by others is not quantized. PT2E writes to a copy,
//   and the write is lost.
#include <math.h>

#include "quant/plan.h"

typedef struct pattern {
    quant_role role;
    bool has_relu;    // found by the relu that ends it
    bool is_dynamic;  // dynamic quantization has this pattern, too
    void (*annotate)(sc_quant_plan *plan, const struct pattern *pattern, sc_node *node,
                     sc_node *relu);
} pattern;

// --- Marks ---------------------------------------------------------------------------------------

static bool is_taken(const sc_value *value) { return (value->mark & QUANT_TAKEN) != 0; }
static bool node_is_taken(const sc_node *node) {
    return node->out_count > 0 && is_taken(node->outs[0]);
}
static void take(sc_value *value) { value->mark |= QUANT_TAKEN; }

static void number_nodes(sc_graph *graph) {
    uint32_t position = 0;
    for (uint32_t i = 0; i < graph->inputs.count; i++) graph->inputs.data[i]->mark = 0;
    for (sc_node *node = graph->first; node; node = node->next) {
        node->mark = ++position;
        for (uint32_t i = 0; i < node->out_count; i++) node->outs[i]->mark = 0;
    }
    graph->ret->mark = ++position;
}

// --- Operands ------------------------------------------------------------------------------------

static sc_value *operand(const sc_node *node, uint32_t index) {
    const sc_arg *arg = index < node->arg_count ? &node->args[index] : NULL;
    return arg && arg->kind == SC_ARG_VALUE ? arg->value : NULL;
}

// Does an observer accept the value?
static bool is_float(const sc_value *value) {
    return value && value->type == SC_VALUE_TENSOR &&
           (value->spec.dtype == SC_DTYPE_F32 || sc_dtype_is_half((sc_dtype)value->spec.dtype));
}

static bool refuse_dtype(sc_quant_plan *plan, const sc_node *node, const sc_value *value) {
    sc_quant_why_not(plan, node, "'%s' is %s", value->name->text,
                     value->type == SC_VALUE_TENSOR ? sc_dtype_name((sc_dtype)value->spec.dtype)
                                                    : "a number");
    return false;
}

static int64_t size_of(const sc_value *value, uint32_t dim) {
    if (value->spec.rank <= dim || !sc_dim_is_int(value->spec.sizes[dim])) return -1;
    return value->spec.sizes[dim].value;
}

static bool refuse_skipped(sc_quant_plan *plan, const sc_node *node) {
    if (!sc_quant_is_skipped(plan, node)) return false;
    sc_quant_leave(plan, node);
    return true;
}

// --- Layers --------------------------------------------------------------------------------------

static bool is_conv(quant_role role) { return role == QUANT_CONV || role == QUANT_CONV_TRANSPOSE; }

static bool is_dynamic(const sc_quant_plan *plan) { return plan->config->mode == SC_QUANT_DYNAMIC; }

static quant_spec activation(const sc_quant_plan *plan) {
    return (quant_spec){.kind = QUANT_ACTIVATION, .is_dynamic = is_dynamic(plan)};
}

static bool has_groups(const sc_node *conv) {
    const sc_arg *groups = sc_node_arg(conv, "groups");
    return groups->kind != SC_ARG_INT || groups->i != 1;
}

static bool refuse_layer(sc_quant_plan *plan, quant_role role, const sc_node *layer) {
    const sc_value *x = operand(layer, 0), *weight = operand(layer, 1);
    const uint32_t axis = role == QUANT_CONV_TRANSPOSE;
    const char *why = NULL;
    if (!is_float(x)) return !refuse_dtype(plan, layer, x ? x : layer->outs[0]);
    if (!is_float(weight)) return !refuse_dtype(plan, layer, weight ? weight : layer->outs[0]);
    if (role == QUANT_CONV_TRANSPOSE && has_groups(layer))
        why = "a transposed convolution must have one group";
    else if (is_conv(role) && is_dynamic(plan) && weight->spec.rank != 4)
        why = "only convolutions of images are quantized dynamically";
    else if (role == QUANT_CONV && is_dynamic(plan) && size_of(weight, 1) == 1)
        why = "a depthwise convolution is not quantized dynamically";
    else if (plan->config->per_channel && size_of(weight, axis) < 0)
        why = "its number of channels is not fixed";
    if (why) sc_quant_why_not(plan, layer, "%s", why);
    return why != NULL;
}

// Is the layer free of other patterns? Constants count only for a linear layer with its relu. The
// layer alone may share them, so a shared layer is quantized the second time.
static bool is_free(const sc_node *layer, const sc_node *relu) {
    if (node_is_taken(layer) || (relu && node_is_taken(relu))) return false;
    if (!relu || is_conv(sc_quant_role(layer->op))) return true;
    const sc_value *weight = operand(layer, 1), *bias = operand(layer, 2);
    return !is_taken(weight) && !(bias && is_taken(bias));
}

static void annotate_layer(sc_quant_plan *plan, const pattern *p, sc_node *layer, sc_node *relu) {
    const quant_spec weight = {.kind = QUANT_WEIGHT,
                               .axis = p->role == QUANT_CONV_TRANSPOSE,
                               .by_channel = plan->config->per_channel};
    sc_value *bias = operand(layer, 2);
    sc_node *follower = sc_quant_only_user(layer->outs[0]);
    bool waits = is_conv(p->role) && !is_dynamic(plan) && follower && sc_quant_is_relu(follower);
    if (refuse_layer(plan, p->role, layer) ||
        (!relu && waits && !sc_quant_is_skipped(plan, follower)))
        return;
    if (!is_free(layer, relu) || sc_quant_refuse_write(plan, layer) ||
        (relu && sc_quant_refuse_write(plan, relu)))
        return;
    quant_note *note = sc_quant_take_note(plan, layer);
    sc_quant_note_input(plan, note, operand(layer, 0), activation(plan));
    sc_quant_note_input(plan, note, operand(layer, 1), weight);
    if (!is_dynamic(plan))
        sc_quant_note_output(relu ? sc_quant_take_note(plan, relu) : note, activation(plan));
    take(layer->outs[0]);
    take(operand(layer, 1));
    if (bias) take(bias);
    if (relu) take(relu->outs[0]);
}

// --- Sums and products ---------------------------------------------------------------------------

// Histograms of the official observer end at this number.
static bool is_huge(sc_quant_plan *plan, const sc_value *value) {
    const sc_constant *constant = sc_quant_constant(plan, value);
    const sc_diag_mark mark = sc_diags_mark(plan->ctx);
    float number = 0;
    if (!constant || constant->data.size != sizeof(number)) return false;
    if (sc_extent_read(plan->ctx, constant->data, 0, &number, sizeof(number)) != SC_OK)
        sc_diags_rewind(plan->ctx, mark);
    return !(fabsf(number) <= 3.4028235e15f);
}

static bool refuse_operand(sc_quant_plan *plan, const sc_node *node, uint32_t index) {
    const sc_value *value = operand(node, index);
    if (!value) return false;
    if (value->type != SC_VALUE_TENSOR || value->spec.dtype != SC_DTYPE_F32)
        return !refuse_dtype(plan, node, value);
    if (!is_huge(plan, value)) return false;
    sc_quant_why_not(plan, node, "'%s' is too large a number", value->name->text);
    return true;
}

static void annotate_binary(sc_quant_plan *plan, const pattern *p, sc_node *node, sc_node *relu) {
    (void)p;
    if (node_is_taken(node) || (relu && node_is_taken(relu)) || sc_quant_refuse_write(plan, node) ||
        (relu && sc_quant_refuse_write(plan, relu)) || refuse_operand(plan, node, 0) ||
        refuse_operand(plan, node, 1))
        return;
    quant_note *note = sc_quant_take_note(plan, node);
    for (uint32_t i = 0; i < 2; i++)
        if (operand(node, i)) sc_quant_note_input(plan, note, operand(node, i), activation(plan));
    sc_quant_note_output(relu ? sc_quant_take_note(plan, relu) : note, activation(plan));
    take(node->outs[0]);
    if (relu) take(relu->outs[0]);
}

// --- Operators that share a scale ----------------------------------------------------------------

// Is it a pooling module, or a function call that a strict export recorded? Other exports do not
// record the function, so there it only shares its input's scale.
static bool is_known_pool(const sc_node *node) {
    const sc_str source = node->meta.source_stack;
    if (sc_str_ends_with(source, ",torch.nn.functional.adaptive_avg_pool2d")) return true;
    return sc_str_ends_with(source.size ? source : node->meta.module_stack,
                            ",torch.nn.modules.pooling.AdaptiveAvgPool2d");
}

static void annotate_pool(sc_quant_plan *plan, const pattern *p, sc_node *node, sc_node *relu) {
    (void)p;
    (void)relu;
    sc_value *x = operand(node, 0);
    if (node_is_taken(node) || !is_known_pool(node) || sc_quant_refuse_write(plan, node)) return;
    if (!is_float(x)) {
        refuse_dtype(plan, node, x ? x : node->outs[0]);
        return;
    }
    const quant_note *before = sc_quant_note(plan, x->node);
    const bool is_known = before && before->has_output;
    const quant_spec as_made = {.kind = QUANT_SHARED, .with = {x, NULL}};
    quant_note *note = sc_quant_take_note(plan, node);
    sc_quant_note_input(plan, note, x, is_known ? as_made : activation(plan));
    sc_quant_note_output(note, (quant_spec){.kind = QUANT_SHARED, .with = {x, node}});
    take(node->outs[0]);
}

// Is it made by a node with a scale, or moved from such a value? Called in the order of the graph.
static void follow_lead(const sc_quant_plan *plan, const sc_node *node) {
    const quant_note *note = sc_quant_note(plan, node);
    const sc_value *x = operand(node, 0);
    bool leads = note && note->has_output;
    if (!leads) leads = sc_quant_shares(node->op) && x && (x->mark & QUANT_LEADS);
    if (leads && node->out_count > 0) node->outs[0]->mark |= QUANT_LEADS;
}

static sc_value *owner_of(const sc_arg *list) {
    for (uint32_t i = 0; i < list->count; i++)
        if (list->items[i].value->mark & QUANT_LEADS) return list->items[i].value;
    return list->items[0].value;
}

static bool joins_floats(sc_quant_plan *plan, const sc_node *node) {
    const sc_arg *list = node->arg_count ? &node->args[0] : NULL;
    if (!list || list->kind != SC_ARG_LIST || list->count == 0) return false;
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->items[i].kind != SC_ARG_VALUE) return false;
        if (!is_float(list->items[i].value)) return refuse_dtype(plan, node, list->items[i].value);
    }
    return true;
}

static void annotate_cat(sc_quant_plan *plan, const pattern *p, sc_node *node, sc_node *relu) {
    (void)p;
    (void)relu;
    if (node_is_taken(node) || !joins_floats(plan, node) || sc_quant_refuse_write(plan, node))
        return;
    sc_value *owner = owner_of(&node->args[0]);
    const quant_spec as_owner = {.kind = QUANT_SHARED, .with = {owner, node}};
    quant_note *note = sc_quant_take_note(plan, node);
    sc_quant_note_input(plan, note, owner, activation(plan));
    for (uint32_t i = 0; i < node->args[0].count; i++) {
        sc_value *value = node->args[0].items[i].value;
        if (value != owner) sc_quant_note_input(plan, note, value, as_owner);
    }
    sc_quant_note_output(note, as_owner);
    take(node->outs[0]);
}

// --- All of them ---------------------------------------------------------------------------------

static const pattern PATTERNS[] = {
    {QUANT_LINEAR, true, false, annotate_layer},
    {QUANT_LINEAR, false, true, annotate_layer},
    {QUANT_CONV, false, true, annotate_layer},
    {QUANT_CONV_TRANSPOSE, false, true, annotate_layer},
    {QUANT_CONV, true, false, annotate_layer},
    {QUANT_CONV_TRANSPOSE, true, false, annotate_layer},
    {QUANT_POOL, false, false, annotate_pool},
    {QUANT_ADD, true, false, annotate_binary},
    {QUANT_ADD, false, false, annotate_binary},
    {QUANT_MUL, true, false, annotate_binary},
    {QUANT_MUL, false, false, annotate_binary},
    {QUANT_CAT, false, false, annotate_cat},
};

static void annotate_with_relu(sc_quant_plan *plan, const pattern *p, sc_node *relu) {
    const sc_value *x = sc_quant_is_relu(relu) ? operand(relu, 0) : NULL;
    sc_node *layer = x ? x->node : NULL;
    if (!layer || sc_quant_role(layer->op) != p->role || sc_quant_only_user(x) != relu) return;
    if (refuse_skipped(plan, layer) || refuse_skipped(plan, relu)) return;
    p->annotate(plan, p, layer, relu);
}

static void annotate_all(sc_quant_plan *plan, const pattern *p) {
    for (sc_node *node = plan->method->graph->first; node; node = node->next) {
        if (p->has_relu)
            annotate_with_relu(plan, p, node);
        else if (sc_quant_role(node->op) == p->role && !refuse_skipped(plan, node))
            p->annotate(plan, p, node, NULL);
        if (p->role == QUANT_CAT) follow_lead(plan, node);
    }
}

// --- Sharing -------------------------------------------------------------------------------------

static void share_with_input(sc_quant_plan *plan, sc_node *node) {
    sc_value *x = operand(node, 0);
    const quant_note *before = x ? sc_quant_note(plan, x->node) : NULL;
    if (sc_quant_note(plan, node) || !before || !before->has_output || node->out_count != 1 ||
        refuse_skipped(plan, node) || sc_quant_refuse_write(plan, node))
        return;
    const quant_spec as_made = {.kind = QUANT_SHARED, .with = {x, NULL}};
    quant_note *note = sc_quant_take_note(plan, node);
    sc_quant_note_input(plan, note, x, as_made);
    sc_quant_note_output(note, as_made);
    take(node->outs[0]);
}

// Operators that only move numbers share the scale of their input.
static void share(sc_quant_plan *plan) {
    for (sc_node *node = plan->method->graph->first; node; node = node->next)
        if (sc_quant_shares(node->op)) share_with_input(plan, node);
}

// --- By all configurations -----------------------------------------------------------------------

static void annotate_by(sc_quant_plan *plan, const sc_quant_config *config) {
    const uint32_t notes = plan->notes.count;
    plan->config = config;
    for (uint32_t i = 0; i < SC_COUNT_OF(PATTERNS); i++)
        if (PATTERNS[i].is_dynamic || !is_dynamic(plan)) annotate_all(plan, &PATTERNS[i]);
    share(plan);
    sc_quant_remark_idle(plan, notes);
}

void sc_quant_annotate(sc_quant_plan *plan) {
    number_nodes(plan->method->graph);
    sc_quant_mark_writes(plan);
    for (uint32_t i = 0; i < plan->config_count; i++)
        if (sc_quant_has_places(&plan->configs[i])) annotate_by(plan, &plan->configs[i]);
}
