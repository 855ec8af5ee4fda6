// A delegated part as the first argument of its call. One text contains the backend's compile
// specs, the bytes that it made, and the program that it was given, with its weights.
#include "pt2/serde_write.h"

static void put_specs(sc_serde_writer *w, const sc_part *part) {
    sc_json_put_array(&w->json, "compile_specs");
    for (uint32_t i = 0; i < part->specs.count; i++) {
        const sc_str value = part->specs.data[i].value;
        const void *copy = sc_str_copy(w->ctx->arena, value).data;
        sc_json_begin_object(&w->json);
        sc_json_put_str(&w->json, "key", part->specs.data[i].key);
        sc_serde_put_base64(
            w, "value", sc_extent_whole(sc_source_from_memory(w->ctx->arena, copy, value.size)));
        sc_json_end_object(&w->json);
    }
    sc_json_end_array(&w->json);
}

// --- Named data ----------------------------------------------------------------------------------

static void put_layout(sc_serde_writer *w, const sc_spec *layout) {
    uint8_t order[SC_RANK_MAX];
    if (!layout || !sc_spec_dim_order(w->method->exprs, layout, order)) {
        sc_json_put_null(&w->json, "tensor_layout");
        return;
    }
    sc_json_put_object(&w->json, "tensor_layout");
    sc_json_put_u64(&w->json, "scalar_type", layout->dtype);
    sc_json_put_array(&w->json, "sizes");
    for (uint32_t i = 0; i < layout->rank; i++) sc_json_add_i64(&w->json, layout->sizes[i].value);
    sc_json_end_array(&w->json);
    sc_json_put_array(&w->json, "dim_order");
    for (uint32_t i = 0; i < layout->rank; i++) sc_json_add_u64(&w->json, order[i]);
    sc_json_end_array(&w->json);
    sc_json_end_object(&w->json);
}

static void put_entry(sc_serde_writer *w, const sc_part_data *data, uint32_t index) {
    sc_json_key_str(&w->json, data->key);
    sc_json_begin_object(&w->json);
    sc_json_put_u64(&w->json, "buffer_index", index);
    sc_json_put_u64(&w->json, "alignment", data->align);
    put_layout(w, data->layout);
    sc_json_end_object(&w->json);
}

// The entries of one file.
static void put_entries(sc_serde_writer *w, const sc_part *part, sc_str tag) {
    sc_json_begin_object(&w->json);
    for (uint32_t i = 0; i < part->data.count; i++)
        if (sc_str_equal(part->data.data[i].tag, tag)) put_entry(w, &part->data.data[i], i);
    sc_json_end_object(&w->json);
}

static bool is_first_of_file(const sc_part *part, uint32_t index) {
    const sc_str tag = part->data.data[index].tag;
    for (uint32_t i = 0; i < index; i++)
        if (sc_str_equal(part->data.data[i].tag, tag)) return false;
    return tag.size > 0;
}

static void put_data(sc_serde_writer *w, const sc_part *part) {
    sc_json_begin_object(&w->json);
    sc_json_put_array(&w->json, "buffers");
    for (uint32_t i = 0; i < part->data.count; i++)
        sc_serde_add_base64(w, sc_serde_extent(w, part->data.data[i].bytes));
    sc_json_end_array(&w->json);
    sc_json_key(&w->json, "pte_data");
    put_entries(w, part, SC_STR(""));
    sc_json_put_object(&w->json, "external_data");
    for (uint32_t i = 0; i < part->data.count; i++)
        if (is_first_of_file(part, i)) {
            sc_json_key_str(&w->json, part->data.data[i].tag);
            put_entries(w, part, part->data.data[i].tag);
        }
    sc_json_end_object(&w->json);
    sc_json_end_object(&w->json);
}

static void put_named_data(sc_serde_writer *w, const sc_part *part) {
    sc_serde_writer inner;
    sc_cord json;
    if (part->data.count == 0 || w->options->light) return;
    sc_cord_init(&json, w->work);
    sc_serde_begin(&inner, w, &json);
    put_data(&inner, part);
    sc_serde_flush(&inner, true);
    sc_serde_put_json(w, "named_data_store", &json);
}

// --- The part ------------------------------------------------------------------------------------

static sc_status put_weights(sc_serde_writer *w, const sc_method *method) {
    sc_extent state = {0}, constants = {0};
    if (!w->options->light) {
        SC_TRY(sc_serde_write_constants(w, method, true, &state));
        SC_TRY(sc_serde_write_constants(w, method, false, &constants));
    }
    sc_serde_put_base64(w, "original_state_dict", state);
    sc_serde_put_base64(w, "original_constants", constants);
    return SC_OK;
}

static sc_status put_part(sc_serde_writer *w, const sc_part *part) {
    sc_json_begin_object(&w->json);
    sc_json_put_str(&w->json, "backend_id", part->backend);
    sc_serde_put_base64(w, "processed_bytes", sc_serde_extent(w, part->processed));
    put_specs(w, part);
    sc_json_key(&w->json, "original_module");
    w->method = part->method;
    w->in_part = true;
    SC_TRY(sc_serde_put_program(w));
    SC_TRY(put_weights(w, part->method));
    put_named_data(w, part);
    sc_json_end_object(&w->json);
    sc_serde_flush(w, true);
    return SC_OK;
}

sc_status sc_serde_put_part(sc_serde_writer *w, const sc_part *part) {
    sc_serde_writer inner;
    sc_cord json;
    sc_cord_init(&json, w->work);
    sc_serde_begin(&inner, w, &json);
    SC_TRY(put_part(&inner, part));
    sc_json_begin_object(&w->json);
    sc_serde_put_json(w, "as_string", &json);
    sc_json_end_object(&w->json);
    return SC_OK;
}
