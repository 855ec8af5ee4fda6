// Reads JSON as a flat tree over the input text, and writes JSON as a stream.
//
// A parsed document is one array of 16-byte values in document order. A container is followed by
// its children. An object's children are key, value, key, value... Strings and fractional numbers
// stay in the text, which must outlive the tree. Python's bare Infinity, -Infinity and NaN are
// accepted. All other text that is not JSON is refused, invalid UTF-8 and lone surrogates included.
// Prefixes: sc_json_ reads values; sc_json_begin_, sc_json_end_, sc_json_add_ and sc_json_put_
// write.
#ifndef SC_JSON_H
#define SC_JSON_H

#include "base/diag.h"

typedef enum sc_json_kind {
    SC_JSON_NULL,
    SC_JSON_BOOL,
    SC_JSON_INT,    // fits int64
    SC_JSON_UINT,   // fits uint64, but not int64
    SC_JSON_FLOAT,  // any other number, as text
    SC_JSON_STRING,
    SC_JSON_ARRAY,
    SC_JSON_OBJECT
} sc_json_kind;

typedef struct sc_json {
    uint8_t kind;   // sc_json_kind
    bool escaped;   // string: the text contains backslashes
    uint32_t size;  // bytes of text, or number of elements or members
    union {
        bool boolean;
        int64_t integer;
        uint64_t natural;
        const char *text;  // string (between the quotes), float
        uint64_t span;     // container: number of values from here to its end, itself included
    };
} sc_json;

// Parses a text. ctx->limits bounds depth, bytes and bytes of strings. The tree lives on `arena`.
sc_status sc_json_parse(sc_ctx *ctx, sc_arena *arena, sc_str text, const sc_json **out);

// Loop over an array: for (v = sc_json_first(c), n = c->size; n--; v = sc_json_next(v)). In an
// object, `v` is the key, and v + 1 its value. sc_json_next(v) is the value, too.
static inline const sc_json *sc_json_first(const sc_json *container) { return container + 1; }
static inline const sc_json *sc_json_next(const sc_json *value) {
    return value->kind >= SC_JSON_ARRAY ? value + value->span : value + 1;
}

// The member of that name, or NULL. Names are compared bytewise with the text. `object` may be
// NULL, or not an object.
const sc_json *sc_json_get(const sc_json *object, const char *name);

// A field of a record, for sc_json_pick.
typedef struct sc_json_field {
    const char *name;
    const sc_json *value;  // NULL when absent or null
} sc_json_field;

// Fills the values of `fields` from an object in one pass. It is fastest if both are in the same
// order. Other members are skipped. SC_ERR_FORMAT if it is not an object, or has a field twice.
// `what` names the record in messages.
sc_status sc_json_pick(sc_ctx *ctx, const sc_json *object, const char *what, sc_json_field *fields,
                       uint32_t count);

// The single member of a tagged union. SC_ERR_FORMAT unless there is exactly one.
sc_status sc_json_union(sc_ctx *ctx, const sc_json *object, const char *what, sc_str *tag,
                        const sc_json **value);

// The text of a string: decoded onto `arena` if it has escapes, else a view. Empty for other kinds.
sc_str sc_json_str(sc_arena *arena, const sc_json *value);
// The raw text between the quotes, escapes included.
static inline sc_str sc_json_raw(const sc_json *value) {
    return (sc_str){value->text, value->size};
}
bool sc_json_is_str(const sc_json *value, const char *text);  // false for a string with escapes

// False if the value is absent (NULL) or of another kind.
bool sc_json_i64(const sc_json *value, int64_t *out);
// Reads a list of at most `max` integers.
bool sc_json_i64s(const sc_json *list, uint32_t max, int64_t *out, uint32_t *count);
bool sc_json_bool(const sc_json *value, bool *out);
// Reads a number, or a string that Python's float() takes ("Infinity", "NaN").
bool sc_json_f64(const sc_json *value, double *out);

typedef enum sc_json_style {
    SC_JSON_COMPACT,  // no spaces, UTF-8
    SC_JSON_PYTHON,   // as json.dumps: ", " and ": ", with escapes for all that is not ASCII
    SC_JSON_PRETTY    // two-space indentation, UTF-8
} sc_json_style;

// A streaming writer. Calls must nest properly (asserted). Bytes that are not UTF-8 become U+FFFD.
typedef struct sc_json_writer {
    sc_sb *out;
    sc_json_style style;
    uint32_t depth;
    bool first;  // the innermost container is empty so far
    bool after_key;
} sc_json_writer;

void sc_json_writer_init(sc_json_writer *writer, sc_sb *out, sc_json_style style);
void sc_json_begin_object(sc_json_writer *writer);
void sc_json_end_object(sc_json_writer *writer);
void sc_json_begin_array(sc_json_writer *writer);
void sc_json_end_array(sc_json_writer *writer);
void sc_json_key(sc_json_writer *writer, const char *name);
void sc_json_key_str(sc_json_writer *writer, sc_str name);
void sc_json_add_null(sc_json_writer *writer);
void sc_json_add_bool(sc_json_writer *writer, bool value);
void sc_json_add_i64(sc_json_writer *writer, int64_t value);
void sc_json_add_u64(sc_json_writer *writer, uint64_t value);
// Writes the shortest text that reads back. Infinities and NaN are written as the strings
// "Infinity", "-Infinity", "NaN".
void sc_json_add_f64(sc_json_writer *writer, double value);
// Writes text that is JSON, or that Python takes for JSON: Infinity, NaN.
void sc_json_add_raw(sc_json_writer *writer, sc_str json);
void sc_json_add_str(sc_json_writer *writer, sc_str value);
void sc_json_add_text(sc_json_writer *writer, const char *terminated);

// These write a member: a key and its value.
void sc_json_put_str(sc_json_writer *writer, const char *key, sc_str value);
void sc_json_put_text(sc_json_writer *writer, const char *key, const char *terminated);
void sc_json_put_null(sc_json_writer *writer, const char *key);
void sc_json_put_i64(sc_json_writer *writer, const char *key, int64_t value);
void sc_json_put_u64(sc_json_writer *writer, const char *key, uint64_t value);
void sc_json_put_f64(sc_json_writer *writer, const char *key, double value);
// Writes null unless the value is finite.
void sc_json_put_finite(sc_json_writer *writer, const char *key, double value);
void sc_json_put_bool(sc_json_writer *writer, const char *key, bool value);
// These begin a container under a key. sc_json_end_object and sc_json_end_array end it.
void sc_json_put_object(sc_json_writer *writer, const char *key);
void sc_json_put_array(sc_json_writer *writer, const char *key);

#endif
