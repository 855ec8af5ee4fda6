// Finds members in a parsed document, and decodes its strings and numbers.
#include "base/map.h"
#include "format/json.h"

static bool is_object(const sc_json *value) { return value && value->kind == SC_JSON_OBJECT; }

static bool key_is(const sc_json *key, const char *name, size_t size) {
    return key->size == size && memcmp(key->text, name, size) == 0;
}

const sc_json *sc_json_get(const sc_json *object, const char *name) {
    if (!is_object(object)) return NULL;
    size_t size = strlen(name);
    const sc_json *key = sc_json_first(object);
    for (uint32_t i = 0; i < object->size; i++, key = sc_json_next(key + 1))
        if (key_is(key, name, size)) return key + 1;
    return NULL;
}

// The index of the field that `key` names, or -1. The search begins at `from` and wraps around.
static int32_t find_field(const sc_json *key, const sc_json_field *fields, uint32_t count,
                          uint32_t from) {
    for (uint32_t i = 0; i < count; i++) {
        uint32_t index = from + i < count ? from + i : from + i - count;
        if (key_is(key, fields[index].name, strlen(fields[index].name))) return (int32_t)index;
    }
    return -1;
}

sc_status sc_json_pick(sc_ctx *ctx, const sc_json *object, const char *what, sc_json_field *fields,
                       uint32_t count) {
    uint64_t seen = 0;
    SC_ASSERT(count > 0 && count <= 64);
    for (uint32_t i = 0; i < count; i++) fields[i].value = NULL;
    if (!is_object(object))
        return sc_fail(ctx, SC_ERR_FORMAT, NULL, "%s is not a JSON object", what);
    const sc_json *key = sc_json_first(object);
    uint32_t next = 0;
    for (uint32_t i = 0; i < object->size; i++, key = sc_json_next(key + 1)) {
        int32_t index = find_field(key, fields, count, next);
        if (index < 0) continue;
        if (seen >> index & 1)
            return sc_fail(ctx, SC_ERR_FORMAT, NULL, "%s has two fields \"%s\"", what,
                           fields[index].name);
        seen |= UINT64_C(1) << index;
        next = (uint32_t)index + 1 < count ? (uint32_t)index + 1 : 0;
        fields[index].value = key[1].kind == SC_JSON_NULL ? NULL : key + 1;
    }
    return SC_OK;
}

sc_status sc_json_union(sc_ctx *ctx, const sc_json *object, const char *what, sc_str *tag,
                        const sc_json **value) {
    if (!is_object(object) || object->size != 1)
        return sc_fail(ctx, SC_ERR_FORMAT, NULL, "%s is not an object with exactly one key", what);
    *tag = sc_json_raw(sc_json_first(object));
    *value = sc_json_first(object) + 1;
    return SC_OK;
}

static size_t put_utf8(char *out, uint32_t code) {
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xe0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3f));
        out[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3f));
    out[2] = (char)(0x80 | (code >> 6 & 0x3f));
    out[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

// The parser has checked every escape, so this cannot fail.
static uint32_t hex4(const char *at) {
    uint32_t value = 0;
    for (int i = 0; i < 4; i++)
        value = value * 16 + (uint32_t)(at[i] <= '9' ? at[i] - '0' : (at[i] | 0x20) - 'a' + 10);
    return value;
}

static size_t decode_escape(const char **at, char *out) {
    const char *letters = "bfnrt", *bytes = "\b\f\n\r\t";
    char letter = *(*at)++;
    const char *found = strchr(letters, letter);
    if (letter != 'u') {
        *out = found ? bytes[found - letters] : letter;
        return 1;
    }
    uint32_t code = hex4(*at);
    *at += 4;
    if (code >= 0xd800 && code <= 0xdbff) {
        code = 0x10000 + ((code - 0xd800) << 10) + (hex4(*at + 2) - 0xdc00);
        *at += 6;
    }
    return put_utf8(out, code);
}

sc_str sc_json_str(sc_arena *arena, const sc_json *value) {
    if (!value || value->kind != SC_JSON_STRING) return (sc_str){"", 0};
    if (!value->escaped) return sc_json_raw(value);
    // A decoded text is never longer: the shortest escape for n bytes of UTF-8 has more than n
    // bytes.
    char *text = sc_arena_alloc(arena, value->size);
    size_t size = 0;
    const char *at = value->text, *end = at + value->size;
    while (at < end) {
        const char *escape = memchr(at, '\\', (size_t)(end - at));
        size_t plain = (size_t)((escape ? escape : end) - at);
        memcpy(text + size, at, plain);
        size += plain;
        if (!escape) break;
        at = escape + 1;
        size += decode_escape(&at, text + size);
    }
    return (sc_str){text, size};
}

bool sc_json_is_str(const sc_json *value, const char *text) {
    return value && value->kind == SC_JSON_STRING && !value->escaped &&
           key_is(value, text, strlen(text));
}

bool sc_json_i64(const sc_json *value, int64_t *out) {
    if (!value || value->kind != SC_JSON_INT) return false;
    *out = value->integer;
    return true;
}

bool sc_json_i64s(const sc_json *list, uint32_t max, int64_t *out, uint32_t *count) {
    if (!list || list->kind != SC_JSON_ARRAY || list->size > max) return false;
    const sc_json *item = sc_json_first(list);
    for (uint32_t i = 0; i < list->size; i++, item = sc_json_next(item))
        if (!sc_json_i64(item, &out[i])) return false;
    *count = list->size;
    return true;
}

bool sc_json_bool(const sc_json *value, bool *out) {
    if (!value || value->kind != SC_JSON_BOOL) return false;
    *out = value->boolean;
    return true;
}

bool sc_json_f64(const sc_json *value, double *out) {
    if (!value) return false;
    switch (value->kind) {
    case SC_JSON_INT: *out = (double)value->integer; return true;
    case SC_JSON_UINT: *out = (double)value->natural; return true;
    case SC_JSON_FLOAT:
    case SC_JSON_STRING: return !value->escaped && sc_parse_f64(sc_json_raw(value), out);
    default: return false;
    }
}
