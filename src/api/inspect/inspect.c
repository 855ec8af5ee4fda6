// A report of a compilation, as JSON. Hosts and pages show it and compute nothing.
#include "api/compiling.h"
#include "api/inspect/signature.h"
#include "backend/node_json.h"

// --- Methods -------------------------------------------------------------------------------------

static void count_ops(sc_map *counts, const sc_graph *graph, uint32_t depth) {
    for (const sc_node *node = graph->first; node; node = node->next) {
        sc_str name = sc_str_from(node->op->name);
        uintptr_t seen = (uintptr_t)sc_map_get(counts, name);
        sc_map_set(counts, name, (void *)(seen + 1));
        for (uint32_t i = 0; i < node->arg_count && depth > 0; i++)
            if (node->args[i].kind == SC_ARG_GRAPH)
                count_ops(counts, node->args[i].graph, depth - 1);
    }
}

static void add_ops(sc_json_writer *w, sc_ctx *ctx, const sc_method *method) {
    sc_map counts;
    sc_map_init(&counts, ctx->scratch);
    count_ops(&counts, method->graph, ctx->limits.graph_depth_max);
    sc_json_put_object(w, "ops");
    for (uint32_t i = 0; i < counts.count; i++) {
        sc_json_key_str(w, counts.entries[i].key);
        sc_json_add_u64(w, (uintptr_t)counts.entries[i].value);
    }
    sc_json_end_object(w);
}

// One size of a value: the value, and the dimension.
typedef struct symbol_place {
    const sc_value *value;
    uint32_t dim;
} symbol_place;

// The first size of a method that equals a symbol, among inputs only, and the first that depends on
// the symbol.
typedef struct symbol_places {
    symbol_place is, part;
} symbol_places;

typedef struct placing {
    symbol_places *of;  // by symbol index
    uint32_t count;
    symbol_place at;
} placing;

static void note_part(void *user, sc_symbol *symbol) {
    placing *p = user;
    uint32_t index = sc_symbol_index(symbol);
    if (index < p->count && !p->of[index].part.value) p->of[index].part = p->at;
}

static void note_value(placing *p, const sc_value *value, bool is_input) {
    uint32_t rank = value->type == SC_VALUE_TENSOR ? value->spec.rank : 0;
    for (uint32_t d = 0; d < rank; d++) {
        const sc_symbol *symbol = is_input ? sc_dim_symbol(value->spec.sizes[d]) : NULL;
        uint32_t index = symbol ? sc_symbol_index(symbol) : p->count;
        p->at = (symbol_place){value, d};
        if (index < p->count && !p->of[index].is.value) p->of[index].is = p->at;
        sc_dim_visit_symbols(value->spec.sizes[d], note_part, p);
    }
}

static sc_status note_results(sc_ctx *ctx, sc_graph *graph, void *user) {
    (void)ctx;
    for (const sc_node *node = graph->first; node; node = node->next)
        for (uint32_t i = 0; i < node->out_count; i++) note_value(user, node->outs[i], false);
    return SC_OK;
}

static void put_place(sc_json_writer *w, sc_arena *arena, const char *key, symbol_place at) {
    sc_json_key(w, key);
    if (at.value)
        sc_json_add_str(w, sc_str_format(arena, "%s.%u", at.value->name->text, at.dim));
    else
        sc_json_add_null(w);
}

static sc_status add_symbols(sc_json_writer *w, sc_ctx *ctx, const sc_method *method) {
    uint32_t count = sc_exprs_symbol_count(method->exprs);
    placing found = {.count = count};
    found.of = sc_new_array(ctx->scratch, symbol_places, (size_t)count + 1);
    for (uint32_t i = 0; i < method->graph->inputs.count; i++)
        note_value(&found, method->graph->inputs.data[i], true);
    SC_TRY(sc_graphs_visit(ctx, method->graph, note_results, &found));
    sc_json_put_array(w, "symbols");
    for (uint32_t i = 0; i < count; i++) {
        const sc_symbol *symbol = sc_exprs_symbol_at(method->exprs, i);
        sc_json_begin_object(w);
        sc_json_put_str(w, "name", sc_name_str(symbol->name));
        sc_symbol_put_range_json(w, symbol);
        sc_dim_put_bound_json(w, "example", symbol->has_hint ? symbol->hint : SC_DIM_INF);
        put_place(w, ctx->scratch, "size", found.of[i].is);
        put_place(w, ctx->scratch, "place", found.of[i].part);
        sc_json_end_object(w);
    }
    sc_json_end_array(w);
    return SC_OK;
}

static sc_status add_method(sc_json_writer *w, sc_ctx *ctx, const sc_method *method) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_json_begin_object(w);
    sc_json_put_str(w, "name", sc_name_str(method->name));
    sc_json_put_u64(w, "nodes", method->graph->node_count);
    sc_method_put_signature(w, ctx->scratch, method);
    add_ops(w, ctx, method);
    SC_TRY(add_symbols(w, ctx, method));
    sc_json_end_object(w);
    sc_arena_rewind(ctx->scratch, mark);
    return SC_OK;
}

// --- Versions, plans, outputs --------------------------------------------------------------------

static sc_status add_version(sc_json_writer *w, sc_job *job, const sc_version *version,
                             uint32_t number) {
    sc_ctx *ctx = &job->ctx;
    sc_json_begin_object(w);
    sc_json_put_u64(w, "program", number);
    sc_json_put_u64(w, "from", version->from);
    sc_json_put_text(w, "stage", sc_dialect_name(version->dialect));
    sc_json_put_f64(w, "ms", version->ms);
    sc_json_put_f64(w, "emit_ms", version->emit_ms);
    sc_json_put_array(w, "timings");
    for (uint32_t i = 0; i < version->timings.count; i++) {
        const sc_pass_timing *timing = &version->timings.data[i];
        sc_json_begin_object(w);
        sc_json_put_str(w, "pass", timing->pass);
        sc_json_put_str(w, "method", sc_name_str(timing->method));
        sc_json_put_f64(w, "ms", timing->ms);
        sc_json_put_u64(w, "nodes", timing->node_count);
        sc_json_end_object(w);
    }
    sc_json_end_array(w);
    sc_json_put_array(w, "methods");
    for (uint32_t i = 0; version->program && i < version->program->methods.count; i++)
        SC_TRY(add_method(w, ctx, version->program->methods.data[i]));
    sc_json_end_array(w);
    sc_version_put_diagnostics(w, job, version);
    sc_json_end_object(w);
    return SC_OK;
}

static void add_plan(sc_json_writer *w, const sc_method_plan *plan) {
    sc_json_begin_object(w);
    sc_json_put_u64(w, "program", plan->program);
    sc_json_put_str(w, "method", sc_name_str(plan->method));
    sc_json_put_text(w, "algorithm", plan->report.algorithm);
    sc_json_put_u64(w, "planned_bytes", plan->report.planned_bytes);
    sc_json_put_u64(w, "live_bytes", plan->report.live_bytes);
    sc_json_put_u64(w, "naive_bytes", plan->report.naive_bytes);
    sc_json_put_u64(w, "moments", plan->report.moment_count);
    sc_json_put_array(w, "items");
    for (uint32_t i = 0; i < plan->report.items.count; i++) {
        const sc_place_item *item = &plan->report.items.data[i];
        sc_json_begin_object(w);
        sc_json_put_str(w, "value", sc_name_str(item->value));
        sc_json_put_u64(w, "bytes", item->bytes);
        sc_json_put_u64(w, "offset", item->offset);
        sc_json_put_u64(w, "first", item->first);
        sc_json_put_u64(w, "last", item->last);
        sc_json_put_u64(w, "memory_id", item->memory_id);
        sc_json_end_object(w);
    }
    sc_json_end_array(w);
    sc_json_end_object(w);
}

// Weights that share bytes of their archive, in one method or in several, count once. Equal weights
// of different archives count separately, because only the emitter compares contents.
static uint64_t constant_bytes(const sc_job *job) {
    uint64_t total = 0;
    const sc_program *program = sc_job_compiling(job)->versions.data[0].program;
    sc_arena *scratch = job->ctx.scratch;
    sc_mark mark = sc_arena_mark(scratch);
    sc_map seen;
    sc_map_init(&seen, scratch);
    for (uint32_t m = 0; m < program->methods.count; m++)
        for (uint32_t i = 0; i < program->methods.data[m]->inputs.count; i++) {
            const sc_constant *constant = program->methods.data[m]->inputs.data[i].constant;
            if (!constant || !constant->data.size) continue;
            uint64_t place[] = {(uintptr_t)constant->data.source, constant->data.offset,
                                constant->data.size};
            sc_str key = sc_str_copy(scratch, (sc_str){(const char *)place, sizeof place});
            if (sc_map_add(&seen, key, place)) total += constant->data.size;
        }
    sc_arena_rewind(scratch, mark);
    return total;
}

sc_status sc_compile_inspect(sc_job *job, sc_str *json) {
    if (sc_job_compiling(job)->versions.count == 0)
        return sc_fail(&job->ctx, SC_ERR_STATE, NULL, "open a .pt2 first");
    sc_sb sb = sc_job_text(job);
    sc_json_writer w;
    sc_json_writer_init(&w, &sb, SC_JSON_COMPACT);
    sc_json_begin_object(&w);
    sc_json_put_array(&w, "stages");
    for (uint32_t i = 0; i < sc_job_compiling(job)->versions.count; i++)
        SC_TRY(add_version(&w, job, &sc_job_compiling(job)->versions.data[i], i));
    sc_json_end_array(&w);
    sc_json_put_u64(&w, "constant_bytes", constant_bytes(job));
    sc_json_put_array(&w, "plans");
    for (uint32_t i = 0; i < sc_job_compiling(job)->plans.count; i++)
        add_plan(&w, &sc_job_compiling(job)->plans.data[i]);
    sc_json_end_array(&w);
    sc_json_put_array(&w, "outputs");
    for (uint32_t i = 0; i < job->outputs.count; i++) {
        if (job->outputs.data[i].program == SC_NO_PROGRAM) continue;
        sc_json_begin_object(&w);
        sc_json_put_u64(&w, "program", job->outputs.data[i].program);
        sc_json_put_str(&w, "name", job->outputs.data[i].name);
        sc_json_put_u64(&w, "bytes", job->outputs.data[i].cord.size);
        sc_json_end_object(&w);
    }
    sc_json_end_array(&w);
    sc_job_put_diagnostics(&w, job);
    sc_json_put_u64(&w, "heap_bytes", job->arena.held_bytes + job->scratch.held_bytes);
    sc_json_end_object(&w);
    *json = sc_sb_str(&sb);
    return SC_OK;
}

// --- One program ---------------------------------------------------------------------------------

static sc_status method_of(sc_job *job, const sc_program *program, sc_str name,
                           const sc_method **out) {
    *out = sc_program_method(program, name);
    if (!*out)
        return sc_fail(&job->ctx, SC_ERR_NOT_FOUND, NULL, "there is no method '" SC_STR_FMT "'",
                       SC_STR_ARG(name));
    return SC_OK;
}

sc_status sc_compile_text(sc_job *job, uint32_t number, sc_str method, sc_str *text) {
    sc_version *version = NULL;
    const sc_method *one = NULL;
    SC_TRY(sc_job_version(job, number, &version));
    if (method.size) SC_TRY(method_of(job, version->program, method, &one));
    sc_sb sb = sc_job_text(job);
    sc_print_options options = {.signature = true};
    if (one)
        sc_graph_print(&sb, one->graph, options);
    else
        sc_program_print(&sb, version->program, options);
    *text = sc_sb_str(&sb);
    return SC_OK;
}

sc_status sc_compile_nodes(sc_job *job, uint32_t number, sc_str method, sc_str *json) {
    sc_version *version = NULL;
    const sc_method *one = NULL;
    SC_TRY(sc_job_version(job, number, &version));
    SC_TRY(method_of(job, version->program, method, &one));
    sc_sb sb = sc_job_text(job);
    sc_json_writer w;
    sc_json_writer_init(&w, &sb, SC_JSON_COMPACT);
    sc_json_begin_array(&w);
    for (const sc_node *node = one->graph->first; node; node = node->next)
        sc_node_add_json(&w, job->ctx.scratch, node);
    sc_json_end_array(&w);
    *json = sc_sb_str(&sb);
    return SC_OK;
}
