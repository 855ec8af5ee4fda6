// Dtypes: codes, promotion as torch.promote_types and torch.result_type give it, half precision.
#include "core/dtype.h"
#include "harness.h"

TEST(dtype_codes_and_names) {
    for (unsigned code = 0; code < 40; code++) {
        if (!sc_dtype_is_known(code)) continue;
        sc_dtype dtype = (sc_dtype)code;
        CHECK(sc_dtype_bytes(dtype) > 0);
        CHECK_EQ_INT(sc_dtype_from_short(sc_str_from(sc_dtype_short(dtype))), dtype);
        CHECK_EQ_INT(sc_dtype_from_short(sc_str_from(sc_dtype_name(dtype))), dtype);
    }
    CHECK_EQ_INT(sc_dtype_from_pt2(7), SC_DTYPE_F32);
    CHECK_EQ_INT(sc_dtype_from_pt2(13), SC_DTYPE_BF16);
    CHECK_EQ_INT(sc_dtype_from_pt2(99), SC_DTYPE_NONE);
    CHECK(!sc_dtype_is_known(12) && !sc_dtype_is_known(255));
}

TEST(dtype_ranges_and_pairs) {
    for (unsigned code = 0; code < 40; code++) {
        sc_dtype dtype = (sc_dtype)code;
        unsigned bits = sc_dtype_bytes(dtype) * 8;
        uint64_t values = sc_dtype_high(dtype) - (uint64_t)sc_dtype_low(dtype) + 1;
        if (sc_dtype_is_integral(dtype, false))
            CHECK(bits == 64 ? values == 0 : values == UINT64_C(1) << bits);
        CHECK((sc_dtype_largest(dtype) > 65503.0) == sc_dtype_is_float(dtype));
        if (!sc_dtype_is_known(code) || sc_dtype_category(dtype) != SC_CATEGORY_COMPLEX) continue;
        CHECK_EQ_INT(sc_dtype_bytes(sc_dtype_to_real(dtype)) * 2, sc_dtype_bytes(dtype));
        CHECK_EQ_INT(sc_dtype_to_complex(sc_dtype_to_real(dtype)), dtype);
    }
    CHECK_EQ_INT(sc_dtype_to_complex(SC_DTYPE_I32), SC_DTYPE_C64);
    CHECK_EQ_INT(sc_dtype_to_real(SC_DTYPE_I32), SC_DTYPE_I32);
    CHECK_SAME_FLOAT(sc_bf16_to_f32(0x7f7f), (float)sc_dtype_largest(SC_DTYPE_BF16));
}

TEST(dtype_promotes_pairs) {
    static const struct {
        sc_dtype a, b, result;
    } cases[] = {
        {SC_DTYPE_U8, SC_DTYPE_I8, SC_DTYPE_I16},
        {SC_DTYPE_U8, SC_DTYPE_I32, SC_DTYPE_I32},
        {SC_DTYPE_BOOL, SC_DTYPE_U8, SC_DTYPE_U8},
        {SC_DTYPE_I64, SC_DTYPE_F16, SC_DTYPE_F16},
        {SC_DTYPE_F16, SC_DTYPE_BF16, SC_DTYPE_F32},
        {SC_DTYPE_BF16, SC_DTYPE_F64, SC_DTYPE_F64},
        {SC_DTYPE_C64, SC_DTYPE_F64, SC_DTYPE_C128},
        {SC_DTYPE_C32, SC_DTYPE_BF16, SC_DTYPE_C64},
        {SC_DTYPE_U16, SC_DTYPE_F32, SC_DTYPE_F32},
        {SC_DTYPE_U16, SC_DTYPE_I32, SC_DTYPE_NONE},
        {SC_DTYPE_F8E5M2, SC_DTYPE_F32, SC_DTYPE_NONE},
        {SC_DTYPE_F8E5M2, SC_DTYPE_F8E5M2, SC_DTYPE_F8E5M2},
    };
    for (size_t i = 0; i < SC_COUNT_OF(cases); i++) {
        CHECK_EQ_INT(sc_dtype_promote(cases[i].a, cases[i].b), cases[i].result);
        CHECK_EQ_INT(sc_dtype_promote(cases[i].b, cases[i].a), cases[i].result);
    }
}

TEST(dtype_result_type_prefers_dims) {
    sc_promotion p = {0};
    CHECK_EQ_INT(sc_promotion_result(&p), SC_DTYPE_NONE);
    sc_promotion_add_tensor(&p, SC_DTYPE_F16, true);
    sc_promotion_add_tensor(&p, SC_DTYPE_F64, false);
    CHECK_EQ_INT(sc_promotion_result(&p), SC_DTYPE_F16);

    p = (sc_promotion){0};
    sc_promotion_add_tensor(&p, SC_DTYPE_I32, true);
    sc_promotion_add_number(&p, SC_CATEGORY_INT);
    CHECK_EQ_INT(sc_promotion_result(&p), SC_DTYPE_I32);
    sc_promotion_add_number(&p, SC_CATEGORY_FLOAT);
    CHECK_EQ_INT(sc_promotion_result(&p), SC_DTYPE_F32);

    p = (sc_promotion){0};
    sc_promotion_add_tensor(&p, SC_DTYPE_I32, true);
    sc_promotion_add_tensor(&p, SC_DTYPE_F64, false);
    CHECK_EQ_INT(sc_promotion_result(&p), SC_DTYPE_F64);

    p = (sc_promotion){0};
    sc_promotion_add_tensor(&p, SC_DTYPE_BOOL, true);
    sc_promotion_add_number(&p, SC_CATEGORY_INT);
    CHECK_EQ_INT(sc_promotion_result(&p), SC_DTYPE_I64);

    p = (sc_promotion){0};
    sc_promotion_add_tensor(&p, SC_DTYPE_U16, true);
    sc_promotion_add_tensor(&p, SC_DTYPE_I32, true);
    CHECK_EQ_INT(sc_promotion_result(&p), SC_DTYPE_NONE);
}

TEST(dtype_half_round_trips) {
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        float f = sc_f16_to_f32((uint16_t)bits);
        uint16_t back = sc_f32_to_f16(f);
        if (f != f ? (back & 0x7fff) <= 0x7c00 : back != bits)
            FAIL("f16 %04x came back as %04x", bits, back);
        f = sc_bf16_to_f32((uint16_t)bits);
        back = sc_f32_to_bf16(f);
        if (f != f ? back != 0x7fc0 : back != bits) FAIL("bf16 %04x came back as %04x", bits, back);
    }
    CHECK_EQ_INT(sc_f32_to_f16(65519.0f), 0x7bff);
    CHECK_EQ_INT(sc_f32_to_f16(65520.0f), 0x7c00);
    CHECK_EQ_INT(sc_f32_to_f16(1.0f + 0x1p-11f), 0x3c00);  // tie to even
    CHECK_EQ_INT(sc_f32_to_f16(1.0f + 0x1p-11f + 0x1p-20f), 0x3c01);
    CHECK_EQ_INT(sc_f32_to_f16(0x1p-25f), 0);  // tie to even
    CHECK_EQ_INT(sc_f32_to_f16(0x1.8p-25f), 1);
    CHECK_EQ_INT(sc_f32_to_bf16(1.0f + 0x1p-8f), 0x3f80);
}
