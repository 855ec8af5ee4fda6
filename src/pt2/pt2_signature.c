// The top graph's inputs and outputs together with the signature, which says how the caller uses
// each one: a parameter, a buffer that is written back, a flag frozen at export.
#include "pt2/pt2.h"

// --- Inputs --------------------------------------------------------------------------------------

typedef struct input_row {
    const char *tag, *target_key;
    sc_input_kind kind;
} input_row;

static const input_row input_rows[] = {
    {"parameter", "parameter_name", SC_INPUT_PARAMETER},
    {"buffer", "buffer_name", SC_INPUT_BUFFER},
    {"user_input", NULL, SC_INPUT_USER},
    {"tensor_constant", "tensor_constant_name", SC_INPUT_CONSTANT_TENSOR},
    {"custom_obj", "custom_obj_name", SC_INPUT_CUSTOM_OBJ},
    {"token", NULL, SC_INPUT_TOKEN},
    {"constant_input", NULL, SC_INPUT_CONSTANT},
};

// The official writer's mark for weights that it does not have.
static bool is_placeholder(const sc_pt2_importer *imp, const sc_pt2_payload *payload) {
    return imp->is_serde && payload->object &&
           sc_str_ends_with(sc_str_from(payload->object), "_reconstruct_fake_tensor");
}

static sc_status find_payload(sc_pt2_importer *imp, const sc_input_sig *sig,
                              const sc_pt2_payload **out) {
    // Buffers that are not persistent are stored among the constants; old writers vary.
    bool weight =
        sig->kind == SC_INPUT_PARAMETER || (sig->kind == SC_INPUT_BUFFER && sig->persistent);
    const sc_map *first = weight ? &imp->payloads.weights : &imp->payloads.constants;
    const sc_map *second = weight ? &imp->payloads.constants : &imp->payloads.weights;
    *out = sc_map_get(first, sig->target);
    if (!*out) *out = sc_map_get(second, sig->target);
    if (!*out)
        return sc_fail(imp->ctx, SC_ERR_CORRUPT, NULL, "the file has no data for '" SC_STR_FMT "'",
                       SC_STR_ARG(sig->target));
    if ((*out)->object && !is_placeholder(imp, *out))
        return sc_fail(imp->ctx, SC_ERR_UNSUPPORTED,
                       "Call unwrap_tensor_subclass(model) before export, or save the program "
                       "after run_decompositions().",
                       "'" SC_STR_FMT "' is %s, not a plain tensor", SC_STR_ARG(sig->target),
                       (*out)->object);
    return SC_OK;
}

// A constant whose data is absent, known only by its entry in the graph. That is enough to inspect
// it.
static sc_status attach_placeholder(sc_pt2_importer *imp, const sc_value *value,
                                    sc_input_sig *sig) {
    if (value->type != SC_VALUE_TENSOR || !sc_spec_is_static(&value->spec))
        return sc_fail(imp->ctx, SC_ERR_CORRUPT, NULL, "'" SC_STR_FMT "' has no fixed size",
                       SC_STR_ARG(sig->target));
    imp->lacks_data = true;
    sig->constant = sc_new(imp->ctx->arena, sc_constant);
    *sig->constant = (sc_constant){.name = sig->target,
                                   .spec = value->spec,
                                   .persistent = sig->kind != SC_INPUT_BUFFER || sig->persistent};
    sig->constant->spec.offset = sc_dim_int(0);
    return SC_OK;
}

static sc_status attach_constant(sc_pt2_importer *imp, sc_value *value, sc_input_sig *sig) {
    const sc_pt2_payload *payload;
    if (imp->is_light) return attach_placeholder(imp, value, sig);
    SC_TRY(find_payload(imp, sig, &payload));
    if (payload->object) return attach_placeholder(imp, value, sig);
    SC_TRY(
        sc_pt2_make_constant(imp->ctx, imp->method->exprs, payload, sig->target, &sig->constant));
    sig->constant->persistent = sig->kind != SC_INPUT_BUFFER || sig->persistent;
    const sc_spec *stored = &sig->constant->spec;
    if (value->type != SC_VALUE_TENSOR || value->spec.dtype != stored->dtype ||
        !sc_spec_same_sizes(&value->spec, stored))
        return sc_fail(imp->ctx, SC_ERR_CORRUPT, NULL,
                       "'" SC_STR_FMT
                       "' is stored with a different shape or dtype than the graph has",
                       SC_STR_ARG(sig->target));
    return SC_OK;
}

static void set_constant_value(sc_value *value, const sc_arg *constant) {
    if (constant->kind == SC_ARG_INT || constant->kind == SC_ARG_BOOL) {
        value->has_dim = true;
        value->dim = sc_dim_int(constant->kind == SC_ARG_INT ? constant->i : constant->b);
    }
}

// {"constant_input": {"name": text, "value": {...}}}; in the graph the value has no name.
static sc_status add_constant_input(sc_pt2_scope *scope, const sc_json *spec, sc_pt2_slot slot,
                                    sc_input_sig *sig) {
    sc_value *value;
    if (!slot.constant)
        return sc_fail(scope->imp->ctx, SC_ERR_CORRUPT, NULL, "a constant input has no value");
    sc_str name = sc_json_str(scope->imp->work, sc_json_get(spec, "name"));
    slot.name = name.size ? name : SC_STR("constant");
    sc_mark mark = sc_arena_mark(scope->imp->ctx->scratch);
    SC_TRY(sc_pt2_read_arg(scope, slot.constant, &sig->constant_value));
    SC_TRY(sc_pt2_add_input(scope, &slot, &value));
    // Only strings and numbers are allowed, so that no part of it lives on scratch.
    bool plain = sig->constant_value.kind != SC_ARG_LIST &&
                 sig->constant_value.kind != SC_ARG_VALUE &&
                 sig->constant_value.kind != SC_ARG_GRAPH;
    set_constant_value(value, &sig->constant_value);
    sc_arena_rewind(scope->imp->ctx->scratch, mark);
    return plain ? SC_OK
                 : sc_fail(scope->imp->ctx, SC_ERR_UNSUPPORTED, NULL,
                           "an input is frozen to something other than a number or text");
}

// Records that outputs may write to this input. Inputs of different kinds may share a name.
static void allow_writes(sc_pt2_importer *imp, const sc_input_sig *sig, const sc_value *value) {
    sc_output_kind kind = sig->kind == SC_INPUT_BUFFER      ? SC_OUTPUT_BUFFER_MUTATION
                          : sig->kind == SC_INPUT_PARAMETER ? SC_OUTPUT_PARAMETER_MUTATION
                          : sig->kind == SC_INPUT_USER      ? SC_OUTPUT_INPUT_MUTATION
                                                            : SC_OUTPUT_USER;
    sc_str name = sig->kind == SC_INPUT_USER ? sc_name_str(value->name) : sig->target;
    uintptr_t kinds = (uintptr_t)sc_map_get(&imp->written, name);
    sc_map_set(&imp->written, name, (void *)(kinds | (uintptr_t)1 << kind));
}

// The name in the spec must be the one in the graph. "arg" is an Argument for user inputs, and the
// content of the Argument for the others.
static sc_status check_spec_name(sc_pt2_scope *scope, const sc_json *spec, sc_input_kind kind,
                                 const sc_pt2_slot *slot) {
    const sc_json *arg = sc_json_get(spec, "arg");
    sc_str name = sc_json_str(scope->imp->work, sc_json_get(arg, "name"));
    if (kind == SC_INPUT_USER) {
        sc_pt2_slot named;
        SC_TRY(sc_pt2_read_slot(scope, arg, &named));
        name = named.name;
    }
    if (!sc_str_equal(name, slot->name))
        return sc_fail(scope->imp->ctx, SC_ERR_CORRUPT, NULL,
                       "input '" SC_STR_FMT "' is called '" SC_STR_FMT "' in the signature",
                       SC_STR_ARG(slot->name), SC_STR_ARG(name));
    return SC_OK;
}

static sc_status add_named_input(sc_pt2_scope *scope, const sc_json *spec, const sc_pt2_slot *slot,
                                 sc_input_sig *sig) {
    sc_value *value;
    SC_TRY(check_spec_name(scope, spec, sig->kind, slot));
    if (sig->kind == SC_INPUT_TOKEN) return sc_pt2_define(scope, slot->name, NULL);
    SC_TRY(sc_pt2_add_input(scope, slot, &value));
    allow_writes(scope->imp, sig, value);
    if (!sc_input_has_constant(sig->kind)) return SC_OK;
    if (sig->target.size == 0)
        return sc_fail(scope->imp->ctx, SC_ERR_FORMAT, NULL, "an input has no name in the model");
    return attach_constant(scope->imp, value, sig);
}

static sc_status read_input(sc_pt2_scope *scope, const sc_json *input, const sc_json *json) {
    sc_ctx *ctx = scope->imp->ctx;
    sc_str tag;
    const sc_json *spec;
    sc_pt2_slot slot;
    const input_row *row = NULL;
    SC_TRY(sc_json_union(ctx, json, "input spec", &tag, &spec));
    for (size_t i = 0; i < SC_COUNT_OF(input_rows); i++)
        if (sc_str_is(tag, input_rows[i].tag)) row = &input_rows[i];
    if (!row) return sc_fail(ctx, SC_ERR_FORMAT, NULL, "unknown kind of input");
    SC_TRY(sc_pt2_read_slot(scope, input, &slot));
    sc_input_sig sig = {.kind = row->kind, .target = SC_STR("")};
    if (row->target_key) sig.target = sc_pt2_keep(scope->imp, sc_json_get(spec, row->target_key));
    // Buffers are persistent unless the file says otherwise. Very old files cannot say so.
    sig.persistent = row->kind == SC_INPUT_BUFFER;
    sc_json_bool(sc_json_get(spec, "persistent"), &sig.persistent);
    // A user input that is a constant instead of a name was frozen as well.
    if (slot.constant) {
        sig.kind = SC_INPUT_CONSTANT;
        SC_TRY(add_constant_input(scope, spec, slot, &sig));
    } else {
        SC_TRY(add_named_input(scope, spec, &slot, &sig));
    }
    if (sig.kind != SC_INPUT_TOKEN) sc_vec_push(ctx->arena, &scope->imp->method->inputs, sig);
    return SC_OK;
}

static sc_status check_lists(sc_ctx *ctx, const sc_json *values, const sc_json *specs,
                             const char *what) {
    if (!specs || specs->kind != SC_JSON_ARRAY || specs->size != values->size)
        return sc_fail(ctx, SC_ERR_CORRUPT, NULL,
                       "the signature and the graph have different numbers of %s", what);
    return SC_OK;
}

sc_status sc_pt2_read_inputs(sc_pt2_scope *scope, const sc_json *inputs, const sc_json *signature) {
    const sc_json *specs = sc_json_get(signature, "input_specs");
    SC_TRY(check_lists(scope->imp->ctx, inputs, specs, "inputs"));
    const sc_json *input = sc_json_first(inputs), *spec = sc_json_first(specs);
    for (uint32_t i = 0; i < inputs->size; i++) {
        SC_TRY(read_input(scope, input, spec));
        input = sc_json_next(input);
        spec = sc_json_next(spec);
    }
    return SC_OK;
}

// --- Outputs -------------------------------------------------------------------------------------

typedef struct output_row {
    const char *tag, *target_key;
    sc_output_kind kind;
} output_row;

static const output_row output_rows[] = {
    {"user_output", NULL, SC_OUTPUT_USER},
    {"buffer_mutation", "buffer_name", SC_OUTPUT_BUFFER_MUTATION},
    {"parameter_mutation", "parameter_name", SC_OUTPUT_PARAMETER_MUTATION},
    {"user_input_mutation", "user_input_name", SC_OUTPUT_INPUT_MUTATION},
    {"loss_output", NULL, SC_OUTPUT_LOSS},
    {"gradient_to_parameter", "parameter_name", SC_OUTPUT_GRADIENT},
    {"gradient_to_user_input", "user_input_name", SC_OUTPUT_INPUT_GRADIENT},
    {"token", NULL, SC_OUTPUT_TOKEN},
};

static bool has_target(sc_pt2_importer *imp, const sc_output_sig *sig) {
    uintptr_t kinds = (uintptr_t)sc_map_get(&imp->written, sig->target);
    return kinds >> sig->kind & 1;
}

static sc_status read_output(sc_pt2_scope *scope, const sc_json *output, const sc_json *json,
                             sc_output_sig *sig, sc_arg *arg) {
    sc_ctx *ctx = scope->imp->ctx;
    sc_str tag;
    const sc_json *spec;
    const output_row *row = NULL;
    SC_TRY(sc_json_union(ctx, json, "output spec", &tag, &spec));
    for (size_t i = 0; i < SC_COUNT_OF(output_rows); i++)
        if (sc_str_is(tag, output_rows[i].tag)) row = &output_rows[i];
    if (!row) return sc_fail(ctx, SC_ERR_FORMAT, NULL, "unknown kind of output");
    *sig = (sc_output_sig){.kind = row->kind, .target = SC_STR("")};
    if (row->target_key) sig->target = sc_pt2_keep(scope->imp, sc_json_get(spec, row->target_key));
    SC_TRY(sc_pt2_read_arg(scope, output, arg));
    if (sc_output_is_mutation(sig->kind) &&
        (arg->kind != SC_ARG_VALUE || arg->value->type != SC_VALUE_TENSOR ||
         !has_target(scope->imp, sig)))
        return sc_fail(ctx, SC_ERR_CORRUPT, NULL,
                       "an output writes to '" SC_STR_FMT
                       "', which is not an input that it can write to",
                       SC_STR_ARG(sig->target));
    return SC_OK;
}

sc_status sc_pt2_read_outputs(sc_pt2_scope *scope, const sc_json *outputs,
                              const sc_json *signature) {
    sc_ctx *ctx = scope->imp->ctx;
    const sc_json *specs = sc_json_get(signature, "output_specs");
    SC_TRY(check_lists(ctx, outputs, specs, "outputs"));
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_arg *args = sc_new_array(ctx->scratch, sc_arg, outputs->size);
    uint32_t count = 0;
    const sc_json *output = sc_json_first(outputs), *spec = sc_json_first(specs);
    for (uint32_t i = 0; i < outputs->size; i++) {
        sc_output_sig sig;
        SC_TRY(read_output(scope, output, spec, &sig, &args[count]));
        if (sig.kind != SC_OUTPUT_TOKEN) {
            sc_vec_push(ctx->arena, &scope->imp->method->outputs, sig);
            count++;
        }
        output = sc_json_next(output);
        spec = sc_json_next(spec);
    }
    sc_graph_set_outputs(scope->graph, args, count);
    sc_arena_rewind(ctx->scratch, mark);
    return SC_OK;
}
