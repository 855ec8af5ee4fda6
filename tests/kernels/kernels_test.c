// Runs every kernel on its cases (kernel_case.h) and compares what it gives with PyTorch's results.
// Then threads run the case row by row, which must give the same bits.
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/diag.h"
#include "harness.h"
#include "kernels/kernel_case.h"
#include "rt/run/prim.h"
#include "team.h"

// --- Running -------------------------------------------------------------------------------------

static void *aligned(void *p) { return (void *)(((uintptr_t)p + 63) & ~(uintptr_t)63); }

static void check_results(const kernel_case *t) {
    uint32_t k = 0, written = 0;
    for (uint32_t i = 0; i < t->input_count && written < t->written_count; i++)
        if (t->op->schema->params[i].is_written)
            kernel_case_compare(t, 0, t->inputs[i]->tensor, &t->written[written++]);
    for (uint32_t i = 0; i < t->out_count; i++) {
        const sc_evalue *out = t->outs[i];
        if (out->tag == SC_EVALUE_TENSOR) {
            if (t->expected[k].bytes) kernel_case_compare(t, k, out->tensor, &t->expected[k]);
            k++;
            continue;
        }
        for (uint32_t j = 0; j < out->count; j++, k++)
            kernel_case_compare(t, k, out->tensors[j]->tensor, &t->expected[k]);
    }
}

static sc_status run_kernel(sc_ctx *ctx, const kernel_case *t, const sc_kernel *kernel) {
    sc_evalue *args[KERNEL_CASE_ITEMS_MAX];
    sc_kernel_call call = {.ctx = ctx, .op = t->op, .kernel = kernel, .args = args, .seed = 1};
    call.arg_count = kernel_case_arguments(t, args);
    call.scratch_bytes = kernel->scratch ? kernel->scratch(&call) : 0;
    call.scratch = aligned(test_alloc((size_t)call.scratch_bytes + 64));
    sc_diags_clear(ctx);
    return kernel->run(&call);
}

static const char *said(const sc_ctx *ctx) {
    const sc_str text = ctx->diags.count ? ctx->diags.data[0].message : SC_STR("");
    return test_format("%.*s", (int)text.size, text.data);
}

static void run_case(void *user, const kernel_case *t) {
    if (!test_case("%s/%s", t->path, t->name)) return;
    sc_ctx *ctx = user;
    const sc_kernel *kernel = t->op ? sc_kernel_get((sc_op_id)t->op->id) : NULL;
    const char *wanted = t->fails ? t->fails : "ok";
    if (!kernel) {
        FAIL("%s: there is no kernel", t->name);
        return;
    }
    kernel_case_memory before = kernel_case_keep(t);
    const sc_status status = run_kernel(ctx, t, kernel);
    const char *message = said(ctx);
    if (strcmp(sc_status_slug(status), wanted) != 0) {
        FAIL("%s: status %s, not %s (%s)", t->name, sc_status_slug(status), wanted, message);
        return;
    }
    if (status == SC_OK) check_results(t);
    const kernel_case_memory after = kernel_case_keep(t);
    kernel_case_put_back(&before);
    team_share_all(true);
    CHECK_STATUS(run_kernel(ctx, t, kernel), status);
    team_share_all(false);
    CHECK_EQ_STR(said(ctx), message);
    if (status == SC_OK && !kernel_case_is(&after)) FAIL("%s differs on threads", t->name);
}

// Lowering knows from the table alone what this runtime can run.
TEST(the_table_knows_what_runs) {
    REQUIRE_OK(sc_ops_init());
    for (uint32_t id = 1; id < SC_OP_COUNT; id++) {
        const sc_op *op = sc_op_get((sc_op_id)id);
        bool runs = sc_kernel_get((sc_op_id)id) || sc_rt_prim(op);
        if (runs != sc_op_has(op, SC_RUNS)) FAIL("SC_RUNS of %s is wrong", op->name);
    }
}

TEST_CASES(kernels_match_pytorch) {
    sc_arena arena, scratch;
    sc_ctx ctx;
    sc_arena_init(&arena);
    sc_arena_init(&scratch);
    sc_ctx_init(&ctx, &arena, &scratch);
    REQUIRE_OK(sc_ops_init());
    team_open(3);
    kernel_cases_visit(run_case, &ctx);
    team_close();
    sc_arena_deinit(&scratch);
    sc_arena_deinit(&arena);
}
