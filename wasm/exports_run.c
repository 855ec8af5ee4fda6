// Programs that run: opening, inputs, outputs, training.
#include "core/spec.h"
#include "exports.h"

enum { NUMBERS_SIZES = 8, NUMBERS_DIM_ORDER = NUMBERS_SIZES + SC_RANK_MAX };

EXPORT(run_open)
int32_t wasm_run_open(sc_job *job, sc_source *pte, sc_source *const *ptds, uint32_t ptd_count,
                      const char *options, uint32_t options_bytes) {
    check(job);
    if (!pte) return SC_ERR_IO;
    for (uint32_t i = 0; i < ptd_count; i++)
        if (!ptds[i]) return SC_ERR_IO;
    return (int32_t)sc_run_open(job, pte, ptds, ptd_count, text_of(options, options_bytes));
}

EXPORT(run_inspect) int32_t wasm_run_inspect(sc_job *job) {
    check(job);
    sc_str json = {0};
    sc_status status = sc_run_inspect(job, &json);
    return keep_text(job, status, json);
}

EXPORT(run_part_text)
int32_t wasm_run_part_text(sc_job *job, const char *method, uint32_t method_bytes, uint32_t part) {
    check(job);
    sc_str text = {0};
    sc_status status = sc_run_part_text(job, text_of(method, method_bytes), part, &text);
    return keep_text(job, status, text);
}

EXPORT(run_select) int32_t wasm_run_select(sc_job *job, const char *method, uint32_t method_bytes) {
    check(job);
    return (int32_t)sc_run_select(job, text_of(method, method_bytes));
}

// Sizes cross as doubles; bytes are row-major.
EXPORT(run_set_tensor)
int32_t wasm_run_set_tensor(sc_job *job, uint32_t index, uint32_t dtype, uint32_t rank,
                            const double *sizes, const void *data, uint32_t bytes) {
    check(job);
    int64_t whole[SC_RANK_MAX] = {0};
    // A rank that is too large is refused behind this border, before anybody reads the sizes.
    for (uint32_t d = 0; d < rank && d < SC_RANK_MAX; d++) {
        uint64_t size = 0;
        if (!sc_u64_from_f64(sizes[d], EXACT_MAX, &size))
            return (int32_t)sc_fail(sc_job_ctx(job), SC_ERR_INPUT, NULL,
                                    "dimension %u of input %u is %g, which is not a size", d, index,
                                    sizes[d]);
        whole[d] = (int64_t)size;
    }
    sc_io io = {.kind = SC_KIND_TENSOR,
                .dtype = dtype,
                .rank = rank,
                .sizes = whole,
                .data = data,
                .bytes = bytes};
    return (int32_t)sc_run_set_input(job, index, &io);
}

EXPORT(run_set_int)
int32_t wasm_run_set_int(sc_job *job, uint32_t index, uint32_t low, int32_t high) {
    check(job);
    int64_t value = (int64_t)((uint64_t)(uint32_t)high << 32 | low);
    sc_io io = {.kind = SC_KIND_INT, .i = value};
    return (int32_t)sc_run_set_input(job, index, &io);
}

EXPORT(run_set_double) int32_t wasm_run_set_double(sc_job *job, uint32_t index, double value) {
    check(job);
    sc_io io = {.kind = SC_KIND_DOUBLE, .d = value};
    return (int32_t)sc_run_set_input(job, index, &io);
}

EXPORT(run_set_bool) int32_t wasm_run_set_bool(sc_job *job, uint32_t index, bool value) {
    check(job);
    sc_io io = {.kind = SC_KIND_BOOL, .i = value};
    return (int32_t)sc_run_set_input(job, index, &io);
}

EXPORT(run_set_string)
int32_t wasm_run_set_string(sc_job *job, uint32_t index, const char *text, uint32_t bytes) {
    check(job);
    sc_io io = {.kind = SC_KIND_STRING, .str = text_of(text, bytes)};
    return (int32_t)sc_run_set_input(job, index, &io);
}

EXPORT(run_set_none) int32_t wasm_run_set_none(sc_job *job, uint32_t index) {
    check(job);
    sc_io io = {.kind = SC_KIND_NONE};
    return (int32_t)sc_run_set_input(job, index, &io);
}

EXPORT(run_execute) int32_t wasm_run_execute(sc_job *job, bool reports_progress) {
    check(job);
    return (int32_t)sc_run_execute(job, reports_progress);
}

EXPORT(run_output_count) uint32_t wasm_run_output_count(sc_job *job) {
    check(job);
    return sc_run_output_count(job);
}

static void put_io(const sc_io *io, double *numbers) {
    bool is_text = io->kind == SC_KIND_STRING;
    numbers[0] = io->kind;
    numbers[1] = (double)(uint32_t)io->i;
    numbers[2] = (double)(int32_t)(io->i >> 32);
    numbers[3] = io->d;
    numbers[4] = io->dtype;
    numbers[5] = io->rank;
    numbers[6] = (double)(uintptr_t)(is_text ? (const void *)io->str.data : io->data);
    numbers[7] = (double)(is_text ? io->str.size : io->bytes);
    for (uint32_t d = 0; d < io->rank; d++) {
        numbers[NUMBERS_SIZES + d] = (double)io->sizes[d];
        numbers[NUMBERS_DIM_ORDER + d] = io->dim_order[d];
    }
}

// 40 numbers: kind, int low (unsigned), int high (signed), double, dtype, rank, address, bytes,
// then 16 sizes and 16 places of the dim order, the first `rank` of each in use.
EXPORT(run_output) int32_t wasm_run_output(sc_job *job, uint32_t index, double *numbers) {
    check(job);
    sc_io io = {.kind = SC_KIND_NONE};
    sc_status status = sc_run_output(job, index, &io);
    if (status == SC_OK) put_io(&io, numbers);
    return (int32_t)status;
}

EXPORT(run_reset) int32_t wasm_run_reset(sc_job *job) {
    check(job);
    return (int32_t)sc_run_reset(job);
}

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
