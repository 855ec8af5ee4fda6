// Results whose size the data tells: the file may have room for fewer than the operands allow.
#include "harness.h"
#include "rt/expansion.h"

// The program says that at most three of eight numbers are found.
static const char bounded[] = "method forward {\n"
                              "  symbol u0 [0, 3]\n"
                              "  input %x: f32[8]\n"
                              "  %mask: b8[8] = aten::gt.Scalar(%x, 0)\n"
                              "  %found: f32[u0] = aten::masked_select(%x, %mask)\n"
                              "  %out: f32[u0] = aten::neg(%found)\n"
                              "  return %out\n"
                              "}\n";

static sc_status found(setup *s, const float *numbers) {
    CHECK_OK(setup_set(s, 0, setup_floats(numbers, 1, (int64_t[]){8})));
    return sc_rt_method_run(&s->ctx, s->method);
}

TEST(what_is_counted_needs_room_for_what_is_found) {
    REQUIRE_OK(sc_ops_init());
    static const float two[8] = {0, 5, 0, 0, 7, 0, 0, 0}, zeros[8] = {0};
    static const float three[8] = {1, 0, 2, 0, 0, 0, 0, 3}, four[8] = {1, 2, 3, 4};
    setup s;
    if (expansion_load(&s, bounded, true)) {
        const sc_tensor *out = sc_rt_method_output(s.method, 0)->tensor;
        CHECK_OK(found(&s, two));
        CHECK_EQ_INT(out->sizes[0], 2);
        CHECK(((const float *)out->data)[0] == -5 && ((const float *)out->data)[1] == -7);
        CHECK_OK(found(&s, zeros));
        CHECK_EQ_INT(out->sizes[0], 0);
        CHECK_OK(found(&s, three));
        CHECK_EQ_INT(out->sizes[0], 3);
        CHECK(((const float *)out->data)[2] == -3);
        CHECK_STATUS(found(&s, four), SC_ERR_SHAPE);
        CHECK(strstr(sc_vec_last(&s.ctx.diags).message.data,
                     "more elements than its result can hold"));
        CHECK_OK(found(&s, two));
        CHECK_EQ_INT(out->sizes[0], 2);
    }
    setup_end(&s);
}

// As many as the data says, of which the file has room for three.
static const char filled[] = "method forward {\n"
                             "  symbol u0 [0, 3]\n"
                             "  input %n: i64[]\n"
                             "  %size: int(u0) = aten::_local_scalar_dense(%n)\n"
                             "  %out: f32[u0] = aten::full([%size], 1, dtype=f32)\n"
                             "  return %out\n"
                             "}\n";

TEST(a_lack_of_room_gives_a_hint) {
    REQUIRE_OK(sc_ops_init());
    setup s;
    if (expansion_load(&s, filled, true)) {
        int64_t size = 4;
        const sc_rt_input n = {.tag = SC_EVALUE_TENSOR,
                               .dtype = SC_DTYPE_I64,
                               .sizes = &size,
                               .data = &size,
                               .bytes = sizeof size};
        CHECK_OK(setup_set(&s, 0, n));
        CHECK_STATUS(sc_rt_method_run(&s.ctx, s.method), SC_ERR_SHAPE);
        CHECK(strstr(sc_vec_last(&s.ctx.diags).hint.data, "--max-size"));
    }
    setup_end(&s);
}
