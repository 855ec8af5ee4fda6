// Copies whole programs, so that a version stays unchanged while the next one is made from it. The
// copy shares everything that never changes: symbols, names, delegated parts, and the bytes of
// constants.
#include "ir/ir.h"

static void clone_signature(const sc_method *from, sc_method *to) {
    sc_arena *arena = from->program->ctx->arena;
    for (uint32_t i = 0; i < from->inputs.count; i++) {
        sc_input_sig sig = from->inputs.data[i];
        if (sig.constant) {
            sc_constant *constant = sc_new(arena, sc_constant);
            *constant = *sig.constant;
            sig.constant = constant;
        }
        sc_vec_push(arena, &to->inputs, sig);
    }
    for (uint32_t i = 0; i < from->outputs.count; i++)
        sc_vec_push(arena, &to->outputs, from->outputs.data[i]);
    to->in_spec = from->in_spec;
    to->out_spec = from->out_spec;
    to->arg_names = from->arg_names;
    to->examples = from->examples;
    to->facts = from->facts;
    to->decomposed = from->decomposed;
    to->torch_version = from->torch_version;
    to->schema_major = from->schema_major;
    to->schema_minor = from->schema_minor;
}

sc_status sc_program_clone_method(sc_program *program, const sc_method *method, sc_str name,
                                  sc_exprs *exprs, sc_method **out) {
    sc_method *to = NULL;
    SC_TRY(sc_program_add_method(program, name, &to));
    to->exprs = exprs;
    clone_signature(method, to);
    *out = to;
    return sc_graph_clone(method->graph, to, NULL, &to->graph);
}

sc_status sc_method_clone(const sc_method *method, sc_exprs *exprs, sc_method **out) {
    sc_method *copy = sc_new(method->program->ctx->arena, sc_method);
    *copy = *method;
    copy->exprs = exprs;
    *out = copy;
    return sc_graph_clone(method->graph, copy, NULL, &copy->graph);
}

sc_status sc_program_clone(const sc_program *program, sc_program **out) {
    sc_program *copy = sc_program_new(program->ctx);
    copy->is_split = program->is_split;
    for (uint32_t i = 0; i < program->methods.count; i++) {
        const sc_method *method = program->methods.data[i];
        sc_method *to;
        SC_TRY(
            sc_program_clone_method(copy, method, sc_name_str(method->name), method->exprs, &to));
    }
    for (uint32_t i = 0; i < program->constant_methods.count; i++)
        sc_vec_push(program->ctx->arena, &copy->constant_methods,
                    program->constant_methods.data[i]);
    *out = copy;
    return SC_OK;
}
