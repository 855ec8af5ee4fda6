// The result of quantization for each node and each tensor, as JSON.
#include "api/quantize/quantize.h"

// The limit of scales in all lists. A range whose scales exceed it has only their number. Scales
// for each channel rarely do. Groups of a large model may have millions, and their text would be
// larger than everything else in memory.
enum { LISTED_MAX = 1 << 18 };

typedef struct reporting {
    sc_ctx *ctx;
    const sc_quantized_method *m;
    sc_imap row_of;    // node -> its compared row
    sc_imap name_of;   // value of the source program -> name of its parameter or buffer
    uint32_t *listed;  // scales so far, of all methods
    sc_json_writer *w;
} reporting;

// --- Nodes ---------------------------------------------------------------------------------------

static void put_error(sc_json_writer *w, const sc_compared_row *row) {
    const uint64_t mismatches = (uint64_t)row->error[SC_ERROR_MISMATCHES];
    if (!(row->error[SC_ERROR_COUNT] > 0) && !mismatches) return;
    sc_json_put_finite(w, "snr", sc_error_decibels(row->error));
    sc_json_put_finite(w, "largestDifference", row->error[SC_ERROR_LARGEST]);
    if (mismatches) sc_json_put_u64(w, "nonFiniteMismatches", mismatches);
}

static void add_node(reporting *r, const sc_quant_row *row) {
    const uint64_t *compared = sc_imap_find(&r->row_of, SC_PTR_KEY(row->node));
    sc_json_begin_object(r->w);
    sc_json_put_text(r->w, "node", row->node->text);
    sc_json_put_text(r->w, "op", row->op->name);
    sc_json_put_bool(r->w, "isQuantized", row->is_quantized);
    if (row->is_skipped) sc_json_put_bool(r->w, "isSkipped", true);
    if (!row->is_quantized) sc_json_put_str(r->w, "reason", row->why_not);
    if (row->weight != SC_QUANT_NO) sc_json_put_u64(r->w, "weight", row->weight);
    if (compared) put_error(r->w, &r->m->compared->rows[*compared]);
    sc_json_end_object(r->w);
}

static void add_notes(reporting *r) {
    sc_json_put_array(r->w, "notes");
    for (uint32_t i = 0; i < sc_quant_remark_count(r->m->plan); i++)
        sc_json_add_str(r->w, sc_quant_remark_at(r->m->plan, i));
    sc_json_end_array(r->w);
}

static void add_nodes(reporting *r) {
    sc_json_put_array(r->w, "nodes");
    for (uint32_t i = 0; i < sc_quant_row_count(r->m->plan); i++)
        add_node(r, sc_quant_row_at(r->m->plan, i));
    sc_json_end_array(r->w);
}

// --- Ranges --------------------------------------------------------------------------------------

static const char *name_of(const reporting *r, const sc_name *place) {
    const uint64_t *target = sc_imap_find(&r->name_of, SC_PTR_KEY(place));
    return target ? (const char *)(uintptr_t)*target : place->text;
}

// One number, or a list of them; null if there are none, or too many.
static void put_list(sc_json_writer *w, const char *key, uint32_t count, bool is_list) {
    sc_json_key(w, key);
    if (count == 0)
        sc_json_add_null(w);
    else if (is_list)
        sc_json_begin_array(w);
}

static void put_scales(sc_json_writer *w, const sc_quant_range *range, uint32_t count) {
    put_list(w, "scale", count, count > 1);
    for (uint32_t i = 0; i < count; i++) sc_json_add_f64(w, range->scales[i]);
    if (count > 1) sc_json_end_array(w);
    put_list(w, "zeroPoint", count, count > 1);
    for (uint32_t i = 0; i < count; i++) sc_json_add_i64(w, range->zero_point);
    if (count > 1) sc_json_end_array(w);
}

static void put_known(reporting *r, const sc_quant_range *range) {
    const bool fits = range->count <= LISTED_MAX - *r->listed;
    sc_json_put_finite(r->w, "low", range->low);
    sc_json_put_finite(r->w, "high", range->high);
    sc_json_put_u64(r->w, "scaleCount", range->count);
    put_scales(r->w, range, fits ? range->count : 0);
    if (fits) *r->listed += range->count;
    if (range->count > 1) sc_json_put_u64(r->w, "axis", range->axis);
    if (range->group_size) sc_json_put_u64(r->w, "groupSize", range->group_size);
    if (!range->bytes_before) return;
    sc_json_put_u64(r->w, "bytesBefore", range->bytes_before);
    sc_json_put_u64(r->w, "bytesAfter", range->bytes_after);
}

static void add_range(reporting *r, uint32_t index) {
    const sc_quant_range *range = sc_quant_range_at(r->m->plan, index);
    sc_json_begin_object(r->w);
    sc_json_put_array(r->w, "tensors");
    for (uint32_t p = 0; p < range->place_count; p++)
        sc_json_add_text(r->w, name_of(r, sc_quant_place(r->m->plan, index, p)));
    sc_json_end_array(r->w);
    sc_json_put_bool(r->w, "isWeight", range->is_weight);
    sc_json_put_bool(r->w, "isDynamic", range->is_dynamic);
    sc_json_put_u64(r->w, "bits", range->bits);
    if (!range->is_dynamic) put_known(r, range);
    sc_json_end_object(r->w);
}

static void add_ranges(reporting *r) {
    sc_json_put_array(r->w, "ranges");
    for (uint32_t i = 0; i < sc_quant_range_count(r->m->plan); i++) add_range(r, i);
    sc_json_end_array(r->w);
}

// --- Methods -------------------------------------------------------------------------------------

static void put_rows(sc_json_writer *w, const sc_compared_row *row) {
    if (!row->layer || !(row->error[SC_ERROR_ROWS] > 0)) return;
    sc_json_put_text(w, "layer", row->layer->text);
    sc_json_put_u64(w, "rows", (uint64_t)row->error[SC_ERROR_ROWS]);
    sc_json_put_u64(w, "changedRows", (uint64_t)row->error[SC_ERROR_CHANGED]);
}

static void add_outputs(reporting *r) {
    const sc_compared *compared = r->m->compared;
    sc_json_put_array(r->w, "outputs");
    for (uint32_t i = 0; compared && i < compared->count; i++) {
        if (compared->rows[i].node) continue;
        sc_json_begin_object(r->w);
        sc_json_put_u64(r->w, "output", compared->rows[i].index);
        put_error(r->w, &compared->rows[i]);
        put_rows(r->w, &compared->rows[i]);
        sc_json_end_object(r->w);
    }
    sc_json_end_array(r->w);
}

static uint64_t constant_bytes(const sc_method *method) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < method->inputs.count; i++)
        if (method->inputs.data[i].constant) bytes += method->inputs.data[i].constant->data.size;
    return bytes;
}

static void add_method(reporting *r) {
    sc_json_key_str(r->w, sc_name_str(r->m->source->name));
    sc_json_begin_object(r->w);
    sc_json_put_u64(r->w, "batches", r->m->batches);
    sc_json_put_u64(r->w, "bytesBefore", constant_bytes(r->m->source));
    sc_json_put_u64(r->w, "bytesAfter",
                    constant_bytes(r->m->method) - sc_quant_loose_bytes(r->m->plan));
    add_notes(r);
    add_nodes(r);
    add_ranges(r);
    add_outputs(r);
    sc_json_end_object(r->w);
}

static reporting reporting_of(sc_ctx *ctx, const sc_quantized_method *m, sc_json_writer *w) {
    reporting r = {.ctx = ctx, .m = m, .w = w};
    sc_imap_init(&r.row_of, ctx->scratch);
    sc_imap_init(&r.name_of, ctx->scratch);
    for (uint32_t i = 0; m->compared && i < m->compared->count; i++)
        if (m->compared->rows[i].node)
            sc_imap_set(&r.row_of, SC_PTR_KEY(m->compared->rows[i].node), i);
    for (uint32_t i = 0; i < m->source->inputs.count; i++) {
        const sc_str target = m->source->inputs.data[i].target;
        if (!m->source->inputs.data[i].constant) continue;
        const char *name = sc_str_format(ctx->scratch, SC_STR_FMT, SC_STR_ARG(target)).data;
        sc_imap_set(&r.name_of, SC_PTR_KEY(m->source->graph->inputs.data[i]->name),
                    (uint64_t)(uintptr_t)name);
    }
    return r;
}

void sc_quantizing_report(sc_ctx *ctx, const sc_quantizing *q, sc_json_writer *w) {
    uint32_t listed = 0;
    sc_json_begin_object(w);
    sc_json_put_object(w, "methods");
    for (uint32_t i = 0; i < q->count; i++) {
        if (!q->methods[i].plan) continue;
        const sc_mark mark = sc_arena_mark(ctx->scratch);
        reporting r = reporting_of(ctx, &q->methods[i], w);
        r.listed = &listed;
        add_method(&r);
        sc_arena_rewind(ctx->scratch, mark);
    }
    sc_json_end_object(w);
    sc_json_end_object(w);
}
