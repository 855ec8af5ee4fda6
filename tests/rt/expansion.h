// Programs that are expanded for the official runtime, changed in one place or in none, and run
// both as written and rewritten.
#ifndef EXPANSION_H
#define EXPANSION_H

#include "ir/ir.h"
#include "ops/op.h"
#include "rt/internal.h"
#include "rt/setup.h"

// A program from text, as far lowered as the pass wants it.
bool expansion_parse(setup *s, const char *text, sc_program **program);
// Lowers a program, and loads its method `forward`; setup_end whatever it says.
bool expansion_load(setup *s, const char *text, bool optimize);
// The program as the pass leaves it, as text.
char *expansion_of(const char *text);
// Of one call on an input %x of that type.
char *expansion_of_call(const char *type, const char *call);
// The text with `to` in the place of the only `from`.
char *expansion_changed(const char *text, const char *from, const char *to);
// Numbers of both signs and about 1, infinities where they are said to be; integers count the rows
// of groups, in no order and beyond the last row.
void expansion_fill(setup *s, uint32_t index, const sc_tensor *t, bool is_rough);
// How often the operator is called of what is loaded; as written it never is. The numbers are the
// same.
uint32_t expansion_found(const char *text, sc_op_id op);
// How many calls of the operator are gone from what is loaded. The numbers are the same.
uint32_t expansion_gone(const char *text, sc_op_id op, bool is_rough);

// A change, and how many calls are found, or gone, then.
typedef struct near_miss {
    const char *from, *to;
    uint32_t calls;
} near_miss;

#endif
