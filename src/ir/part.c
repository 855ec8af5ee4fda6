#include "ir/part.h"

sc_part *sc_part_new(sc_method *method, sc_str name) {
    sc_ctx *ctx = method->program->ctx;
    sc_part *part = sc_new(ctx->arena, sc_part);
    sc_cord *data = sc_new(ctx->arena, sc_cord);
    sc_cord_init(data, ctx->arena);
    part->processed = data;
    part->method = sc_new(ctx->arena, sc_method);
    part->method->name = sc_name_intern(ctx->names, name);
    part->method->program = method->program;
    part->method->exprs = method->exprs;
    part->method->facts = method->facts;
    part->method->graph = sc_graph_new(part->method, NULL, (sc_str){0});
    return part;
}

bool sc_part_writes(const sc_part *part, sc_str target) {
    for (uint32_t i = 0; i < part->method->outputs.count; i++)
        if (part->method->outputs.data[i].kind == SC_OUTPUT_BUFFER_MUTATION &&
            sc_str_equal(part->method->outputs.data[i].target, target))
            return true;
    return false;
}

bool sc_part_has_effect(const sc_part *part) {
    for (uint32_t i = 0; i < part->method->outputs.count; i++)
        if (part->method->outputs.data[i].kind != SC_OUTPUT_USER) return true;
    return false;
}

const sc_part *sc_node_part(const sc_node *node) {
    bool calls = node->arg_count > 0 && node->args[0].kind == SC_ARG_PART;
    return calls ? node->args[0].part : NULL;
}
