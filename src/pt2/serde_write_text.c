// How a document reaches its cord. Text goes in pages, and bytes as extents that become base64 when
// they are read. A document inside another is a string, escaped as often as it is nested.
#include "base/base64.h"
#include "pt2/serde_write.h"

enum { PAGE_BYTES = 32 << 10 };

void sc_serde_begin(sc_serde_writer *w, const sc_serde_writer *like, sc_cord *out) {
    *w = *like;
    w->out = out;
    sc_sb_init(&w->text, w->work);
    sc_json_writer_init(&w->json, &w->text, SC_JSON_PYTHON);
}

void sc_serde_flush(sc_serde_writer *w, bool all) {
    if (!all && w->text.size < PAGE_BYTES) return;
    sc_cord_append_copy(w->out, w->text.data, w->text.size);
    w->text.size = 0;
}

void sc_serde_put_named(sc_serde_writer *w, const char *tag, const char *key, sc_str name) {
    sc_json_begin_object(&w->json);
    sc_json_put_object(&w->json, tag);
    sc_json_put_str(&w->json, key, name);
    sc_json_end_object(&w->json);
    sc_json_end_object(&w->json);
}

void sc_serde_put_number(sc_serde_writer *w, const char *tag, int64_t value) {
    sc_json_begin_object(&w->json);
    sc_json_put_i64(&w->json, tag, value);
    sc_json_end_object(&w->json);
}

sc_extent sc_serde_extent(sc_serde_writer *w, const sc_cord *cord) {
    return cord->size ? sc_extent_whole(sc_source_from_cord(w->ctx->arena, cord)) : (sc_extent){0};
}

// Text of JSON, which is ASCII without control characters, as a string contains it.
static void add_escaped(sc_serde_writer *w, const sc_chunk *chunk) {
    const char *bytes = (const char *)chunk->bytes;
    for (uint64_t i = 0; i < chunk->size; i++) {
        if (bytes[i] == '"' || bytes[i] == '\\') sc_sb_add_char(&w->text, '\\');
        sc_sb_add_char(&w->text, bytes[i]);
        if (i % PAGE_BYTES == 0) sc_serde_flush(w, false);
    }
}

void sc_serde_put_json(sc_serde_writer *w, const char *key, const sc_cord *json) {
    sc_json_key(&w->json, key);
    sc_json_add_raw(&w->json, SC_STR("\""));
    for (uint32_t i = 0; i < json->chunks.count; i++) {
        const sc_chunk *chunk = &json->chunks.data[i];
        if (chunk->kind == SC_CHUNK_BYTES) {
            add_escaped(w, chunk);
        } else {
            sc_serde_flush(w, true);
            sc_cord_append_extent(w->out, chunk->extent);
        }
    }
    sc_sb_add_char(&w->text, '"');
}

void sc_serde_add_base64(sc_serde_writer *w, sc_extent bytes) {
    sc_json_add_raw(&w->json, SC_STR("\""));
    if (bytes.size) {
        sc_serde_flush(w, true);
        sc_cord_append_extent(w->out, sc_extent_whole(sc_source_base64(w->ctx->arena, bytes)));
    }
    sc_sb_add_char(&w->text, '"');
}

void sc_serde_put_base64(sc_serde_writer *w, const char *key, sc_extent bytes) {
    sc_json_key(&w->json, key);
    sc_serde_add_base64(w, bytes);
}
