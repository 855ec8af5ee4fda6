// The table that lowering goes by.
#include "backends/xnnpack/aot/xnnpack.h"

#include "backends/xnnpack/aot/lower.h"

const sc_backend sc_backend_xnnpack = {.name = "xnnpack",
                                       .id = SC_XNN_BACKEND,
                                       .keeps = sc_xa_keeps,
                                       .survey = sc_xa_survey,
                                       .leaves_moves = true,
                                       .preprocess = sc_xa_preprocess};
