// The description of a program, read from its file without loading it. It serves `inspect`, and
// hosts that want to know a method's inputs before they read its weights.
#include "rt/load/data_map.h"
#include "rt/load/delegates.h"
#include "rt/load/segments.h"
#include "rt/look/tensor_info.h"
#include "rt/run/prim.h"

// --- The file ------------------------------------------------------------------------------------

// The use of a segment. If a strange file gives it several, the last one counts.
enum { SEGMENT_OTHER, SEGMENT_NAMED, SEGMENT_DELEGATE, SEGMENT_CONSTANT, SEGMENT_MUTABLE, USES };

static void mark_segment(const sc_rt_program *p, uint8_t *uses, uint32_t segment, uint8_t use) {
    if (segment < p->segments.count && uses[segment] < use) uses[segment] = use;
}

static void mark_delegates(const sc_rt_program *p, uint8_t *uses) {
    for (uint32_t m = 0; m < p->plans.count; m++) {
        sc_fb_vec delegates = sc_pte_ExecutionPlan_delegates(sc_rt_plan(p, m));
        for (uint32_t i = 0; i < delegates.count; i++) {
            sc_fb_table data = sc_pte_BackendDelegate_processed(sc_fb_vec_table(delegates, i));
            if (data.at &&
                sc_pte_BackendDelegateDataReference_location(data) == SC_PTE_DataLocation_SEGMENT)
                mark_segment(p, uses, sc_pte_BackendDelegateDataReference_index(data),
                             SEGMENT_DELEGATE);
        }
    }
}

// The sums fit: opening has checked that segments lie inside the file and do not overlap.
static void sum_segments(const sc_rt_program *p, sc_arena *scratch, uint64_t sums[USES]) {
    uint8_t *uses = sc_new_array(scratch, uint8_t, p->segments.count);
    sc_fb_vec named = sc_pte_Program_named_data(p->root),
              mutable = sc_pte_Program_mutable_data_segments(p->root);
    for (uint32_t i = 0; i < named.count; i++)
        mark_segment(p, uses, sc_pte_NamedData_segment_index(sc_fb_vec_table(named, i)),
                     SEGMENT_NAMED);
    mark_delegates(p, uses);
    if (p->constant_offsets.count) {
        sc_fb_table where = sc_pte_Program_constant_segment(p->root);
        mark_segment(p, uses, sc_pte_SubsegmentOffsets_segment_index(where), SEGMENT_CONSTANT);
    }
    for (uint32_t i = 0; i < mutable.count; i++) {
        sc_fb_table where = sc_fb_vec_table(mutable, i);
        mark_segment(p, uses, sc_pte_SubsegmentOffsets_segment_index(where), SEGMENT_MUTABLE);
    }
    for (uint32_t i = 0; i < p->segments.count; i++)
        sums[uses[i]] += sc_pte_DataSegment_size(sc_fb_vec_table(p->segments, i));
}

void sc_rt_program_info_get(const sc_rt_program *p, sc_arena *scratch, sc_rt_program_info *out) {
    uint64_t sums[USES] = {0};
    sum_segments(p, scratch, sums);
    *out = (sc_rt_program_info){
        .file_bytes = p->source->size,
        .program_bytes = p->flat_bytes,
        .constant_bytes = sums[SEGMENT_CONSTANT],
        .mutable_bytes = sums[SEGMENT_MUTABLE],
        .delegate_bytes = sums[SEGMENT_DELEGATE],
        .named_bytes = sums[SEGMENT_NAMED],
        .other_bytes = sums[SEGMENT_OTHER],
        .named = sc_new_array(scratch, sc_rt_named_info, (size_t)p->named.count + 1),
    };
    for (uint32_t i = 0; i < p->named.count; i++) {
        const sc_rt_blob *blob = p->named.entries[i].value;
        if (blob->datum) continue;
        out->named[out->named_count++] =
            (sc_rt_named_info){p->named.entries[i].key, blob->extent.size};
    }
}

// --- Inputs and outputs --------------------------------------------------------------------------

sc_status sc_rt_tensor_info(sc_ctx *ctx, sc_arena *arena, sc_fb_table t, sc_rt_value_info *out) {
    sc_fb_vec sizes = sc_pte_Tensor_sizes(t), order = sc_pte_Tensor_dim_order(t);
    int8_t dtype = sc_pte_Tensor_scalar_type(t);
    if (dtype < 0 || !sc_dtype_is_known((unsigned)dtype) || sizes.count > SC_RANK_MAX ||
        order.count != sizes.count)
        return sc_rt_bad_pte(ctx, "the type or shape of a tensor");
    int64_t *list = sc_new_array(arena, int64_t, sizes.count);
    uint8_t *dims = sc_new_array(arena, uint8_t, sizes.count);
    uint64_t bytes = sc_dtype_bytes((sc_dtype)dtype);
    for (uint32_t d = 0; d < sizes.count; d++) {
        list[d] = sc_fb_vec_i32(sizes, d);
        dims[d] = sc_fb_vec_u8(order, d);
        if (list[d] < 0 || !sc_mul_u64(bytes, (uint64_t)list[d], &bytes))
            return sc_rt_bad_pte(ctx, "a size of a tensor");
    }
    *out = (sc_rt_value_info){
        .tag = SC_EVALUE_TENSOR,
        .dtype = (uint8_t)dtype,
        .rank = (uint8_t)sizes.count,
        .is_dynamic = sc_pte_Tensor_shape_dynamism(t) != SC_PTE_TensorShapeDynamism_STATIC,
        .is_planned = sc_pte_Tensor_allocation_info(t).at || sc_pte_Tensor_data_buffer_idx(t),
        .sizes = list,
        .dim_order = dims,
        .bytes = bytes,
    };
    sc_fb_table extra = sc_pte_Tensor_extra_tensor_info(t);
    if (extra.at) out->name = sc_pte_ExtraTensorInfo_fully_qualified_name(extra);
    return SC_OK;
}

static sc_status value_info(sc_ctx *ctx, sc_arena *arena, sc_fb_table entry,
                            sc_rt_value_info *out) {
    static const uint8_t tags[] = {
        [SC_PTE_KernelTypes_Null] = SC_EVALUE_NONE,
        [SC_PTE_KernelTypes_Int] = SC_EVALUE_INT,
        [SC_PTE_KernelTypes_Bool] = SC_EVALUE_BOOL,
        [SC_PTE_KernelTypes_Double] = SC_EVALUE_DOUBLE,
        [SC_PTE_KernelTypes_Tensor] = SC_EVALUE_TENSOR,
        [SC_PTE_KernelTypes_String] = SC_EVALUE_STRING,
        [SC_PTE_KernelTypes_IntList] = SC_EVALUE_INT_LIST,
        [SC_PTE_KernelTypes_DoubleList] = SC_EVALUE_DOUBLE_LIST,
        [SC_PTE_KernelTypes_BoolList] = SC_EVALUE_BOOL_LIST,
        [SC_PTE_KernelTypes_TensorList] = SC_EVALUE_TENSOR_LIST,
        [SC_PTE_KernelTypes_OptionalTensorList] = SC_EVALUE_OPTIONAL_TENSOR_LIST,
    };
    uint8_t type = sc_pte_EValue_val_type(entry);
    sc_fb_table val = sc_pte_EValue_val(entry);
    if (type == SC_PTE_KernelTypes_NONE || type >= SC_COUNT_OF(tags) ||
        (!val.at && type != SC_PTE_KernelTypes_Null))
        return sc_rt_bad_pte(ctx, "an input or output is empty");
    if (type == SC_PTE_KernelTypes_Tensor) return sc_rt_tensor_info(ctx, arena, val, out);
    *out = (sc_rt_value_info){.tag = (sc_evalue_tag)tags[type]};
    if (type == SC_PTE_KernelTypes_Int)
        out->i = sc_pte_Int_int_val(val);
    else if (type == SC_PTE_KernelTypes_Bool)
        out->i = sc_pte_Bool_bool_val(val);
    else if (type == SC_PTE_KernelTypes_Double)
        out->d = sc_pte_Double_double_val(val);
    else if (type == SC_PTE_KernelTypes_String)
        out->str = sc_pte_String_string_val(val);
    return SC_OK;
}

static sc_status list_values(sc_ctx *ctx, sc_arena *arena, sc_fb_vec values, sc_fb_vec indexes,
                             sc_rt_value_info **out, uint32_t *count) {
    *out = sc_new_array(arena, sc_rt_value_info, indexes.count);
    *count = indexes.count;
    for (uint32_t i = 0; i < indexes.count; i++) {
        int32_t at = sc_fb_vec_i32(indexes, i);
        if (at < 0 || (uint32_t)at >= values.count)
            return sc_rt_bad_pte(ctx, "an input or output does not exist");
        SC_TRY(value_info(ctx, arena, sc_fb_vec_table(values, (uint32_t)at), &(*out)[i]));
    }
    return SC_OK;
}

// An input that a method writes comes back as an output: both name one value.
static void match_inputs(sc_ctx *ctx, sc_fb_table plan, const sc_rt_method_info *info) {
    sc_fb_vec inputs = sc_pte_ExecutionPlan_inputs(plan);
    sc_fb_vec outputs = sc_pte_ExecutionPlan_outputs(plan);
    sc_mark mark = sc_arena_mark(ctx->scratch);
    uint32_t *input_of = sc_new_array(ctx->scratch, uint32_t, info->value_count + 1);
    for (uint32_t i = inputs.count; i-- > 0;) input_of[sc_fb_vec_i32(inputs, i)] = i + 1;
    for (uint32_t i = 0; i < outputs.count; i++)
        info->outputs[i].of_input = (int32_t)input_of[sc_fb_vec_i32(outputs, i)] - 1;
    sc_arena_rewind(ctx->scratch, mark);
}

// --- Data files ----------------------------------------------------------------------------------

// The key of a value in a data file; empty for all others.
static sc_str external_key(sc_fb_table entry) {
    sc_fb_table val = sc_pte_EValue_val(entry);
    if (sc_pte_EValue_val_type(entry) != SC_PTE_KernelTypes_Tensor || !val.at) return (sc_str){0};
    sc_fb_table extra = sc_pte_Tensor_extra_tensor_info(val);
    if (!extra.at || sc_pte_ExtraTensorInfo_location(extra) != SC_PTE_TensorDataLocation_EXTERNAL)
        return (sc_str){0};
    return sc_pte_ExtraTensorInfo_fully_qualified_name(extra);
}

typedef struct externals {
    sc_arena *arena;
    sc_map seen;
    SC_VEC(sc_rt_external_info) list;
} externals;

static void add_external(externals *all, sc_str key, const sc_rt_datum *datum) {
    if (!sc_map_add(&all->seen, key, all)) return;
    sc_rt_external_info info = {key, datum != NULL, datum ? datum->file : 0};
    sc_vec_push(all->arena, &all->list, info);
}

// Loading reports the fault of damaged bytes. Here they need no data.
static sc_status add_keys(sc_ctx *ctx, const sc_rt_program *p, uint32_t index, uint32_t part,
                          externals *all) {
    sc_rt_keys keys = {0};
    const sc_diag_mark mark = sc_diags_mark(ctx);
    sc_status status = sc_rt_part_keys(ctx, p, index, part, all->arena, &keys);
    if (status == SC_ERR_MEMORY || status == SC_ERR_IO || status == SC_ERR_CANCELLED) return status;
    if (status != SC_OK) sc_diags_rewind(ctx, mark);
    for (uint32_t i = 0; i < keys.count; i++) {
        const sc_rt_blob *blob = sc_map_get(&p->named, keys.data[i]);
        if (!blob || blob->datum) add_external(all, keys.data[i], blob ? blob->datum : NULL);
    }
    return SC_OK;
}

static sc_status list_externals(sc_ctx *ctx, const sc_rt_program *p, uint32_t index,
                                sc_arena *arena, sc_rt_method_info *out) {
    sc_fb_table plan = sc_rt_plan(p, index);
    sc_fb_vec values = sc_pte_ExecutionPlan_values(plan);
    externals all = {.arena = arena};
    sc_map_init(&all.seen, arena);
    for (uint32_t i = 0; i < values.count; i++) {
        sc_str key = external_key(sc_fb_vec_table(values, i));
        if (key.data) add_external(&all, key, sc_rt_data_map_find(&p->data_map, key));
    }
    const uint32_t parts = sc_pte_ExecutionPlan_delegates(plan).count;
    for (uint32_t i = 0; i < parts; i++) SC_TRY(add_keys(ctx, p, index, i, &all));
    out->externals = all.list.data;
    out->external_count = all.list.count;
    return SC_OK;
}

// --- Instructions --------------------------------------------------------------------------------

static void list_ops(sc_arena *arena, sc_fb_vec operators, sc_rt_method_info *out) {
    out->op_count = operators.count;
    out->ops = sc_new_array(arena, sc_rt_op_info, operators.count);
    for (uint32_t i = 0; i < operators.count; i++) {
        sc_fb_table entry = sc_fb_vec_table(operators, i);
        sc_rt_op_info *info = &out->ops[i];
        info->name = sc_pte_Operator_name(entry);
        info->overload = sc_pte_Operator_overload(entry);
        const sc_op *op = sc_op_find_out(info->name, info->overload);
        info->is_known = op && (sc_rt_prim(op) || sc_kernel_of(op));
    }
}

static void count_instruction(sc_fb_table entry, sc_rt_method_info *out) {
    sc_fb_table args = sc_pte_Instruction_instr_args(entry);
    out->instruction_count++;
    switch (args.at ? sc_pte_Instruction_instr_args_type(entry) : 0) {
    case SC_PTE_InstructionArguments_KernelCall: {
        int32_t op = sc_pte_KernelCall_op_index(args);
        out->kernel_calls++;
        if (op >= 0 && (uint32_t)op < out->op_count) out->ops[op].calls++;
        break;
    }
    case SC_PTE_InstructionArguments_DelegateCall: out->delegate_calls++; break;
    case SC_PTE_InstructionArguments_JumpFalseCall: out->jumps++; break;
    case SC_PTE_InstructionArguments_MoveCall: out->moves++; break;
    default: break;
    }
}

static void list_backends(sc_arena *arena, sc_fb_vec delegates, sc_rt_method_info *out) {
    enum { BACKEND_MAX = 32 };  // distinct keys; further ones of a method are left out
    out->backends = sc_new_array(arena, sc_str, BACKEND_MAX);
    for (uint32_t i = 0; i < delegates.count && out->backend_count < BACKEND_MAX; i++) {
        sc_str id = sc_pte_BackendDelegate_id(sc_fb_vec_table(delegates, i));
        uint32_t known = 0;
        while (known < out->backend_count && !sc_str_equal(out->backends[known], id)) known++;
        if (known == out->backend_count) out->backends[out->backend_count++] = id;
    }
}

static uint64_t processed_bytes(const sc_rt_program *p, sc_fb_table delegate) {
    sc_fb_table reference = sc_pte_BackendDelegate_processed(delegate);
    if (!reference.at) return 0;
    const uint32_t index = sc_pte_BackendDelegateDataReference_index(reference);
    if (sc_pte_BackendDelegateDataReference_location(reference) == SC_PTE_DataLocation_SEGMENT)
        return index < p->segments.count
                   ? sc_pte_DataSegment_size(sc_fb_vec_table(p->segments, index))
                   : 0;
    sc_fb_vec all = sc_pte_Program_backend_delegate_data(p->root);
    if (index >= all.count) return 0;
    return sc_pte_BackendDelegateInlineData_data(sc_fb_vec_table(all, index)).count;
}

static void list_parts(const sc_rt_program *p, sc_arena *arena, sc_fb_vec delegates,
                       sc_rt_method_info *out) {
    const sc_rt_backends *backends = p->options.backends;
    out->part_count = delegates.count;
    out->parts = sc_new_array(arena, sc_rt_part_info, (size_t)delegates.count + 1);
    for (uint32_t i = 0; i < delegates.count; i++) {
        sc_fb_table entry = sc_fb_vec_table(delegates, i);
        sc_str id = sc_pte_BackendDelegate_id(entry);
        out->parts[i] = (sc_rt_part_info){.backend = id, .bytes = processed_bytes(p, entry)};
        out->parts[i].is_known = backends && backends->find(backends->user, id);
    }
}

static void list_planned(sc_arena *arena, sc_fb_vec sizes, sc_rt_method_info *out) {
    out->planned_count = sizes.count ? sizes.count - 1 : 0;
    out->planned_bytes = sc_new_array(arena, uint64_t, out->planned_count);
    for (uint32_t i = 0; i < out->planned_count; i++)
        out->planned_bytes[i] = (uint64_t)sc_fb_vec_i64(sizes, i + 1);
}

sc_status sc_rt_method_info_get(sc_ctx *ctx, const sc_rt_program *p, uint32_t index,
                                sc_arena *arena, sc_rt_method_info *out) {
    SC_ASSERT(index < p->plans.count);
    sc_fb_table plan = sc_rt_plan(p, index);
    sc_fb_vec values = sc_pte_ExecutionPlan_values(plan),
              chains = sc_pte_ExecutionPlan_chains(plan);
    *out =
        (sc_rt_method_info){.name = sc_pte_ExecutionPlan_name(plan), .value_count = values.count};
    SC_TRY(list_values(ctx, arena, values, sc_pte_ExecutionPlan_inputs(plan), &out->inputs,
                       &out->input_count));
    SC_TRY(list_values(ctx, arena, values, sc_pte_ExecutionPlan_outputs(plan), &out->outputs,
                       &out->output_count));
    match_inputs(ctx, plan, out);
    list_planned(arena, sc_pte_ExecutionPlan_non_const_buffer_sizes(plan), out);
    list_ops(arena, sc_pte_ExecutionPlan_operators(plan), out);
    SC_TRY(list_externals(ctx, p, index, arena, out));
    list_backends(arena, sc_pte_ExecutionPlan_delegates(plan), out);
    list_parts(p, arena, sc_pte_ExecutionPlan_delegates(plan), out);
    for (uint32_t c = 0; c < chains.count; c++) {
        sc_fb_vec list = sc_pte_Chain_instructions(sc_fb_vec_table(chains, c));
        for (uint32_t i = 0; i < list.count; i++) count_instruction(sc_fb_vec_table(list, i), out);
    }
    sc_fb_table container = sc_pte_ExecutionPlan_container_meta_type(plan);
    if (container.at) {
        out->input_container = sc_pte_ContainerMetadata_encoded_inp_str(container);
        out->output_container = sc_pte_ContainerMetadata_encoded_out_str(container);
    }
    return SC_OK;
}
