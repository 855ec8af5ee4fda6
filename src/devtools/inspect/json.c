// Writes events, totals and timelines as JSON.
#include "devtools/inspect/report.h"

void sc_inspect_put_perf(sc_json_writer *w, const char *key, const sc_perf *perf) {
    sc_json_put_object(w, key);
    sc_json_put_array(w, "raw");
    for (uint32_t i = 0; i < perf->count; i++) sc_json_add_f64(w, perf->raw[i]);
    sc_json_end_array(w);
    sc_json_put_f64(w, "p10", perf->p10);
    sc_json_put_f64(w, "p50", perf->p50);
    sc_json_put_f64(w, "p90", perf->p90);
    sc_json_put_f64(w, "avg", perf->average);
    sc_json_put_f64(w, "min", perf->min);
    sc_json_put_f64(w, "max", perf->max);
    sc_json_end_object(w);
}

void sc_inspect_put_handles(sc_json_writer *w, const char *key, sc_inspect_handles handles) {
    sc_json_put_array(w, key);
    for (uint32_t i = 0; i < handles.count; i++) sc_json_add_i64(w, handles.data[i]);
    sc_json_end_array(w);
}

static void put_node(sc_json_writer *w, const sc_inspect_node *node) {
    sc_json_begin_object(w);
    sc_json_put_str(w, "name", node->name);
    sc_json_put_str(w, "op", node->op);
    sc_json_put_i64(w, "handle", node->handle);
    sc_json_put_str(w, "source", node->source);
    sc_json_put_str(w, "stackTrace", node->stack_trace);
    sc_json_put_array(w, "modules");
    for (uint32_t i = 0; i < node->module_count; i++) {
        sc_json_begin_object(w);
        sc_json_put_str(w, "path", node->modules[i].path);
        sc_json_put_str(w, "class", node->modules[i].class_name);
        sc_json_end_object(w);
    }
    sc_json_end_array(w);
    sc_json_end_object(w);
}

void sc_inspect_put_nodes(sc_json_writer *w, const sc_inspect_node *const *nodes, uint32_t count) {
    sc_json_put_array(w, "nodes");
    for (uint32_t i = 0; i < count; i++) put_node(w, nodes[i]);
    sc_json_end_array(w);
}

void sc_inspect_put_ops(sc_json_writer *w, sc_arena *scratch, const sc_inspect_event *e) {
    const sc_str *ops;
    sc_mark mark = sc_arena_mark(scratch);
    const uint32_t count = sc_inspect_ops(scratch, e, &ops);
    sc_json_put_array(w, "ops");
    for (uint32_t i = 0; i < count; i++) sc_json_add_str(w, ops[i]);
    sc_json_end_array(w);
    sc_arena_rewind(scratch, mark);
}

// --- Events --------------------------------------------------------------------------------------

static void put_values_of(sc_json_writer *w, sc_numbers_list list) {
    for (uint32_t i = 0; i < list.count; i++) sc_numbers_put(w, &list.items[i], false);
}

// Only one value at a time is in memory.
static sc_status put_values(sc_json_writer *w, sc_ctx *ctx, const char *key,
                            const sc_dump_value *const *values, uint32_t count) {
    sc_arena arena;
    sc_status status = SC_OK;
    sc_json_put_array(w, key);
    for (uint32_t i = 0; i < count && status == SC_OK; i++) {
        sc_numbers_list list = {0};
        sc_arena_init(&arena);
        status = sc_numbers_of(ctx, &arena, values[i], &list);
        if (status == SC_OK) put_values_of(w, list);
        sc_arena_deinit(&arena);
    }
    sc_json_end_array(w);
    return status;
}

static bool is_text(sc_str bytes) {
    for (size_t i = 0; i < bytes.size; i++)
        if ((uint8_t)bytes.data[i] >= 0x7f ||
            ((uint8_t)bytes.data[i] < 0x20 && !strchr("\t\r\n", bytes.data[i])))
            return false;
    return true;
}

// Writes ASCII unchanged, and other bytes as hexadecimal digits.
static void put_metadata(sc_json_writer *w, sc_arena *scratch, sc_str bytes) {
    if (!bytes.size) {
        sc_json_put_null(w, "metadata");
        sc_json_put_bool(w, "isMetadataText", true);
        return;
    }
    sc_mark mark = sc_arena_mark(scratch);
    sc_sb text;
    sc_sb_init(&text, scratch);
    for (size_t i = 0; i < bytes.size && !is_text(bytes); i++)
        sc_sb_addf(&text, "%02x", (uint8_t)bytes.data[i]);
    sc_json_put_str(w, "metadata", text.size ? sc_sb_str(&text) : bytes);
    sc_json_put_bool(w, "isMetadataText", is_text(bytes));
    sc_arena_rewind(scratch, mark);
}

static void put_delegate_id(sc_json_writer *w, const sc_inspect_event *e) {
    if (e->delegate_str.data)
        sc_json_put_str(w, "delegateId", e->delegate_str);
    else if (e->is_delegated)
        sc_json_put_i64(w, "delegateId", e->delegate_int);
    else
        sc_json_put_null(w, "delegateId");
}

static double since_origin(const sc_inspection *in, uint64_t ticks) {
    return (double)(ticks - in->origin) / in->factor;
}

static void put_place(sc_json_writer *w, const sc_inspection *in, const sc_inspect_event *e) {
    sc_json_put_i64(w, "chain", e->chain);
    sc_json_put_i64(w, "instruction", e->instruction);
    if (e->has_time)
        sc_inspect_put_perf(w, "perf", &e->perf);
    else
        sc_json_put_null(w, "perf");
    sc_json_put_u64(w, "calls", e->calls);
    if (e->threads)
        sc_json_put_u64(w, "threads", e->threads);
    else
        sc_json_put_null(w, "threads");
    if (e->has_time && e->start >= in->origin)
        sc_json_put_f64(w, "start", since_origin(in, e->start));
    else
        sc_json_put_null(w, "start");
    if (e->parent == SC_INSPECT_NONE)
        sc_json_put_null(w, "parent");
    else
        sc_json_put_u64(w, "parent", e->parent);
}

static sc_status put_event(sc_json_writer *w, const sc_inspection *in, const sc_inspect_event *e) {
    sc_json_begin_object(w);
    sc_json_put_str(w, "name", e->name);
    put_place(w, in, e);
    sc_json_put_bool(w, "isDelegated", e->is_delegated);
    put_delegate_id(w, e);
    if (e->backend.size)
        sc_json_put_str(w, "backend", e->backend);
    else
        sc_json_put_null(w, "backend");
    put_metadata(w, in->ctx->scratch, e->metadata);
    sc_inspect_put_handles(w, "handles", e->handles);
    sc_inspect_put_ops(w, in->ctx->scratch, e);
    sc_inspect_put_nodes(w, e->nodes, e->node_count);
    SC_TRY(put_values(w, in->ctx, "values", e->values, e->value_count));
    sc_json_put_bool(w, "isWrapper", e->is_wrapper);
    sc_json_end_object(w);
    return SC_OK;
}

// --- Blocks --------------------------------------------------------------------------------------

static void put_allocations(sc_json_writer *w, const sc_inspection *in,
                            const sc_inspect_block *block) {
    const sc_dump_run *run = &in->dump->runs[block->runs[0]];
    sc_mark mark = sc_arena_mark(in->ctx->scratch);
    uint64_t *counts =
        sc_new_array(in->ctx->scratch, uint64_t, 2 * ((size_t)run->allocator_count + 1));
    for (uint32_t i = 0; i < run->event_count; i++) {
        const sc_dump_event *e = &run->events[i];
        if (e->kind != SC_DUMP_ALLOCATION) continue;
        const uint32_t at = sc_min_u32(e->allocator, run->allocator_count);
        counts[2 * at]++;
        counts[2 * at + 1] += e->bytes;
    }
    sc_json_put_array(w, "allocations");
    for (uint32_t i = 0; i <= run->allocator_count; i++) {
        if (i == run->allocator_count && counts[2 * i] == 0) continue;
        sc_json_begin_object(w);
        sc_json_put_str(w, "allocator",
                        i < run->allocator_count ? run->allocators[i] : SC_STR("unknown"));
        sc_json_put_u64(w, "count", counts[2 * i]);
        sc_json_put_u64(w, "bytes", counts[2 * i + 1]);
        sc_json_end_object(w);
    }
    sc_json_end_array(w);
    sc_arena_rewind(in->ctx->scratch, mark);
}

static void put_head(sc_json_writer *w, const sc_inspect_block *block) {
    static const char *const CHOICES[] = {"unknown", "asked", "only", "matched"};
    sc_json_put_str(w, "name", block->name);
    if (block->method)
        sc_json_put_str(w, "method", block->method->name);
    else
        sc_json_put_null(w, "method");
    sc_json_put_text(w, "choice", CHOICES[block->choice]);
    sc_json_put_u64(w, "runs", block->run_count);
    sc_json_put_array(w, "runIndices");
    for (uint32_t i = 0; i < block->run_count; i++) sc_json_add_u64(w, block->runs[i]);
    sc_json_end_array(w);
    sc_json_put_i64(w, "bundledInputIndex", block->bundled_index);
    if (block->event_count)
        sc_inspect_put_perf(w, "total", &block->total);
    else
        sc_json_put_null(w, "total");
}

static sc_status put_block(sc_json_writer *w, const sc_inspection *in,
                           const sc_inspect_block *block) {
    sc_json_begin_object(w);
    put_head(w, block);
    sc_json_put_array(w, "events");
    for (uint32_t i = 0; i < block->event_count; i++) SC_TRY(put_event(w, in, &block->events[i]));
    sc_json_end_array(w);
    SC_TRY(put_values(w, in->ctx, "outputs", block->outputs, block->output_count));
    put_allocations(w, in, block);
    sc_json_end_object(w);
    return SC_OK;
}

sc_status sc_inspect_put_events(sc_json_writer *w, const sc_inspection *in) {
    sc_json_begin_array(w);
    for (uint32_t i = 0; i < in->block_count; i++) SC_TRY(put_block(w, in, &in->blocks[i]));
    sc_json_end_array(w);
    return SC_OK;
}

// --- Totals --------------------------------------------------------------------------------------

void sc_inspect_put_totals(sc_json_writer *w, const sc_inspection *in, bool by_module) {
    const sc_inspect_total *rows;
    sc_mark mark = sc_arena_mark(in->ctx->scratch);
    const uint32_t count = sc_inspect_totals(in, in->ctx->scratch, by_module, &rows);
    sc_json_begin_array(w);
    for (uint32_t i = 0; i < count; i++) {
        sc_json_begin_object(w);
        sc_json_put_u64(w, "block", rows[i].block);
        sc_json_put_str(w, "name", rows[i].name);
        sc_json_put_str(w, "class", rows[i].class_name);
        sc_json_put_u64(w, "events", rows[i].events);
        sc_json_put_f64(w, "time", rows[i].time);
        sc_json_put_f64(w, "share", rows[i].share);
        sc_json_put_f64(w, "self", rows[i].self);
        sc_json_put_f64(w, "delegated", rows[i].delegated);
        sc_json_end_object(w);
    }
    sc_json_end_array(w);
    sc_arena_rewind(in->ctx->scratch, mark);
}
