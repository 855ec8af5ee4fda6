// Formulas: calls of operators as text, parsed into a small tree. The compiler reads it forwards
// and makes the calls (trace/text.c); the runtime reads it backwards and knows them again
// (rt/rewrite/recognise/formula.c). sc_formula_ is the tree, and what the two readers ask of it.
//
//   text  := { NAME 'is' expr ';' } block
//   block := { NAME '=' expr ';' } expr
//   expr  := NAME '(' [ [NAME '='] expr , ... ] ')' { '[' INT ']' }  a call, overload after a dot
//          | WORD '(' expr , ... ')' | opmath '(' block ')' | real '(' block ')'
//          | 'if' test 'then' expr 'else' expr | '(' block ')'
//          | NAME                                     a parameter, or what a definition stands for
//          | INT | FLOAT | 'text' | "text" | inf | -inf | nan | None | True | False | f32 i64 ...
//          | contiguous_format | preserve_format | [ expr, ... ]
//   test  := is_float(expr) | is_tensor(expr) | is_absent(expr) | is_bool(expr)
//          | is_true(expr) | is_complex(expr) | is_empty(expr)
//          | expr '==' expr                           of two numbers or two dtypes
//
// "NAME is expr" holds the text to calls with that argument. Calls are made from left to right and
// definitions in their order, which is PyTorch's. Words are the rows of formula_words.def.
#ifndef SC_FORMULA_H
#define SC_FORMULA_H

#include "ops/op.h"

typedef enum sc_formula_kind {
    SC_FORMULA_CALL,        // of `op`: an item for each parameter, NULL where it takes its default
    SC_FORMULA_WORD,        // `word` with its items
    SC_FORMULA_BLOCK,       // definitions, and behind them the expression they are for
    SC_FORMULA_DEFINITION,  // of the name `index`: its only item
    SC_FORMULA_IF,          // a test and two expressions, of which one counts
    SC_FORMULA_EQUAL,       // the test whether two numbers, or two dtypes, are the same
    SC_FORMULA_NAME,        // `index`: a parameter, or behind those a definition
    SC_FORMULA_ITEM,        // result `index` of the only item
    SC_FORMULA_LIST,
    SC_FORMULA_INT,
    SC_FORMULA_FLOAT,
    SC_FORMULA_BOOL,
    SC_FORMULA_TEXT,
    SC_FORMULA_DTYPE,
    SC_FORMULA_FORMAT,
    SC_FORMULA_NONE
} sc_formula_kind;

typedef enum sc_formula_word {
#define WORD(id, items) SC_WORD_##id,
#include "ops/formula_words.def"
#undef WORD
    SC_WORD_COUNT
} sc_formula_word;

enum { SC_FORMULA_NAMES = 32, SC_FORMULA_ITEMS = 24, SC_FORMULA_DEPTH = 24, SC_FORMULA_GIVEN = 2 };

typedef struct sc_formula_node {
    uint8_t kind;  // sc_formula_kind
    uint8_t code;  // WORD: sc_formula_word, DTYPE: sc_dtype, FORMAT: sc_memory_format
    uint32_t index;
    uint32_t count;
    const sc_op *op;  // CALL
    union {
        const struct sc_formula_node *const *items;
        int64_t i;
        double f;
        bool b;
        sc_str text;
    };
} sc_formula_node;

typedef struct sc_formula {
    const sc_formula_node *root;
    uint32_t param_count, name_count;
    // The expression that defines each name behind the parameters.
    const sc_formula_node *definitions[SC_FORMULA_NAMES];
    struct {
        uint32_t param;
        const sc_formula_node *is;
    } given[SC_FORMULA_GIVEN];
    uint32_t given_count;
} sc_formula;

// Names of parameters.
typedef struct sc_formula_names {
    sc_str items[SC_FORMULA_NAMES];
    uint32_t count;
} sc_formula_names;

// Those of an operator.
sc_formula_names sc_formula_names_of(const sc_op *op);
// Those in a list, separated by ", ".
sc_formula_names sc_formula_names_in(const char *list);

// Bounded in depth and names. The tree keeps pieces of `text`, which must live as long.
sc_status sc_formula_parse(sc_ctx *ctx, sc_arena *arena, sc_str text, const sc_formula_names *names,
                           sc_formula *out);
// That of a text of our own tables, made in the memory of the operator table; a mistake in it is a
// defect. NULL if this build leaves out an operator of the text.
const sc_formula *sc_formula_make(const char *text, const sc_formula_names *names);
// The call whose result the whole formula is; NULL if that is no call.
const sc_formula_node *sc_formula_result(const sc_formula *formula);

#endif
