// Attention becomes one call at load, in the form that lowering gives scaled_dot_product_attention
// and in those of models. Calls that are almost attention run as written. The numbers are the same.
#include "harness.h"
#include "rt/expansion.h"

// How often softmax is gone: with it go the scores.
static uint32_t found_in(const char *text) {
    return text ? expansion_gone(text, SC_OP__softmax, false) : UINT32_MAX;
}

static const char masked[] =
    "method forward {\n"
    "  input %q: f32[1, 3, 2, 4]\n"
    "  input %k: f32[1, 5, 2, 4]\n"
    "  input %v: f32[1, 5, 2, 4]\n"
    "  input %open: b8[3, 5]\n"
    "  input %bias: f32[3, 5]\n"
    "  %low: f32[3, 5] = aten::full_like(%bias, -inf, pin_memory=False, memory_format=preserve)\n"
    "  %mask: f32[3, 5] = aten::where.self(%open, %bias, %low)\n"
    "  %qt: f32[1, 2, 3, 4] = aten::permute_copy(%q, [0, 2, 1, 3])\n"
    "  %vt: f32[1, 2, 5, 4] = aten::permute_copy(%v, [0, 2, 1, 3])\n"
    "  %qs: f32[1, 2, 3, 4] = aten::mul.Scalar(%qt, 0.7)\n"
    "  %kt: f32[1, 2, 4, 5] = aten::permute_copy(%k, [0, 2, 3, 1])\n"
    "  %ks: f32[1, 2, 4, 5] = aten::mul.Scalar(%kt, 0.7)\n"
    "  %q3: f32[2, 3, 4] = aten::view_copy(%qs, [2, 3, 4])\n"
    "  %k3: f32[2, 4, 5] = aten::view_copy(%ks, [2, 4, 5])\n"
    "  %s3: f32[2, 3, 5] = aten::bmm(%q3, %k3)\n"
    "  %s: f32[1, 2, 3, 5] = aten::view_copy(%s3, [1, 2, 3, 5])\n"
    "  %a: f32[1, 2, 3, 5] = aten::add.Tensor(%s, %mask)\n"
    "  %p: f32[1, 2, 3, 5] = aten::_softmax(%a, -1, False)\n"
    "  %equal: b8[1, 2, 3, 5] = aten::eq.Scalar(%a, -inf)\n"
    "  %seen: b8[1, 2, 3, 5] = aten::logical_not(%equal)\n"
    "  %any: b8[1, 2, 3, 1] = aten::any.dim(%seen, -1, True)\n"
    "  %none: b8[1, 2, 3, 1] = aten::logical_not(%any)\n"
    "  %zeros: f32[1, 2, 3, 5] = aten::full_like(%p, 0, pin_memory=False, "
    "memory_format=preserve)\n"
    "  %w: f32[1, 2, 3, 5] = aten::where.self(%none, %zeros, %p)\n"
    "  %w3: f32[2, 3, 5] = aten::view_copy(%w, [2, 3, 5])\n"
    "  %v3: f32[2, 5, 4] = aten::view_copy(%vt, [2, 5, 4])\n"
    "  %o3: f32[2, 3, 4] = aten::bmm(%w3, %v3)\n"
    "  %o4: f32[1, 2, 3, 4] = aten::view_copy(%o3, [1, 2, 3, 4])\n"
    "  %o: f32[1, 3, 2, 4] = aten::permute_copy(%o4, [0, 2, 1, 3])\n"
    "  return %o\n"
    "}\n";

static void check_changes(const char *text, const near_miss *changes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const uint32_t found = found_in(expansion_changed(text, changes[i].from, changes[i].to));
        if (found != changes[i].calls) FAIL("'%s': %u calls", changes[i].to, found);
    }
}

TEST(attention_is_recognised) {
    static const near_miss changes[] = {
        {"return %o\n", "return %o\n", 1},
        {"(%s, %mask)", "(%mask, %s)", 1},
        // Rows without any key.
        {"where.self(%open, %bias, %low)", "where.self(%open, %low, %low)", 1},
        // Without a mask, or with another factor.
        {"aten::add.Tensor(%s, %mask)", "aten::mul.Scalar(%s, 0.5)", 1},
        {"aten::_softmax(%a, -1, False)", "aten::_softmax(%a, 3, False)", 1},
        // Values that others read may stay; results that are not permuted are attention, too.
        {"return %o\n", "return %o, %qs\n", 1},
        {"return %o\n", "return %o, %ks, %vt\n", 1},
        {"return %o\n", "return %o3\n", 1},
        {"return %o\n", "return %o, %o4\n", 1},
        {"return %o\n", "%e: f32[1, 3, 2, 4] = aten::add.Tensor(%o, %q)\n  return %e\n", 1},
    };
    REQUIRE_OK(sc_ops_init());
    check_changes(masked, changes, SC_COUNT_OF(changes));
}

TEST(what_is_almost_attention_runs_as_written) {
    static const near_miss changes[] = {
        // Someone wants what would not be written.
        {"return %o\n", "return %o, %s\n", 0},
        {"return %o\n", "return %o, %p\n", 0},
        {"return %o\n", "return %o, %w\n", 0},
        {"return %o\n", "return %o, %none\n", 0},
        {"return %o\n", "%e: f32[3, 5] = aten::mean.dim(%a, [0, 1])\n  return %o, %e\n", 0},
        // Other numbers.
        {"aten::_softmax(%a, -1, False)", "aten::_softmax(%a, -2, False)", 0},
        {"aten::eq.Scalar(%a, -inf)", "aten::eq.Scalar(%a, 0.0)", 0},
        {"aten::eq.Scalar(%a, -inf)", "aten::eq.Scalar(%s, -inf)", 0},
        {"aten::any.dim(%seen, -1, True)", "aten::any.dim(%equal, -1, True)", 0},
        {"aten::full_like(%p, 0,", "aten::full_like(%p, 1,", 0},
        {"aten::where.self(%none, %zeros, %p)", "aten::where.self(%none, %p, %zeros)", 0},
        {"aten::add.Tensor(%s, %mask)", "aten::add.Tensor(%s, %mask, alpha=2)", 0},
        {"aten::add.Tensor(%s, %mask)", "aten::mul.Tensor(%s, %mask)", 0},
    };
    REQUIRE_OK(sc_ops_init());
    check_changes(masked, changes, SC_COUNT_OF(changes));
}

// Two heads of queries for each head of keys, one after the other in memory or not.
static const char grouped[] =
    "method forward {\n"
    "  input %q: f32[2, 4, 3, 8]\n"
    "  input %k: f32[2, 2, 6, 8]\n"
    "  input %v: f32[2, 2, 6, 5]\n"
    "  input %mask: f32[2, 1, 1, 6]\n"
    "  %k5: f32[2, 2, 1, 6, 8] = aten::unsqueeze_copy(%k, 2)\n"
    "  %ke: f32[2, 2, 2, 6, 8] = aten::expand_copy(%k5, [2, 2, 2, 6, 8])\n"
    "  %k4: f32[2, 4, 6, 8] = aten::view_copy(%ke, [2, 4, 6, 8])\n"
    "  %v5: f32[2, 2, 1, 6, 5] = aten::unsqueeze_copy(%v, 2)\n"
    "  %ve: f32[2, 2, 2, 6, 5] = aten::expand_copy(%v5, [2, 2, 2, 6, 5])\n"
    "  %v3: f32[8, 6, 5] = aten::view_copy(%ve, [8, 6, 5])\n"
    "  %kt: f32[2, 4, 8, 6] = aten::permute_copy(%k4, [0, 1, 3, 2])\n"
    "  %k3: f32[8, 8, 6] = aten::view_copy(%kt, [8, 8, 6])\n"
    "  %q3: f32[8, 3, 8] = aten::view_copy(%q, [8, 3, 8])\n"
    "  %s3: f32[8, 3, 6] = aten::bmm(%q3, %k3)\n"
    "  %s: f32[2, 4, 3, 6] = aten::view_copy(%s3, [2, 4, 3, 6])\n"
    "  %scaled: f32[2, 4, 3, 6] = aten::mul.Scalar(%s, 0.35)\n"
    "  %a: f32[2, 4, 3, 6] = aten::add.Tensor(%scaled, %mask)\n"
    "  %p: f32[2, 4, 3, 6] = aten::_softmax(%a, -1, False)\n"
    "  %p3: f32[8, 3, 6] = aten::view_copy(%p, [8, 3, 6])\n"
    "  %o: f32[8, 3, 5] = aten::bmm(%p3, %v3)\n"
    "  return %o\n"
    "}\n";

TEST(attention_of_groups_of_heads_is_recognised) {
    static const near_miss changes[] = {
        {"return %o\n", "return %o\n", 1},
        {"return %o\n", "return %o, %ve\n", 1},
        {"return %o\n", "return %o, %scaled\n", 0},
        {"input %mask: f32[2, 1, 1, 6]", "input %mask: f32[2, 1, 3, 6]", 1},
        {"input %mask: f32[2, 1, 1, 6]", "input %mask: f32[6]", 1},
        {"input %mask: f32[2, 1, 1, 6]", "input %mask: f32[1, 4, 3, 1]", 1},
    };
    REQUIRE_OK(sc_ops_init());
    check_changes(grouped, changes, SC_COUNT_OF(changes));
}

// A cache of which a run uses as much as the mask says, and queries of any number.
static const char of_any_size[] = "method forward {\n"
                                  "  symbol s0 [2, 7] hint 3\n"
                                  "  input %q: f32[1, s0, 2, 4]\n"
                                  "  input %k: f32[1, 9, 2, 4]\n"
                                  "  input %v: f32[1, 9, 2, 4]\n"
                                  "  input %bias: f32[s0, 9]\n"
                                  "  %n: int(s0) = aten::sym_size.int(%q, 1)\n"
                                  "  %qt: f32[1, 2, s0, 4] = aten::permute_copy(%q, [0, 2, 1, 3])\n"
                                  "  %kt: f32[1, 2, 4, 9] = aten::permute_copy(%k, [0, 2, 3, 1])\n"
                                  "  %vt: f32[1, 2, 9, 4] = aten::permute_copy(%v, [0, 2, 1, 3])\n"
                                  "  %q3: f32[2, s0, 4] = aten::view_copy(%qt, [2, %n, 4])\n"
                                  "  %k3: f32[2, 4, 9] = aten::view_copy(%kt, [2, 4, 9])\n"
                                  "  %s3: f32[2, s0, 9] = aten::bmm(%q3, %k3)\n"
                                  "  %s: f32[1, 2, s0, 9] = aten::view_copy(%s3, [1, 2, %n, 9])\n"
                                  "  %a: f32[1, 2, s0, 9] = aten::add.Tensor(%s, %bias)\n"
                                  "  %p: f32[1, 2, s0, 9] = aten::_softmax(%a, -1, False)\n"
                                  "  %p3: f32[2, s0, 9] = aten::view_copy(%p, [2, %n, 9])\n"
                                  "  %v3: f32[2, 9, 4] = aten::view_copy(%vt, [2, 9, 4])\n"
                                  "  %o3: f32[2, s0, 4] = aten::bmm(%p3, %v3)\n"
                                  "  %o4: f32[1, 2, s0, 4] = aten::view_copy(%o3, [1, 2, %n, 4])\n"
                                  "  %o: f32[1, s0, 2, 4] = aten::permute_copy(%o4, [0, 2, 1, 3])\n"
                                  "  return %o\n"
                                  "}\n";

TEST(attention_of_any_size_is_recognised) {
    static const near_miss changes[] = {
        {"return %o\n", "return %o\n", 1},
        {"return %o\n", "return %o, %s\n", 0},
    };
    REQUIRE_OK(sc_ops_init());
    check_changes(of_any_size, changes, SC_COUNT_OF(changes));
}

// Between delegates: scores and weights come from elsewhere.
static const char rows[] =
    "method forward {\n"
    "  input %x: f32[3, 5]\n"
    "  input %y: f32[3, 1]\n"
    "  input %z: f32[3, 5]\n"
    "  %s: f32[3, 5] = aten::add.Tensor(%x, %y)\n"
    "  %p: f32[3, 5] = aten::mul.Scalar(%z, 2.0)\n"
    "  %equal: b8[3, 5] = aten::eq.Scalar(%s, -inf)\n"
    "  %seen: b8[3, 5] = aten::logical_not(%equal)\n"
    "  %any: b8[3, 1] = aten::any.dim(%seen, -1, True)\n"
    "  %masked: b8[3, 1] = aten::logical_not(%any)\n"
    "  %zeros: f32[3, 5] = aten::full_like(%p, 0, pin_memory=False, memory_format=preserve)\n"
    "  %w: f32[3, 5] = aten::where.self(%masked, %zeros, %p)\n"
    "  %o: f32[3, 5] = aten::mul.Scalar(%w, 3.0)\n"
    "  return %o\n"
    "}\n";

TEST(masked_rows_between_delegates_are_recognised) {
    static const near_miss changes[] = {
        {"return %o\n", "return %o\n", 1},
        {"return %o\n", "return %o, %p\n", 1},  // it may not lose its rows
        {"return %o\n", "return %o, %s\n", 1},
        {"return %o\n", "return %w\n", 1},
        {"return %o\n", "%e: f32[3, 5] = aten::add.Tensor(%o, %p)\n  return %e\n", 1},
        {"return %o\n", "return %o, %seen\n", 0},
        {"aten::eq.Scalar(%s, -inf)", "aten::eq.Scalar(%s, 0.9)", 0},
        {"aten::where.self(%masked, %zeros, %p)", "aten::where.self(%masked, %p, %zeros)", 0},
    };
    REQUIRE_OK(sc_ops_init());
    for (size_t i = 0; i < SC_COUNT_OF(changes); i++) {
        const char *text = expansion_changed(rows, changes[i].from, changes[i].to);
        const uint32_t found = expansion_gone_exactly(text, SC_OP_eq_Scalar);
        if (found != changes[i].calls) FAIL("'%s': %u calls", changes[i].to, found);
    }
}
