// Turns entries into the dump. Each event is written where it ends. So values come before the scope
// that wrote them, and inner scopes before outer ones.
//
// An instruction may stand for several of the file. All of them are written one after the other,
// each with an equal share of the time. Their sum is the measured time; the share of each is
// unknown. The results belong to the last one.
#include "base/parallel.h"
#include "base/print.h"
#include "base/strides.h"
#include "devtools/dump_threads.h"
#include "devtools/etdump/internal.h"
#include "etdump_fbs.h"

typedef SC_VEC(sc_fb_ref) refs;

typedef struct writer {
    const sc_etdump *dump;
    sc_etdump_counts *counts;
    sc_arena *arena;
    sc_fb_builder b;
    sc_map names;                             // names -> their strings
    sc_imap kernels;                          // names of operators -> strings
    sc_fb_ref metadata[SC_PARALLEL_MAX + 1];  // by number of threads
    refs blocks, events;
    uint64_t at;       // the entry to write next
    bool is_complete;  // the block should have the results of every kernel
    int32_t bundled_input_index;
} writer;

// The place of an event: an instruction of the file, and perhaps an event of its delegate. Outside
// of instructions there is no chain.
typedef struct place {
    int32_t chain, instruction;
    const sc_etdump_entry *node;
} place;
static const place outside = {-1, 0, NULL};

static place place_of(const sc_rt_origin *origin) {
    return (place){(int32_t)origin->chain, (int32_t)origin->index, NULL};
}

static sc_fb_ref string_of(writer *w, sc_str text) {
    void *known = sc_map_get(&w->names, text);
    if (known) return (sc_fb_ref)(uintptr_t)known;
    const sc_fb_ref ref = sc_fb_add_string(&w->b, text);
    sc_map_add(&w->names, text, (void *)(uintptr_t)ref);
    return ref;
}

static const sc_etdump_entry *entry_at(const writer *w, uint64_t index) {
    return index < sc_etdump_count(w->dump) ? sc_etdump_at(w->dump, index) : NULL;
}

static bool next_is(const writer *w, sc_etdump_kind kind) {
    const sc_etdump_entry *entry = entry_at(w, w->at);
    return entry && entry->kind == kind;
}

static void add_event(writer *w, sc_fb_ref event) {
    w->counts->events++;
    sc_vec_push(w->arena, &w->events, event);
}

// --- Scopes --------------------------------------------------------------------------------------

// The number of threads as text. The format has no field for it, so it takes the one for metadata
// of delegates, which readers pass on as it is.
static sc_fb_ref metadata_of(writer *w, const sc_etdump_entry *entry) {
    sc_fb_ref *known = &w->metadata[entry->threads];
    if (*known) return *known;
    char text[16];
    const size_t size = sc_print(text, sizeof text, SC_DUMP_THREADS "%u", entry->threads);
    *known = sc_fb_add_vector(&w->b, text, (uint32_t)size, 1, 4);
    return *known;
}

// Ends the current event.
static void add_profile(writer *w, uint64_t begin, uint64_t end) {
    sc_etdp_ProfileEvent_set_start_time(&w->b, begin);
    sc_etdp_ProfileEvent_set_end_time(&w->b, end);
    const sc_fb_ref profile = sc_fb_end(&w->b);
    sc_fb_begin(&w->b);
    sc_etdp_Event_set_profile_event(&w->b, profile);
    add_event(w, sc_fb_end(&w->b));
}

// `of` is the entry that the scope belongs to.
static void add_scope(writer *w, sc_fb_ref name, place at, const sc_etdump_entry *of,
                      uint64_t begin, uint64_t end) {
    const sc_fb_ref metadata = of->threads ? metadata_of(w, of) : 0;
    sc_fb_begin(&w->b);
    sc_etdp_ProfileEvent_set_name(&w->b, name);
    sc_etdp_ProfileEvent_set_chain_index(&w->b, at.chain);
    sc_etdp_ProfileEvent_set_instruction_id(&w->b, at.instruction);
    sc_etdp_ProfileEvent_set_delegate_debug_metadata(&w->b, metadata);
    add_profile(w, begin, end);
}

static sc_str without_namespace(sc_str op) {
    for (size_t i = 0; i + 1 < op.size; i++)
        if (op.data[i] == ':' && op.data[i + 1] == ':') return sc_str_slice(op, i + 2, op.size);
    return op;
}

static sc_fb_ref kernel_name(writer *w, sc_str op) {
    uint64_t *known = sc_imap_at(&w->kernels, SC_PTR_KEY(op.data));
    if (*known) return (sc_fb_ref)*known;
    const sc_str name = without_namespace(op);
    *known = string_of(w, sc_str_format(w->arena, "native_call_" SC_STR_FMT, SC_STR_ARG(name)));
    return (sc_fb_ref)*known;
}

static sc_str call_name(const sc_etdump_entry *entry, const sc_rt_origin *origin) {
    switch ((sc_rt_kind)entry->what) {
    case SC_RT_DELEGATE: return SC_STR("DELEGATE_CALL");
    case SC_RT_JUMP_FALSE: return SC_STR("JF_CALL");
    case SC_RT_MOVE: return SC_STR("MOVE_CALL");
    case SC_RT_FREE: return SC_STR("FREE_CALL");
    default: SC_ASSERT(origin->op_name.size); return SC_STR("OPERATOR_CALL");
    }
}

// The start of the share of origin `index`. It is the end of the share before it.
static uint64_t share_begin(const sc_etdump_entry *entry, uint32_t index) {
    if (index == entry->count) return entry->end;
    const uint64_t took = entry->end > entry->begin ? entry->end - entry->begin : 0;
    const uint64_t each = took / entry->count, rest = took % entry->count;
    return entry->begin + each * index + rest * index / entry->count;
}

static void add_call(writer *w, const sc_etdump_entry *entry, uint32_t index) {
    const sc_rt_origin *origin = &entry->origins[index];
    const place at = place_of(origin);
    const uint64_t begin = share_begin(entry, index), end = share_begin(entry, index + 1);
    if (sc_etdump_is_kernel((sc_rt_kind)entry->what, origin))
        add_scope(w, kernel_name(w, origin->op_name), at, entry, begin, end);
    add_scope(w, string_of(w, call_name(entry, origin)), at, entry, begin, end);
}

// --- Values --------------------------------------------------------------------------------------

static sc_fb_ref add_tensor(writer *w, const sc_etdump_entry *entry) {
    const int64_t *sizes = (const int64_t *)w->dump->sizes.data + entry->count;
    int64_t strides[SC_RANK_MAX];
    (void)sc_strides_of(sizes, entry->rank, NULL, strides);
    const sc_fb_ref sizes_ref = sc_fb_add_vector(&w->b, sizes, entry->rank, 8, 8);
    const sc_fb_ref strides_ref = sc_fb_add_vector(&w->b, strides, entry->rank, 8, 8);
    sc_fb_begin(&w->b);
    sc_etdp_Tensor_set_scalar_type(&w->b, (int8_t)entry->dtype);
    sc_etdp_Tensor_set_sizes(&w->b, sizes_ref);
    sc_etdp_Tensor_set_strides(&w->b, strides_ref);
    sc_etdp_Tensor_set_offset(&w->b, entry->offset);
    return sc_fb_end(&w->b);
}

static sc_fb_ref add_tensor_list(writer *w, uint32_t count) {
    refs tensors = {0};
    for (uint32_t i = 0; i < count; i++)
        sc_vec_push(w->arena, &tensors, add_tensor(w, entry_at(w, w->at++)));
    const sc_fb_ref items = sc_fb_add_refs(&w->b, tensors.data, tensors.count);
    sc_fb_begin(&w->b);
    sc_etdp_TensorList_set_tensors(&w->b, items);
    return sc_fb_end(&w->b);
}

static sc_fb_ref add_bool(sc_fb_builder *b, bool value) {
    sc_fb_begin(b);
    sc_etdp_Bool_set_bool_val(b, value);
    return sc_fb_end_shared(b);
}

static sc_fb_ref add_int(sc_fb_builder *b, int64_t value) {
    sc_fb_begin(b);
    sc_etdp_Int_set_int_val(b, value);
    return sc_fb_end_shared(b);
}

static sc_fb_ref add_double(sc_fb_builder *b, double value) {
    sc_fb_begin(b);
    sc_etdp_Double_set_double_val(b, value);
    return sc_fb_end_shared(b);
}

// Makes the content of a value, which must exist before its table is begun.
static sc_fb_ref add_content(writer *w, const sc_etdump_entry *entry) {
    if (entry->kind == SC_ETDUMP_LIST) return add_tensor_list(w, entry->count);
    switch ((sc_evalue_tag)entry->what) {
    case SC_EVALUE_TENSOR: return add_tensor(w, entry);
    case SC_EVALUE_INT: return add_int(&w->b, entry->integer);
    case SC_EVALUE_BOOL: return add_bool(&w->b, entry->integer != 0);
    case SC_EVALUE_DOUBLE: return add_double(&w->b, entry->number);
    default: return 0;
    }
}

static void set_content(sc_fb_builder *b, const sc_etdump_entry *entry, sc_fb_ref content) {
    if (entry->kind == SC_ETDUMP_LIST) {
        sc_etdp_Value_set_val(b, SC_ETDP_ValueType_TensorList);
        sc_etdp_Value_set_tensor_list(b, content);
        return;
    }
    switch ((sc_evalue_tag)entry->what) {
    case SC_EVALUE_TENSOR:
        sc_etdp_Value_set_val(b, SC_ETDP_ValueType_Tensor);
        sc_etdp_Value_set_tensor(b, content);
        return;
    case SC_EVALUE_INT:
        sc_etdp_Value_set_val(b, SC_ETDP_ValueType_Int);
        sc_etdp_Value_set_int_value(b, content);
        return;
    case SC_EVALUE_BOOL:
        sc_etdp_Value_set_val(b, SC_ETDP_ValueType_Bool);
        sc_etdp_Value_set_bool_value(b, content);
        return;
    case SC_EVALUE_DOUBLE:
        sc_etdp_Value_set_val(b, SC_ETDP_ValueType_Double);
        sc_etdp_Value_set_double_value(b, content);
        return;
    case SC_EVALUE_STRING: sc_etdp_Value_set_val(b, SC_ETDP_ValueType_String); return;
    default: return;  // Null
    }
}

static sc_fb_ref add_value(writer *w, const sc_etdump_entry *entry, bool is_output) {
    const sc_fb_ref content = add_content(w, entry);
    const sc_fb_ref output = is_output ? add_bool(&w->b, true) : 0;
    sc_fb_begin(&w->b);
    set_content(&w->b, entry, content);
    sc_etdp_Value_set_output(&w->b, output);
    return sc_fb_end(&w->b);
}

// Adds the next value, or the next list of values.
static void add_debug(writer *w, place at, bool is_output) {
    const sc_fb_ref value = add_value(w, entry_at(w, w->at++), is_output);
    const sc_fb_ref id = at.node && at.node->id ? string_of(w, *at.node->id) : 0;
    sc_fb_begin(&w->b);
    if (at.node && !id)
        sc_etdp_DebugEvent_set_delegate_debug_id_int(&w->b, (int32_t)at.node->count);
    sc_etdp_DebugEvent_set_delegate_debug_id_str(&w->b, id);
    sc_etdp_DebugEvent_set_chain_index(&w->b, (uint64_t)(int64_t)at.chain);
    sc_etdp_DebugEvent_set_instruction_id(&w->b, at.instruction);
    sc_etdp_DebugEvent_set_debug_entry(&w->b, value);
    const sc_fb_ref debug = sc_fb_end(&w->b);
    sc_fb_begin(&w->b);
    sc_etdp_Event_set_debug_event(&w->b, debug);
    w->counts->values++;
    add_event(w, sc_fb_end(&w->b));
}

static bool next_is_value(const writer *w) {
    return next_is(w, SC_ETDUMP_VALUE) || next_is(w, SC_ETDUMP_LIST);
}

// --- Blocks --------------------------------------------------------------------------------------

static void add_instruction(writer *w, const sc_etdump_entry *entry) {
    const uint32_t last = entry->count - 1;
    const sc_rt_kind work = (sc_rt_kind)entry->what;
    const bool is_shown = sc_etdump_is_shown(work, &entry->origins[last]);
    if (entry->begin == entry->end) w->counts->instants++;
    if (w->is_complete) w->counts->unseen += last + (is_shown && !next_is_value(w));
    for (uint32_t i = 0; i < last; i++) add_call(w, entry, i);
    while (next_is_value(w)) add_debug(w, place_of(&entry->origins[last]), false);
    add_call(w, entry, last);
}

// The instruction after the delegate's nodes. Every node that begins also ends, and the instruction
// that called the delegate follows.
static const sc_etdump_entry *instruction_ahead(const writer *w) {
    uint64_t at = w->at;
    while (entry_at(w, at)->kind != SC_ETDUMP_INSTRUCTION) at++;
    return entry_at(w, at);
}

static void add_node(writer *w, const sc_etdump_entry *node, const sc_etdump_entry *call) {
    place at = place_of(&call->origins[call->count - 1]);
    at.node = node;
    const sc_fb_ref id = node->id ? string_of(w, *node->id) : 0;
    const sc_fb_ref metadata =
        node->threads ? metadata_of(w, node) : sc_fb_add_vector(&w->b, NULL, 0, 1, 4);
    sc_fb_begin(&w->b);
    sc_etdp_ProfileEvent_set_chain_index(&w->b, at.chain);
    sc_etdp_ProfileEvent_set_instruction_id(&w->b, at.instruction);
    if (!id) sc_etdp_ProfileEvent_set_delegate_debug_id_int(&w->b, (int32_t)node->count);
    sc_etdp_ProfileEvent_set_delegate_debug_id_str(&w->b, id);
    sc_etdp_ProfileEvent_set_delegate_debug_metadata(&w->b, metadata);
    add_profile(w, node->begin, node->end);
    while (next_is_value(w)) add_debug(w, at, false);
}

// Nodes with values are written last node first. If several nodes of a call represent one node of
// the program, readers use the value of the first that they find.
static void add_nodes(writer *w, const sc_etdump_entry *call) {
    SC_VEC(uint64_t) nodes = {0};
    while (entry_at(w, w->at) != call) {
        if (next_is(w, SC_ETDUMP_NODE)) sc_vec_push(w->arena, &nodes, w->at);
        w->at++;
    }
    const uint64_t end = w->at;
    for (uint32_t i = 0; i < nodes.count; i++) {
        w->at = nodes.data[w->is_complete ? nodes.count - 1 - i : i];
        const sc_etdump_entry *node = entry_at(w, w->at++);
        add_node(w, node, call);
    }
    w->at = end;
}

static void end_block(writer *w, sc_str name) {
    const sc_fb_ref text = string_of(w, name);
    const sc_fb_ref events = sc_fb_add_refs(&w->b, w->events.data, w->events.count);
    sc_fb_begin(&w->b);
    sc_etdp_RunData_set_name(&w->b, text);
    sc_etdp_RunData_set_bundled_input_index(&w->b, w->bundled_input_index);
    sc_etdp_RunData_set_events(&w->b, events);
    sc_vec_push(w->arena, &w->blocks, sc_fb_end(&w->b));
    w->counts->blocks++;
    w->events.count = 0;
}

static void add_load(writer *w, const sc_etdump_entry *entry) {
    w->bundled_input_index = -1;
    const uint64_t begin = entry->begin, end = entry->end;
    add_scope(w, string_of(w, SC_STR("Method::init")), outside, entry, begin, end);
    add_scope(w, string_of(w, SC_STR("Program::load_method")), outside, entry, begin, end);
    end_block(w, SC_STR("Default"));
}

static void add_run(writer *w, const sc_etdump_entry *run) {
    w->bundled_input_index = run->bundled_input_index;
    w->is_complete = run->what == SC_ETDUMP_INTERMEDIATES;
    while (!next_is(w, SC_ETDUMP_RETURN)) {
        const sc_etdump_entry *call = instruction_ahead(w);
        add_nodes(w, call);
        w->at++;
        add_instruction(w, call);
    }
    w->at++;
    add_scope(w, string_of(w, SC_STR("Method::execute")), outside, run, run->begin, run->end);
    while (next_is_value(w)) add_debug(w, outside, true);
    end_block(w, SC_STR("Execute"));
}

sc_status sc_etdump_write(sc_ctx *ctx, const sc_etdump *dump, sc_arena *arena, const uint8_t **data,
                          size_t *size, sc_etdump_counts *counts) {
    writer w = {.dump = dump, .counts = counts, .arena = arena};
    *counts = (sc_etdump_counts){
        .omitted = dump->omitted, .widened = dump->widened, .clock_step = dump->step};
    sc_fb_builder_init(&w.b, arena);
    sc_map_init(&w.names, arena);
    sc_imap_init(&w.kernels, arena);
    while (w.at < sc_etdump_count(dump)) {
        const sc_etdump_entry *block = entry_at(&w, w.at++);
        if (block->kind == SC_ETDUMP_LOAD)
            add_load(&w, block);
        else
            add_run(&w, block);
    }
    const sc_fb_ref blocks = sc_fb_add_refs(&w.b, w.blocks.data, w.blocks.count);
    sc_fb_begin(&w.b);
    sc_etdp_ETDump_set_run_data(&w.b, blocks);
    return sc_fb_finish_size_prefixed(ctx, &w.b, sc_fb_end(&w.b), SC_ETDP_IDENTIFIER, data, size);
}
