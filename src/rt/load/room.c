// The least memory that a method takes: its weights, its planned memory, and the data of a part.
// Packing needs more, so a method that passes may still find no memory. One that fails cannot be
// loaded, and the error comes before its weights are read.
#include "rt/load/room.h"

#include "rt/load/data_map.h"

static const char *const hint =
    "Quantize the model or export it in half precision, leave out methods and sizes that are not "
    "needed, or run it where there is more memory, such as in ExecuTorch's own runtime.";

typedef struct need {
    uint64_t weights, planned, part;
} need;

// Sums stop at the largest number: files may declare any sizes.
static uint64_t sum(uint64_t a, uint64_t b) {
    uint64_t out;
    return sc_add_u64(a, b, &out) ? out : UINT64_MAX;
}

static uint64_t total(const need *n) { return sum(sum(n->weights, n->planned), n->part); }

// --- Weights -------------------------------------------------------------------------------------

// Zero for a tensor that loading refuses.
static uint64_t tensor_bytes(sc_fb_table tensor) {
    const int8_t dtype = sc_pte_Tensor_scalar_type(tensor);
    const sc_fb_vec sizes = sc_pte_Tensor_sizes(tensor);
    if (dtype < 0 || !sc_dtype_is_known((uint32_t)dtype)) return 0;
    uint64_t bytes = sc_dtype_bytes((sc_dtype)dtype);
    for (uint32_t d = 0; d < sizes.count; d++) {
        const int32_t size = sc_fb_vec_i32(sizes, d);
        if (size < 0 || !sc_mul_u64(bytes, (uint64_t)size, &bytes)) return 0;
    }
    return bytes;
}

static bool is_in_memory(const sc_extent *e) { return !e->size || e->source->memory; }

static const sc_rt_datum *datum_of(const sc_rt_program *p, sc_fb_table tensor) {
    sc_fb_table extra = sc_pte_Tensor_extra_tensor_info(tensor);
    const sc_str name = extra.at ? sc_pte_ExtraTensorInfo_fully_qualified_name(extra) : (sc_str){0};
    return name.data ? sc_rt_data_map_find(&p->data_map, name) : NULL;
}

typedef struct weighing {
    const sc_rt_program *p;
    sc_imap seen;
    uint64_t inside, outside;  // bytes in the segment, and in data files
} weighing;

static void weigh(weighing *w, sc_fb_table plan) {
    const sc_rt_program *p = w->p;
    const sc_fb_vec values = sc_pte_ExecutionPlan_values(plan);
    const bool is_read = !p->constants_inline && !is_in_memory(&p->constant_extent);
    for (uint32_t i = 0; i < values.count; i++) {
        sc_fb_table entry = sc_fb_vec_table(values, i);
        if (sc_pte_EValue_val_type(entry) != SC_PTE_KernelTypes_Tensor) continue;
        sc_fb_table tensor = sc_pte_EValue_val(entry);
        const uint32_t index = sc_pte_Tensor_data_buffer_idx(tensor);
        if (sc_pte_Tensor_allocation_info(tensor).at) continue;
        const sc_rt_datum *datum = datum_of(p, tensor);
        if (datum && !is_in_memory(&datum->extent) && sc_imap_add(&w->seen, SC_PTR_KEY(datum), 1))
            w->outside = sum(w->outside, datum->extent.size);
        if (!datum && index && is_read && sc_imap_add(&w->seen, index, 1))
            w->inside = sum(w->inside, tensor_bytes(tensor));
    }
}

// Each constant counts once, and if only new ones are asked for, not if another method has it in
// memory or packed. Together they have no more bytes than their segment.
static uint64_t weight_bytes(sc_ctx *ctx, const sc_rt_program *p, uint32_t index, bool are_new) {
    weighing w = {.p = p};
    sc_imap_init(&w.seen, ctx->scratch);
    for (uint32_t i = 0; are_new && i < p->plans.count; i++) {
        if (p->methods[i]) weigh(&w, sc_rt_plan(p, i));
    }
    w.inside = w.outside = 0;
    weigh(&w, sc_rt_plan(p, index));
    return sum(sc_min_u64(w.inside, p->constant_extent.size), w.outside);
}

// --- Needs of a method ---------------------------------------------------------------------------

static uint64_t planned_bytes(const sc_rt_program *p, sc_fb_table plan) {
    const sc_fb_vec sizes = sc_pte_ExecutionPlan_non_const_buffer_sizes(plan);
    uint64_t bytes = 0;
    for (uint32_t id = 1; id < sizes.count; id++) {
        const bool is_there = p->pools[id].data != NULL;
        bytes = sum(bytes, is_there ? 0 : (uint64_t)sc_fb_vec_i64(sizes, id));
    }
    return bytes;
}

// The data of parts are read one after the other.
static uint64_t part_bytes(const sc_rt_program *p, sc_fb_table plan) {
    const sc_fb_vec delegates = sc_pte_ExecutionPlan_delegates(plan);
    uint64_t most = 0;
    for (uint32_t i = 0; i < delegates.count; i++) {
        sc_fb_table data = sc_pte_BackendDelegate_processed(sc_fb_vec_table(delegates, i));
        if (!data.at ||
            sc_pte_BackendDelegateDataReference_location(data) != SC_PTE_DataLocation_SEGMENT)
            continue;
        const uint32_t index = sc_pte_BackendDelegateDataReference_index(data);
        if (index >= p->segments.count || p->source->memory) continue;
        most = sc_max_u64(most, sc_pte_DataSegment_size(sc_fb_vec_table(p->segments, index)));
    }
    return most;
}

static need need_of(sc_ctx *ctx, const sc_rt_program *p, uint32_t index, bool are_new) {
    sc_fb_table plan = sc_rt_plan(p, index);
    const sc_mark mark = sc_arena_mark(ctx->scratch);
    const need out = {.weights = weight_bytes(ctx, p, index, are_new),
                      .planned = planned_bytes(p, plan),
                      .part = part_bytes(p, plan)};
    sc_arena_rewind(ctx->scratch, mark);
    return out;
}

static sc_status too_large(sc_ctx *ctx, const sc_rt_program *p, uint32_t index, const need *n,
                           uint64_t held, uint64_t most) {
    sc_sb sb;
    sc_sb_init(&sb, ctx->scratch);
    sc_sb_add_bytes(&sb, total(n));
    sc_sb_add_text(&sb, " of memory at least, ");
    sc_sb_add_bytes(&sb, n->weights);
    sc_sb_add_text(&sb, " of it for weights and ");
    sc_sb_add_bytes(&sb, n->planned);
    sc_sb_add_text(&sb, " planned, and WebAssembly can have ");
    sc_sb_add_bytes(&sb, most);
    if (held) {
        sc_sb_add_text(&sb, ", of which ");
        sc_sb_add_bytes(&sb, held);
        sc_sb_add_text(&sb, " are in use");
    }
    return sc_fail(ctx, SC_ERR_MEMORY, hint, "method '" SC_STR_FMT "' needs %s",
                   SC_STR_ARG(sc_pte_ExecutionPlan_name(sc_rt_plan(p, index))),
                   sc_sb_terminate(&sb));
}

// --- Checks --------------------------------------------------------------------------------------

// Methods without inputs give constants, and fit everywhere.
static bool computes(const sc_rt_program *p, uint32_t index) {
    return sc_pte_ExecutionPlan_inputs(sc_rt_plan(p, index)).count > 0;
}

sc_status sc_rt_room_check(sc_ctx *ctx, const sc_rt_program *p) {
    uint64_t taken, most, least = UINT64_MAX;
    uint32_t smallest = 0;
    if (!sc_memory_extent(&taken, &most)) return SC_OK;
    for (uint32_t i = 0; i < p->plans.count; i++) {
        if (!computes(p, i)) continue;
        const need n = need_of(ctx, p, i, false);
        if (total(&n) <= most) return SC_OK;
        if (total(&n) < least) {
            least = total(&n);
            smallest = i;
        }
    }
    if (least == UINT64_MAX && !computes(p, smallest)) return SC_OK;
    const need n = need_of(ctx, p, smallest, false);
    return too_large(ctx, p, smallest, &n, 0, most);
}

sc_status sc_rt_room_check_method(sc_ctx *ctx, const sc_rt_program *p, uint32_t index) {
    uint64_t taken, most;
    if (!sc_memory_extent(&taken, &most)) return SC_OK;
    need n = need_of(ctx, p, index, false);
    // Counting what is in use takes some time, and small methods fit nearly always.
    if (total(&n) <= most / 4) return SC_OK;
    n = need_of(ctx, p, index, true);
    const uint64_t held = sc_memory_in_use();
    if (total(&n) <= most - sc_min_u64(held, most)) return SC_OK;
    return too_large(ctx, p, index, &n, held, most);
}
