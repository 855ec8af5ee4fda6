// XNNPACK's half in the compiler, on small programs (tests/xnnpack/*.ir): which nodes it takes, why
// not the others, and the payloads of the parts as text; --update rewrites what stands below the
// line "----". Constants without bytes of their own have small numbers that differ.
#include <math.h>

#include "backend/lower.h"
#include "backends/xnnpack/aot/xnnpack.h"
#include "backends/xnnpack/graph.h"
#include "ir/parse.h"
#include "setup.h"

#define FOLDER "xnnpack"
#define TARGET "# target_runtime: "

// --- Programs ------------------------------------------------------------------------------------

// Floats from 0.5 on, integers from -7 to 7, zero points 0.
static void fill(setup *s, sc_constant *constant) {
    const uint32_t width = sc_dtype_bytes((sc_dtype)constant->spec.dtype);
    const uint64_t count = constant->data.size / width;
    uint8_t *bytes = test_alloc((size_t)constant->data.size);
    memset(bytes, 0, (size_t)constant->data.size);
    for (uint64_t i = 0; i < count; i++) {
        const float real = 0.5f + (float)(i % 7) * 0.25f;
        const uint16_t half =
            constant->spec.dtype == SC_DTYPE_F16 ? sc_f32_to_f16(real) : sc_f32_to_bf16(real);
        if (constant->spec.dtype == SC_DTYPE_F32) memcpy(bytes + i * width, &real, width);
        if (sc_dtype_is_half((sc_dtype)constant->spec.dtype))
            memcpy(bytes + i * width, &half, width);
        if (constant->spec.dtype == SC_DTYPE_I8) bytes[i] = (uint8_t)(int8_t)(i * 5 % 15 - 7);
    }
    constant->data = sc_extent_whole(sc_source_from_memory(&s->arena, bytes, constant->data.size));
}

static sc_program *parse(setup *s, sc_str text) {
    sc_program *program = NULL;
    CHECK_OK(sc_ops_init());
    if (!CHECK_OK(sc_program_parse(&s->ctx, text, &program))) FAIL("%s", setup_message(s));
    for (uint32_t m = 0; program && m < program->methods.count; m++) {
        sc_method *method = program->methods.data[m];
        for (uint32_t i = 0; i < method->inputs.count; i++) {
            sc_constant *constant = method->inputs.data[i].constant;
            if (constant && !constant->lifted_scalar) fill(s, constant);
        }
    }
    return program;
}

static sc_str target_of(sc_str text) {
    const char *at = strstr(text.data, TARGET);
    return at ? (sc_str){at + strlen(TARGET), 3} : SC_STR("1.5");
}

static sc_status lower(setup *s, sc_program *program, sc_str target, sc_delegation *delegation) {
    sc_options options = sc_options_default();
    options.target_runtime = target;
    const sc_partitioner one = {.backend = &sc_backend_xnnpack};
    const sc_method_partitioners methods = {SC_STR("forward"), &one, 1};
    const sc_backend_env env = {.options = &options};
    return sc_lower_to_backends(&s->ctx, program, &methods, 1, &env, delegation);
}

// --- As text -------------------------------------------------------------------------------------

static void add_rows(sc_sb *out, const sc_delegation *delegation) {
    for (uint32_t i = 0; i < delegation->rows.count; i++) {
        const sc_delegation_row *row = &delegation->rows.data[i];
        if (row->part) continue;
        sc_sb_addf(out, "%s outside: " SC_STR_FMT, row->node->text, SC_STR_ARG(row->reason));
        if (row->hint.size) sc_sb_addf(out, " (" SC_STR_FMT ")", SC_STR_ARG(row->hint));
        sc_sb_add_char(out, '\n');
    }
}

static sc_xnn_graph *payload_of(setup *s, const sc_part *part) {
    const uint8_t *bytes = NULL;
    sc_xnn_graph *graph = NULL;
    CHECK_OK(sc_cord_flatten(&s->ctx, part->processed, &s->arena, 1 << 20, &bytes));
    CHECK_OK(sc_xnn_read(&s->ctx, &s->arena, bytes, part->processed->size, &graph));
    return graph;
}

// Programs whose nodes have debug handles.
static void add_events(sc_sb *out, const sc_part *part) {
    if (!part->method->graph->first->meta.debug_handle) return;
    for (uint32_t i = 0; i < part->events.count; i++) {
        const sc_part_event *event = &part->events.data[i];
        sc_sb_addf(out, "event '" SC_STR_FMT "'", SC_STR_ARG(event->name));
        for (uint32_t k = 0; k < event->handle_count; k++)
            sc_sb_addf(out, " %u", event->handles[k]);
        sc_sb_add_char(out, '\n');
    }
}

static void add_parts(setup *s, sc_sb *out, const sc_program *program) {
    const sc_graph *graph = program->methods.data[0]->graph;
    for (const sc_node *node = graph->first; node; node = node->next) {
        const sc_part *part = sc_node_part(node);
        if (!part) continue;
        const sc_xnn_graph *payload = payload_of(s, part);
        sc_sb_addf(out, "%s\n", part->method->name->text);
        sc_xnn_print(out, payload);
        CHECK_EQ_UINT(part->events.count, payload->nodes.count);
        add_events(out, part);
    }
}

TEST_CASES(xnnpack_parts) {
    size_t count;
    const char **paths = test_list(FOLDER, ".ir", &count);
    CHECK(count > 0);
    for (size_t i = 0; i < count; i++) {
        if (!test_case("%s", paths[i])) continue;
        setup s;
        setup_begin(&s);
        size_t size;
        const char *text = test_read(paths[i], &size);
        const char *line = strstr(text, "\n----\n");
        const sc_str source = {text, line ? (size_t)(line + 1 - text) : size};
        const char *copy = sc_str_dup(&s.arena, source);
        sc_program *program = parse(&s, (sc_str){copy, source.size});
        sc_delegation delegation = {0};
        sc_sb out;
        sc_sb_init(&out, &s.arena);
        sc_sb_add(&out, source);
        sc_sb_add_text(&out, "----\n");
        if (program &&
            !CHECK_OK(lower(&s, program, target_of((sc_str){copy, source.size}), &delegation)))
            FAIL("%s", setup_message(&s));
        if (program) {
            add_rows(&out, &delegation);
            add_parts(&s, &out, program);
        }
        CHECK_GOLDEN(paths[i], out.data, out.size);
        setup_end(&s);
    }
}

// --- Bytes ---------------------------------------------------------------------------------------

// The only part of a program with one method, lowered.
static const sc_part *only_part(setup *s, const char *text) {
    sc_delegation delegation = {0};
    sc_program *program = parse(s, sc_str_from(text));
    if (!program || !CHECK_OK(lower(s, program, SC_STR("1.5"), &delegation))) return NULL;
    const sc_graph *graph = program->methods.data[0]->graph;
    for (const sc_node *node = graph->first; node; node = node->next)
        if (sc_node_part(node)) return sc_node_part(node);
    FAIL("nothing was delegated");
    return NULL;
}

// Operand `operand` of the first node of this kind, which is a constant.
static const uint8_t *constant_bytes(setup *s, const sc_part *part, sc_xnn_kind kind,
                                     uint32_t operand, uint64_t size) {
    const sc_xnn_graph *graph = payload_of(s, part);
    for (uint32_t n = 0; n < graph->nodes.count; n++) {
        const sc_xnn_node *node = &graph->nodes.data[n];
        if (node->kind != kind) continue;
        const uint32_t constant = graph->values.data[node->inputs[operand]].constant;
        const sc_str key = graph->constants.data[constant].key;
        for (uint32_t i = 0; i < part->data.count; i++) {
            const uint8_t *bytes = NULL;
            if (!sc_str_equal(part->data.data[i].key, key)) continue;
            CHECK_EQ_UINT(part->data.data[i].align, SC_XNN_DATA_ALIGN);
            CHECK_EQ_UINT(part->data.data[i].bytes->size, size);
            CHECK_OK(
                sc_cord_flatten(&s->ctx, part->data.data[i].bytes, &s->arena, 1 << 20, &bytes));
            return bytes;
        }
    }
    FAIL("there is no such constant");
    return NULL;
}

// In any pieces the same bytes: readers need not begin where items do.
static void check_pieces(setup *s, const sc_part *part, const uint8_t *bytes, uint64_t size) {
    for (uint32_t i = 0; i < part->data.count; i++) {
        const sc_cord *cord = part->data.data[i].bytes;
        if (cord->size != size) continue;
        sc_source *source = sc_source_from_cord(&s->arena, cord);
        for (uint64_t at = 0; at < size; at++) {
            uint8_t piece[7];
            const size_t length = (size_t)sc_min_u64(sizeof piece, size - at);
            CHECK_OK(sc_extent_read(&s->ctx, sc_extent_whole(source), at, piece, length));
            CHECK_EQ_MEM(piece, bytes + at, length);
        }
    }
}

TEST(xnnpack_folds_batch_norm_in_double_precision_and_permutes) {
    setup s;
    setup_begin(&s);
    const sc_part *part = only_part(
        &s, "method forward {\n"
            "input %w: f32[2, 3, 1, 2] parameter \"w\" const f32[2, 3, 1, 2] 48 kept\n"
            "input %g: f32[2] parameter \"g\" const f32[2] 8 lifted 0000004000004040\n"
            "input %m: f32[2] buffer \"m\" const f32[2] 8 lifted 0000803f00000040\n"
            "input %v: f32[2] buffer \"v\" const f32[2] 8 lifted 0000804000004041\n"
            "input %x: f32[1, 3, 4, 4]\n"
            "%c: f32[1, 2, 4, 3] = aten::convolution(%x, %w, None, [1, 1], [0, 0], [1, 1], False, "
            "[0, 0], 1)\n"
            "n: (%n: f32[1, 2, 4, 3], %o: f32[0], %p: f32[0]) = "
            "aten::_native_batch_norm_legit_no_training(%c, %g, None, %m, %v, 0.1, 0.001)\n"
            "return %n\n}\n");
    REQUIRE(part);
    const float *weights = (const float *)constant_bytes(&s, part, SC_XNN_CONV, 1, 48);
    const float *bias = (const float *)constant_bytes(&s, part, SC_XNN_CONV, 2, 8);
    REQUIRE(weights && bias);
    const double gamma[] = {2, 3}, mean[] = {1, 2}, var[] = {4, 12};
    for (uint32_t o = 0; o < 2; o++) {
        const double factor = gamma[o] / sqrt(var[o] + 0.001);
        CHECK_SAME_FLOAT(bias[o], (float)(-mean[o] * factor));
        for (uint32_t x = 0; x < 2; x++)
            for (uint32_t i = 0; i < 3; i++) {
                const uint32_t from = (o * 3 + i) * 2 + x;
                const double weight = 0.5 + (double)(from % 7) * 0.25;
                CHECK_SAME_FLOAT(weights[(o * 2 + x) * 3 + i], (float)(weight * factor));
            }
    }
    check_pieces(&s, part, (const uint8_t *)weights, 48);
    setup_end(&s);
}

TEST(xnnpack_packs_rows_of_4_bits) {
    setup s;
    setup_begin(&s);
    const sc_part *part = only_part(
        &s, "method forward {\n"
            "input %w: i8[3, 5] buffer \"w\" const i8[3, 5] 15\n"
            "input %s: f32[3] buffer \"s\" const f32[3] 12\n"
            "input %x: f32[2, 5]\n"
            "%d: f32[3, 5] = quantized_decomposed::dequantize_per_channel(%w, %s, None, 0, -8, 7, "
            "i8)\n"
            "%y: f32[2, 3] = aten::linear(%x, %d, None)\n"
            "return %y\n}\n");
    REQUIRE(part);
    const uint8_t *bytes = constant_bytes(&s, part, SC_XNN_FULLY_CONNECTED, 1, 9);
    REQUIRE(bytes);
    for (uint32_t row = 0; row < 3; row++)
        for (uint32_t i = 0; i < 6; i++) {
            const int nibble = bytes[row * 3 + i / 2] >> (i % 2 * 4) & 15;
            CHECK_EQ_INT(nibble - 8, i < 5 ? (int)((row * 5 + i) * 5 % 15) - 7 : 0);
        }
    check_pieces(&s, part, bytes, 9);
    setup_end(&s);
}

// A bias is rounded in the scale of its own layer, and stays what 32 bits hold.
TEST(xnnpack_quantizes_a_bias_for_each_layer) {
    setup s;
    setup_begin(&s);
    const sc_part *part = only_part(
        &s,
        "method forward {\n"
        "input %w: i8[2, 2] buffer \"w\" const i8[2, 2] 4\n"
        "input %b: f32[2] parameter \"b\" const f32[2] 8 lifted 0000a03fcaf249f1\n"
        "input %x: f32[1, 2]\n"
        "%q: i8[1, 2] = quantized_decomposed::quantize_per_tensor(%x, 0.5, 0, -128, 127, i8)\n"
        "%d: f32[1, 2] = quantized_decomposed::dequantize_per_tensor(%q, 0.5, 0, -128, 127, i8)\n"
        "%e: f32[2, 2] = quantized_decomposed::dequantize_per_tensor(%w, 0.25, 0, -127, 127, i8)\n"
        "%l: f32[1, 2] = aten::linear(%d, %e, %b)\n"
        "%r: i8[1, 2] = quantized_decomposed::quantize_per_tensor(%l, 0.5, 0, -128, 127, i8)\n"
        "return %r\n}\n");
    REQUIRE(part);
    const uint8_t *bytes = constant_bytes(&s, part, SC_XNN_FULLY_CONNECTED, 2, 8);
    int32_t bias[2];
    REQUIRE(bytes);
    memcpy(bias, bytes, sizeof bias);
    CHECK_EQ_INT(bias[0], 10);  // 1.25 / 0.125
    CHECK_EQ_INT(bias[1], INT32_MIN);
    setup_end(&s);
}

// The bytes read of a weight are those that its view shows, wherever they lie.
TEST(xnnpack_reads_weights_by_their_strides) {
    setup s;
    setup_begin(&s);
    const sc_part *part =
        only_part(&s, "method forward {\n"
                      "input %w: f32[3, 2]{1, 3} parameter \"w\" const f32[3, 2]{1, 3} 24\n"
                      "input %x: f32[1, 2]\n"
                      "%y: f32[1, 3] = aten::linear(%x, %w, None)\n"
                      "return %y\n}\n");
    REQUIRE(part);
    const float *bytes = (const float *)constant_bytes(&s, part, SC_XNN_FULLY_CONNECTED, 1, 24);
    REQUIRE(bytes);
    for (uint32_t o = 0; o < 3; o++)
        for (uint32_t i = 0; i < 2; i++)
            CHECK_SAME_FLOAT(bytes[o * 2 + i], 0.5 + (double)(i * 3 + o) * 0.25);
    setup_end(&s);
}

// --- Numbers that are looked at ------------------------------------------------------------------

// Rows of 64 weights, all of them the same one, with a scale for each row or for 32 weights.
static sc_program *many_scales(setup *s, const char *rows, const char *scales, const char *how) {
    return parse(s, sc_str_from(test_format(
                        "method forward {\n"
                        "input %%w: i8[%s, 64]{0, 1} buffer \"w\" const i8[%s, 64]{0, 1} 64\n"
                        "input %%s: f32[%s] buffer \"s\" const f32[%s] 4194312\n"
                        "input %%x: f32[1, 64]\n"
                        "choose: (%%p: f32[1, 1], %%z: i64[1, 1]) = quantized_decomposed::"
                        "choose_qparams_per_token_asymmetric(%%x, i8)\n"
                        "%%q: i8[1, 64] = quantized_decomposed::quantize_per_token(%%x, %%p, %%z, "
                        "-128, 127, i8)\n"
                        "%%f: f32[1, 64] = quantized_decomposed::dequantize_per_token(%%q, %%p, "
                        "%%z, -128, 127, i8, f32)\n"
                        "%%d: f32[%s, 64] = quantized_decomposed::%s\n"
                        "%%y: f32[1, %s] = aten::linear(%%f, %%d, None)\n"
                        "return %%y\n}\n",
                        rows, rows, scales, scales, rows, how, rows)));
}

// Too much of something is a reason to leave a node alone, not an error.
TEST(xnnpack_leaves_too_many_scales) {
    setup s;
    setup_begin(&s);
    sc_delegation delegation = {0};
    sc_program *program = many_scales(&s, "1048578", "1048578",
                                      "dequantize_per_channel(%w, %s, None, 0, -127, 127, i8)");
    REQUIRE(program);
    CHECK_OK(lower(&s, program, SC_STR("1.5"), &delegation));
    CHECK_EQ_UINT(s.ctx.error_count, 0);
    const sc_delegation_row *last = &delegation.rows.data[delegation.rows.count - 1];
    CHECK(sc_str_is(last->reason, "its weight has more than 1048576 scales"));
    setup_end(&s);
}

// Scales of groups are rounded to bfloat16, however many there are.
TEST(xnnpack_reads_scales_of_many_groups) {
    enum { SCALES = 1048578 };
    setup s;
    setup_begin(&s);
    sc_delegation delegation = {0};
    sc_program *program =
        many_scales(&s, "524289", "524289, 2",
                    "dequantize_per_channel_group(%w, %s, None, -8, 7, i8, 32, f32)");
    REQUIRE(program);
    CHECK_OK(lower(&s, program, SC_STR("1.5"), &delegation));
    CHECK_EQ_UINT(s.ctx.error_count, 0);
    const sc_part *part = sc_node_part(program->methods.data[0]->graph->first);
    REQUIRE(part);
    const uint8_t *bytes = NULL;
    for (uint32_t i = 0; i < part->data.count; i++)
        if (part->data.data[i].bytes->size == SCALES * sizeof(uint16_t))
            CHECK_OK(sc_cord_flatten(&s.ctx, part->data.data[i].bytes, &s.arena, 1 << 22, &bytes));
    REQUIRE(bytes);
    for (uint32_t i = 0; i < SCALES; i += i % 4096 ? 1 : 4095) {
        uint16_t half;
        memcpy(&half, bytes + i * sizeof half, sizeof half);
        CHECK_EQ_UINT(half, sc_f32_to_bf16(0.5f + (float)(i % 7) * 0.25f));
    }
    setup_end(&s);
}

static sc_status fail_to_read(sc_source *source, sc_ctx *ctx, uint64_t offset, void *out,
                              size_t bytes) {
    (void)source, (void)offset, (void)out, (void)bytes;
    return sc_fail(ctx, SC_ERR_IO, NULL, "the file is gone");
}

// Numbers that cannot be read are an error, not a reason.
TEST_CASES(xnnpack_fails_where_numbers_cannot_be_read) {
    static const char *const weights[] = {
        "quantized_decomposed::dequantize_per_channel(%w, %s, None, 0, -127, 127, i8)",
        "quantized_decomposed::dequantize_per_tensor.tensor(%w, %s, %z, -127, 127, i8)"};
    for (size_t i = 0; i < SC_COUNT_OF(weights); i++) {
        if (!test_case("%s", weights[i])) continue;
        setup s;
        setup_begin(&s);
        sc_delegation delegation = {0};
        sc_source source = {.read = fail_to_read, .size = 4};
        const char *text = test_format("method forward {\n"
                                       "input %%w: i8[1, 2] buffer \"w\" const i8[1, 2] 2\n"
                                       "input %%s: f32[%s] buffer \"s\" const f32[%s] 4\n"
                                       "input %%z: i64[] buffer \"z\" const i64[] 8\n"
                                       "input %%x: f32[1, 2]\n"
                                       "%%d: f32[1, 2] = %s\n"
                                       "%%y: f32[1, 1] = aten::linear(%%x, %%d, None)\n"
                                       "return %%y\n}\n",
                                       i ? "" : "1", i ? "" : "1", weights[i]);
        sc_program *program = parse(&s, sc_str_from(text));
        if (program) {
            program->methods.data[0]->inputs.data[1].constant->data = sc_extent_whole(&source);
            CHECK_STATUS(lower(&s, program, SC_STR("1.5"), &delegation), SC_ERR_IO);
            CHECK_EQ_STR(setup_message(&s), "the file is gone");
        }
        setup_end(&s);
    }
}

// Asked whether an operator stays whole, the backend has no status to fail by: what could not be
// read is reported when the program is lowered.
TEST(xnnpack_makes_no_diagnostics_when_asked_what_to_keep) {
    setup s;
    setup_begin(&s);
    const sc_options options = sc_options_default();
    sc_source source = {.read = fail_to_read, .size = 4};
    sc_program *program =
        parse(&s, SC_STR("method forward {\n"
                         "input %w: i8[1, 2] buffer \"w\" const i8[1, 2] 2\n"
                         "input %s: f32[1] buffer \"s\" const f32[1] 4\n"
                         "input %x: f32[1, 2]\n"
                         "%d: f32[1, 2] = quantized_decomposed::dequantize_per_channel(%w, %s, "
                         "None, 0, -127, 127, i8)\n"
                         "%y: f32[1, 1] = aten::linear(%x, %d, None)\n"
                         "return %y\n}\n"));
    if (program) {
        const sc_method *method = program->methods.data[0];
        sc_claim claim = {0};
        method->inputs.data[1].constant->data = sc_extent_whole(&source);
        CHECK(
            !sc_backend_xnnpack.keeps(&sc_backend_xnnpack, &options, method->graph->last, &claim));
        CHECK_EQ_STR(sc_str_dup(&s.arena, claim.reason), "scales of its weight cannot be read");
        CHECK_EQ_UINT(s.ctx.error_count, 0);
        CHECK_EQ_UINT(s.ctx.diags.count, 0);
    }
    setup_end(&s);
}
