// Delegated parts in records: text in the first argument of the call. It contains everything that
// the backend was given and made, as base64. The program in it uses the symbols of the program
// around it.
#include "base/base64.h"
#include "base/store.h"
#include "pt2/pt2.h"

enum { PART_DEPTH_MAX = 4 };

enum {
    PART_BACKEND,
    PART_PROCESSED,
    PART_SPECS,
    PART_MODULE,
    PART_STATE,
    PART_CONSTANTS,
    PART_DATA,
    PART_FIELD_COUNT
};

static sc_status decode(sc_pt2_importer *imp, const sc_json *json, const char *what, sc_str *out) {
    *out = (sc_str){0};
    if (!json || json->kind != SC_JSON_STRING)
        return sc_fail(imp->ctx, SC_ERR_FORMAT, NULL, "%s of a delegate is missing", what);
    return sc_base64_decode(imp->ctx, imp->ctx->arena, sc_json_str(imp->work, json), what, out);
}

static sc_status decode_cord(sc_pt2_importer *imp, const sc_json *json, const char *what,
                             const sc_cord **out) {
    sc_str bytes;
    sc_cord *cord = sc_new(imp->ctx->arena, sc_cord);
    SC_TRY(decode(imp, json, what, &bytes));
    sc_cord_init(cord, imp->ctx->arena);
    sc_cord_append_bytes(cord, bytes.data, bytes.size);
    *out = cord;
    return SC_OK;
}

// Text within text: JSON inside a string.
static sc_status parse_string(sc_pt2_importer *imp, const sc_json *string, const sc_json **out) {
    if (!string || string->kind != SC_JSON_STRING)
        return sc_fail(imp->ctx, SC_ERR_FORMAT, NULL, "a delegate is not described");
    return sc_json_parse(imp->ctx, imp->work, sc_json_str(imp->work, string), out);
}

static sc_status check_list(sc_pt2_importer *imp, const sc_json *json, sc_json_kind kind,
                            const char *what) {
    if (json && json->kind == kind) return SC_OK;
    return sc_fail(imp->ctx, SC_ERR_FORMAT, NULL, "%s of a delegate are missing", what);
}

static sc_status read_specs(sc_pt2_importer *imp, const sc_json *json, sc_part *part) {
    SC_TRY(check_list(imp, json, SC_JSON_ARRAY, "compile specs"));
    const sc_json *item = sc_json_first(json);
    for (uint32_t i = 0; i < json->size; i++, item = sc_json_next(item)) {
        sc_compile_spec spec = {.key = sc_pt2_keep(imp, sc_json_get(item, "key"))};
        SC_TRY(decode(imp, sc_json_get(item, "value"), "a compile spec", &spec.value));
        sc_vec_push(imp->ctx->arena, &part->specs, spec);
    }
    return SC_OK;
}

// --- Named data ----------------------------------------------------------------------------------

// The official writer leaves it null for plain bytes.
static sc_status read_layout(sc_pt2_importer *imp, const sc_json *json, const sc_part *part,
                             const sc_spec **out) {
    int64_t dtype = -1, sizes[SC_RANK_MAX], order[SC_RANK_MAX];
    uint32_t rank = 0, dims = 0;
    if (!json || json->kind == SC_JSON_NULL) return SC_OK;
    const bool is_read = sc_json_i64s(sc_json_get(json, "sizes"), SC_RANK_MAX, sizes, &rank) &&
                         sc_json_i64s(sc_json_get(json, "dim_order"), SC_RANK_MAX, order, &dims) &&
                         rank == dims && sc_json_i64(sc_json_get(json, "scalar_type"), &dtype) &&
                         dtype >= 0 && dtype <= UINT8_MAX && sc_dtype_is_known((unsigned)dtype);
    *out = is_read ? sc_part_layout(part, (sc_dtype)dtype, rank, sizes, order) : NULL;
    return *out ? SC_OK
                : sc_fail(imp->ctx, SC_ERR_FORMAT, NULL,
                          "malformed layout of named data of a delegate");
}

static sc_status read_entry(sc_pt2_importer *imp, const sc_json *key, sc_str tag,
                            const sc_cord *const *buffers, uint32_t count, sc_part *part) {
    int64_t index, align;
    const sc_json *json = key + 1;
    if (!sc_json_i64(sc_json_get(json, "buffer_index"), &index) || index < 0 ||
        (uint64_t)index >= count || !sc_json_i64(sc_json_get(json, "alignment"), &align) ||
        align < 1 || (uint64_t)align > SC_STORE_ALIGN_MAX)
        return sc_fail(imp->ctx, SC_ERR_FORMAT, NULL, "malformed named data of a delegate");
    sc_part_data data = {.key = sc_pt2_keep(imp, key),
                         .tag = tag,
                         .bytes = buffers[index],
                         .align = (uint64_t)align};
    SC_TRY(read_layout(imp, sc_json_get(json, "tensor_layout"), part, &data.layout));
    sc_vec_push(imp->ctx->arena, &part->data, data);
    return SC_OK;
}

static sc_status read_entries(sc_pt2_importer *imp, const sc_json *json, sc_str tag,
                              const sc_cord *const *buffers, uint32_t count, sc_part *part) {
    SC_TRY(check_list(imp, json, SC_JSON_OBJECT, "named data"));
    const sc_json *key = sc_json_first(json);
    for (uint32_t i = 0; i < json->size; i++, key = sc_json_next(key + 1))
        SC_TRY(read_entry(imp, key, tag, buffers, count, part));
    return SC_OK;
}

static sc_status read_data(sc_pt2_importer *imp, const sc_json *string, sc_part *part) {
    const sc_json *json;
    if (!string) return SC_OK;
    SC_TRY(parse_string(imp, string, &json));
    const sc_json *list = sc_json_get(json, "buffers");
    const sc_json *files = sc_json_get(json, "external_data");
    SC_TRY(check_list(imp, list, SC_JSON_ARRAY, "buffers"));
    SC_TRY(check_list(imp, files, SC_JSON_OBJECT, "files"));
    const sc_cord **buffers = sc_new_array(imp->work, const sc_cord *, list->size);
    const sc_json *item = sc_json_first(list);
    for (uint32_t i = 0; i < list->size; i++, item = sc_json_next(item))
        SC_TRY(decode_cord(imp, item, "named data", &buffers[i]));
    SC_TRY(read_entries(imp, sc_json_get(json, "pte_data"), SC_STR(""), buffers, list->size, part));
    const sc_json *file = sc_json_first(files);
    for (uint32_t i = 0; i < files->size; i++, file = sc_json_next(file + 1))
        SC_TRY(read_entries(imp, file + 1, sc_pt2_keep(imp, file), buffers, list->size, part));
    return SC_OK;
}

// --- The program ---------------------------------------------------------------------------------

static sc_status read_saved(sc_pt2_importer *imp, const sc_json *json, const char *what,
                            sc_map *map) {
    sc_str bytes;
    sc_map_init(map, imp->work);
    SC_TRY(decode(imp, json, what, &bytes));
    if (bytes.size == 0) return SC_OK;
    imp->is_light = false;
    sc_source *source = sc_source_from_memory(imp->ctx->arena, bytes.data, bytes.size);
    return sc_pt2_read_saved(imp->ctx, imp->work, sc_str_from(what), sc_extent_whole(source), map);
}

static sc_status read_inside(sc_pt2_importer *imp, const sc_json_field *f) {
    imp->is_light = true;
    sc_map_init(&imp->written, imp->work);
    SC_TRY(read_saved(imp, f[PART_STATE].value, "the state of a part", &imp->payloads.weights));
    SC_TRY(read_saved(imp, f[PART_CONSTANTS].value, "the constants of a part",
                      &imp->payloads.constants));
    return sc_pt2_read_document(imp, f[PART_MODULE].value);
}

// The importer reads into the part's method, and then into the outer method again.
static sc_status read_program(sc_pt2_importer *imp, const sc_json_field *f, sc_method *method) {
    sc_method *outer = imp->method;
    const sc_pt2_payloads payloads = imp->payloads;
    const sc_map written = imp->written;
    const bool is_light = imp->is_light, is_serde = imp->is_serde;
    sc_where where = imp->ctx->where;
    imp->method = method;
    imp->part_depth++;
    sc_status status = read_inside(imp, f);
    imp->part_depth--;
    imp->method = outer;
    imp->payloads = payloads;
    imp->written = written;
    imp->is_light = is_light;
    imp->is_serde = is_serde;
    if (status == SC_OK) imp->ctx->where = where;
    return status;
}

sc_status sc_pt2_read_part(sc_pt2_scope *scope, sc_str name, const sc_json *json, sc_arg *out) {
    sc_pt2_importer *imp = scope->imp;
    sc_str tag;
    const sc_json *string, *text;
    sc_json_field f[PART_FIELD_COUNT] = {
        {.name = "backend_id"},          {.name = "processed_bytes"},
        {.name = "compile_specs"},       {.name = "original_module"},
        {.name = "original_state_dict"}, {.name = "original_constants"},
        {.name = "named_data_store"}};
    if (imp->part_depth >= PART_DEPTH_MAX)
        return sc_fail(imp->ctx, SC_ERR_LIMIT, NULL, "delegates are nested too deeply");
    SC_TRY(sc_json_union(imp->ctx, json, "argument", &tag, &string));
    if (!sc_str_is(tag, "as_string")) string = NULL;
    SC_TRY(parse_string(imp, string, &text));
    SC_TRY(sc_json_pick(imp->ctx, text, "delegate", f, PART_FIELD_COUNT));
    sc_part *part = sc_part_new(imp->method, name.size ? name : SC_STR("lowered_module"));
    part->backend = sc_pt2_keep(imp, f[PART_BACKEND].value);
    SC_TRY(decode_cord(imp, f[PART_PROCESSED].value, "the processed part", &part->processed));
    SC_TRY(read_specs(imp, f[PART_SPECS].value, part));
    SC_TRY(read_data(imp, f[PART_DATA].value, part));
    SC_TRY(read_program(imp, f, part->method));
    *out = sc_arg_part(part);
    return SC_OK;
}
