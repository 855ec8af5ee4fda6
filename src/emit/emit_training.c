// Methods that tell an optimizer where the results of a joint graph of loss and gradients lie, by
// ExecuTorch's names. The first gradient and the first parameter each have an index among the
// outputs; the qualified names of the parameters are in the order of both.
#include "emit/emit_plan.h"

typedef struct places {
    int64_t gradients, parameters;  // -1: there are none
    SC_VEC(sc_answer) names;
} places;

static sc_answer plain(sc_arg arg) { return (sc_answer){.kind = SC_ANSWER_PLAIN, .plain = arg}; }

static void find_places(sc_ctx *ctx, const sc_method *method, places *out) {
    int64_t index = 0;
    *out = (places){.gradients = -1, .parameters = -1};
    for (uint32_t i = 0; i < method->outputs.count; i++) {
        const sc_output_sig *sig = &method->outputs.data[i];
        if (!sc_emit_is_visible(sig->kind)) continue;
        if (sig->kind == SC_OUTPUT_GRADIENT) {
            if (out->gradients < 0) out->gradients = index;
            sc_vec_push(ctx->arena, &out->names, plain(sc_arg_str(sig->target)));
        }
        if (sig->kind == SC_OUTPUT_TRAINED && out->parameters < 0) out->parameters = index;
        index++;
    }
}

static void add_method(sc_program *program, const char *prefix, const sc_method *method,
                       sc_answer value) {
    sc_ctx *ctx = program->ctx;
    const sc_str name = sc_str_format(ctx->scratch, "%s%s", prefix, method->name->text);
    const sc_constant_method added = {.name = sc_name_intern(ctx->names, name), .value = value};
    sc_vec_push(ctx->arena, &program->constant_methods, added);
}

static void add_methods(sc_program *program, const sc_method *method) {
    places at;
    find_places(program->ctx, method, &at);
    if (at.gradients < 0 || at.parameters < 0) return;
    const sc_answer names = {
        .kind = SC_ANSWER_LIST, .items = at.names.data, .count = at.names.count};
    add_method(program, SC_TRAINING_GRADIENTS, method, plain(sc_arg_int(at.gradients)));
    add_method(program, SC_TRAINING_NAMES, method, names);
    add_method(program, SC_TRAINING_PARAMETERS, method, plain(sc_arg_int(at.parameters)));
}

// The official exporter writes these before the constant methods of the caller.
void sc_emit_training_methods(sc_program *program) {
    const sc_constant_method *own = program->constant_methods.data;
    const uint32_t count = program->constant_methods.count;
    program->constant_methods.data = NULL;
    program->constant_methods.count = program->constant_methods.capacity = 0;
    for (uint32_t i = 0; i < program->methods.count; i++)
        add_methods(program, program->methods.data[i]);
    for (uint32_t i = 0; i < count; i++)
        sc_vec_push(program->ctx->arena, &program->constant_methods, own[i]);
}
