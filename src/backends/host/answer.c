#include "backends/host/answer.h"

sc_status sc_host_answer_parse(sc_host_question *question, const sc_json **json) {
    return sc_json_parse(question->ctx, question->ctx->scratch, sc_host_answer_json(question),
                         json);
}

static bool whole(const sc_json *json, uint64_t *out) {
    int64_t value = -1;
    if (!sc_json_i64(json, &value) || value < 0) return false;
    *out = (uint64_t)value;
    return true;
}

bool sc_host_answer_range(const sc_host_question *question, const sc_json *range,
                          const uint8_t **bytes, uint64_t *size) {
    uint64_t offset = 0;
    if (!range || range->kind != SC_JSON_ARRAY || range->size != 2) return false;
    const sc_json *first = sc_json_first(range);
    if (!whole(first, &offset) || !whole(sc_json_next(first), size)) return false;
    if (offset > question->bytes || *size > question->bytes - offset) return false;
    *bytes = (const uint8_t *)question->answer + question->json_bytes + offset;
    return true;
}

sc_status sc_host_answer_malformed(const sc_host_question *question, const sc_host_backend *host,
                                   const char *what) {
    return sc_fail(question->ctx, SC_ERR_DELEGATE, NULL, "backend '" SC_STR_FMT "' gave %s",
                   SC_STR_ARG(host->id), what);
}

void sc_host_put_bytes(sc_json_writer *w, const char *key, const void *bytes, uint64_t size) {
    sc_json_put_array(w, key);
    sc_json_add_u64(w, (uintptr_t)bytes);
    sc_json_add_u64(w, size);
    sc_json_end_array(w);
}

void sc_host_put_spec(sc_json_writer *w, sc_str key, sc_str value) {
    sc_json_begin_object(w);
    sc_json_put_str(w, "key", key);
    sc_host_put_bytes(w, "value", value.data, value.size);
    sc_json_end_object(w);
}
