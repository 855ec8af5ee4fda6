// The decisions about a method before any of it changes. Private to src/quant.
// Prefixes: quant_ for types and constants, sc_quant_ for functions.
//
// A *use* is a value as one node reads it, or, without a node, the value as it is made; PT2E
// annotates both. Nodes that take part have a *note*: a spec for some of their uses. Uses of the
// same numbers are one *group*, with one scale. A *probe* is a tensor that is observed, and
// quantized later: the value itself, or the result of another probe of it.
#ifndef SC_QUANT_PLAN_H
#define SC_QUANT_PLAN_H

#include "observe/observe.h"
#include "quant/quant.h"
#include "quant/weights.h"

typedef enum quant_role {
    QUANT_NONE,
    QUANT_LINEAR,
    QUANT_CONV,
    QUANT_CONV_TRANSPOSE,
    QUANT_EMBEDDING,
    QUANT_NORM,
    QUANT_RELU,
    QUANT_ADD,
    QUANT_MUL,
    QUANT_CAT,
    QUANT_POOL,
    QUANT_QUANTIZED,  // the type that quantization makes
    QUANT_OBSERVER    // the node that passes of the user's own see in the place of a probe (show.c)
} quant_role;

typedef struct quant_use {
    sc_value *value;
    sc_node *user;  // NULL: the value as it is made
} quant_use;

typedef enum quant_kind { QUANT_ACTIVATION, QUANT_WEIGHT, QUANT_SHARED } quant_kind;

typedef struct quant_spec {
    uint8_t kind;     // quant_kind
    uint8_t axis;     // WEIGHT: of the channels
    bool by_channel;  // WEIGHT: each channel has a scale
    bool is_dynamic;  // ACTIVATION: its scale is chosen when the program runs
    quant_use with;   // SHARED: the use whose spec it has
} quant_spec;

typedef struct quant_input {
    sc_value *value;
    quant_spec spec;
} quant_input;

typedef struct quant_note {
    sc_node *node;
    SC_VEC(quant_input) inputs;
    bool has_output;
    quant_spec output;
    const sc_quant_config *weights;  // if only its weight changes: how it does
    uint32_t weight;                 // then: its index in the plan's `weights`
} quant_note;

// A use of a note, with the results of grouping and converting.
typedef struct quant_key {
    quant_use use;
    quant_spec spec;  // not SHARED
    uint32_t parent;  // of the union-find; the root is its own
    uint32_t group;
    uint32_t probe;  // the value that the use reads or makes
} quant_key;

typedef struct quant_group {
    quant_spec spec;
    bool is_weight;     // a constant's bytes determine the range
    uint32_t observer;  // the observer's number; SC_QUANT_NO: no run is needed
    uint64_t channels;  // scales
    float *scales;
    int64_t *zero_points;
    sc_quant_range range;
    SC_VEC(uint32_t) probes;
} quant_group;

typedef struct quant_probe {
    sc_value *value;
    uint32_t group;
    uint32_t after;                  // the probe whose result it observes
    uint32_t next;                   // of the same value, in the order of the graph
    bool is_output;                  // readers without a probe of their own read this one
    sc_value *out;                   // convert.c: the value that readers without a copy of their
                                     // own read
    sc_value *scales, *zero_points;  // of a weight, by channel
    SC_VEC(sc_node *) users;
} quant_probe;

// The probe of a use that reads the value itself, although others read what is quantized.
#define QUANT_RAW (SC_QUANT_NO - 1)

// Constants that a weight becomes; the layers that read it determine which ones.
typedef enum quant_part {
    QUANT_INTEGERS,
    QUANT_NIBBLES,  // of a table, two in a byte
    QUANT_SCALES,
    QUANT_ROW_SCALES,  // one for each row of a table
    QUANT_ZERO_POINTS,
    QUANT_HALVES,
    QUANT_PART_COUNT
} quant_part;

// A weight that is quantized alone, or quantized when the program runs.
typedef struct quant_weight {
    const sc_name *name;  // of the value
    const sc_quant_config *config;
    sc_quant_range range;
    sc_value *parts[QUANT_PART_COUNT];  // set when the first layer is converted; all layers read
                                        // them
    uint32_t before;  // number + 1 of the same value's weight for another configuration; 0: absent
} quant_weight;

struct sc_quant_plan {
    sc_ctx *ctx;
    sc_method *method;
    const sc_quant_config *configs;
    uint32_t config_count;
    const sc_quant_config *config;  // index of the configuration that chooses now
    sc_imap *skipped;               // of each configuration: node -> 1
    SC_VEC(sc_str) remarks;
    sc_map remarked;             // text -> the plan
    sc_imap note_of;             // node -> quant_note
    SC_VEC(quant_note *) notes;  // in order of annotation; in graph order once groups are formed
    sc_imap input_of;            // value -> its place in the latest note that reads it
    sc_imap why_not;             // node -> text of the reason
    sc_imap left;                // node -> 1: the user asked for that
    SC_VEC(sc_quant_row) rows;
    sc_imap row_of;    // node -> index of its row, + 1
    sc_imap absorbed;  // index of a row -> the node that its node became part of
    sc_imap placed;    // a constant that was added -> the node that it stands before
    sc_map written;    // names of constants that this method or another one writes
    SC_VEC(quant_key) keys;
    sc_map key_of;  // quant_use -> index + 1
    SC_VEC(quant_group) groups;
    SC_VEC(quant_probe) probes;
    sc_imap first_probe;         // value -> index + 1 of the first of its probes
    SC_VEC(uint32_t) observers;  // groups that are observed
    SC_VEC(quant_weight) weights;
    sc_imap weight_of;  // value -> number + 1 of its last one in `weights`
    uint64_t loose_bytes;
    bool has_scales;
    sc_imap shown;       // show.c: call of an observer -> index + 1 of its probe
    sc_imap computed;    // value -> sc_constant that it always equals
    sc_map names;        // names of constants that are taken
    sc_map next_number;  // prefix -> the number that is tried next
};

// Does it choose places to observe, and not only weights?
static inline bool sc_quant_has_places(const sc_quant_config *config) {
    return config->mode == SC_QUANT_STATIC || config->mode == SC_QUANT_DYNAMIC;
}

// roles.c
quant_role sc_quant_role(const sc_op *op);  // of in-place twins too
bool sc_quant_shares(const sc_op *op);
static inline bool sc_quant_is_relu(const sc_node *node) {
    return sc_quant_role(node->op) == QUANT_RELU;
}
bool sc_quant_is_size(const sc_node *node);  // reads a size and no numbers
// The only node that reads the value; NULL if there are several, or if the value is returned.
sc_node *sc_quant_only_user(const sc_value *value);
// Is it a constant of the method that is never written? Then its bytes are its value.
const sc_constant *sc_quant_constant(const sc_quant_plan *plan, const sc_value *value);
static inline bool sc_quant_is_constant(const sc_quant_plan *plan, const sc_value *value) {
    return sc_quant_constant(plan, value) != NULL;
}

// Changes in a method before it is annotated (fold_norm.c, numbers.c).
sc_status sc_quant_fold_norms(sc_quant_plan *plan);
void sc_quant_numbers_to_constants(sc_quant_plan *plan);

// skip.c Finds the nodes that each configuration leaves out, before any node changes.
sc_status sc_quant_begin_skips(sc_quant_plan *plan);
// For the configuration that chooses now.
bool sc_quant_is_skipped(const sc_quant_plan *plan, const sc_node *node);

// annotate.c Annotates by all configurations that choose places, one after the other.
void sc_quant_annotate(sc_quant_plan *plan);

// Marks of values while nodes are annotated; those of nodes are their positions.
enum {
    QUANT_TAKEN = 1,  // its node is part of a pattern
    QUANT_LEADS = 2,  // has the scale of an output, or is moved from such a value
    QUANT_KEPT = 4,   // is written in place, and others see it
    QUANT_STALE = 8,  // is computed from a value that was written in place since it was made
    QUANT_SHOWN = 16  // was written in place, and is state or seen by others
};

// writes.c
void sc_quant_mark_writes(sc_quant_plan *plan);
// True if the node must not be quantized because of writes; the reason is then recorded.
bool sc_quant_refuse_write(sc_quant_plan *plan, const sc_node *node);
// May the result share the bytes of the first argument?
bool sc_quant_may_alias(const sc_op *op);

// observed.c
sc_observe_kind sc_quant_observe_kind(const sc_quant_plan *plan, uint32_t observer);
// Metadata of a new node: it has the user's line of the node that it serves.
sc_meta sc_quant_meta(const quant_probe *probe);

// notes.c
quant_note *sc_quant_note(const sc_quant_plan *plan, const sc_node *node);  // NULL: absent
quant_note *sc_quant_take_note(sc_quant_plan *plan, sc_node *node);
void sc_quant_why_not(sc_quant_plan *plan, const sc_node *node, const char *format, ...)
    SC_PRINTF(3, 4);
// Leaves the node as it is, because the user asked for it.
void sc_quant_leave(sc_quant_plan *plan, const sc_node *node);
void sc_quant_note_input(sc_quant_plan *plan, quant_note *note, sc_value *value, quant_spec spec);
void sc_quant_note_output(quant_note *note, quant_spec spec);

// prepare.c
// Decides which groups observe, and what their ranges are of; their probes are known.
void sc_quant_choose_observers(sc_quant_plan *plan);
// Is it a weight whose bytes can be measured without running anything?
bool sc_quant_is_plain_weight(const sc_quant_plan *plan, const quant_group *group);

// groups.c
// The use gets a key, if it has none, with the scale of the group.
quant_key *sc_quant_take_key(sc_quant_plan *plan, quant_use use, uint32_t group);
void sc_quant_form_groups(sc_quant_plan *plan);
quant_key *sc_quant_key(const sc_quant_plan *plan, sc_value *value, sc_node *user);

// probes.c
// Forgets all probes, of which the caller adds new ones in the order of the graph.
void sc_quant_clear_probes(sc_quant_plan *plan);
// Behind the probes of the same value that are there.
uint32_t sc_quant_append_probe(sc_quant_plan *plan, quant_probe probe);
void sc_quant_place_probes(sc_quant_plan *plan);
// The probe of every use without a probe of its own; SC_QUANT_NO: there is none.
uint32_t sc_quant_output_probe(const sc_quant_plan *plan, const sc_value *value);
typedef struct quant_place {
    uint32_t probe;
    sc_node *before;  // NULL: at the end
} quant_place;
typedef SC_VEC(quant_place) quant_order;
// The probes in the order in which they stand in the graph, on the context's scratch.
quant_order sc_quant_order(const sc_quant_plan *plan);

// chains.c Finds the values that depend on constants alone and are to be quantized.
sc_status sc_quant_compute_constants(sc_quant_plan *plan, const sc_evaluator *evaluator);

// weight_only.c Converts layers without a note, by the configurations of weights alone.
sc_status sc_quant_prepare_weights(sc_quant_plan *plan);
sc_status sc_quant_convert_weights(sc_quant_plan *plan);

// constants.c Records which names are taken, in all methods: constants of several methods may meet
// in one file.
void sc_quant_learn_names(sc_quant_plan *plan);
// The first of prefix0, prefix1, ... that is free.
sc_str sc_quant_free_name(sc_quant_plan *plan, const char *prefix);
// An input of the method. Its bytes are dense and row-major.
sc_value *sc_quant_add_constant(sc_quant_plan *plan, sc_input_kind kind, sc_str name, sc_spec spec,
                                sc_extent data);
// The bytes of a constant in the order of its dims, and its element count.
sc_extent sc_quant_row_major(sc_arena *arena, sc_exprs *exprs, const sc_constant *constant);
uint64_t sc_quant_elements(const sc_spec *spec, int64_t sizes[SC_RANK_MAX]);
// Puts added inputs next to those of their kind, and drops inputs that no node reads.
sc_status sc_quant_order_inputs(sc_quant_plan *plan);

// report.c
// Says of the rows of nodes which of them passes have left without observers.
void sc_quant_tell_taken_away(sc_quant_plan *plan);
sc_status sc_quant_begin_rows(sc_quant_plan *plan);
void sc_quant_remark(sc_quant_plan *plan, const char *format, ...) SC_PRINTF(2, 3);
// Warns if the present configuration has added no note to the `notes` before it.
void sc_quant_remark_idle(sc_quant_plan *plan, uint32_t notes);
void sc_quant_end_rows(sc_quant_plan *plan);
// `node` is about to become part of `layer`.
void sc_quant_absorb(sc_quant_plan *plan, const sc_node *node, const sc_node *layer);

#endif
