// Methods share buffers of equal name if the option is on. A buffer that a part keeps is accessible
// to that part only. Both together would silently give each method a buffer of its own, so they are
// an error.
#include "api/compile/shared_state.h"

#include "api/compiling.h"

static bool has_input(const sc_method *method, sc_str target) {
    for (uint32_t i = 0; i < method->inputs.count; i++)
        if (method->inputs.data[i].constant && sc_str_equal(method->inputs.data[i].target, target))
            return true;
    return false;
}

// Parts of bodies get their operands passed, so they keep no buffer.
static bool knows(const sc_method *method, sc_str target) {
    if (has_input(method, target)) return true;
    for (const sc_node *node = method->graph->first; node; node = node->next)
        if (sc_node_part(node) && has_input(sc_node_part(node)->method, target)) return true;
    return false;
}

// Is a gradient of the parameter among the outputs of a method?
static const sc_method *trainer_of(const sc_program *program, sc_str target) {
    for (uint32_t m = 0; m < program->methods.count; m++) {
        const sc_method *method = program->methods.data[m];
        for (uint32_t i = 0; i < method->outputs.count; i++)
            if (method->outputs.data[i].kind == SC_OUTPUT_GRADIENT &&
                sc_str_equal(method->outputs.data[i].target, target))
                return method;
    }
    return NULL;
}

// Parts hold a copy of their weights, which an optimizer does not reach.
static sc_status check_parameters(sc_ctx *ctx, const sc_program *program, const sc_method *owner,
                                  const sc_part *part) {
    for (uint32_t i = 0; i < part->method->inputs.count; i++) {
        const sc_input_sig *sig = &part->method->inputs.data[i];
        const sc_method *trainer =
            sig->kind == SC_INPUT_PARAMETER ? trainer_of(program, sig->target) : NULL;
        if (trainer)
            return sc_fail(ctx, SC_ERR_ARGUMENT,
                           "Do not delegate this method, or do not share state.",
                           "a part of method '%s' holds the parameter '" SC_STR_FMT
                           "', which method '%s' trains",
                           owner->name->text, SC_STR_ARG(sig->target), trainer->name->text);
    }
    return SC_OK;
}

static sc_status check_target(sc_ctx *ctx, const sc_program *program, const sc_method *owner,
                              sc_str target) {
    for (uint32_t i = 0; i < program->methods.count; i++) {
        const sc_method *other = program->methods.data[i];
        if (other != owner && knows(other, target))
            return sc_fail(ctx, SC_ERR_ARGUMENT,
                           "Do not let the backend own this buffer, or do not share state.",
                           "a part of method '%s' keeps the buffer '" SC_STR_FMT
                           "', so method '%s' cannot share it",
                           owner->name->text, SC_STR_ARG(target), other->name->text);
    }
    return SC_OK;
}

sc_status sc_check_shared_state(sc_ctx *ctx, const sc_program *program) {
    for (uint32_t m = 0; m < program->methods.count; m++) {
        const sc_method *method = program->methods.data[m];
        for (const sc_node *node = method->graph->first; node; node = node->next) {
            const sc_part *part = sc_node_part(node);
            if (part) SC_TRY(check_parameters(ctx, program, method, part));
            for (uint32_t i = 0; part && i < part->method->outputs.count; i++)
                if (part->method->outputs.data[i].kind == SC_OUTPUT_BUFFER_MUTATION)
                    SC_TRY(
                        check_target(ctx, program, method, part->method->outputs.data[i].target));
        }
    }
    return SC_OK;
}
