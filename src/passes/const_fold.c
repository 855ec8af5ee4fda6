// What depends on constants only is computed once, when lowering, and becomes constants: those
// nodes together are a small program of their own, which the evaluator that was handed down runs.
//
// Two bounds: what the nodes read and make at once (it is in memory meanwhile), and by how much the
// method's constants may grow. A result costs its bytes, less those of constants that nothing but
// its node needs.
#include "passes/passes.h"

enum { HELD_BYTES_MAX = 64 << 20, GROWN_BYTES_MAX = 4 << 20 };

// Marks of values and nodes.
enum { OTHER, CONSTANT, FOLDED };

typedef struct folder {
    sc_ctx *ctx;
    sc_method *method;
    sc_map written;              // names of what some method of the program writes
    sc_map shared;               // places of bytes that several constants of the program have
    uint64_t held, grown;        // bytes so far, within the two bounds
    SC_VEC(sc_value *) results;  // of folded nodes, needed by others
    sc_arena arena, scratch;     // of the program that is evaluated
    sc_ctx inner;
    sc_imap twins;  // value -> what it is in that program
} folder;

// --- What is constant ----------------------------------------------------------------------------

static sc_str place_of(const sc_constant *constant, uint64_t key[2]) {
    key[0] = SC_PTR_KEY(constant->data.source);
    key[1] = constant->data.offset;
    return (sc_str){(const char *)key, 2 * sizeof(*key)};
}

static void survey_method(folder *f, sc_map *seen, const sc_method *method) {
    for (uint32_t i = 0; i < method->outputs.count; i++)
        if (method->outputs.data[i].target.size)
            sc_map_set(&f->written, method->outputs.data[i].target, f);
    for (uint32_t i = 0; i < method->inputs.count; i++) {
        const sc_constant *constant = method->inputs.data[i].constant;
        if (!constant || !constant->data.size) continue;
        uint64_t key[2];
        sc_str place = sc_str_copy(f->ctx->scratch, place_of(constant, key));
        if (!sc_map_add(seen, place, f)) sc_map_set(&f->shared, place, f);
    }
}

// What another method writes is state for all when buffers are shared.
static void survey(folder *f) {
    sc_map seen;
    sc_map_init(&seen, f->ctx->scratch);
    sc_map_init(&f->written, f->ctx->scratch);
    sc_map_init(&f->shared, f->ctx->scratch);
    const sc_program *program = f->method->program;
    for (uint32_t m = 0; m < program->methods.count; m++)
        survey_method(f, &seen, program->methods.data[m]);
}

static void mark_inputs(folder *f) {
    for (uint32_t i = 0; i < f->method->inputs.count; i++) {
        const sc_input_sig *sig = &f->method->inputs.data[i];
        sc_value *value = f->method->graph->inputs.data[i];
        bool is_constant = sig->constant && value->type == SC_VALUE_TENSOR &&
                           !sc_map_find(&f->written, sig->target);
        value->mark = is_constant ? CONSTANT : OTHER;
    }
}

// --- Which nodes ---------------------------------------------------------------------------------

static bool is_known(void *user, sc_arg *arg) {
    (void)user;
    return arg->value->mark != OTHER;
}

// Bodies cannot reach the method's constants, and what is returned stays a result.
static bool is_fixed(folder *f, const sc_node *node) {
    const sc_op_traits never = SC_MUTATES | SC_RANDOM | SC_DATA_DEPENDENT | SC_NO_FOLD |
                               SC_SYMBOLIC | SC_HIGHER_ORDER | SC_ASSERTION | SC_FOREIGN;
    if (sc_op_has(node->op, never) || !sc_op_has(node->op, SC_RUNS) || node->is_kept || node->tag)
        return false;
    for (uint32_t i = 0; i < node->out_count; i++) {
        const sc_value *out = node->outs[i];
        if (out->type != SC_VALUE_TENSOR || !sc_spec_is_static(&out->spec) ||
            !sc_spec_is_contiguous(f->method->exprs, &out->spec) || sc_value_is_returned(out))
            return false;
    }
    return sc_node_visit_values(node, is_known, NULL);
}

typedef struct operands {
    const folder *f;
    uint64_t fresh;  // bytes that are not held yet
    uint64_t freed;  // bytes of constants that go with the node
} operands;

static uint64_t bytes_of(const sc_value *value) {
    uint64_t bytes = 0;
    return sc_spec_bytes_max(&value->spec, &bytes) ? bytes : UINT64_MAX;
}

static bool count_operand(void *user, sc_arg *arg) {
    operands *o = user;
    const sc_value *value = arg->value;
    const sc_constant *constant =
        value->mark == CONSTANT ? o->f->method->inputs.data[value->index].constant : NULL;
    uint64_t key[2];
    if (constant) o->fresh += bytes_of(value);
    bool is_shared = constant && sc_map_find(&o->f->shared, place_of(constant, key));
    if (value->use_count == 1 && !is_shared) o->freed += bytes_of(value);
    return true;
}

static bool fits(folder *f, const sc_node *node) {
    operands o = {.f = f};
    uint64_t made = 0;
    for (uint32_t i = 0; i < node->out_count; i++) {
        if (bytes_of(node->outs[i]) > HELD_BYTES_MAX) return false;
        made += bytes_of(node->outs[i]);
    }
    (void)sc_node_visit_values(node, count_operand, &o);
    uint64_t grown = made > o.freed ? made - o.freed : 0;
    if (f->held + o.fresh + made > HELD_BYTES_MAX || f->grown + grown > GROWN_BYTES_MAX)
        return false;
    f->held += o.fresh + made;
    f->grown += grown;
    return true;
}

static bool is_needed(const sc_value *value) {
    for (const sc_arg *use = value->first_use; use; use = use->next_use)
        if (use->user->mark != FOLDED) return true;
    return false;
}

static void choose(folder *f) {
    sc_graph *graph = f->method->graph;
    graph->ret->mark = OTHER;
    for (sc_node *node = graph->first; node; node = node->next) {
        node->mark = is_fixed(f, node) && fits(f, node) ? FOLDED : OTHER;
        for (uint32_t i = 0; i < node->out_count; i++) node->outs[i]->mark = node->mark;
    }
    for (sc_node *node = graph->first; node; node = node->next)
        for (uint32_t i = 0; i < node->out_count && node->mark == FOLDED; i++)
            if (is_needed(node->outs[i])) sc_vec_push(f->ctx->scratch, &f->results, node->outs[i]);
}

// --- Their program -------------------------------------------------------------------------------

// The value in that program, where a constant is an input.
static sc_value *twin_of(folder *f, sc_method *method, const sc_value *value) {
    const uint64_t *known = sc_imap_find(&f->twins, SC_PTR_KEY(value));
    if (known) return (sc_value *)(uintptr_t)*known;
    sc_value *twin = sc_graph_add_input(method->graph, sc_name_str(value->name), SC_VALUE_TENSOR);
    twin->spec = value->spec;
    sc_vec_push(f->inner.arena, &method->inputs, f->method->inputs.data[value->index]);
    sc_imap_set(&f->twins, SC_PTR_KEY(value), SC_PTR_KEY(twin));
    return twin;
}

// Of nodes that are not of higher order, a list in an argument holds no list.
static sc_arg twin_arg(folder *f, sc_method *method, const sc_arg *arg) {
    if (arg->kind == SC_ARG_VALUE) return sc_arg_value(twin_of(f, method, arg->value));
    if (arg->kind != SC_ARG_LIST || arg->count == 0) return *arg;
    sc_arg *items = sc_new_array(f->inner.scratch, sc_arg, arg->count);
    for (uint32_t i = 0; i < arg->count; i++) items[i] = twin_arg(f, method, &arg->items[i]);
    return sc_arg_list(items, arg->count);
}

static void add_twin(folder *f, sc_method *method, const sc_node *node) {
    sc_arg *args = sc_new_array(f->inner.scratch, sc_arg, (size_t)node->arg_count + 1);
    for (uint32_t i = 0; i < node->arg_count; i++) args[i] = twin_arg(f, method, &node->args[i]);
    sc_node *twin = sc_node_new(method->graph, node->op, args, node->arg_count, node->out_count,
                                node->name->text);
    for (uint32_t i = 0; i < node->out_count; i++) {
        sc_value *out = twin->outs[i];
        if (node->out_count > 1)
            out->name = sc_graph_unique_name(method->graph, sc_name_str(node->outs[i]->name));
        out->type = SC_VALUE_TENSOR;
        out->spec = node->outs[i]->spec;
        sc_imap_set(&f->twins, SC_PTR_KEY(node->outs[i]), SC_PTR_KEY(out));
    }
    sc_graph_append(method->graph, twin);
}

static sc_status build(folder *f, sc_program **out) {
    sc_method *method = NULL;
    *out = sc_program_new(&f->inner);
    SC_TRY(sc_program_add_method(*out, SC_STR("forward"), &method));
    method->facts = SC_FACT_SPECS | SC_FACT_EDGE;
    sc_imap_init(&f->twins, f->inner.arena);
    for (const sc_node *node = f->method->graph->first; node; node = node->next)
        if (node->mark == FOLDED) add_twin(f, method, node);
    sc_arg *outputs = sc_new_array(f->inner.scratch, sc_arg, f->results.count);
    for (uint32_t i = 0; i < f->results.count; i++) {
        outputs[i] = sc_arg_value(twin_of(f, method, f->results.data[i]));
        sc_vec_push(f->inner.arena, &method->outputs, (sc_output_sig){.kind = SC_OUTPUT_USER});
    }
    sc_graph_set_outputs(method->graph, outputs, f->results.count);
    return SC_OK;
}

// --- What comes of it ----------------------------------------------------------------------------

static void replace(folder *f, sc_value *value, sc_extent data) {
    sc_arena *arena = f->ctx->arena;
    sc_constant *constant = sc_new(arena, sc_constant);
    // Constants of several methods may meet in one file, by name.
    constant->name = sc_str_format(arena, "%s.%s.folded", f->method->name->text, value->name->text);
    constant->spec = value->spec;
    constant->data = data;
    constant->lifted_scalar = value->spec.rank == 0;
    sc_value *input =
        sc_graph_add_input(f->method->graph, sc_name_str(value->name), SC_VALUE_TENSOR);
    input->spec = value->spec;
    sc_input_sig sig = {
        .kind = SC_INPUT_CONSTANT_TENSOR, .target = constant->name, .constant = constant};
    sc_vec_push(arena, &f->method->inputs, sig);
    sc_replace_uses(value, input);
}

// Can a program still do without it? It then fails, or not, when the program runs.
static bool can_wait(sc_status status) {
    switch (status) {
    case SC_ERR_UNSUPPORTED:
    case SC_ERR_UNSUPPORTED_OP:
    case SC_ERR_OPERATOR_MISSING:
    case SC_ERR_DTYPE:
    case SC_ERR_SHAPE:
    case SC_ERR_ARGUMENT:
    case SC_ERR_INDEX:
    case SC_ERR_NUMERIC:
    case SC_ERR_LIMIT:
    case SC_ERR_MEMORY: return true;
    default: return false;
    }
}

static sc_status settle(folder *f, sc_status status) {
    if (can_wait(status)) return SC_OK;
    const sc_diag *diag = f->inner.diags.count ? &sc_vec_last(&f->inner.diags) : NULL;
    return sc_fail(f->ctx, status, NULL, "constants cannot be computed: " SC_STR_FMT,
                   SC_STR_ARG(diag ? diag->message : (sc_str){0}));
}

static sc_status fold(folder *f, const sc_evaluator *evaluator) {
    sc_program *program = NULL;
    sc_extent *data = sc_new_array(f->ctx->scratch, sc_extent, f->results.count);
    sc_status status = build(f, &program);
    if (status == SC_OK) status = evaluator->run(evaluator->user, program, f->ctx->arena, data);
    if (status != SC_OK) return settle(f, status);
    for (uint32_t i = 0; i < f->results.count; i++) replace(f, f->results.data[i], data[i]);
    for (sc_node *node = f->method->graph->last, *prev; node; node = prev) {
        prev = node->prev;
        if (node->mark == FOLDED) sc_node_erase(node);
    }
    return SC_OK;
}

// A context of its own keeps what the evaluation needs and says apart.
static sc_status fold_inside(folder *f, const sc_evaluator *evaluator) {
    sc_arena_init(&f->arena);
    sc_arena_init(&f->scratch);
    sc_ctx_init(&f->inner, &f->arena, &f->scratch);
    f->inner.limits = f->ctx->limits;
    sc_status status = fold(f, evaluator);
    sc_arena_deinit(&f->scratch);
    sc_arena_deinit(&f->arena);
    return status;
}

sc_status sc_pass_const_fold(sc_ctx *ctx, sc_method *method, const sc_pass_env *env) {
    if (!env->evaluator || !env->options || !env->options->fold_constants) return SC_OK;
    sc_mark mark = sc_arena_mark(ctx->scratch);
    folder f = {.ctx = ctx, .method = method};
    survey(&f);
    mark_inputs(&f);
    choose(&f);
    sc_status status = f.results.count ? fold_inside(&f, env->evaluator) : SC_OK;
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}
