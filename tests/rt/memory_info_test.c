// Memory plans of files, without loading them: of made-up programs, and of all that the official
// exporter wrote for tests.
#include <stdlib.h>

#include "harness.h"
#include "rt/look/look.h"
#include "rt/method.h"
#include "rt/tiny.h"

typedef struct opened {
    sc_arena arena, scratch;
    sc_ctx ctx;
    sc_rt_program *program;
} opened;

static void open_bytes(opened *o, const uint8_t *data, size_t size) {
    sc_arena_init(&o->arena);
    sc_arena_init(&o->scratch);
    sc_ctx_init(&o->ctx, &o->arena, &o->scratch);
    CHECK_OK(sc_rt_program_open(&o->ctx, sc_source_from_memory(&o->arena, data, size), NULL,
                                &o->program));
}

// `data` as the test made it, or NULL.
static void finish(opened *o, void *data) {
    sc_rt_program_close(o->program);
    free(data);
    sc_arena_deinit(&o->arena);
    sc_arena_deinit(&o->scratch);
}

static sc_status info_of(opened *o, tiny *t, sc_rt_memory_info *info) {
    tiny_build(t);
    open_bytes(o, t->data, t->size);
    return sc_rt_memory_info_get(&o->ctx, o->program, 0, &o->arena, info);
}

static void plan(tiny_tensor *t, uint32_t offset) {
    t->planned = true;
    t->memory_id = 1;
    t->offset_low = offset;
}

static tiny planned(uint32_t input, uint32_t out) {
    tiny t;
    tiny_init(&t);
    plan(&t.input, input);
    plan(&t.out, out);
    t.memory_size = 64;
    return t;
}

TEST(inputs_and_results_lie_side_by_side) {
    tiny t = planned(0, 32);
    opened o;
    sc_rt_memory_info info;
    REQUIRE_OK(info_of(&o, &t, &info));
    REQUIRE(info.value_count == 2 && info.memory_count == 1 && info.instruction_count == 1);
    CHECK_EQ_UINT(info.bytes[0], 64);
    CHECK_EQ_INT(info.values[0].kind, SC_RT_PLANNED_INPUT);
    CHECK_EQ_INT(info.values[1].kind, SC_RT_PLANNED_VALUE);
    CHECK(info.values[1].is_output && info.values[1].writer == 0 && info.values[1].offset == 32);
    CHECK_EQ_UINT(info.peak, 0);
    CHECK_EQ_UINT(info.live[0], 48);
    CHECK(sc_str_is(info.ops[0], "aten::add.out"));
    finish(&o, t.data);
}

TEST(values_in_each_others_way_are_an_error) {
    static const struct {
        uint32_t input, out;
        sc_status status;
    } CASES[] = {{0, 24, SC_OK},
                 {0, 20, SC_ERR_CORRUPT},
                 {12, 0, SC_ERR_CORRUPT},
                 {0, 0, SC_OK},  // element by element, in the place of the operand
                 {0, 44, SC_ERR_CORRUPT}};
    for (size_t i = 0; i < SC_COUNT_OF(CASES); i++) {
        tiny t = planned(CASES[i].input, CASES[i].out);
        opened o;
        sc_rt_memory_info info;
        CHECK_EQ_INT(info_of(&o, &t, &info), CASES[i].status);
        finish(&o, t.data);
    }
}

TEST(an_output_that_is_never_written_is_a_view_of_what_lies_there) {
    tiny t = planned(0, 32);
    opened o;
    sc_rt_memory_info info;
    t.more_count = 1;
    t.more[0] = t.out;
    t.outputs[0] = TINY_MORE;
    REQUIRE_OK(info_of(&o, &t, &info));
    REQUIRE(info.value_count == 3);
    CHECK_EQ_INT(info.values[2].kind, SC_RT_PLANNED_VIEW);
    CHECK_EQ_UINT(info.values[2].base, 1);
    CHECK_EQ_UINT(info.live[0], 48);
    finish(&o, t.data);
}

static void check_live(const sc_rt_memory_info *info) {
    uint64_t held = 0;
    for (uint32_t i = 0; i < info->memory_count; i++) held += info->bytes[i];
    for (uint32_t i = 0; i < info->instruction_count; i++) CHECK(info->live[i] <= held);
    for (uint32_t i = 0; i < info->value_count; i++)
        CHECK(info->values[i].kind != SC_RT_PLANNED_VIEW ||
              info->values[i].base < info->value_count);
}

TEST_CASES(official_plans) {
    size_t count;
    const char **files = test_list("models/official", ".pte", &count);
    CHECK(count > 0);
    for (size_t i = 0; i < count; i++) {
        if (!test_case("%s", strrchr(files[i], '/') + 1)) continue;
        size_t size;
        const char *data = test_read(files[i], &size);
        opened o;
        open_bytes(&o, (const uint8_t *)data, size);
        for (uint32_t m = 0; m < sc_rt_program_method_count(o.program); m++) {
            sc_rt_memory_info info;
            if (CHECK_OK(sc_rt_memory_info_get(&o.ctx, o.program, m, &o.arena, &info)))
                check_live(&info);
        }
        finish(&o, NULL);
    }
}
