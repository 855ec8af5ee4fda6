// Any bytes as a dump with a debug buffer, inspected with a record that fits many dumps: blocks,
// totals, the line of time, the trace, gaps and a comparison with itself, all of it as JSON.
//
// The input: how many of its last bytes are the debug buffer, in two bytes; the dump; the buffer.
#include "context.h"
#include "devtools/inspect/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INSTRUCTIONS = 8 };

static const int64_t HANDLES[] = {1, 2, 2, 3, 5, 8, 1, 4};

// Instruction i has the handles from i on, the odd ones are delegates.
static sc_inspect_method made_method(sc_arena *arena) {
    static const sc_inspect_module MODULES[] = {{{"", 0}, {"M", 1}}, {{"a.b", 3}, {"N", 1}}};
    sc_inspect_method m = {
        .name = SC_STR("forward"), .instruction_count = INSTRUCTIONS, .node_count = INSTRUCTIONS};
    sc_inspect_instruction *rows = sc_new_array(arena, sc_inspect_instruction, INSTRUCTIONS);
    sc_inspect_node *nodes = sc_new_array(arena, sc_inspect_node, INSTRUCTIONS);
    sc_inspect_delegate_id *ids = sc_new_array(arena, sc_inspect_delegate_id, 2);
    ids[0] = (sc_inspect_delegate_id){SC_STR("0"), {HANDLES, 2}};
    ids[1] = (sc_inspect_delegate_id){SC_STR("add"), {HANDLES + 2, 3}};
    for (uint32_t i = 0; i < INSTRUCTIONS; i++) {
        rows[i] = (sc_inspect_instruction){.index = i,
                                           .handles = {HANDLES + i, i % 2 ? 1 : INSTRUCTIONS - i},
                                           .out_count = i % 3,
                                           .is_delegate = i % 2,
                                           .backend = SC_STR("B"),
                                           .has_ids = i % 4 == 1,
                                           .ids = ids,
                                           .id_count = 2};
        nodes[i] = (sc_inspect_node){.name = SC_STR("n"),
                                     .op = SC_STR("aten.add.Tensor"),
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

static sc_status tell(const sc_inspection *in, const sc_inspect_method *method, sc_json_writer *w) {
    sc_inspect_gaps gaps = {0};
    sc_inspect_comparison comparison;
    SC_TRY(sc_inspect_put_events(w, in));
    sc_inspect_put_totals(w, in, false);
    sc_inspect_put_totals(w, in, true);
    SC_TRY(sc_inspect_put_timeline(w, in));
    SC_TRY(sc_inspect_put_trace(w, in));
    SC_TRY(find_gaps(in, method, &gaps));
    sc_json_begin_object(w);
    sc_inspect_put_gaps(w, in, method, &gaps);
    sc_json_end_object(w);
    SC_TRY(sc_inspect_compare(in->ctx, in, in, &comparison));
    sc_inspect_put_comparison(w, &comparison);
    return SC_OK;
}

static sc_status inspect(sc_ctx *ctx, sc_source *file, sc_source *buffer) {
    sc_dump *dump;
    sc_inspection *in;
    sc_sb text;
    sc_json_writer w;
    sc_inspect_method method = made_method(ctx->arena);
    const sc_inspect_options options = {
        .target_scale = SC_TIME_US, .methods = &method, .method_count = 1};
    SC_TRY(sc_dump_read(ctx, file, buffer, &dump));
    SC_TRY(sc_inspect(ctx, dump, &options, &in));
    sc_sb_init(&text, ctx->arena);
    sc_json_writer_init(&w, &text, SC_JSON_COMPACT);
    sc_json_begin_array(&w);
    SC_TRY(tell(in, &method, &w));
    sc_json_end_array(&w);
    return SC_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_context c;
    if (size < 2) return 0;
    sc_ctx *ctx = fuzz_begin(&c, 1 << 20);
    const size_t wanted = data[0] | (size_t)data[1] << 8, left = size - 2;
    const size_t buffer = wanted < left ? wanted : left;
    sc_source *file = sc_source_from_memory(ctx->arena, data + 2, left - buffer);
    sc_source *bytes = sc_source_from_memory(ctx->arena, data + size - buffer, buffer);
    const sc_status status = inspect(ctx, file, bytes);
    SC_ASSERT(status == SC_OK || ctx->error_count > 0);
    fuzz_end(&c);
    return 0;
}
