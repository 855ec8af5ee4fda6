#include "backend/named_data.h"

// Data of a part, with where the part is.
typedef struct side {
    const sc_part *part;
    const sc_part_data *data;
    const sc_graph *graph;
} side;

typedef struct checking {
    sc_map sides;  // name -> the first side that gave it
} checking;

static sc_str place_of(sc_arena *arena, const side *s) {
    const sc_str path = sc_graph_path(arena, s->graph);
    return sc_str_format(arena, SC_STR_FMT "%s%s of method '%s'", SC_STR_ARG(path),
                         path.size ? "/" : "", s->part->method->name->text,
                         s->graph->method->name->text);
}

static sc_str file_of(const sc_part_data *data) {
    return data->tag.size ? data->tag : SC_STR("the program");
}

static sc_status differ_in_bytes(sc_ctx *ctx, const side *a, const side *b) {
    const sc_str from = place_of(ctx->scratch, a), to = place_of(ctx->scratch, b);
    return sc_fail(
        ctx, SC_ERR_DELEGATE, "Let the backends give different data different names.",
        "named data '" SC_STR_FMT "' has two contents: %llu bytes of backend '" SC_STR_FMT
        "' for " SC_STR_FMT ", and %llu bytes of backend '" SC_STR_FMT "' for " SC_STR_FMT,
        SC_STR_ARG(a->data->key), (unsigned long long)a->data->bytes->size,
        SC_STR_ARG(a->part->backend), SC_STR_ARG(from), (unsigned long long)b->data->bytes->size,
        SC_STR_ARG(b->part->backend), SC_STR_ARG(to));
}

static sc_status differ_in_layout(sc_ctx *ctx, const side *a, const side *b) {
    const sc_str from = place_of(ctx->scratch, a), to = place_of(ctx->scratch, b);
    return sc_fail(ctx, SC_ERR_DELEGATE, "Let the backends give data of one name one layout.",
                   "named data '" SC_STR_FMT "' has two layouts: one of backend '" SC_STR_FMT
                   "' for " SC_STR_FMT ", and one of backend '" SC_STR_FMT "' for " SC_STR_FMT,
                   SC_STR_ARG(a->data->key), SC_STR_ARG(a->part->backend), SC_STR_ARG(from),
                   SC_STR_ARG(b->part->backend), SC_STR_ARG(to));
}

static sc_status differ_in_file(sc_ctx *ctx, const side *a, const side *b) {
    const sc_str from = place_of(ctx->scratch, a), to = place_of(ctx->scratch, b);
    return sc_fail(ctx, SC_ERR_DELEGATE, "Let the backends put all data of one name into one file.",
                   "named data '" SC_STR_FMT "' has two files: '" SC_STR_FMT
                   "' of backend '" SC_STR_FMT "' for " SC_STR_FMT ", and '" SC_STR_FMT
                   "' of backend '" SC_STR_FMT "' for " SC_STR_FMT,
                   SC_STR_ARG(a->data->key), SC_STR_ARG(file_of(a->data)),
                   SC_STR_ARG(a->part->backend), SC_STR_ARG(from), SC_STR_ARG(file_of(b->data)),
                   SC_STR_ARG(b->part->backend), SC_STR_ARG(to));
}

static bool same_piece(const sc_chunk *a, const sc_chunk *b) {
    return a->kind == b->kind && a->size == b->size && a->bytes == b->bytes &&
           sc_extent_is(a->extent, b->extent);
}

// Parts that share a weight share its place in the file: there is no need to read it.
static bool same_place(const sc_cord *a, const sc_cord *b) {
    if (a->chunks.count != b->chunks.count) return false;
    for (uint32_t i = 0; i < a->chunks.count; i++)
        if (!same_piece(&a->chunks.data[i], &b->chunks.data[i])) return false;
    return true;
}

static sc_status same_bytes(sc_ctx *ctx, const sc_cord *a, const sc_cord *b, bool *out) {
    *out = a->size == b->size;
    if (!*out || same_place(a, b)) return SC_OK;
    return sc_extent_equal(ctx, sc_extent_whole(sc_source_from_cord(ctx->scratch, a)),
                           sc_extent_whole(sc_source_from_cord(ctx->scratch, b)), out);
}

static bool same_layout(const sc_spec *a, const sc_spec *b) {
    return a == b || (a && b && sc_spec_equal(a, b));
}

static sc_status compare(sc_ctx *ctx, const side *a, const side *b) {
    bool is_same = false;
    SC_TRY(same_bytes(ctx, a->data->bytes, b->data->bytes, &is_same));
    if (!is_same) return differ_in_bytes(ctx, a, b);
    if (!same_layout(a->data->layout, b->data->layout)) return differ_in_layout(ctx, a, b);
    if (!sc_str_equal(a->data->tag, b->data->tag)) return differ_in_file(ctx, a, b);
    return SC_OK;
}

static sc_status check_part(sc_ctx *ctx, checking *c, const sc_part *part, const sc_graph *graph) {
    for (uint32_t i = 0; i < part->data.count; i++) {
        const side now = {part, &part->data.data[i], graph};
        const side *first = sc_map_get(&c->sides, now.data->key);
        if (first) {
            SC_TRY(compare(ctx, first, &now));
            continue;
        }
        side *kept = sc_new(ctx->scratch, side);
        *kept = now;
        sc_map_add(&c->sides, now.data->key, kept);
    }
    return SC_OK;
}

static sc_status check_graph(sc_ctx *ctx, sc_graph *graph, void *user) {
    for (const sc_node *node = graph->first; node; node = node->next) {
        const sc_part *part = sc_node_part(node);
        if (part) SC_TRY(check_part(ctx, user, part, graph));
    }
    return SC_OK;
}

sc_status sc_named_data_check(sc_ctx *ctx, const sc_program *program) {
    const sc_mark mark = sc_arena_mark(ctx->scratch);
    checking c;
    sc_status status = SC_OK;
    sc_map_init(&c.sides, ctx->scratch);
    for (uint32_t m = 0; m < program->methods.count && status == SC_OK; m++) {
        sc_where_set_method(ctx, program->methods.data[m]);
        status = sc_graphs_visit(ctx, program->methods.data[m]->graph, check_graph, &c);
    }
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}
