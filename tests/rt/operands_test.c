// The values that each kind of instruction takes, reads, writes and re-points, as a text: "0tr 2w"
// is value 0 taken and read, value 2 written.
#include <stdio.h>

#include "harness.h"
#include "rt/operands.h"
#include "rt/run/delegate.h"
#include "rt/run/prim.h"
#include "rt/setup.h"

enum { TENSORS = 8, NUMBER = TENSORS, SIZES, LIST, EMPTY, VALUES };

typedef struct fixture {
    sc_tensor tensors[TENSORS];
    sc_evalue values[VALUES];
    sc_evalue *items[3], *sizes[2], *args[8];
    sc_rt_method m;
    sc_rt_instruction in;
} fixture;

static void begin(fixture *f) {
    memset(f, 0, sizeof *f);
    for (int i = 0; i < TENSORS; i++) {
        f->values[i].tag = SC_EVALUE_TENSOR;
        f->values[i].tensor = &f->tensors[i];
    }
    f->values[NUMBER].tag = SC_EVALUE_INT;
    f->sizes[0] = f->sizes[1] = &f->values[NUMBER];
    f->values[SIZES] = (sc_evalue){.tag = SC_EVALUE_INT_LIST, .count = 2, .ints = f->sizes};
    f->items[0] = &f->values[6];
    f->items[2] = &f->values[7];  // the one between is absent
    f->values[LIST] =
        (sc_evalue){.tag = SC_EVALUE_OPTIONAL_TENSOR_LIST, .count = 3, .tensors = f->items};
    f->values[EMPTY].tag = SC_EVALUE_TENSOR_LIST;
    f->m.values = f->values;
    f->m.value_count = VALUES;
    f->in.call.args = f->args;
}

static const char *walk(const fixture *f, uint32_t wanted) {
    static char text[256];
    size_t at = 0;
    text[0] = 0;
    sc_rt_operands o = sc_rt_operands_of(&f->m, &f->in, wanted);
    while (sc_rt_operands_next(&o) && at + 16 < sizeof text) {
        CHECK(o.tensor == (o.value->tag == SC_EVALUE_TENSOR ? o.value->tensor : NULL));
        at += (size_t)snprintf(
            text + at, sizeof text - at, "%s%d%s%s%s%s", at ? " " : "", (int)(o.value - f->values),
            o.access & SC_RT_TAKES ? "t" : "", o.access & SC_RT_READS ? "r" : "",
            o.access & SC_RT_WRITES ? "w" : "", o.access & SC_RT_REPOINTS ? "p" : "");
    }
    return text;
}

static void check_record(sc_rt_kind kind, const char *expected) {
    fixture f;
    begin(&f);
    f.in.kind = (uint8_t)kind;
    f.in.from = 3;
    f.in.to = 4;
    CHECK_EQ_STR(walk(&f, SC_RT_ANY_ACCESS), expected);
}

TEST(instructions_that_are_no_calls) {
    check_record(SC_RT_JUMP_FALSE, "3tr");
    check_record(SC_RT_MOVE, "3tr 4wp");
    check_record(SC_RT_FREE, "3p");
    check_record(SC_RT_COPY, "3tr 4w");
    check_record(SC_RT_SKIP, "");
}

static void check_call(const char *name, const char *overload, const uint32_t *args, uint32_t count,
                       const char *expected) {
    fixture f;
    begin(&f);
    const sc_op *op = sc_op_find_out(sc_str_from(name), sc_str_from(overload));
    if (!CHECK(op != NULL)) return;
    for (uint32_t i = 0; i < count; i++) f.args[i] = &f.values[args[i]];
    f.in.kind = sc_rt_prim(op) ? SC_RT_PRIM : SC_RT_KERNEL;
    f.in.call.op = op;
    f.in.call.arg_count = count;
    CHECK_EQ_STR(walk(&f, SC_RT_ANY_ACCESS), expected);
}

#define CALL(name, overload, expected, ...)                     \
    check_call(name, overload, (const uint32_t[]){__VA_ARGS__}, \
               (uint32_t)(sizeof(uint32_t[]){__VA_ARGS__} / sizeof(uint32_t)), expected)

TEST(calls_of_operators) {
    REQUIRE_OK(sc_ops_init());
    CALL("aten::mm", "out", "0tr 1tr 2w", 0, 1, 2);
    CALL("aten::mm", "out", "0tr 0tr 0w", 0, 0, 0);  // as often as it is given
    // Numbers are values too, alone or as the items of a list of sizes.
    CALL("aten::view_copy", "out", "0tr 8tr 8tr 1w", 0, SIZES, 1);
    // Absent items of a list of tensors have no operand; an empty list has none.
    CALL("aten::index", "Tensor_out", "0tr 6tr 7tr 1w", 0, LIST, 1);
    CALL("aten::cat", "out", "8tr 1w", EMPTY, NUMBER, 1);
    // Reads the shapes of tensors only.
    CALL("aten::full_like", "out", "0t 8tr 8tr 1w", 0, NUMBER, NUMBER, 1);
    CALL("aten::sym_size", "int", "0t 8tr 8w", 0, NUMBER, NUMBER);
    // A value is written in its place: with a look at it, or without.
    CALL("aten::index_put_", "", "0trw 6tr 7tr 1tr 8tr", 0, LIST, 1, NUMBER);
    CALL("aten::copy_", "", "0tw 1tr 8tr", 0, 1, NUMBER);
    CALL("executorch_prim::et_copy_index", "tensor", "0tw 1tr 8tr", 0, 1, NUMBER);
    // Statistics stand in the middle of the arguments.
    CALL("aten::_native_batch_norm_legit", "out", "0tr 1tr 2tr 3trw 4trw 8tr 8tr 8tr", 0, 1, 2, 3,
         4, NUMBER, NUMBER, NUMBER);
    // Results of primitives: numbers are new, tensors show what their operand shows.
    CALL("executorch_prim::add", "Scalar", "8tr 8tr 8w", NUMBER, NUMBER, NUMBER);
    CALL("executorch_prim::et_view", "", "0tr 8tr 8tr 1wp", 0, SIZES, 1);
}

TEST(calls_of_delegates) {
    fixture f;
    begin(&f);
    const uint32_t args[] = {0, NUMBER, 1, 2, 3};
    for (uint32_t i = 0; i < SC_COUNT_OF(args); i++) f.args[i] = &f.values[args[i]];
    f.in.kind = SC_RT_DELEGATE;
    f.in.call.arg_count = SC_COUNT_OF(args);
    f.in.inputs = 3;
    CHECK_EQ_STR(walk(&f, SC_RT_ANY_ACCESS), "0tr 8tr 1tr 2w 3w");
    CHECK_EQ_STR(walk(&f, SC_RT_WRITES), "2w 3w");
    f.in.inputs = 0;
    CHECK_EQ_STR(walk(&f, SC_RT_READS), "");
}

// The tensors' bytes begin at these places of an arena and are as many as `counts` says; the last
// argument is a number. All from `inputs` on are written.
static sc_status check_places(sc_ctx *ctx, const size_t places[4], const int64_t counts[4],
                              uint32_t inputs, bool repeats_number) {
    static uint8_t memory[64];
    fixture f;
    sc_rt_delegate d = {.id = SC_STR("Backend")};
    begin(&f);
    for (uint32_t i = 0; i < 4; i++) {
        f.tensors[i] =
            (sc_tensor){.dtype = SC_DTYPE_U8, .numel = counts[i], .data = memory + places[i]};
        f.args[i] = &f.values[i];
    }
    f.args[4] = f.args[5] = &f.values[NUMBER];
    f.in.delegate = &d;
    f.in.inputs = inputs;
    f.in.call.arg_count = repeats_number ? 6 : 5;
    return sc_rt_delegate_check(ctx, &f.m, &f.in);
}

TEST(delegates_do_not_write_over_their_operands) {
    setup s;
    setup_begin(&s);
    static const int64_t eight[4] = {8, 8, 8, 8}, absent_last[4] = {8, 8, 8, 0},
                         long_first[] = {40, 1, 1, 8};
    static const size_t apart[4] = {24, 16, 8, 0}, shared[4] = {8, 8, 12, 24},
                        over[4] = {8, 8, 16, 15};
    static const size_t inside[4] = {0, 8, 16, 32}, behind[4] = {0, 8, 16, 40},
                        same[4] = {0, 8, 16, 16};
    CHECK_OK(check_places(&s.ctx, apart, eight, 3, false));
    CHECK_OK(check_places(&s.ctx, shared, eight, 3, false));
    CHECK_OK(check_places(&s.ctx, over, absent_last, 3, false));
    CHECK_OK(check_places(&s.ctx, behind, long_first, 3, false));
    CHECK_STATUS(check_places(&s.ctx, over, eight, 3, false), SC_ERR_CORRUPT);
    CHECK_STATUS(check_places(&s.ctx, inside, long_first, 3, false), SC_ERR_CORRUPT);
    CHECK_STATUS(check_places(&s.ctx, same, eight, 2, false), SC_ERR_CORRUPT);
    CHECK_STATUS(check_places(&s.ctx, apart, eight, 3, true), SC_ERR_CORRUPT);
    setup_end(&s);
}

TEST(walks_over_what_is_wanted) {
    fixture f;
    begin(&f);
    REQUIRE_OK(sc_ops_init());
    f.args[0] = &f.values[0];
    f.args[1] = &f.values[1];
    f.args[2] = &f.values[NUMBER];
    f.in.call.op = sc_op_find_out(SC_STR("aten::copy_"), SC_STR(""));
    f.in.call.arg_count = 3;
    CHECK_EQ_STR(walk(&f, SC_RT_READS), "1tr 8tr");
    CHECK_EQ_STR(walk(&f, SC_RT_WRITES), "0tw");
    CHECK_EQ_STR(walk(&f, SC_RT_TAKES), "0tw 1tr 8tr");
    CHECK_EQ_STR(walk(&f, SC_RT_REPOINTS), "");
}
