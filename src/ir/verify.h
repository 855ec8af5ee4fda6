// Declarations that the verifier's files share.
// Prefix: sc_verify_ checks one kind of object.
#ifndef SC_IR_VERIFY_H
#define SC_IR_VERIFY_H

#include "ir/ir.h"

// Words all failures: "check 'order' failed: ...".
#define SC_FAIL_CHECK(ctx, check, ...) \
    sc_fail((ctx), SC_ERR_INTERNAL, NULL, "check '" check "' failed: " __VA_ARGS__)

// Checks a delegate call against its part: operands and results must agree, and the part must be
// one that a backend can get. Its graph is verified like any other.
sc_status sc_verify_call(sc_ctx *ctx, const sc_node *node);

#endif
