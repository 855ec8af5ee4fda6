// Writes the gaps between a run and its reference as JSON.
#include "devtools/inspect/report.h"

static void put_pair(sc_json_writer *w, const sc_inspect_pair *pair, bool is_placed) {
    sc_json_begin_object(w);
    sc_json_key(w, "reference");
    sc_numbers_put(w, pair->reference, is_placed);
    sc_json_key(w, "found");
    sc_numbers_put(w, pair->found, is_placed);
    sc_json_key(w, "gap");
    sc_gap_put(w, &pair->gap);
    sc_json_end_object(w);
}

static void put_names(sc_json_writer *w, const char *key, const sc_str *names, uint32_t count) {
    sc_json_put_array(w, key);
    for (uint32_t i = 0; i < count; i++) sc_json_add_str(w, names[i]);
    sc_json_end_array(w);
}

typedef SC_VEC(const sc_inspect_node *) node_list;

static node_list nodes_of(sc_arena *arena, const sc_inspect_method *method,
                          sc_inspect_handles handles) {
    node_list nodes = {0};
    for (uint32_t h = 0; h < handles.count; h++) {
        const sc_inspect_node *n = NULL;
        while ((n = sc_inspect_node_of(method, handles.data[h], n))) sc_vec_push(arena, &nodes, n);
    }
    return nodes;
}

static void put_gap_row(sc_json_writer *w, const sc_inspection *in, const sc_inspect_gap_row *row,
                        bool is_placed) {
    sc_mark mark = sc_arena_mark(in->ctx->scratch);
    const node_list nodes = nodes_of(in->ctx->scratch, row->method, row->aot);
    sc_json_begin_object(w);
    sc_json_put_str(w, "method", row->method->name);
    sc_json_put_u64(w, "block", row->block);
    sc_json_put_u64(w, "event", row->event);
    sc_inspect_put_handles(w, "aotHandles", row->aot);
    sc_json_put_array(w, "aotOps");
    for (uint32_t i = 0; i < nodes.count; i++) sc_json_add_str(w, nodes.data[i]->name);
    sc_json_end_array(w);
    sc_inspect_put_handles(w, "runtimeHandles", row->runtime);
    put_names(w, "runtimeOps", row->runtime_ops, row->runtime_op_count);
    sc_inspect_put_nodes(w, nodes.data, nodes.count);
    sc_json_put_array(w, "outputs");
    for (uint32_t i = 0; i < row->pair_count; i++) put_pair(w, &row->pairs[i], is_placed);
    sc_json_end_array(w);
    sc_json_end_object(w);
    sc_arena_rewind(in->ctx->scratch, mark);
}

void sc_inspect_put_gaps(sc_json_writer *w, const sc_inspection *in, const sc_inspect_gaps *gaps) {
    sc_json_put_array(w, "rows");
    for (uint32_t i = 0; i < gaps->rows.count; i++)
        put_gap_row(w, in, &gaps->rows.data[i], gaps->are_placed);
    sc_json_end_array(w);
    sc_json_put_array(w, "skipped");
    for (uint32_t i = 0; i < gaps->skipped.count; i++) {
        const sc_inspect_skip *skip = &gaps->skipped.data[i];
        sc_json_begin_object(w);
        sc_json_put_str(w, "method", skip->method->name);
        sc_json_put_u64(w, "block", skip->block);
        sc_json_put_u64(w, "event", skip->event);
        sc_json_put_str(w, "name", in->blocks[skip->block].events[skip->event].name);
        sc_json_put_text(w, "reason", skip->reason);
        sc_json_end_object(w);
    }
    sc_json_end_array(w);
}
