// Coverage by the tables: the traits of operators, the rows of official.def and limits.def, and
// what leaves.def says of expansions.
#include "trace/coverage.h"

#include "ops/takes.h"
#include "trace/expand.h"
#include "trace/functorch/functorch.h"

static const struct {
    uint16_t op, leaf;
} leaves[] = {
#define LEAVES(op, leaf) {SC_OP_##op, SC_OP_##leaf},
#include "trace/leaves.def"
#undef LEAVES
};

static const struct {
    uint16_t op, limit;
} limits[] = {
#define LIMITED(op, limit) {SC_OP_##op, SC_LIMIT_##limit},
#include "trace/official/limits.def"
};

_Static_assert(SC_LIMIT_COUNT <= 32, "limits are bits of a word");

const char *sc_limit_calls(sc_limit limit) {
    static const char *const all[] = {
        [SC_LIMIT_NONE] = "",
#define LIMIT(id, calls, hint)               [SC_LIMIT_##id] = calls,
#define UP_TO(id, most, before, after, hint) [SC_LIMIT_##id] = before #most after,
#include "trace/official/limits.def"
    };
    return all[limit];
}

const char *sc_limit_hint(sc_limit limit) {
#define OR_HERE ", or run the program with Sconce."
    static const char *const all[] = {
        [SC_LIMIT_NONE] = NULL,
#define LIMIT(id, calls, hint)               [SC_LIMIT_##id] = hint OR_HERE,
#define UP_TO(id, most, before, after, hint) [SC_LIMIT_##id] = hint OR_HERE,
#include "trace/official/limits.def"
    };
    return all[limit];
}

uint32_t sc_official_limits(const sc_op *op) {
    uint32_t all = 0;
    for (size_t i = 0; i < SC_COUNT_OF(limits); i++)
        if (limits[i].op == op->id) all |= UINT32_C(1) << limits[i].limit;
    return all;
}

// How official.def expands an operator: not at all, calls that the kernel refuses, or all calls.
static sc_coverage_how expanded_there(const sc_op *op) {
    static const struct {
        uint16_t op;
        sc_coverage_how how;
    } rows[] = {
#define ALWAYS                  SC_COVERED_EXPANDED
#define WHERE(condition)        SC_COVERED_MENDED
#define OFFICIAL(fn, op, lacks) {SC_OP_##op, lacks},
#include "trace/official/official.def"
#undef OFFICIAL
#undef WHERE
#undef ALWAYS
    };
    for (size_t i = 0; i < SC_COUNT_OF(rows); i++)
        if (rows[i].op == op->id) return rows[i].how;
    return SC_COVERED_NOT;
}

// Needs no kernel: it becomes jumps, or is gone when a program is written.
static bool is_no_call(const sc_op *op) {
    return sc_op_has(op, SC_ASSERTION) || sc_op_has(op, SC_FUNCTORCH) ||
           (sc_op_has(op, SC_HIGHER_ORDER) && sc_op_has(op, SC_CORE));
}

// The operator that is executed in its place: views are copied, writes are computed.
static const sc_op *executed(const sc_op *op) {
    return op->functional ? executed(op->functional) : sc_op_called(op);
}

static sc_coverage_how kernel_here(const sc_op *op) {
    return is_no_call(op) || sc_op_has(executed(op), SC_RUNS) ? SC_COVERED_KERNEL : SC_COVERED_NOT;
}

static sc_coverage_how kernel_there(const sc_op *op) {
    const sc_op *as = executed(op);
    const sc_coverage_how how = expanded_there(as);
    const bool is_known = as->out_name && !sc_op_has(as, SC_UNOFFICIAL);
    if (how != SC_COVERED_NOT) return is_known ? how : SC_COVERED_EXPANDED;
    return is_no_call(op) || is_known ? SC_COVERED_KERNEL : SC_COVERED_NOT;
}

// An operator that has no expansion for both runtimes.
static sc_coverage leaf_coverage(const sc_op *op) {
    sc_coverage c = {.here = kernel_here(op), .official = kernel_there(op)};
    c.limits = sc_official_limits(executed(op));
    c.lacks = c.here == SC_COVERED_NOT || c.official == SC_COVERED_NOT ? op : NULL;
    return c;
}

sc_coverage sc_op_coverage(const sc_op *op) {
    if (sc_op_has(op, SC_INPLACE)) return sc_op_coverage(op->functional);
    if (!sc_op_expansion(op)) return leaf_coverage(op);
    sc_coverage all = {.here = SC_COVERED_EXPANDED, .official = SC_COVERED_EXPANDED};
    for (size_t i = 0; i < SC_COUNT_OF(leaves); i++) {
        if (leaves[i].op != op->id) continue;
        const sc_coverage c = leaf_coverage(sc_op_get((sc_op_id)leaves[i].leaf));
        if (c.here == SC_COVERED_NOT) all.here = SC_COVERED_NOT;
        if (c.official == SC_COVERED_NOT) all.official = SC_COVERED_NOT;
        if (c.lacks) all.lacks = c.lacks;
        all.limits |= c.limits;
    }
    if (all.official == SC_COVERED_NOT) all.limits = 0;
    return all;
}

sc_feature_counts sc_count_features(void) {
    sc_feature_counts n = {.vmap_samples = SC_VMAP_SAMPLES_MAX};
    for (int id = 1; id < SC_OP_COUNT; id++) {
        const sc_op *op = sc_op_get((sc_op_id)id);
        if (!sc_op_is_pytorch(op) || sc_op_expansion(op)) continue;
        n.vmap += sc_vmap_has_rule(op);
        n.jvp += sc_jvp_has_row(op);
        n.float8 += sc_op_takes(executed(op), SC_DTYPE_F8E5M2);
    }
    return n;
}
