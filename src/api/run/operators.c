// Operators of the user's own, which the host registers for all jobs.
#include "api/job/job.h"
#include "backends/host/run/operator.h"
#include "ops/own.h"
#include "sconce.h"

typedef struct hosted {
    sc_host_kernel run;
    sc_host_operator host;
} hosted;

sc_status sc_operator_register(sc_job *job, const sc_host_operator *op) {
    sc_ctx *ctx = sc_job_begin(job);
    hosted *made = NULL;
    if (op->runs) {
        made = sc_try_alloc(sizeof *made);
        if (!made) return sc_fail(ctx, SC_ERR_MEMORY, NULL, "no memory for an operator");
        *made = (hosted){.host = *op};
        made->host.schema = made->host.overload = (sc_str){0};  // the caller's
        made->run = sc_host_kernel_of(&made->host);
    }
    SC_TRY(sc_ops_init());
    const sc_status status =
        sc_own_add(ctx, op->schema, op->overload, made ? &made->run.kernel : NULL);
    if (status != SC_OK) sc_free(made);
    return status;
}
