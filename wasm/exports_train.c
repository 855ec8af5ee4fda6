// Training of programs with gradients.
#include "exports.h"
#include "numbers.h"

// Text: {"results", "parameters"}.
EXPORT(train_open)
int32_t wasm_train_open(sc_job *job, const char *method, uint32_t method_bytes, uint32_t *trainer) {
    check(job);
    sc_str json = {0};
    sc_status status = sc_train_open(job, text_of(method, method_bytes), trainer, &json);
    return keep_text(job, status, json);
}

EXPORT(train_keep) int32_t wasm_train_keep(sc_job *job, uint32_t trainer) {
    check(job);
    return (int32_t)sc_train_keep(job, trainer);
}

// The numbers of run_output.
EXPORT(train_tensor)
int32_t wasm_train_tensor(sc_job *job, uint32_t trainer, uint32_t index, bool is_gradient,
                          double *numbers) {
    check(job);
    sc_io io = {.kind = SC_KIND_NONE};
    sc_status status = sc_train_tensor(job, trainer, index, is_gradient, &io);
    if (status == SC_OK) put_io(&io, numbers);
    return (int32_t)status;
}

EXPORT(train_set)
int32_t wasm_train_set(sc_job *job, uint32_t trainer, uint32_t index, const void *data,
                       uint32_t bytes) {
    check(job);
    return (int32_t)sc_train_set(job, trainer, index, data, bytes);
}

EXPORT(train_sgd)
int32_t wasm_train_sgd(sc_job *job, uint32_t trainer, double lr, double momentum, double dampening,
                       double weight_decay, bool nesterov, uint32_t *optimizer) {
    check(job);
    const sc_sgd options = {.lr = lr,
                            .momentum = momentum,
                            .dampening = dampening,
                            .weight_decay = weight_decay,
                            .nesterov = nesterov};
    return (int32_t)sc_train_sgd(job, trainer, &options, optimizer);
}

EXPORT(train_step) int32_t wasm_train_step(sc_job *job, uint32_t optimizer) {
    check(job);
    return (int32_t)sc_train_step(job, optimizer);
}

EXPORT(train_close) void wasm_train_close(sc_job *job, uint32_t optimizer) {
    check(job);
    sc_train_close(job, optimizer);
}
