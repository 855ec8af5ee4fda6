// Views, numbers and the builder.
#include "base/str.h"

#include <math.h>
#include <stdlib.h>

#include "base/decimal.h"
#include "base/exact.h"
#include "base/hash.h"
#include "base/print.h"

sc_str sc_str_from(const char *terminated) { return (sc_str){terminated, strlen(terminated)}; }

char *sc_str_dup(sc_arena *arena, sc_str s) {
    SC_ASSERT(s.size < SIZE_MAX);
    char *text = sc_arena_alloc(arena, s.size + 1);
    if (s.size) memcpy(text, s.data, s.size);
    return text;
}

sc_str sc_str_copy(sc_arena *arena, sc_str s) { return (sc_str){sc_str_dup(arena, s), s.size}; }

sc_str sc_str_vformat(sc_arena *arena, const char *format, va_list args) {
    sc_sb sb;
    sc_sb_init(&sb, arena);
    sc_sb_vaddf(&sb, format, args);
    sc_sb_terminate(&sb);
    return sc_sb_str(&sb);
}

sc_str sc_str_format(sc_arena *arena, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const sc_str text = sc_str_vformat(arena, format, args);
    va_end(args);
    return text;
}

bool sc_str_equal(sc_str a, sc_str b) {
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static char small(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

bool sc_str_equal_any_case(sc_str a, sc_str b) {
    if (a.size != b.size) return false;
    for (size_t i = 0; i < a.size; i++)
        if (small(a.data[i]) != small(b.data[i])) return false;
    return true;
}

bool sc_str_is(sc_str s, const char *terminated) {
    return sc_str_equal(s, sc_str_from(terminated));
}

bool sc_str_starts_with(sc_str s, const char *terminated) {
    size_t size = strlen(terminated);
    return s.size >= size && (size == 0 || memcmp(s.data, terminated, size) == 0);
}

bool sc_str_is_file_name(sc_str s) {
    if (sc_str_is(s, ".") || sc_str_is(s, "..")) return false;
    for (size_t i = 0; i < s.size; i++) {
        const uint8_t byte = (uint8_t)s.data[i];
        if (byte < 0x20 || byte == 0x7f || byte == '/' || byte == '\\') return false;
    }
    return true;
}

bool sc_str_ends_with(sc_str s, const char *terminated) {
    size_t size = strlen(terminated);
    return s.size >= size && (size == 0 || memcmp(s.data + s.size - size, terminated, size) == 0);
}

int sc_str_compare(sc_str a, sc_str b) {
    size_t size = a.size < b.size ? a.size : b.size;
    int order = size ? memcmp(a.data, b.data, size) : 0;
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

sc_str sc_str_slice(sc_str s, size_t begin, size_t end) {
    if (end > s.size) end = s.size;
    if (begin >= end) return (sc_str){NULL, 0};
    return (sc_str){s.data + begin, end - begin};
}

ptrdiff_t sc_str_find(sc_str s, char c) {
    const char *at = s.size ? memchr(s.data, c, s.size) : NULL;
    return at ? at - s.data : -1;
}

ptrdiff_t sc_str_find_last(sc_str s, char c) {
    for (size_t i = s.size; i > 0; i--)
        if (s.data[i - 1] == c) return (ptrdiff_t)(i - 1);
    return -1;
}

uint64_t sc_str_hash(sc_str s) { return sc_hash64(s.data, s.size); }

bool sc_parse_u64(sc_str s, uint64_t *out) {
    if (s.size == 0) return false;
    uint64_t value = 0;
    for (size_t i = 0; i < s.size; i++) {
        unsigned digit = (unsigned)(unsigned char)s.data[i] - '0';
        if (digit > 9 || !sc_mul_u64(value, 10, &value) || !sc_add_u64(value, digit, &value))
            return false;
    }
    *out = value;
    return true;
}

bool sc_parse_i64(sc_str s, int64_t *out) {
    bool negative = s.size > 0 && s.data[0] == '-';
    bool signed_text = negative || (s.size > 0 && s.data[0] == '+');
    uint64_t magnitude;
    if (!sc_parse_u64(sc_str_slice(s, signed_text ? 1 : 0, s.size), &magnitude)) return false;
    if (magnitude > (uint64_t)INT64_MAX + (negative ? 1 : 0)) return false;
    *out = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return true;
}

static bool equal_ignoring_case(sc_str s, const char *lower) {
    size_t size = strlen(lower);
    if (s.size != size) return false;
    for (size_t i = 0; i < size; i++)
        if ((s.data[i] | 0x20) != lower[i]) return false;
    return true;
}

static size_t skip_digits(sc_str s, size_t i) {
    while (i < s.size && s.data[i] >= '0' && s.data[i] <= '9') i++;
    return i;
}

// digits [. digits] [e [sign] digits], with a digit somewhere before the exponent.
static bool is_decimal(sc_str s) {
    size_t begin = 0, end = skip_digits(s, 0), digit_count = end;
    if (end < s.size && s.data[end] == '.') {
        begin = end + 1;
        end = skip_digits(s, begin);
        digit_count += end - begin;
    }
    if (digit_count == 0) return false;
    if (end < s.size && (s.data[end] | 0x20) == 'e') {
        begin = end + 1;
        if (begin < s.size && (s.data[begin] == '+' || s.data[begin] == '-')) begin++;
        end = skip_digits(s, begin);
        if (end == begin) return false;
    }
    return end == s.size;
}

// Beyond any double, and with room for ten times as much.
enum { EXPONENT_MAX = 100000 };

// Reads what is_decimal accepts, without a sign. No writer makes numbers of more than
// SC_EXACT_READ_MAX bytes.
static double read_decimal(sc_str s) {
    char digits[SC_EXACT_READ_MAX];
    uint32_t count = 0, decimals = 0;
    int64_t power = 0;
    size_t i = 0;
    bool is_behind = false;
    for (; i < s.size && (s.data[i] | 0x20) != 'e'; i++) {
        if (s.data[i] == '.') {
            is_behind = true;
        } else {
            digits[count++] = s.data[i];
            decimals += is_behind;
        }
    }
    const bool is_small = i + 1 < s.size && s.data[i + 1] == '-';
    for (i++; i < s.size; i++)
        if (s.data[i] >= '0' && power < EXPONENT_MAX) power = power * 10 + (s.data[i] - '0');
    return sc_exact_read(digits, count, (is_small ? -power : power) - decimals);
}

bool sc_parse_f64(sc_str s, double *out) {
    bool negative = s.size > 0 && s.data[0] == '-';
    bool signed_text = negative || (s.size > 0 && s.data[0] == '+');
    sc_str body = sc_str_slice(s, signed_text ? 1 : 0, s.size);
    double value;
    if (equal_ignoring_case(body, "inf") || equal_ignoring_case(body, "infinity")) {
        value = (double)INFINITY;
    } else if (equal_ignoring_case(body, "nan")) {
        value = (double)NAN;
    } else {
        if (body.size > SC_EXACT_READ_MAX || !is_decimal(body)) return false;
        value = read_decimal(body);
    }
    *out = negative ? -value : value;
    return true;
}

void sc_sb_init(sc_sb *sb, sc_arena *arena) { *sb = (sc_sb){.arena = arena}; }

// Reserves memory, a terminator included.
static void reserve(sc_sb *sb, size_t more) {
    size_t wanted;
    if (__builtin_add_overflow(sb->size, more, &wanted) || wanted >= SIZE_MAX / 4)
        sc_panic(__FILE__, __LINE__, "out of memory");
    if (wanted < sb->capacity) return;
    size_t capacity = sb->capacity ? sb->capacity * 2 : 64;
    while (capacity <= wanted) capacity *= 2;
    sb->data = sc_arena_grow(sb->arena, sb->data, sb->capacity, capacity);
    sb->capacity = capacity;
}

void sc_sb_add(sc_sb *sb, sc_str s) {
    if (s.size == 0) return;
    reserve(sb, s.size);
    memcpy(sb->data + sb->size, s.data, s.size);
    sb->size += s.size;
}

void sc_sb_add_char(sc_sb *sb, char c) {
    reserve(sb, 1);
    sb->data[sb->size++] = c;
}

void sc_sb_add_text(sc_sb *sb, const char *terminated) { sc_sb_add(sb, sc_str_from(terminated)); }

void sc_sb_vaddf(sc_sb *sb, const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    const size_t room = sb->capacity - sb->size,
                 size = sc_vprint(room ? sb->data + sb->size : NULL, room, format, args);
    if (size >= room) {
        reserve(sb, size + 1);
        sc_vprint(sb->data + sb->size, size + 1, format, again);
    }
    va_end(again);
    sb->size += size;
}

void sc_sb_addf(sc_sb *sb, const char *format, ...) {
    va_list args;
    va_start(args, format);
    sc_sb_vaddf(sb, format, args);
    va_end(args);
}

void sc_sb_add_i64(sc_sb *sb, int64_t value) {
    char text[20];
    size_t at = sizeof(text);
    uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do text[--at] = (char)('0' + magnitude % 10);
    while (magnitude /= 10);
    if (value < 0) sc_sb_add_char(sb, '-');
    sc_sb_add(sb, (sc_str){text + at, sizeof(text) - at});
}

// Fixed notation: `digits` with a point after `point` of them. It may be outside of the digits.
static void add_fixed(sc_sb *sb, sc_str digits, int point) {
    if (point <= 0) {
        sc_sb_add_text(sb, "0.");
        for (int i = point; i < 0; i++) sc_sb_add_char(sb, '0');
        sc_sb_add(sb, digits);
        return;
    }
    size_t whole = (size_t)point;
    sc_sb_add(sb, sc_str_slice(digits, 0, whole));
    for (size_t i = digits.size; i < whole; i++) sc_sb_add_char(sb, '0');
    sc_sb_add_char(sb, '.');
    sc_sb_add(sb, whole < digits.size ? sc_str_slice(digits, whole, digits.size) : SC_STR("0"));
}

void sc_sb_add_bytes(sc_sb *sb, uint64_t bytes) {
    static const char *const units[] = {"KB", "MB", "GB"};
    if (bytes < 1000) {
        sc_sb_addf(sb, "%d bytes", (int)bytes);
        return;
    }
    double value = (double)bytes / 1000;
    uint32_t unit = 0;
    for (; value >= 999.5 && unit + 1 < SC_COUNT_OF(units); unit++) value /= 1000;
    int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    sc_sb_addf(sb, "%.*f %s", decimals, value, units[unit]);
}

// As Python's repr: exponents from -4 to 15 are in fixed notation.
void sc_sb_add_f64(sc_sb *sb, double value) {
    if (isnan(value)) {
        sc_sb_add_text(sb, "nan");
        return;
    }
    if (signbit(value)) sc_sb_add_char(sb, '-');
    value = fabs(value);
    if (isinf(value) || value == 0.0) {
        sc_sb_add_text(sb, value == 0.0 ? "0.0" : "inf");
        return;
    }
    const sc_decimal shortest = sc_decimal_shortest(value);
    const sc_str digits = {shortest.digits, shortest.count};
    const int exponent = shortest.exponent;
    if (exponent >= -4 && exponent < 16) {
        add_fixed(sb, digits, exponent + 1);
        return;
    }
    sc_sb_add_char(sb, digits.data[0]);
    if (digits.size > 1) sc_sb_add_char(sb, '.');
    sc_sb_add(sb, sc_str_slice(digits, 1, digits.size));
    sc_sb_addf(sb, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
}

sc_str sc_sb_str(const sc_sb *sb) { return (sc_str){sb->data, sb->size}; }

char *sc_sb_terminate(sc_sb *sb) {
    reserve(sb, 1);
    sb->data[sb->size] = '\0';
    return sb->data;
}
