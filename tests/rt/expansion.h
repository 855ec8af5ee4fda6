// Programs that are expanded for the official runtime, changed in one place or in none, and run
// both as written and rewritten.
#ifndef EXPANSION_H
#define EXPANSION_H

#include "ir/ir.h"
#include "ops/op.h"
#include "rt/method.h"
#include "rt/setup.h"

// A program from text, as far lowered as the pass wants it.
bool expansion_parse(setup *s, const char *text, sc_program **program);
// Lowers a program, and loads its method `forward`; setup_end whatever it says.
bool expansion_load(setup *s, const char *text, bool optimize);
// The program as the pass leaves it, as text.
char *expansion_of(const char *text);
// The program of one call on an input %x of that type.
char *expansion_of_call(const char *type, const char *call);
// The text with `to` in the place of the only `from`.
char *expansion_changed(const char *text, const char *from, const char *to);
// Gives an input of the program of that text floats of both signs and about 1, infinities where
// they are said to be. Integers are of both signs, then with the ends of their dtype among them;
// but what is called %ends counts the rows of groups, then in no order and beyond the last row, and
// what is called %index says places of 41, then some of them several times. A first input %odd and
// another one %odder have each float that signs matter of, NaN too, next to each other then.
void expansion_fill(setup *s, const char *text, uint32_t index, bool is_rough);
// How often the operator is called of what is loaded; as written it never is. The numbers are the
// same.
uint32_t expansion_found(const char *text, sc_op_id op);
// How many calls of the operator are gone from what is loaded. The numbers are the same.
uint32_t expansion_gone(const char *text, sc_op_id op, bool is_rough);
// The same of odd inputs, and down to the bit.
uint32_t expansion_gone_exactly(const char *text, sc_op_id op);

// A change, and how many calls are found, or gone, then.
typedef struct near_miss {
    const char *from, *to;
    uint32_t calls;
} near_miss;

#endif
