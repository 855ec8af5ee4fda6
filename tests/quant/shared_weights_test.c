// A weight that several layers read becomes integers, or halves, once.
#include "api/compile/evaluate.h"
#include "passes/passes.h"
#include "quant/calibrate.h"

#include <string.h>

enum { SIZE = 64, WEIGHTS = SIZE * SIZE };

static const char PROGRAM[] = "method forward {\n"
                              "  input %w: f32[64, 64] parameter \"w\" const f32[64, 64] 16384\n"
                              "  input %i: i64[4]\n"
                              "  %e: f32[4, 64] = aten::embedding(%w, %i)\n"
                              "  %a: f32[4, 64] = aten::linear(%e, %w, None)\n"
                              "  %b: f32[4, 64] = aten::linear(%a, %w, None)\n"
                              "  %c: f32[4, 64] = aten::linear(%b, %w, None)\n"
                              "  return %c\n"
                              "}\n";

static sc_program *parse(setup *s) {
    static float weight[WEIGHTS];
    sc_program *program = NULL;
    for (int i = 0; i < WEIGHTS; i++) weight[i] = (float)(i * 7 % 31 - 15) / 64;
    CHECK_OK(sc_ops_init());
    if (!CHECK_OK(sc_program_parse(&s->ctx, sc_str_from(PROGRAM), &program))) return NULL;
    program->methods.data[0]->inputs.data[0].constant->data =
        sc_extent_whole(sc_source_from_memory(&s->arena, weight, sizeof weight));
    return program;
}

static uint64_t constant_bytes(const sc_method *method) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < method->inputs.count; i++)
        if (method->inputs.data[i].constant) bytes += method->inputs.data[i].constant->data.size;
    return bytes;
}

// The program's bytes afterwards, less those that are packed later.
static uint64_t bytes_of(sc_quant_config config) {
    sc_quant_plan *plan = NULL;
    uint64_t bytes = 0;
    setup s;
    setup_begin(&s);
    sc_program *program = parse(&s);
    sc_method *method = program ? program->methods.data[0] : NULL;
    sc_status status =
        method ? sc_quant_prepare(&s.ctx, method, &config, 1, &plan) : SC_ERR_INTERNAL;
    if (status == SC_OK) status = sc_quant_choose_scales(&s.ctx, plan, NULL);
    if (status == SC_OK) status = sc_quant_convert(&s.ctx, plan, &sc_own_evaluator);
    if (status == SC_OK) status = sc_verify(&s.ctx, program);
    if (CHECK_OK(status)) bytes = constant_bytes(method) - sc_quant_loose_bytes(plan);
    setup_end(&s);
    return bytes;
}

TEST(a_weight_of_several_layers_is_stored_once) {
    const uint64_t scales = SIZE * sizeof(float), zeros = SIZE;
    CHECK_EQ_UINT(bytes_of((sc_quant_config){.mode = SC_QUANT_HALF_WEIGHTS}), WEIGHTS * 2);
    // Scales of rows have one axis where a table is looked up, and two where it is multiplied with.
    CHECK_EQ_UINT(bytes_of((sc_quant_config){.mode = SC_QUANT_WEIGHT_ONLY, .weight_bits = 8}),
                  WEIGHTS + 2 * scales + zeros);
    const sc_quant_config groups = {
        .mode = SC_QUANT_WEIGHT_ONLY, .weight_bits = 4, .group_size = 32};
    // The table is packed here, the matrix is later.
    CHECK_EQ_UINT(bytes_of(groups), WEIGHTS / 2 + 2 * scales + WEIGHTS / 2);
    // The embedding stays as it is.
    CHECK_EQ_UINT(bytes_of((sc_quant_config){.mode = SC_QUANT_DYNAMIC_INT4}),
                  WEIGHTS * sizeof(float) + WEIGHTS / 2 + scales);
}
