// The differences between logged and expected values. Events are compared with a stage of the
// record. Outputs are compared with the record's outputs, or else with the stage's own.
#include "api/inspect/reference.h"

// --- Recorded outputs ----------------------------------------------------------------------------

static sc_status add_recorded(sc_ctx *ctx, sc_arena *arena, const sc_pickle_value *v,
                              sc_numbers_vec *out) {
    sc_dump_value value = {.kind = SC_DUMP_NULL};
    sc_dump_tensor tensor = {0};
    sc_numbers_list one;
    if (v->kind == SC_PICKLE_INT) value = (sc_dump_value){.kind = SC_DUMP_INT, .i = v->integer};
    if (v->kind == SC_PICKLE_BOOL) value = (sc_dump_value){.kind = SC_DUMP_BOOL, .i = v->boolean};
    if (v->kind == SC_PICKLE_FLOAT) value = (sc_dump_value){.kind = SC_DUMP_DOUBLE, .d = v->real};
    if (v->kind == SC_PICKLE_TENSOR && v->tensor->rank <= SC_RANK_MAX) {
        const sc_pickle_tensor *t = v->tensor;
        uint64_t bytes;
        tensor = (sc_dump_tensor){.dtype = (uint8_t)sc_dtype_from_pt2(t->dtype),
                                  .rank = t->rank,
                                  .sizes = t->sizes,
                                  .strides = t->strides,
                                  .numel = t->numel};
        const uint64_t first = (uint64_t)t->storage_offset * t->item_bytes;
        if (t->numel && t->storage && !t->storage->missing && sc_pickle_tensor_bytes(t, &bytes) &&
            bytes <= t->storage->extent.size && first < bytes)
            sc_extent_slice(t->storage->extent, first, bytes - first, &tensor.data);
        value = (sc_dump_value){.kind = SC_DUMP_TENSOR, .tensors = &tensor, .tensor_count = 1};
    }
    SC_TRY(sc_numbers_of(ctx, arena, &value, &one));
    for (uint32_t i = 0; i < one.count; i++) sc_vec_push(ctx->arena, out, one.items[i]);
    return SC_OK;
}

static const sc_pickle_value *cases_of(const sc_etrecord *record, sc_str method) {
    const sc_pickle_value *all = record->reference_outputs;
    if (!all || all->kind != SC_PICKLE_DICT) return NULL;
    for (uint32_t i = 0; i < all->count; i++)
        if (all->items[2 * i]->kind == SC_PICKLE_STR &&
            sc_str_equal(sc_pickle_str(all->items[2 * i]), method))
            return all->items[2 * i + 1];
    return NULL;
}

// --- One method after the other ------------------------------------------------------------------

typedef struct measured {
    const sc_inspect_method *method;
    const sc_etrecord_program *stage;
    sc_reference reference;
    const char *outputs_from;
} measured;

typedef struct measuring {
    sc_ctx *ctx;
    const sc_inspector *inspector;
    sc_arena *values;  // arena of the elements
    sc_inspect_gaps gaps;
    SC_VEC(measured) methods;
} measuring;

static sc_status find_stage(sc_ctx *ctx, const sc_inspector *inspector, sc_str reference,
                            const sc_etrecord_program *edge, const sc_etrecord_program **out) {
    *out = edge;
    if (!reference.size || sc_str_is(reference, SC_ETRECORD_EDGE)) return SC_OK;
    if (sc_str_is(reference, SC_ETRECORD_EXPORTED) && inspector->method_count == 1)
        return sc_inspector_stage(ctx, inspector, reference, (sc_str){0}, out);
    return sc_inspector_stage(ctx, inspector, reference, edge->method_name, out);
}

static sc_status measure(measuring *m, const sc_inspect_method *method, sc_str reference) {
    const sc_inspector *inspector = m->inspector;
    const sc_etrecord_program *edge = &inspector->record.edge.data[method - inspector->methods];
    measured one = {.method = method, .reference.values = m->values, .outputs_from = "none"};
    SC_TRY(find_stage(m->ctx, inspector, reference, edge, &one.stage));
    SC_TRY(sc_reference_run(m->ctx, &inspector->record, one.stage, edge, &one.reference));
    SC_TRY(sc_inspect_gaps_of(inspector->found, method, one.reference.rows, one.reference.count,
                              &m->gaps));
    sc_vec_push(m->ctx->arena, &m->methods, one);
    return SC_OK;
}

static bool has_values(const sc_inspect_block *block) {
    bool has = block->output_count > 0;
    for (uint32_t i = 0; i < block->event_count && !has; i++)
        has = block->events[i].value_count > 0;
    return has;
}

// The named method, or else each method with values in the dump.
static sc_status measure_all(measuring *m, const sc_inspector_query_args *args) {
    const sc_inspection *found = m->inspector->found;
    const sc_inspect_method *only;
    for (uint32_t i = 0; !args->method.size && !found->asked && i < m->inspector->method_count;
         i++) {
        bool has = false;
        for (uint32_t b = 0; b < found->block_count && !has; b++)
            has = found->blocks[b].method == &m->inspector->methods[i] &&
                  has_values(&found->blocks[b]);
        if (has) SC_TRY(measure(m, &m->inspector->methods[i], args->reference));
    }
    if (m->methods.count) return SC_OK;
    SC_TRY(sc_inspector_method(m->ctx, m->inspector, args->method, &only));
    return measure(m, only, args->reference);
}

// --- Outputs -------------------------------------------------------------------------------------

// The values of the case that a block names; if it names none, of the only case.
static sc_status recorded_outputs(const measuring *m, const sc_inspect_method *method,
                                  const sc_inspect_block *block, sc_numbers_vec *out, bool *has) {
    const sc_etrecord *record = &m->inspector->record;
    const sc_pickle_value *cases = cases_of(record, method->name);
    *has = false;
    if (!cases && record->edge.count == 1) cases = cases_of(record, SC_STR("forward"));
    if (!cases || !sc_pickle_is_sequence(cases) || cases->count == 0) return SC_OK;
    uint32_t index = cases->count == 1 ? 0 : SC_INSPECT_NONE;
    if (block->bundled_index >= 0) index = (uint32_t)block->bundled_index;
    if (index >= cases->count || !sc_pickle_is_sequence(cases->items[index])) return SC_OK;
    const sc_pickle_value *outputs = cases->items[index];
    for (uint32_t i = 0; i < outputs->count; i++)
        SC_TRY(add_recorded(m->ctx, m->values, outputs->items[i], out));
    *has = true;
    return SC_OK;
}

typedef struct output {
    const sc_inspect_method *method;
    uint32_t block, index;
    bool is_placed;
} output;

static void put_output(sc_json_writer *w, output o, const sc_numbers *reference,
                       const sc_numbers *found) {
    sc_gap gap;
    sc_json_begin_object(w);
    sc_json_put_str(w, "method", o.method->name);
    sc_json_put_u64(w, "block", o.block);
    sc_json_put_u64(w, "output", o.index);
    sc_json_key(w, "reference");
    sc_numbers_put(w, reference, o.is_placed);
    sc_json_key(w, "found");
    sc_numbers_put(w, found, o.is_placed);
    sc_json_key(w, "gap");
    if (sc_gap_of(reference, found, &gap))
        sc_gap_put(w, &gap);
    else
        sc_json_add_null(w);
    sc_json_end_object(w);
}

// The results of the model, without the inputs that it writes.
static uint32_t result_count(const sc_inspect_method *method, const measuring *m) {
    const size_t index = (size_t)(method - m->inspector->methods);
    const sc_method *edge = m->inspector->record.edge.data[index].method;
    uint32_t count = 0;
    for (uint32_t i = 0; edge && i < edge->outputs.count; i++)
        count += !sc_output_is_mutation(edge->outputs.data[i].kind);
    return count;
}

static sc_status put_block_outputs(measuring *m, measured *of, uint32_t index, sc_json_writer *w) {
    const sc_inspect_block *block = &m->inspector->found->blocks[index];
    sc_numbers_list found;
    sc_numbers_vec wanted = {0};
    bool is_recorded;
    if (block->method != of->method || block->output_count == 0) return SC_OK;
    SC_TRY(sc_numbers_of_all(m->ctx, m->values, block->outputs, block->output_count, &found));
    SC_TRY(recorded_outputs(m, of->method, block, &wanted, &is_recorded));
    of->outputs_from = is_recorded ? "recorded" : "computed";
    if (!is_recorded) wanted = of->reference.outputs;
    // A program that writes to its inputs returns these first. Outputs that a pass has added come
    // last, and the reference has none of them.
    const uint32_t first = found.count - sc_min_u32(found.count, result_count(of->method, m));
    const uint32_t count = sc_min_u32(found.count - first, wanted.count);
    for (uint32_t i = 0; i < count; i++)
        put_output(w, (output){of->method, index, i, m->gaps.are_placed}, &wanted.data[i],
                   &found.items[first + i]);
    return SC_OK;
}

static sc_status put_outputs(measuring *m, sc_json_writer *w) {
    sc_json_put_array(w, "outputs");
    for (uint32_t k = 0; k < m->methods.count; k++)
        for (uint32_t i = 0; i < m->inspector->found->block_count; i++)
            SC_TRY(put_block_outputs(m, &m->methods.data[k], i, w));
    sc_json_end_array(w);
    return SC_OK;
}

// --- The query -----------------------------------------------------------------------------------

static void put_methods(const measuring *m, sc_json_writer *w) {
    sc_json_put_array(w, "methods");
    for (uint32_t i = 0; i < m->methods.count; i++) {
        const measured *one = &m->methods.data[i];
        sc_json_begin_object(w);
        sc_json_put_str(w, "method", one->method->name);
        sc_json_put_text(w, "inputs", one->reference.inputs);
        sc_json_put_text(w, "outputsFrom", one->outputs_from);
        sc_json_end_object(w);
    }
    sc_json_end_array(w);
}

static bool has_outputs(const measuring *m) {
    const sc_inspection *found = m->inspector->found;
    for (uint32_t k = 0; k < m->methods.count; k++)
        for (uint32_t i = 0; i < found->block_count; i++)
            if (found->blocks[i].method == m->methods.data[k].method &&
                found->blocks[i].output_count)
                return true;
    return false;
}

static const char *NO_VALUES = "Log intermediate values, and pass the dump's debug buffer.";

// Requested elements live as long as the answer.
sc_status sc_inspector_put_gap(sc_ctx *ctx, const sc_inspector *inspector,
                               const sc_inspector_query_args *args, sc_json_writer *w) {
    measuring m = {.ctx = ctx, .inspector = inspector, .gaps.are_placed = args->values};
    m.values = m.gaps.values = args->values ? w->out->arena : ctx->arena;
    if (inspector->dump->value_count == 0)
        return sc_fail(ctx, SC_ERR_STATE, NO_VALUES, "the dump has no values, only times");
    SC_TRY(measure_all(&m, args));
    if (!m.gaps.rows.count && !m.gaps.skipped.count && !has_outputs(&m))
        return sc_fail(ctx, SC_ERR_MISMATCH, "Pass the record that was saved with the program.",
                       "no event of the dump belongs to a node of the record");
    sc_json_begin_object(w);
    sc_json_put_str(w, "reference", m.methods.data[0].stage->stage);
    sc_inspect_put_gaps(w, inspector->found, &m.gaps);
    SC_TRY(put_outputs(&m, w));
    put_methods(&m, w);
    sc_json_end_object(w);
    return SC_OK;
}
