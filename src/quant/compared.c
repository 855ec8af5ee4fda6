// Float and quantized nodes in turns. Each quantized node stands right behind the one that it was
// made from, and the comparison right behind that. Both have constants of their own, so that
// neither sees writes of the other. Equal bytes are stored once when the program is written.
#include "quant/compared.h"

#include "passes/passes.h"
#include "quant/plan.h"

typedef struct comparing {
    sc_ctx *ctx;
    sc_method *method;  // the method that is made
    sc_copier *floats, *quantized;
    sc_node *next_float;  // the first node that is not copied yet
    SC_VEC(sc_compared_row) rows;
    SC_VEC(sc_value *) errors;  // the new state of each buffer
} comparing;

// --- Inputs --------------------------------------------------------------------------------------

static sc_value *add_input(comparing *c, const sc_value *like, sc_input_sig sig) {
    sc_value *value = sc_graph_add_input(c->method->graph, sc_name_str(like->name), like->type);
    value->spec = like->spec;
    value->has_dim = like->has_dim;
    value->dim = like->dim;
    sc_vec_push(c->ctx->arena, &c->method->inputs, sig);
    return value;
}

// Adds it under a name that the other method does not have.
static void add_constant(comparing *c, sc_copier *copier, const sc_method *from, uint32_t i,
                         const char *prefix) {
    sc_input_sig sig = from->inputs.data[i];
    sc_constant *constant = sc_new(c->ctx->arena, sc_constant);
    *constant = *sig.constant;
    constant->name = sc_str_format(c->ctx->arena, "%s" SC_STR_FMT, prefix, SC_STR_ARG(sig.target));
    sig.target = constant->name;
    sig.constant = constant;
    sc_copier_bind(copier, from->graph->inputs.data[i],
                   add_input(c, from->graph->inputs.data[i], sig));
}

static void add_constants(comparing *c, sc_copier *copier, const sc_method *from,
                          const char *prefix) {
    for (uint32_t i = 0; i < from->inputs.count; i++)
        if (from->inputs.data[i].constant) add_constant(c, copier, from, i, prefix);
}

static const sc_value *next_shared(const sc_method *method, uint32_t *i) {
    while (*i < method->inputs.count && method->inputs.data[*i].constant) ++*i;
    return *i < method->inputs.count ? method->graph->inputs.data[(*i)++] : NULL;
}

static bool writes(const sc_method *method) {
    for (const sc_node *node = method->graph->first; node; node = node->next)
        if (sc_op_has(node->op, SC_MUTATES)) return true;
    return false;
}

// Copies an input, so that a write of one program is not seen by the other.
static sc_status copy_input(comparing *c, sc_value **value) {
    sc_node *node;
    const sc_arg args[] = {sc_arg_value(*value), sc_arg_none()};
    if ((*value)->type != SC_VALUE_TENSOR) return SC_OK;
    SC_TRY(sc_build(c->method->graph, NULL, sc_op_get(SC_OP_clone), args, 2, NULL, &node));
    *value = node->outs[0];
    return SC_OK;
}

// Passes the caller's inputs to both programs.
static sc_status share_inputs(comparing *c, const sc_method *prepared, const sc_method *quantized) {
    const bool copies = writes(prepared);
    const sc_value *of_float, *of_quantized;
    uint32_t i = 0, k = 0;
    while ((of_float = next_shared(prepared, &i)) != NULL) {
        of_quantized = next_shared(quantized, &k);
        SC_ASSERT(of_quantized);
        sc_value *value = add_input(c, of_float, prepared->inputs.data[i - 1]);
        sc_copier_bind(c->floats, of_float, value);
        if (copies) SC_TRY(copy_input(c, &value));
        sc_copier_bind(c->quantized, of_quantized, value);
    }
    return SC_OK;
}

// --- Comparisons ---------------------------------------------------------------------------------

static sc_value *add_state(comparing *c, uint32_t values) {
    sc_arena *arena = c->ctx->arena;
    sc_constant *constant = sc_new(arena, sc_constant);
    *constant = (sc_constant){.persistent = true};
    constant->name = sc_str_format(arena, "_error.%s.%u", c->method->name->text, c->rows.count);
    constant->spec = sc_spec_new(arena, SC_DTYPE_F64, 1);
    constant->spec.sizes[0] = sc_dim_int(values);
    sc_spec_set_contiguous(c->method->exprs, &constant->spec);
    constant->data = sc_extent_whole(sc_source_zeros(arena, values * sizeof(double)));
    sc_value *value = sc_graph_add_input(c->method->graph, constant->name, SC_VALUE_TENSOR);
    value->spec = constant->spec;
    const sc_input_sig sig = {.kind = SC_INPUT_BUFFER,
                              .target = constant->name,
                              .constant = constant,
                              .persistent = true};
    sc_vec_push(arena, &c->method->inputs, sig);
    return value;
}

static bool is_float_tensor(const sc_value *value) {
    return value && value->type == SC_VALUE_TENSOR &&
           (value->spec.dtype == SC_DTYPE_F32 || value->spec.dtype == SC_DTYPE_F16 ||
            value->spec.dtype == SC_DTYPE_BF16);
}

static bool is_same_shape(const sc_spec *a, const sc_spec *b) {
    if (a->dtype != b->dtype || a->rank != b->rank) return false;
    for (uint32_t d = 0; d < a->rank; d++)
        if (!sc_dim_equal(a->sizes[d], b->sizes[d])) return false;
    return true;
}

static sc_status compare(comparing *c, const sc_value *expected, const sc_value *found,
                         sc_compared_row row) {
    sc_value *values[] = {sc_copier_value(c->floats, expected),
                          sc_copier_value(c->quantized, found)};
    sc_node *node;
    if (!is_float_tensor(values[0]) || !is_float_tensor(values[1])) return SC_OK;
    if (values[0] == values[1] || !is_same_shape(&values[0]->spec, &values[1]->spec)) return SC_OK;
    const sc_arg args[] = {sc_arg_value(values[0]), sc_arg_value(values[1]),
                           sc_arg_value(add_state(c, row.layer ? SC_ERROR_ALL : SC_ERROR_VALUES))};
    const sc_meta meta = values[1]->node ? values[1]->node->meta : (sc_meta){0};
    SC_TRY(sc_build(c->method->graph, NULL, sc_op_get(SC_OP_sconce_observe_error), args, 3, &meta,
                    &node));
    sc_vec_push(c->ctx->arena, &c->rows, row);
    sc_vec_push(c->ctx->arena, &c->errors, node->outs[0]);
    return SC_OK;
}

// --- Nodes ---------------------------------------------------------------------------------------

// Copies the float nodes up to and including `last`; all of them for NULL.
static sc_status copy_floats(comparing *c, const sc_node *last) {
    while (c->next_float) {
        const sc_node *node = c->next_float;
        SC_TRY(sc_copier_add(c->floats, node));
        c->next_float = node->next;
        if (node == last) return SC_OK;
    }
    return SC_OK;
}

// An embedding's rows may come from another operator, under the name that the embedding had.
static bool may_stand_for(const sc_node *node, const sc_node *of) {
    return of->out_count == node->out_count &&
           (of->op == node->op || sc_quant_role(of->op) == QUANT_EMBEDDING);
}

// The float node with the name: quantization keeps the names of the nodes that it quantizes.
static const sc_node *float_of(const sc_imap *floats, const sc_node *node) {
    const uint64_t *found = sc_imap_find(floats, SC_PTR_KEY(node->name));
    const sc_node *of = found ? (const sc_node *)(uintptr_t)*found : NULL;
    return of && may_stand_for(node, of) ? of : NULL;
}

static sc_status copy_both(comparing *c, const sc_method *prepared, const sc_method *quantized) {
    sc_imap floats;
    sc_imap_init(&floats, c->ctx->scratch);
    for (const sc_node *node = prepared->graph->first; node; node = node->next)
        sc_imap_set(&floats, SC_PTR_KEY(node->name), SC_PTR_KEY(node));
    c->next_float = prepared->graph->first;
    for (const sc_node *node = quantized->graph->first; node; node = node->next) {
        const sc_node *of = float_of(&floats, node);
        if (of && of->out_count && !sc_copier_value(c->floats, of->outs[0]))
            SC_TRY(copy_floats(c, of));
        SC_TRY(sc_copier_add(c->quantized, node));
        if (of && of->out_count)
            SC_TRY(compare(c, of->outs[0], node->outs[0], (sc_compared_row){.node = of->name}));
    }
    return copy_floats(c, NULL);
}

// --- Outputs -------------------------------------------------------------------------------------

enum { SCORES_MIN = 32 };

// The linear layer that gives a result, if there are enough numbers in a row to be scores, of which
// the greatest counts.
static const sc_name *layer_of(const sc_value *value) {
    const sc_spec *spec = &value->spec;
    const sc_node *node = value->node;
    if (value->type != SC_VALUE_TENSOR || spec->rank == 0) return NULL;
    const sc_dim *last = &spec->sizes[spec->rank - 1];
    if (!sc_dim_is_int(*last) || last->value < SCORES_MIN) return NULL;
    while (node && sc_op_has(node->op, SC_RESHAPES) && node->args[0].kind == SC_ARG_VALUE)
        node = node->args[0].value->node;
    return node && sc_quant_role(node->op) == QUANT_LINEAR ? node->name : NULL;
}

static sc_status compare_outputs(comparing *c, const sc_method *prepared,
                                 const sc_method *quantized) {
    uint32_t index = 0;
    SC_ASSERT(prepared->outputs.count == quantized->outputs.count);
    for (uint32_t i = 0; i < prepared->outputs.count; i++) {
        const sc_arg *a = &prepared->graph->ret->args[i], *b = &quantized->graph->ret->args[i];
        if (prepared->outputs.data[i].kind != SC_OUTPUT_USER) continue;
        if (a->kind == SC_ARG_VALUE && b->kind == SC_ARG_VALUE)
            SC_TRY(compare(c, a->value, b->value,
                           (sc_compared_row){.index = index, .layer = layer_of(a->value)}));
        index++;
    }
    return SC_OK;
}

typedef SC_VEC(sc_arg) arg_list;

static void add_output(comparing *c, arg_list *args, sc_value *value, sc_output_kind kind,
                       sc_str target) {
    sc_vec_push(c->ctx->arena, args, sc_arg_value(value));
    sc_vec_push(c->ctx->arena, &c->method->outputs,
                ((sc_output_sig){.kind = kind, .target = target}));
}

// Both programs' own state continues from run to run.
static void keep_state(comparing *c, arg_list *args, sc_copier *copier, const sc_method *from,
                       const char *prefix) {
    for (uint32_t i = 0; i < from->outputs.count; i++) {
        const sc_output_sig *sig = &from->outputs.data[i];
        const sc_arg *arg = &from->graph->ret->args[i];
        if (sig->kind != SC_OUTPUT_BUFFER_MUTATION && sig->kind != SC_OUTPUT_PARAMETER_MUTATION)
            continue;
        if (arg->kind != SC_ARG_VALUE) continue;
        add_output(c, args, sc_copier_value(copier, arg->value), sig->kind,
                   sc_str_format(c->ctx->arena, "%s" SC_STR_FMT, prefix, SC_STR_ARG(sig->target)));
    }
}

static void set_outputs(comparing *c, const sc_method *prepared, const sc_method *quantized) {
    arg_list args = {0};
    keep_state(c, &args, c->floats, prepared, "float.");
    keep_state(c, &args, c->quantized, quantized, "quantized.");
    for (uint32_t i = 0; i < c->rows.count; i++)
        add_output(c, &args, c->errors.data[i], SC_OUTPUT_BUFFER_MUTATION,
                   sc_str_format(c->ctx->arena, "_error.%s.%u", c->method->name->text, i));
    for (uint32_t i = 0; i < c->rows.count; i++)
        add_output(c, &args, c->errors.data[i], SC_OUTPUT_USER, SC_STR(""));
    sc_graph_set_outputs(c->method->graph, args.data, args.count);
}

// --- All of it -----------------------------------------------------------------------------------

static sc_status fill(comparing *c, const sc_method *prepared, const sc_method *quantized) {
    c->method->exprs = prepared->exprs;
    c->method->facts = prepared->facts & quantized->facts;
    c->method->in_spec = prepared->in_spec;
    c->method->arg_names = prepared->arg_names;
    c->method->torch_version = prepared->torch_version;
    c->floats = sc_copier_new(c->method->graph);
    c->quantized = sc_copier_new(c->method->graph);
    add_constants(c, c->floats, prepared, "float.");
    add_constants(c, c->quantized, quantized, "quantized.");
    SC_TRY(share_inputs(c, prepared, quantized));
    SC_TRY(copy_both(c, prepared, quantized));
    SC_TRY(compare_outputs(c, prepared, quantized));
    set_outputs(c, prepared, quantized);
    return sc_pass_sweep(c->ctx, c->method);
}

sc_status sc_quant_compared(sc_ctx *ctx, const sc_method *prepared, const sc_method *quantized,
                            sc_program **out, sc_compared *rows) {
    const sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_program *program = sc_program_new(ctx);
    comparing c = {.ctx = ctx};
    SC_TRY(sc_program_add_method(program, sc_name_str(prepared->name), &c.method));
    SC_TRY(fill(&c, prepared, quantized));
    sc_arena_rewind(ctx->scratch, mark);
    *rows = (sc_compared){c.rows.data, c.rows.count};
    *out = program;
    return sc_verify(ctx, program);
}
