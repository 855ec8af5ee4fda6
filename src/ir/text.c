// Lexical level of the textual IR: quotes names on output and reads tokens on input. It knows no
// grammar.
#include "ir/text.h"

const char *const sc_text_input_kinds[7] = {"user",   "parameter", "buffer",  "constant_tensor",
                                            "object", "token",     "constant"};
const char *const sc_text_output_kinds[9] = {
    "user",   "buffer_mutation", "parameter_mutation", "input_mutation",
    "loss",   "gradient",        "input_gradient",     "token",
    "trained"};
const char *const sc_text_value_types[6] = {"", "int", "float", "bool", "none", "opaque"};
const char *const sc_text_formats[4] = {"contiguous", "preserve", "channels_last",
                                        "channels_last_3d"};

// --- Writing -------------------------------------------------------------------------------------

static void print_quoted(sc_sb *sb, sc_str s, unsigned char last_plain) {
    static const char hex[] = "0123456789abcdef";
    sc_sb_add_char(sb, '"');
    for (size_t i = 0; i < s.size; i++) {
        unsigned char c = (unsigned char)s.data[i];
        if (c == '"' || c == '\\') {
            sc_sb_add_char(sb, '\\');
            sc_sb_add_char(sb, (char)c);
        } else if (c == '\n') {
            sc_sb_add_text(sb, "\\n");
        } else if (c < 0x20 || c == 0x7f || c > last_plain) {
            sc_sb_add_text(sb, "\\x");
            sc_sb_add_char(sb, hex[c >> 4]);
            sc_sb_add_char(sb, hex[c & 15]);
        } else {
            sc_sb_add_char(sb, (char)c);
        }
    }
    sc_sb_add_char(sb, '"');
}

void sc_text_print_quoted(sc_sb *sb, sc_str s) { print_quoted(sb, s, 0xff); }

void sc_text_print_bytes(sc_sb *sb, sc_str s) { print_quoted(sb, s, 0x7e); }

static char char_of(sc_str text, size_t at) { return at < text.size ? text.data[at] : '\0'; }

// A ':' belongs to a word only as "::" inside it (aten::add.Tensor).
static sc_str word_at(sc_str text, size_t at) {
    size_t end = at;
    for (;;) {
        if (sc_text_is_word(char_of(text, end)))
            end++;
        else if (end > at && char_of(text, end) == ':' && char_of(text, end + 1) == ':' &&
                 sc_text_is_word(char_of(text, end + 2)))
            end += 2;
        else
            return sc_str_slice(text, at, end);
    }
}

void sc_text_print_name(sc_sb *sb, sc_str name) {
    if (name.size > 0 && word_at(name, 0).size == name.size)
        sc_sb_add(sb, name);
    else
        sc_text_print_quoted(sb, name);
}

// --- Reading -------------------------------------------------------------------------------------

sc_status sc_text_fail(sc_text_cursor *c, const char *expected) {
    uint64_t line = 1;
    for (size_t i = 0; i < c->at; i++) line += c->text.data[i] == '\n';
    size_t end = c->at;
    while (end < c->text.size && end < c->at + 20 && c->text.data[end] != '\n') end++;
    sc_str found = sc_str_slice(c->text, c->at, end);
    return sc_fail(c->ctx, SC_ERR_FORMAT, "Correct the textual IR at this line.",
                   "line %llu: expected %s, found '" SC_STR_FMT "'", (unsigned long long)line,
                   expected, SC_STR_ARG(found));
}

void sc_text_skip(sc_text_cursor *c, bool in_line) {
    while (c->at < c->text.size) {
        char next = c->text.data[c->at];
        if (next == ' ' || next == '\t' || next == '\r') {
            c->at++;
        } else if (in_line) {
            return;
        } else if (next == '\n') {
            c->at++;
        } else if (next == '#') {
            while (c->at < c->text.size && c->text.data[c->at] != '\n') c->at++;
        } else {
            return;
        }
    }
}

static char char_at(const sc_text_cursor *c, size_t at) { return char_of(c->text, at); }

char sc_text_peek(sc_text_cursor *c) {
    sc_text_skip(c, false);
    return char_at(c, c->at);
}

bool sc_text_accept(sc_text_cursor *c, char wanted) {
    if (sc_text_peek(c) != wanted || c->at >= c->text.size) return false;
    c->at++;
    return true;
}

sc_status sc_text_expect(sc_text_cursor *c, char wanted) {
    char expected[] = {'\'', wanted, '\'', '\0'};
    return sc_text_accept(c, wanted) ? SC_OK : sc_text_fail(c, expected);
}

sc_str sc_text_peek_word(sc_text_cursor *c) {
    sc_text_skip(c, false);
    return word_at(c->text, c->at);
}

bool sc_text_accept_word(sc_text_cursor *c, const char *word) {
    if (!sc_str_is(sc_text_peek_word(c), word)) return false;
    c->at += strlen(word);
    return true;
}

bool sc_text_accept_word_here(sc_text_cursor *c, const char *word) {
    sc_text_skip(c, true);
    if (!sc_str_is(word_at(c->text, c->at), word)) return false;
    c->at += strlen(word);
    return true;
}

bool sc_text_begins(sc_text_cursor *c, const char *keyword) {
    size_t start = c->at;
    if (!sc_text_accept_word(c, keyword)) return false;
    size_t end = c->at;
    bool is_node = sc_text_peek(c) == ':';
    c->at = is_node ? start : end;  // the next token may have to be on this line
    return !is_node;
}

sc_status sc_text_word(sc_text_cursor *c, sc_str *out) {
    *out = sc_text_peek_word(c);
    if (out->size == 0) return sc_text_fail(c, "a word");
    c->at += out->size;
    return SC_OK;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// `c` is the character after a backslash.
static sc_status read_escape(sc_text_cursor *c, char *out) {
    char kind = char_at(c, c->at);
    int high = hex_digit(char_at(c, c->at + 1));
    int low = high >= 0 ? hex_digit(char_at(c, c->at + 2)) : -1;
    if (kind == '"' || kind == '\\') {
        *out = kind;
        c->at += 1;
    } else if (kind == 'n') {
        *out = '\n';
        c->at += 1;
    } else if (kind == 'x' && low >= 0) {
        *out = (char)(high << 4 | low);
        c->at += 3;
    } else {
        return sc_text_fail(c, "an escape sequence");
    }
    return SC_OK;
}

bool sc_text_quote_is_here(sc_text_cursor *c) {
    sc_text_skip(c, true);
    return char_at(c, c->at) == '"';
}

sc_status sc_text_quoted(sc_text_cursor *c, sc_str *out) {
    SC_TRY(sc_text_expect(c, '"'));
    size_t end = c->at;
    while (end < c->text.size && c->text.data[end] != '"') end += c->text.data[end] == '\\' ? 2 : 1;
    if (end >= c->text.size) return sc_text_fail(c, "a closing quote");
    char *text = sc_new_array(c->arena, char, end - c->at + 1);
    size_t size = 0;
    while (c->at < end) {
        char next = c->text.data[c->at++];
        if (next == '\\') SC_TRY(read_escape(c, &next));
        text[size++] = next;
    }
    c->at = end + 1;
    *out = (sc_str){text, size};
    return SC_OK;
}

sc_status sc_text_name(sc_text_cursor *c, sc_str *out) {
    return sc_text_peek(c) == '"' ? sc_text_quoted(c, out) : sc_text_word(c, out);
}

sc_status sc_text_i64(sc_text_cursor *c, int64_t *out) {
    sc_text_skip(c, false);
    size_t end = c->at + (char_at(c, c->at) == '-');
    while (char_at(c, end) >= '0' && char_at(c, end) <= '9') end++;
    if (!sc_parse_i64(sc_str_slice(c->text, c->at, end), out)) return sc_text_fail(c, "an integer");
    c->at = end;
    return SC_OK;
}

static sc_str trimmed(sc_str s) {
    while (s.size && s.data[0] == ' ') s = sc_str_slice(s, 1, s.size);
    while (s.size && s.data[s.size - 1] == ' ') s.size--;
    return s;
}

sc_status sc_text_items(sc_text_cursor *c, char open, char close, sc_str *items, uint32_t max,
                        uint32_t *count) {
    SC_TRY(sc_text_expect(c, open));
    *count = 0;
    if (sc_text_accept(c, close)) return SC_OK;
    size_t start = c->at, depth = 0;
    for (;; c->at++) {
        char next = char_at(c, c->at);
        if (next == '\0' || next == '\n') return sc_text_fail(c, "a closing bracket");
        if (depth > 0 || (next != ',' && next != close)) {
            depth += next == '(';
            depth -= next == ')' && depth > 0;
            continue;
        }
        if (*count == max) return sc_text_fail(c, "fewer items");
        items[(*count)++] = trimmed(sc_str_slice(c->text, start, c->at));
        start = c->at + 1;
        if (next == close) break;
    }
    c->at++;
    return SC_OK;
}
