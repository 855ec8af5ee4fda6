// Nodes of a method that depend on constants only, as a small program with its own context and
// memory, which are freed with it. An evaluator computes its results.
// Prefix: sc_apart_ fills, evaluates and frees such a program: it stands apart from the method.
#ifndef SC_PASSES_APART_H
#define SC_PASSES_APART_H

#include "passes/evaluator.h"

typedef struct sc_apart {
    const sc_method *from;
    sc_arena arena, scratch;
    sc_ctx ctx;  // owns what the evaluation needs, and its messages
    sc_program *program;
    sc_method *method;
    sc_imap twins;  // value of `from` -> its copy here
    SC_VEC(sc_arg) outputs;
} sc_apart;

// An empty program with these facts. sc_apart_end must follow, also after a failure.
sc_status sc_apart_begin(sc_apart *apart, const sc_method *from, uint32_t facts);
void sc_apart_end(sc_apart *apart);

// Adds a node, in order: its operands were added before, or are constants of `from`.
void sc_apart_add(sc_apart *apart, const sc_node *node);
sc_value *sc_apart_value(sc_apart *apart, const sc_value *value);
// Adds a result of the small program.
void sc_apart_return(sc_apart *apart, sc_value *value);
// Must be called once, before the program is lowered.
void sc_apart_close(sc_apart *apart);
// The bytes of the results, in order, on the arena of the method's own context.
sc_status sc_apart_evaluate(sc_apart *apart, const sc_evaluator *evaluator, sc_extent *results);
// The outcome of an evaluation that ended with `status`. SC_OK if the program works without the
// constants: the call then succeeds or fails when it runs. Else `status`, reported in the method's
// own context.
sc_status sc_apart_outcome(const sc_apart *apart, sc_status status);

#endif
