// What was expanded for the official runtime becomes one call again when it is loaded, and nothing
// else does: programs are expanded, changed in one place or in none, and run both as written and
// rewritten. Whatever is recognised of them, the numbers are the same.
#include <math.h>

#include "api/job.h"
#include "harness.h"
#include "passes/passes.h"
#include "rt/internal.h"
#include "rt/optimize.h"
#include "rt/setup.h"

enum { OUTPUTS_MAX = 3, BYTES_MAX = 1 << 14 };

// --- Programs ------------------------------------------------------------------------------------

static bool parse(setup *s, const char *text, sc_program **program) {
    if (!CHECK_OK(sc_program_parse(&s->ctx, sc_str_from(text), program))) return false;
    (*program)->methods.data[0]->facts = SC_FACT_SPECS | SC_FACT_EDGE | SC_FACT_CORE;
    return true;
}

// The program as the pass leaves it, as text.
static char *expanded(const char *text) {
    const sc_options options = sc_options_default();
    sc_pipeline pipeline = {.env = {.options = &options}};
    char *out = NULL;
    sc_program *program;
    setup s;
    setup_begin(&s);
    if (parse(&s, text, &program) &&
        CHECK_OK(sc_pipeline_pass(&s.ctx, &pipeline, sc_pass_find(SC_STR("official")),
                                  program->methods.data[0]))) {
        sc_sb sb;
        sc_sb_init(&sb, &s.arena);
        sc_program_print(&sb, program, (sc_print_options){0});
        out = test_format("%s", sc_sb_terminate(&sb));
    }
    setup_end(&s);
    return out;
}

// The text with `to` in the place of the only `from`.
static char *changed(const char *text, const char *from, const char *to) {
    const char *at = strstr(text, from);
    if (!CHECK(at) || !CHECK(!strstr(at + 1, from))) return NULL;
    return test_format("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

// --- Runs ----------------------------------------------------------------------------------------

typedef struct outcome {
    uint32_t calls;  // of the operator
    double bytes[OUTPUTS_MAX][BYTES_MAX / sizeof(double)];
    uint32_t count, sizes[OUTPUTS_MAX];
    uint8_t dtypes[OUTPUTS_MAX];
} outcome;

// Numbers of both signs and about 1, infinities where they are said to be; integers count the rows
// of groups, in no order and beyond the last row.
static void fill_input(setup *s, uint32_t index, const sc_tensor *t, bool is_rough) {
    static const int64_t ends[] = {5, 2, 2, 40, 7};
    double bytes[BYTES_MAX / sizeof(double)];
    sc_tensor dense = *t;
    dense.data = bytes;
    for (int64_t i = 0; i < t->numel; i++) {
        const double number = (i % 7 == 3 ? -1 : 1) * (0.8 + 0.05 * (double)(i * 5 % 11));
        if (sc_dtype_is_float((sc_dtype)t->dtype))
            sc_tensor_put_real(&dense, i, is_rough && i % 5 < 2 ? -INFINITY : number);
        else
            sc_tensor_put_integer(&dense, i, is_rough ? ends[i % 5] : 3 * i);
    }
    const sc_rt_input input = {.tag = SC_EVALUE_TENSOR,
                               .dtype = t->dtype,
                               .rank = t->rank,
                               .sizes = t->sizes,
                               .data = bytes,
                               .bytes = (uint64_t)t->numel * sc_dtype_bytes((sc_dtype)t->dtype)};
    CHECK_OK(setup_set(s, index, input));
}

static void read_outputs(setup *s, outcome *o) {
    o->count = sc_rt_method_output_count(s->method);
    for (uint32_t i = 0; CHECK(o->count <= OUTPUTS_MAX) && i < o->count; i++) {
        const sc_tensor *t = sc_rt_method_output(s->method, i)->tensor;
        o->dtypes[i] = t->dtype;
        o->sizes[i] = (uint32_t)t->numel;
        sc_rt_tensor_read(t, o->bytes[i], (size_t)t->numel * sc_dtype_bytes((sc_dtype)t->dtype));
    }
}

// Lowers and loads its method `forward`.
static bool load(setup *s, const char *text, bool optimize) {
    const sc_options options = sc_options_default();
    sc_pipeline pipeline = {.env = {.options = &options}};
    sc_program *program;
    sc_executable made;
    sc_rt_options loading;
    sc_rt_options_default(&loading);
    loading.optimize = optimize;
    return parse(s, text, &program) &&
           CHECK_OK(sc_make_executable(&s->ctx, &pipeline, program, &made)) &&
           CHECK_OK(sc_rt_program_open(&s->ctx,
                                       sc_source_from_cord(&s->arena, &made.result.program),
                                       &loading, &s->program)) &&
           setup_load(s, "forward");
}

static void run(const char *text, sc_op_id op, bool optimize, bool is_rough, outcome *o) {
    setup s;
    setup_begin(&s);
    *o = (outcome){.count = 0};
    if (load(&s, text, optimize)) {
        for (uint32_t i = 0; i < s.method->input_count; i++)
            fill_input(&s, i, s.method->values[s.method->inputs[i]].tensor, is_rough);
        for (int k = 0; k < 2; k++) CHECK_OK(sc_rt_method_run(&s.ctx, s.method));
        for (uint32_t i = 0; i < s.method->code_count; i++)
            o->calls +=
                s.method->code[i].kind == SC_RT_KERNEL && s.method->code[i].call.op->id == op;
        read_outputs(&s, o);
    }
    setup_end(&s);
}

static void check_same(outcome *a, outcome *b) {
    CHECK_EQ_INT(a->count, b->count);
    for (uint32_t k = 0; k < a->count; k++) {
        const sc_tensor x = {.data = a->bytes[k], .dtype = a->dtypes[k]};
        const sc_tensor y = {.data = b->bytes[k], .dtype = b->dtypes[k]};
        if (!CHECK_EQ_INT(a->sizes[k], b->sizes[k]) || !CHECK_EQ_INT(x.dtype, y.dtype)) return;
        double largest = 0;  // of sums that cancel out, only rounding is left
        for (uint32_t i = 0; i < a->sizes[k]; i++)
            if (isfinite(sc_tensor_real(&y, i)))
                largest = fmax(largest, fabs(sc_tensor_real(&y, i)));
        for (uint32_t i = 0; i < a->sizes[k]; i++) {
            const double p = sc_tensor_real(&x, i), q = sc_tensor_real(&y, i);
            if (p != q && !(isnan(p) && isnan(q)) && !(fabs(p - q) < 1e-6 * largest))
                CHECK_CLOSE(p / q, 1, 1e-5);
        }
    }
}

// How often the operator is called of what is loaded; as written it never is.
static uint32_t recognised(const char *text, sc_op_id op) {
    static outcome written, rewritten;
    uint32_t calls = 0;
    if (!text) return UINT32_MAX;
    for (int is_rough = 0; is_rough < 2; is_rough++) {
        run(text, op, false, is_rough, &written);
        run(text, op, true, is_rough, &rewritten);
        CHECK_EQ_INT(written.calls, 0);
        CHECK(written.count > 0);
        check_same(&written, &rewritten);
        calls = rewritten.calls;
    }
    return calls;
}

// How many calls of the operator are gone from what is loaded.
static uint32_t gone(const char *text, sc_op_id op, bool is_rough) {
    static outcome written, rewritten;
    if (!text) return UINT32_MAX;
    run(text, op, false, is_rough, &written);
    run(text, op, true, is_rough, &rewritten);
    CHECK(written.count > 0);
    check_same(&written, &rewritten);
    return written.calls - rewritten.calls;
}

static char *call(const char *type, const char *call) {
    return expanded(test_format("method forward {\n  input %%x: %s\n  %%y: %s = %s\n"
                                "  return %%y\n}\n",
                                type, type, call));
}

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
        const uint32_t found = recognised(call(scans[i].type, scans[i].call), scans[i].op);
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

typedef struct near_miss {
    const char *from, *to;
    uint32_t calls;
} near_miss;

static void check_changes(const char *text, const near_miss *changes, size_t count, sc_op_id op) {
    for (size_t i = 0; text && i < count; i++) {
        const uint32_t found = recognised(changed(text, changes[i].from, changes[i].to), op);
        if (found != changes[i].calls) FAIL("'%s': %u calls", changes[i].to, found);
    }
}

TEST(what_is_almost_a_scan_runs_as_written) {
    static const near_miss changes[] = {
        {"return %y", "return %y", 1},
        // What is wanted elsewhere stays, and where it is written over x, everything does.
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

// Of three, in any dtype.
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

// What overflows, and is rounded, at every step does so: the kernel computes in float64, and with
// the int64 that products of all integers are.
TEST(products_in_small_floats_run_as_written) {
    static const struct {
        const char *dtype;
        uint32_t calls;
    } dtypes[] = {{"f64", 1}, {"i64", 1}, {"i32", 0}, {"f32", 0}, {"f16", 0}, {"bf16", 0}};
    REQUIRE_OK(sc_ops_init());
    for (size_t i = 0; i < SC_COUNT_OF(dtypes); i++) {
        const uint32_t found = recognised(product_of_few(dtypes[i].dtype), SC_OP_cumprod);
        if (found != dtypes[i].calls) FAIL("%s: %u calls", dtypes[i].dtype, found);
    }
    char *small = test_format("%s", doubling);
    for (char *at = small; (at = strstr(at, "f64")) != NULL;) memcpy(at, "f32", 3);
    CHECK_EQ_INT(recognised(small, SC_OP_cumprod), 0);
    small = call("f64[2, 4]", "aten::logcumsumexp(%x, 1)");
    for (char *at = small; at && (at = strstr(at, "f64")) != NULL;) memcpy(at, "f32", 3);
    CHECK_EQ_INT(recognised(small, SC_OP_logcumsumexp), 0);
}

TEST(what_is_almost_a_sum_of_logarithms_runs_as_written) {
    static const near_miss changes[] = {
        {"aten::isinf(%maximum)", "aten::isinf(%minimum)", 0},
        {"aten::sub.Tensor(%minimum, %maximum)", "aten::sub.Tensor(%maximum, %minimum)", 0},
        {"aten::add.Tensor(%log1p, %maximum)", "aten::add.Tensor(%log1p, %minimum)", 0},
        {"aten::log1p(%exp)", "aten::log1p(%minimum)", 0},
    };
    REQUIRE_OK(sc_ops_init());
    check_changes(call("f64[2, 4]", "aten::logcumsumexp(%x, 1)"), changes, SC_COUNT_OF(changes),
                  SC_OP_logcumsumexp);
}

TEST(powers_of_two_are_recognised_and_no_others) {
    REQUIRE_OK(sc_ops_init());
    CHECK_EQ_INT(recognised(call("f32[9]", "aten::exp2(%x)"), SC_OP_exp2), 1);
    CHECK_EQ_INT(recognised(call("f32[9]", "aten::pow.Scalar(3, %x)"), SC_OP_exp2), 0);
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
    for (uint32_t i = 0; i < s->method->input_count; i++)
        fill_input(s, i, s->method->values[s->method->inputs[i]].tensor, false);
    CHECK_OK(sc_rt_method_run(&s->ctx, s->method));
    sc_rt_tensor_read(sc_rt_method_output(s->method, 0)->tensor, out, 6 * sizeof *out);
}

typedef enum overlap { NOWHERE, OVER_A_PART, OVER_THE_OPERAND } overlap;

// How often the product is recognised where one result lies over what is read after it is written.
static uint32_t recognised_over(overlap where) {
    double written[6], rewritten[6];
    uint32_t calls = 0;
    setup s;
    setup_begin(&s);
    if (load(&s, shared, false)) {
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

// Of two groups of matrices [3, 4]; the number of rows decides which form the expansion takes.
static char *grouped(const char *type, int rows, int groups, int k, int n) {
    return expanded(test_format("method forward {\n"
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
    CHECK_EQ_INT(recognised(grouped("f32", 3, 4, 4, 5), grouped_mm), 1);
    CHECK_EQ_INT(recognised(grouped("f32", 12, 4, 4, 5), grouped_mm), 1);
    CHECK_EQ_INT(recognised(grouped("f32", 12, 3, 50, 1), grouped_mm), 1);
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

// --- Fourier transforms --------------------------------------------------------------------------

// Of pairs in a last dim of 2.
static char *of_pairs(const char *type, const char *complex, const char *call) {
    return expanded(test_format("method forward {\n"
                                "  input %%x: %s, 2]\n"
                                "  %%z: %s] = aten::view_as_complex_copy(%%x)\n"
                                "  %%f: %s] = aten::_fft_c2c(%%z, %s)\n"
                                "  %%y: %s, 2] = aten::view_as_real_copy(%%f)\n"
                                "  return %%y\n"
                                "}\n",
                                type, complex, complex, call, type));
}

static char *of_reals(const char *type, const char *complex, const char *call) {
    return expanded(test_format("method forward {\n"
                                "  input %%x: %s]\n"
                                "  %%f: %s] = aten::_fft_r2c(%%x, %s, False)\n"
                                "  %%y: %s, 2] = aten::view_as_real_copy(%%f)\n"
                                "  return %%y\n"
                                "}\n",
                                type, complex, call, type));
}

// How many spectra are no longer put together of halves.
static uint32_t transforms(const char *text) { return gone(text, SC_OP_cat, false); }

TEST(transforms_of_complex_numbers_are_recognised) {
    static const struct {
        const char *type, *complex, *call;
        uint32_t dims;
    } calls[] = {
        {"f64[2, 9", "c128[2, 9", "[1], 0, True", 1},
        {"f32[2, 8", "c64[2, 8", "[1], 0, True", 1},
        {"f32[12, 3", "c64[12, 3", "[0], 2, False", 1},
        {"f64[2, 3, 2", "c128[2, 3, 2", "[1], 1, False", 1},
        {"f64[4, 6", "c128[4, 6", "[0, 1], 0, True", 2},
        {"f32[1, 5, 7", "c64[1, 5, 7", "[1, 2], 2, False", 2},
        {"f32[3, 2", "c64[3, 2", "[1], 0, True", 0},  // no half is missing
    };
    REQUIRE_OK(sc_ops_init());
    for (size_t i = 0; i < SC_COUNT_OF(calls); i++) {
        const uint32_t found = transforms(of_pairs(calls[i].type, calls[i].complex, calls[i].call));
        if (found != calls[i].dims) FAIL("%s of %s: %u", calls[i].call, calls[i].type, found);
    }
}

TEST(whole_spectra_of_real_numbers_are_recognised) {
    REQUIRE_OK(sc_ops_init());
    CHECK_EQ_INT(transforms(of_reals("f64[2, 9", "c128[2, 9", "[1], 0")), 1);
    CHECK_EQ_INT(transforms(of_reals("f32[8, 3", "c64[8, 3", "[0], 2")), 1);
    CHECK_EQ_INT(transforms(of_reals("f32[6, 4", "c64[6, 4", "[0, 1], 1")), 2);
}

static void check_transforms(const char *text, const near_miss *changes, size_t count) {
    for (size_t i = 0; text && i < count; i++) {
        const uint32_t found = transforms(changed(text, changes[i].from, changes[i].to));
        if (found != changes[i].calls) FAIL("'%s': %u", changes[i].to, found);
    }
}

TEST(what_is_almost_a_transform_of_complex_numbers_runs_as_written) {
    static const near_miss changes[] = {
        {"%_fft_r2c: c128[2, 5, 2] = aten::_fft_r2c(%x, [1], 0, True)",
         "%_fft_r2c: c128[2, 5, 2] = aten::_fft_r2c(%x, [1], 1, True)", 1},
        {"return %cat", "return %cat, %sub", 0},  // which lies over x
        {"return %cat", "%e: f64[2, 9, 2] = aten::add.Tensor(%x, %x)\n  return %cat, %sub, %e", 1},
        {"(%select_copy, %mul_1)", "(%mul_1, %select_copy)", 0},
        {"(%select_copy, %mul_1)", "(%select_copy, %mul_1, alpha=2)", 0},
        {"aten::sub.Tensor(%select_copy, %mul_1)", "aten::add.Tensor(%select_copy, %mul_1)", 0},
        {"(%select_copy, %add)", "(%flip, %add)", 0},
        {"(%mul_2, %flip)", "(%mul_2, %select_copy_1)", 0},
        {"(%mul_2, %flip)", "(%mul_2, %flip, alpha=-1)", 0},
        {"(%view_as_real_copy, 2, 1)", "(%view_as_real_copy, 2, 0)", 0},
        {"(%view_as_real_copy, 2, 0)", "(%view_as_real_copy, 3, 0)", 0},
        {"(%select_copy_1, [2])", "(%select_copy_1, [1])", 0},
        {"(%add_1, 1, 1, 5)", "(%sub, 1, 1, 5)", 0},
        {"(%add_1, 1, 1, 5)", "(%add_1, 1, 0, 4)", 0},
        {"(%slice_copy, [1])", "(%slice_copy, [0])", 0},
        {"[%sub, %flip_1]", "[%add_1, %flip_1]", 0},
        {"-2.0", "-1.0", 0},
        {"(0, 2,", "(1, 3,", 0},
        {"[1], 1.0,", "[1], 2.0,", 0},
        {"(%mul, %full_1)", "(%mul, %full_1, alpha=2)", 0},
        {"(%mul, %full_1)", "(%mul, %full)", 0},
    };
    REQUIRE_OK(sc_ops_init());
    check_transforms(of_pairs("f64[2, 9", "c128[2, 9", "[1], 0, True"), changes,
                     SC_COUNT_OF(changes));
}

TEST(what_is_almost_a_whole_spectrum_of_real_numbers_runs_as_written) {
    static const near_miss changes[] = {
        {"return %cat",
         "%e: f64[2, 9] = aten::add.Tensor(%x, %x)\n  return %cat, %view_as_real_copy, %e", 1},
        {"(%view_as_real_copy, %add)", "(%view_as_real_copy, %mul)", 0},
        {"(%mul_1, 1, 1, 5)", "(%mul_1, 1, 0, 4)", 0},
        {"(%mul_1, 1, 1, 5)", "(%view_as_real_copy, 1, 1, 5)", 0},
        {"(%slice_copy, [1])", "(%slice_copy, [2])", 0},
        {"[%view_as_real_copy, %flip]", "[%mul_1, %flip]", 0},
    };
    REQUIRE_OK(sc_ops_init());
    check_transforms(of_reals("f64[2, 9", "c128[2, 9", "[1], 0"), changes, SC_COUNT_OF(changes));
}

// --- Extremes of what is scattered ---------------------------------------------------------------

// The index is wanted to the end: a second run finds it where it was.
static char *scattered(const char *dtype, const char *sizes, const char *own, int dim,
                       const char *how) {
    return expanded(test_format("method forward {\n"
                                "  input %%self: %s%s\n"
                                "  input %%index: i64%s\n"
                                "  input %%src: %s%s\n"
                                "  %%y: %s%s = aten::scatter_reduce.two(%%self, %d, %%index, "
                                "%%src, \"%s\", include_self=False)\n"
                                "  %%e: i64%s = aten::add.Tensor(%%index, %%index)\n"
                                "  return %%y, %%e\n"
                                "}\n",
                                dtype, own, sizes, dtype, sizes, dtype, own, dim, how, sizes));
}

// With places of their own, and with several numbers, infinities among them, for one.
static uint32_t sorts_gone(const char *text) {
    const uint32_t smooth = gone(text, SC_OP_topk, false), rough = gone(text, SC_OP_topk, true);
    CHECK_EQ_INT(smooth, rough);
    return rough;
}

TEST(extremes_of_what_is_scattered_are_recognised) {
    static const char *const dtypes[] = {"f32", "f64", "i64", "i32", "u8", "f16"};
    REQUIRE_OK(sc_ops_init());
    for (size_t i = 0; i < SC_COUNT_OF(dtypes); i++) {
        CHECK_EQ_INT(sorts_gone(scattered(dtypes[i], "[12]", "[41]", 0, "amax")), 1);
        CHECK_EQ_INT(sorts_gone(scattered(dtypes[i], "[12]", "[41]", 0, "amin")), 1);
    }
    CHECK_EQ_INT(sorts_gone(scattered("f32", "[2, 5]", "[2, 41]", 1, "amax")), 1);
    CHECK_EQ_INT(sorts_gone(scattered("f32", "[5, 2]", "[41, 3]", 0, "amin")), 1);
}

static void check_sorts(const char *text, const near_miss *changes, size_t count) {
    for (size_t i = 0; text && i < count; i++) {
        const uint32_t found = sorts_gone(changed(text, changes[i].from, changes[i].to));
        if (found != changes[i].calls) FAIL("'%s': %u", changes[i].to, found);
    }
}

TEST(what_is_almost_an_extreme_runs_as_written) {
    static const near_miss largest[] = {
        {"return %scatter", "return %scatter", 1},
        {"12, 0, False)", "12, 0, True)", 0},
        {"12, 0, False)", "12, 0, False, False)", 0},
        {"(%index, 0, %topk_1)", "(%topk_1, 0, %topk_1)", 0},
        {"%gather, %topk_0)", "%gather, %src)", 0},
        {"%gather, %topk_0)", "%topk_1, %topk_0)", 0},
        {"return %scatter", "return %topk_0, %scatter", 0},
    };
    static const near_miss smallest[] = {
        {"return %scatter", "return %scatter", 1},
        {"12, 0, False)", "12, 0, True)", 0},
        {"topk(%neg,", "topk(%src,", 0},
        {"%gather, %neg_1)", "%gather, %topk_0)", 1},
    };
    REQUIRE_OK(sc_ops_init());
    check_sorts(scattered("f32", "[12]", "[41]", 0, "amax"), largest, SC_COUNT_OF(largest));
    check_sorts(scattered("f32", "[12]", "[41]", 0, "amin"), smallest, SC_COUNT_OF(smallest));
}

// --- Integers ------------------------------------------------------------------------------------

static char *of_integers(const char *dtype, const char *op, const char *how) {
    return expanded(test_format("method forward {\n"
                                "  input %%x: %s[4, 5]\n"
                                "  input %%z: %s[4, 5]\n"
                                "  %%one: %s[4, 5] = aten::bitwise_or.Scalar(%%z, 1)\n"
                                "  %%y: %s[4, 5] = aten::%s(%%x, %%one%s)\n"
                                "  return %%y\n"
                                "}\n",
                                dtype, dtype, dtype, dtype, op, how));
}

static const char towards_zero[] = ", rounding_mode=\"trunc\"";

TEST(divisions_of_integers_are_recognised) {
    REQUIRE_OK(sc_ops_init());
    CHECK_EQ_INT(recognised(of_integers("i64", "remainder.Tensor", ""), SC_OP_remainder_Tensor), 1);
    CHECK_EQ_INT(recognised(of_integers("i32", "remainder.Tensor", ""), SC_OP_remainder_Tensor), 1);
    CHECK_EQ_INT(recognised(of_integers("i64", "fmod.Tensor", ""), SC_OP_fmod_Tensor), 1);
    CHECK_EQ_INT(gone(of_integers("i64", "div.Tensor_mode", towards_zero), SC_OP_where_self, true),
                 1);
    CHECK_EQ_INT(recognised(of_integers("i64", "gcd", ""), SC_OP_gcd), 1);
    CHECK_EQ_INT(recognised(of_integers("i32", "gcd", ""), SC_OP_gcd), 1);
    CHECK_EQ_INT(recognised(of_integers("i64", "lcm", ""), SC_OP_gcd), 1);
}

static void check_ops(const char *text, const near_miss *changes, size_t count, sc_op_id op) {
    for (size_t i = 0; text && i < count; i++) {
        const uint32_t found = gone(changed(text, changes[i].from, changes[i].to), op, true);
        if (found != changes[i].calls) FAIL("'%s': %u", changes[i].to, found);
    }
}

TEST(what_is_almost_a_division_of_integers_runs_as_written) {
    static const near_miss remainder[] = {
        {"return %sub", "return %sub", 1},
        {"return %sub", "return %sub, %div", 0},
        {"aten::mul.Tensor(%div, %one)", "aten::mul.Tensor(%div, %x)", 0},
        {"aten::mul.Tensor(%div, %one)", "aten::mul.Tensor(%one, %div)", 0},
        {"aten::sub.Tensor(%x, %mul)", "aten::sub.Tensor(%one, %mul)", 0},
        {"aten::sub.Tensor(%x, %mul)", "aten::sub.Tensor(%x, %mul, alpha=2)", 0},
        {"\"floor\"", "\"trunc\"", 0},
    };
    static const near_miss quotient[] = {
        {"return %where", "return %where", 1},
        {"aten::add.Scalar(%div, 1)", "aten::add.Scalar(%div, 2)", 0},
        {"aten::add.Scalar(%div, 1)", "aten::add.Scalar(%x, 1)", 0},
        {"aten::ne.Scalar(%sub, 0)", "aten::ne.Scalar(%sub, 1)", 0},
        {"aten::ne.Scalar(%sub, 0)", "aten::ne.Scalar(%x, 0)", 0},
        {"aten::lt.Scalar(%x, 0)", "aten::lt.Scalar(%one, 0)", 0},
    };
    static const near_miss fmod[] = {
        {"return %where", "return %where", 1},
        {"aten::sub.Tensor(%sub, %one)", "aten::sub.Tensor(%sub, %x)", 0},
        {"aten::sub.Tensor(%sub, %one)", "aten::sub.Tensor(%x, %one)", 0},
        {"aten::lt.Scalar(%sub, 0)", "aten::lt.Scalar(%sub, 1)", 0},
        {"aten::where.self(%logical_and, %sub_1, %sub)",
         "aten::where.self(%logical_and, %sub, %sub_1)", 0},
    };
    REQUIRE_OK(sc_ops_init());
    check_ops(of_integers("i32", "remainder.Tensor", ""), remainder, SC_COUNT_OF(remainder),
              SC_OP_mul_Tensor);
    check_ops(of_integers("i64", "div.Tensor_mode", towards_zero), quotient, SC_COUNT_OF(quotient),
              SC_OP_where_self);
    check_ops(of_integers("i64", "fmod.Tensor", ""), fmod, SC_COUNT_OF(fmod), SC_OP_where_self);
}

TEST(what_is_almost_a_common_divisor_runs_as_written) {
    static const near_miss changes[] = {
        {"return %maximum", "return %maximum", 1},
        {"aten::abs(%x)", "aten::neg(%x)", 0},
        {"aten::clamp(%abs_1, 1)", "aten::clamp(%abs_1, 2)", 0},
        {"aten::clamp(%sub_9, 1)", "aten::clamp(%sub_9, 1, 5)", 0},
        {"aten::mul.Tensor(%div_9, %sub_8)", "aten::mul.Tensor(%div_9, %sub_7)", 0},
        {"aten::maximum(%sub_46, %sub_47)", "aten::maximum(%sub_44, %sub_45)", 0},
    };
    REQUIRE_OK(sc_ops_init());
    check_ops(of_integers("i32", "gcd", ""), changes, SC_COUNT_OF(changes), SC_OP_maximum);
}
