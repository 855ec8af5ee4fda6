#include "api/inspect/signature.h"

#include "backend/node_json.h"

static void add_inputs(sc_json_writer *w, sc_arena *arena, const sc_method *method) {
    static const char *const ROLES[] = {"user_input",      "parameter",  "buffer",
                                        "constant_tensor", "custom_obj", "token",
                                        "constant_input"};
    sc_json_put_array(w, "inputs");
    for (uint32_t i = 0; i < method->inputs.count; i++) {
        sc_json_begin_object(w);
        sc_value_put_json(w, arena, method->graph->inputs.data[i]);
        sc_json_put_text(w, "role", ROLES[method->inputs.data[i].kind]);
        sc_json_put_str(w, "target", method->inputs.data[i].target);
        sc_json_end_object(w);
    }
    sc_json_end_array(w);
}

static void add_outputs(sc_json_writer *w, sc_arena *arena, const sc_method *method) {
    static const char *const ROLES[] = {
        "user_output", "buffer_mutation", "parameter_mutation", "user_input_mutation",
        "loss",        "gradient",        "input_gradient",     "token",
        "trained"};
    sc_json_put_array(w, "outputs");
    for (uint32_t i = 0; i < method->outputs.count; i++) {
        const sc_arg *arg = &method->graph->ret->args[i];
        sc_json_begin_object(w);
        if (arg->kind == SC_ARG_VALUE)
            sc_value_put_json(w, arena, arg->value);
        else
            sc_json_put_text(w, "kind", "constant");
        sc_json_put_text(w, "role", ROLES[method->outputs.data[i].kind]);
        sc_json_put_str(w, "target", method->outputs.data[i].target);
        sc_json_end_object(w);
    }
    sc_json_end_array(w);
}

void sc_method_put_signature(sc_json_writer *w, sc_arena *scratch, const sc_method *method) {
    add_inputs(w, scratch, method);
    add_outputs(w, scratch, method);
}
