// Gives every value of every method its place.
//
// Memory id 1 is the method's own arena. Mutable buffers of a program with one method live there
// too, for the whole run. With several methods they move to memory id 2, at offsets that no two
// methods use for different buffers. Runtimes put the arenas of all methods of a program into the
// same memory, so the next method that runs would overwrite state in id 1.
#include "plan/place.h"

#include "ir/dynamic_sizes.h"
#include "plan/liveness.h"
#include "plan/views.h"

enum { MEMORY_OWN = 1, MEMORY_STATE = 2, ALIGN = 16 };

// --- Mutable buffers of several methods ----------------------------------------------------------

// A shared buffer that one method writes is state for every method that reads it. So is a shared
// tensor that is a constant in the methods that only read it.
static void mark_shared(sc_arena *arena, sc_storage_table *tables, uint32_t count) {
    sc_map written;
    sc_map_init(&written, arena);
    for (uint32_t m = 0; m < count; m++)
        for (uint32_t i = 0; i < tables[m].items.count; i++)
            if (tables[m].items.data[i].kind == SC_STORAGE_MUTABLE)
                sc_map_set(&written, tables[m].items.data[i].constant->name, &written);
    for (uint32_t m = 0; m < count; m++) {
        const sc_method *method = tables[m].method;
        for (uint32_t i = 0; i < method->inputs.count; i++) {
            sc_storage *storage = sc_storage_of(&tables[m], method->graph->inputs.data[i]);
            sc_input_kind kind = method->inputs.data[i].kind;
            if ((kind == SC_INPUT_BUFFER || kind == SC_INPUT_CONSTANT_TENSOR) &&
                storage->kind == SC_STORAGE_CONSTANT &&
                sc_map_get(&written, storage->constant->name))
                storage->kind = SC_STORAGE_MUTABLE;
        }
    }
}

static sc_status check_same_buffer(sc_ctx *ctx, const sc_storage *a, const sc_storage *b) {
    if (sc_spec_equal(&a->constant->spec, &b->constant->spec)) return SC_OK;
    return sc_fail(
        ctx, SC_ERR_MISMATCH, "Export all methods from one module, or do not share state.",
        "buffer '" SC_STR_FMT "' has different shapes or dtypes in the methods that share it",
        SC_STR_ARG(a->constant->name));
}

static sc_status place_state(sc_ctx *ctx, sc_storage_table *tables, uint32_t count,
                             const sc_options *options) {
    uint64_t end = 0;
    sc_map placed;
    sc_map_init(&placed, ctx->arena);
    for (uint32_t m = 0; m < count; m++) {
        for (uint32_t i = 0; i < tables[m].items.count; i++) {
            sc_storage *storage = &tables[m].items.data[i];
            if (storage->kind != SC_STORAGE_MUTABLE) continue;
            sc_str name = storage->constant->name;
            const sc_storage *same =
                options->share_mutable_buffers ? sc_map_get(&placed, name) : NULL;
            storage->memory_id = MEMORY_STATE;
            if (same) {
                SC_TRY(check_same_buffer(ctx, same, storage));
                storage->offset = same->offset;
                continue;
            }
            storage->offset = end;
            end += sc_align_up(storage->constant->data.size, ALIGN);
            if (options->share_mutable_buffers) sc_map_set(&placed, name, storage);
        }
    }
    for (uint32_t m = 0; m < count && end > 0; m++) {
        while (tables[m].buffer_bytes.count < MEMORY_STATE)
            sc_vec_push(ctx->arena, &tables[m].buffer_bytes, 0);
        tables[m].buffer_bytes.data[MEMORY_STATE - 1] = end;
    }
    return SC_OK;
}

static const char smaller_model[] = "Use a smaller model: WebAssembly has no more memory.";

// --- One method ----------------------------------------------------------------------------------

static bool is_placed_here(const sc_storage *storage) {
    return (storage->kind == SC_STORAGE_PLANNED || storage->kind == SC_STORAGE_MUTABLE) &&
           storage->memory_id == 0;
}

static sc_status item_bytes(sc_ctx *ctx, const sc_storage *storage, uint64_t *out) {
    if (!sc_spec_bytes_max(&storage->value->spec, out))
        return sc_fail(ctx, SC_ERR_UNBOUNDED, NULL,
                       "the size of '%s' has no upper bound, so no memory can be planned for it",
                       storage->value->name->text);
    if (*out <= ctx->limits.planned_bytes_max) return SC_OK;
    sc_open_symbols open = {.arena = ctx->scratch, .bounded = true};
    sc_open_add_sizes(&open, storage->value);
    return sc_fail(ctx, SC_ERR_LIMIT,
                   sc_bound_hint(ctx, &open, storage->value->graph->method, smaller_model),
                   "'%s' may need %llu bytes, but the limit is %llu", storage->value->name->text,
                   (unsigned long long)*out, (unsigned long long)ctx->limits.planned_bytes_max);
}

// All tensors together are too large, whichever is the largest.
static sc_status fail_total(sc_ctx *ctx, const sc_storage_table *table, const uint32_t *roots,
                            uint32_t count, uint64_t total) {
    sc_open_symbols open = {.arena = ctx->scratch, .bounded = true};
    for (uint32_t i = 0; i < count; i++)
        sc_open_add_sizes(&open, table->items.data[roots[i]].value);
    const sc_method *method = count ? table->items.data[roots[0]].value->graph->method : NULL;
    return sc_fail(ctx, SC_ERR_LIMIT, sc_bound_hint(ctx, &open, method, smaller_model),
                   "the method needs %llu bytes of memory to run at its largest sizes, but the "
                   "limit is %llu",
                   (unsigned long long)total, (unsigned long long)ctx->limits.planned_bytes_max);
}

static sc_status collect_items(sc_ctx *ctx, const sc_storage_table *table, const sc_liveness *live,
                               sc_plan_item *items, uint32_t *roots, uint32_t *count) {
    *count = 0;
    for (uint32_t i = 0; i < table->items.count; i++) {
        const sc_storage *storage = &table->items.data[i];
        if (!is_placed_here(storage)) continue;
        sc_interval at = live->intervals[i];
        sc_plan_item item = {.first = at.first, .last = at.last};
        SC_TRY(item_bytes(ctx, storage, &item.bytes));
        if (at.first > at.last)  // an unused input still needs a place
            item.first = item.last = 0;
        roots[*count] = i;
        items[(*count)++] = item;
    }
    return SC_OK;
}

static const sc_name *name_of(const sc_plan_request *request, uint32_t item) {
    return request->table->items.data[request->roots[item]].value->name;
}

// Checks what a planner of the host gave.
static sc_status check_plan(sc_ctx *ctx, const sc_plan_request *request, uint64_t total) {
    static const char hint[] = "Correct the planner: values that are in use at one moment must not "
                               "share bytes.";
    const sc_plan_fault fault =
        sc_plan_find_fault(ctx, request->items, request->count, request->align, 0, total);
    if (!fault.is_there) return SC_OK;
    const sc_plan_item *a = &request->items[fault.item], *b = &request->items[fault.other];
    if (fault.item == fault.other)
        return sc_fail(ctx, SC_ERR_ARGUMENT,
                       "Correct the planner: each offset is a multiple of the alignment.",
                       "the planner put '%s' at %llu, which is not a multiple of %u",
                       name_of(request, fault.item)->text, (unsigned long long)a->offset,
                       request->align);
    return sc_fail(
        ctx, SC_ERR_ARGUMENT, hint,
        "the planner put '%s' at %llu to %llu, but '%s' is at %llu to %llu at the same time",
        name_of(request, fault.item)->text, (unsigned long long)a->offset,
        (unsigned long long)(a->offset + a->bytes), name_of(request, fault.other)->text,
        (unsigned long long)b->offset, (unsigned long long)(b->offset + b->bytes));
}

static sc_status plan_by_host(sc_ctx *ctx, const sc_host_planners *host, uint32_t number,
                              sc_plan_request *request, uint64_t *total) {
    if (!host)
        return sc_fail(ctx, SC_ERR_ARGUMENT, "Give the name of a planner.",
                       "%u is the number of a planner of the host, but there is no host", number);
    // Errors are about values. The node that was worked on last has no part in them.
    ctx->where =
        (sc_where){.method = ctx->where.method, .pass = ctx->where.pass, .instruction = -1};
    SC_TRY(host->plan(host->user, number, request));
    *total = 0;
    for (uint32_t i = 0; i < request->count; i++) {
        uint64_t end = UINT64_MAX;
        const sc_plan_item *item = &request->items[i];
        if (!sc_add_u64(item->offset, item->bytes, &end) || end > ctx->limits.planned_bytes_max)
            return sc_fail(ctx, SC_ERR_LIMIT, "Give lower offsets.",
                           "the planner put '%s' at %llu, but memory ends at %llu bytes",
                           name_of(request, i)->text, (unsigned long long)item->offset,
                           (unsigned long long)ctx->limits.planned_bytes_max);
        *total = sc_max_u64(*total, end);
    }
    return check_plan(ctx, request, *total);
}

static sc_status run_planner(sc_ctx *ctx, const sc_planner *planner, const sc_host_planners *host,
                             sc_plan_request *request, uint64_t *total, const char **name) {
    sc_plan_item *items = request->items;
    const uint32_t count = request->count;
    *name = "host";
    if (planner->name.size == 0) return plan_by_host(ctx, host, planner->number, request, total);
    *name = "none";
    if (sc_str_is(planner->name, "best"))
        return sc_plan_best(ctx, items, count, ALIGN, 0, total, name);
    bool is_greedy = sc_str_is(planner->name, "greedy");
    *name = is_greedy ? "greedy" : "naive";
    SC_TRY((is_greedy ? sc_plan_greedy : sc_plan_naive)(ctx, items, count, ALIGN, 0, total));
    return sc_plan_verify(ctx, items, count, ALIGN, 0, *total);
}

static void report_items(sc_ctx *ctx, const sc_storage_table *table, const sc_plan_item *items,
                         const uint32_t *roots, uint32_t count, sc_place_report *report) {
    sc_vec_reserve(ctx->arena, &report->items, count);
    for (uint32_t i = 0; i < count; i++) {
        const sc_storage *storage = &table->items.data[roots[i]];
        sc_place_item item = {storage->value->name, items[i].bytes, items[i].offset,
                              items[i].first,       items[i].last,  MEMORY_OWN};
        sc_vec_push(ctx->arena, &report->items, item);
    }
}

static void report_state(sc_ctx *ctx, const sc_storage_table *table, sc_place_report *report) {
    for (uint32_t i = 0; i < table->items.count; i++) {
        const sc_storage *storage = &table->items.data[i];
        if (storage->kind != SC_STORAGE_MUTABLE || storage->memory_id != MEMORY_STATE) continue;
        sc_place_item item = {storage->value->name,     storage->constant->data.size,
                              storage->offset,          0,
                              report->moment_count - 1, MEMORY_STATE};
        sc_vec_push(ctx->arena, &report->items, item);
    }
}

static sc_status place_method(sc_ctx *ctx, sc_storage_table *table, const sc_planner *planner,
                              const sc_host_planners *host, sc_place_report *report) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_liveness live;
    SC_TRY(sc_liveness_compute(ctx, ctx->scratch, table, &live));
    sc_plan_item *items = sc_new_array(ctx->scratch, sc_plan_item, table->items.count + 1);
    uint32_t *roots = sc_new_array(ctx->scratch, uint32_t, table->items.count + 1), count = 0;
    SC_TRY(collect_items(ctx, table, &live, items, roots, &count));

    uint64_t total = 0;
    report->moment_count = live.moment_count;
    report->live_bytes = sc_plan_live_bytes(ctx, items, count, ALIGN);
    SC_TRY(sc_plan_naive(ctx, items, count, ALIGN, 0, &report->naive_bytes));
    sc_plan_request request = {table, roots, items, count, ALIGN, live.moment_count};
    SC_TRY(run_planner(ctx, planner, host, &request, &total, &report->algorithm));
    if (total > ctx->limits.planned_bytes_max) return fail_total(ctx, table, roots, count, total);
    for (uint32_t i = 0; i < count; i++) {
        table->items.data[roots[i]].memory_id = MEMORY_OWN;
        table->items.data[roots[i]].offset = items[i].offset;
    }
    if (table->buffer_bytes.count < MEMORY_OWN)
        sc_vec_push(ctx->arena, &table->buffer_bytes, total);
    else
        table->buffer_bytes.data[MEMORY_OWN - 1] = total;
    report_items(ctx, table, items, roots, count, report);
    report_state(ctx, table, report);
    uint64_t state_bytes = 0;
    for (uint32_t i = 0; i < table->buffer_bytes.count; i++)
        report->planned_bytes += table->buffer_bytes.data[i];
    state_bytes = report->planned_bytes - total;
    report->live_bytes += state_bytes;
    report->naive_bytes += state_bytes;
    sc_arena_rewind(ctx->scratch, mark);
    return SC_OK;
}

// Every method that an option names must be there.
static sc_status check_planners(sc_ctx *ctx, const sc_program *program,
                                const sc_planners *planners) {
    for (uint32_t i = 0; i < planners->count; i++)
        if (!sc_program_method(program, planners->methods[i].method))
            return sc_fail(ctx, SC_ERR_NOT_FOUND, "Name a method of the program.",
                           "memory_planning names method '" SC_STR_FMT "', which is not there",
                           SC_STR_ARG(planners->methods[i].method));
    return SC_OK;
}

sc_status sc_place_program(sc_ctx *ctx, sc_program *program, const sc_options *options,
                           const sc_host_planners *host, sc_storage_table **tables,
                           sc_place_report **reports) {
    uint32_t count = program->methods.count;
    SC_TRY(check_planners(ctx, program, &options->memory_planning));
    *tables = sc_new_array(ctx->arena, sc_storage_table, count + 1);
    *reports = sc_new_array(ctx->arena, sc_place_report, count + 1);
    for (uint32_t m = 0; m < count; m++) {
        sc_where_set_method(ctx, program->methods.data[m]);
        SC_TRY(sc_storage_build(ctx, program->methods.data[m], options->alloc_graph_input,
                                options->alloc_graph_output, &(*tables)[m]));
    }
    if (options->share_mutable_buffers) mark_shared(ctx->arena, *tables, count);
    if (count > 1) SC_TRY(place_state(ctx, *tables, count, options));
    for (uint32_t m = 0; m < count; m++) {
        sc_where_set_method(ctx, program->methods.data[m]);
        if (options->remove_view_copy) SC_TRY(sc_views_alias(ctx, &(*tables)[m], options));
        const sc_planner planner =
            sc_planners_of(&options->memory_planning, sc_name_str(program->methods.data[m]->name));
        SC_TRY(place_method(ctx, &(*tables)[m], &planner, host, &(*reports)[m]));
    }
    return SC_OK;
}
