// The operators that the option preserve_ops keeps whole. Private to src/api.
// Prefix: sc_preserved_ reads the list and looks operators up in it.
#ifndef SC_API_PRESERVED_H
#define SC_API_PRESERVED_H

#include "core/options.h"
#include "passes/pass.h"

typedef struct sc_preserved {
    const sc_options *options;
    const sc_keep *others;  // further requests to keep operators, or NULL
    sc_keep keep;           // all requests
} sc_preserved;

// Checks the operators: SC_ERR_OPTION for one that is unknown, a view, or not of ATen. `out` must
// live as long as its `keep` is in use, and keeps the pointers.
sc_status sc_preserved_init(sc_ctx *ctx, const sc_options *options, const sc_keep *others,
                            sc_preserved *out);
// Does the option itself keep the node whole?
bool sc_preserved_has(const sc_options *options, const sc_node *node);

#endif
