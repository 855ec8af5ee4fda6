// Private to src/backends/xnnpack/aot: what the vtable is made of.
#ifndef SC_XNNPACK_LOWER_H
#define SC_XNNPACK_LOWER_H

#include "backend/backend.h"
#include "backends/xnnpack/graph.h"

bool sc_xa_keeps(const sc_backend *backend, const sc_options *options, const sc_node *node);
sc_status sc_xa_survey(const sc_backend *backend, sc_survey *survey);
// A part to a payload and its data.
sc_status sc_xa_preprocess(const sc_backend *backend, sc_ctx *ctx, const sc_backend_env *env,
                           sc_part *part);

#endif
