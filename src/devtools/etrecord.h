// An ETRecord describes a program as the exporter knew it, for tools that explain a run. It is a
// zip with the programs before and after each stage, maps from instructions to nodes, and example
// inputs and outputs.
//
// A record is a view. Its programs are methods that other objects own, and they never change once a
// record names them. The maps refer to them. A copy copies neither, so a change to one record never
// shows in another.
// Prefix: sc_etrecord_ makes, writes and reads a record.
#ifndef SC_ETRECORD_H
#define SC_ETRECORD_H

#include "emit/emit.h"
#include "format/torch_save.h"
#include "ir/ir.h"

// Names of entries. A stage of the user may not have one of them.
#define SC_ETRECORD_IDENTIFIER "ETRECORD_V0"
#define SC_ETRECORD_EXPORTED   "exported_program"
#define SC_ETRECORD_EDGE       "edge_dialect_exported_program"

// --- Contents of a record ------------------------------------------------------------------------

// A program of one stage.
typedef struct sc_etrecord_program {
    sc_str stage;             // SC_ETRECORD_EXPORTED, SC_ETRECORD_EDGE, or a name in the graph map
    sc_str method_name;       // the name in the record; `method` may have another name
    const sc_method *method;  // NULL: there is no such program
    bool has_weights;
    bool is_edge;  // it is in the edge dialect
} sc_etrecord_program;

// The nodes that one instruction computes. The call of a delegate has a list of them, every other
// instruction has one.
typedef struct sc_etrecord_handles {
    uint32_t instruction;
    bool is_list;
    const uint32_t *handles;
    uint32_t count;
} sc_etrecord_handles;

// A backend's identifier of a part of its work, and the nodes that this part computes.
typedef struct sc_etrecord_event {
    bool is_number;  // the identifier is `id`, else `name`. In the file both are text; digits alone
                     // are a number
    int64_t id;
    sc_str name;
    const uint32_t *handles;
    uint32_t count;
} sc_etrecord_event;

// An instruction that calls a delegate.
typedef struct sc_etrecord_delegate {
    uint32_t instruction;
    sc_str backend;
    bool has_events;  // the backend maps its events to nodes; the list may be empty
    SC_VEC(sc_etrecord_event) events;
} sc_etrecord_delegate;

typedef struct sc_etrecord_outs {
    uint32_t instruction;  // the call of a delegate
    uint32_t count;        // number of its results
} sc_etrecord_outs;

// The maps of one method. Rows are in order of instructions.
typedef struct sc_etrecord_maps {
    sc_str method;
    bool has_handles, has_delegates, has_outs;  // the method has a row in this map
    SC_VEC(sc_etrecord_handles) handles;
    SC_VEC(sc_etrecord_delegate) delegates;
    SC_VEC(sc_etrecord_outs) outs;
} sc_etrecord_maps;

// An entry of a file that cannot be read, and the reason.
typedef struct sc_etrecord_unread {
    sc_str entry, reason;
} sc_etrecord_unread;

typedef struct sc_etrecord {
    sc_etrecord_program exported;  // the program of `forward`, or of the only method
    SC_VEC(sc_etrecord_program)
    originals;                              // the exported program of each method; a file has room
                                            // for one
    SC_VEC(sc_etrecord_program) edge;       // one for each method
    SC_VEC(sc_etrecord_program) graph_map;  // further stages, in the order in which they were added
    bool has_graph_id;
    // Nodes of edge programs name those of the exported program by this number. A method without an
    // exported program here has one in a record of its own, under the same number.
    uint64_t graph_id;

    // Maps that exist once the program is executable.
    bool has_debug_handle_map, has_delegate_map, has_num_outs_map;
    SC_VEC(sc_etrecord_maps) maps;                 // one for each method
    const sc_pickle_value *reference_outputs;      // {method: [[outputs] of each case]}, or NULL
    const sc_pickle_value *representative_inputs;  // list or tuple, the inputs of one case, or NULL

    SC_VEC(sc_str) unknown;             // entries of the file with names that are unknown here
    SC_VEC(sc_etrecord_unread) unread;  // damaged entries; the record has no content of them
} sc_etrecord;

// The maps of a method, or NULL.
const sc_etrecord_maps *sc_etrecord_maps_of(const sc_etrecord *record, sc_str method);
// The program of a stage, or NULL. An empty method name is for stages that have only one program.
const sc_etrecord_program *sc_etrecord_find(const sc_etrecord *record, sc_str stage, sc_str method);
// The row of an instruction, or NULL. The rows must ascend, as they do in maps that were read.
const sc_etrecord_delegate *sc_etrecord_delegate_of(const sc_etrecord_maps *maps,
                                                    uint32_t instruction);

// --- Making records (record.c) -----------------------------------------------------------------
//
// Each kind of content is added once: SC_ERR_STATE for a second time. Programs and plans must live
// as long as the record, and never change.

// Copies the edge stage only, without maps, outputs and inputs.
void sc_etrecord_copy(sc_ctx *ctx, const sc_etrecord *from, sc_etrecord *out);
// Adds the exported program. If it has several methods, only `forward` is added, because a file has
// room for one.
sc_status sc_etrecord_add_exported(sc_ctx *ctx, sc_etrecord *record, const sc_program *program);
sc_status sc_etrecord_add_edge(sc_ctx *ctx, sc_etrecord *record, const sc_program *program);
// Adds every method of the program as `stage`. A program of the same name is replaced.
// SC_ERR_ARGUMENT if `stage` contains the name of an entry above.
sc_status sc_etrecord_add_stage(sc_ctx *ctx, sc_etrecord *record, sc_str stage,
                                const sc_program *program, bool is_edge);
// Adds the maps of an emitted program (emitted.c).
sc_status sc_etrecord_add_emitted(sc_ctx *ctx, sc_etrecord *record, const sc_emit_result *emitted);
// SC_ERR_STATE if the record has content that only an executable program has.
sc_status sc_etrecord_check_no_executorch(sc_ctx *ctx, const sc_etrecord *record);

// Gives the example inputs of a method as the inputs of one case, in order. NULL if its file has no
// example inputs (values.c).
sc_status sc_etrecord_examples(sc_ctx *ctx, const sc_method *method, const sc_pickle_value **out);

// --- Files (write.c, read.c) ---------------------------------------------------

typedef struct sc_etrecord_options {
    bool light;         // without weights: enough for all tools that do not compute
    sc_str as_forward;  // if not empty, only this method is written, as `forward`. The official
                        // inspector opens no record of several methods
} sc_etrecord_options;

// Appends the file. SC_ERR_STATE says what is missing: a record needs an edge program, and the maps
// of the executable program. Weights are extents of the files that contain them.
sc_status sc_etrecord_write(sc_ctx *ctx, const sc_etrecord *record,
                            const sc_etrecord_options *options, sc_cord *out);

// True for a zip with the identifier of a record.
bool sc_etrecord_is(const sc_zip *zip);
// True for a zip with entries of a record. Without the identifier it is a damaged record.
bool sc_etrecord_is_like(const sc_zip *zip);
// Reads every layout that the official tools have written. Missing, unknown and damaged entries are
// no errors. Each damaged one gives a warning and a row of `unread`. The source must live as long
// as the record.
sc_status sc_etrecord_read(sc_ctx *ctx, sc_source *source, sc_etrecord *out);

#endif
