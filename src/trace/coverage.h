// Coverage of operators, by the tables alone: who has a kernel, what is expanded, and whether an
// expansion ends in operators that have kernels. Single calls may fare worse, if their dtypes or
// ranks are refused.
// Prefixes: sc_coverage and sc_op_coverage for operators, sc_limit_ for one of the limits.
#ifndef SC_COVERAGE_H
#define SC_COVERAGE_H

#include "ops/op.h"
#include "trace/official/limits.h"

typedef enum sc_coverage_how {
    SC_COVERED_NOT,
    SC_COVERED_KERNEL,   // it has a kernel; control flow and checks need no kernel
    SC_COVERED_MENDED,   // it has one, and calls that this refuses are expanded
    SC_COVERED_EXPANDED  // it becomes other operators
} sc_coverage_how;

typedef struct sc_coverage {
    sc_coverage_how here;      // by this runtime
    sc_coverage_how official;  // by the official one, lowered with the target executorch
    const sc_op *lacks;        // what keeps it from running on one of them, or NULL
    uint32_t limits;           // of calls that the official one runs: bits of sc_limit
} sc_coverage;

sc_coverage sc_op_coverage(const sc_op *op);
// Does it lower: does one of the two run it?
static inline bool sc_coverage_lowers(const sc_coverage *c) {
    return c->here != SC_COVERED_NOT || c->official != SC_COVERED_NOT;
}
// Which calls are within a limit: "up to 512 groups".
const char *sc_limit_calls(sc_limit limit);
// Advice for a call beyond a limit: "Use fewer groups, or run the program with Sconce."
const char *sc_limit_hint(sc_limit limit);
// The limits of an operator that official.def expands, bits of sc_limit. They are its own:
// operators that it is expanded into have theirs.
uint32_t sc_official_limits(const sc_op *op);

// How many of PyTorch's operators, leaving out those that are expanded into others, go through what
// is no operator itself.
typedef struct sc_feature_counts {
    uint32_t vmap;          // take a whole batch at once
    uint32_t vmap_samples;  // the most for which others are called one by one
    uint32_t jvp;           // have a tangent
    uint32_t float8;        // take such numbers, by this runtime
} sc_feature_counts;

sc_feature_counts sc_count_features(void);

#endif
