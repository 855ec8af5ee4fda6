// Constants that a program computes are computed when it is quantized, as far as there is memory
// for them.
#include "api/compile/evaluate.h"
#include "ir/parse.h"
#include "observe/observe.h"
#include "quant/calibrate.h"

// %a and %b have 36 MB each.
static const char layers[] =
    "method forward {\n"
    "input %p_a: f32[3000, 3000] parameter \"a\" const f32[3000, 3000] 36000000\n"
    "input %p_b: f32[3000, 3000] parameter \"b\" const f32[3000, 3000] 36000000\n"
    "input %p_c: f32[4, 8] parameter \"c\" const f32[4, 8] 128\n"
    "input %x: f32[1, 3000]\n"
    "input %y: f32[1, 4]\n"
    "%a: f32[3000, 3000] = aten::t(%p_a)\n"
    "%la: f32[1, 3000] = aten::linear(%x, %a, None)\n"
    "%b: f32[3000, 3000] = aten::t(%p_b)\n"
    "%lb: f32[1, 3000] = aten::linear(%x, %b, None)\n"
    "%c: f32[8, 4] = aten::t(%p_c)\n"
    "%lc: f32[1, 8] = aten::linear(%y, %c, None)\n"
    "return %la, %lb, %lc\n}\n";

static sc_method *parse(setup *s, const char *text) {
    sc_program *program = NULL;
    if (!CHECK_OK(sc_ops_init()) ||
        !CHECK_OK(sc_program_parse(&s->ctx, sc_str_from(text), &program)))
        return NULL;
    sc_method *method = program->methods.data[0];
    for (uint32_t i = 0; i < method->inputs.count; i++) {
        sc_constant *constant = method->inputs.data[i].constant;
        if (constant)
            constant->data = sc_extent_whole(sc_source_zeros(&s->arena, constant->data.size));
    }
    return method;
}

// As if each observer had seen one tensor, of numbers from -1 to 1.
static sc_status choose_scales(setup *s, sc_quant_plan *plan) {
    const float *states[8];
    if (!CHECK(sc_quant_observer_count(plan) <= SC_COUNT_OF(states))) return SC_ERR_INTERNAL;
    for (uint32_t i = 0; i < sc_quant_observer_count(plan); i++) {
        const uint64_t floats = sc_quant_state_floats(plan, i);
        float *state = sc_new_array(&s->arena, float, floats);
        memset(state, 0, floats * sizeof *state);
        state[SC_OBSERVED_LOW] = -1;
        state[SC_OBSERVED_HIGH] = state[SC_OBSERVED_TENSORS] = 1;
        states[i] = state;
    }
    return sc_quant_choose_scales(&s->ctx, plan, states);
}

static uint32_t count_integers(const sc_method *method) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < method->inputs.count; i++) {
        const sc_constant *constant = method->inputs.data[i].constant;
        count += constant && constant->spec.dtype == SC_DTYPE_I8;
    }
    return count;
}

// One that is too large leaves room for those that are not, and is reported.
TEST(constants_are_computed_while_there_is_room) {
    const sc_quant_config config = {.mode = SC_QUANT_DYNAMIC};
    sc_quant_plan *plan = NULL;
    setup s;
    setup_begin(&s);
    sc_method *method = parse(&s, layers);
    REQUIRE(method != NULL);
    REQUIRE_OK(sc_quant_prepare(&s.ctx, method, &config, 1, &plan));
    CHECK_EQ_UINT(sc_quant_observer_count(plan), 3);
    REQUIRE_OK(choose_scales(&s, plan));
    REQUIRE_OK(sc_quant_convert(&s.ctx, plan, &sc_own_evaluator));
    CHECK_OK(sc_verify(&s.ctx, method->program));
    CHECK_EQ_UINT(count_integers(method), 2);
    REQUIRE(sc_quant_remark_count(plan) == 1);
    CHECK_EQ_STR(sc_str_dup(&s.arena, sc_quant_remark_at(plan, 0)),
                 "'b' is computed from constants that are too large to compute in advance, so "
                 "every run computes and quantizes it");
    setup_end(&s);
}
