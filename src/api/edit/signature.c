// Changes to the signature of a method: the dtype of an input, and constant methods in addition.
#include "api/constant_method_json.h"
#include "api/edit/edit.h"

static const sc_input_sig *input_of(const sc_edit *edit, const sc_value *value) {
    const sc_method *method = edit->method;
    for (uint32_t i = 0; i < method->inputs.count; i++)
        if (method->graph->inputs.data[i] == value) return &method->inputs.data[i];
    return NULL;
}

// Does the method write this input?
static bool is_written(const sc_edit *edit, const sc_value *value) {
    const sc_str name = sc_name_str(value->name);
    for (uint32_t i = 0; i < edit->method->outputs.count; i++) {
        const sc_output_sig *out = &edit->method->outputs.data[i];
        if (out->kind != SC_OUTPUT_USER && sc_str_equal(out->target, name)) return true;
    }
    return false;
}

sc_status sc_edit_set_dtype(sc_edit *edit, const sc_json *change, sc_json_writer *w) {
    sc_ctx *ctx = &edit->job->ctx;
    sc_value *value;
    SC_TRY(sc_edit_value(edit, sc_json_get(change, "value"), &value));
    const sc_dtype dtype =
        sc_dtype_from_short(sc_json_str(ctx->scratch, sc_json_get(change, "dtype")));
    if (dtype == SC_DTYPE_NONE)
        return sc_fail(ctx, SC_ERR_ARGUMENT, "Write it as node.meta.val has it: \"int8\".",
                       "the new dtype of '%s' is no dtype", value->name->text);
    const sc_input_sig *sig = input_of(edit, value);
    if (!sig || sig->kind != SC_INPUT_USER || value->type != SC_VALUE_TENSOR)
        return sc_fail(ctx, SC_ERR_ARGUMENT,
                       "Give an input that callers pass; addConstant() replaces a weight.",
                       "'%s' is not a tensor that callers of the method pass", value->name->text);
    if (is_written(edit, value))
        return sc_fail(ctx, SC_ERR_UNSUPPORTED, "Choose another input.",
                       "the method writes its input '%s', so its dtype cannot change",
                       value->name->text);
    return sc_edit_change_dtype(edit, value, dtype, w);
}

sc_status sc_edit_add_constant_method(sc_edit *edit, const sc_json *change) {
    sc_ctx *ctx = &edit->job->ctx;
    sc_constant_method method;
    const sc_str name = sc_json_str(ctx->arena, sc_json_get(change, "name"));
    SC_TRY(sc_constant_method_read(ctx, edit->program, name, sc_json_get(change, "value"),
                                   (sc_str){0}, &method));
    sc_vec_push(ctx->arena, &edit->program->constant_methods, method);
    return SC_OK;
}
