// Any bytes as a record; bytes that are not a zip, as each of its maps in turn. Maps that are read
// are written and read back to the same text, and a record that is complete to another record.
#include "context.h"
#include "devtools/etrecord/maps.h"
#include "ir/print.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static sc_str map_text(sc_ctx *ctx, const sc_etrecord *record, sc_etrecord_map map) {
    sc_sb text;
    sc_sb_init(&text, ctx->arena);
    sc_etrecord_put_map(&text, record, map, (sc_str){0});
    return sc_sb_str(&text);
}

static void check_maps(sc_ctx *ctx, const sc_etrecord *record) {
    for (uint32_t m = 0; m < SC_ETRECORD_MAP_COUNT; m++) {
        const sc_etrecord_map map = (sc_etrecord_map)m;
        if (!sc_etrecord_has_map(record, map)) continue;
        sc_etrecord again = {0};
        const sc_str text = map_text(ctx, record, map);
        SC_ASSERT(sc_etrecord_read_map(ctx, &again, map, text) == SC_OK);
        SC_ASSERT(sc_str_equal(map_text(ctx, &again, map), text));
    }
}

static void use_maps(sc_ctx *ctx, sc_str text) {
    for (uint32_t m = 0; m < SC_ETRECORD_MAP_COUNT; m++) {
        sc_etrecord record = {0};
        if (sc_etrecord_read_map(ctx, &record, (sc_etrecord_map)m, text) == SC_OK)
            check_maps(ctx, &record);
    }
}

static void use_program(sc_ctx *ctx, const sc_etrecord_program *program) {
    sc_sb text;
    sc_sb_init(&text, ctx->arena);
    sc_graph_print(&text, program->method->graph,
                   (sc_print_options){.meta = true, .signature = true});
}

static void use_record(sc_ctx *ctx, const sc_etrecord *record) {
    const sc_etrecord_options options = {.light = true};
    sc_etrecord again;
    sc_cord cord;
    check_maps(ctx, record);
    for (uint32_t i = 0; i < record->edge.count; i++) use_program(ctx, &record->edge.data[i]);
    sc_cord_init(&cord, ctx->arena);
    if (sc_etrecord_write(ctx, record, &options, &cord) != SC_OK) return;
    SC_ASSERT(sc_etrecord_read(ctx, sc_source_from_cord(ctx->arena, &cord), &again) == SC_OK);
    SC_ASSERT(again.edge.count == record->edge.count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_context c;
    sc_ctx *ctx = fuzz_begin(&c, 1 << 24);
    SC_ASSERT(sc_ops_init() == SC_OK);
    ctx->limits.json_bytes_max = 1 << 20;
    if (size >= 2 && memcmp(data, "PK", 2) == 0) {
        sc_etrecord record;
        if (sc_etrecord_read(ctx, sc_source_from_memory(ctx->arena, data, size), &record) == SC_OK)
            use_record(ctx, &record);
    } else {
        use_maps(ctx, (sc_str){(const char *)data, size});
    }
    fuzz_end(&c);
    return 0;
}
