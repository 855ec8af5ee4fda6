// The streaming writer. Its output depends on its input only. A number has one form, and members
// are in the order of the calls.
#include <math.h>

#include "format/json.h"

void sc_json_writer_init(sc_json_writer *writer, sc_sb *out, sc_json_style style) {
    *writer = (sc_json_writer){.out = out, .style = style, .first = true};
}

static void new_line(sc_json_writer *writer) {
    sc_sb_add_char(writer->out, '\n');
    for (uint32_t i = 0; i < writer->depth; i++) sc_sb_add_text(writer->out, "  ");
}

// Writes the separator between an item and the text before it.
static void begin_item(sc_json_writer *writer) {
    if (writer->after_key) {
        writer->after_key = false;
        return;
    }
    if (!writer->first) sc_sb_add_text(writer->out, writer->style == SC_JSON_PYTHON ? ", " : ",");
    if (writer->style == SC_JSON_PRETTY && writer->depth > 0) new_line(writer);
    writer->first = false;
}

static void begin_container(sc_json_writer *writer, char bracket) {
    begin_item(writer);
    sc_sb_add_char(writer->out, bracket);
    writer->depth++;
    writer->first = true;
}

static void end_container(sc_json_writer *writer, char bracket) {
    SC_ASSERT(writer->depth > 0 && !writer->after_key);
    writer->depth--;
    if (writer->style == SC_JSON_PRETTY && !writer->first) new_line(writer);
    sc_sb_add_char(writer->out, bracket);
    writer->first = false;
}

void sc_json_begin_object(sc_json_writer *writer) { begin_container(writer, '{'); }
void sc_json_end_object(sc_json_writer *writer) { end_container(writer, '}'); }
void sc_json_begin_array(sc_json_writer *writer) { begin_container(writer, '['); }
void sc_json_end_array(sc_json_writer *writer) { end_container(writer, ']'); }

// Reads the code point at s[*at], and moves *at past it. Each byte that is not UTF-8 gives U+FFFD.
static uint32_t next_code(sc_str s, size_t *at) {
    const unsigned char *bytes = (const unsigned char *)s.data + *at;
    size_t left = s.size - *at;
    uint32_t first = bytes[0];
    size_t size = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (size == 1 || size == 0 || first > 0xf4 || size > left) {
        *at += 1;
        return size == 1 ? first : 0xfffd;
    }
    uint32_t code = first & (0x7fu >> size);
    for (size_t i = 1; i < size; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            size = 0;
        else
            code = code << 6 | (bytes[i] & 0x3f);
        if (size == 0) break;
    }
    bool wrong = size == 0 || (size == 3 && code < 0x800) || (code >= 0xd800 && code <= 0xdfff) ||
                 (size == 4 && code < 0x10000) || code > 0x10ffff;
    *at += wrong ? 1 : size;
    return wrong ? 0xfffd : code;
}

static void add_escaped(sc_sb *out, uint32_t code) {
    switch (code) {
    case '"': sc_sb_add_text(out, "\\\""); return;
    case '\\': sc_sb_add_text(out, "\\\\"); return;
    case '\b': sc_sb_add_text(out, "\\b"); return;
    case '\f': sc_sb_add_text(out, "\\f"); return;
    case '\n': sc_sb_add_text(out, "\\n"); return;
    case '\r': sc_sb_add_text(out, "\\r"); return;
    case '\t': sc_sb_add_text(out, "\\t"); return;
    default: break;
    }
    if (code >= 0x10000) {
        code -= 0x10000;
        sc_sb_addf(out, "\\u%04x\\u%04x", 0xd800 + (code >> 10), 0xdc00 + (code & 0x3ff));
    } else {
        sc_sb_addf(out, "\\u%04x", code);
    }
}

static void add_string(sc_json_writer *writer, sc_str s) {
    bool ascii = writer->style == SC_JSON_PYTHON;
    size_t at = 0, plain = 0;
    sc_sb_add_char(writer->out, '"');
    while (at < s.size) {
        size_t begin = at;
        uint32_t code = next_code(s, &at);
        bool invalid = code == 0xfffd && at - begin == 1;
        bool escape = code < 0x20 || code == '"' || code == '\\' || (ascii && code > 0x7e);
        if (!escape && !invalid) continue;
        sc_sb_add(writer->out, sc_str_slice(s, plain, begin));
        plain = at;
        if (escape)
            add_escaped(writer->out, code);
        else
            sc_sb_add_text(writer->out, "\xef\xbf\xbd");
    }
    sc_sb_add(writer->out, sc_str_slice(s, plain, s.size));
    sc_sb_add_char(writer->out, '"');
}

void sc_json_key_str(sc_json_writer *writer, sc_str name) {
    SC_ASSERT(writer->depth > 0 && !writer->after_key);
    begin_item(writer);
    add_string(writer, name);
    sc_sb_add_text(writer->out, writer->style == SC_JSON_COMPACT ? ":" : ": ");
    writer->after_key = true;
}

void sc_json_key(sc_json_writer *writer, const char *name) {
    sc_json_key_str(writer, sc_str_from(name));
}

void sc_json_add_raw(sc_json_writer *writer, sc_str json) {
    begin_item(writer);
    sc_sb_add(writer->out, json);
}

void sc_json_add_null(sc_json_writer *writer) { sc_json_add_raw(writer, SC_STR("null")); }

void sc_json_add_bool(sc_json_writer *writer, bool value) {
    sc_json_add_raw(writer, value ? SC_STR("true") : SC_STR("false"));
}

void sc_json_add_i64(sc_json_writer *writer, int64_t value) {
    begin_item(writer);
    sc_sb_add_i64(writer->out, value);
}

void sc_json_add_u64(sc_json_writer *writer, uint64_t value) {
    begin_item(writer);
    sc_sb_addf(writer->out, "%llu", (unsigned long long)value);
}

void sc_json_add_f64(sc_json_writer *writer, double value) {
    if (isnan(value)) {
        sc_json_add_raw(writer, SC_STR("\"NaN\""));
    } else if (isinf(value)) {
        sc_json_add_raw(writer, value > 0 ? SC_STR("\"Infinity\"") : SC_STR("\"-Infinity\""));
    } else {
        begin_item(writer);
        sc_sb_add_f64(writer->out, value);
    }
}

void sc_json_add_str(sc_json_writer *writer, sc_str value) {
    begin_item(writer);
    add_string(writer, value);
}

void sc_json_add_text(sc_json_writer *writer, const char *terminated) {
    sc_json_add_str(writer, sc_str_from(terminated));
}

void sc_json_put_str(sc_json_writer *writer, const char *key, sc_str value) {
    sc_json_key(writer, key);
    sc_json_add_str(writer, value);
}

void sc_json_put_text(sc_json_writer *writer, const char *key, const char *terminated) {
    sc_json_put_str(writer, key, sc_str_from(terminated));
}

void sc_json_put_null(sc_json_writer *writer, const char *key) {
    sc_json_key(writer, key);
    sc_json_add_null(writer);
}

void sc_json_put_i64(sc_json_writer *writer, const char *key, int64_t value) {
    sc_json_key(writer, key);
    sc_json_add_i64(writer, value);
}

void sc_json_put_u64(sc_json_writer *writer, const char *key, uint64_t value) {
    sc_json_key(writer, key);
    sc_json_add_u64(writer, value);
}

void sc_json_put_f64(sc_json_writer *writer, const char *key, double value) {
    sc_json_key(writer, key);
    sc_json_add_f64(writer, value);
}

void sc_json_put_finite(sc_json_writer *writer, const char *key, double value) {
    sc_json_key(writer, key);
    if (isfinite(value))
        sc_json_add_f64(writer, value);
    else
        sc_json_add_null(writer);
}

void sc_json_put_bool(sc_json_writer *writer, const char *key, bool value) {
    sc_json_key(writer, key);
    sc_json_add_bool(writer, value);
}

void sc_json_put_object(sc_json_writer *writer, const char *key) {
    sc_json_key(writer, key);
    sc_json_begin_object(writer);
}

void sc_json_put_array(sc_json_writer *writer, const char *key) {
    sc_json_key(writer, key);
    sc_json_begin_array(writer);
}
