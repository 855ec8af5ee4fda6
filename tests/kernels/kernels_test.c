// Runs every kernel on its cases (kernel_case.h) and compares what it gives with PyTorch's results.
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/diag.h"
#include "harness.h"
#include "kernels/kernel_case.h"
#include "rt/run/prim.h"

// --- Running -------------------------------------------------------------------------------------

static void *aligned(void *p) { return (void *)(((uintptr_t)p + 63) & ~(uintptr_t)63); }

static void check_results(const kernel_case *t) {
    uint32_t k = 0;
    if (t->in_place) {
        kernel_case_compare(t, 0, t->inputs[0]->tensor, &t->expected[0]);
        return;
    }
    for (uint32_t i = 0; i < t->out_count; i++) {
        const sc_evalue *out = t->outs[i];
        if (out->tag == SC_EVALUE_TENSOR) {
            kernel_case_compare(t, k, out->tensor, &t->expected[k]);
            k++;
            continue;
        }
        for (uint32_t j = 0; j < out->count; j++, k++)
            kernel_case_compare(t, k, out->tensors[j]->tensor, &t->expected[k]);
    }
}

static void run_case(void *user, const kernel_case *t) {
    if (!test_case("%s/%s", t->path, t->name)) return;
    sc_ctx *ctx = user;
    const sc_kernel *kernel = t->op ? sc_kernel_get((sc_op_id)t->op->id) : NULL;
    sc_evalue *args[KERNEL_CASE_ITEMS_MAX];
    if (!kernel) {
        FAIL("%s: there is no kernel", t->name);
        return;
    }
    sc_kernel_call call = {.ctx = ctx, .op = t->op, .kernel = kernel, .args = args, .seed = 1};
    call.arg_count = kernel_case_arguments(t, args);
    call.scratch_bytes = kernel->scratch ? kernel->scratch(&call) : 0;
    call.scratch = aligned(test_alloc((size_t)call.scratch_bytes + 64));
    sc_diags_clear(ctx);
    sc_status status = kernel->run(&call);
    const char *wanted = t->fails ? t->fails : "ok";
    if (strcmp(sc_status_slug(status), wanted) != 0) {
        sc_str said = ctx->diags.count ? ctx->diags.data[0].message : SC_STR("");
        FAIL("%s: status %s, not %s (%.*s)", t->name, sc_status_slug(status), wanted,
             (int)said.size, said.data);
        return;
    }
    if (status == SC_OK) check_results(t);
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
    kernel_cases_visit(run_case, &ctx);
    sc_arena_deinit(&scratch);
    sc_arena_deinit(&arena);
}
