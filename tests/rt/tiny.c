#include "rt/tiny.h"

#include <stdlib.h>

#include "harness.h"
#include "program_fbs.h"

static tiny_tensor tensor_of(int32_t rows, int32_t columns) {
    return (tiny_tensor){
        .dtype = 6, .sizes = {rows, columns}, .order = {0, 1}, .rank = 2, .order_rank = 2};
}

void tiny_init(tiny *t) {
    *t = (tiny){
        .has_header = true,
        .header_length = 32,
        .identifier = "ET12",
        .segment_count = 1,
        .segment_size = {24},
        .constant_offset = {0, 0},
        .constant_count = 2,
        .memory_size = 64,
        .input = tensor_of(2, 3),
        .constant = tensor_of(2, 3),
        .out = tensor_of(2, 3),
        .extra = tensor_of(1, 1),
        .inputs = {TINY_INPUT},
        .outputs = {TINY_OUT},
        .input_count = 1,
        .output_count = 1,
        .op = "aten::add",
        .overload = "out",
        .code = {{1, 0, 0, {TINY_INPUT, TINY_CONSTANT, TINY_ALPHA, TINY_OUT, TINY_OUT}, 5}},
        .code_count = 1,
    };
    t->input.planned = t->out.planned = true;
    t->input.memory_id = t->out.memory_id = 1;
    t->out.offset_low = 32;
    t->constant.buffer = 1;
}

static sc_fb_ref add_tensor(sc_fb_builder *b, const tiny_tensor *t) {
    sc_fb_ref sizes = sc_fb_add_vector(b, t->sizes, t->rank, 4, 4);
    sc_fb_ref order = sc_fb_add_vector(b, t->order, t->order_rank, 1, 1);
    sc_fb_ref alloc = 0, extra = 0;
    if (t->planned) {
        sc_fb_begin(b);
        sc_pte_AllocationDetails_set_memory_id(b, t->memory_id);
        sc_pte_AllocationDetails_set_memory_offset_low(b, t->offset_low);
        sc_pte_AllocationDetails_set_memory_offset_high(b, t->offset_high);
        alloc = sc_fb_end(b);
    }
    if (t->external) {
        sc_fb_ref name = sc_fb_add_string(b, sc_str_from(t->external));
        sc_fb_begin(b);
        sc_pte_ExtraTensorInfo_set_fully_qualified_name(b, name);
        sc_pte_ExtraTensorInfo_set_location(b, SC_PTE_TensorDataLocation_EXTERNAL);
        extra = sc_fb_end(b);
    }
    sc_fb_begin(b);
    sc_pte_Tensor_set_scalar_type(b, t->dtype);
    sc_pte_Tensor_set_storage_offset(b, t->storage_offset);
    if (!t->absent) {
        sc_pte_Tensor_set_sizes(b, sizes);
        sc_pte_Tensor_set_dim_order(b, order);
    }
    sc_pte_Tensor_set_data_buffer_idx(b, t->buffer);
    sc_pte_Tensor_set_allocation_info(b, alloc);
    sc_pte_Tensor_set_shape_dynamism(b, t->dynamism);
    sc_pte_Tensor_set_extra_tensor_info(b, extra);
    return sc_fb_end(b);
}

static sc_fb_ref wrap(sc_fb_builder *b, uint8_t kind, sc_fb_ref value) {
    sc_fb_begin(b);
    sc_pte_EValue_set_val(b, kind, value);
    return sc_fb_end(b);
}

static sc_fb_ref add_extra(sc_fb_builder *b, const tiny *t) {
    if (!t->extra_kind) return wrap(b, SC_PTE_KernelTypes_Tensor, add_tensor(b, &t->extra));
    const int64_t wide = t->extra_item;
    bool ints = t->extra_kind == SC_PTE_KernelTypes_IntList;
    sc_fb_ref items =
        ints ? sc_fb_add_vector(b, &wide, 1, 8, 8) : sc_fb_add_vector(b, &t->extra_item, 1, 4, 4);
    bool list = ints || t->extra_kind == SC_PTE_KernelTypes_TensorList ||
                t->extra_kind == SC_PTE_KernelTypes_OptionalTensorList;
    sc_fb_begin(b);
    if (list)
        sc_pte_IntList_set_items(b, items);  // every list has its items in the first slot
    else if (t->extra_kind == SC_PTE_KernelTypes_Int)
        sc_pte_Int_set_int_val(b, t->extra_item);
    else if (t->extra_kind == SC_PTE_KernelTypes_Bool)
        sc_pte_Bool_set_bool_val(b, t->extra_item != 0);
    return wrap(b, t->extra_kind, sc_fb_end(b));
}

static sc_fb_ref add_values(sc_fb_builder *b, const tiny *t) {
    sc_fb_ref values[TINY_MORE + 8 + 4];
    values[0] = wrap(b, SC_PTE_KernelTypes_Tensor, add_tensor(b, &t->input));
    values[1] = wrap(b, SC_PTE_KernelTypes_Tensor, add_tensor(b, &t->constant));
    sc_fb_begin(b);
    sc_pte_Int_set_int_val(b, 1);
    values[2] = wrap(b, SC_PTE_KernelTypes_Int, sc_fb_end(b));
    values[3] = wrap(b, SC_PTE_KernelTypes_Tensor, add_tensor(b, &t->out));
    values[4] = add_extra(b, t);
    for (uint32_t i = 0; i < t->more_count; i++)
        values[TINY_MORE + i] = wrap(b, SC_PTE_KernelTypes_Tensor, add_tensor(b, &t->more[i]));
    for (uint32_t i = 0; i < t->bool_count; i++) {
        sc_fb_begin(b);
        sc_pte_Bool_set_bool_val(b, i % 2 == 1);
        values[TINY_MORE + t->more_count + i] = wrap(b, SC_PTE_KernelTypes_Bool, sc_fb_end(b));
    }
    return sc_fb_add_refs(b, values, TINY_MORE + t->more_count + t->bool_count);
}

static sc_fb_ref add_instruction(sc_fb_builder *b, const tiny_instruction *in) {
    sc_fb_ref args = sc_fb_add_vector(b, in->args, in->arg_count, 4, 4);
    sc_fb_begin(b);
    switch (in->kind) {
    case SC_PTE_InstructionArguments_KernelCall:
        sc_pte_KernelCall_set_op_index(b, in->a);
        sc_pte_KernelCall_set_args(b, args);
        break;
    case SC_PTE_InstructionArguments_DelegateCall:
        sc_pte_DelegateCall_set_delegate_index(b, in->a);
        sc_pte_DelegateCall_set_args(b, args);
        break;
    case SC_PTE_InstructionArguments_MoveCall:
        sc_pte_MoveCall_set_move_from(b, in->a);
        sc_pte_MoveCall_set_move_to(b, in->b);
        break;
    case SC_PTE_InstructionArguments_JumpFalseCall:
        sc_pte_JumpFalseCall_set_cond_value_index(b, in->a);
        sc_pte_JumpFalseCall_set_destination_instruction(b, in->b);
        break;
    default: sc_pte_FreeCall_set_value_index(b, in->a); break;
    }
    sc_fb_ref call = sc_fb_end(b);
    sc_fb_begin(b);
    sc_pte_Instruction_set_instr_args(b, in->kind, call);
    return sc_fb_end(b);
}

static sc_fb_ref add_chain(sc_fb_builder *b, const tiny *t, uint32_t first, uint32_t end) {
    sc_fb_ref code[32];
    for (uint32_t i = first; i < end; i++) code[i - first] = add_instruction(b, &t->code[i]);
    sc_fb_ref list = sc_fb_add_refs(b, code, end - first);
    sc_fb_begin(b);
    sc_pte_Chain_set_instructions(b, list);
    return sc_fb_end(b);
}

static sc_fb_ref add_chains(sc_fb_builder *b, const tiny *t) {
    const uint32_t split = t->second_chain;
    sc_fb_ref chains[2];
    chains[0] = add_chain(b, t, 0, split ? split : t->code_count);
    if (split) chains[1] = add_chain(b, t, split, t->code_count);
    return sc_fb_add_refs(b, chains, t->no_chain ? 0 : split ? 2 : 1);
}

static sc_fb_ref add_operator(sc_fb_builder *b, const char *op, const char *overload_name) {
    sc_fb_ref name = sc_fb_add_string(b, sc_str_from(op));
    sc_fb_ref overload = sc_fb_add_string(b, sc_str_from(overload_name));
    sc_fb_begin(b);
    sc_pte_Operator_set_name(b, name);
    sc_pte_Operator_set_overload(b, overload);
    return sc_fb_end(b);
}

static sc_fb_ref add_operators(sc_fb_builder *b, const tiny *t) {
    sc_fb_ref ops[4] = {add_operator(b, t->op, t->overload)};
    uint32_t count = 1;
    for (; count < 4 && t->more_op[count - 1]; count++)
        ops[count] = add_operator(b, t->more_op[count - 1], t->more_overload[count - 1]);
    return sc_fb_add_refs(b, ops, count);
}

static sc_fb_ref add_delegates(sc_fb_builder *b, const tiny *t) {
    if (!t->delegate) return sc_fb_add_refs(b, NULL, 0);
    sc_fb_ref id = sc_fb_add_string(b, sc_str_from(t->delegate));
    sc_fb_begin(b);
    sc_pte_BackendDelegate_set_id(b, id);
    sc_fb_ref delegate = sc_fb_end(b);
    return sc_fb_add_refs(b, &delegate, 1);
}

static sc_fb_ref add_plan(sc_fb_builder *b, const tiny *t) {
    const int64_t memory[2] = {0, t->memory_size};
    sc_fb_ref name = sc_fb_add_string(b, SC_STR("forward"));
    sc_fb_ref values = add_values(b, t), chains = add_chains(b, t), ops = add_operators(b, t);
    sc_fb_ref inputs = sc_fb_add_vector(b, t->inputs, t->input_count, 4, 4);
    sc_fb_ref outputs = sc_fb_add_vector(b, t->outputs, t->output_count, 4, 4);
    sc_fb_ref sizes = sc_fb_add_vector(b, memory, 2, 8, 8), delegates = add_delegates(b, t);
    sc_fb_begin(b);
    if (!t->no_name) sc_pte_ExecutionPlan_set_name(b, name);
    sc_pte_ExecutionPlan_set_values(b, values);
    sc_pte_ExecutionPlan_set_inputs(b, inputs);
    sc_pte_ExecutionPlan_set_outputs(b, outputs);
    sc_pte_ExecutionPlan_set_chains(b, chains);
    sc_pte_ExecutionPlan_set_operators(b, ops);
    sc_pte_ExecutionPlan_set_delegates(b, delegates);
    if (!t->no_memory_sizes) sc_pte_ExecutionPlan_set_non_const_buffer_sizes(b, sizes);
    return sc_fb_end(b);
}

static sc_fb_ref add_segments(sc_fb_builder *b, const tiny *t) {
    sc_fb_ref list[3];
    for (uint32_t i = 0; i < t->segment_count; i++) {
        sc_fb_begin(b);
        sc_pte_DataSegment_set_offset(b, t->segment_offset[i]);
        sc_pte_DataSegment_set_size(b, t->segment_size[i]);
        list[i] = sc_fb_end(b);
    }
    return sc_fb_add_refs(b, list, t->segment_count);
}

static sc_fb_ref add_offsets(sc_fb_builder *b, uint32_t segment, const uint64_t *offsets,
                             uint32_t count) {
    sc_fb_ref list = sc_fb_add_vector(b, offsets, count, 8, 8);
    sc_fb_begin(b);
    sc_pte_SubsegmentOffsets_set_segment_index(b, segment);
    sc_pte_SubsegmentOffsets_set_offsets(b, list);
    return sc_fb_end(b);
}

static sc_fb_ref add_buffers(sc_fb_builder *b, const tiny *t) {
    sc_fb_ref list[2];
    for (uint32_t i = 0; t->inline_constant && i < 2; i++) {
        const float numbers[6] = {1, 2, 3, 4, 5, 6};
        sc_fb_ref storage = sc_fb_add_vector(b, numbers, i ? 24 : 0, 1, 16);
        sc_fb_begin(b);
        sc_pte_Buffer_set_storage(b, storage);
        list[i] = sc_fb_end(b);
    }
    return sc_fb_add_refs(b, list, t->inline_constant ? 2 : 0);
}

static sc_fb_ref add_named(sc_fb_builder *b, const tiny *t) {
    sc_fb_ref list[2];
    uint32_t count = 0;
    for (; count < 2 && t->named_key[count]; count++) {
        sc_fb_ref key = sc_fb_add_string(b, sc_str_from(t->named_key[count]));
        sc_fb_begin(b);
        sc_pte_NamedData_set_key(b, key);
        sc_pte_NamedData_set_segment_index(b, t->named_segment);
        list[count] = sc_fb_end(b);
    }
    return sc_fb_add_refs(b, list, count);
}

static sc_fb_ref add_program(sc_fb_builder *b, const tiny *t) {
    sc_fb_ref plan = add_plan(b, t), both[2] = {plan, plan};
    sc_fb_ref plans = sc_fb_add_refs(b, both, t->twin ? 2 : 1);
    sc_fb_ref segments = add_segments(b, t), buffers = add_buffers(b, t), named = add_named(b, t);
    sc_fb_ref constants =
        add_offsets(b, t->constant_segment, t->constant_offset, t->constant_count);
    sc_fb_ref states[2] = {constants, constants};
    sc_fb_ref mutable_segments = sc_fb_add_refs(b, states, t->mutable_count);
    sc_fb_begin(b);
    sc_pte_Program_set_version(b, t->version);
    sc_pte_Program_set_execution_plan(b, plans);
    sc_pte_Program_set_constant_buffer(b, buffers);
    if (!t->drop_segments) sc_pte_Program_set_segments(b, segments);
    sc_pte_Program_set_constant_segment(b, constants);
    if (t->mutable_count) sc_pte_Program_set_mutable_data_segments(b, mutable_segments);
    if (t->named_data) sc_pte_Program_set_named_data(b, named);
    return sc_fb_end(b);
}

// [root+32] ET12 eh00 header ... rest of the FlatBuffer, zeros up to 128, the segment's six floats.
static void add_header(tiny *t, const uint8_t *flat, size_t size) {
    const float numbers[6] = {1, 2, 3, 4, 5, 6};
    const size_t program = size + 32, base = (program + 127) / 128 * 128;
    t->size = base + 24;
    t->data = aligned_alloc(64, (t->size + 63) / 64 * 64);
    memset(t->data, 0, t->size);
    memcpy(t->data, flat, 8);
    memcpy(t->data + 40, flat + 8, size - 8);
    sc_fb_store_u32(t->data, sc_fb_load_u32(flat) + 32);
    memcpy(t->data + 8, "eh00", 4);
    sc_fb_store_u32(t->data + 12, t->header_length);
    sc_fb_store_u64(t->data + 16, t->program_bytes ? t->program_bytes : program);
    sc_fb_store_u64(t->data + 24, t->segment_base ? t->segment_base : base);
    sc_fb_store_u64(t->data + 32, t->segment_bytes ? t->segment_bytes : 24);
    memcpy(t->data + base, numbers, sizeof numbers);
}

void tiny_build(tiny *t) {
    sc_arena arena;
    sc_ctx ctx;
    sc_fb_builder b;
    const uint8_t *flat;
    size_t size;
    sc_arena_init(&arena);
    sc_ctx_init(&ctx, &arena, &arena);
    sc_fb_builder_init(&b, &arena);
    sc_fb_ref root = add_program(&b, t);
    if (!CHECK_OK(sc_fb_finish(&ctx, &b, root, t->identifier, &flat, &size))) size = 0;
    if (t->has_header) {
        add_header(t, flat, size);
    } else {
        t->size = size;
        t->data = aligned_alloc(64, (size + 63) / 64 * 64);
        memcpy(t->data, flat, size);
    }
    sc_arena_deinit(&arena);
}
