// Computing at compile time. The compiler knows no runtime: the caller hands one down.
#ifndef SC_EVALUATOR_H
#define SC_EVALUATOR_H

#include "ir/ir.h"

// Runs the only method of `program`. The program is of the edge dialect, and its only inputs are
// constants. Gives the bytes of its outputs, row-major, on `arena`. The program may be changed;
// errors are recorded in the program's own context.
typedef struct sc_evaluator {
    sc_status (*run)(void *user, sc_program *program, sc_arena *arena, sc_extent *outputs);
    void *user;
} sc_evaluator;

#endif
