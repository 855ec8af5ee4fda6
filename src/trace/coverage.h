// What becomes of operators, by the tables alone: who has a kernel, what is expanded, and whether
// what an expansion ends in has kernels in turn. Single calls may fare worse where their dtypes or
// ranks are such that they are refused.
#ifndef SC_COVERAGE_H
#define SC_COVERAGE_H

#include "ops/op.h"

typedef enum sc_coverage_how {
    SC_COVERED_NOT,
    SC_COVERED_KERNEL,   // it has a kernel; control flow and checks need none
    SC_COVERED_MENDED,   // it has one, and calls that this refuses are expanded
    SC_COVERED_EXPANDED  // it becomes other operators
} sc_coverage_how;

typedef struct sc_coverage {
    sc_coverage_how here;      // by this runtime
    sc_coverage_how official;  // by the official one, lowered with the target executorch
    const sc_op *lacks;        // what keeps it from running on one of them, or NULL
    const char *limit;         // which calls the official one runs if not all; NULL
} sc_coverage;

sc_coverage sc_op_coverage(const sc_op *op);
// Does it lower: does one of the two run it?
static inline bool sc_coverage_lowers(const sc_coverage *c) {
    return c->here != SC_COVERED_NOT || c->official != SC_COVERED_NOT;
}
// Which calls of an operator official.def expands, if not all that it has to; NULL. Of the operator
// itself, not of what it is taken apart into.
const char *sc_official_limit(const sc_op *op);

#endif
