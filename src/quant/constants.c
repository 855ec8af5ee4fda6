// Constants that quantization adds to a method.
#include "passes/passes.h"
#include "quant/plan.h"

void sc_quant_learn_names(sc_quant_plan *plan) {
    const sc_program *program = plan->method->program;
    sc_map_init(&plan->names, plan->ctx->arena);
    sc_map_init(&plan->next_number, plan->ctx->arena);
    for (uint32_t m = 0; m < program->methods.count; m++) {
        const sc_method *method = program->methods.data[m];
        for (uint32_t i = 0; i < method->inputs.count; i++)
            if (method->inputs.data[i].target.size)
                sc_map_set(&plan->names, method->inputs.data[i].target, plan);
    }
}

sc_str sc_quant_free_name(sc_quant_plan *plan, const char *prefix) {
    const sc_str key = sc_str_from(prefix);
    uintptr_t number = (uintptr_t)sc_map_get(&plan->next_number, key);
    sc_str name;
    do name = sc_str_format(plan->ctx->arena, "%s%llu", prefix, (unsigned long long)number++);
    while (sc_map_find(&plan->names, name));
    sc_map_set(&plan->next_number, sc_str_copy(plan->ctx->arena, key), (void *)number);
    return name;
}

// A character of a name. Names of modules may contain characters that Python's names may not,
// because they are keys of dictionaries.
static char in_name(char c) {
    if (c >= 'A' && c <= 'Z') return (char)(c - 'A' + 'a');
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : '_';
}

// Names as torch.export gives them: "p_conv_weight", "b__scale_0".
static sc_str input_name(sc_arena *arena, sc_input_kind kind, sc_str name) {
    const char prefix = kind == SC_INPUT_PARAMETER ? 'p' : kind == SC_INPUT_BUFFER ? 'b' : 'c';
    char *text =
        sc_str_dup(arena, sc_str_format(arena, "%c_" SC_STR_FMT, prefix, SC_STR_ARG(name)));
    for (char *c = text; *c; c++) *c = in_name(*c);
    return sc_str_from(text);
}

sc_value *sc_quant_add_constant(sc_quant_plan *plan, sc_input_kind kind, sc_str name, sc_spec spec,
                                sc_extent data) {
    sc_arena *arena = plan->ctx->arena;
    sc_graph *graph = plan->method->graph;
    sc_constant *constant = sc_new(arena, sc_constant);
    *constant = (sc_constant){.name = name, .spec = spec, .data = data, .persistent = true};
    sc_value *value = sc_graph_add_input(graph, input_name(arena, kind, name), SC_VALUE_TENSOR);
    value->spec = spec;
    sc_input_sig sig = {.kind = kind, .target = name, .constant = constant, .persistent = true};
    sc_vec_push(arena, &plan->method->inputs, sig);
    sc_map_set(&plan->names, name, plan);
    return value;
}

sc_extent sc_quant_row_major(sc_arena *arena, sc_exprs *exprs, const sc_constant *constant) {
    const sc_spec *spec = &constant->spec;
    int64_t sizes[SC_RANK_MAX], strides[SC_RANK_MAX];
    if (constant->data.size == 0 || sc_spec_is_contiguous(exprs, spec)) return constant->data;
    for (uint32_t i = 0; i < spec->rank; i++) {
        sizes[i] = spec->sizes[i].value;
        strides[i] = spec->strides[i].value;
    }
    return sc_extent_strided(arena, constant->data, sc_dtype_bytes((sc_dtype)spec->dtype),
                             spec->rank, sizes, strides, 0);
}

uint64_t sc_quant_elements(const sc_spec *spec, int64_t sizes[SC_RANK_MAX]) {
    uint64_t elements = 1;
    for (uint32_t i = 0; i < spec->rank; i++) {
        sizes[i] = spec->sizes[i].value;
        elements *= (uint64_t)sizes[i];
    }
    return elements;
}

// torch.export's order of inputs.
static uint32_t rank_of(sc_input_kind kind) {
    switch (kind) {
    case SC_INPUT_TOKEN: return 0;
    case SC_INPUT_PARAMETER: return 1;
    case SC_INPUT_BUFFER: return 2;
    case SC_INPUT_CONSTANT_TENSOR: return 3;
    case SC_INPUT_CUSTOM_OBJ: return 4;
    case SC_INPUT_USER:
    case SC_INPUT_CONSTANT: return 5;
    }
    return 5;
}

sc_status sc_quant_order_inputs(sc_quant_plan *plan) {
    sc_ctx *ctx = plan->ctx;
    sc_method *method = plan->method;
    sc_graph *graph = method->graph;
    SC_TRY(sc_pass_unused(ctx, method));
    const uint32_t count = graph->inputs.count;
    const sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_value **values = sc_new_array(ctx->scratch, sc_value *, (size_t)count + 1);
    sc_input_sig *sigs = sc_new_array(ctx->scratch, sc_input_sig, (size_t)count + 1);
    uint32_t next = 0;
    for (uint32_t rank = 0; rank <= 5; rank++)
        for (uint32_t i = 0; i < count; i++)
            if (rank_of(method->inputs.data[i].kind) == rank) {
                values[next] = graph->inputs.data[i];
                sigs[next++] = method->inputs.data[i];
            }
    for (uint32_t i = 0; i < count; i++) {
        graph->inputs.data[i] = values[i];
        graph->inputs.data[i]->index = i;
        method->inputs.data[i] = sigs[i];
    }
    sc_arena_rewind(ctx->scratch, mark);
    return SC_OK;
}
