// Computes nodes that depend on constants only once, when lowering: their results become constants.
// The nodes make a small program of their own.
//
// Two bounds apply. One is on the bytes that the nodes read and make at once, which are in memory
// meanwhile. The other is on the growth of the method's constants. A result costs its bytes, less
// those of constants that only its node needs.
//
// The compiler knows no runtime. api/compile/evaluate.c hands down the evaluator, which lowers the
// small program and runs it.
#include "passes/apart.h"
#include "passes/passes.h"

enum { HELD_BYTES_MAX = 64 << 20, GROWN_BYTES_MAX = 4 << 20 };

// Marks of values and nodes.
enum { OTHER, CONSTANT, FOLDED };

typedef struct folder {
    sc_ctx *ctx;
    sc_method *method;
    sc_map written;              // names of values that a method of the program writes
    sc_map shared;               // places of bytes that several constants of the program share
    uint64_t held, grown;        // bytes so far, within the two bounds
    SC_VEC(sc_value *) results;  // results of folded nodes that other nodes need
} folder;

// --- Constants -----------------------------------------------------------------------------------

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

// A buffer that another method writes is state for all methods that share it.
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

// Bodies cannot reach the method's constants, and returned values stay results.
static bool is_fixed(folder *f, const sc_node *node) {
    const sc_op_traits never = SC_MUTATES | SC_RANDOM | SC_DATA_DEPENDENT | SC_NO_FOLD |
                               SC_SYMBOLIC | SC_HIGHER_ORDER | SC_ASSERTION | SC_FOREIGN | SC_OWN;
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
    uint64_t fresh;  // bytes that were not counted yet
    uint64_t freed;  // bytes of constants that disappear with the node
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

// --- Results -------------------------------------------------------------------------------------

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

static sc_status evaluate(folder *f, sc_apart *apart, const sc_evaluator *evaluator,
                          sc_extent *data) {
    SC_TRY(sc_apart_begin(apart, f->method, SC_FACT_SPECS | SC_FACT_EDGE));
    for (const sc_node *node = f->method->graph->first; node; node = node->next)
        if (node->mark == FOLDED) sc_apart_add(apart, node);
    for (uint32_t i = 0; i < f->results.count; i++)
        sc_apart_return(apart, sc_apart_value(apart, f->results.data[i]));
    sc_apart_close(apart);
    return sc_apart_evaluate(apart, evaluator, data);
}

static void erase_folded(folder *f) {
    for (sc_node *node = f->method->graph->last, *prev; node; node = prev) {
        prev = node->prev;
        if (node->mark == FOLDED) sc_node_erase(node);
    }
}

static sc_status fold(folder *f, const sc_evaluator *evaluator) {
    sc_apart apart;
    sc_extent *data = sc_new_array(f->ctx->scratch, sc_extent, f->results.count);
    const sc_status status = evaluate(f, &apart, evaluator, data);
    for (uint32_t i = 0; i < f->results.count && status == SC_OK; i++)
        replace(f, f->results.data[i], data[i]);
    if (status == SC_OK) erase_folded(f);
    const sc_status outcome = sc_apart_outcome(&apart, status);
    sc_apart_end(&apart);
    return outcome;
}

sc_status sc_pass_const_fold(sc_ctx *ctx, sc_method *method, const sc_pass_env *env) {
    if (!env->evaluator || !env->options || !env->options->fold_constants) return SC_OK;
    sc_mark mark = sc_arena_mark(ctx->scratch);
    folder f = {.ctx = ctx, .method = method};
    survey(&f);
    mark_inputs(&f);
    choose(&f);
    sc_status status = f.results.count ? fold(&f, env->evaluator) : SC_OK;
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}
