// Finds the parameters of a method and their gradients among its outputs. The file is hostile: all
// that the constant methods say is checked against the outputs that there are.
#include "core/training.h"
#include "rt/allocate.h"
#include "rt/method.h"
#include "rt/run/tensor.h"
#include "rt/train.h"

typedef struct trained {
    sc_str name;
    sc_tensor *parameter;
    uint8_t *gradient;  // kept, row-major
} trained;

struct sc_rt_trainer {
    sc_rt_program *program;
    sc_rt_method *method;
    uint32_t result_count, count;
    trained *items;
    uint8_t *memory;  // of the gradients
    bool is_kept;
};

// --- The constant methods ------------------------------------------------------------------------

static bool has_method(const sc_rt_program *program, sc_str name) {
    for (uint32_t i = 0; i < sc_rt_program_method_count(program); i++)
        if (sc_str_equal(sc_rt_program_method_name(program, i), name)) return true;
    return false;
}

static sc_status find_method(sc_ctx *ctx, sc_rt_trainer *t, const char *prefix, sc_str method,
                             sc_rt_method **out) {
    const sc_str name = sc_str_format(ctx->scratch, "%s" SC_STR_FMT, prefix, SC_STR_ARG(method));
    if (!has_method(t->program, name))
        return sc_fail(ctx, SC_ERR_NOT_FOUND,
                       "Export a graph of loss and gradients with "
                       "torch.export.experimental._export_forward_backward.",
                       "method '" SC_STR_FMT "' computes no gradients of parameters",
                       SC_STR_ARG(method));
    return sc_rt_method_load(ctx, t->program, name, out);
}

static sc_status bad(sc_ctx *ctx, const sc_rt_trainer *t, const char *what) {
    return sc_fail(ctx, SC_ERR_CORRUPT, NULL,
                   "the file describes the training of '" SC_STR_FMT "' wrongly: %s",
                   SC_STR_ARG(t->method->name), what);
}

static sc_status read_index(sc_ctx *ctx, sc_rt_trainer *t, const char *prefix, int64_t *out) {
    sc_rt_method *method;
    SC_TRY(find_method(ctx, t, prefix, t->method->name, &method));
    if (method->output_count != 1 || sc_rt_method_output(method, 0)->tag != SC_EVALUE_INT)
        return bad(ctx, t, "an index is not one integer");
    *out = sc_rt_method_output(method, 0)->i;
    return SC_OK;
}

static sc_status read_names(sc_ctx *ctx, sc_rt_trainer *t) {
    sc_rt_method *method;
    sc_map seen;
    sc_map_init(&seen, ctx->scratch);
    SC_TRY(find_method(ctx, t, SC_TRAINING_NAMES, t->method->name, &method));
    t->count = method->output_count;
    t->items = sc_new_array(&t->program->arena, trained, (size_t)t->count + 1);
    for (uint32_t i = 0; i < t->count; i++) {
        const sc_evalue *value = sc_rt_method_output(method, i);
        if (value->tag != SC_EVALUE_STRING || !sc_map_add(&seen, value->str, &seen))
            return bad(ctx, t, "the names of the parameters are not all different texts");
        t->items[i].name = value->str;
    }
    return SC_OK;
}

// Parameters are the last outputs, and gradients come before them. The official exporter counts
// buffers that the method writes as outputs, too, which they are not: its indices may be too large
// by their number, both alike.
static sc_status find_outputs(sc_ctx *ctx, sc_rt_trainer *t) {
    const int64_t count = t->count, outputs = t->method->output_count;
    int64_t gradients = 0, parameters = 0;
    SC_TRY(read_index(ctx, t, SC_TRAINING_GRADIENTS, &gradients));
    SC_TRY(read_index(ctx, t, SC_TRAINING_PARAMETERS, &parameters));
    if (count == 0 || outputs < 2 * count)
        return bad(ctx, t, "it has fewer outputs than gradients and parameters");
    if (gradients < outputs - 2 * count || gradients > INT32_MAX || parameters != gradients + count)
        return bad(ctx, t, "an index does not fit the outputs");
    t->result_count = (uint32_t)(outputs - 2 * count);
    return SC_OK;
}

// --- Parameters ----------------------------------------------------------------------------------

static bool is_alike(const sc_tensor *a, const sc_tensor *b) {
    return a->dtype == b->dtype && a->rank == b->rank &&
           (a->rank == 0 || memcmp(a->sizes, b->sizes, a->rank * sizeof(*a->sizes)) == 0);
}

static bool is_real(const sc_tensor *t) {
    return t->dtype == SC_DTYPE_F32 || t->dtype == SC_DTYPE_F64 || t->dtype == SC_DTYPE_F16 ||
           t->dtype == SC_DTYPE_BF16;
}

static sc_status check_tensors(sc_ctx *ctx, const sc_rt_trainer *t, const trained *item,
                               const sc_tensor *gradient) {
    const sc_tensor *p = item->parameter;
    if (p->is_dynamic || gradient->is_dynamic || !is_alike(p, gradient))
        return bad(ctx, t, "a gradient has another shape or dtype than its parameter");
    if (!is_real(p))
        return sc_fail(ctx, SC_ERR_UNSUPPORTED, "Export the model with floating-point parameters.",
                       "parameter '" SC_STR_FMT "' of dtype %s cannot be trained",
                       SC_STR_ARG(item->name), sc_dtype_name((sc_dtype)p->dtype));
    return SC_OK;
}

// Memory that nobody else writes and that survives a run: planned, with bytes to begin with.
static bool is_state(const sc_rt_method *m, uint32_t value) {
    const sc_rt_place *place = &m->places[value];
    return place->memory_id && place->is_state && !place->is_constant && !place->is_loose;
}

static sc_status bind_item(sc_ctx *ctx, sc_rt_trainer *t, uint32_t index) {
    const sc_rt_method *m = t->method;
    const uint32_t gradient = m->outputs[t->result_count + index];
    const uint32_t parameter = m->outputs[t->result_count + t->count + index];
    trained *item = &t->items[index];
    if (m->values[gradient].tag != SC_EVALUE_TENSOR || m->values[parameter].tag != SC_EVALUE_TENSOR)
        return bad(ctx, t, "a gradient or parameter is not a tensor");
    item->parameter = m->values[parameter].tensor;
    SC_TRY(check_tensors(ctx, t, item, m->values[gradient].tensor));
    if (!is_state(m, parameter))
        return sc_fail(ctx, SC_ERR_UNSUPPORTED, "Lower the joint graph again with this version.",
                       "parameter '" SC_STR_FMT "' of method '" SC_STR_FMT
                       "' is a constant or is written by the method, so that it cannot be trained",
                       SC_STR_ARG(item->name), SC_STR_ARG(m->name));
    return SC_OK;
}

static sc_status bind_gradients(sc_ctx *ctx, sc_rt_trainer *t) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < t->count; i++)
        if (!sc_add_u64(total, sc_align_up(sc_rt_tensor_bytes(t->items[i].parameter), 16), &total))
            return bad(ctx, t, "its parameters are too large");
    SC_TRY(sc_rt_allocate(ctx, sc_max_u64(total, 1), "the gradients", &t->memory));
    uint8_t *at = t->memory;
    for (uint32_t i = 0; i < t->count; i++) {
        t->items[i].gradient = at;
        at += sc_align_up(sc_rt_tensor_bytes(t->items[i].parameter), 16);
    }
    return SC_OK;
}

static sc_status open(sc_ctx *ctx, sc_rt_trainer *t, sc_str method) {
    SC_TRY(sc_rt_method_load(ctx, t->program, method, &t->method));
    SC_TRY(read_names(ctx, t));
    SC_TRY(find_outputs(ctx, t));
    for (uint32_t i = 0; i < t->count; i++) SC_TRY(bind_item(ctx, t, i));
    return bind_gradients(ctx, t);
}

sc_status sc_rt_trainer_open(sc_ctx *ctx, sc_rt_program *program, sc_str method,
                             sc_rt_trainer **out) {
    const sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_rt_trainer *trainer = sc_new(&program->arena, sc_rt_trainer);
    trainer->program = program;
    const sc_status status = open(ctx, trainer, method);
    sc_arena_rewind(ctx->scratch, mark);
    if (status == SC_OK) *out = trainer;
    return status;
}

void sc_rt_trainer_close(sc_rt_trainer *trainer) { sc_free(trainer->memory); }

// --- Reading -------------------------------------------------------------------------------------

sc_rt_method *sc_rt_trainer_method(const sc_rt_trainer *trainer) { return trainer->method; }
uint32_t sc_rt_trainer_result_count(const sc_rt_trainer *trainer) { return trainer->result_count; }
uint32_t sc_rt_trainer_count(const sc_rt_trainer *trainer) { return trainer->count; }
sc_str sc_rt_trainer_name(const sc_rt_trainer *trainer, uint32_t index) {
    return trainer->items[index].name;
}
const sc_tensor *sc_rt_trainer_parameter(const sc_rt_trainer *trainer, uint32_t index) {
    return trainer->items[index].parameter;
}
const void *sc_rt_trainer_gradient(const sc_rt_trainer *trainer, uint32_t index) {
    return trainer->is_kept ? trainer->items[index].gradient : NULL;
}

sc_status sc_rt_trainer_set(sc_ctx *ctx, sc_rt_trainer *trainer, uint32_t index, const void *data,
                            uint64_t bytes) {
    const trained *item = &trainer->items[index];
    const uint64_t own = sc_rt_tensor_bytes(item->parameter);
    if (bytes != own)
        return sc_fail(ctx, SC_ERR_ARGUMENT, "Give all elements of the parameter.",
                       "parameter '" SC_STR_FMT "' has %llu bytes, not %llu",
                       SC_STR_ARG(item->name), (unsigned long long)own, (unsigned long long)bytes);
    sc_tensor tensor = *item->parameter;
    sc_rt_tensor_write(&tensor, tensor.data, data);
    return SC_OK;
}

// A hostile run may have moved another value there.
static sc_status keep_item(sc_ctx *ctx, sc_rt_trainer *t, uint32_t index) {
    const sc_evalue *value = sc_rt_method_output(t->method, t->result_count + index);
    const trained *item = &t->items[index];
    const size_t bytes = (size_t)sc_rt_tensor_bytes(item->parameter);
    if (value->tag != SC_EVALUE_TENSOR || !is_alike(value->tensor, item->parameter) ||
        (bytes && !value->tensor->data))
        return bad(ctx, t, "a run gave a gradient of another shape or dtype");
    sc_rt_tensor_read(value->tensor, item->gradient, bytes);
    return SC_OK;
}

sc_status sc_rt_trainer_keep(sc_ctx *ctx, sc_rt_trainer *trainer) {
    trainer->is_kept = false;
    for (uint32_t i = 0; i < trainer->count; i++) SC_TRY(keep_item(ctx, trainer, i));
    trainer->is_kept = true;
    return SC_OK;
}
