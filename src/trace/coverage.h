// What becomes of operators, by the tables alone: who has a kernel, what is expanded, and whether
// what an expansion may end in has kernels in turn. Single calls may fare better or worse (dtypes,
// ranks); of operators it is never said that they run where their expansion may need what does not.
#ifndef SC_COVERAGE_H
#define SC_COVERAGE_H

#include "ops/op.h"

typedef enum sc_coverage_how {
    SC_COVERED_NOT,
    SC_COVERED_KERNEL,   // it has a kernel; control flow and checks need none
    SC_COVERED_EXPANDED  // it becomes other operators
} sc_coverage_how;

typedef struct sc_coverage {
    sc_coverage_how here;      // by this runtime
    sc_coverage_how official;  // by the official one, lowered with the target executorch
    const sc_op *lacks;        // what keeps it from running on one of them, or NULL
    bool is_pytorch;           // PyTorch has it, by the list in ops/pytorch.txt
} sc_coverage;

sc_coverage sc_op_coverage(const sc_op *op);
// Does it lower: does one of the two run it?
static inline bool sc_coverage_lowers(const sc_coverage *c) {
    return c->here != SC_COVERED_NOT || c->official != SC_COVERED_NOT;
}

// Names that PyTorch has and the table of operators has not, and the release that the list is of.
uint32_t sc_coverage_missing_count(void);
const char *sc_coverage_missing(uint32_t index);
const char *sc_coverage_pytorch_version(void);

#endif
