// The fate of each node of a program that was lowered to backends, as JSON.
#include "api/compiling.h"
#include "core/stack_trace.h"

// --- Delegates -----------------------------------------------------------------------------------

typedef struct share {
    uint32_t nodes;
    double macs, bytes;
} share;

// The sums over the rows of each part of a method.
typedef struct shares {
    sc_arena *scratch;
    sc_map of;  // "graph part" -> share
} shares;

// Graphs are paths of names, which contain no NUL.
static sc_str share_key(sc_arena *scratch, sc_str graph, const sc_name *part) {
    sc_sb key;
    sc_sb_init(&key, scratch);
    sc_sb_add(&key, graph);
    sc_sb_add_char(&key, 0);
    sc_sb_add(&key, sc_name_str(part));
    return sc_sb_str(&key);
}

static share *share_of(shares *all, sc_str graph, const sc_name *part) {
    sc_str key = share_key(all->scratch, graph, part);
    share *found = sc_map_get(&all->of, key);
    if (found) return found;
    found = sc_new(all->scratch, share);
    sc_map_set(&all->of, key, found);
    return found;
}

static void sum_rows(shares *all, const sc_delegation *d, const sc_name *method) {
    sc_map_init(&all->of, all->scratch);
    for (uint32_t i = 0; i < d->rows.count; i++) {
        const sc_delegation_row *row = &d->rows.data[i];
        if (row->method != method || !row->part) continue;
        share *sum = share_of(all, row->graph, row->part);
        sum->nodes++;
        sum->macs += row->macs;
        sum->bytes += row->bytes;
    }
}

// Delegates with numbers from the backend have their number as a key.
static void add_events(sc_json_writer *w, sc_arena *scratch, const sc_part *part) {
    sc_json_begin_object(w);
    for (uint32_t i = 0; i < part->events.count; i++) {
        const sc_part_event *event = &part->events.data[i];
        sc_json_key_str(w, event->name.data ? event->name
                                            : sc_str_format(scratch, "%lld", (long long)event->id));
        sc_json_begin_array(w);
        for (uint32_t k = 0; k < event->handle_count; k++) sc_json_add_u64(w, event->handles[k]);
        sc_json_end_array(w);
    }
    sc_json_end_object(w);
}

static void add_part(sc_json_writer *w, shares *all, sc_str graph, const sc_part *part) {
    const share sum = *share_of(all, graph, part->method->name);
    uint64_t data = 0;
    for (uint32_t i = 0; i < part->data.count; i++) data += part->data.data[i].bytes->size;
    sc_json_begin_object(w);
    sc_json_put_str(w, "name", sc_name_str(part->method->name));
    sc_json_put_str(w, "backend", part->backend);
    sc_json_put_str(w, "graph", graph);
    sc_json_put_u64(w, "nodes", sum.nodes);
    sc_json_put_f64(w, "macs", sum.macs);
    sc_json_put_f64(w, "bytes", sum.bytes);
    sc_json_put_u64(w, "processedBytes", part->processed->size);
    sc_json_put_u64(w, "dataBytes", data);
    sc_json_key(w, "debugHandleMap");
    if (part->has_events)
        add_events(w, all->scratch, part);
    else
        sc_json_add_null(w);
    sc_json_end_object(w);
}

static void add_parts(sc_json_writer *w, shares *all, const sc_graph *graph) {
    sc_str path = sc_graph_path(all->scratch, graph);
    for (const sc_node *node = graph->first; node; node = node->next) {
        if (sc_node_part(node)) add_part(w, all, path, sc_node_part(node));
        for (uint32_t i = 0; i < node->arg_count; i++)
            if (node->args[i].kind == SC_ARG_GRAPH) add_parts(w, all, node->args[i].graph);
    }
}

// --- Nodes ---------------------------------------------------------------------------------------

// The node of the exported program that it comes from; for a node of a body, with the body's path.
static sc_str origin_of(sc_arena *scratch, const sc_delegation_row *row) {
    if (row->meta.origin) return sc_name_str(row->meta.origin);
    if (row->graph.size == 0) return sc_name_str(row->node);
    return sc_str_format(scratch, SC_STR_FMT "/%s", SC_STR_ARG(row->graph), row->node->text);
}

static void add_row(sc_json_writer *w, sc_arena *scratch, const sc_delegation_row *row) {
    sc_json_begin_object(w);
    sc_json_put_str(w, "name", sc_name_str(row->node));
    sc_json_put_str(w, "origin", origin_of(scratch, row));
    sc_json_put_text(w, "op", row->op->name);
    sc_json_put_str(w, "graph", row->graph);
    sc_json_put_str(w, "source", sc_stack_trace_source(scratch, row->meta.stack_trace));
    if (row->part)
        sc_json_put_str(w, "delegate", sc_name_str(row->part));
    else
        sc_json_put_null(w, "delegate");
    sc_json_put_str(w, "backend", row->backend);
    sc_json_put_str(w, "reason", row->reason);
    sc_json_put_str(w, "hint", row->hint);
    sc_json_put_f64(w, "macs", row->macs);
    sc_json_put_f64(w, "bytes", row->bytes);
    sc_json_end_object(w);
}

static void add_method(sc_json_writer *w, sc_arena *scratch, const sc_delegation *d,
                       const sc_method *method) {
    shares all = {.scratch = scratch};
    sum_rows(&all, d, method->name);
    sc_json_key_str(w, sc_name_str(method->name));
    sc_json_begin_object(w);
    sc_json_put_array(w, "delegates");
    add_parts(w, &all, method->graph);
    sc_json_end_array(w);
    sc_json_put_array(w, "nodes");
    for (uint32_t i = 0; i < d->rows.count; i++)
        if (d->rows.data[i].method == method->name) add_row(w, scratch, &d->rows.data[i]);
    sc_json_end_array(w);
    sc_json_end_object(w);
}

sc_status sc_compile_delegation(sc_job *job, uint32_t number, sc_str *json) {
    sc_ctx *ctx = sc_job_begin(job);
    sc_version *version = NULL;
    SC_TRY(sc_job_version(job, number, &version));
    sc_sb sb = sc_job_text(job);
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_json_writer w;
    sc_json_writer_init(&w, &sb, SC_JSON_COMPACT);
    sc_json_begin_object(&w);
    for (uint32_t i = 0; i < version->program->methods.count; i++)
        add_method(&w, ctx->scratch, &version->delegation, version->program->methods.data[i]);
    sc_json_end_object(&w);
    sc_arena_rewind(ctx->scratch, mark);
    *json = sc_sb_str(&sb);
    return SC_OK;
}
