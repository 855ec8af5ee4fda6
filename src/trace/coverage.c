// Coverage by the tables: the traits of operators, the rows of official.def, and what needs.mjs has
// read from the code of expansions.
#include "trace/coverage.h"

#include "trace/expand.h"

typedef struct need {
    uint16_t op, leaf;
} need;

static const need needs[] = {
#define NEEDS(op, leaf) {SC_OP_##op, SC_OP_##leaf},
#include "needs.gen.def"
};

static const bool in_pytorch[SC_OP_COUNT] = {
#define PYTORCH(op) [SC_OP_##op] = true,
#include "needs.gen.def"
};

static const char *const missing[] = {
#define MISSING(name) name,
#include "needs.gen.def"
};

static const char version[] =
#define VERSION(text) text
#include "needs.gen.def"
    ;

// Is every call of it expanded for the official runtime?
static bool is_expanded_there(const sc_op *op) {
    static const struct {
        uint16_t op;
        bool always;
    } rows[] = {
#define ALWAYS                  true
#define WHERE(condition)        false
#define OFFICIAL(fn, op, lacks) {SC_OP_##op, lacks},
#include "trace/official/official.def"
#undef OFFICIAL
#undef WHERE
#undef ALWAYS
    };
    for (size_t i = 0; i < SC_COUNT_OF(rows); i++)
        if (rows[i].op == op->id && rows[i].always) return true;
    return false;
}

// Needs no kernel: it becomes jumps, or is gone when a program is written.
static bool is_no_call(const sc_op *op) {
    return sc_op_has(op, SC_ASSERTION) ||
           (sc_op_has(op, SC_HIGHER_ORDER) && sc_op_has(op, SC_CORE));
}

// What stands for it when it is executed: views are copied, writes are computed.
static const sc_op *executed(const sc_op *op) {
    if (op->copy) return op->copy;
    return op->functional ? executed(op->functional) : op;
}

static bool runs_here(const sc_op *op) {
    return is_no_call(op) || sc_op_has(executed(op), SC_RUNS);
}

static bool runs_there(const sc_op *op) {
    const sc_op *as = executed(op);
    return is_no_call(op) || (as->out_name && !sc_op_has(as, SC_UNOFFICIAL));
}

static sc_coverage_how how(const sc_op *op, bool is_expanded, bool (*runs)(const sc_op *),
                           const sc_op **lacks) {
    if (!is_expanded && runs(op)) return SC_COVERED_KERNEL;
    if (!is_expanded) *lacks = op;
    if (!is_expanded) return SC_COVERED_NOT;
    for (size_t i = 0; i < SC_COUNT_OF(needs); i++) {
        const sc_op *leaf = sc_op_get((sc_op_id)needs[i].leaf);
        if (needs[i].op != op->id || runs(leaf)) continue;
        if (runs == runs_there && is_expanded_there(leaf)) continue;
        *lacks = leaf;
        return SC_COVERED_NOT;
    }
    return SC_COVERED_EXPANDED;
}

sc_coverage sc_op_coverage(const sc_op *op) {
    sc_coverage c = {.is_pytorch = op->id < SC_OP_COUNT && in_pytorch[op->id]};
    const bool is_expanded = sc_op_expansion(op) != NULL;
    c.official = how(op, is_expanded || is_expanded_there(op), runs_there, &c.lacks);
    c.here = how(op, is_expanded, runs_here, &c.lacks);
    return c;
}

uint32_t sc_coverage_missing_count(void) { return SC_COUNT_OF(missing); }

const char *sc_coverage_missing(uint32_t index) {
    SC_ASSERT(index < SC_COUNT_OF(missing));
    return missing[index];
}

const char *sc_coverage_pytorch_version(void) { return version; }
