// The fate of each node, and the reason if it is not the requested one.
#include "quant/plan.h"

void sc_quant_remark(sc_quant_plan *plan, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const sc_str text = sc_str_vformat(plan->ctx->arena, format, args);
    va_end(args);
    if (sc_map_add(&plan->remarked, text, plan))
        sc_vec_push(plan->ctx->arena, &plan->remarks, text);
}

void sc_quant_remark_idle(sc_quant_plan *plan, uint32_t notes) {
    if (plan->notes.count == notes && plan->config_count > 1)
        sc_quant_remark(plan, "quantization %u of %u has no layer left to quantize",
                        (uint32_t)(plan->config - plan->configs) + 1, plan->config_count);
}

static void add_row(sc_quant_plan *plan, const sc_node *node, const sc_name *name) {
    sc_quant_row row = {.node = name,
                        .op = node->op,
                        .origin = sc_node_origin(node),
                        .module_stack = node->meta.module_stack,
                        .weight = SC_QUANT_NO};
    sc_vec_push(plan->ctx->arena, &plan->rows, row);
}

// --- Bodies --------------------------------------------------------------------------------------

enum { NAMES_MAX = 8 };

typedef struct bodies {
    sc_quant_plan *plan;
    sc_sb layers;
    uint32_t count;
} bodies;

static bool is_layer(const sc_node *node) {
    const quant_role role = sc_quant_role(node->op);
    return role == QUANT_LINEAR || role == QUANT_CONV || role == QUANT_CONV_TRANSPOSE;
}

static void list_layer(bodies *b, const sc_name *name) {
    if (b->count < NAMES_MAX) sc_sb_addf(&b->layers, "%s%s", b->count ? ", " : "", name->text);
    b->count++;
}

static sc_status add_body(sc_ctx *ctx, sc_graph *graph, void *user) {
    bodies *b = user;
    (void)ctx;
    for (const sc_node *node = graph->first; node && graph != b->plan->method->graph;
         node = node->next) {
        const sc_name *name = sc_graph_origin(graph, sc_name_str(node->name));
        add_row(b->plan, node, name);
        sc_vec_last(&b->plan->rows).why_not =
            SC_STR("it is in a body of control flow, where weights are operands");
        if (is_layer(node)) list_layer(b, name);
    }
    return SC_OK;
}

static sc_status add_bodies(sc_quant_plan *plan) {
    bodies b = {.plan = plan};
    sc_sb_init(&b.layers, plan->ctx->arena);
    SC_TRY(sc_graphs_visit(plan->ctx, plan->method->graph, add_body, &b));
    if (b.count > NAMES_MAX) sc_sb_addf(&b.layers, " and %u more", b.count - NAMES_MAX);
    if (b.count)
        sc_quant_remark(plan, "layers in bodies of control flow are not quantized: %s",
                        sc_sb_terminate(&b.layers));
    return SC_OK;
}

// --- Layers --------------------------------------------------------------------------------------

static const struct layer_kind {
    quant_role roles[2];
    uint32_t weight;  // the argument that it is
    const char *one, *many;
} LAYER_KINDS[] = {{{QUANT_LINEAR, QUANT_LINEAR}, 1, "linear layer", "linear layers"},
                   {{QUANT_CONV, QUANT_CONV_TRANSPOSE}, 1, "convolution", "convolutions"},
                   {{QUANT_EMBEDDING, QUANT_EMBEDDING}, 0, "embedding", "embeddings"}};

static bool is_of(const sc_node *node, const struct layer_kind *kind, sc_dtype dtype) {
    const quant_role role = sc_quant_role(node->op);
    if (role != kind->roles[0] && role != kind->roles[1]) return false;
    const sc_arg *weight = &node->args[kind->weight];
    return weight->kind == SC_ARG_VALUE && weight->value->type == SC_VALUE_TENSOR &&
           weight->value->spec.dtype == dtype;
}

sc_str sc_quant_layers_text(const sc_quant_plan *plan) {
    uint32_t kinds = 0;
    sc_sb sb;
    sc_sb_init(&sb, plan->ctx->arena);
    for (size_t k = 0; k < SC_COUNT_OF(LAYER_KINDS); k++) {
        for (int dtype = 0; dtype < SC_DTYPE_NONE; dtype++) {
            if (!sc_dtype_is_known((unsigned)dtype)) continue;
            uint32_t count = 0;
            for (const sc_node *node = plan->method->graph->first; node; node = node->next)
                count += is_of(node, &LAYER_KINDS[k], (sc_dtype)dtype);
            if (count)
                sc_sb_addf(&sb, "%s%u %s of %s", kinds++ ? ", " : "", count,
                           count == 1 ? LAYER_KINDS[k].one : LAYER_KINDS[k].many,
                           sc_dtype_name((sc_dtype)dtype));
        }
    }
    return sc_str_from(sc_sb_terminate(&sb));
}

// --- Rows ----------------------------------------------------------------------------------------

sc_status sc_quant_begin_rows(sc_quant_plan *plan) {
    for (const sc_node *node = plan->method->graph->first; node; node = node->next) {
        add_row(plan, node, node->name);
        sc_imap_set(&plan->row_of, SC_PTR_KEY(node), plan->rows.count);
    }
    return add_bodies(plan);
}

void sc_quant_absorb(sc_quant_plan *plan, const sc_node *node, const sc_node *layer) {
    const uint64_t *row = sc_imap_find(&plan->row_of, SC_PTR_KEY(node));
    if (row) sc_imap_set(&plan->absorbed, *row - 1, SC_PTR_KEY(layer));
}

static bool has_mode(const sc_quant_plan *plan, sc_quant_mode mode) {
    for (uint32_t i = 0; i < plan->config_count; i++)
        if (plan->configs[i].mode == mode) return true;
    return false;
}

static const char *reason(const sc_quant_plan *plan, const sc_node *node) {
    const uint64_t *known = sc_imap_find(&plan->why_not, SC_PTR_KEY(node));
    const quant_role role = sc_quant_role(node->op);
    if (known) return (const char *)(uintptr_t)*known;
    if (sc_op_has(node->op, SC_HIGHER_ORDER)) return "bodies of control flow are not quantized";
    if (!has_mode(plan, SC_QUANT_STATIC) && !has_mode(plan, SC_QUANT_DYNAMIC))
        return "it is not a layer with a weight";
    if (role != QUANT_NONE && !has_mode(plan, SC_QUANT_STATIC))
        return "only linear layers and convolutions are quantized dynamically";
    if (role == QUANT_POOL || sc_quant_shares(node->op))
        return "it takes the scale of its input, and its input has no scale";
    return "the quantizer has no pattern with this operator";
}

static uint32_t weight_of(const sc_quant_plan *plan, const quant_note *note) {
    if (note->weights) return plan->groups.count + note->weight;
    for (uint32_t i = 0; i < note->inputs.count; i++) {
        const quant_input *input = &note->inputs.data[i];
        if (input->spec.kind == QUANT_WEIGHT)
            return sc_quant_key(plan, input->value, note->node)->group;
    }
    return SC_QUANT_NO;
}

static void tell(sc_quant_plan *plan, sc_quant_row *row, const sc_node *node) {
    const quant_note *note = sc_quant_note(plan, node);
    row->is_quantized = note != NULL;
    row->is_skipped = !note && sc_imap_find(&plan->left, SC_PTR_KEY(node));
    row->weight = SC_QUANT_NO;
    if (!note)
        row->why_not = sc_str_from(reason(plan, node));
    else if (note->node->name == row->node)
        row->weight = weight_of(plan, note);
}

void sc_quant_end_rows(sc_quant_plan *plan) {
    for (const sc_node *node = plan->method->graph->first; node; node = node->next) {
        const uint64_t *row = sc_imap_find(&plan->row_of, SC_PTR_KEY(node));
        if (row) tell(plan, &plan->rows.data[*row - 1], node);
    }
    for (uint32_t i = 0; i < plan->absorbed.count; i++) {
        const sc_imap_entry *entry = &plan->absorbed.entries[i];
        const sc_node *layer = (const sc_node *)(uintptr_t)entry->value;
        tell(plan, &plan->rows.data[entry->key], layer);
    }
}

// Does a probe remain of its result, or of what it reads?
static bool is_observed(const sc_quant_plan *plan, const sc_imap *users, const sc_node *node) {
    if (sc_imap_find(users, SC_PTR_KEY(node))) return true;
    for (uint32_t i = 0; i < node->out_count; i++)
        if (sc_imap_find(&plan->first_probe, SC_PTR_KEY(node->outs[i]))) return true;
    return false;
}

static void tell_taken_away(sc_quant_plan *plan, const sc_node *node, sc_quant_row *row,
                            const sc_imap *users) {
    const quant_note *note = sc_quant_note(plan, node);
    if (!note || note->weights || is_observed(plan, users, node)) return;
    row->is_quantized = false;
    row->why_not = SC_STR("a pass took its observers away");
    row->weight = SC_QUANT_NO;
}

void sc_quant_tell_taken_away(sc_quant_plan *plan) {
    sc_imap users;
    sc_imap_init(&users, plan->ctx->scratch);
    for (uint32_t i = 0; i < plan->probes.count; i++)
        for (uint32_t k = 0; k < plan->probes.data[i].users.count; k++)
            sc_imap_set(&users, SC_PTR_KEY(plan->probes.data[i].users.data[k]), 1);
    for (uint32_t i = 0; i < plan->row_of.count; i++) {
        const sc_imap_entry *entry = &plan->row_of.entries[i];
        const sc_node *node = (const sc_node *)(uintptr_t)entry->key;
        tell_taken_away(plan, node, &plan->rows.data[entry->value - 1], &users);
    }
}

uint32_t sc_quant_row_count(const sc_quant_plan *plan) { return plan->rows.count; }

const sc_quant_row *sc_quant_row_at(const sc_quant_plan *plan, uint32_t index) {
    return index < plan->rows.count ? &plan->rows.data[index] : NULL;
}

uint32_t sc_quant_remark_count(const sc_quant_plan *plan) { return plan->remarks.count; }

sc_str sc_quant_remark_at(const sc_quant_plan *plan, uint32_t index) {
    return index < plan->remarks.count ? plan->remarks.data[index] : SC_STR("");
}

// Counts the ranges of groups, then those of weights alone.
uint32_t sc_quant_range_count(const sc_quant_plan *plan) {
    return plan->groups.count + plan->weights.count;
}

const sc_quant_range *sc_quant_range_at(const sc_quant_plan *plan, uint32_t index) {
    if (index >= sc_quant_range_count(plan)) return NULL;
    return index < plan->groups.count ? &plan->groups.data[index].range
                                      : &plan->weights.data[index - plan->groups.count].range;
}

const sc_name *sc_quant_place(const sc_quant_plan *plan, uint32_t range, uint32_t place) {
    const sc_quant_range *of = sc_quant_range_at(plan, range);
    if (!of || place >= of->place_count) return NULL;
    if (range >= plan->groups.count) return plan->weights.data[range - plan->groups.count].name;
    return plan->probes.data[plan->groups.data[range].probes.data[place]].value->name;
}

uint64_t sc_quant_loose_bytes(const sc_quant_plan *plan) {
    uint64_t bytes = plan->loose_bytes;
    for (uint32_t i = 0; i < plan->method->inputs.count; i++)
        if (sc_imap_find(&plan->placed, SC_PTR_KEY(plan->method->graph->inputs.data[i])))
            bytes += plan->method->inputs.data[i].constant->data.size;
    return bytes;
}
