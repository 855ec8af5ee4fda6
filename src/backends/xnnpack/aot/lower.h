// Private to backends/xnnpack/aot: what the vtable is made of.
#ifndef SC_XNNPACK_LOWER_H
#define SC_XNNPACK_LOWER_H

#include "backend/backend.h"
#include "backends/xnnpack/graph.h"

// The runtime that the options ask for.
sc_xnn_runtime sc_xa_runtime(const sc_options *options);
// A part to a payload and its data.
sc_status sc_xa_preprocess(const sc_backend *backend, sc_ctx *ctx, const sc_backend_env *env,
                           sc_part *part);

#endif
