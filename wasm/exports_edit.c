// Functions of the host in the middle of the call that runs them: passes change a method,
// partitioners read it, planners place its values.
#include "exports.h"

// A text result.
EXPORT(edit_method) int32_t wasm_edit_method(sc_job *job) {
    check(job);
    sc_str json = {0};
    sc_status status = sc_edit_method_json(job, &json);
    return keep_text(job, status, json);
}

// A text result.
EXPORT(edit_change)
int32_t wasm_edit_change(sc_job *job, const char *change, uint32_t change_bytes) {
    check(job);
    sc_str json = {0};
    sc_status status = sc_edit_change(job, text_of(change, change_bytes), &json);
    return keep_text(job, status, json);
}

// A text result.
EXPORT(edit_add_constant)
int32_t wasm_edit_add_constant(sc_job *job, const char *constant, uint32_t constant_bytes,
                               const void *data, uint32_t bytes) {
    check(job);
    sc_str json = {0};
    sc_status status =
        sc_edit_add_constant(job, text_of(constant, constant_bytes), data, bytes, &json);
    return keep_text(job, status, json);
}

EXPORT(edit_read_constant)
int32_t wasm_edit_read_constant(sc_job *job, uint32_t input, void *out, uint32_t bytes) {
    check(job);
    return (int32_t)sc_edit_read_constant(job, input, out, bytes);
}

// A text result.
EXPORT(edit_text) int32_t wasm_edit_text(sc_job *job) {
    check(job);
    sc_str text = {0};
    sc_status status = sc_edit_text(job, &text);
    return keep_text(job, status, text);
}

EXPORT(edit_read)
int32_t wasm_edit_read(sc_job *job, uint32_t program, const char *method, uint32_t method_bytes,
                       uint32_t reader) {
    check(job);
    return (int32_t)sc_edit_read(job, program, text_of(method, method_bytes), reader);
}

EXPORT(edit_partition)
int32_t wasm_edit_partition(sc_job *job, const char *json, uint32_t json_bytes) {
    check(job);
    return (int32_t)sc_edit_partition(job, text_of(json, json_bytes));
}

// A text result.
EXPORT(plan_request) int32_t wasm_plan_request(sc_job *job) {
    check(job);
    sc_str json = {0};
    sc_status status = sc_plan_request_json(job, &json);
    return keep_text(job, status, json);
}

EXPORT(plan_answer)
int32_t wasm_plan_answer(sc_job *job, const char *json, uint32_t json_bytes) {
    check(job);
    return (int32_t)sc_plan_request_answer(job, text_of(json, json_bytes));
}

EXPORT(edit_end_pass)
int32_t wasm_edit_end_pass(sc_job *job, const char *pass, uint32_t pass_bytes) {
    check(job);
    return (int32_t)sc_edit_end_pass(job, text_of(pass, pass_bytes));
}
