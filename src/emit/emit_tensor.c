// Tensor EValues: the storage, shape and layout that a runtime sees. The presence of
// data_buffer_idx and allocation_info says what kind of tensor it is:
//
//   index  allocation
//   > 0    absent      constant: bytes in the constant segment
//   0      present     planned memory
//   0      absent      the caller supplies the memory
//   > 0    present     planned memory that starts with bytes of the mutable segment
//   and with location EXTERNAL the bytes come from a .ptd, by name.
#include "emit/emit_state.h"
#include "ir/dynamic_sizes.h"
#include "ir/weights.h"

#include "program_fbs.h"

typedef struct placement {
    uint32_t data_index;
    bool is_planned;
    uint32_t memory_id;
    uint64_t offset;
    sc_str name;  // empty: not written
    bool is_external;
} placement;

// The first method with a weight of that name.
typedef struct name_search {
    sc_str name;
    const sc_method *found;
    const sc_constant *weight;
} name_search;

static void match_name(const sc_method *method, const sc_constant *weight, void *user) {
    name_search *search = user;
    if (search->found || !sc_str_equal(weight->name, search->name)) return;
    search->found = method;
    search->weight = weight;
}

static sc_status fail_name(const sc_emit_method *m, const sc_constant *constant, sc_str file) {
    const sc_method *method = m->storage->method;
    name_search first = {.name = constant->name};
    SC_TRY(sc_weights_visit(method->program, match_name, &first));
    const sc_method *other = first.found ? first.found : method;
    return sc_fail(m->state->ctx, SC_ERR_MISMATCH,
                   "Keep these weights inside the program, by a rule that gives no file, or lower "
                   "the methods separately.",
                   "methods '%s' and '%s' have different weights that are called '" SC_STR_FMT
                   "', of %llu and %llu bytes, and file '" SC_STR_FMT
                   "' knows weights by name only",
                   other->name->text, method->name->text, SC_STR_ARG(constant->name),
                   (unsigned long long)(first.weight ? first.weight->data.size : 0),
                   (unsigned long long)constant->data.size, SC_STR_ARG(file));
}

static sc_status add_external(const sc_emit_method *m, const sc_constant *constant, sc_str file,
                              uint32_t *blob) {
    sc_emit_state *state = m->state;
    sc_store *store = &state->segments;
    sc_store_entry entry = {.key = constant->name, .tag = file, .about = &constant->spec};
    SC_TRY(sc_store_add(state->ctx, store, constant->data, state->options.segment_alignment, blob));
    entry.blob = *blob;
    const sc_store_entry *known = sc_store_find(store, constant->name);
    const sc_spec *other = known ? known->about : NULL;
    if (other && (known->blob != *blob || !sc_spec_equal(other, &constant->spec)))
        return fail_name(m, constant, file);
    return sc_store_name(state->ctx, store, &entry);
}

static sc_status place_constant(const sc_emit_method *m, const sc_storage *root, placement *out) {
    sc_emit_state *state = m->state;
    const sc_str file = sc_constant_file(&state->options, root->constant);
    if (file.size) {
        out->is_external = true;
        out->name = root->constant->name;
        // Loaders find the tensor by name, but index 0 means memory that the caller supplies.
        return add_external(m, root->constant, file, &out->data_index);
    }
    return sc_store_add(state->ctx, &state->constants, root->constant->data,
                        state->options.constant_tensor_alignment, &out->data_index);
}

// Methods that share a buffer have it in one place, and the method that is loaded last fills it. So
// all must start it with the same bytes.
static sc_status check_start(sc_emit_method *m, const sc_storage *root, uint32_t blob) {
    sc_emit_state *state = m->state;
    if (root->constant->data.size == 0) return SC_OK;  // the next buffer has the same offset
    uint64_t *known = sc_imap_find(&state->starts, root->offset);
    if (!known) {
        sc_emit_start *start = sc_new(state->arena, sc_emit_start);
        *start = (sc_emit_start){m->storage->method, blob};
        sc_imap_add(&state->starts, root->offset, SC_PTR_KEY(start));
        return SC_OK;
    }
    const sc_emit_start *first = (const sc_emit_start *)(uintptr_t)*known;
    if (first->blob == blob) return SC_OK;
    return sc_fail(state->ctx, SC_ERR_MISMATCH,
                   "Export all methods from one module, or do not share state.",
                   "buffer '" SC_STR_FMT
                   "' starts with different contents in methods '%s' and '%s', which share it",
                   SC_STR_ARG(root->constant->name), m->storage->method->name->text,
                   first->method->name->text);
}

static sc_status place_mutable(sc_emit_method *m, const sc_storage *root, placement *out) {
    sc_emit_state *state = m->state;
    if (state->options.emit_mutable_buffer_names) out->name = root->constant->name;
    SC_TRY(sc_store_add(state->ctx, &state->mutables, root->constant->data, 1, &out->data_index));
    return check_start(m, root, out->data_index);
}

static sc_status place(sc_emit_method *m, const sc_value *value, placement *out) {
    sc_ctx *ctx = m->state->ctx;
    uint64_t offset = 0;
    const sc_storage *root = sc_storage_root(m->storage, value, &offset);
    *out = (placement){0};
    if (root->kind == SC_STORAGE_UNPLANNED) return SC_OK;
    if (root->kind == SC_STORAGE_CONSTANT) {
        if (offset)
            return sc_fail(ctx, SC_ERR_INTERNAL, NULL, "'%s' is a part of a constant",
                           value->name->text);
        return place_constant(m, root, out);
    }
    if (!root->memory_id)
        return sc_fail(ctx, SC_ERR_INTERNAL, NULL, "'%s' has no place in memory",
                       value->name->text);
    out->is_planned = true;
    out->memory_id = root->memory_id;
    out->offset = root->offset + offset;
    // A view of state starts with the state's bytes, and must not load them a second time.
    if (root->kind == SC_STORAGE_MUTABLE && root->value == value)
        return place_mutable(m, root, out);
    return SC_OK;
}

static const char *smaller_hint(sc_ctx *ctx, const sc_value *value, uint32_t dim) {
    sc_open_symbols open = {.arena = ctx->scratch, .bounded = true};
    sc_open_add_dim(&open, value->spec.sizes[dim]);
    return sc_bound_hint(ctx, &open, value->graph->method, "Make the tensor smaller.");
}

// Upper bounds; the runtime resizes within them.
static sc_status sizes_of(sc_ctx *ctx, const sc_value *value, int32_t *sizes) {
    for (uint32_t i = 0; i < value->spec.rank; i++) {
        int64_t max = 0;
        if (!sc_spec_size_max(&value->spec, i, &max))
            return sc_fail(ctx, SC_ERR_UNBOUNDED, NULL, "dimension %u of '%s' has no upper bound",
                           i, value->name->text);
        if (max < 0 || max > INT32_MAX)
            return sc_fail(ctx, SC_ERR_LIMIT, smaller_hint(ctx, value, i),
                           "dimension %u of '%s' may be %lld, but a .pte holds at most 2^31 - 1", i,
                           value->name->text, (long long)max);
        sizes[i] = (int32_t)max;
    }
    return SC_OK;
}

static sc_fb_ref add_allocation(sc_fb_builder *fb, const placement *at) {
    sc_fb_begin(fb);
    sc_pte_AllocationDetails_set_memory_id(fb, at->memory_id);
    sc_pte_AllocationDetails_set_memory_offset_low(fb, (uint32_t)at->offset);
    sc_pte_AllocationDetails_set_memory_offset_high(fb, (uint32_t)(at->offset >> 32));
    return sc_fb_end_shared(fb);
}

static sc_fb_ref add_extra(sc_fb_builder *fb, const placement *at) {
    if (!at->name.size && !at->is_external) return 0;
    sc_fb_ref name = sc_fb_add_string(fb, at->name);
    sc_fb_begin(fb);
    sc_pte_ExtraTensorInfo_set_fully_qualified_name(fb, name);
    sc_pte_ExtraTensorInfo_set_location(fb, at->is_external ? SC_PTE_TensorDataLocation_EXTERNAL
                                                            : SC_PTE_TensorDataLocation_SEGMENT);
    return sc_fb_end_shared(fb);
}

// Loops over slices stack their results slice by slice, growing them as they go; carried results
// keep their shape.
static bool is_grown_by_loop(const sc_value *value) {
    const sc_node *node = value->node;
    if (!node || !sc_op_has(node->op, SC_HIGHER_ORDER)) return false;
    uint32_t carried = 0, list = 0;
    bool slices = false;
    for (uint32_t i = 0; i < node->arg_count; i++) {
        if (node->args[i].kind != SC_ARG_LIST) continue;
        sc_operand_role role = sc_storage_operand_role(node->op, list++);
        if (role == SC_OPERAND_CARRY) carried += node->args[i].count;
        slices |= role == SC_OPERAND_SLICE;
    }
    return slices && value->index >= carried;
}

// A tensor's sizes and dim order, as the format has them.
typedef struct tensor_layout {
    const int32_t *sizes;
    const uint8_t *order;
    bool is_static;
} tensor_layout;

static sc_fb_ref write_tensor(sc_emit_state *state, const sc_spec *spec,
                              const tensor_layout *layout, const placement *at) {
    sc_fb_builder *fb = &state->fb;
    sc_fb_ref sizes = sc_emit_vector(state, layout->sizes, spec->rank, 4);
    sc_fb_ref order = sc_emit_vector(state, layout->order, spec->rank, 1);
    sc_fb_ref allocation = at->is_planned ? add_allocation(fb, at) : 0;
    sc_fb_ref extra = add_extra(fb, at);
    sc_fb_begin(fb);
    sc_pte_Tensor_set_scalar_type(fb, (int8_t)spec->dtype);
    sc_pte_Tensor_set_sizes(fb, sizes);
    sc_pte_Tensor_set_dim_order(fb, order);
    sc_pte_Tensor_set_requires_grad(fb, spec->requires_grad);
    sc_pte_Tensor_set_data_buffer_idx(fb, at->data_index);
    sc_pte_Tensor_set_allocation_info(fb, allocation);
    sc_pte_Tensor_set_shape_dynamism(fb, layout->is_static
                                             ? SC_PTE_TensorShapeDynamism_STATIC
                                             : SC_PTE_TensorShapeDynamism_DYNAMIC_BOUND);
    sc_pte_Tensor_set_extra_tensor_info(fb, extra);
    return sc_fb_end_shared(fb);
}

sc_status sc_emit_constant_tensor(sc_emit_state *state, const sc_constant *constant,
                                  sc_fb_ref *out) {
    int32_t sizes[SC_RANK_MAX];
    uint8_t order[SC_RANK_MAX];
    placement at = {0};
    SC_TRY(sc_store_add(state->ctx, &state->constants, constant->data,
                        state->options.constant_tensor_alignment, &at.data_index));
    for (uint32_t d = 0; d < constant->spec.rank; d++) {
        if (constant->spec.sizes[d].value > INT32_MAX)
            return sc_fail(state->ctx, SC_ERR_LIMIT, NULL,
                           "a dimension of a tensor is %lld, but a .pte holds at most 2^31 - 1",
                           (long long)constant->spec.sizes[d].value);
        sizes[d] = (int32_t)constant->spec.sizes[d].value;
        order[d] = (uint8_t)d;
    }
    *out = write_tensor(state, &constant->spec, &(tensor_layout){sizes, order, true}, &at);
    return SC_OK;
}

sc_status sc_emit_tensor(sc_emit_method *m, const sc_value *value, sc_fb_ref *out) {
    sc_emit_state *state = m->state;
    int32_t sizes[SC_RANK_MAX];
    uint8_t order[SC_RANK_MAX];
    placement at;
    SC_TRY(place(m, value, &at));
    SC_TRY(sizes_of(state->ctx, value, sizes));
    if (!sc_storage_dim_order(value, order))
        return sc_fail(state->ctx, SC_ERR_UNSUPPORTED, "Make it contiguous where it is created.",
                       "the strides of '%s' fit no order of its dimensions", value->name->text);
    bool is_static = sc_spec_is_static(&value->spec) && !is_grown_by_loop(value);
    *out = write_tensor(state, &value->spec, &(tensor_layout){sizes, order, is_static}, &at);
    return SC_OK;
}
