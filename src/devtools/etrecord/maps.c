// Maps from instructions to nodes as JSON. Keys are numbers in the exporter's memory, and text in
// the file, as the official inspector expects.
#include "devtools/etrecord/maps.h"

#include "base/print.h"

#include <inttypes.h>
#include <stdlib.h>

enum { METHODS_MAX = 1 << 16 };

const char *sc_etrecord_map_name(sc_etrecord_map map) {
    static const char *const NAMES[] = {"debug_handle_map", "delegate_map",
                                        "instruction_id_to_num_outs_map"};
    return NAMES[map];
}

bool sc_etrecord_has_map(const sc_etrecord *record, sc_etrecord_map map) {
    const bool has[] = {record->has_debug_handle_map, record->has_delegate_map,
                        record->has_num_outs_map};
    return has[map];
}

// --- Writing -------------------------------------------------------------------------------------

static void put_list(sc_json_writer *w, const uint32_t *handles, uint32_t count) {
    sc_json_begin_array(w);
    for (uint32_t i = 0; i < count; i++) sc_json_add_u64(w, handles[i]);
    sc_json_end_array(w);
}

static void put_key(sc_json_writer *w, int64_t number) {
    char text[24];
    sc_print(text, sizeof(text), "%" PRId64, number);
    sc_json_key(w, text);
}

static void put_events(sc_json_writer *w, const sc_etrecord_delegate *delegate) {
    sc_json_key(w, "delegate_map");
    if (!delegate->has_events) {
        sc_json_add_null(w);
        return;
    }
    sc_json_begin_object(w);
    for (uint32_t i = 0; i < delegate->events.count; i++) {
        const sc_etrecord_event *event = &delegate->events.data[i];
        if (event->is_number)
            put_key(w, event->id);
        else
            sc_json_key_str(w, event->name);
        put_list(w, event->handles, event->count);
    }
    sc_json_end_object(w);
}

static void put_handles(sc_json_writer *w, const sc_etrecord_maps *maps) {
    for (uint32_t i = 0; i < maps->handles.count; i++) {
        const sc_etrecord_handles *row = &maps->handles.data[i];
        put_key(w, row->instruction);
        if (row->is_list)
            put_list(w, row->handles, row->count);
        else
            sc_json_add_u64(w, row->handles[0]);
    }
}

static void put_delegates(sc_json_writer *w, const sc_etrecord_maps *maps) {
    for (uint32_t i = 0; i < maps->delegates.count; i++) {
        const sc_etrecord_delegate *delegate = &maps->delegates.data[i];
        put_key(w, delegate->instruction);
        sc_json_begin_object(w);
        sc_json_put_str(w, "name", delegate->backend);
        put_events(w, delegate);
        sc_json_end_object(w);
    }
}

static void put_outs(sc_json_writer *w, const sc_etrecord_maps *maps) {
    for (uint32_t i = 0; i < maps->outs.count; i++) {
        put_key(w, maps->outs.data[i].instruction);
        sc_json_add_u64(w, maps->outs.data[i].count);
    }
}

static bool is_in(const sc_etrecord_maps *maps, sc_etrecord_map map) {
    const bool is[] = {maps->has_handles, maps->has_delegates, maps->has_outs};
    return is[map];
}

static void put_method(sc_json_writer *w, const sc_etrecord_maps *maps, sc_etrecord_map map,
                       sc_str name) {
    static void (*const PUT[])(sc_json_writer *,
                               const sc_etrecord_maps *) = {put_handles, put_delegates, put_outs};
    sc_json_key_str(w, name);
    sc_json_begin_object(w);
    PUT[map](w, maps);
    sc_json_end_object(w);
}

void sc_etrecord_put_map(sc_sb *out, const sc_etrecord *record, sc_etrecord_map map,
                         sc_str as_forward) {
    sc_json_writer w;
    sc_json_writer_init(&w, out, SC_JSON_PYTHON);
    sc_json_begin_object(&w);
    if (as_forward.size) {
        const sc_etrecord_maps *one = sc_etrecord_maps_of(record, as_forward);
        if (one && is_in(one, map)) put_method(&w, one, map, SC_STR("forward"));
    }
    for (uint32_t i = 0; i < record->maps.count && !as_forward.size; i++)
        if (is_in(&record->maps.data[i], map))
            put_method(&w, &record->maps.data[i], map, record->maps.data[i].method);
    sc_json_end_object(&w);
}

// --- Reading -------------------------------------------------------------------------------------

typedef struct reader {
    sc_ctx *ctx;
    const char *map;
    sc_str method;
} reader;

static sc_status bad(reader *r, const char *what) {
    return sc_fail(r->ctx, SC_ERR_CORRUPT, "Make the record again: the file contradicts itself.",
                   "%s of method '" SC_STR_FMT "': %s", r->map, SC_STR_ARG(r->method), what);
}

static sc_status read_number(reader *r, const sc_json *json, uint32_t *out) {
    int64_t number = -1;
    if (!sc_json_i64(json, &number) || number < 0 || number > UINT32_MAX)
        return bad(r, "a map has a value that is not a small number");
    *out = (uint32_t)number;
    return SC_OK;
}

static sc_status read_instruction(reader *r, const sc_json *key, uint32_t *out) {
    uint64_t number = 0;
    if (!sc_parse_u64(sc_json_raw(key), &number) || number > UINT32_MAX)
        return bad(r, "a key is not the number of an instruction");
    *out = (uint32_t)number;
    return SC_OK;
}

static sc_status read_list(reader *r, const sc_json *json, const uint32_t **out, uint32_t *count) {
    if (json->kind != SC_JSON_ARRAY) return bad(r, "handles are not a list");
    uint32_t *handles = sc_new_array(r->ctx->arena, uint32_t, (size_t)json->size + 1);
    const sc_json *item = sc_json_first(json);
    for (uint32_t i = 0; i < json->size; i++, item = sc_json_next(item))
        SC_TRY(read_number(r, item, &handles[i]));
    *out = handles;
    *count = json->size;
    return SC_OK;
}

static sc_status read_handles(reader *r, sc_etrecord_maps *maps, uint32_t instruction,
                              const sc_json *json) {
    sc_etrecord_handles row = {.instruction = instruction, .count = 1};
    row.is_list = json->kind == SC_JSON_ARRAY;
    if (row.is_list) {
        SC_TRY(read_list(r, json, &row.handles, &row.count));
    } else {
        uint32_t *handle = sc_new(r->ctx->arena, uint32_t);
        SC_TRY(read_number(r, json, handle));
        row.handles = handle;
    }
    sc_vec_push(r->ctx->arena, &maps->handles, row);
    return SC_OK;
}

// In official files a number is text, as every key is.
static sc_etrecord_event event_of(reader *r, const sc_json *key) {
    const sc_str text = sc_json_str(r->ctx->arena, key);
    sc_etrecord_event event = {.name = sc_str_copy(r->ctx->arena, text)};
    char again[24];
    event.is_number = sc_parse_i64(text, &event.id);
    sc_print(again, sizeof(again), "%" PRId64, event.id);
    event.is_number = event.is_number && sc_str_is(text, again);
    return event;
}

static sc_status read_events(reader *r, const sc_json *json, sc_etrecord_delegate *out) {
    out->has_events = json && json->kind != SC_JSON_NULL;
    if (!out->has_events) return SC_OK;
    if (json->kind != SC_JSON_OBJECT) return bad(r, "the events of a delegate are not a map");
    const sc_json *key = sc_json_first(json);
    for (uint32_t n = json->size; n--; key = sc_json_next(key + 1)) {
        sc_etrecord_event event = event_of(r, key);
        SC_TRY(read_list(r, key + 1, &event.handles, &event.count));
        sc_vec_push(r->ctx->arena, &out->events, event);
    }
    return SC_OK;
}

static sc_status read_delegate(reader *r, sc_etrecord_maps *maps, uint32_t instruction,
                               const sc_json *json) {
    sc_etrecord_delegate row = {.instruction = instruction};
    const sc_json *name = sc_json_get(json, "name");
    if (!name || name->kind != SC_JSON_STRING) return bad(r, "a delegate has no name");
    row.backend = sc_str_copy(r->ctx->arena, sc_json_str(r->ctx->arena, name));
    SC_TRY(read_events(r, sc_json_get(json, "delegate_map"), &row));
    sc_vec_push(r->ctx->arena, &maps->delegates, row);
    return SC_OK;
}

static sc_status read_outs(reader *r, sc_etrecord_maps *maps, uint32_t instruction,
                           const sc_json *json) {
    sc_etrecord_outs row = {.instruction = instruction};
    SC_TRY(read_number(r, json, &row.count));
    sc_vec_push(r->ctx->arena, &maps->outs, row);
    return SC_OK;
}

// All rows begin with the number of their instruction.
static int by_instruction(const void *a, const void *b) {
    uint32_t x, y;
    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return (x > y) - (x < y);
}

static bool sort_rows(void *rows, uint32_t count, size_t bytes) {
    if (count) qsort(rows, count, bytes, by_instruction);
    for (uint32_t i = 1; i < count; i++) {
        const char *row = (const char *)rows + i * bytes;
        if (by_instruction(row - bytes, row) == 0) return false;
    }
    return true;
}

static bool sort_maps(sc_etrecord_maps *maps) {
    return sort_rows(maps->handles.data, maps->handles.count, sizeof(*maps->handles.data)) &&
           sort_rows(maps->delegates.data, maps->delegates.count, sizeof(*maps->delegates.data)) &&
           sort_rows(maps->outs.data, maps->outs.count, sizeof(*maps->outs.data));
}

static sc_status read_method(reader *r, sc_etrecord_map map, const sc_json *json,
                             sc_etrecord_maps *maps) {
    static sc_status (*const READ[])(reader *, sc_etrecord_maps *, uint32_t,
                                     const sc_json *) = {read_handles, read_delegate, read_outs};
    bool *const has[] = {&maps->has_handles, &maps->has_delegates, &maps->has_outs};
    if (json->kind != SC_JSON_OBJECT) return bad(r, "it is not a map of instructions");
    if (*has[map]) return bad(r, "the method is there twice");
    *has[map] = true;
    const sc_json *key = sc_json_first(json);
    for (uint32_t n = json->size; n--; key = sc_json_next(key + 1)) {
        uint32_t instruction = 0;
        SC_TRY(read_instruction(r, key, &instruction));
        SC_TRY(READ[map](r, maps, instruction, key + 1));
    }
    return sort_maps(maps) ? SC_OK : bad(r, "an instruction is there twice");
}

// Maps the name of each method to the index of its maps + 1.
static void index_methods(const sc_etrecord *record, sc_map *out) {
    for (uint32_t i = 0; i < record->maps.count; i++)
        sc_map_add(out, record->maps.data[i].method, (void *)(uintptr_t)(i + 1));
}

static sc_etrecord_maps *maps_of(sc_ctx *ctx, sc_etrecord *record, sc_map *known, sc_str method) {
    uintptr_t found = (uintptr_t)sc_map_get(known, method);
    if (found) return &record->maps.data[found - 1];
    sc_etrecord_maps maps = {.method = sc_str_copy(ctx->arena, method)};
    sc_vec_push(ctx->arena, &record->maps, maps);
    sc_map_add(known, maps.method, (void *)(uintptr_t)record->maps.count);
    return &sc_vec_last(&record->maps);
}

static void mark(sc_etrecord *record, sc_etrecord_map map, bool is_there) {
    bool *const has[] = {&record->has_debug_handle_map, &record->has_delegate_map,
                         &record->has_num_outs_map};
    *has[map] = is_there;
}

static sc_status read_methods(reader *r, sc_etrecord *record, sc_etrecord_map map, sc_str text) {
    sc_ctx *ctx = r->ctx;
    const sc_json *json = NULL;
    sc_map known;
    SC_TRY(sc_json_parse(ctx, ctx->arena, text, &json));
    if (json->kind != SC_JSON_OBJECT || json->size > METHODS_MAX)
        return bad(r, "it is not a map of methods");
    sc_map_init(&known, ctx->arena);
    index_methods(record, &known);
    mark(record, map, true);
    const sc_json *key = sc_json_first(json);
    for (uint32_t n = json->size; n--; key = sc_json_next(key + 1)) {
        r->method = sc_json_str(ctx->arena, key);
        SC_TRY(read_method(r, map, key + 1, maps_of(ctx, record, &known, r->method)));
    }
    return SC_OK;
}

// Removes a map that proved wrong while it was read. The first `count` methods existed before.
static void drop_map(sc_etrecord *record, sc_etrecord_map map, uint32_t count) {
    mark(record, map, false);
    record->maps.count = count;
    for (uint32_t i = 0; i < count; i++) {
        sc_etrecord_maps *maps = &record->maps.data[i];
        bool *const has[] = {&maps->has_handles, &maps->has_delegates, &maps->has_outs};
        uint32_t *const counts[] = {&maps->handles.count, &maps->delegates.count,
                                    &maps->outs.count};
        *has[map] = false;
        *counts[map] = 0;
    }
}

sc_status sc_etrecord_read_map(sc_ctx *ctx, sc_etrecord *record, sc_etrecord_map map, sc_str text) {
    reader r = {.ctx = ctx, .map = sc_etrecord_map_name(map)};
    const uint32_t count = record->maps.count;
    const sc_status status = read_methods(&r, record, map, text);
    if (status != SC_OK) drop_map(record, map, count);
    return status;
}
