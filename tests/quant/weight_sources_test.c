// Programs whose weights are computed from others while the file is written: it is the same as with
// weights in memory, and neither these nor what they are made of are ever held as a whole.
#include "backend/lower.h"
#include "backends/xnnpack/aot/xnnpack.h"
#include "emit/emit.h"
#include "ir/parse.h"
#include "observe/qparams.h"
#include "plan/place.h"
#include "quant/numbers.h"
#include "quant/weights.h"

enum { ROWS = 1024, COLUMNS = 2048, ELEMENTS = ROWS * COLUMNS, GROUP = 32, MORE = 1 << 20 };

#define BY_CHANNEL                                                         \
    "method forward {\n"                                                   \
    "input %w: i8[1024, 2048] buffer \"w\" const i8[1024, 2048] 2097152\n" \
    "input %s: f32[1024] buffer \"s\" const f32[1024] 4096\n"              \
    "input %x: f32[2, 2048]\n"                                             \
    "%d: f32[1024, 2048] = quantized_decomposed::dequantize_per_channel(%w, %s, None, 0, "
#define LINEAR                                        \
    "i8)\n"                                           \
    "%y: f32[2, 1024] = aten::linear(%x, %d, None)\n" \
    "return %y\n}\n"

static const char eight_bits[] = BY_CHANNEL "-127, 127, " LINEAR;
static const char four_bits[] = BY_CHANNEL "-8, 7, " LINEAR;
static const char groups[] =
    "method forward {\n"
    "input %w: i8[1024, 2048] buffer \"w\" const i8[1024, 2048] 2097152\n"
    "input %s: f32[1024, 64] buffer \"s\" const f32[1024, 64] 262144\n"
    "input %x: f32[2, 2048]\n"
    "t: (%ts: f32[2, 1], %tz: i8[2, 1]) = torchao::choose_qparams_affine(%x, \"ASYMMETRIC\", [1, "
    "2048], i8, -128, 127, None, None, i8)\n"
    "%tq: i8[2, 2048] = torchao::quantize_affine(%x, [1, 2048], %ts, %tz, i8, -128, 127)\n"
    "%td: f32[2, 2048] = torchao::dequantize_affine(%tq, [1, 2048], %ts, %tz, i8, -128, 127)\n"
    "%tw: f32[1024, 2048] = torchao::dequantize_affine(%w, [1, 32], %s, None, i8, -8, 7)\n"
    "%y: f32[2, 1024] = aten::linear(%td, %tw, None)\n"
    "return %y\n}\n";
static const char portable[] = BY_CHANNEL "-127, 127, i8)\n"
                                          "%y: f32[1024, 2048] = aten::neg(%d)\n"
                                          "return %y\n}\n";
static const char halves[] =
    "method forward {\n"
    "input %w: f16[1024, 2048] parameter \"w\" const f16[1024, 2048] 4194304\n"
    "%y: f16[1024, 2048] = aten::neg(%w)\n"
    "return %y\n}\n";

typedef struct row {
    const char *name, *text;
    bool delegates, groups;
    int8_t low, high;  // 0: converted
    uint32_t passes;   // times the base may be read
} row;

static const row rows[] = {
    // A delegate's weights are named by their content, which is one more pass.
    {"8 bits", eight_bits, true, false, -127, 127, 2},
    {"4 bits", four_bits, true, false, -8, 7, 2},
    {"groups of 4 bits", groups, true, true, -8, 7, 2},
    {"portable", portable, false, false, -127, 127, 1},
    {"halves", halves, false, false, 0, 0, 1},
};

typedef struct base {
    sc_source source;
    uint64_t total, longest;
} base;

static float element(uint64_t i) {
    const uint32_t mixed = (uint32_t)i * 2654435761u;
    return (float)(int32_t)(mixed ^ mixed >> 15) * 0x1p-33f;
}

static sc_status read_base(sc_source *source, sc_ctx *ctx, uint64_t offset, void *out,
                           size_t bytes) {
    base *b = source->user;
    float *to = out;
    (void)ctx;
    CHECK(offset % sizeof *to == 0 && bytes % sizeof *to == 0);
    for (size_t i = 0; i < bytes / sizeof *to; i++) to[i] = element(offset / sizeof *to + i);
    b->total += bytes;
    b->longest = sc_max_u64(b->longest, bytes);
    return SC_OK;
}

static sc_extent compute(setup *s, const row *r, base *b, sc_extent *scales) {
    const sc_weight weight = {
        .data = sc_extent_whole(&b->source), .dtype = SC_DTYPE_F32, .elements = ELEMENTS};
    const int64_t sizes[] = {ROWS, COLUMNS};
    const sc_slices slices =
        r->groups ? sc_slices_groups(ELEMENTS, GROUP) : sc_slices_axis(2, sizes, 0);
    if (r->low == 0) return sc_weight_converted(&s->arena, &weight, SC_DTYPE_F16);
    float *lows = test_alloc((size_t)slices.count * sizeof *lows);
    float *highs = test_alloc((size_t)slices.count * sizeof *highs);
    CHECK_OK(sc_weight_ranges(&s->ctx, &weight, slices, lows, highs));
    CHECK_EQ_UINT(b->total, b->source.size);
    for (uint64_t k = 0; k < slices.count; k++)
        highs[k] = sc_qparams_symmetric(lows[k], highs[k], r->low, r->high, 1e-9f).scale;
    *scales =
        sc_extent_whole(sc_source_from_memory(&s->arena, highs, slices.count * sizeof *highs));
    const sc_weight_grid grid = {
        .slices = slices, .scales = highs, .quant_min = r->low, .quant_max = r->high};
    return sc_weight_quantized(&s->arena, &weight, &grid);
}

static sc_extent held(setup *s, sc_extent extent) {
    uint8_t *bytes = test_alloc((size_t)extent.size);
    CHECK_OK(sc_extent_read(&s->ctx, extent, 0, bytes, (size_t)extent.size));
    return sc_extent_whole(sc_source_from_memory(&s->arena, bytes, extent.size));
}

static sc_status hash(void *user, const void *bytes, size_t size) {
    uint64_t *digest = user;
    *digest = *digest * 31 + numbers_digest(bytes, size);
    return SC_OK;
}

static sc_status lower(setup *s, sc_program *program) {
    sc_options options = sc_options_default();
    sc_delegation delegation = {0};
    const sc_partitioner one = {.backend = &sc_backend_xnnpack};
    const sc_method_partitioners methods = {SC_STR("forward"), &one, 1};
    const sc_backend_env env = {.options = &options};
    SC_TRY(sc_lower_to_backends(&s->ctx, program, &methods, 1, &env, &delegation));
    uint32_t parts = 0;
    for (const sc_node *n = program->methods.data[0]->graph->first; n; n = n->next)
        parts += sc_node_part(n) != NULL;
    CHECK_EQ_UINT(parts, 1);
    return SC_OK;
}

// Makes the file.
static sc_status make(setup *s, const row *r, sc_extent weight, sc_extent scales,
                      sc_emit_result *result) {
    const sc_options options = sc_options_default();
    sc_place_report *reports = NULL;
    sc_storage_table *tables;
    sc_program *program;
    SC_TRY(sc_ops_init());
    SC_TRY(sc_program_parse(&s->ctx, sc_str_from(r->text), &program));
    sc_method *method = program->methods.data[0];
    method->inputs.data[0].constant->data = weight;
    if (scales.size) method->inputs.data[1].constant->data = scales;
    if (r->delegates) SC_TRY(lower(s, program));
    SC_TRY(sc_place_program(&s->ctx, program, &options, NULL, &tables, &reports));
    return sc_emit_program(&s->ctx, program, tables, &options, result);
}

// Blocks of the base, which go before their read ends, are not among it: see `longest`.
static uint64_t held_by(const setup *s) { return s->arena.held_bytes + s->scratch.held_bytes; }

static void check_row(const row *r, bool is_slow) {
    setup s;
    uint64_t digests[2] = {0};
    base b = {.source = {.read = read_base, .size = ELEMENTS * 4ull, .is_slow = is_slow}};
    b.source.user = &b;
    setup_begin(&s);
    for (uint32_t in_memory = 0; in_memory < 2; in_memory++) {
        sc_emit_result result;
        sc_extent scales = {0};
        b.total = b.longest = 0;
        sc_extent weight = compute(&s, r, &b, &scales);
        const uint64_t before = held_by(&s);
        b.total = 0;
        if (in_memory) weight = held(&s, weight);
        if (!CHECK_OK(make(&s, r, weight, scales, &result))) FAIL("%s", setup_message(&s));
        CHECK_OK(sc_cord_write(&s.ctx, &result.program, hash, &digests[in_memory]));
        if (in_memory) continue;
        CHECK(b.total <= r->passes * b.source.size + MORE);
        CHECK(b.longest <= (is_slow ? 4u << 20 : 256u << 10));
        CHECK(held_by(&s) - before < 256u << 10);
    }
    CHECK(digests[0] != 0 && digests[0] == digests[1]);
    setup_end(&s);
}

TEST_CASES(computed_weights_are_not_held) {
    for (uint32_t i = 0; i < SC_COUNT_OF(rows); i++) {
        if (test_case("%s", rows[i].name)) check_row(&rows[i], false);
        if (test_case("%s, slow", rows[i].name)) check_row(&rows[i], true);
    }
}
