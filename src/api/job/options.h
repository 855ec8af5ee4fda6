// Options as the host gives them. Private to src/api.
// Prefix: sc_options_ reads the options of one call from JSON.
#ifndef SC_API_OPTIONS_H
#define SC_API_OPTIONS_H

#include "base/diag.h"
#include "core/options.h"

typedef enum sc_option_call {
    SC_OPTIONS_TO_EDGE,
    SC_OPTIONS_TO_BACKEND,
    SC_OPTIONS_TO_EXECUTORCH,
    SC_OPTIONS_LOAD
} sc_option_call;

// The options for programs that this build's own runtime runs at once.
sc_options sc_options_here(void);
// Reads a JSON object (empty text: no options) over the defaults. SC_ERR_OPTION for a key that the
// call does not have, with a list of its keys, and for a value that the option's row does not
// accept.
sc_status sc_options_read(sc_ctx *ctx, sc_option_call call, sc_str json, sc_options *out);

#endif
