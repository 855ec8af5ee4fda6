// Taking a method apart into functional core ATen operators. Prefix sc_decompose.
#ifndef SC_DECOMPOSE_H
#define SC_DECOMPOSE_H

#include "ir/ir.h"

// Which calls stay whole although their operator has an expansion: a backend asks for it, or
// quantization. Asked once for every node of the source graph and its bodies whose operator neither
// writes nor aliases; the kept node is marked (sc_node.is_kept) and has the results that the file
// recorded. If no backend takes it, to_executorch takes it apart.
typedef struct sc_keep {
    bool (*wants)(void *user, const sc_node *node);
    void *user;
} sc_keep;

// Traces the method again, without a report: the graph may hold operators that cannot be executed.
// A refusal (sc_status_is_refusal) has been reported, and what was refused stands in the graph as
// it was. `keep` may be NULL.
sc_status sc_decompose(sc_ctx *ctx, sc_method *method, const sc_keep *keep);

#endif
