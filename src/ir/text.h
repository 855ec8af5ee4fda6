// Words of the textual IR that the printer and the parser share.
// Prefix: sc_text_ (the textual IR).
#ifndef SC_IR_TEXT_H
#define SC_IR_TEXT_H

#include "ir/ir.h"

// Indexed by sc_input_kind, sc_output_kind, sc_value_type and sc_memory_format.
extern const char *const sc_text_input_kinds[7];
extern const char *const sc_text_output_kinds[9];
extern const char *const sc_text_value_types[6];  // "" for tensors: their spec implies it
extern const char *const sc_text_formats[4];

// Deepest nesting of lists that the text may have; graphs are bounded by limits.graph_depth_max.
#define SC_TEXT_LIST_DEPTH_MAX 16
// Longest run of a part's bytes that is written out.
#define SC_TEXT_BYTES_MAX      4096

static inline bool sc_text_is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
}

// Quotes and escapes `name` unless it is a word.
void sc_text_print_name(sc_sb *sb, sc_str name);
void sc_text_print_quoted(sc_sb *sb, sc_str s);
// The same for bytes that need not be text: only plain characters are written unescaped.
void sc_text_print_bytes(sc_sb *sb, sc_str s);

// --- Reading -------------------------------------------------------------------------------------

typedef struct sc_text_cursor {
    sc_ctx *ctx;
    sc_arena *arena;  // memory for strings with escapes
    sc_str text;
    size_t at;
} sc_text_cursor;

// SC_ERR_FORMAT with the line number and the text at that place.
sc_status sc_text_fail(sc_text_cursor *c, const char *expected);
// Skips blanks, and unless `in_line` also comments and line ends.
void sc_text_skip(sc_text_cursor *c, bool in_line);
char sc_text_peek(sc_text_cursor *c);  // next character that is not blank; NUL at the end
bool sc_text_accept(sc_text_cursor *c, char wanted);
sc_status sc_text_expect(sc_text_cursor *c, char wanted);
sc_str sc_text_peek_word(sc_text_cursor *c);  // empty if no word is next
bool sc_text_accept_word(sc_text_cursor *c, const char *word);
// The same, but only if it is on the current line.
bool sc_text_accept_word_here(sc_text_cursor *c, const char *word);
// Does the keyword begin a line of its own kind, and not a node with that name?
bool sc_text_begins(sc_text_cursor *c, const char *keyword);
sc_status sc_text_word(sc_text_cursor *c, sc_str *out);
bool sc_text_quote_is_here(sc_text_cursor *c);
sc_status sc_text_quoted(sc_text_cursor *c, sc_str *out);
sc_status sc_text_name(sc_text_cursor *c, sc_str *out);  // word or quoted
sc_status sc_text_i64(sc_text_cursor *c, int64_t *out);
// "[a, b]": the texts between commas, with balanced brackets; at most `max` of them.
sc_status sc_text_items(sc_text_cursor *c, char open, char close, sc_str *items, uint32_t max,
                        uint32_t *count);

#endif
