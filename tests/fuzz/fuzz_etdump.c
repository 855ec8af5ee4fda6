// Any bytes as one or two dumps with a debug buffer, inspected with records that fit many dumps:
// blocks, totals, the line of time, the trace, gaps and a comparison of the two, or of the one with
// itself, all of it as JSON.
//
// The input: how many of its last bytes are the debug buffer, in two bytes. With their highest bit
// there are two dumps: then come how long the first one is, in two bytes, and one byte for the
// methods. The dumps; the buffer.
#include "context.h"
#include "devtools/inspect/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INSTRUCTIONS = 8 };

static const int64_t HANDLES[] = {1, 2, 2, 3, 5, 8, 1, 4};

// Instruction i has the handles from i on, the odd ones are delegates; `shape` turns both.
static sc_inspect_method made_method(sc_arena *arena, const char *name, uint32_t shape) {
    static const sc_inspect_module MODULES[] = {{{"", 0}, {"M", 1}}, {{"a.b", 3}, {"N", 1}}};
    sc_inspect_method m = {
        .name = sc_str_from(name), .instruction_count = INSTRUCTIONS, .node_count = INSTRUCTIONS};
    sc_inspect_instruction *rows = sc_new_array(arena, sc_inspect_instruction, INSTRUCTIONS);
    sc_inspect_node *nodes = sc_new_array(arena, sc_inspect_node, INSTRUCTIONS);
    sc_inspect_delegate_id *ids = sc_new_array(arena, sc_inspect_delegate_id, 2);
    ids[0] = (sc_inspect_delegate_id){SC_STR("0"), {HANDLES, 2}};
    ids[1] = (sc_inspect_delegate_id){SC_STR("add"), {HANDLES + 2, 3}};
    for (uint32_t i = 0; i < INSTRUCTIONS; i++) {
        const uint32_t first = (i + shape) % INSTRUCTIONS, is_delegate = first % 2;
        rows[i] = (sc_inspect_instruction){
            .index = i,
            .handles = {HANDLES + first, is_delegate ? 1 : INSTRUCTIONS - first},
            .out_count = i % 3,
            .is_delegate = is_delegate,
            .backend = SC_STR("B"),
            .has_ids = (i + shape / INSTRUCTIONS) % 4 == 1,
            .ids = ids,
            .id_count = 2};
        nodes[i] = (sc_inspect_node){.name = SC_STR("n"),
                                     .op = shape % 2 ? SC_STR("aten.mul.Tensor")
                                                     : SC_STR("aten.add.Tensor"),
                                     .modules = MODULES,
                                     .module_count = i % 3,
                                     .handle = HANDLES[i]};
    }
    m.instructions = rows;
    m.nodes = nodes;
    sc_inspect_index_nodes(arena, &m);
    return m;
}

static sc_status find_gaps(const sc_inspection *in, const sc_inspect_method *method,
                           sc_inspect_gaps *gaps) {
    static const double DATA[] = {0.5, -1};
    static const int64_t SIZES[] = {2};
    static const sc_numbers NUMBERS = {SC_DUMP_TENSOR, SC_DTYPE_F32, 1, SIZES, 2, DATA};
    static const sc_numbers_list LIST = {&NUMBERS, 1};
    const sc_inspect_reference references[] = {{1, &LIST}, {2, &LIST}, {4, &LIST}};
    return sc_inspect_gaps_of(in, method, references, SC_COUNT_OF(references), gaps);
}

static sc_status tell(const sc_inspection *in, const sc_inspection *other,
                      const sc_inspect_method *method, sc_json_writer *w) {
    sc_inspect_gaps gaps = {0};
    sc_inspect_comparison comparison;
    SC_TRY(sc_inspect_put_events(w, in));
    sc_inspect_put_totals(w, in, false);
    sc_inspect_put_totals(w, in, true);
    SC_TRY(sc_inspect_put_timeline(w, in));
    SC_TRY(sc_inspect_put_trace(w, in));
    SC_TRY(find_gaps(in, method, &gaps));
    sc_json_begin_object(w);
    sc_inspect_put_gaps(w, in, &gaps);
    sc_json_end_object(w);
    SC_TRY(sc_inspect_compare(in->ctx, in, other, &comparison));
    sc_inspect_put_comparison(w, &comparison);
    return SC_OK;
}

// The meaning of an input.
typedef struct parts {
    sc_source *files[2], *buffer;
    uint32_t file_count, method_count, shape;
} parts;

static sc_status inspect(sc_ctx *ctx, const parts *p) {
    sc_inspection *ins[2];
    sc_sb text;
    sc_json_writer w;
    const sc_inspect_method methods[] = {made_method(ctx->arena, "forward", p->shape),
                                         made_method(ctx->arena, "decode", p->shape / 2 + 1)};
    const sc_inspect_options options = {
        .target_scale = SC_TIME_US, .methods = methods, .method_count = p->method_count};
    for (uint32_t i = 0; i < p->file_count; i++) {
        sc_dump *dump;
        SC_TRY(sc_dump_read(ctx, p->files[i], p->buffer, &dump));
        SC_TRY(sc_inspect(ctx, dump, &options, &ins[i]));
    }
    sc_sb_init(&text, ctx->arena);
    sc_json_writer_init(&w, &text, SC_JSON_COMPACT);
    sc_json_begin_array(&w);
    SC_TRY(tell(ins[0], ins[p->file_count - 1], methods, &w));
    sc_json_end_array(&w);
    return SC_OK;
}

static size_t take_u16(const uint8_t *data) { return data[0] | (size_t)data[1] << 8; }

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

static parts split(sc_arena *arena, const uint8_t *data, size_t size) {
    const bool are_two = size >= 5 && data[1] >> 7;
    const size_t head = are_two ? 5 : 2, left = size - head;
    const size_t buffer = least(take_u16(data) & 0x7fff, left), dumps = left - buffer;
    const size_t first = are_two ? least(take_u16(data + 2), dumps) : dumps;
    return (parts){.files = {sc_source_from_memory(arena, data + head, first),
                             sc_source_from_memory(arena, data + head + first, dumps - first)},
                   .buffer = sc_source_from_memory(arena, data + size - buffer, buffer),
                   .file_count = are_two ? 2 : 1,
                   .method_count = are_two ? data[4] % 3 : 1,
                   .shape = are_two ? data[4] / 3 : 0};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_context c;
    if (size < 2) return 0;
    sc_ctx *ctx = fuzz_begin(&c, 1 << 20);
    const parts p = split(ctx->arena, data, size);
    const sc_status status = inspect(ctx, &p);
    SC_ASSERT(status == SC_OK || ctx->error_count > 0);
    fuzz_end(&c);
    return 0;
}
