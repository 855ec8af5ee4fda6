// ETRecord: what the exporter knew of a program, for those who look at what a runtime has done with
// it. A zip of the programs before and after each stage, of maps from instructions to nodes, and of
// inputs and outputs to try.
//
// A record is a view. Programs in it are methods that others own, which never change once a record
// names them; the maps lie over them. Copying a record copies neither, so that what happens to one
// record never shows in another.
// Prefix: sc_etrecord_ makes, writes and reads a record.
#ifndef SC_ETRECORD_H
#define SC_ETRECORD_H

#include "emit/emit.h"
#include "format/torch_save.h"
#include "ir/ir.h"

// Names of entries that are no stage of the user's own.
#define SC_ETRECORD_IDENTIFIER "ETRECORD_V0"
#define SC_ETRECORD_EXPORTED   "exported_program"
#define SC_ETRECORD_EDGE       "edge_dialect_exported_program"

// --- Contents of a record ------------------------------------------------------------------------

// A program of one stage.
typedef struct sc_etrecord_program {
    sc_str stage;             // SC_ETRECORD_EXPORTED, SC_ETRECORD_EDGE, or a name in the graph map
    sc_str method_name;       // what the record calls it: `method` may have another name
    const sc_method *method;  // NULL: there is no such program
    bool has_weights;
    bool is_edge;  // in the edge dialect
} sc_etrecord_program;

// The nodes that one instruction computes. A call of a delegate has a list, all others one.
typedef struct sc_etrecord_handles {
    uint32_t instruction;
    bool is_list;
    const uint32_t *handles;
    uint32_t count;
} sc_etrecord_handles;

// A backend's identifier of something that it reports on, and the nodes behind it.
typedef struct sc_etrecord_event {
    bool
        is_number;  // by `id`, else by `name`. In the file both are text; digits alone are a number
    int64_t id;
    sc_str name;
    const uint32_t *handles;
    uint32_t count;
} sc_etrecord_event;

// An instruction that calls a delegate.
typedef struct sc_etrecord_delegate {
    uint32_t instruction;
    sc_str backend;
    bool has_events;  // the backend says which nodes its events stand for, maybe none
    SC_VEC(sc_etrecord_event) events;
} sc_etrecord_delegate;

typedef struct sc_etrecord_outs {
    uint32_t instruction;  // that calls a delegate
    uint32_t count;        // of its results
} sc_etrecord_outs;

// The maps of one method, each in order of instructions.
typedef struct sc_etrecord_maps {
    sc_str method;
    bool has_handles, has_delegates, has_outs;  // is in this map at all
    SC_VEC(sc_etrecord_handles) handles;
    SC_VEC(sc_etrecord_delegate) delegates;
    SC_VEC(sc_etrecord_outs) outs;
} sc_etrecord_maps;

// An entry of a file that cannot be read, and the reason.
typedef struct sc_etrecord_unread {
    sc_str entry, reason;
} sc_etrecord_unread;

typedef struct sc_etrecord {
    sc_etrecord_program exported;           // `forward`, or that of the only method
    SC_VEC(sc_etrecord_program) originals;  // of each method; files have a place for one
    SC_VEC(sc_etrecord_program) edge;       // one for each method
    SC_VEC(sc_etrecord_program) graph_map;  // further stages, in the order in which they were added
    bool has_graph_id;
    // By which nodes of edge programs name those of the exported one. Methods that have none in
    // this record have one in records of their own, and name it by the same.
    uint64_t graph_id;

    // Maps that exist only once the program is made executable.
    bool has_debug_handle_map, has_delegate_map, has_num_outs_map;
    SC_VEC(sc_etrecord_maps) maps;                 // a method each
    const sc_pickle_value *reference_outputs;      // {method: [of each case [outputs]]}, or NULL
    const sc_pickle_value *representative_inputs;  // list or tuple, the inputs of one case, or NULL

    SC_VEC(sc_str) unknown;             // entries of the file that have no meaning here
    SC_VEC(sc_etrecord_unread) unread;  // damaged ones; the record goes without them
} sc_etrecord;

// NULL when there is none.
const sc_etrecord_maps *sc_etrecord_maps_of(const sc_etrecord *record, sc_str method);
// The program of a stage; an empty method name is for stages that have one program only. NULL when
// there is none.
const sc_etrecord_program *sc_etrecord_find(const sc_etrecord *record, sc_str stage, sc_str method);
// The row of an instruction, or NULL; of maps whose rows ascend, as those do that are read.
const sc_etrecord_delegate *sc_etrecord_delegate_of(const sc_etrecord_maps *maps,
                                                    uint32_t instruction);

// --- Making records (record.c) -----------------------------------------------------------------
//
// Everything is added once: SC_ERR_STATE when it is there already. Programs and plans must live as
// long as the record and never change.

// The edge stage of a record alone: no maps, outputs or inputs.
void sc_etrecord_copy(sc_ctx *ctx, const sc_etrecord *from, sc_etrecord *out);
// Takes only `forward` of several methods, if there is one: the format has a place for one.
sc_status sc_etrecord_add_exported(sc_ctx *ctx, sc_etrecord *record, const sc_program *program);
sc_status sc_etrecord_add_edge(sc_ctx *ctx, sc_etrecord *record, const sc_program *program);
// Every method of the program as `stage`, which must not hold the name of an entry that has a
// meaning: SC_ERR_ARGUMENT. One of an equal name takes its place.
sc_status sc_etrecord_add_stage(sc_ctx *ctx, sc_etrecord *record, sc_str stage,
                                const sc_program *program, bool is_edge);
// The maps of what was emitted (emitted.c).
sc_status sc_etrecord_add_emitted(sc_ctx *ctx, sc_etrecord *record, const sc_emit_result *emitted);
// SC_ERR_STATE when something of what only an executable program has is there already.
sc_status sc_etrecord_check_no_executorch(sc_ctx *ctx, const sc_etrecord *record);

// The example inputs of a method as the inputs of one case, in order; NULL where its file has none
// (values.c).
sc_status sc_etrecord_examples(sc_ctx *ctx, const sc_method *method, const sc_pickle_value **out);

// --- Files (write.c, read.c) ---------------------------------------------------

typedef struct sc_etrecord_options {
    bool light;         // no weights: enough for all but computing again
    sc_str as_forward;  // if not empty only this method, under the name `forward`: of a record of
                        // several methods, the official inspector opens none
} sc_etrecord_options;

// Appends the file. SC_ERR_STATE says what of the two that a record needs is missing: an edge
// program, or what it is executed as. Weights are extents of the files that they come from.
sc_status sc_etrecord_write(sc_ctx *ctx, const sc_etrecord *record,
                            const sc_etrecord_options *options, sc_cord *out);

// True for a zip with the identifier of a record in it.
bool sc_etrecord_is(const sc_zip *zip);
// True for a zip that holds what records hold: without the identifier it is a damaged record.
bool sc_etrecord_is_like(const sc_zip *zip);
// Reads every layout that has existed. Missing, unknown and damaged entries are no errors: each
// damaged one is a warning and a row of `unread`. The source must live as long as the record.
sc_status sc_etrecord_read(sc_ctx *ctx, sc_source *source, sc_etrecord *out);

#endif
