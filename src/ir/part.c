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

static bool read_order(const int64_t *order, uint32_t rank, uint8_t *out) {
    uint32_t seen = 0;
    for (uint32_t i = 0; i < rank; i++) {
        if (order[i] < 0 || order[i] >= rank) return false;
        out[i] = (uint8_t)order[i];
        seen |= 1u << out[i];
    }
    return seen == (1u << rank) - 1;
}

// Files hold sizes of 32 bits.
static bool are_sizes(const int64_t *sizes, uint32_t rank) {
    uint64_t product = sizeof(double) * 2;  // the largest element
    for (uint32_t i = 0; i < rank; i++)
        if (sizes[i] < 0 || sizes[i] > INT32_MAX ||
            !sc_mul_u64(product, sc_max_u64((uint64_t)sizes[i], 1), &product))
            return false;
    return product <= INT64_MAX;
}

const sc_spec *sc_part_layout(const sc_part *part, sc_dtype dtype, uint32_t rank,
                              const int64_t *sizes, const int64_t *order) {
    uint8_t dims[SC_RANK_MAX];
    sc_arena *arena = part->method->program->ctx->arena;
    if (rank > SC_RANK_MAX || !read_order(order, rank, dims) || !are_sizes(sizes, rank))
        return NULL;
    sc_spec *spec = sc_new(arena, sc_spec);
    *spec = sc_spec_new(arena, dtype, rank);
    for (uint32_t i = 0; i < rank; i++) spec->sizes[i] = sc_dim_int(sizes[i]);
    sc_spec_set_order(part->method->exprs, spec, dims);
    return spec;
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
