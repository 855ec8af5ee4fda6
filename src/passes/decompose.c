// Traces the method into core operators, and reports all operators that cannot be lowered.
#include "passes/passes.h"

sc_status sc_pass_decompose(sc_ctx *ctx, sc_method *method, const sc_pass_env *env) {
    sc_status status = sc_decompose(ctx, method, env->keep);
    if (status == SC_ERR_CANCELLED) return status;
    SC_TRY(method->decomposed ? sc_check_core_ops(ctx, method->graph)
                              : sc_check_known_ops(ctx, method->graph));
    return status;
}
