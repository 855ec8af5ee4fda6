// The dot product of 8-bit numbers against its definition, with every meaning that the host has. In
// plain C that is all of them, in relaxed SIMD the one that the trial found.
#include "compute/rows.h"
#include "compute/simd/dot_i8.h"
#include "harness.h"

static uint32_t expected_at(const int8_t *a, const int8_t *b, bool is_signed, uint32_t sum) {
    for (int i = 0; i < 4; i++) sum += (uint32_t)(a[i] * (is_signed ? b[i] : (uint8_t)b[i]));
    return sum;
}

static void check_product(bool is_signed) {
    const int8_t *a = rows_bytes(16), *b = rows_bytes(16);
    const int32_t *begin = rows_ints(4, INT32_MAX);
    v16b left, right;
    memcpy(&left, a, sizeof left);
    memcpy(&right, b, sizeof right);
    const v4u sums = v4u_dot_bytes(left, right, v4u_load(begin));
    for (int i = 0; i < 4; i++)
        CHECK_EQ_INT(sums[i], expected_at(a + 4 * i, b + 4 * i, is_signed, (uint32_t)begin[i]));
}

TEST(dot_products_are_exact) {
    rows_random = 4;
    for (int i = 0; i < 2; i++) {
        const bool is_signed = i == 0;
        if (!sc_dot_assume(is_signed ? SC_DOT_SIGNED : SC_DOT_UNSIGNED)) continue;
        CHECK(sc_dot_is_exact());
        CHECK_EQ_INT(sc_dot_flip(), is_signed ? 0 : 0x80);
        for (int k = 0; k < 300; k++) check_product(is_signed);
    }
    CHECK(sc_dot_assume(SC_DOT_INEXACT) && !sc_dot_is_exact() && sc_dot_flip() == 0);
    CHECK(sc_dot_assume(SC_DOT_UNTRIED));
}

// The trial finds a meaning that the instruction has.
TEST(dot_trial_agrees_with_itself) {
    const bool exact = sc_dot_is_exact();
    const uint8_t flip = sc_dot_flip();
    CHECK(exact || flip == 0);
    if (exact) CHECK(sc_dot_assume(flip ? SC_DOT_UNSIGNED : SC_DOT_SIGNED));
    CHECK(sc_dot_assume(SC_DOT_UNTRIED));
    CHECK(sc_dot_is_exact() == exact && sc_dot_flip() == flip);
}
