// Views of text that another object owns, and a builder of text. Strings from files may contain any
// byte, NUL included. So code relies on a terminator only where it says so.
// Prefixes: sc_str_ is a view, sc_sb_ a string builder, sc_parse_ reads a number.
#ifndef SC_STR_H
#define SC_STR_H

#include <stdarg.h>

#include "base/arena.h"

typedef struct sc_str {
    const char *data;
    size_t size;
} sc_str;

#define SC_STR(literal) ((sc_str){(literal), sizeof(literal) - 1})
#define SC_STR_FMT      "%.*s"
#define SC_STR_ARG(s)   (int)(s).size, (s).data

sc_str sc_str_from(const char *terminated);
sc_str sc_str_copy(sc_arena *arena, sc_str s);  // the copy is NUL-terminated
char *sc_str_dup(sc_arena *arena, sc_str s);    // NUL-terminated
sc_str sc_str_format(sc_arena *arena, const char *format, ...) SC_PRINTF(2, 3);  // NUL-terminated
sc_str sc_str_vformat(sc_arena *arena, const char *format, va_list args);        // the same
bool sc_str_equal(sc_str a, sc_str b);
bool sc_str_equal_any_case(sc_str a, sc_str b);  // ASCII letters only
bool sc_str_is(sc_str s, const char *terminated);
bool sc_str_starts_with(sc_str s, const char *terminated);
// Can it be the name of a file? It may not lead into another folder.
bool sc_str_is_file_name(sc_str s);
bool sc_str_ends_with(sc_str s, const char *terminated);
int sc_str_compare(sc_str a, sc_str b);  // compares bytes; a prefix comes first
sc_str sc_str_slice(sc_str s, size_t begin, size_t end);
// The index of the first or last byte equal to `c`, or -1.
ptrdiff_t sc_str_find(sc_str s, char c);
ptrdiff_t sc_str_find_last(sc_str s, char c);
uint64_t sc_str_hash(sc_str s);

// The number must be all of `s`. Integers are exact; an overflow is a failure.
bool sc_parse_i64(sc_str s, int64_t *out);
bool sc_parse_u64(sc_str s, uint64_t *out);
// Reads a decimal as a double, correctly rounded. Python's spellings inf, nan, Infinity and NaN are
// allowed.
bool sc_parse_f64(sc_str s, double *out);

// Text that grows, on an arena.
typedef struct sc_sb {
    sc_arena *arena;
    char *data;
    size_t size, capacity;
} sc_sb;

void sc_sb_init(sc_sb *sb, sc_arena *arena);
void sc_sb_add(sc_sb *sb, sc_str s);
void sc_sb_add_char(sc_sb *sb, char c);
void sc_sb_add_text(sc_sb *sb, const char *terminated);
void sc_sb_addf(sc_sb *sb, const char *format, ...) SC_PRINTF(2, 3);
void sc_sb_vaddf(sc_sb *sb, const char *format, va_list args);
void sc_sb_add_i64(sc_sb *sb, int64_t value);
// Appends the shortest text that reads back to the same double. It always contains '.', 'e', "inf"
// or "nan".
void sc_sb_add_f64(sc_sb *sb, double value);
void sc_sb_add_bytes(sc_sb *sb, uint64_t bytes);  // 1234567 as "1.23 MB"
sc_str sc_sb_str(const sc_sb *sb);                // a view of the text so far
char *sc_sb_terminate(sc_sb *sb);                 // NUL-terminated; the arena owns it

#endif
