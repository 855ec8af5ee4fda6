// Parses in one pass, without recursion. The parser has a stack of open containers, and appends
// values to the flat tree. Strings are only scanned, eight bytes at a time. Fractional numbers are
// only checked. The grammar is RFC 8259 and Python's three bare numbers that are not finite.
#include "format/json.h"

enum { NUMBER_BYTES_MAX = 64 };

typedef struct parser {
    sc_ctx *ctx;
    sc_arena *arena;
    const char *begin, *at, *end;
    sc_json *values;
    uint32_t count, capacity;
    uint32_t *open;  // indices of the open containers, outermost first
    uint32_t depth;
} parser;

static sc_status fail_at(parser *p, const char *what) {
    return sc_fail(p->ctx, SC_ERR_FORMAT, NULL, "JSON, byte %llu: %s",
                   (unsigned long long)(p->at - p->begin), what);
}

static sc_json *push(parser *p, sc_json_kind kind) {
    if (p->count == p->capacity)
        p->values =
            sc_vec_grow(p->arena, p->values, &p->capacity, p->count + 1, sizeof(sc_json), p->count);
    sc_json *value = &p->values[p->count++];
    value->kind = (uint8_t)kind;
    return value;
}

static void skip_space(parser *p) {
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\n' || *p->at == '\t' || *p->at == '\r'))
        p->at++;
}

// --- Strings -----------------------------------------------------------------------------------

#define ONES  UINT64_C(0x0101010101010101)
#define HIGHS UINT64_C(0x8080808080808080)

// Not zero if a byte of `word` is zero. Bytes above the first such byte may be wrong.
static uint64_t zero_bytes(uint64_t word) { return (word - ONES) & ~word & HIGHS; }

// The first byte after the plain part of a string: a quote, backslash, control or non-ASCII byte.
static const char *skip_plain(const char *at, const char *end) {
    for (; end - at >= 8; at += 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        uint64_t stop = zero_bytes(word ^ ONES * '"') | zero_bytes(word ^ ONES * '\\') |
                        zero_bytes(word & ONES * 0xe0) | (word & HIGHS);
        if (stop) return at + __builtin_ctzll(stop) / 8;
    }
    while (at < end && (unsigned char)*at >= 0x20 && (unsigned char)*at < 0x80 && *at != '"' &&
           *at != '\\')
        at++;
    return at;
}

// The number of bytes of the UTF-8 sequence at `at` (RFC 3629: shortest form, no surrogates). 0 if
// it is invalid.
static size_t utf8_bytes(const char *at, const char *end) {
    const unsigned char *s = (const unsigned char *)at;
    size_t left = (size_t)(end - at);
    unsigned first = s[0];
    size_t bytes = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
    if (bytes == 0 || left < bytes) return 0;
    for (size_t i = 1; i < bytes; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    bool wrong = (first == 0xe0 && s[1] < 0xa0) || (first == 0xed && s[1] > 0x9f) ||
                 (first == 0xf0 && s[1] < 0x90) || (first == 0xf4 && s[1] > 0x8f);
    return wrong ? 0 : bytes;
}

// Value of four hex digits, or -1.
static int32_t hex4(const char *at, const char *end) {
    int32_t value = 0;
    if (end - at < 4) return -1;
    for (int i = 0; i < 4; i++) {
        char c = at[i], lower = (char)(c | 0x20);
        if (c >= '0' && c <= '9')
            value = value * 16 + (c - '0');
        else if (lower >= 'a' && lower <= 'f')
            value = value * 16 + (lower - 'a' + 10);
        else
            return -1;
    }
    return value;
}

// The code point of the escape at `at` (after "\u"), and the bytes that it takes. -1 if it is
// invalid.
static int32_t unicode_escape(const char *at, const char *end, size_t *bytes) {
    int32_t unit = hex4(at, end);
    *bytes = 4;
    if (unit < 0xd800 || unit > 0xdfff) return unit;
    if (unit > 0xdbff || end - at < 10 || at[4] != '\\' || at[5] != 'u') return -1;
    int32_t low = hex4(at + 6, end);
    if (low < 0xdc00 || low > 0xdfff) return -1;
    *bytes = 10;
    return 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
}

// The byte that a one-letter escape means, or 0.
static char simple_escape(char letter) {
    switch (letter) {
    case '"':
    case '\\':
    case '/': return letter;
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return 0;
    }
}

static sc_status parse_escape(parser *p) {
    size_t bytes;
    if (p->end - p->at >= 2 && simple_escape(p->at[1])) {
        p->at += 2;
        return SC_OK;
    }
    if (p->end - p->at < 2 || p->at[1] != 'u' || unicode_escape(p->at + 2, p->end, &bytes) < 0)
        return fail_at(p, "invalid escape");
    p->at += 2 + bytes;
    return SC_OK;
}

static sc_status parse_string(parser *p) {
    const char *begin = ++p->at;
    bool escaped = false;
    for (;;) {
        p->at = skip_plain(p->at, p->end);
        if (p->at == p->end) return fail_at(p, "the text ends inside a string");
        if (*p->at == '"') break;
        if (*p->at == '\\') {
            escaped = true;
            SC_TRY(parse_escape(p));
            continue;
        }
        size_t bytes = utf8_bytes(p->at, p->end);
        if (bytes == 0) return fail_at(p, "control byte or invalid UTF-8 in a string");
        p->at += bytes;
    }
    size_t size = (size_t)(p->at++ - begin);
    if (size > p->ctx->limits.json_string_bytes_max || size > UINT32_MAX)
        return sc_fail(p->ctx, SC_ERR_LIMIT, NULL, "a JSON string exceeds json_string_bytes_max");
    sc_json *value = push(p, SC_JSON_STRING);
    value->escaped = escaped;
    value->size = (uint32_t)size;
    value->text = begin;
    return SC_OK;
}

// --- Numbers and words ---------------------------------------------------------------------------

static const char *skip_digits(const char *at, const char *end) {
    while (at < end && *at >= '0' && *at <= '9') at++;
    return at;
}

// Skips the part after the integer: [. digits] [e [sign] digits]. NULL if it is malformed.
static const char *skip_fraction(const char *at, const char *end) {
    const char *begin;
    if (at < end && *at == '.') {
        begin = at + 1;
        at = skip_digits(begin, end);
        if (at == begin) return NULL;
    }
    if (at < end && (*at | 0x20) == 'e') {
        begin = at + 1;
        if (begin < end && (*begin == '+' || *begin == '-')) begin++;
        at = skip_digits(begin, end);
        if (at == begin) return NULL;
    }
    return at;
}

static bool skip_word(parser *p, const char *word) {
    size_t size = strlen(word);
    if ((size_t)(p->end - p->at) < size || memcmp(p->at, word, size) != 0) return false;
    p->at += size;
    return true;
}

static void push_float(parser *p, const char *begin) {
    sc_json *value = push(p, SC_JSON_FLOAT);
    value->text = begin;
    value->size = (uint32_t)(p->at - begin);
}

// Integers that fit are decoded here, because most numbers of a graph are integers. Other numbers
// stay text.
static void push_integer(parser *p, const char *begin) {
    sc_str text = {begin, (size_t)(p->at - begin)};
    int64_t integer;
    uint64_t natural;
    if (sc_parse_i64(text, &integer))
        push(p, SC_JSON_INT)->integer = integer;
    else if (sc_parse_u64(text, &natural))
        push(p, SC_JSON_UINT)->natural = natural;
    else
        push_float(p, begin);
}

static sc_status parse_number(parser *p) {
    const char *begin = p->at;
    bool negative = *p->at == '-';
    const char *digits = begin + (negative ? 1 : 0);
    if (negative && digits < p->end && *digits == 'I') {
        p->at = digits;
        if (!skip_word(p, "Infinity")) return fail_at(p, "unknown word");
        push_float(p, begin);
        return SC_OK;
    }
    const char *whole = skip_digits(digits, p->end);
    const char *end = whole == digits ? NULL : skip_fraction(whole, p->end);
    if (!end || (*digits == '0' && whole - digits > 1)) return fail_at(p, "malformed number");
    if (end - begin > NUMBER_BYTES_MAX) return fail_at(p, "a number has more than 64 characters");
    p->at = end;
    if (end == whole)
        push_integer(p, begin);
    else
        push_float(p, begin);
    return SC_OK;
}

static sc_status parse_word(parser *p) {
    const char *begin = p->at;
    if (skip_word(p, "null"))
        push(p, SC_JSON_NULL);
    else if (skip_word(p, "true"))
        push(p, SC_JSON_BOOL)->boolean = true;
    else if (skip_word(p, "false"))
        push(p, SC_JSON_BOOL)->boolean = false;
    else if (skip_word(p, "NaN") || skip_word(p, "Infinity"))
        push_float(p, begin);
    else
        return fail_at(p, "expected a value");
    return SC_OK;
}

// --- Structure -----------------------------------------------------------------------------------

static sc_status open_container(parser *p, sc_json_kind kind) {
    if (p->depth >= p->ctx->limits.json_depth_max)
        return sc_fail(p->ctx, SC_ERR_LIMIT, NULL, "JSON is nested deeper than json_depth_max");
    p->at++;
    p->open[p->depth++] = p->count;
    push(p, kind);
    return SC_OK;
}

static void close_container(parser *p) {
    uint32_t index = p->open[--p->depth];
    p->values[index].span = p->count - index;
    p->at++;
}

static sc_status parse_key(parser *p) {
    skip_space(p);
    if (p->at == p->end || *p->at != '"') return fail_at(p, "expected a key");
    SC_TRY(parse_string(p));
    skip_space(p);
    if (p->at == p->end || *p->at != ':') return fail_at(p, "expected ':'");
    p->at++;
    return SC_OK;
}

// Parses one value. A container is only opened.
static sc_status parse_value(parser *p) {
    skip_space(p);
    if (p->at == p->end) return fail_at(p, "the text ends where a value should be");
    switch (*p->at) {
    case '{': return open_container(p, SC_JSON_OBJECT);
    case '[': return open_container(p, SC_JSON_ARRAY);
    case '"': return parse_string(p);
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9': return parse_number(p);
    default: return parse_word(p);
    }
}

// Goes from the end of a value, or from an opening bracket, to the start of the next value. It
// closes containers that end, and takes a comma and, in an object, a key. `fresh`: the container
// was just opened.
static sc_status parse_between(parser *p, bool fresh) {
    while (p->depth > 0) {
        sc_json *container = &p->values[p->open[p->depth - 1]];
        bool object = container->kind == SC_JSON_OBJECT;
        skip_space(p);
        if (p->at == p->end) return fail_at(p, "the text ends inside an array or object");
        if (*p->at == (object ? '}' : ']')) {
            close_container(p);
            fresh = false;
            continue;
        }
        if (!fresh && *p->at != ',') return fail_at(p, "expected ',' or a closing bracket");
        if (!fresh) p->at++;
        container->size++;
        return object ? parse_key(p) : SC_OK;
    }
    return SC_OK;
}

static sc_status parse_document(parser *p) {
    do {
        uint32_t depth = p->depth;
        SC_TRY(parse_value(p));
        SC_TRY(parse_between(p, p->depth > depth));
        // Indices must fit 32 bits with room to spare.
        if (p->count >= UINT32_C(1) << 30)
            return sc_fail(p->ctx, SC_ERR_LIMIT, NULL, "JSON has more than 2^30 values");
    } while (p->depth > 0);
    skip_space(p);
    return p->at == p->end ? SC_OK : fail_at(p, "text after the end of the document");
}

sc_status sc_json_parse(sc_ctx *ctx, sc_arena *arena, sc_str text, const sc_json **out) {
    if (text.size > ctx->limits.json_bytes_max)
        return sc_fail(ctx, SC_ERR_LIMIT, NULL, "JSON of %llu bytes exceeds json_bytes_max",
                       (unsigned long long)text.size);
    if (text.size == 0) return sc_fail(ctx, SC_ERR_FORMAT, NULL, "JSON is empty");
    sc_mark mark = sc_arena_mark(ctx->scratch);
    parser p = {
        .ctx = ctx,
        .arena = arena,
        .begin = text.data,
        .at = text.data,
        .end = text.data + text.size,
        .open = sc_new_array(ctx->scratch, uint32_t, ctx->limits.json_depth_max),
    };
    // Dense JSON has a value in about eight bytes. This first capacity avoids most growing.
    p.capacity = (uint32_t)(text.size / 16 + 16);
    p.values = sc_new_array(arena, sc_json, p.capacity);
    sc_status status = parse_document(&p);
    if (arena != ctx->scratch) sc_arena_rewind(ctx->scratch, mark);
    *out = p.values;
    return status;
}
