// Products with a table of few bits: its widening, its transposition and the product become one
// call at load, and no others do.
#include "harness.h"
#include "rt/expansion.h"

// Constants are zeros here; tests/js/recipe/quantize.test.ts compares numbers.
static const char product[] =
    "method forward {\n"
    "  input %x: f32[3, 64]\n"
    "  input %p_w: u8[5, 32] parameter \"w\" const u8[5, 32] 160\n"
    "  input %p_s: f32[5, 2] parameter \"s\" const f32[5, 2] 40\n"
    "  %rows: i64[5] = aten::arange.start_step(0, 5, 1, dtype=int64)\n"
    "  %wide: f32[5, 64] = quantized_decomposed::embedding_4bit(%p_w, %p_s, None, -8, 7, %rows)\n"
    "  %turned: f32[64, 5] = aten::permute_copy(%wide, [1, 0])\n"
    "  %y: f32[3, 5] = aten::mm(%x, %turned)\n"
    "  return %y\n"
    "}\n";

static uint32_t tables(const char *text) {
    return expansion_gone(text, SC_OP_quantized_decomposed_embedding_4bit, false);
}

TEST(products_with_tables_are_recognised) {
    REQUIRE_OK(sc_ops_init());
    CHECK_EQ_UINT(tables(product), 1);
}

TEST(other_uses_of_tables_run_as_written) {
    static const near_miss changes[] = {
        {"arange.start_step(0, 5, 1", "arange.start_step(4, -1, -1", 0},
        {"return %y", "return %y, %wide", 0},
        {"parameter \"s\" const f32[5, 2] 40", "", 0},
    };
    REQUIRE_OK(sc_ops_init());
    for (size_t i = 0; i < SC_COUNT_OF(changes); i++) {
        const uint32_t found = tables(expansion_changed(product, changes[i].from, changes[i].to));
        if (found != changes[i].calls) FAIL("'%s': %u", changes[i].to, found);
    }
}
