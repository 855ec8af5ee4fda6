// Bundled programs as files: what is written reads back, damage is named by method and case, and
// results are compared by the official rules.
#include "devtools/bundled/bundled.h"

#include <math.h>

#include "bundled_program_fbs.h"
#include "harness.h"

typedef struct fixture {
    sc_arena arena, scratch;
    sc_ctx ctx;
} fixture;

static void begin(fixture *f) {
    sc_arena_init(&f->arena);
    sc_arena_init(&f->scratch);
    sc_ctx_init(&f->ctx, &f->arena, &f->scratch);
}

static void end(fixture *f) {
    sc_arena_deinit(&f->arena);
    sc_arena_deinit(&f->scratch);
}

static const uint8_t program[] = "whatever a program is";

static sc_bundled_value tensor_value(const float *data) {
    static const int64_t sizes[] = {2, 3};
    static const uint8_t order[] = {1, 0};
    return (sc_bundled_value){.kind = SC_BUNDLED_TENSOR,
                              .dtype = SC_DTYPE_F32,
                              .rank = 2,
                              .sizes = sizes,
                              .dim_order = order,
                              .data = (const uint8_t *)data,
                              .bytes = 24};
}

// The file in memory, with one case of `values` in method "m".
static uint8_t *file_of(fixture *f, sc_bundled_values values, size_t *size) {
    const sc_bundled_case test_case = {values, {0}};
    const sc_bundled_suite suite = {SC_STR("m"), &test_case, 1};
    const sc_bundled bundled = {&suite, 1, NULL, sizeof program};
    const uint8_t *head = NULL;
    size_t bytes = 0;
    if (!CHECK_OK(sc_bundled_write(&f->ctx, &f->arena, &bundled, &head, &bytes))) return NULL;
    CHECK_EQ_UINT(bytes % 32, 0);
    uint8_t *file = test_alloc(bytes + sizeof program);
    memcpy(file, head, bytes);
    memcpy(file + bytes, program, sizeof program);
    *size = bytes + sizeof program;
    return file;
}

TEST(bundles_read_as_they_were_written) {
    static const float data[] = {1, 2, 3, 4, 5, 6};
    const sc_bundled_value values[] = {tensor_value(data),
                                       {.kind = SC_BUNDLED_INT, .i = INT64_MIN},
                                       {.kind = SC_BUNDLED_BOOL, .i = 1},
                                       {.kind = SC_BUNDLED_DOUBLE, .d = -INFINITY}};
    fixture f;
    begin(&f);
    size_t size = 0;
    sc_bundled read;
    uint8_t *file = file_of(&f, (sc_bundled_values){values, 4}, &size);
    if (file && CHECK_OK(sc_bundled_read(&f.ctx, &f.arena, file, size, &read))) {
        CHECK_EQ_UINT(read.program_bytes, sizeof program);
        CHECK_EQ_MEM(read.program, program, sizeof program);
        CHECK_EQ_UINT(read.suite_count, 1);
        CHECK_EQ_TEXT(read.suites[0].method.data, read.suites[0].method.size, "m");
        const sc_bundled_values inputs = read.suites[0].cases[0].inputs;
        CHECK_EQ_UINT(inputs.count, 4);
        CHECK_EQ_UINT(read.suites[0].cases[0].expected.count, 0);
        CHECK_EQ_UINT((uint64_t)(inputs.items[0].data - file) % 16, 0);
        CHECK_EQ_MEM(inputs.items[0].data, data, sizeof data);
        CHECK_EQ_UINT(inputs.items[0].dim_order[0], 1);
        CHECK_EQ_INT(inputs.items[0].sizes[1], 3);
        CHECK_EQ_INT(inputs.items[1].i, INT64_MIN);
        CHECK_EQ_INT(inputs.items[2].i, 1);
        CHECK(inputs.items[3].d == (double)-INFINITY);
    }
    end(&f);
}

static void check_damage(sc_bundled_value value, const char *message) {
    fixture f;
    begin(&f);
    size_t size = 0;
    sc_bundled read;
    uint8_t *file = file_of(&f, (sc_bundled_values){&value, 1}, &size);
    CHECK_STATUS(sc_bundled_read(&f.ctx, &f.arena, file, size, &read), SC_ERR_CORRUPT);
    const char *said = f.ctx.diags.count ? sc_vec_last(&f.ctx.diags).message.data : "";
    if (!CHECK(strstr(said, message) != NULL)) FAIL("it said: %s", said);
    CHECK(strstr(said, "input 0 of case 0 of method 'm'") != NULL);
    end(&f);
}

TEST(damage_is_named_by_method_and_case) {
    static const float data[] = {1, 2, 3, 4, 5, 6};
    static const uint8_t twice[] = {1, 1}, beyond[] = {0, 2};
    static const int64_t negative[] = {-1, 3}, large[] = {INT32_MAX, INT32_MAX}, other[] = {2, 2};
    const sc_bundled_value good = tensor_value(data);
    sc_bundled_value bad = good;
    bad.dim_order = twice;
    check_damage(bad, "a dim order that is not a permutation");
    bad.dim_order = beyond;
    check_damage(bad, "a dim order that is not a permutation");
    bad = good;
    bad.sizes = negative;
    check_damage(bad, "negative");
    bad.sizes = large;
    check_damage(bad, "too large");
    bad.sizes = other;
    check_damage(bad, "bytes");
    bad = good;
    bad.dtype = (sc_dtype)77;
    check_damage(bad, "dtype");
}

TEST(files_of_later_versions_and_empty_ones_are_refused) {
    fixture f;
    begin(&f);
    sc_fb_builder b;
    sc_bundled read;
    const uint8_t *data = NULL;
    size_t size = 0;
    for (uint32_t version = 2; version < 4; version++) {
        sc_fb_builder_init(&b, &f.arena);
        sc_fb_begin(&b);
        sc_bpte_BundledProgram_set_version(&b, version);
        const sc_fb_ref root = sc_fb_end(&b);
        REQUIRE_OK(sc_fb_finish(&f.ctx, &b, root, SC_BPTE_IDENTIFIER, &data, &size));
        CHECK_STATUS(sc_bundled_read(&f.ctx, &f.arena, data, size, &read),
                     version > SC_BUNDLED_VERSION ? SC_ERR_VERSION : SC_ERR_CORRUPT);
    }
    end(&f);
}

enum { MOST_SHARED = 1000 };

// The status of reading a bundle whose one suite has `case_count` times the same case, which takes
// `value` as its input `times` times.
static void check_shared(fixture *f, sc_fb_builder *b, sc_fb_ref value, uint32_t times,
                         uint32_t case_count, sc_status said) {
    static sc_fb_ref refs[MOST_SHARED];
    for (uint32_t i = 0; i < times; i++) refs[i] = value;
    const sc_fb_ref inputs = sc_fb_add_refs(b, refs, times);
    sc_fb_begin(b);
    sc_bpte_BundledMethodTestCase_set_inputs(b, inputs);
    const sc_fb_ref one = sc_fb_end(b);
    for (uint32_t i = 0; i < case_count; i++) refs[i] = one;
    const sc_fb_ref cases = sc_fb_add_refs(b, refs, case_count),
                    name = sc_fb_add_string(b, SC_STR("m"));
    sc_fb_begin(b);
    sc_bpte_BundledMethodTestSuite_set_method_name(b, name);
    sc_bpte_BundledMethodTestSuite_set_test_cases(b, cases);
    refs[0] = sc_fb_end(b);
    const sc_fb_ref suites = sc_fb_add_refs(b, refs, 1);
    const sc_fb_ref bytes = sc_fb_add_vector(b, program, sizeof program, 1, 32);
    sc_fb_begin(b);
    sc_bpte_BundledProgram_set_method_test_suites(b, suites);
    sc_bpte_BundledProgram_set_program(b, bytes);
    const uint8_t *data = NULL;
    size_t size = 0;
    sc_bundled read;
    REQUIRE_OK(sc_fb_finish(&f->ctx, b, sc_fb_end(b), SC_BPTE_IDENTIFIER, &data, &size));
    CHECK_STATUS(sc_bundled_read(&f->ctx, &f->arena, data, size, &read), said);
}

// One table a thousand times, in a list that stands a thousand times: a million values in a few
// thousand bytes.
TEST(values_that_are_shared_too_often_are_refused) {
    enum { TIMES = MOST_SHARED };
    fixture f;
    begin(&f);
    sc_fb_builder b;
    sc_fb_builder_init(&b, &f.arena);
    sc_fb_begin(&b);
    const sc_fb_ref number = sc_fb_end(&b);
    sc_fb_begin(&b);
    sc_bpte_Value_set_val(&b, SC_BPTE_ValueUnion_Int, number);
    check_shared(&f, &b, sc_fb_end(&b), TIMES, TIMES, SC_ERR_CORRUPT);
    end(&f);
}

TEST(bytes_that_are_shared_too_often_are_refused) {
    enum { TIMES = 40, BYTES = 1000 };
    static const uint8_t zeros[BYTES];
    static const int32_t sizes[] = {BYTES};
    fixture f;
    begin(&f);
    sc_fb_builder b;
    sc_fb_builder_init(&b, &f.arena);
    const sc_fb_ref elements = sc_fb_add_vector(&b, zeros, BYTES, 1, 16);
    const sc_fb_ref size_ref = sc_fb_add_vector(&b, sizes, 1, 4, 4);
    sc_fb_begin(&b);
    sc_bpte_Tensor_set_scalar_type(&b, SC_DTYPE_U8);
    sc_bpte_Tensor_set_sizes(&b, size_ref);
    sc_bpte_Tensor_set_data(&b, elements);
    const sc_fb_ref tensor = sc_fb_end(&b);
    sc_fb_begin(&b);
    sc_bpte_Value_set_val(&b, SC_BPTE_ValueUnion_Tensor, tensor);
    check_shared(&f, &b, sc_fb_end(&b), TIMES, 1, SC_ERR_LIMIT);
    end(&f);
}

// --- Comparing -----------------------------------------------------------------------------------

static bool close_floats(float a, float b, double rtol, double atol) {
    sc_bundled_verdict verdict;
    sc_bundled_compare(SC_DTYPE_F32, &a, &b, 1, rtol, atol, &verdict);
    CHECK_EQ_UINT(verdict.mismatches, verdict.is_close ? 0 : 1);
    return verdict.is_close;
}

TEST(floats_are_compared_by_the_official_rules) {
    CHECK(close_floats(1, 1, 0, 0));
    CHECK(!close_floats(1, 1.0000001F, 0, 0));
    CHECK(close_floats(1, 1.000001F, 1e-5, 1e-8));
    CHECK(!close_floats(1, 1.0001F, 1e-5, 1e-8));
    CHECK(close_floats(0, 1e-9F, 1e-5, 1e-8));
    CHECK(close_floats(-2, -2.1F, 0.05, 0));
    CHECK(!close_floats(-2, 2, 0.5, 0.5));
    CHECK(close_floats(NAN, NAN, 0, 0));
    CHECK(!close_floats(NAN, 1, 1, 1));
    CHECK(close_floats(INFINITY, INFINITY, 0, 0));
    CHECK(!close_floats(INFINITY, -INFINITY, 1, 1));
    CHECK(!close_floats(INFINITY, 1, 1, 1));
    CHECK(!close_floats(NAN, -INFINITY, 1, 1));
}

TEST(other_dtypes_are_compared_byte_for_byte) {
    sc_bundled_verdict v;
    const uint16_t bf16[] = {0x3f80, 0x3f81}, half[] = {0x3c00, 0x3c01};
    sc_bundled_compare(SC_DTYPE_BF16, &bf16[0], &bf16[1], 1, 1, 1, &v);
    CHECK(!v.is_close && v.max_absolute > 0);
    sc_bundled_compare(SC_DTYPE_F16, &half[0], &half[1], 1, 1e-2, 0, &v);
    CHECK(v.is_close && v.max_absolute > 0);
    const int64_t whole[] = {5, 6};
    sc_bundled_compare(SC_DTYPE_I64, &whole[0], &whole[1], 1, 1, 1, &v);
    CHECK(!v.is_close && v.max_absolute == 1);
}

TEST(distances_of_results_are_reported) {
    static const double actual[] = {1, 2, 3.5, 4}, expected[] = {1, 2.25, 3, 4};
    sc_bundled_verdict v;
    sc_bundled_compare(SC_DTYPE_F64, actual, expected, 4, 1e-5, 1e-8, &v);
    CHECK_EQ_UINT(v.mismatches, 2);
    CHECK_EQ_UINT(v.worst, 2);
    CHECK(v.max_absolute == 0.5 && v.mean_absolute == 0.1875);
    CHECK_CLOSE(v.max_relative, 0.5 / 3, 1e-12);
    sc_bundled_compare(SC_DTYPE_F64, NULL, NULL, 0, 0, 0, &v);
    CHECK(v.is_close && v.mean_absolute == 0);
}
