// Writes a record in the order of the official writer: identifier, programs with three files each,
// maps, outputs, inputs, and the number of the exported graph.
#include <inttypes.h>

#include "devtools/etrecord/maps.h"
#include "pt2/serde.h"

typedef struct writer {
    sc_ctx *ctx;
    const sc_etrecord *record;
    const sc_etrecord_options *options;
    sc_zip_writer zip;
    sc_map names;  // names of entries so far
} writer;

// --- Checks before writing -----------------------------------------------------------------------

static sc_status check_complete(sc_ctx *ctx, const sc_etrecord *record) {
    const bool has_edge = record->edge.count > 0;
    const bool has_maps = record->has_debug_handle_map && record->maps.count > 0;
    if (has_edge && has_maps) return SC_OK;
    return sc_fail(
        ctx, SC_ERR_STATE,
        has_edge ? "Save the record of the program from toExecutorch(), or add that program."
                 : "Add the program that to_edge gives.",
        "the record cannot be saved: it has no %s%s%s", has_edge ? "" : "edge program",
        has_edge || has_maps ? "" : " and no ", has_maps ? "" : "data of an executorch program");
}

static bool is_wanted(const writer *w, sc_str method) {
    return !w->options->as_forward.size || sc_str_equal(method, w->options->as_forward);
}

static sc_str name_of(const writer *w, sc_str method) {
    return w->options->as_forward.size ? SC_STR("forward") : method;
}

static sc_status check_method(sc_ctx *ctx, const sc_etrecord *record, sc_str method) {
    for (uint32_t i = 0; i < record->edge.count; i++)
        if (sc_str_equal(record->edge.data[i].method_name, method)) return SC_OK;
    return sc_fail(ctx, SC_ERR_NOT_FOUND, NULL, "the record has no method '" SC_STR_FMT "'",
                   SC_STR_ARG(method));
}

static const char *const SUFFIXES[] = {"_state_dict", "_constants", "_example_inputs"};

// The official reader finds the files of a program by the ends of their names.
static void warn_of_name(sc_ctx *ctx, sc_str method) {
    static const char *const ENDS[] = {"state_dict", "constants", "example_inputs"};
    for (uint32_t i = 0; i < SC_COUNT_OF(ENDS); i++)
        if (sc_str_ends_with(method, ENDS[i]))
            sc_report(ctx, SC_WARNING, SC_ERR_ARGUMENT,
                      "Give the method another name if ExecuTorch's own tools are to see it.",
                      "the official reader of records leaves out the method '" SC_STR_FMT
                      "', because its name ends in '%s'",
                      SC_STR_ARG(method), ENDS[i]);
}

static void warn_of_methods(writer *w) {
    const sc_etrecord *record = w->record;
    if (w->options->as_forward.size) return;
    for (uint32_t i = 0; i < record->edge.count; i++)
        warn_of_name(w->ctx, record->edge.data[i].method_name);
    const bool is_forward =
        record->edge.count == 1 && sc_str_is(record->edge.data[0].method_name, "forward");
    if (!is_forward)
        sc_report(w->ctx, SC_NOTE, SC_ERR_ARGUMENT,
                  "Write a record for each method, too (--etrecord-per-method).",
                  "the official inspector opens records whose only method is forward; ours opens "
                  "this one");
}

static void warn_of_unread(writer *w) {
    const sc_etrecord *record = w->record;
    for (uint32_t i = 0; i < record->unread.count; i++)
        sc_report(w->ctx, SC_WARNING, SC_ERR_CORRUPT, NULL,
                  "the entry '" SC_STR_FMT "' is left out, because it could not be read",
                  SC_STR_ARG(record->unread.data[i].entry));
}

// --- Entries -------------------------------------------------------------------------------------

static sc_status take_name(writer *w, sc_str name) {
    if (sc_map_add(&w->names, name, w)) return SC_OK;
    return sc_fail(w->ctx, SC_ERR_ARGUMENT, "Give one of the methods or stages another name.",
                   "two files of the record would be called '" SC_STR_FMT "'", SC_STR_ARG(name));
}

static sc_status add_text(writer *w, const char *name, sc_str text) {
    return sc_zip_add_bytes(w->ctx, &w->zip, sc_str_from(name), text.data, text.size);
}

static sc_status add_file(writer *w, sc_str base, const char *suffix, sc_extent content) {
    sc_arena *arena = w->ctx->arena;
    const sc_str name = sc_str_format(arena, SC_STR_FMT "%s", SC_STR_ARG(base), suffix);
    SC_TRY(take_name(w, name));
    return sc_zip_add_extent(w->ctx, &w->zip, name, content);
}

static sc_status add_files(writer *w, sc_str base, const sc_serde_files *files) {
    SC_TRY(add_file(w, base, "", files->program));
    SC_TRY(add_file(w, base, SUFFIXES[0], files->state_dict));
    SC_TRY(add_file(w, base, SUFFIXES[1], files->constants));
    return add_file(w, base, SUFFIXES[2], files->example_inputs);
}

// 0 if the file has no exported program whose nodes could be named.
static uint64_t graph_id_of(const writer *w) {
    const sc_etrecord *record = w->record;
    return record->has_graph_id || w->options->as_forward.size ? record->graph_id : 0;
}

static sc_status add_program(writer *w, const sc_etrecord_program *program) {
    const bool is_exported = sc_str_is(program->stage, SC_ETRECORD_EXPORTED);
    const sc_str method = name_of(w, program->method_name);
    sc_serde_files files = {0};
    const sc_serde_options options = {.dialect = program->is_edge ? SC_SERDE_EDGE : SC_SERDE_ATEN,
                                      .graph_id = graph_id_of(w),
                                      .light = w->options->light || !program->has_weights};
    if (!is_wanted(w, program->method_name)) return SC_OK;
    sc_where_set_method(w->ctx, program->method);
    SC_TRY(sc_serde_write(w->ctx, program->method, &options, &files));
    const sc_str base = is_exported ? program->stage
                                    : sc_str_format(w->ctx->arena, SC_STR_FMT "/" SC_STR_FMT,
                                                    SC_STR_ARG(program->stage), SC_STR_ARG(method));
    return add_files(w, base, &files);
}

// A file has room for one exported program. In the file of a single method it is that method's.
static sc_status add_exported(writer *w) {
    const sc_etrecord *record = w->record;
    if (!w->options->as_forward.size)
        return record->exported.method ? add_program(w, &record->exported) : SC_OK;
    for (uint32_t i = 0; i < record->originals.count; i++)
        SC_TRY(add_program(w, &record->originals.data[i]));
    return SC_OK;
}

static sc_status add_programs(writer *w) {
    const sc_etrecord *record = w->record;
    SC_TRY(add_exported(w));
    for (uint32_t i = 0; i < record->edge.count; i++) SC_TRY(add_program(w, &record->edge.data[i]));
    for (uint32_t i = 0; i < record->graph_map.count; i++)
        SC_TRY(add_program(w, &record->graph_map.data[i]));
    w->ctx->where = (sc_where){.instruction = -1};
    return SC_OK;
}

static sc_status add_maps(writer *w) {
    for (uint32_t m = 0; m < SC_ETRECORD_MAP_COUNT; m++) {
        const sc_etrecord_map map = (sc_etrecord_map)m;
        if (!sc_etrecord_has_map(w->record, map)) continue;
        sc_sb text;
        sc_sb_init(&text, w->ctx->arena);
        sc_etrecord_put_map(&text, w->record, map, w->options->as_forward);
        SC_TRY(add_text(w, sc_etrecord_map_name(map), sc_sb_str(&text)));
    }
    return SC_OK;
}

static sc_status add_saved(writer *w, const char *name, const sc_pickle_value *value) {
    sc_cord cord;
    if (!value) return SC_OK;
    sc_cord_init(&cord, w->ctx->arena);
    SC_TRY(sc_torch_save_write(w->ctx, value, &cord));
    return sc_zip_add_extent(w->ctx, &w->zip, sc_str_from(name),
                             sc_extent_whole(sc_source_from_cord(w->ctx->arena, &cord)));
}

// --- Inputs and outputs --------------------------------------------------------------------------

static const sc_pickle_value *outputs_of(const writer *w) {
    const sc_pickle_value *all = w->record->reference_outputs;
    if (!all || !w->options->as_forward.size) return all;
    for (uint32_t i = 0; i < all->count; i++) {
        const sc_pickle_value *key = all->items[2 * i];
        if (key->kind != SC_PICKLE_STR || !is_wanted(w, sc_pickle_str(key))) continue;
        sc_pickle_value *one = sc_pickle_make_container(w->ctx->arena, SC_PICKLE_DICT);
        sc_pickle_put(w->ctx->arena, one, SC_STR("forward"), all->items[2 * i + 1]);
        return one;
    }
    return NULL;
}

// The record's own inputs are for `forward` or its only method. Other methods have inputs in their
// programs.
static sc_status inputs_of(const writer *w, const sc_pickle_value **out) {
    const sc_etrecord *record = w->record;
    const sc_str method = w->options->as_forward;
    *out = record->representative_inputs;
    if (!method.size || record->edge.count == 1 || sc_str_is(method, "forward")) return SC_OK;
    *out = NULL;
    for (uint32_t i = 0; i < record->edge.count; i++)
        if (sc_str_equal(record->edge.data[i].method_name, method))
            return sc_etrecord_examples(w->ctx, record->edge.data[i].method, out);
    return SC_OK;
}

static sc_status add_values(writer *w) {
    const sc_pickle_value *inputs = NULL;
    SC_TRY(inputs_of(w, &inputs));
    SC_TRY(add_saved(w, "reference_outputs", outputs_of(w)));
    return add_saved(w, "representative_inputs", inputs);
}

static sc_status add_graph_id(writer *w) {
    const uint64_t id = graph_id_of(w);
    if (!w->record->has_graph_id && !id) return SC_OK;
    return add_text(w, "export_graph_id", sc_str_format(w->ctx->arena, "%" PRIu64, id));
}

// --- All of it -----------------------------------------------------------------------------------

sc_status sc_etrecord_write(sc_ctx *ctx, const sc_etrecord *record,
                            const sc_etrecord_options *options, sc_cord *out) {
    writer w = {.ctx = ctx, .record = record, .options = options};
    SC_TRY(check_complete(ctx, record));
    if (options->as_forward.size) SC_TRY(check_method(ctx, record, options->as_forward));
    sc_map_init(&w.names, ctx->arena);
    sc_zip_writer_init(&w.zip, out, 1);
    warn_of_methods(&w);
    warn_of_unread(&w);
    SC_TRY(add_text(&w, SC_ETRECORD_IDENTIFIER, (sc_str){0}));
    SC_TRY(add_programs(&w));
    SC_TRY(add_maps(&w));
    SC_TRY(add_values(&w));
    SC_TRY(add_graph_id(&w));
    sc_zip_finish(&w.zip);
    return SC_OK;
}
