// Runs every kernel on its cases (kernel_case.h) and compares what it gives with PyTorch's results.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/diag.h"
#include "harness.h"
#include "kernel_case.h"
#include "rt/internal.h"

// --- Comparing -----------------------------------------------------------------------------------

static double number_of(sc_dtype dtype, const uint8_t *bytes, int64_t i) {
    const uint8_t *at = bytes + (size_t)i * sc_dtype_bytes(dtype);
    uint16_t half;
    float single;
    double real;
    switch (dtype) {
    case SC_DTYPE_F16: memcpy(&half, at, 2); return (double)sc_f16_to_f32(half);
    case SC_DTYPE_BF16: memcpy(&half, at, 2); return (double)sc_bf16_to_f32(half);
    case SC_DTYPE_F32: memcpy(&single, at, 4); return (double)single;
    default: memcpy(&real, at, 8); return real;
    }
}

static void tolerance_of(const kernel_case *t, unsigned dtype, double *relative, double *absolute) {
    bool is_half = dtype == SC_DTYPE_F16, is_brain = dtype == SC_DTYPE_BF16;
    *relative = is_brain ? 1.6e-2 : is_half ? 2e-3 : dtype == SC_DTYPE_F64 ? 1e-9 : 1e-5;
    *absolute = is_brain ? 1e-2 : is_half ? 1e-3 : dtype == SC_DTYPE_F64 ? 1e-10 : 1e-6;
    if (t->has_tolerance) {
        *relative = t->relative;
        *absolute = t->absolute;
    }
}

static bool is_close(double actual, double wanted, double relative, double absolute) {
    if (wanted != wanted || actual != actual) return (wanted != wanted) == (actual != actual);
    if (isinf(wanted) || isinf(actual)) return wanted == actual;
    return fabs(actual - wanted) <= absolute + relative * fabs(wanted);
}

static void compare(const kernel_case *t, uint32_t k, const sc_tensor *actual,
                    const kernel_case_expected *e) {
    const sc_tensor *wanted = &e->tensor;
    bool same = actual->rank == wanted->rank;
    for (uint32_t d = 0; same && d < wanted->rank; d++) same = actual->sizes[d] == wanted->sizes[d];
    if (!same) {
        FAIL("%s: result %u has another shape", t->name, k);
        return;
    }
    if (t->shape_only) return;
    const sc_dtype part = sc_dtype_to_real((sc_dtype)wanted->dtype);
    if (!sc_dtype_is_float(part)) {
        if (memcmp(actual->data, e->bytes,
                   (size_t)wanted->numel * sc_dtype_bytes((sc_dtype)wanted->dtype)) != 0)
            FAIL("%s: result %u (%s) differs", t->name, k, sc_dtype_name((sc_dtype)wanted->dtype));
        return;
    }
    double relative, absolute;
    tolerance_of(t, part, &relative, &absolute);
    const int64_t parts = wanted->numel * (part == wanted->dtype ? 1 : 2);
    for (int64_t i = 0; i < parts; i++) {
        double a = number_of(part, actual->data, i), b = number_of(part, e->bytes, i);
        if (!is_close(a, b, relative, absolute)) {
            FAIL("%s: result %u, element %lld is %.9g, not %.9g", t->name, k, (long long)i, a, b);
            return;
        }
    }
}

// --- Running -------------------------------------------------------------------------------------

static void *aligned(void *p) { return (void *)(((uintptr_t)p + 63) & ~(uintptr_t)63); }

static void check_results(const kernel_case *t) {
    uint32_t k = 0;
    if (t->in_place) {
        compare(t, 0, t->inputs[0]->tensor, &t->expected[0]);
        return;
    }
    for (uint32_t i = 0; i < t->out_count; i++) {
        const sc_evalue *out = t->outs[i];
        if (out->tag == SC_EVALUE_TENSOR) {
            compare(t, k, out->tensor, &t->expected[k]);
            k++;
            continue;
        }
        for (uint32_t j = 0; j < out->count; j++, k++)
            compare(t, k, out->tensors[j]->tensor, &t->expected[k]);
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
    sc_kernel_call call = {.ctx = ctx, .op = t->op, .args = args, .seed = 1};
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
