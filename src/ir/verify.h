// Shared by the files of the verifier. Prefix: sc_verify_.
#ifndef SC_IR_VERIFY_H
#define SC_IR_VERIFY_H

#include "ir/ir.h"

// One place that words failures: "check 'order' failed: ...".
#define SC_FAIL_CHECK(ctx, check, ...) \
    sc_fail((ctx), SC_ERR_INTERNAL, NULL, "check '" check "' failed: " __VA_ARGS__)

// A delegate call against its part: operands and results are what the part says, and the part says
// what a backend can be asked for. Its graph is verified like any other.
sc_status sc_verify_call(sc_ctx *ctx, const sc_node *node);

#endif
