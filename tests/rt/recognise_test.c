// Calls that were expanded for the official runtime become one call again at load, and no others
// do: scans, powers, products of groups. Whatever is recognised, the numbers are the same.
#include "api/compiling.h"
#include "harness.h"
#include "rt/expansion.h"
#include "rt/rewrite/optimize.h"

// --- Scans ---------------------------------------------------------------------------------------

TEST(scans_are_recognised_along_any_dim) {
    REQUIRE_OK(sc_ops_init());
    static const struct {
        const char *type, *call;
        sc_op_id op;
    } scans[] = {
        {"f32[2, 130]", "aten::cumprod(%x, 1)", SC_OP_cumprod},
        {"f32[140, 3]", "aten::cumprod(%x, 0)", SC_OP_cumprod},
        {"f64[2, 129, 3]", "aten::cumprod(%x, 1)", SC_OP_cumprod},
        {"f32[3, 20]", "aten::cumprod(%x, 1)", SC_OP_cumprod},
        {"f32[20, 3]", "aten::cumprod(%x, 0)", SC_OP_cumprod},
        {"f32[2]", "aten::cumprod(%x, 0)", SC_OP_cumprod},
        {"i64[3, 5]", "aten::cumprod(%x, 1)", SC_OP_cumprod},
        {"f32[3, 37]", "aten::logcumsumexp(%x, 1)", SC_OP_logcumsumexp},
        {"f32[1, 64, 2]", "aten::logcumsumexp(%x, 1)", SC_OP_logcumsumexp},
        {"f64[9]", "aten::logcumsumexp(%x, 0)", SC_OP_logcumsumexp},
    };
    for (size_t i = 0; i < SC_COUNT_OF(scans); i++) {
        const uint32_t found =
            expansion_found(expansion_of_call(scans[i].type, scans[i].call), scans[i].op);
        if (found != 1) FAIL("%s of %s: %u calls", scans[i].call, scans[i].type, found);
    }
}

static const char doubling[] = "method forward {\n"
                               "  input %x: f64[4, 4]\n"
                               "  input %z: f64[4, 4]\n"
                               "  %a0: f64[4, 3] = aten::slice_copy.Tensor(%x, 1, 0, 3)\n"
                               "  %a1: f64[4, 3] = aten::slice_copy.Tensor(%x, 1, 1, 4)\n"
                               "  %m: f64[4, 3] = aten::mul.Tensor(%a0, %a1)\n"
                               "  %a2: f64[4, 1] = aten::slice_copy.Tensor(%x, 1, 0, 1)\n"
                               "  %c: f64[4, 4] = aten::cat([%a2, %m], 1)\n"
                               "  %b0: f64[4, 2] = aten::slice_copy.Tensor(%c, 1, 0, 2)\n"
                               "  %b1: f64[4, 2] = aten::slice_copy.Tensor(%c, 1, 2, 4)\n"
                               "  %k: f64[4, 2] = aten::mul.Tensor(%b0, %b1)\n"
                               "  %b2: f64[4, 2] = aten::slice_copy.Tensor(%c, 1, 0, 2)\n"
                               "  %y: f64[4, 4] = aten::cat([%b2, %k], 1)\n"
                               "  return %y\n"
                               "}\n";

static void check_changes(const char *text, const near_miss *changes, size_t count, sc_op_id op) {
    for (size_t i = 0; text && i < count; i++) {
        const uint32_t found =
            expansion_found(expansion_changed(text, changes[i].from, changes[i].to), op);
        if (found != changes[i].calls) FAIL("'%s': %u calls", changes[i].to, found);
    }
}

TEST(what_is_almost_a_scan_runs_as_written) {
    static const near_miss changes[] = {
        {"return %y", "return %y", 1},
        // A value that is wanted elsewhere stays. If it is written over x, all of them stay.
        {"return %y", "%e: f64[4, 4] = aten::add.Tensor(%x, %z)\n  return %y, %c, %e", 1},
        {"return %y", "return %y, %c", 0},
        {"(%c, 1, 2, 4)", "(%c, 1, 1, 3)", 0},
        {"aten::mul.Tensor(%b0, %b1)", "aten::add.Tensor(%b0, %b1)", 0},
        {"aten::mul.Tensor(%b0, %b1)", "aten::mul.Tensor(%b1, %b1)", 0},
        {"[%a2, %m]", "[%m, %a2]", 0},
        {"[%b2, %k]", "[%b0, %b2]", 0},
        {"%a1: f64[4, 3] = aten::slice_copy.Tensor(%x",
         "%a1: f64[4, 3] = aten::slice_copy.Tensor(%z", 0},
        {"%a2: f64[4, 1] = aten::slice_copy.Tensor(%x, 1, 0, 1)",
         "%a2: f64[4, 1] = aten::slice_copy.Tensor(%x, 1, 1, 2)", 0},
        {"%b2: f64[4, 2] = aten::slice_copy.Tensor(%c",
         "%b2: f64[4, 2] = aten::slice_copy.Tensor(%x", 0},
        {"%b1: f64[4, 2] = aten::slice_copy.Tensor(%c",
         "%b1: f64[4, 2] = aten::slice_copy.Tensor(%x", 0},
    };
    REQUIRE_OK(sc_ops_init());
    check_changes(doubling, changes, SC_COUNT_OF(changes), SC_OP_cumprod);
}

// The product of three, in any dtype.
static char *product_of_few(const char *t) {
    return test_format("method forward {\n"
                       "  input %%x: %s[2, 3]\n"
                       "  %%a: %s[2, 1] = aten::slice_copy.Tensor(%%x, 1, 0, 1)\n"
                       "  %%b: %s[2, 1] = aten::slice_copy.Tensor(%%x, 1, 1, 2)\n"
                       "  %%two: %s[2, 1] = aten::mul.Tensor(%%a, %%b)\n"
                       "  %%c: %s[2, 1] = aten::slice_copy.Tensor(%%x, 1, 2, 3)\n"
                       "  %%three: %s[2, 1] = aten::mul.Tensor(%%two, %%c)\n"
                       "  %%y: %s[2, 3] = aten::cat([%%a, %%two, %%three], 1)\n"
                       "  return %%y\n"
                       "}\n",
                       t, t, t, t, t, t, t);
}

TEST(what_is_almost_a_product_of_few_runs_as_written) {
    static const near_miss changes[] = {
        {"return %y", "return %y, %two", 1},
        {"(%x, 1, 2, 3)", "(%x, 1, 1, 2)", 0},
        {"(%two, %c)", "(%b, %c)", 0},
        {"[%a, %two, %three]", "[%a, %three, %two]", 0},
    };
    REQUIRE_OK(sc_ops_init());
    check_changes(product_of_few("f64"), changes, SC_COUNT_OF(changes), SC_OP_cumprod);
}

// A product that overflows, or is rounded, does so at every step: the kernel computes in float64,
// and with the int64 that products of all integers are.
TEST(products_in_small_floats_run_as_written) {
    static const struct {
        const char *dtype;
        uint32_t calls;
    } dtypes[] = {{"f64", 1}, {"i64", 1}, {"i32", 0}, {"f32", 0}, {"f16", 0}, {"bf16", 0}};
    REQUIRE_OK(sc_ops_init());
    for (size_t i = 0; i < SC_COUNT_OF(dtypes); i++) {
        const uint32_t found = expansion_found(product_of_few(dtypes[i].dtype), SC_OP_cumprod);
        if (found != dtypes[i].calls) FAIL("%s: %u calls", dtypes[i].dtype, found);
    }
    char *small = test_format("%s", doubling);
    for (char *at = small; (at = strstr(at, "f64")) != NULL;) memcpy(at, "f32", 3);
    CHECK_EQ_INT(expansion_found(small, SC_OP_cumprod), 0);
    small = expansion_of_call("f64[2, 4]", "aten::logcumsumexp(%x, 1)");
    for (char *at = small; at && (at = strstr(at, "f64")) != NULL;) memcpy(at, "f32", 3);
    CHECK_EQ_INT(expansion_found(small, SC_OP_logcumsumexp), 0);
}

TEST(what_is_almost_a_sum_of_logarithms_runs_as_written) {
    static const near_miss changes[] = {
        {"aten::isinf(%maximum)", "aten::isinf(%minimum)", 0},
        {"aten::sub.Tensor(%minimum, %maximum)", "aten::sub.Tensor(%maximum, %minimum)", 0},
        {"aten::add.Tensor(%log1p, %maximum)", "aten::add.Tensor(%log1p, %minimum)", 0},
        {"aten::log1p(%exp)", "aten::log1p(%minimum)", 0},
    };
    REQUIRE_OK(sc_ops_init());
    check_changes(expansion_of_call("f64[2, 4]", "aten::logcumsumexp(%x, 1)"), changes,
                  SC_COUNT_OF(changes), SC_OP_logcumsumexp);
}

TEST(powers_of_two_are_recognised_and_no_others) {
    REQUIRE_OK(sc_ops_init());
    CHECK_EQ_INT(expansion_found(expansion_of_call("f32[9]", "aten::exp2(%x)"), SC_OP_exp2), 1);
    CHECK_EQ_INT(
        expansion_found(expansion_of_call("f32[9]", "aten::pow.Scalar(3, %x)"), SC_OP_exp2), 0);
}

// --- Memory --------------------------------------------------------------------------------------

static const char shared[] = "method forward {\n"
                             "  input %x: f64[2, 3]\n"
                             "  input %z: f64[2, 1]\n"
                             "  %a: f64[2, 1] = aten::slice_copy.Tensor(%x, 1, 0, 1)\n"
                             "  %b: f64[2, 1] = aten::slice_copy.Tensor(%x, 1, 1, 2)\n"
                             "  %two: f64[2, 1] = aten::mul.Tensor(%a, %b)\n"
                             "  %w: f64[2, 1] = aten::add.Tensor(%z, %z)\n"
                             "  %c: f64[2, 1] = aten::slice_copy.Tensor(%x, 1, 2, 3)\n"
                             "  %three: f64[2, 1] = aten::mul.Tensor(%two, %c)\n"
                             "  %y: f64[2, 3] = aten::cat([%a, %two, %three], 1)\n"
                             "  return %y, %w\n"
                             "}\n";

static sc_rt_instruction *call_of(const setup *s, sc_op_id op, uint32_t nth) {
    for (uint32_t i = 0; i < s->method->code_count; i++) {
        sc_rt_instruction *in = &s->method->code[i];
        if (in->kind == SC_RT_KERNEL && in->call.op->id == op && nth-- == 0) return in;
    }
    return NULL;
}

// Plans a result over another value, `ahead` bytes into it, as no emitter does.
static void plan_over(setup *s, const sc_rt_instruction *in, sc_evalue *under, uint64_t ahead) {
    sc_evalue *value = in->call.args[in->call.arg_count - 1];
    sc_rt_place *to = &s->method->places[value - s->method->values];
    const sc_rt_place *from = &s->method->places[under - s->method->values];
    to->memory_id = from->memory_id;
    to->offset = from->offset + ahead;
    value->tensor->data = (uint8_t *)under->tensor->data + ahead;
}

static void run_once(setup *s, double *out) {
    for (uint32_t i = 0; i < s->method->input_count; i++) expansion_fill(s, shared, i, false);
    CHECK_OK(sc_rt_method_run(&s->ctx, s->method));
    sc_rt_tensor_read(sc_rt_method_output(s->method, 0)->tensor, out, 6 * sizeof *out);
}

typedef enum overlap { NOWHERE, OVER_A_PART, OVER_THE_OPERAND } overlap;

// How often the product is recognised where one result lies over what is read after it is written.
static uint32_t recognised_over(overlap where) {
    double written[6], rewritten[6];
    uint32_t calls = 0;
    setup s;
    if (expansion_load(&s, shared, false)) {
        sc_rt_instruction *two = call_of(&s, SC_OP_mul_Tensor, 0);
        sc_rt_instruction *w = call_of(&s, SC_OP_add_Tensor, 0);
        if (where == OVER_A_PART) plan_over(&s, w, two->call.args[two->call.arg_count - 1], 0);
        if (where == OVER_THE_OPERAND)
            plan_over(&s, two, &s.method->values[s.method->inputs[0]], 4 * sizeof(double));
        run_once(&s, written);
        CHECK_OK(sc_rt_optimize(&s.ctx, s.method));
        run_once(&s, rewritten);
        for (int i = 0; i < 6; i++) CHECK_CLOSE(rewritten[i], written[i], 1e-12);
        calls = call_of(&s, SC_OP_cumprod, 0) != NULL;
    }
    setup_end(&s);
    return calls;
}

TEST(what_overwrites_a_part_before_it_is_read_keeps_it_as_written) {
    REQUIRE_OK(sc_ops_init());
    CHECK_EQ_INT(recognised_over(NOWHERE), 1);
    CHECK_EQ_INT(recognised_over(OVER_A_PART), 0);
    CHECK_EQ_INT(recognised_over(OVER_THE_OPERAND), 0);
}

// --- Products of groups --------------------------------------------------------------------------

// The product of two groups of matrices [3, 4]; the number of rows decides which form the expansion
// takes.
static char *grouped(const char *type, int rows, int groups, int k, int n) {
    return expansion_of(test_format("method forward {\n"
                                    "  input %%x: %s[%d, %d]\n"
                                    "  input %%w: %s[%d, %d, %d]\n"
                                    "  input %%ends: i64[%d]\n"
                                    "  %%y: %s[%d, %d] = "
                                    "transformers::grouped_mm_fallback(%%x, %%w, %%ends)\n"
                                    "  return %%y\n"
                                    "}\n",
                                    type, rows, k, type, groups, k, n, groups, type, rows, n));
}

static const sc_op_id grouped_mm = SC_OP_transformers__grouped_mm_fallback;

TEST(products_of_groups_are_recognised_in_all_forms) {
    REQUIRE_OK(sc_ops_init());
    CHECK_EQ_INT(expansion_found(grouped("f32", 3, 4, 4, 5), grouped_mm), 1);
    CHECK_EQ_INT(expansion_found(grouped("f32", 12, 4, 4, 5), grouped_mm), 1);
    CHECK_EQ_INT(expansion_found(grouped("f32", 12, 3, 50, 1), grouped_mm), 1);
}

TEST(what_is_almost_a_product_of_groups_runs_as_written) {
    static const near_miss changes[] = {
        {"aten::le.Tensor", "aten::lt.Tensor", 0},
        {", None, 3)", ", None, 2)", 0},
        {"(%sum, 4)", "(%sum, 3)", 0},
    };
    REQUIRE_OK(sc_ops_init());
    check_changes(grouped("f32", 12, 4, 4, 5), changes, SC_COUNT_OF(changes), grouped_mm);
    check_changes(grouped("f32", 3, 4, 4, 5), changes, SC_COUNT_OF(changes), grouped_mm);
}
