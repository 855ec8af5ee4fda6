// Rounded quotients, and their remainders.
#include "trace/official/official.h"

bool sc_official_is_long(const sc_node *node) { return node->outs[0]->spec.dtype == SC_DTYPE_I64; }

static bool rounds(const sc_node *node, const char *how) {
    const sc_arg *mode = sc_node_arg(node, "rounding_mode");
    return mode->kind == SC_ARG_STR && sc_str_is(mode->str, how);
}

// Rounding towards zero, the official kernel computes whole numbers in floats. Rounding down, it
// gives infinity for every float that is divided by 0, and does not round the quotients.
bool sc_official_is_misrounded(const sc_node *node) {
    return rounds(node, sc_official_is_float(node) ? "floor" : "trunc") &&
           (sc_official_is_float(node) || sc_official_is_long(node));
}
