// Quotients that are rounded, and what they leave over.
#include "trace/official/official.h"

bool sc_official_is_long(const sc_node *node) { return node->outs[0]->spec.dtype == SC_DTYPE_I64; }

static bool rounds(const sc_node *node, const char *how) {
    const sc_arg *mode = sc_node_arg(node, "rounding_mode");
    return mode->kind == SC_ARG_STR && sc_str_is(mode->str, how);
}

// Towards zero, whole numbers are taken for floats. Down, floats by 0 are infinite, whatever is
// divided, and quotients are not rounded after all.
bool sc_official_is_misrounded(const sc_node *node) {
    return rounds(node, sc_official_is_float(node) ? "floor" : "trunc") &&
           (sc_official_is_float(node) || sc_official_is_long(node));
}
