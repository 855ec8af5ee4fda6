// One method as an ExecutionPlan: inputs, instructions, outputs, and the tables they refer to.
// Constant methods are plans without instructions, whose outputs are constants.
#include "emit/emit_plan.h"
#include "core/delegate_call.h"
#include "format/json.h"

#include "program_fbs.h"

static void begin_method(sc_emit_method *m, sc_emit_state *state, const sc_storage_table *storage) {
    *m = (sc_emit_method){.state = state, .storage = storage, .emit_body = sc_emit_graph};
    sc_map_init(&m->pool, state->arena);
    sc_map_init(&m->operator_ids, state->arena);
    uint32_t count = storage ? storage->items.count : 0;
    m->ids = sc_new_array(state->arena, int32_t, count + 1);
    for (uint32_t i = 0; i < count; i++) m->ids[i] = -1;
}

// --- Inputs and outputs --------------------------------------------------------------------------

typedef SC_VEC(int32_t) id_list;

static sc_status emit_input(sc_emit_method *m, const sc_input_sig *sig, sc_value *value,
                            id_list *inputs) {
    sc_ctx *ctx = m->state->ctx;
    int32_t *id = &m->ids[value->mark];
    if (sig->kind == SC_INPUT_CONSTANT) {
        SC_TRY(sc_emit_unshared(m, &sig->constant_value, id));
    } else if (sig->kind != SC_INPUT_USER) {
        return SC_OK;  // written on first use
    } else if (value->type == SC_VALUE_TENSOR) {
        SC_TRY(sc_emit_value(m, value, id));
    } else if (value->type == SC_VALUE_NONE) {
        sc_arg absent = sc_arg_none();
        SC_TRY(sc_emit_unshared(m, &absent, id));
    } else {
        return sc_fail(ctx, SC_ERR_UNSUPPORTED, "Pass it as a 0-dim tensor and call .item() on it.",
                       "input '%s' is a number that changes from call to call; programs take only "
                       "tensors",
                       value->name->text);
    }
    sc_vec_push(m->state->arena, inputs, *id);
    return SC_OK;
}

static sc_status emit_inputs(sc_emit_method *m, const sc_method *method, id_list *inputs) {
    for (uint32_t i = 0; i < method->inputs.count; i++)
        SC_TRY(emit_input(m, &method->inputs.data[i], method->graph->inputs.data[i], inputs));
    return SC_OK;
}

bool sc_emit_is_visible(sc_output_kind kind) {
    return kind != SC_OUTPUT_BUFFER_MUTATION && kind != SC_OUTPUT_PARAMETER_MUTATION &&
           kind != SC_OUTPUT_TOKEN;
}

static sc_status emit_outputs(sc_emit_method *m, const sc_method *method, id_list *outputs) {
    const sc_node *ret = method->graph->ret;
    sc_where_set_method(m->state->ctx, method);
    for (uint32_t i = 0; i < ret->arg_count; i++) {
        int32_t id = 0;
        if (i < method->outputs.count && !sc_emit_is_visible(method->outputs.data[i].kind))
            continue;
        SC_TRY(sc_emit_plain(m, &ret->args[i], &id));
        sc_vec_push(m->state->arena, outputs, id);
    }
    return SC_OK;
}

// --- Tables --------------------------------------------------------------------------------------

static sc_fb_ref write_kernel(sc_emit_method *m, const sc_emit_instruction *call) {
    sc_fb_builder *fb = &m->state->fb;
    sc_fb_ref args = sc_fb_add_vector(fb, m->args.data + call->first_arg, call->arg_count, 4, 4);
    sc_fb_begin(fb);
    sc_pte_KernelCall_set_op_index(fb, call->a);
    sc_pte_KernelCall_set_args(fb, args);
    return sc_fb_end(fb);
}

static sc_fb_ref write_delegate_call(sc_emit_method *m, const sc_emit_instruction *call) {
    sc_fb_builder *fb = &m->state->fb;
    sc_fb_ref args = sc_fb_add_vector(fb, m->args.data + call->first_arg, call->arg_count, 4, 4);
    sc_fb_begin(fb);
    sc_pte_DelegateCall_set_delegate_index(fb, call->a);
    sc_pte_DelegateCall_set_args(fb, args);
    if (call->node && sc_node_part(call->node)->says_inputs)
        sc_fb_set_scalar(fb, SC_DELEGATE_CALL_INPUTS, call->arg_count - call->node->out_count + 1,
                         4);
    return sc_fb_end(fb);
}

static sc_fb_ref write_instruction(sc_emit_method *m, const sc_emit_instruction *instruction) {
    sc_fb_builder *fb = &m->state->fb;
    sc_fb_ref content = 0;
    uint8_t type = SC_PTE_InstructionArguments_KernelCall;
    if (instruction->kind == SC_EMIT_KERNEL) {
        content = write_kernel(m, instruction);
    } else if (instruction->kind == SC_EMIT_DELEGATE) {
        type = SC_PTE_InstructionArguments_DelegateCall;
        content = write_delegate_call(m, instruction);
    } else if (instruction->kind == SC_EMIT_MOVE) {
        type = SC_PTE_InstructionArguments_MoveCall;
        sc_fb_begin(fb);
        sc_pte_MoveCall_set_move_from(fb, instruction->a);
        sc_pte_MoveCall_set_move_to(fb, instruction->b);
        content = sc_fb_end(fb);
    } else {
        type = SC_PTE_InstructionArguments_JumpFalseCall;
        sc_fb_begin(fb);
        sc_pte_JumpFalseCall_set_cond_value_index(fb, instruction->a);
        sc_pte_JumpFalseCall_set_destination_instruction(fb, instruction->b);
        content = sc_fb_end(fb);
    }
    sc_fb_begin(fb);
    sc_pte_Instruction_set_instr_args(fb, type, content);
    return sc_fb_end(fb);
}

static sc_fb_ref write_chain(sc_emit_method *m, sc_fb_ref empty) {
    sc_fb_builder *fb = &m->state->fb;
    sc_fb_ref *refs = sc_new_array(m->state->arena, sc_fb_ref, m->code.count + 1);
    for (uint32_t i = 0; i < m->code.count; i++) refs[i] = write_instruction(m, &m->code.data[i]);
    sc_fb_ref instructions = sc_fb_add_refs(fb, refs, m->code.count);
    sc_fb_begin(fb);
    sc_pte_Chain_set_inputs(fb, empty);
    sc_pte_Chain_set_outputs(fb, empty);
    sc_pte_Chain_set_instructions(fb, instructions);
    return sc_fb_end(fb);
}

// PyTorch's tree of the inputs, with the names of the arguments as an additional member of its
// root. Readers of trees look for members by name and ignore this one. PyTorch writes "[1, {...}]";
// a text that ends differently stays unchanged.
static sc_str named_tree(sc_arena *arena, const sc_method *method) {
    sc_str tree = method->in_spec, names = method->arg_names;
    if (!names.size || tree.size < 4 || memcmp(tree.data + tree.size - 2, "}]", 2) != 0 ||
        tree.data[tree.size - 3] == '{')
        return tree;
    tree.size -= 2;
    return sc_str_format(arena, SC_STR_FMT ", \"forward_arg_names\": " SC_STR_FMT "}]",
                         SC_STR_ARG(tree), SC_STR_ARG(names));
}

static sc_fb_ref write_container(sc_emit_state *state, sc_str in_spec, sc_str out_spec) {
    sc_fb_builder *fb = &state->fb;
    sc_fb_ref in = sc_emit_string(state, in_spec);
    sc_fb_ref out = sc_emit_string(state, out_spec);
    sc_fb_begin(fb);
    sc_pte_ContainerMetadata_set_encoded_inp_str(fb, in);
    sc_pte_ContainerMetadata_set_encoded_out_str(fb, out);
    return sc_fb_end_shared(fb);
}

// Buffer 0 is reserved; runtimes hide it.
static sc_fb_ref write_buffer_sizes(sc_emit_method *m) {
    uint32_t count = m->storage ? m->storage->buffer_bytes.count : 0;
    int64_t *sizes = sc_new_array(m->state->arena, int64_t, count + 1);
    for (uint32_t i = 0; i < count; i++) sizes[i + 1] = (int64_t)m->storage->buffer_bytes.data[i];
    return sc_fb_add_vector(&m->state->fb, sizes, count + 1, 8, 8);
}

typedef struct plan_parts {
    sc_str name, in_spec, out_spec;
    id_list inputs, outputs;
} plan_parts;

static sc_fb_ref write_plan(sc_emit_method *m, const plan_parts *parts) {
    sc_fb_builder *fb = &m->state->fb;
    sc_fb_ref empty = sc_emit_vector(m->state, NULL, 0, 4);
    sc_fb_ref chain = write_chain(m, empty);
    sc_fb_ref chains = sc_fb_add_refs(fb, &chain, 1);
    sc_fb_ref delegates =
        m->delegates.count ? sc_fb_add_refs(fb, m->delegates.data, m->delegates.count) : empty;
    sc_fb_ref operators = sc_fb_add_refs(fb, m->operators.data, m->operators.count);
    sc_fb_ref values = sc_fb_add_refs(fb, m->values.data, m->values.count);
    sc_fb_ref inputs = sc_emit_vector(m->state, parts->inputs.data, parts->inputs.count, 4);
    sc_fb_ref outputs = sc_emit_vector(m->state, parts->outputs.data, parts->outputs.count, 4);
    sc_fb_ref sizes = write_buffer_sizes(m);
    sc_fb_ref container = write_container(m->state, parts->in_spec, parts->out_spec);
    sc_fb_ref name = sc_fb_add_string(fb, parts->name);
    sc_fb_begin(fb);
    sc_pte_ExecutionPlan_set_name(fb, name);
    sc_pte_ExecutionPlan_set_container_meta_type(fb, container);
    sc_pte_ExecutionPlan_set_values(fb, values);
    sc_pte_ExecutionPlan_set_inputs(fb, inputs);
    sc_pte_ExecutionPlan_set_outputs(fb, outputs);
    sc_pte_ExecutionPlan_set_chains(fb, chains);
    sc_pte_ExecutionPlan_set_operators(fb, operators);
    sc_pte_ExecutionPlan_set_delegates(fb, delegates);
    sc_pte_ExecutionPlan_set_non_const_buffer_sizes(fb, sizes);
    return sc_fb_end(fb);
}

sc_status sc_emit_plan_method(sc_emit_state *state, const sc_storage_table *storage, sc_fb_ref *out,
                              sc_emit_plan *plan) {
    const sc_method *method = storage->method;
    sc_emit_method m;
    plan_parts parts = {.name = sc_name_str(method->name),
                        .in_spec = named_tree(state->arena, method),
                        .out_spec = method->out_spec};
    sc_where_set_method(state->ctx, method);
    begin_method(&m, state, storage);
    SC_TRY(emit_inputs(&m, method, &parts.inputs));
    SC_TRY(sc_emit_graph(&m, method->graph));
    SC_TRY(emit_outputs(&m, method, &parts.outputs));
    *out = write_plan(&m, &parts);
    *plan = sc_emit_describe(&m, method->name);
    return SC_OK;
}

// --- Constant methods ----------------------------------------------------------------------------

// The result of a constant method while it is written: leaves become EValues of their own, and the
// nesting becomes PyTorch's tree text.
typedef struct answering {
    sc_emit_method *m;
    sc_json_writer tree;
    id_list outputs;
} answering;

// The keys of a dict as PyTorch writes them: a JSON list, as text.
static void put_context(answering *a, const sc_answer *answer) {
    sc_sb text;
    sc_json_writer keys;
    if (answer->kind != SC_ANSWER_DICT) {
        sc_json_put_text(&a->tree, "context", "null");
        return;
    }
    sc_sb_init(&text, a->m->state->arena);
    sc_json_writer_init(&keys, &text, SC_JSON_PYTHON);
    sc_json_begin_array(&keys);
    for (uint32_t i = 0; i < answer->count; i++) sc_json_add_str(&keys, answer->keys[i]);
    sc_json_end_array(&keys);
    sc_json_put_str(&a->tree, "context", sc_sb_str(&text));
}

static sc_status emit_leaf(answering *a, const sc_answer *answer) {
    int32_t id = 0;
    if (answer->kind == SC_ANSWER_TENSOR)
        SC_TRY(sc_emit_constant(a->m, answer->tensor, &id));
    else
        SC_TRY(sc_emit_unshared(a->m, &answer->plain, &id));
    sc_vec_push(a->m->state->arena, &a->outputs, id);
    sc_json_put_null(&a->tree, "type");
    sc_json_put_null(&a->tree, "context");
    return SC_OK;
}

static sc_status emit_answer(answering *a, const sc_answer *answer, uint32_t depth) {
    sc_ctx *ctx = a->m->state->ctx;
    const bool is_dict = answer->kind == SC_ANSWER_DICT;
    if (depth > ctx->limits.graph_depth_max)
        return sc_fail(ctx, SC_ERR_LIMIT, NULL,
                       "the value of a constant method is nested deeper "
                       "than %u",
                       ctx->limits.graph_depth_max);
    sc_json_begin_object(&a->tree);
    if (is_dict || answer->kind == SC_ANSWER_LIST) {
        sc_json_put_text(&a->tree, "type", is_dict ? "builtins.dict" : "builtins.list");
        put_context(a, answer);
    } else {
        SC_TRY(emit_leaf(a, answer));
    }
    sc_json_put_array(&a->tree, "children_spec");
    for (uint32_t i = 0; i < answer->count; i++)
        SC_TRY(emit_answer(a, &answer->items[i], depth + 1));
    sc_json_end_array(&a->tree);
    sc_json_end_object(&a->tree);
    return SC_OK;
}

sc_status sc_emit_plan_constant(sc_emit_state *state, const sc_constant_method *constant,
                                sc_fb_ref *out, sc_emit_plan *plan) {
    sc_emit_method m;
    plan_parts parts = {.name = sc_name_str(constant->name), .in_spec = SC_STR("")};
    answering a = {.m = &m};
    sc_sb tree;
    state->ctx->where = (sc_where){.method = parts.name, .pass = SC_STR("emit"), .instruction = -1};
    sc_sb_init(&tree, state->arena);
    sc_json_writer_init(&a.tree, &tree, SC_JSON_PYTHON);
    begin_method(&m, state, NULL);
    sc_json_begin_array(&a.tree);
    sc_json_add_i64(&a.tree, 1);
    SC_TRY(emit_answer(&a, &constant->value, 0));
    sc_json_end_array(&a.tree);
    parts.outputs = a.outputs;
    parts.out_spec = sc_sb_str(&tree);
    *out = write_plan(&m, &parts);
    *plan = sc_emit_describe(&m, constant->name);
    return SC_OK;
}
