// Reads records in the layout for several methods and in the older flat one. Either may lack
// entries. Files are assigned to programs in pairs: a file belongs to a program if its name without
// the suffix is that of the program. So a method may be called `get_constants`.
#include "devtools/etrecord/maps.h"
#include "format/magic.h"
#include "pt2/serde.h"

enum {
    PROGRAMS_MAX = 4096,
    TEXT_BYTES_MAX = 64 << 20,  // size of a map
    WARNINGS_MAX = 100          // warnings of damaged entries; the list of these is not limited
};

typedef struct reader {
    sc_ctx *ctx;
    const sc_zip *zip;
    sc_etrecord *record;
    uint32_t program_count;
} reader;

bool sc_etrecord_is(const sc_zip *zip) { return sc_zip_find(zip, SC_STR(SC_ETRECORD_IDENTIFIER)); }

bool sc_etrecord_is_like(const sc_zip *zip) {
    for (uint32_t i = 0; i < zip->count; i++)
        if (sc_str_starts_with(zip->entries[i].name, SC_ETRECORD_EDGE) ||
            sc_str_is(zip->entries[i].name, sc_etrecord_map_name(SC_ETRECORD_HANDLES)))
            return true;
    return sc_etrecord_is(zip);
}

// --- Which entry is what -------------------------------------------------------------------------

static const char *const SUFFIXES[] = {"_state_dict", "_constants", "_example_inputs"};

static const sc_zip_entry *companion(reader *r, sc_str base, const char *suffix) {
    sc_mark mark = sc_arena_mark(r->ctx->scratch);
    const sc_str name = sc_str_format(r->ctx->scratch, SC_STR_FMT "%s", SC_STR_ARG(base), suffix);
    const sc_zip_entry *found = sc_zip_find(r->zip, name);
    sc_arena_rewind(r->ctx->scratch, mark);
    return found;
}

// Does it belong to a program?
static bool is_companion(const reader *r, sc_str name) {
    for (uint32_t i = 0; i < SC_COUNT_OF(SUFFIXES); i++) {
        if (!sc_str_ends_with(name, SUFFIXES[i])) continue;
        const sc_str base = sc_str_slice(name, 0, name.size - strlen(SUFFIXES[i]));
        if (base.size && sc_zip_find(r->zip, base)) return true;
    }
    return false;
}

static bool has_files(reader *r, sc_str name) {
    for (uint32_t i = 0; i < SC_COUNT_OF(SUFFIXES); i++)
        if (companion(r, name, SUFFIXES[i])) return true;
    return false;
}

static bool is_reserved(sc_str name) {
    static const char *const NAMES[] = {SC_ETRECORD_IDENTIFIER, "export_graph_id",
                                        "reference_outputs", "representative_inputs"};
    for (uint32_t i = 0; i < SC_COUNT_OF(NAMES); i++)
        if (sc_str_is(name, NAMES[i])) return true;
    for (uint32_t m = 0; m < SC_ETRECORD_MAP_COUNT; m++)
        if (sc_str_is(name, sc_etrecord_map_name((sc_etrecord_map)m))) return true;
    return false;
}

// --- Damaged entries -----------------------------------------------------------------------------

// A failure that is not the fault of an entry ends the reading.
static bool is_of_entry(sc_status status) {
    switch (status) {
    case SC_OK:
    case SC_ERR_IO:
    case SC_ERR_MEMORY:
    case SC_ERR_CANCELLED:
    case SC_ERR_INTERNAL: return false;
    default: return true;
    }
}

// Makes a note of the last failure and leaves the entry out. Exporters that keep a program and
// change it later also write such entries.
static sc_status leave_out(reader *r, sc_str entry, sc_status status, sc_diag_mark mark) {
    sc_ctx *ctx = r->ctx;
    if (!is_of_entry(status) || ctx->diags.count <= mark.count) return status;
    const sc_etrecord_unread unread = {
        .entry = sc_str_copy(ctx->arena, entry),
        .reason = sc_str_copy(ctx->arena, sc_vec_last(&ctx->diags).message)};
    sc_diags_rewind(ctx, mark);
    ctx->where = (sc_where){.instruction = -1};
    if (r->record->unread.count < WARNINGS_MAX)
        sc_report(ctx, SC_WARNING, status,
                  "The other entries are read. Make the record again for it.",
                  "the entry '" SC_STR_FMT "' of the record cannot be read: " SC_STR_FMT,
                  SC_STR_ARG(unread.entry), SC_STR_ARG(unread.reason));
    sc_vec_push(ctx->arena, &r->record->unread, unread);
    return SC_OK;
}

// --- Programs ------------------------------------------------------------------------------------

static sc_status extent_of(reader *r, const sc_zip_entry *entry, sc_extent *out) {
    *out = (sc_extent){0};
    return entry && entry->size ? sc_zip_extent(r->ctx, entry, out) : SC_OK;
}

static sc_status files_of(reader *r, const sc_zip_entry *entry, sc_serde_files *out) {
    SC_TRY(extent_of(r, entry, &out->program));
    SC_TRY(extent_of(r, companion(r, entry->name, SUFFIXES[0]), &out->state_dict));
    SC_TRY(extent_of(r, companion(r, entry->name, SUFFIXES[1]), &out->constants));
    return extent_of(r, companion(r, entry->name, SUFFIXES[2]), &out->example_inputs);
}

// Each program is read separately, because stages have methods of equal names.
static sc_status read_program(reader *r, const sc_zip_entry *entry, const char *stage,
                              sc_etrecord_program *out) {
    sc_ctx *ctx = r->ctx;
    sc_program *program = sc_program_new(ctx);
    sc_serde_files files = {0};
    sc_serde_info info = {0};
    SC_TRY(files_of(r, entry, &files));
    SC_TRY(sc_serde_read(ctx, &files, out->method_name, program, &info));
    ctx->where = (sc_where){.instruction = -1};
    if (stage) out->stage = sc_str_from(stage);
    out->method = program->methods.data[0];
    out->has_weights = info.has_weights;
    out->is_edge = info.is_edge || (stage && strcmp(stage, SC_ETRECORD_EDGE) == 0);
    return SC_OK;
}

static sc_status add_exported(reader *r, const sc_zip_entry *entry) {
    sc_etrecord_program program = {.method_name = SC_STR("forward")};
    SC_TRY(read_program(r, entry, SC_ETRECORD_EXPORTED, &program));
    r->record->exported = program;
    sc_vec_push(r->ctx->arena, &r->record->originals, program);
    return SC_OK;
}

static sc_status add_edge(reader *r, const sc_zip_entry *entry, sc_str method) {
    sc_etrecord_program program = {.method_name = sc_str_copy(r->ctx->arena, method)};
    SC_TRY(read_program(r, entry, SC_ETRECORD_EDGE, &program));
    sc_vec_push(r->ctx->arena, &r->record->edge, program);
    return SC_OK;
}

// Splits "<stage>/<method>" at the last slash.
static sc_status add_stage(reader *r, const sc_zip_entry *entry) {
    const ptrdiff_t slash = sc_str_find_last(entry->name, '/');
    const sc_str name = sc_str_copy(r->ctx->arena, entry->name);
    sc_etrecord_program program = {.stage = name, .method_name = SC_STR("forward")};
    if (slash >= 0) {
        program.stage = sc_str_slice(name, 0, (size_t)slash);
        program.method_name = sc_str_slice(name, (size_t)slash + 1, name.size);
    }
    SC_TRY(read_program(r, entry, NULL, &program));
    sc_vec_push(r->ctx->arena, &r->record->graph_map, program);
    return SC_OK;
}

typedef sc_status (*add_program)(reader *r, const sc_zip_entry *entry);

static const char EDGE_FOLDER[] = SC_ETRECORD_EDGE "/";

static sc_status add_edge_of_method(reader *r, const sc_zip_entry *entry) {
    const sc_str name = entry->name;
    return add_edge(r, entry, sc_str_slice(name, sizeof(EDGE_FOLDER) - 1, name.size));
}

// Old records have the only method here. A file of both layouts has it in the new place, and this
// is a copy.
static sc_status add_only_edge(reader *r, const sc_zip_entry *entry) {
    const sc_str method = SC_STR("forward");
    return companion(r, SC_STR(SC_ETRECORD_EDGE), "/forward") ? SC_OK : add_edge(r, entry, method);
}

// NULL if the entry is not a program.
static add_program program_of(reader *r, sc_str name) {
    if (sc_str_is(name, SC_ETRECORD_EXPORTED)) return add_exported;
    if (sc_str_is(name, SC_ETRECORD_EDGE)) return add_only_edge;
    if (sc_str_ends_with(name, "/")) return NULL;
    if (sc_str_starts_with(name, EDGE_FOLDER)) return add_edge_of_method;
    return has_files(r, name) ? add_stage : NULL;
}

static sc_status add_entry(reader *r, const sc_zip_entry *entry) {
    const sc_str name = entry->name;
    const bool is_again = sc_zip_find(r->zip, name) != entry;
    if (is_again || is_reserved(name) || is_companion(r, name)) return SC_OK;
    const add_program add = program_of(r, name);
    if (add && ++r->program_count > PROGRAMS_MAX)
        return sc_fail(r->ctx, SC_ERR_LIMIT, NULL, "the record has more than %d programs",
                       (int)PROGRAMS_MAX);
    const sc_diag_mark mark = sc_diags_mark(r->ctx);
    if (add) return leave_out(r, name, add(r, entry), mark);
    if (!sc_str_ends_with(name, "/"))
        sc_vec_push(r->ctx->arena, &r->record->unknown, sc_str_copy(r->ctx->arena, name));
    return SC_OK;
}

// --- Maps and values -----------------------------------------------------------------------------

static sc_status text_of(reader *r, const char *name, sc_str *out) {
    const sc_zip_entry *entry = sc_zip_find(r->zip, sc_str_from(name));
    *out = (sc_str){0};
    return entry ? sc_zip_load(r->ctx, r->ctx->arena, entry, TEXT_BYTES_MAX, out) : SC_OK;
}

static sc_status read_map(reader *r, sc_etrecord_map map) {
    sc_str text;
    SC_TRY(text_of(r, sc_etrecord_map_name(map), &text));
    return text.size ? sc_etrecord_read_map(r->ctx, r->record, map, text) : SC_OK;
}

static sc_status add_maps(reader *r) {
    for (uint32_t m = 0; m < SC_ETRECORD_MAP_COUNT; m++) {
        const sc_etrecord_map map = (sc_etrecord_map)m;
        const sc_diag_mark mark = sc_diags_mark(r->ctx);
        SC_TRY(leave_out(r, sc_str_from(sc_etrecord_map_name(map)), read_map(r, map), mark));
    }
    return SC_OK;
}

static sc_status read_graph_id(reader *r) {
    sc_str text;
    SC_TRY(text_of(r, "export_graph_id", &text));
    if (!text.size) return SC_OK;
    r->record->has_graph_id = sc_parse_u64(text, &r->record->graph_id);
    if (r->record->has_graph_id) return SC_OK;
    r->record->graph_id = 0;
    return sc_fail(r->ctx, SC_ERR_CORRUPT, NULL, "export_graph_id is not a whole number");
}

static sc_status add_graph_id(reader *r) {
    const sc_diag_mark mark = sc_diags_mark(r->ctx);
    return leave_out(r, SC_STR("export_graph_id"), read_graph_id(r), mark);
}

// Official releases before 1.1 wrote pickles without an archive around them.
static sc_status read_values(reader *r, const char *name, const sc_pickle_value **out) {
    sc_ctx *ctx = r->ctx;
    const sc_zip_entry *entry = sc_zip_find(r->zip, sc_str_from(name));
    sc_extent extent;
    uint8_t head[SC_FILE_HEAD_BYTES] = {0};
    SC_TRY(extent_of(r, entry, &extent));
    if (!extent.size) return SC_OK;
    SC_TRY(sc_extent_read(ctx, extent, 0, head, (size_t)sc_min_u64(extent.size, sizeof(head))));
    if (sc_file_kind_of(head) == SC_FILE_PICKLE) {
        sc_report(ctx, SC_WARNING, SC_ERR_VERSION, "Make the record again with a current release.",
                  "%s of this record is in a format that is not read any more", name);
        return SC_OK;
    }
    sc_torch_save file;
    SC_TRY(sc_torch_save_open(ctx, ctx->arena, extent, &file));
    *out = file.root && file.root->kind != SC_PICKLE_NONE ? file.root : NULL;
    return SC_OK;
}

static bool is_by_method(const sc_pickle_value *value) {
    bool is = value->kind == SC_PICKLE_DICT;
    for (uint32_t i = 0; is && i < value->count; i++)
        is = value->items[2 * i]->kind == SC_PICKLE_STR &&
             sc_pickle_is_sequence(value->items[2 * i + 1]);
    return is;
}

static bool is_sequence(const sc_pickle_value *value) { return sc_pickle_is_sequence(value); }

// Reads an entry that must have a certain form. Otherwise the record does not have its values.
static sc_status read_form(reader *r, const char *name, bool (*fits)(const sc_pickle_value *),
                           const char *form, const sc_pickle_value **out) {
    SC_TRY(read_values(r, name, out));
    if (!*out || fits(*out)) return SC_OK;
    *out = NULL;
    return sc_fail(r->ctx, SC_ERR_FORMAT, NULL, "%s of the record are not %s", name, form);
}

static sc_status add_values(reader *r) {
    sc_etrecord *record = r->record;
    sc_diag_mark mark = sc_diags_mark(r->ctx);
    sc_status status = read_form(r, "reference_outputs", is_by_method, "lists of cases by method",
                                 &record->reference_outputs);
    SC_TRY(leave_out(r, SC_STR("reference_outputs"), status, mark));
    mark = sc_diags_mark(r->ctx);
    status = read_form(r, "representative_inputs", is_sequence, "a list",
                       &record->representative_inputs);
    return leave_out(r, SC_STR("representative_inputs"), status, mark);
}

// --- All of it -----------------------------------------------------------------------------------

static sc_status check_identifier(sc_ctx *ctx, const sc_zip *zip) {
    if (sc_etrecord_is(zip)) return SC_OK;
    return sc_fail(ctx, SC_ERR_FORMAT, "Pass an .etrecord of ExecuTorch or of this library.",
                   "the archive is not an ETRecord: it has no entry " SC_ETRECORD_IDENTIFIER);
}

static sc_status check_stored(sc_ctx *ctx, const sc_zip *zip) {
    if (!sc_zip_is_compressed(zip)) return SC_OK;
    return sc_fail(ctx, SC_ERR_COMPRESSED, NULL, "the record has compressed entries");
}

sc_status sc_etrecord_read(sc_ctx *ctx, sc_source *source, sc_etrecord *out) {
    sc_zip zip;
    *out = (sc_etrecord){0};
    SC_TRY(sc_zip_open(ctx, ctx->arena, sc_extent_whole(source), &zip));
    SC_TRY(check_identifier(ctx, &zip));
    SC_TRY(check_stored(ctx, &zip));
    reader r = {.ctx = ctx, .zip = &zip, .record = out};
    for (uint32_t i = 0; i < zip.count; i++) SC_TRY(add_entry(&r, &zip.entries[i]));
    SC_TRY(add_maps(&r));
    SC_TRY(add_values(&r));
    return add_graph_id(&r);
}
