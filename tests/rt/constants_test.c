// Constants of a program: what is read when, and where it lies. Two methods share some of them, one
// is nobody's, and some are too large to be read together with others.
#include "emit/emit.h"
#include "harness.h"
#include "plan/place.h"
#include "rt/method.h"

static const char text[] =
    "method one {\n"
    "  input %p_s: f32[8] parameter \"s\" const f32[8] 32\n"
    "  input %p_l: f32[600, 512] parameter \"l\" const f32[600, 512] 1228800\n"
    "  input %p_t: f32[3] parameter \"t\" const f32[3] 12\n"
    "  input %x: f32[1]\n"
    "  %a: f32[8] = aten::add.Tensor(%p_s, %x)\n"
    "  %b: f32[600, 512] = aten::add.Tensor(%p_l, %x)\n"
    "  %c: f32[3] = aten::add.Tensor(%p_t, %x)\n"
    "  return %a, %b, %c\n"
    "}\n"
    "method two {\n"
    "  input %p_l: f32[600, 512] parameter \"l\" const f32[600, 512] 1228800\n"
    "  input %p_t: f32[3] parameter \"t\" const f32[3] 12\n"
    "  input %p_m: f32[600, 513] parameter \"m\" const f32[600, 513] 1231200\n"
    "  input %p_u: f32[5] parameter \"u\" const f32[5] 20\n"
    "  input %x: f32[1]\n"
    "  %b: f32[600, 512] = aten::add.Tensor(%p_l, %x)\n"
    "  %c: f32[3] = aten::add.Tensor(%p_t, %x)\n"
    "  %d: f32[600, 513] = aten::add.Tensor(%p_m, %x)\n"
    "  %e: f32[5] = aten::add.Tensor(%p_u, %x)\n"
    "  return %b, %c, %d, %e\n"
    "}\n";

enum { ONE_BYTES = 32 + 1228800 + 12, TWO_BYTES = 1231200 + 20, SLACK = 1024 };

typedef struct setup {
    sc_arena arena, scratch;
    sc_ctx ctx;
    const uint8_t *bytes;
    size_t size;
    uint64_t read_bytes, longest;  // since the last look
    uint64_t fail_at;              // the read that would go beyond this many bytes fails
    sc_rt_program *program;
} setup;

// Each constant is a ramp from the letter of its name.
static float sample(char name, uint64_t i) { return (float)(name * 1000) + (float)(i % 977); }

static void fill(setup *s, sc_constant *constant) {
    const uint64_t count = constant->data.size / 4;
    float *values = sc_new_array(&s->arena, float, count);
    for (uint64_t i = 0; i < count; i++) values[i] = sample(constant->name.data[0], i);
    constant->data = sc_extent_whole(sc_source_from_memory(&s->arena, values, count * 4));
}

static sc_status emit(setup *s) {
    const sc_options options = sc_options_default();
    sc_place_report *reports = NULL;
    sc_storage_table *tables;
    sc_program *program;
    sc_emit_result result;
    SC_TRY(sc_ops_init());
    SC_TRY(sc_program_parse(&s->ctx, sc_str_from(text), &program));
    for (uint32_t m = 0; m < program->methods.count; m++) {
        sc_method *method = program->methods.data[m];
        for (uint32_t i = 0; i < method->inputs.count; i++)
            if (method->inputs.data[i].constant) fill(s, method->inputs.data[i].constant);
    }
    SC_TRY(sc_place_program(&s->ctx, program, &options, NULL, &tables, &reports));
    SC_TRY(sc_emit_program(&s->ctx, program, tables, &options, &result));
    s->size = (size_t)result.program.size;
    return sc_cord_flatten(&s->ctx, &result.program, &s->arena, 1 << 24, &s->bytes);
}

static sc_status read_file(sc_source *source, sc_ctx *ctx, uint64_t offset, void *out,
                           size_t bytes) {
    setup *s = source->user;
    if (s->read_bytes + bytes > s->fail_at) return sc_fail(ctx, SC_ERR_IO, NULL, "the disk failed");
    s->read_bytes += bytes;
    s->longest = sc_max_u64(s->longest, bytes);
    memcpy(out, s->bytes + offset, bytes);
    return SC_OK;
}

static bool begin(setup *s, bool in_memory) {
    memset(s, 0, sizeof *s);
    sc_arena_init(&s->arena);
    sc_arena_init(&s->scratch);
    sc_ctx_init(&s->ctx, &s->arena, &s->scratch);
    s->fail_at = UINT64_MAX;
    if (!CHECK_OK(emit(s))) return false;
    sc_source *source = sc_source_from_memory(&s->arena, s->bytes, s->size);
    if (!in_memory) *source = (sc_source){.read = read_file, .size = s->size, .user = s};
    sc_rt_options options;
    sc_rt_options_default(&options);
    options.optimize = false;
    return CHECK_OK(sc_rt_program_open(&s->ctx, source, &options, &s->program));
}

static void end(setup *s) {
    if (s->program) sc_rt_program_close(s->program);
    sc_arena_deinit(&s->arena);
    sc_arena_deinit(&s->scratch);
}

static sc_rt_method *load(setup *s, const char *name) {
    sc_rt_method *m = NULL;
    s->read_bytes = 0;
    CHECK_OK(sc_rt_method_load(&s->ctx, s->program, sc_str_from(name), &m));
    return m;
}

// The constant of a method with so many elements.
static const sc_tensor *constant_of(const sc_rt_method *m, int64_t numel) {
    for (uint32_t i = 0; i < m->value_count; i++)
        if (m->values[i].tag == SC_EVALUE_TENSOR && m->values[i].tensor->is_constant &&
            m->values[i].tensor->numel == numel)
            return m->values[i].tensor;
    return NULL;
}

static void check_constant(const sc_rt_method *m, char name, int64_t numel) {
    const sc_tensor *t = constant_of(m, numel);
    if (!CHECK(t && (uintptr_t)t->data % 16 == 0)) return;
    for (int64_t i = 0; i < numel; i++)
        if (!CHECK(((const float *)t->data)[i] == sample(name, (uint64_t)i))) return;
}

static void check_all(const sc_rt_method *one, const sc_rt_method *two) {
    check_constant(one, 's', 8);
    check_constant(one, 'l', 600 * 512);
    check_constant(one, 't', 3);
    check_constant(two, 'm', 600 * 513);
    check_constant(two, 'u', 5);
    CHECK(constant_of(one, 600 * 512)->data == constant_of(two, 600 * 512)->data);
    CHECK(constant_of(one, 3)->data == constant_of(two, 3)->data);
}

TEST(constants_are_read_with_the_methods_that_need_them) {
    setup s;
    if (begin(&s, false)) {
        CHECK(s.read_bytes < s.size - ONE_BYTES - TWO_BYTES + SLACK);
        const sc_rt_method *one = load(&s, "one");
        CHECK(s.read_bytes >= ONE_BYTES && s.read_bytes < ONE_BYTES + SLACK);
        CHECK(s.longest < ONE_BYTES);
        const sc_rt_method *two = load(&s, "two");
        CHECK(s.read_bytes >= TWO_BYTES && s.read_bytes < TWO_BYTES + SLACK);
        if (one && two) check_all(one, two);
        CHECK((uintptr_t)constant_of(two, 600 * 513)->data % 64 == 0);
        load(&s, "one");
        CHECK_EQ_UINT(s.read_bytes, 0);
    }
    end(&s);
}

TEST(constants_in_memory_are_used_there) {
    setup s;
    if (begin(&s, true)) {
        const sc_rt_method *one = load(&s, "one"), *two = load(&s, "two");
        if (one && two) check_all(one, two);
        const uint8_t *data = constant_of(one, 8)->data;
        CHECK(data > s.bytes && data < s.bytes + s.size);
    }
    end(&s);
}

TEST(a_read_that_fails_can_be_tried_again) {
    setup s;
    if (begin(&s, false)) {
        sc_rt_method *one = NULL;
        for (s.fail_at = 0; s.fail_at < ONE_BYTES; s.fail_at += 600000) {
            s.read_bytes = 0;
            CHECK_STATUS(sc_rt_method_load(&s.ctx, s.program, SC_STR("one"), &one), SC_ERR_IO);
        }
        s.fail_at = UINT64_MAX;
        one = load(&s, "one");
        const sc_rt_method *two = load(&s, "two");
        if (one && two) check_all(one, two);
    }
    end(&s);
}
