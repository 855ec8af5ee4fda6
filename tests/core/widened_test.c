// Halves shown as float32: any range of bytes reads as the floats have it.
#include "core/widened.h"

#include "setup.h"

enum { COUNT = 1300 };  // more than two blocks

static void check_dtype(sc_dtype dtype, float (*widen)(uint16_t)) {
    static uint16_t halves[COUNT];
    static float floats[COUNT];
    static const size_t ranges[][2] = {{0, 4 * COUNT}, {0, 1},    {3, 2},
                                       {2, 4099},      {2047, 5}, {4 * COUNT - 3, 3},
                                       {2048, 2048},   {5, 0}};
    setup s;
    setup_begin(&s);
    for (uint32_t i = 0; i < COUNT; i++) {
        halves[i] = (uint16_t)(i * 50 + 7);
        floats[i] = widen(halves[i]);
    }
    sc_source *from = sc_source_from_memory(&s.arena, halves, sizeof halves);
    sc_source *wide = sc_source_widened(&s.arena, sc_extent_whole(from), dtype);
    CHECK_EQ_INT(wide->size, sizeof floats);
    for (size_t i = 0; i < SC_COUNT_OF(ranges); i++) {
        uint8_t bytes[sizeof floats];
        const uint64_t at = ranges[i][0];
        const size_t count = ranges[i][1];
        CHECK_OK(sc_extent_read(&s.ctx, sc_extent_whole(wide), at, bytes, count));
        CHECK_EQ_MEM(bytes, (const uint8_t *)floats + at, count);
    }
    setup_end(&s);
}

TEST(halves_read_as_floats) {
    check_dtype(SC_DTYPE_BF16, sc_bf16_to_f32);
    check_dtype(SC_DTYPE_F16, sc_f16_to_f32);
}
