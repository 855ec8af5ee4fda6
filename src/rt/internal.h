// What the files of the runtime share: the program and method records. Private to src/rt.
#ifndef SC_RT_INTERNAL_H
#define SC_RT_INTERNAL_H

#include "base/map.h"
#include "base/source.h"
#include "program_fbs.h"
#include "rt/event.h"

// --- Data files ----------------------------------------------------------------------------------

typedef struct sc_rt_datum {
    sc_str key;
    bool has_layout;
    uint8_t dtype, rank;
    sc_fb_vec sizes, dim_order;
    sc_extent extent;
    uint32_t file;         // which of the data files holds it
    const uint8_t *bytes;  // once a method needed them
    bool is_wanted;        // by the method that is being loaded
} sc_rt_datum;

typedef struct sc_rt_data_map {
    sc_map by_key;  // to sc_rt_datum
    SC_VEC(sc_rt_datum *) data;
    SC_VEC(uint8_t *) owned;  // metadata copies
} sc_rt_data_map;

sc_status sc_rt_data_map_open(sc_ctx *ctx, sc_arena *arena, sc_source *const *files, uint32_t count,
                              sc_rt_data_map *map);
void sc_rt_data_map_close(sc_rt_data_map *map);
// NULL when there is none.
sc_rt_datum *sc_rt_data_map_find(const sc_rt_data_map *map, sc_str key);

// --- Named data ----------------------------------------------------------------------------------

// Bytes that delegates look up by name.
typedef struct sc_rt_blob {
    sc_extent extent;
    sc_rt_datum *datum;    // when a data file has them
    const uint8_t *bytes;  // while somebody uses them
    uint8_t *owned;        // NULL when they are in memory anyway
    uint32_t users;
} sc_rt_blob;

// What the delegates of a program that name one backend share.
typedef struct sc_rt_shared {
    const sc_rt_backend *backend;
    void *data;
} sc_rt_shared;

// --- Program -------------------------------------------------------------------------------------

typedef struct sc_rt_pool {
    uint8_t *data;
    uint64_t bytes;  // the most that any method asks for
} sc_rt_pool;

// `bytes` from its offset on; 0 when no method needed it yet.
typedef struct sc_rt_constant {
    const uint8_t *data;
    uint64_t bytes;
} sc_rt_constant;

// Constants that were read together.
typedef struct sc_rt_block {
    uint8_t *memory;
    uint64_t bytes;
    uint64_t users;  // operands that show some of it, while weights are packed
    bool is_kept;    // of a data file, whose bytes others look up by name
    bool is_gone;
} sc_rt_block;

struct sc_rt_program {
    sc_ctx *ctx;
    sc_arena arena;
    sc_source *source;
    sc_rt_options options;
    const uint8_t *flat;  // the verified FlatBuffer
    uint8_t *flat_owned;  // NULL when it is a view of the source
    uint64_t flat_bytes, segment_base, segment_end;
    sc_fb_table root;
    sc_fb_vec plans, segments;
    sc_extent constant_extent, mutable_extent;
    sc_fb_vec constant_offsets, mutable_offsets;
    bool constants_inline;                // old files keep them in the FlatBuffer
    const uint8_t *constant_view;         // their segment, when it is in memory anyway
    sc_rt_constant *constants;            // by index, when it is not
    SC_VEC(sc_rt_block) constant_blocks;  // what was read, of data files too
    sc_rt_data_map data_map;
    sc_map named;  // to sc_rt_blob, by key: of the program and of the data files
    SC_VEC(sc_rt_shared *) shared;
    sc_rt_pool *pools;  // by memory id, 0 unused
    uint32_t pool_count;
    sc_rt_method **methods;  // by plan index, NULL until loaded
    sc_rt_sink *sink;        // NULL: nobody listens
};

static inline sc_fb_table sc_rt_plan(const sc_rt_program *program, uint32_t index) {
    return sc_fb_vec_table(program->plans, index);
}

// --- Method --------------------------------------------------------------------------------------

typedef sc_status (*sc_prim_fn)(const sc_kernel_call *call);

// What the record of a delegate's argument has to stay.
typedef struct sc_rt_declared {
    uint8_t tag, dtype, rank;
    uint8_t dim_order[SC_RANK_MAX];
} sc_rt_declared;

// Something that a backend runs: what its other half made of a part.
typedef struct sc_rt_delegate {
    const sc_rt_backend *backend;
    sc_str id;
    bool is_started;  // by the first instruction that calls it
    void *state;
    uint32_t input_count, arg_count;
    sc_evalue *const *args;    // of the first call, which those of others are like
    sc_rt_declared *declared;  // what they were when it was started
} sc_rt_delegate;

typedef struct sc_rt_instruction {
    uint8_t kind;         // sc_rt_kind
    bool is_dynamic;      // shapes and arguments have to be looked at on every run
    uint32_t next;        // where to go on when nobody listens: over what is skipped
    sc_rt_origin origin;  // in the file
    union {
        sc_kernel_fn kernel;
        sc_prim_fn prim;
        uint32_t target;  // JUMP_FALSE: where to go, in this array
    };
    sc_kernel_call call;  // KERNEL, PRIM; DELEGATE has no operator in it
    uint32_t from, to;    // MOVE, COPY; JUMP_FALSE and FREE use `from`
    uint32_t inputs;      // DELEGATE: how many leading arguments it takes
    sc_rt_delegate *delegate;
    // What a listener is told: the instructions that this one stands for, none when another one
    // does, and whose results it leaves in their place, NULL when no instruction's.
    uint32_t origin_count;
    const sc_rt_origin *origins;
    const struct sc_rt_instruction *shown;
} sc_rt_instruction;

// Where a value of the file is kept, and what happens to it.
typedef struct sc_rt_place {
    uint32_t memory_id;  // tensors; 0: not planned
    uint64_t offset, bytes;
    uint32_t buffer_index;  // initial bytes, 0: none
    sc_rt_datum *datum;     // initial bytes from a data file
    bool is_constant;
    bool is_input;
    bool is_written;  // some instruction writes it
    bool is_state;    // read before anything writes it: survives from run to run
    bool is_loose;    // its record changes under way: moved, freed, re-pointed
} sc_rt_place;

// A tensor input as it was set, in the method's layout.
typedef struct sc_rt_staged {
    uint8_t *bytes;
    uint64_t size;
    bool is_set;
} sc_rt_staged;

// Memory of constants computed at load.
typedef struct sc_rt_folded {
    struct sc_rt_folded *next;
    uint8_t *memory;
} sc_rt_folded;

// A constant operand as a kernel wants it.
typedef struct sc_rt_packed {
    struct sc_rt_packed *next;
    const void *constant;
    sc_packing packing;
} sc_rt_packed;

// What a loose value is when a run begins.
typedef struct sc_rt_loose {
    uint32_t value;
    sc_evalue initial;
    sc_tensor tensor;  // without what resizing changes
} sc_rt_loose;

struct sc_rt_method {
    sc_rt_program *program;
    sc_fb_table plan;
    sc_str name;
    uint32_t plan_index;
    sc_evalue *values;
    sc_rt_place *places;
    uint32_t value_count;
    uint32_t *inputs, *outputs;
    uint32_t input_count, output_count;
    sc_rt_staged *staged;
    sc_rt_instruction *code;
    uint32_t code_count;
    sc_rt_delegate *delegates;
    uint32_t delegate_count;
    sc_rt_pool *memory;  // by memory id: a pool of the program, or memory of its own
    uint32_t memory_count;
    bool owns_activations;  // memory id 1 is its own, because it keeps state there
    uint8_t *loose_memory;  // tensors that the file left unplanned
    uint8_t *stage_memory;
    uint8_t *scratch;
    sc_rt_folded *folded;
    sc_rt_packed *packed;
    sc_rt_loose *loose;
    uint32_t loose_count;
};

// values.c: EValues of the plan, checked; tensors come out without memory.
sc_status sc_rt_values_parse(sc_ctx *ctx, sc_rt_method *method);
// constants.c: reads what the method needs of constants and data files and no method had read yet.
sc_status sc_rt_constants_load(sc_ctx *ctx, sc_rt_method *method);
void sc_rt_constants_free(sc_rt_program *program);
// Memory of constants that are only needed until they are packed. First who needs what is counted,
// then an operand lets go of what it shows, and at last pointers to what is gone are cleared. In a
// program of several methods nothing goes: the others would have to read it again.
void sc_rt_constants_count(sc_rt_method *method);
void sc_rt_constants_release(sc_rt_method *method, const sc_tensor *tensor);
void sc_rt_constants_forget(sc_rt_method *method);
// Is it a constant of which only a packing is left? Listeners are not shown it.
bool sc_rt_constant_is_gone(const sc_evalue *value);
// The address of a constant that was loaded.
sc_status sc_rt_constant_at(sc_ctx *ctx, const sc_rt_program *program, const sc_rt_place *place,
                            const uint8_t **out);
// Initial bytes of a mutable tensor.
sc_status sc_rt_initial_read(sc_ctx *ctx, const sc_rt_program *program, uint32_t index, void *out,
                             size_t bytes);
// allocate.c: SC_ERR_MEMORY says what there is no memory for, and whose limit that is.
sc_status sc_rt_allocate(sc_ctx *ctx, uint64_t bytes, const char *what, uint8_t **out);
sc_status sc_rt_no_block(sc_ctx *ctx, const char *what, uint64_t bytes);
// The same for what comes in several blocks, `had` of whose bytes there were.
sc_status sc_rt_no_memory(sc_ctx *ctx, const char *what, uint64_t bytes, uint64_t had);
// memory.c: gives every tensor its memory and writes initial state.
sc_status sc_rt_memory_bind(sc_ctx *ctx, sc_rt_method *method);
sc_status sc_rt_memory_reset(sc_ctx *ctx, sc_rt_method *method);
void sc_rt_memory_free(sc_rt_method *method);
sc_status sc_rt_pools_declare(sc_ctx *ctx, sc_rt_program *program);
sc_status sc_rt_pools_reset(sc_ctx *ctx, sc_rt_program *program);
// bind.c: instructions to calls. First names, indexes and kinds; then, with memory in place,
// shapes, overlaps and scratch: everything that can be known before running is checked here.
sc_status sc_rt_code_parse(sc_ctx *ctx, sc_rt_method *method);
sc_status sc_rt_code_finish(sc_ctx *ctx, sc_rt_method *method);
// What is skipped stays for listeners; all else steps over it.
void sc_rt_code_link(sc_rt_method *method);
// delegate.c: what backends run. `in` is a call whose arguments have been found.
sc_status sc_rt_delegates_open(sc_ctx *ctx, sc_rt_method *method);
sc_status sc_rt_delegate_bind(sc_ctx *ctx, sc_rt_method *method, uint32_t index,
                              sc_rt_instruction *in);
// With memory in place: a delegate may write neither constants nor over its other operands.
sc_status sc_rt_delegate_check(sc_ctx *ctx, const sc_rt_method *method,
                               const sc_rt_instruction *in);
sc_status sc_rt_delegate_run(sc_ctx *ctx, const sc_rt_method *method, const sc_rt_instruction *in);
sc_status sc_rt_delegates_reset(sc_ctx *ctx, sc_rt_method *method);
void sc_rt_delegates_free(sc_rt_method *method);
// named.c: bytes by name, of the program and of the data files beside it. A name that both have
// means the data file, as on the official runtime.
sc_status sc_rt_named_open(sc_ctx *ctx, sc_rt_program *program);
sc_rt_named sc_rt_named_of(sc_rt_program *program);
// What a part looks up by name, as far as its backend can tell without starting it: the keys, as
// copies on `arena`, some of them perhaps more than once.
sc_status sc_rt_part_keys(sc_ctx *ctx, const sc_rt_program *program, uint32_t index, uint32_t part,
                          sc_arena *arena, sc_rt_keys *out);
void sc_rt_named_close(sc_rt_program *program);
// segments.c
// SC_ERR_CORRUPT: `what` says what is wrong with the file.
sc_status sc_rt_bad_pte(sc_ctx *ctx, const char *what);
sc_status sc_rt_segments_check(sc_ctx *ctx, sc_rt_program *program);
sc_status sc_rt_segment_at(sc_ctx *ctx, const sc_rt_program *program, uint32_t index,
                           sc_extent *out);
// event.c: tells the program's listener, if there is one. `in` is NULL but for instructions.
void sc_rt_tell_begin(const sc_rt_method *m, sc_rt_event_kind kind, const sc_rt_instruction *in);
void sc_rt_tell_end(const sc_rt_method *m, sc_rt_event_kind kind, const sc_rt_instruction *in,
                    sc_status status);
// What a delegate is handed to tell of itself; it belongs to one call.
struct sc_rt_hearing {
    sc_rt_sink *sink;
    const sc_rt_method *method;
    const sc_rt_instruction *in;
};
// usage.c: who writes what, what is state, which calls need a look on every run.
sc_status sc_rt_usage_find(sc_ctx *ctx, sc_rt_method *method);

// pack.c: constant operands in the order that kernels want them.
sc_status sc_rt_pack_constants(sc_ctx *ctx, sc_rt_method *method);

// shape.c: runs the operator's shape rule on a call and gives its outs their sizes.
sc_status sc_rt_call_shape(sc_ctx *ctx, const sc_kernel_call *call, bool at_load);
// Where the elements lie in the first operand that an op copies a view of, by the op's own shape
// rule. False for ops that copy no view, and for calls whose shapes were not settled at load.
typedef struct sc_rt_window {
    uint32_t rank;
    int64_t strides[SC_RANK_MAX];
    int64_t offset;
    bool is_contiguous;
} sc_rt_window;
bool sc_rt_call_window(sc_ctx *ctx, const sc_rt_instruction *in, sc_rt_window *out);
// Nothing to compute: all results are empty, whatever the operands are.
bool sc_rt_call_is_empty(const sc_kernel_call *call);
// Only the rule's results, on the context's scratch.
sc_status sc_rt_call_infer(const sc_kernel_call *call, bool at_load, struct sc_infer *in);
// Kinds of the arguments against the schema.
sc_status sc_rt_call_check(sc_ctx *ctx, const sc_kernel_call *call);

// info.c: what a tensor of the file is; sizes and order of dims are copies on `arena`.
sc_status sc_rt_tensor_info(sc_ctx *ctx, sc_arena *arena, sc_fb_table tensor,
                            sc_rt_value_info *out);
// tensor.c
void sc_rt_tensor_set_strides(sc_tensor *tensor);
uint64_t sc_rt_tensor_bytes(const sc_tensor *tensor);
sc_status sc_rt_tensor_resize(sc_ctx *ctx, sc_tensor *tensor, const int64_t *sizes, uint32_t rank);
// Row-major bytes into the tensor's layout.
void sc_rt_tensor_write(sc_tensor *tensor, void *to, const void *row_major);
// What is wrong with where a call writes, or NULL: to a constant, or over an operand.
const char *sc_rt_call_write_fault(const sc_kernel_call *call);

// operands.c: how many leading arguments a call takes; what it gives follows. Who reads and writes
// which of them: operands.h.
uint32_t sc_rt_kept_inputs(const sc_op *op);

// prim.c: NULL when `op` is not a primitive.
sc_prim_fn sc_rt_prim(const sc_op *op);

#endif
