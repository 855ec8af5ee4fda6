// Adds content to records, and checks when it may be added. Only lists are copied: see etrecord.h.
#include "devtools/etrecord.h"

// Nodes of edge programs name those of the exported program by this number. Any positive number
// would do, because a record has one exported program.
enum { GRAPH_ID = 1 };

// --- Looking -------------------------------------------------------------------------------------

const sc_etrecord_maps *sc_etrecord_maps_of(const sc_etrecord *record, sc_str method) {
    for (uint32_t i = 0; i < record->maps.count; i++)
        if (sc_str_equal(record->maps.data[i].method, method)) return &record->maps.data[i];
    return NULL;
}

static bool is_called(const sc_etrecord_program *program, sc_str stage, sc_str method) {
    return sc_str_equal(program->stage, stage) &&
           (method.size == 0 || sc_str_equal(program->method_name, method));
}

const sc_etrecord_program *sc_etrecord_find(const sc_etrecord *record, sc_str stage,
                                            sc_str method) {
    const sc_etrecord_program *found = NULL;
    uint32_t count = 0;
    const struct {
        const sc_etrecord_program *data;
        uint32_t count;
    } lists[] = {{&record->exported, record->exported.method != NULL},
                 {record->edge.data, record->edge.count},
                 {record->graph_map.data, record->graph_map.count}};
    for (uint32_t l = 0; l < SC_COUNT_OF(lists); l++)
        for (uint32_t i = 0; i < lists[l].count; i++) {
            if (!is_called(&lists[l].data[i], stage, method)) continue;
            found = &lists[l].data[i];
            count++;
        }
    return count == 1 ? found : NULL;
}

const sc_etrecord_delegate *sc_etrecord_delegate_of(const sc_etrecord_maps *maps,
                                                    uint32_t instruction) {
    uint32_t low = 0, high = maps->delegates.count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const sc_etrecord_delegate *row = &maps->delegates.data[middle];
        if (row->instruction == instruction) return row;
        if (row->instruction < instruction)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

// --- Programs ------------------------------------------------------------------------------------

void sc_etrecord_copy(sc_ctx *ctx, const sc_etrecord *from, sc_etrecord *out) {
    *out = (sc_etrecord){
        .exported = from->exported, .has_graph_id = from->has_graph_id, .graph_id = from->graph_id};
    for (uint32_t i = 0; i < from->originals.count; i++)
        sc_vec_push(ctx->arena, &out->originals, from->originals.data[i]);
    for (uint32_t i = 0; i < from->edge.count; i++)
        sc_vec_push(ctx->arena, &out->edge, from->edge.data[i]);
    for (uint32_t i = 0; i < from->graph_map.count; i++)
        sc_vec_push(ctx->arena, &out->graph_map, from->graph_map.data[i]);
}

static sc_etrecord_program view_of(const char *stage, const sc_method *method, bool is_edge) {
    return (sc_etrecord_program){.stage = sc_str_from(stage),
                                 .method_name = sc_name_str(method->name),
                                 .method = method,
                                 .has_weights = true,
                                 .is_edge = is_edge};
}

sc_status sc_etrecord_add_exported(sc_ctx *ctx, sc_etrecord *record, const sc_program *program) {
    if (record->exported.method || record->has_graph_id)
        return sc_fail(ctx, SC_ERR_STATE, "Add it once, to a record that does not have it yet.",
                       "the record has an exported program already");
    for (uint32_t i = 0; i < program->methods.count; i++)
        sc_vec_push(ctx->arena, &record->originals,
                    view_of(SC_ETRECORD_EXPORTED, program->methods.data[i], false));
    const sc_method *method = sc_program_method(program, SC_STR("forward"));
    if (!method && program->methods.count == 1) method = program->methods.data[0];
    record->graph_id = GRAPH_ID;
    if (!method) return SC_OK;
    record->exported = view_of(SC_ETRECORD_EXPORTED, method, false);
    record->has_graph_id = true;
    return SC_OK;
}

sc_status sc_etrecord_add_edge(sc_ctx *ctx, sc_etrecord *record, const sc_program *program) {
    if (record->edge.count)
        return sc_fail(ctx, SC_ERR_STATE, "Add it once, to a record that does not have it yet.",
                       "the record has an edge program already");
    for (uint32_t i = 0; i < program->methods.count; i++)
        sc_vec_push(ctx->arena, &record->edge,
                    view_of(SC_ETRECORD_EDGE, program->methods.data[i], true));
    return SC_OK;
}

// --- Further stages ------------------------------------------------------------------------------

static bool contains(sc_str text, const char *word) {
    const size_t size = strlen(word);
    for (size_t i = 0; i + size <= text.size; i++)
        if (memcmp(text.data + i, word, size) == 0) return true;
    return false;
}

static sc_status check_stage(sc_ctx *ctx, sc_str stage) {
    static const char *const RESERVED[] = {SC_ETRECORD_IDENTIFIER,
                                           SC_ETRECORD_EXPORTED,
                                           "export_graph_id",
                                           SC_ETRECORD_EDGE,
                                           "et_dialect_graph_module",
                                           "debug_handle_map",
                                           "delegate_map",
                                           "instruction_id_to_num_outs_map",
                                           "reference_outputs",
                                           "representative_inputs"};
    if (stage.size == 0)
        return sc_fail(ctx, SC_ERR_ARGUMENT, "Give the stage a name.",
                       "a stage of a record has no name");
    for (uint32_t i = 0; i < SC_COUNT_OF(RESERVED); i++)
        if (contains(stage, RESERVED[i]))
            return sc_fail(ctx, SC_ERR_ARGUMENT, "Choose another name.",
                           "the stage name '" SC_STR_FMT
                           "' holds '%s', which has a meaning of its own in a record",
                           SC_STR_ARG(stage), RESERVED[i]);
    return SC_OK;
}

static void put_stage(sc_ctx *ctx, sc_etrecord *record, const sc_etrecord_program *program) {
    for (uint32_t i = 0; i < record->graph_map.count; i++) {
        sc_etrecord_program *old = &record->graph_map.data[i];
        if (!is_called(old, program->stage, program->method_name)) continue;
        *old = *program;
        return;
    }
    sc_vec_push(ctx->arena, &record->graph_map, *program);
}

sc_status sc_etrecord_add_stage(sc_ctx *ctx, sc_etrecord *record, sc_str stage,
                                const sc_program *program, bool is_edge) {
    SC_TRY(check_stage(ctx, stage));
    const sc_str kept = sc_str_copy(ctx->arena, stage);
    for (uint32_t i = 0; i < program->methods.count; i++) {
        sc_etrecord_program view = view_of("", program->methods.data[i], is_edge);
        view.stage = kept;
        put_stage(ctx, record, &view);
    }
    return SC_OK;
}

sc_status sc_etrecord_check_no_executorch(sc_ctx *ctx, const sc_etrecord *record) {
    if (!record->has_debug_handle_map && !record->has_delegate_map && !record->has_num_outs_map &&
        !record->reference_outputs && !record->representative_inputs)
        return SC_OK;
    return sc_fail(ctx, SC_ERR_STATE, "Add it to a copy of the record: copies do not have it.",
                   "the record has data of an executorch program already");
}
