// The weights of a program, and the files that options choose for them.
#include "ir/weights.h"

#include "ir/part.h"

// Numbers and tensors that the user's code contains stay inside the program, as official tools keep
// them.
static bool may_be_apart(const sc_constant *constant) {
    if (constant->lifted_scalar) return false;
    return !sc_str_starts_with(constant->name, "lifted_tensor") &&
           !sc_str_starts_with(constant->name, "_lifted_tensor");
}

sc_str sc_constant_file(const sc_options *options, const sc_constant *constant) {
    if (!options || !may_be_apart(constant)) return (sc_str){0};
    return sc_weight_files_of(&options->external_constants, constant->name);
}

typedef struct walk {
    const sc_method *method;
    sc_weight_visitor *visit;
    void *user;
} walk;

static bool is_state(const sc_method *method, const sc_input_sig *sig) {
    for (uint32_t i = 0; i < method->outputs.count; i++) {
        const sc_output_sig *out = &method->outputs.data[i];
        if (out->kind != SC_OUTPUT_USER && sc_str_equal(out->target, sig->target)) return true;
    }
    return false;
}

static void visit_inputs(const walk *w, const sc_method *method) {
    for (uint32_t i = 0; i < method->inputs.count; i++) {
        const sc_input_sig *sig = &method->inputs.data[i];
        if (sig->constant && may_be_apart(sig->constant) && !is_state(method, sig))
            w->visit(w->method, sig->constant, w->user);
    }
}

static sc_status visit_parts(sc_ctx *ctx, sc_graph *graph, void *user) {
    (void)ctx;
    for (const sc_node *node = graph->first; node; node = node->next) {
        const sc_part *part = sc_node_part(node);
        if (part) visit_inputs(user, part->method);
    }
    return SC_OK;
}

sc_status sc_weights_visit(const sc_program *program, sc_weight_visitor *visit, void *user) {
    for (uint32_t i = 0; i < program->methods.count; i++) {
        const sc_method *method = program->methods.data[i];
        walk w = {method, visit, user};
        visit_inputs(&w, method);
        SC_TRY(sc_graphs_visit(program->ctx, method->graph, visit_parts, &w));
    }
    return SC_OK;
}

typedef struct rule_search {
    const sc_weight_files *files;
    bool *fit;  // by rule: a weight has such a name
} rule_search;

static void try_rules(const sc_method *method, const sc_constant *weight, void *user) {
    const rule_search *search = user;
    (void)method;
    for (uint32_t i = 0; i < search->files->count; i++)
        search->fit[i] =
            search->fit[i] || sc_weight_file_fits(&search->files->rules[i], weight->name);
}

sc_status sc_weights_check(const sc_program *program, const sc_options *options) {
    const sc_weight_files *files = &options->external_constants;
    const sc_mark mark = sc_arena_mark(program->ctx->scratch);
    rule_search search = {files, sc_new_array(program->ctx->scratch, bool, files->count + 1)};
    const sc_status status = sc_weights_visit(program, try_rules, &search);
    for (uint32_t i = 0; status == SC_OK && i < files->count; i++)
        if (!search.fit[i] && !sc_str_is(files->rules[i].pattern, "*"))
            sc_report(program->ctx, SC_WARNING, SC_ERR_NOT_FOUND,
                      "A name fits itself, and base.* fits names that begin with base.",
                      "external_constants has the pattern '" SC_STR_FMT
                      "', but no weight has such a name",
                      SC_STR_ARG(files->rules[i].pattern));
    sc_arena_rewind(program->ctx->scratch, mark);
    return status;
}
