// The files that the loader must refuse, one row for each way a file can be wrong, and where: when
// it is opened, when its method is loaded, or when that runs. Also what it must accept.
#include <stdlib.h>

#include "harness.h"
#include "rt/allocate.h"
#include "rt/method.h"
#include "rt/tiny.h"

typedef enum moment { OPEN, LOAD, RUN, FINE } moment;

typedef struct outcome {
    moment failed_at;
    sc_status status;
    float result[6];
} outcome;

// Not in memory, as most files are.
static sc_status read_file(sc_source *source, sc_ctx *ctx, uint64_t offset, void *out,
                           size_t bytes) {
    (void)ctx;
    memcpy(out, (const uint8_t *)source->user + offset, bytes);
    return SC_OK;
}

static outcome try_it(const uint8_t *data, size_t size, uint64_t planned_max, bool in_memory) {
    outcome out = {.failed_at = OPEN};
    const float input[6] = {10, 20, 30, 40, 50, 60};
    const int64_t sizes[2] = {2, 3};
    sc_arena arena, scratch;
    sc_ctx ctx;
    sc_rt_program *program;
    sc_rt_method *method;
    sc_arena_init(&arena);
    sc_arena_init(&scratch);
    sc_ctx_init(&ctx, &arena, &scratch);
    ctx.limits.planned_bytes_max = planned_max;
    ctx.limits.instruction_max = 100;
    sc_source *source = sc_source_from_memory(&arena, data, size);
    if (!in_memory)
        *source = (sc_source){.read = read_file, .size = size, .user = (void *)(uintptr_t)data};
    out.status = sc_rt_program_open(&ctx, source, NULL, &program);
    if (out.status == SC_OK) {
        out.failed_at = LOAD;
        out.status = sc_rt_method_load(&ctx, program, SC_STR("forward"), &method);
        if (out.status == SC_OK) {
            out.failed_at = RUN;
            sc_rt_input value = {.tag = SC_EVALUE_TENSOR,
                                 .dtype = SC_DTYPE_F32,
                                 .rank = 2,
                                 .sizes = sizes,
                                 .data = input,
                                 .bytes = sizeof input};
            if (sc_rt_method_input_count(method))
                out.status = sc_rt_method_set_input(&ctx, method, 0, &value);
            if (out.status == SC_OK) out.status = sc_rt_method_run(&ctx, method);
        }
        if (out.status == SC_OK) {
            out.failed_at = FINE;
            const sc_evalue *value = sc_rt_method_output(method, 0);
            if (CHECK(value->tag == SC_EVALUE_TENSOR && value->tensor->numel == 6))
                sc_rt_tensor_read(value->tensor, out.result, sizeof out.result);
        }
        sc_rt_program_close(program);
    }
    CHECK((out.status == SC_OK) == (ctx.error_count == 0));
    sc_arena_deinit(&scratch);
    sc_arena_deinit(&arena);
    return out;
}

static void expect(const char *name, tiny *t, moment failed_at, sc_status status) {
    static const char *const moments[] = {"open", "load", "run", "nothing"};
    if (!test_case("%s", name)) return;
    tiny_build(t);
    outcome out = try_it(t->data, t->size, 1 << 20, true);
    outcome file = try_it(t->data, t->size, 1 << 20, false);
    free(t->data);
    CHECK(out.failed_at == file.failed_at && out.status == file.status);
    CHECK_EQ_MEM(out.result, file.result, sizeof out.result);
    if (out.failed_at != failed_at || out.status != status)
        FAIL("%s: %s failed with %s", name, moments[out.failed_at], sc_status_slug(out.status));
    if (out.failed_at == FINE) CHECK_CLOSE(out.result[5], 66, 0);
}

#define CASE(name, change, where, code) \
    do {                                \
        tiny t;                         \
        tiny_init(&t);                  \
        change;                         \
        expect(name, &t, where, code);  \
    } while (0)

TEST_CASES(file_moment) {
    CASE("as it comes", (void)0, FINE, SC_OK);
    CASE("identifier of a later format", t.identifier = "ET13", OPEN, SC_ERR_VERSION);
    CASE("no identifier", t.identifier = "ABCD", OPEN, SC_ERR_FORMAT);
    CASE("schema version 1", t.version = 1, OPEN, SC_ERR_VERSION);
    CASE("header too short", t.header_length = 20, OPEN, SC_ERR_CORRUPT);
    CASE("header without segment size", t.header_length = 24, FINE, SC_OK);
    CASE("segments beyond the file", t.segment_bytes = 1000, OPEN, SC_ERR_TRUNCATED);
    CASE("end of segments overflows", t.segment_bytes = UINT64_MAX, OPEN, SC_ERR_CORRUPT);
    CASE("program beyond the file", t.program_bytes = 1 << 20, OPEN, SC_ERR_CORRUPT);
    CASE("segments inside the program", t.segment_base = 64, OPEN, SC_ERR_CORRUPT);
    CASE("constants in two places", t.inline_constant = true, OPEN, SC_ERR_CORRUPT);
    CASE("constant segment out of range", t.constant_segment = 7, OPEN, SC_ERR_CORRUPT);
    CASE("constant offset outside", t.constant_offset[1] = 25, OPEN, SC_ERR_CORRUPT);
    CASE("named data without segments",
         (t.named_data = true, t.drop_segments = true, t.constant_count = 1, t.named_key[0] = "a"),
         OPEN, SC_ERR_CORRUPT);
    CASE("named data twice", (t.named_data = true, t.named_key[0] = t.named_key[1] = "a"), OPEN,
         SC_ERR_CORRUPT);
    CASE("named data in no segment",
         (t.named_data = true, t.named_key[0] = "a", t.named_segment = 3), OPEN, SC_ERR_CORRUPT);
    CASE("segment inside another",
         (t.segment_count = 2, t.segment_offset[1] = 20, t.segment_size[1] = 4), FINE, SC_OK);
    CASE("segments overlap",
         (t.segment_count = 2, t.segment_size[0] = 22, t.segment_offset[1] = 20,
          t.segment_size[1] = 4),
         OPEN, SC_ERR_CORRUPT);
    CASE("segment outside", t.segment_size[0] = 25, OPEN, SC_ERR_CORRUPT);
    CASE("segment end overflows", t.segment_offset[0] = UINT64_MAX - 3, OPEN, SC_ERR_CORRUPT);
    CASE("two segments of state", t.mutable_count = 2, OPEN, SC_ERR_CORRUPT);
    CASE("method without a name", t.no_name = true, OPEN, SC_ERR_CORRUPT);
    CASE("method without memory sizes", t.no_memory_sizes = true, OPEN, SC_ERR_CORRUPT);
    CASE("two methods of one name", t.twin = true, OPEN, SC_ERR_CORRUPT);
    CASE("negative memory size", t.memory_size = -1, OPEN, SC_ERR_CORRUPT);
    CASE(
        "old file: no header, inline constants",
        (t.has_header = false, t.inline_constant = true, t.segment_count = 0, t.constant_count = 0),
        FINE, SC_OK);
}

TEST_CASES(value_moment) {
    CASE("rank 17", (t.extra.rank = t.extra.order_rank = 17), LOAD, SC_ERR_CORRUPT);
    CASE("negative size", t.extra.sizes[0] = -1, LOAD, SC_ERR_CORRUPT);
    CASE("bytes overflow",
         (t.extra.rank = t.extra.order_rank = 3, t.extra.order[2] = 2,
          t.extra.sizes[0] = t.extra.sizes[1] = t.extra.sizes[2] = INT32_MAX),
         LOAD, SC_ERR_CORRUPT);
    CASE("dim order that is not a permutation", t.extra.order[1] = 0, LOAD, SC_ERR_CORRUPT);
    CASE("dim order too long", t.extra.order_rank = 3, LOAD, SC_ERR_CORRUPT);
    CASE("storage offset", t.extra.storage_offset = 1, LOAD, SC_ERR_UNSUPPORTED);
    CASE("unknown element type", t.extra.dtype = 99, LOAD, SC_ERR_DTYPE);
    CASE("unbounded shape", t.extra.dynamism = 2, LOAD, SC_ERR_UNSUPPORTED);
    CASE("external data without a file", t.extra.external = "w", LOAD, SC_ERR_NOT_FOUND);
    CASE("tensor list names a later value", (t.extra_kind = 10, t.extra_item = TINY_EXTRA), LOAD,
         SC_ERR_CORRUPT);
    CASE("tensor list names a number", (t.extra_kind = 10, t.extra_item = TINY_ALPHA), LOAD,
         SC_ERR_CORRUPT);
    CASE("int list names a tensor", (t.extra_kind = 7, t.extra_item = 0), LOAD, SC_ERR_CORRUPT);
    CASE("int list out of range", (t.extra_kind = 7, t.extra_item = 50), LOAD, SC_ERR_CORRUPT);
    CASE("optional list with none", (t.extra_kind = 11, t.extra_item = -1), FINE, SC_OK);
    CASE("memory id 0", t.out.memory_id = 0, LOAD, SC_ERR_CORRUPT);
    CASE("memory id out of range", t.out.memory_id = 2, LOAD, SC_ERR_CORRUPT);
    CASE("high half of the offset", t.out.offset_high = 1, LOAD, SC_ERR_CORRUPT);
    CASE("tensor beyond its memory", t.out.offset_low = 44, LOAD, SC_ERR_CORRUPT);
    CASE("misaligned offset", t.out.offset_low = 33, LOAD, SC_ERR_CORRUPT);
    CASE("too much memory", t.memory_size = 1 << 30, LOAD, SC_ERR_LIMIT);
    CASE("constant out of range", t.constant.buffer = 2, LOAD, SC_ERR_CORRUPT);
    CASE("constant longer than its segment", t.constant_offset[1] = 4, LOAD, SC_ERR_CORRUPT);
    CASE("misaligned constant", (t.constant_offset[1] = 1, t.extra.buffer = 1), LOAD,
         SC_ERR_CORRUPT);
}

TEST_CASES(code_moment) {
    CASE("input out of range", t.inputs[0] = 9, LOAD, SC_ERR_CORRUPT);
    CASE("output out of range", t.outputs[0] = -1, LOAD, SC_ERR_CORRUPT);
    CASE("one value for two inputs", (t.input_count = 2, t.inputs[1] = 0), LOAD, SC_ERR_CORRUPT);
    CASE("a constant as input", t.inputs[0] = TINY_CONSTANT, LOAD, SC_ERR_CORRUPT);
    CASE("unknown operator", t.op = "aten::frobnicate", LOAD, SC_ERR_OPERATOR_MISSING);
    CASE("operator index out of range", t.code[0].a = 1, LOAD, SC_ERR_CORRUPT);
    CASE("operator name of 100 characters",
         t.op =
             "aten::xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
             "xxxxxxxxxxxxxxxxxxxxxx",
         LOAD, SC_ERR_CORRUPT);
    CASE("too few arguments", t.code[0].arg_count = 3, LOAD, SC_ERR_CORRUPT);
    CASE("a number for a tensor", t.code[0].args[0] = TINY_ALPHA, LOAD, SC_ERR_CORRUPT);
    CASE("an input of no kind that an instruction reads",
         (t.extra_kind = 1, t.input_count = 2, t.inputs[1] = TINY_EXTRA,
          t.code[0].args[2] = TINY_EXTRA),
         LOAD, SC_ERR_UNSUPPORTED);
    CASE("argument out of range", t.code[0].args[1] = 77, LOAD, SC_ERR_CORRUPT);
    CASE("result of another shape", t.out.sizes[0] = 1, LOAD, SC_ERR_SHAPE);
    CASE("result of another type", (t.out.dtype = 3), LOAD, SC_ERR_CORRUPT);
    CASE("result into a constant", t.code[0].args[3] = TINY_CONSTANT, LOAD, SC_ERR_CORRUPT);
    CASE("result overlaps an operand", t.out.offset_low = 4, LOAD, SC_ERR_CORRUPT);
    CASE("result over an operand, element by element", t.out.offset_low = 0, FINE, SC_OK);
    CASE("result over an operand that moves",
         (t.out.offset_low = 0, t.op = "aten::transpose_copy", t.overload = "int_out",
          t.code[0].args[1] = TINY_ALPHA),
         LOAD, SC_ERR_CORRUPT);
    CASE("unknown backend", t.delegate = "XyzBackend", LOAD, SC_ERR_DELEGATE);
    CASE("delegate that does not exist", t.code[0].kind = 2, LOAD, SC_ERR_CORRUPT);
    CASE("no chain", t.no_chain = true, LOAD, SC_ERR_CORRUPT);
    CASE("a number over a tensor",
         (t.op = "executorch_prim::add", t.overload = "Scalar", t.code[0].arg_count = 3,
          t.code[0].args[0] = t.code[0].args[1] = TINY_ALPHA, t.code[0].args[2] = TINY_OUT),
         LOAD, SC_ERR_CORRUPT);
    CASE("jump out of the program",
         (t.code_count = 2, t.extra_kind = 3, t.code[1] = tiny_code(4, TINY_EXTRA, 3)), LOAD,
         SC_ERR_CORRUPT);
    CASE("jump to the end",
         (t.code_count = 2, t.extra_kind = 3, t.code[1] = tiny_code(4, TINY_EXTRA, 2)), FINE,
         SC_OK);
    CASE("jump on a float tensor", (t.code_count = 2, t.code[1] = tiny_code(4, TINY_OUT, 2)), LOAD,
         SC_ERR_CORRUPT);
    CASE("jump on a number", (t.code_count = 2, t.code[1] = tiny_code(4, TINY_ALPHA, 2)), RUN,
         SC_ERR_CORRUPT);
    CASE("loop for ever",
         (t.code_count = 2, t.extra_kind = 3, t.code[1] = tiny_code(4, TINY_EXTRA, 0)), LOAD,
         SC_ERR_CORRUPT);
    CASE("move between kinds", (t.code_count = 2, t.code[1] = tiny_code(3, TINY_ALPHA, TINY_OUT)),
         LOAD, SC_ERR_CORRUPT);
    CASE("move out of range", (t.code_count = 2, t.code[1] = tiny_code(3, 0, 99)), LOAD,
         SC_ERR_CORRUPT);
    CASE("free a number", (t.code_count = 2, t.code[1] = tiny_code(5, TINY_ALPHA, 0)), LOAD,
         SC_ERR_CORRUPT);
    CASE("use after free",
         (t.code_count = 2, t.code[1] = t.code[0], t.code[0] = tiny_code(5, TINY_INPUT, 0)), RUN,
         SC_ERR_STATE);
}

// Not one truncation and not one flipped byte of the head may do more than fail.
TEST(damaged_bytes) {
    tiny t;
    tiny_init(&t);
    tiny_build(&t);
    for (size_t size = 0; size < t.size; size++) {
        uint8_t *copy = aligned_alloc(64, (size + 64) / 64 * 64);
        memcpy(copy, t.data, size);
        outcome out = try_it(copy, size, 1 << 20, size % 2);
        CHECK(out.status != SC_OK);
        free(copy);
    }
    for (size_t at = 0; at < t.size; at++) {
        t.data[at] ^= 0x11;
        try_it(t.data, t.size, 1 << 20, at % 2);
        t.data[at] ^= 0x11;
    }
    free(t.data);
}

// A file of which only the beginning is more than zeros.
typedef struct hollow {
    const uint8_t *data;
    size_t size;
} hollow;

static sc_status read_hollow(sc_source *source, sc_ctx *ctx, uint64_t offset, void *out,
                             size_t bytes) {
    const hollow *file = source->user;
    (void)ctx;
    memset(out, 0, bytes);
    for (size_t i = 0; i < bytes && offset + i < file->size; i++)
        ((uint8_t *)out)[i] = file->data[offset + i];
    return SC_OK;
}

TEST(a_constant_larger_than_any_block_of_memory) {
    const uint64_t bytes = UINT64_C(1) << 42;
    tiny t;
    sc_arena arena, scratch;
    sc_ctx ctx;
    sc_rt_program *program;
    sc_rt_method *method;
    tiny_init(&t);
    t.extra.sizes[0] = t.extra.sizes[1] = 1 << 20;
    t.extra.buffer = 1;
    t.segment_size[0] = t.segment_bytes = bytes;
    tiny_build(&t);
    hollow file = {t.data, t.size};
    sc_source source = {.read = read_hollow, .size = bytes + t.size, .user = &file};
    sc_arena_init(&arena);
    sc_arena_init(&scratch);
    sc_ctx_init(&ctx, &arena, &scratch);
    if (CHECK_OK(sc_rt_program_open(&ctx, &source, NULL, &program))) {
        CHECK_STATUS(sc_rt_method_load(&ctx, program, SC_STR("forward"), &method), SC_ERR_MEMORY);
        const char *message = sc_vec_last(&ctx.diags).message.data;
        CHECK(strstr(message, "no memory for a weight of 4398046511104 bytes, and a block of"));
        sc_rt_program_close(program);
    }
    sc_arena_deinit(&scratch);
    sc_arena_deinit(&arena);
    free(t.data);
}

// If the limit is known, memory that nobody writes to costs nothing to take.
TEST(the_limit_of_all_memory_is_named) {
    uint64_t taken, most;
    sc_arena arena, scratch;
    sc_ctx ctx;
    uint8_t *held[8] = {0}, *more = NULL;
    sc_arena_init(&arena);
    sc_arena_init(&scratch);
    sc_ctx_init(&ctx, &arena, &scratch);
    if (sc_memory_extent(&taken, &most)) {
        for (uint32_t i = 0; i < 8; i++) held[i] = sc_try_alloc(1 << 30);
        CHECK_STATUS(sc_rt_allocate(&ctx, UINT64_C(1500) << 20, "what is large", &more),
                     SC_ERR_MEMORY);
        const char *message = sc_vec_last(&ctx.diags).message.data;
        CHECK(strstr(message, "no memory for what is large of 1.57 GB: of the 4.29 GB that"));
        for (uint32_t i = 0; i < 8; i++) sc_free(held[i]);
    }
    sc_arena_deinit(&scratch);
    sc_arena_deinit(&arena);
}
