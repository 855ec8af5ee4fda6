// Calls that were expanded for the official runtime become one call again at load, and no others
// do: signs and shifts, whose results stay what they were down to the bit.
#include "harness.h"
#include "rt/expansion.h"

static char *of_two(const char *dtype, const char *sizes, const char *of, const char *call) {
    return expansion_of(test_format("method forward {\n"
                                    "  input %%odd: %s[10, 11]\n"
                                    "  input %%odder: %s%s\n"
                                    "  %%y: %s[10, 11] = aten::%s\n"
                                    "  return %%y\n"
                                    "}\n",
                                    dtype, dtype, sizes, of, call));
}

static void check_dtypes(const char *const *dtypes, const char *of, const char *call, sc_op_id op) {
    for (; *dtypes; dtypes++) {
        const uint32_t gone =
            expansion_gone_exactly(of_two(*dtypes, "[10, 11]", of ? of : *dtypes, call), op);
        if (gone != 1) FAIL("%s of %s: %u", call, *dtypes, gone);
    }
}

static const char *const floats[] = {"f32", "f64", "f16", "bf16", NULL};
static const char *const integers[] = {"i64", "i32", "i16", "i8", "u8", NULL};
static const char copysign_of[] = "copysign.Tensor(%odd, %odder)";
static const char left[] = "__lshift__.Tensor(%odd, %odder)";
static const char right[] = "__rshift__.Tensor(%odd, %odder)";

TEST(signs_are_recognised) {
    REQUIRE_OK(sc_ops_init());
    check_dtypes(floats, NULL, copysign_of, SC_OP_where_self);
    check_dtypes(floats, NULL, "sign(%odd)", SC_OP_gt_Scalar);
    check_dtypes(floats, "b8", "signbit(%odd)", SC_OP_reciprocal);
}

TEST(shifts_are_recognised) {
    REQUIRE_OK(sc_ops_init());
    check_dtypes(integers, NULL, left, SC_OP_clamp);
    check_dtypes(integers, NULL, right, SC_OP_clamp);
}

TEST(operands_are_spread_as_they_were) {
    REQUIRE_OK(sc_ops_init());
    CHECK_EQ_INT(
        expansion_gone_exactly(of_two("f32", "[11]", "f32", copysign_of), SC_OP_where_self), 1);
    CHECK_EQ_INT(expansion_gone_exactly(of_two("f64", "[]", "f64", copysign_of), SC_OP_where_self),
                 1);
    CHECK_EQ_INT(expansion_gone_exactly(of_two("i32", "[10, 1]", "i32", left), SC_OP_clamp), 1);
    CHECK_EQ_INT(expansion_gone_exactly(of_two("i64", "[11]", "i64", right), SC_OP_clamp), 1);
}

static void check_changes(const char *text, const near_miss *changes, size_t count, sc_op_id op) {
    for (size_t i = 0; text && i < count; i++) {
        const uint32_t gone =
            expansion_gone_exactly(expansion_changed(text, changes[i].from, changes[i].to), op);
        if (gone != changes[i].calls) FAIL("'%s': %u", changes[i].to, gone);
    }
}

TEST(what_is_almost_a_sign_runs_as_written) {
    static const near_miss changes[] = {
        {"return %where", "return %where", 1},
        {"aten::where.self(%lt, %neg, %abs)", "aten::where.self(%lt, %abs, %neg)", 0},
        {"aten::where.self(%lt, %neg, %abs)", "aten::where.self(%lt, %neg, %odd)", 0},
        {"aten::neg(%abs)", "aten::neg(%odd)", 0},
        {"aten::abs(%add)", "aten::relu(%add)", 0},
        {"aten::abs(%add)", "aten::abs(%odd)", 0},
        {"aten::add.Scalar(%odd, 0)", "aten::add.Scalar(%odd, 1)", 0},
        {"aten::add.Scalar(%odd, 0)", "aten::add.Scalar(%odd, -0.0)", 0},
        {"aten::lt.Scalar(%minimum, 0)", "aten::lt.Scalar(%minimum, 1)", 0},
        {"aten::lt.Scalar(%minimum, 0)", "aten::le.Scalar(%minimum, 0)", 0},
        {"aten::minimum(%odder, %reciprocal)", "aten::minimum(%reciprocal, %odder)", 0},
        {"aten::minimum(%odder, %reciprocal)", "aten::maximum(%odder, %reciprocal)", 0},
        {"aten::reciprocal(%odder)", "aten::reciprocal(%odd)", 0},
    };
    REQUIRE_OK(sc_ops_init());
    check_changes(of_two("f32", "[10, 11]", "f32", copysign_of), changes, SC_COUNT_OF(changes),
                  SC_OP_where_self);
}

TEST(what_is_almost_a_shift_runs_as_written) {
    static const near_miss lefts[] = {
        {"return %where", "return %where", 1},
        {"aten::clamp(%odder, 0, 31)", "aten::clamp(%odder, 0, 30)", 0},
        {"aten::clamp(%odder, 0, 31)", "aten::clamp(%odder, 1, 31)", 0},
        {"aten::clamp(%odder, 0, 31)", "aten::clamp(%odd, 0, 31)", 0},
        {"aten::eq.Tensor(%clamp, %odder)", "aten::eq.Tensor(%clamp, %odd)", 0},
        {"aten::eq.Tensor(%clamp, %odder)", "aten::le.Tensor(%clamp, %odder)", 0},
        {"(0, dtype", "(1, dtype", 0},
    };
    static const near_miss rights[] = {
        {"return %bitwise_right_shift", "return %bitwise_right_shift", 1},
        {"aten::clamp(%odder, 0, 31)", "aten::clamp(%odder, 0, 15)", 0},
        {"(31, dtype", "(30, dtype", 0},
        {"aten::where.self(%eq, %clamp,", "aten::where.self(%eq, %odder,", 0},
    };
    REQUIRE_OK(sc_ops_init());
    check_changes(of_two("i32", "[10, 11]", "i32", left), lefts, SC_COUNT_OF(lefts),
                  SC_OP_where_self);
    check_changes(of_two("i32", "[10, 11]", "i32", right), rights, SC_COUNT_OF(rights),
                  SC_OP_where_self);
}
