// Layers that become 8da4w, and that XNNPACK cannot multiply, are reported by name.
#include "quant/calibrate.h"

#include <string.h>

static const char PROGRAM[] = "method forward {\n"
                              "  input %w: f32[4, 17] parameter \"w\" const f32[4, 17] 272\n"
                              "  input %e: f32[4, 4] parameter \"e\" const f32[4, 4] 64\n"
                              "  input %x: f32[3, 17]\n"
                              "  input %v: f32[4]\n"
                              "  %odd: f32[3, 4] = aten::linear(%x, %w, None)\n"
                              "  %even: f32[3, 4] = aten::linear(%odd, %e, None)\n"
                              "  %flat: f32[4] = aten::linear(%v, %e, None)\n"
                              "  return %even, %flat\n"
                              "}\n";

// The message, or "" where nothing is warned of.
static void check_warning(sc_quant_config config, const char *message) {
    sc_program *program = NULL;
    sc_quant_plan *plan = NULL;
    setup s;
    setup_begin(&s);
    CHECK_OK(sc_ops_init());
    REQUIRE_OK(sc_program_parse(&s.ctx, sc_str_from(PROGRAM), &program));
    REQUIRE_OK(sc_quant_prepare(&s.ctx, program->methods.data[0], &config, 1, &plan));
    CHECK_EQ_STR(setup_message(&s), message);
    setup_end(&s);
}

TEST(layers_that_xnnpack_cannot_multiply_are_reported) {
    static const sc_str skip[] = {{"=odd", 4}, {"=flat", 5}};
    const sc_quant_config all = {.mode = SC_QUANT_DYNAMIC_INT4};
    check_warning(
        all,
        "method 'forward': XNNPACK cannot run these layers once they are quantized, because they "
        "have an odd number of inputs or an input of one dimension: odd, flat");
    sc_quant_config even = all;
    even.skip = skip;
    even.skip_count = 2;
    check_warning(even, "");
}
