// Converts a record's edge programs and maps to plain tables for the inspector, which knows no
// graphs.
#include "api/inspect/inspector.h"
#include "core/stack_trace.h"

// --- Names ---------------------------------------------------------------------------------------

// "aten::add.Tensor" in Python's spelling, "aten.add.Tensor"; without an overload it is the default
// one.
static sc_str python_name(sc_arena *arena, sc_str name) {
    const ptrdiff_t colon = sc_str_find(name, ':');
    if (colon < 0 || (size_t)colon + 1 >= name.size || name.data[colon + 1] != ':') return name;
    const sc_str space = sc_str_slice(name, 0, (size_t)colon);
    const sc_str rest = sc_str_slice(name, (size_t)colon + 2, name.size);
    return sc_str_format(arena, SC_STR_FMT "." SC_STR_FMT "%s", SC_STR_ARG(space), SC_STR_ARG(rest),
                         sc_str_find(rest, '.') < 0 ? ".default" : "");
}

// Takes the text before the next `mark`, and the mark.
static sc_str take_until(sc_str *text, char mark) {
    const ptrdiff_t at = sc_str_find(*text, mark);
    const sc_str taken = sc_str_slice(*text, 0, at < 0 ? text->size : (size_t)at);
    *text = sc_str_slice(*text, at < 0 ? text->size : (size_t)at + 1, text->size);
    return taken;
}

typedef SC_VEC(sc_inspect_module) module_list;

// "key,path,class;...": paths may contain any text of Python's, classes contain no commas.
static module_list modules_of(sc_arena *arena, sc_str stack) {
    module_list list = {0};
    while (stack.size) {
        sc_str item = take_until(&stack, ';');
        (void)take_until(&item, ',');
        const ptrdiff_t comma = sc_str_find_last(item, ',');
        sc_inspect_module module = {.path = item};
        if (comma >= 0) {
            module.path = sc_str_slice(item, 0, (size_t)comma);
            module.class_name = sc_str_slice(item, (size_t)comma + 1, item.size);
        }
        sc_vec_push(arena, &list, module);
    }
    return list;
}

// --- Nodes ---------------------------------------------------------------------------------------

typedef struct gathering {
    sc_arena *arena;
    SC_VEC(sc_inspect_node) nodes;
    sc_map modules;  // by the text of the stack, which many nodes share
} gathering;

static const module_list *shared_modules(gathering *g, sc_str stack) {
    const module_list *known = sc_map_get(&g->modules, stack);
    if (known) return known;
    module_list *made = sc_new(g->arena, module_list);
    *made = modules_of(g->arena, stack);
    sc_map_set(&g->modules, stack, made);
    return made;
}

static sc_status gather(sc_ctx *ctx, sc_graph *graph, void *user) {
    gathering *g = user;
    (void)ctx;
    for (const sc_node *node = graph->first; node; node = node->next) {
        const module_list *modules = shared_modules(g, node->meta.module_stack);
        const sc_inspect_node row = {
            .name = sc_name_str(node->name),
            .op = python_name(g->arena, sc_str_from(node->op->name)),
            .stack_trace = node->meta.stack_trace,
            .source = sc_stack_trace_source(g->arena, node->meta.stack_trace),
            .modules = modules->data,
            .module_count = modules->count,
            .handle = node->meta.debug_handle,
        };
        sc_vec_push(g->arena, &g->nodes, row);
    }
    return SC_OK;
}

// --- Maps ----------------------------------------------------------------------------------------

static void add_delegate(sc_arena *arena, const sc_etrecord_delegate *d,
                         sc_inspect_instruction *out) {
    out->is_delegate = true;
    out->backend = d->backend;
    out->has_ids = d->has_events;
    sc_inspect_delegate_id *ids =
        sc_new_array(arena, sc_inspect_delegate_id, (size_t)d->events.count + 1);
    for (uint32_t i = 0; i < d->events.count; i++) {
        const sc_etrecord_event *e = &d->events.data[i];
        ids[i].id = e->is_number ? sc_str_format(arena, "%lld", (long long)e->id) : e->name;
        ids[i].handles = sc_inspect_handles_of(arena, e->handles, e->count);
    }
    out->ids = ids;
    out->id_count = d->events.count;
}

static uint32_t outs_of(const sc_etrecord_maps *maps, uint32_t instruction) {
    uint32_t low = 0, high = maps->outs.count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (maps->outs.data[middle].instruction < instruction)
            low = middle + 1;
        else
            high = middle;
    }
    return low < maps->outs.count && maps->outs.data[low].instruction == instruction
               ? maps->outs.data[low].count
               : 0;
}

static void add_instructions(sc_arena *arena, const sc_etrecord_maps *maps,
                             sc_inspect_method *out) {
    sc_inspect_instruction *rows =
        sc_new_array(arena, sc_inspect_instruction, (size_t)maps->handles.count + 1);
    for (uint32_t i = 0; i < maps->handles.count; i++) {
        const sc_etrecord_handles *h = &maps->handles.data[i];
        const sc_etrecord_delegate *d = sc_etrecord_delegate_of(maps, h->instruction);
        rows[i] =
            (sc_inspect_instruction){.index = h->instruction,
                                     .handles = sc_inspect_handles_of(arena, h->handles, h->count),
                                     .out_count = outs_of(maps, h->instruction)};
        if (d) add_delegate(arena, d, &rows[i]);
    }
    out->instructions = rows;
    out->instruction_count = maps->handles.count;
}

// Records of one method call its program `forward`, whatever its name in the maps.
static const sc_etrecord_maps *maps_for(const sc_etrecord *record, sc_str method) {
    const sc_etrecord_maps *maps = sc_etrecord_maps_of(record, method);
    if (maps || record->edge.count != 1 || record->maps.count != 1) return maps;
    return &record->maps.data[0];
}

sc_status sc_inspector_tables(sc_ctx *ctx, sc_inspector *inspector) {
    const sc_etrecord *record = &inspector->record;
    inspector->method_count = record->edge.count;
    inspector->methods =
        sc_new_array(ctx->arena, sc_inspect_method, (size_t)record->edge.count + 1);
    for (uint32_t i = 0; i < record->edge.count; i++) {
        const sc_etrecord_program *program = &record->edge.data[i];
        const sc_etrecord_maps *maps = maps_for(record, program->method_name);
        sc_inspect_method *m = &inspector->methods[i];
        gathering g = {.arena = ctx->arena};
        sc_map_init(&g.modules, ctx->arena);
        SC_TRY(sc_graphs_visit(ctx, program->method->graph, gather, &g));
        m->name = maps ? maps->method : program->method_name;
        m->nodes = g.nodes.data;
        m->node_count = g.nodes.count;
        if (maps) add_instructions(ctx->arena, maps, m);
        sc_inspect_index_nodes(ctx->arena, m);
    }
    return SC_OK;
}

// --- Which one is meant --------------------------------------------------------------------------

const sc_etrecord_program *sc_inspector_program_at(const sc_inspector *inspector, uint32_t index) {
    const sc_etrecord *r = &inspector->record;
    if (r->exported.method && index-- == 0) return &r->exported;
    if (index < r->edge.count) return &r->edge.data[index];
    index -= r->edge.count;
    return index < r->graph_map.count ? &r->graph_map.data[index] : NULL;
}

static sc_str stage_names(sc_ctx *ctx, const sc_inspector *inspector) {
    sc_sb text;
    const sc_etrecord_program *p;
    sc_sb_init(&text, ctx->scratch);
    for (uint32_t i = 0; (p = sc_inspector_program_at(inspector, i)); i++)
        sc_sb_addf(&text, "%s" SC_STR_FMT " of " SC_STR_FMT, i ? ", " : "", SC_STR_ARG(p->stage),
                   SC_STR_ARG(p->method_name));
    return sc_sb_str(&text);
}

sc_status sc_inspector_stage(sc_ctx *ctx, const sc_inspector *inspector, sc_str stage,
                             sc_str method, const sc_etrecord_program **out) {
    const sc_etrecord_program *p;
    uint32_t matches = 0;
    for (uint32_t i = 0; (p = sc_inspector_program_at(inspector, i)); i++) {
        if (!sc_str_equal(p->stage, stage)) continue;
        if (method.size && !sc_str_equal(p->method_name, method)) continue;
        *out = p;
        matches++;
    }
    if (matches == 1) return SC_OK;
    return sc_fail(ctx, matches ? SC_ERR_ARGUMENT : SC_ERR_NOT_FOUND,
                   matches ? "Name the method, too." : "Name a stage and a method that it has.",
                   "the record has %s stage '" SC_STR_FMT "'%s" SC_STR_FMT "; it has " SC_STR_FMT,
                   matches ? "several of" : "no", SC_STR_ARG(stage),
                   method.size ? " of method " : "", SC_STR_ARG(method),
                   SC_STR_ARG(stage_names(ctx, inspector)));
}

// The requested method, or else the one of all the dump's runs.
static const sc_inspect_method *dumped_method(const sc_inspector *inspector) {
    const sc_inspect_method *only = inspector->found ? inspector->found->asked : NULL;
    if (only) return only;
    for (uint32_t i = 0; inspector->found && i < inspector->found->block_count; i++) {
        const sc_inspect_method *m = inspector->found->blocks[i].method;
        if (m && only && m != only) return NULL;
        if (m) only = m;
    }
    return only;
}

sc_status sc_inspector_method(sc_ctx *ctx, const sc_inspector *inspector, sc_str name,
                              const sc_inspect_method **out) {
    *out = name.size ? NULL : dumped_method(inspector);
    if (*out) return SC_OK;
    for (uint32_t i = 0; i < inspector->method_count && !*out; i++)
        if (sc_str_equal(inspector->methods[i].name, name) ||
            (!name.size && inspector->method_count == 1))
            *out = &inspector->methods[i];
    if (*out) return SC_OK;
    sc_sb text;
    sc_sb_init(&text, ctx->scratch);
    for (uint32_t i = 0; i < inspector->method_count; i++)
        sc_sb_addf(&text, "%s" SC_STR_FMT, i ? ", " : "", SC_STR_ARG(inspector->methods[i].name));
    return sc_fail(
        ctx, name.size ? SC_ERR_NOT_FOUND : SC_ERR_ARGUMENT, "Name one of the record's methods.",
        name.size
            ? "the record has no such method; it has " SC_STR_FMT
            : "the dump has runs of several methods, or of unknown ones: name one of " SC_STR_FMT,
        SC_STR_ARG(sc_sb_str(&text)));
}
