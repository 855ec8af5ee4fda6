// Calls that were expanded for the official runtime become one call again at load, and no others
// do: transforms, extremes of what is scattered, divisions of integers.
#include "harness.h"
#include "rt/expansion.h"

// --- Fourier transforms --------------------------------------------------------------------------

// Takes pairs in a last dim of 2.
static char *of_pairs(const char *type, const char *complex, const char *call) {
    return expansion_of(test_format("method forward {\n"
                                    "  input %%x: %s, 2]\n"
                                    "  %%z: %s] = aten::view_as_complex_copy(%%x)\n"
                                    "  %%f: %s] = aten::_fft_c2c(%%z, %s)\n"
                                    "  %%y: %s, 2] = aten::view_as_real_copy(%%f)\n"
                                    "  return %%y\n"
                                    "}\n",
                                    type, complex, complex, call, type));
}

static char *of_reals(const char *type, const char *complex, const char *call) {
    return expansion_of(test_format("method forward {\n"
                                    "  input %%x: %s]\n"
                                    "  %%f: %s] = aten::_fft_r2c(%%x, %s, False)\n"
                                    "  %%y: %s, 2] = aten::view_as_real_copy(%%f)\n"
                                    "  return %%y\n"
                                    "}\n",
                                    type, complex, call, type));
}

// How many spectra are no longer put together of halves.
static uint32_t transforms(const char *text) { return expansion_gone(text, SC_OP_cat, false); }

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
        const uint32_t found = transforms(expansion_changed(text, changes[i].from, changes[i].to));
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
static char *scattered_to(const char *dtype, const char *sizes, const char *own, int dim,
                          const char *how, const char *includes_self) {
    return expansion_of(test_format("method forward {\n"
                                    "  input %%self: %s%s\n"
                                    "  input %%index: i64%s\n"
                                    "  input %%src: %s%s\n"
                                    "  %%y: %s%s = aten::scatter_reduce.two(%%self, %d, %%index, "
                                    "%%src, \"%s\", include_self=%s)\n"
                                    "  %%e: i64%s = aten::add.Tensor(%%index, %%index)\n"
                                    "  return %%y, %%e\n"
                                    "}\n",
                                    dtype, own, sizes, dtype, sizes, dtype, own, dim, how,
                                    includes_self, sizes));
}

static char *scattered(const char *dtype, const char *sizes, const char *own, int dim,
                       const char *how) {
    return scattered_to(dtype, sizes, own, dim, how, "False");
}

// With places of their own, and with several numbers, infinities among them, for one.
static uint32_t sorts_gone(const char *text) {
    const uint32_t smooth = expansion_gone(text, SC_OP_topk, false),
                   rough = expansion_gone(text, SC_OP_topk, true);
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
        const uint32_t found = sorts_gone(expansion_changed(text, changes[i].from, changes[i].to));
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

// Text has no constants.
static char *multiplied(const char *dtype, const char *sizes, const char *own, int dim,
                        const char *includes_self) {
    return expansion_changed(scattered_to(dtype, sizes, own, dim, "prod", includes_self),
                             "  input %_lifted_tensor_constant0: i64[]\n",
                             "  %_lifted_tensor_constant0: i64[] = aten::scalar_tensor(4294967296, "
                             "dtype=i64)\n");
}

TEST(products_of_what_is_scattered_are_recognised) {
    static const char *const dtypes[] = {"f32", "f64", "i64", "i32", "i16", "u8"};
    REQUIRE_OK(sc_ops_init());
    for (size_t i = 0; i < SC_COUNT_OF(dtypes); i++) {
        CHECK_EQ_INT(sorts_gone(multiplied(dtypes[i], "[12]", "[41]", 0, "False")), 1);
        CHECK_EQ_INT(sorts_gone(multiplied(dtypes[i], "[12]", "[41]", 0, "True")), 1);
    }
    CHECK_EQ_INT(sorts_gone(multiplied("f32", "[2, 5]", "[2, 41]", 1, "True")), 1);
    CHECK_EQ_INT(sorts_gone(multiplied("i64", "[9, 2]", "[41, 3]", 0, "False")), 1);
    CHECK_EQ_INT(sorts_gone(multiplied("f32", "[1, 37, 2]", "[3, 41, 2]", 1, "True")), 1);
    CHECK_EQ_INT(sorts_gone(multiplied("f32", "[2]", "[41]", 0, "True")), 1);
}

TEST(what_is_almost_a_product_of_what_is_scattered_runs_as_written) {
    static const near_miss changes[] = {
        {"return %where", "return %where", 1},
        {"return %where", "return %cat_1, %where", 0},
        {"(%eq_1, %mul_2, %slice_copy_6)", "(%eq_1, %mul_2, %slice_copy_5)", 0},
        {"(%slice_copy_7, %slice_copy_8)", "(%slice_copy_8, %slice_copy_8)", 0},
        {"aten::mul.Tensor(%slice_copy_5,", "aten::add.Tensor(%slice_copy_5,", 0},
        {"(%bitwise_right_shift, [0, 1], -1)", "(%bitwise_right_shift, [1, 0], -1)", 0},
        {"(%bitwise_right_shift, [0, 1], -1)", "(%bitwise_right_shift, [0, 1], 7)", 0},
        {"aten::ne.Tensor", "aten::eq.Tensor", 0},
        {"(41, dtype", "(40, dtype", 0},
        {"(%scatter, 0, 0, 41)", "(%scatter, 0, 1, 42)", 0},
        {"(%self, %slice_copy_11)", "(%slice_copy_11, %slice_copy_11)", 0},
        {"(%scatter_add, 0)", "(%scatter_add, 1)", 0},
        {"(%scatter_add, 0)", "(%full, 0)", 0},
        {"([4], 1, dtype", "([4], 0, dtype", 0},
        {"4294967295)", "4294967294)", 0},
    };
    REQUIRE_OK(sc_ops_init());
    check_sorts(multiplied("f64", "[4]", "[41]", 0, "True"), changes, SC_COUNT_OF(changes));
}

// --- Integers ------------------------------------------------------------------------------------

// Divisors are odd, and so never 0.
static char *of_integers(const char *dtype, const char *op, const char *how) {
    return expansion_of(test_format("method forward {\n"
                                    "  input %%x: %s[4, 15]\n"
                                    "  input %%z: %s[4, 15]\n"
                                    "  %%one: %s[4, 15] = aten::bitwise_or.Scalar(%%z, 1)\n"
                                    "  %%y: %s[4, 15] = aten::%s(%%x, %%one%s)\n"
                                    "  return %%y\n"
                                    "}\n",
                                    dtype, dtype, dtype, dtype, op, how));
}

static char *divisors(const char *dtype, const char *op) {
    return expansion_of(test_format("method forward {\n"
                                    "  input %%x: %s[4, 15]\n"
                                    "  input %%z: %s[4, 15]\n"
                                    "  %%y: %s[4, 15] = aten::%s(%%x, %%z)\n"
                                    "  return %%y\n"
                                    "}\n",
                                    dtype, dtype, dtype, op));
}

static const char towards_zero[] = ", rounding_mode=\"trunc\"";

TEST(divisions_of_integers_are_recognised) {
    REQUIRE_OK(sc_ops_init());
    CHECK_EQ_INT(
        expansion_found(of_integers("i64", "remainder.Tensor", ""), SC_OP_remainder_Tensor), 1);
    CHECK_EQ_INT(
        expansion_found(of_integers("i32", "remainder.Tensor", ""), SC_OP_remainder_Tensor), 1);
    CHECK_EQ_INT(expansion_found(of_integers("i64", "fmod.Tensor", ""), SC_OP_fmod_Tensor), 1);
    CHECK_EQ_INT(
        expansion_gone(of_integers("i64", "div.Tensor_mode", towards_zero), SC_OP_where_self, true),
        1);
    CHECK_EQ_INT(expansion_found(divisors("i64", "gcd"), SC_OP_gcd), 1);
    CHECK_EQ_INT(expansion_found(divisors("i32", "gcd"), SC_OP_gcd), 1);
    CHECK_EQ_INT(expansion_found(divisors("i64", "lcm"), SC_OP_gcd), 1);
}

static void check_ops(const char *text, const near_miss *changes, size_t count, sc_op_id op) {
    for (size_t i = 0; text && i < count; i++) {
        const uint32_t found =
            expansion_gone(expansion_changed(text, changes[i].from, changes[i].to), op, true);
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
        {"return %add", "return %add", 1},
        {"aten::neg(%x)", "aten::abs(%x)", 0},
        {"aten::minimum(%x, %neg)", "aten::maximum(%x, %neg)", 0},
        {"aten::clamp(%minimum_1, None, -2)", "aten::clamp(%minimum_1, None, -1)", 0},
        {"aten::clamp(%neg_2, 1)", "aten::clamp(%neg_2, 2)", 0},
        {"aten::clamp(%sub_9, 1)", "aten::clamp(%sub_9, 1, 5)", 0},
        {"aten::mul.Tensor(%div_9, %sub_8)", "aten::mul.Tensor(%div_9, %sub_7)", 0},
        {"aten::eq.Scalar(%x, -2147483648)", "aten::eq.Scalar(%x, -2147483647)", 0},
        {"aten::eq.Scalar(%x, -2147483648)", "aten::eq.Scalar(%z, -2147483648)", 0},
        {"aten::where.self(%eq, %neg_4, %sub_48)", "aten::where.self(%eq, %sub_48, %neg_4)", 0},
        {"aten::add.Tensor(%where, %where_1)", "aten::add.Tensor(%where, %sub_49)", 0},
    };
    REQUIRE_OK(sc_ops_init());
    check_ops(divisors("i32", "gcd"), changes, SC_COUNT_OF(changes), SC_OP_add_Tensor);
}

// --- Norms ---------------------------------------------------------------------------------------

static char *groups_of(const char *type, const char *sizes, const char *numbers) {
    return expansion_of(
        test_format("method forward {\n"
                    "  input %%x: %s%s\n"
                    "  g: (%%y: %s%s, %%m: %s[2, 2], %%r: %s[2, 2]) = aten::native_group_norm(%%x, "
                    "None, None, %s, 1e-05)\n"
                    "  return %%y\n"
                    "}\n",
                    type, sizes, type, sizes, type, type, numbers));
}

static char *channels_of(const char *type, const char *sizes) {
    return expansion_of(test_format("method forward {\n"
                                    "  input %%x: %s%s\n"
                                    "  g: (%%y: %s%s, %%m: %s[4], %%r: %s[4]) = "
                                    "aten::_native_batch_norm_legit.no_stats(%%x, None, None, "
                                    "True, 0.1, 1e-05)\n"
                                    "  return %%y\n"
                                    "}\n",
                                    type, sizes, type, sizes, type, type));
}

TEST(norms_take_the_mean_away_themselves) {
    REQUIRE_OK(sc_ops_init());
    CHECK_EQ_INT(
        expansion_gone(groups_of("f32", "[2, 4, 3, 5]", "2, 4, 15, 2"), SC_OP_sub_Tensor, false),
        1);
    CHECK_EQ_INT(expansion_gone(groups_of("f32", "[2, 6]", "2, 6, 1, 2"), SC_OP_sub_Tensor, false),
                 1);
    CHECK_EQ_INT(expansion_gone(channels_of("f32", "[1, 4, 3, 5]"), SC_OP_sub_Tensor, false), 1);
    CHECK_EQ_INT(expansion_gone(channels_of("f32", "[2, 4, 7]"), SC_OP_sub_Tensor, false), 1);
}

TEST(what_almost_takes_a_mean_away_runs_as_written) {
    static const near_miss groups[] = {
        {"return %native_group_norm_0", "return %native_group_norm_0", 1},
        {"return %native_group_norm_0", "return %native_group_norm_0, %native_group_norm_1", 0},
        {"%mean: f32[2, 2, 1] = aten::mean.dim(%view_copy,",
         "%square: f32[2, 2, 30] = aten::mul.Tensor(%view_copy, %view_copy)\n"
         "  %mean: f32[2, 2, 1] = aten::mean.dim(%square,",
         0},
        {"aten::sub.Tensor(%view_copy, %mean)", "aten::sub.Tensor(%view_copy, %mean, alpha=2)", 0},
        {"aten::sub.Tensor(%view_copy, %mean)", "aten::add.Tensor(%view_copy, %mean)", 0},
    };
    REQUIRE_OK(sc_ops_init());
    check_ops(groups_of("f32", "[2, 4, 3, 5]", "2, 4, 15, 2"), groups, SC_COUNT_OF(groups),
              SC_OP_sub_Tensor);
}
