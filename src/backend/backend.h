// The compiler's half of a backend: it says which nodes it takes, and compiles the parts that they
// are grouped into. The steps between are the same for all backends: finding groups, cutting them
// out of all methods, and putting calls in their place (partition.c, cut.c, lower.c).
// Prefix: sc_backend_ is about one backend, sc_claim_ about its answer for one node.
#ifndef SC_BACKEND_H
#define SC_BACKEND_H

#include "base/store.h"
#include "core/options.h"
#include "ir/part.h"

typedef struct sc_backend sc_backend;
typedef struct sc_partitioner sc_partitioner;  // lower.h

// --- Precisions ----------------------------------------------------------------------------------

// How the numbers of an operator are stored: in floats, or in integers with scales that the file
// has or that each run finds.
typedef enum sc_precision {
    SC_PRECISION_FP32 = 1,
    SC_PRECISION_STATIC_QUANT = 2,
    SC_PRECISION_DYNAMIC_QUANT = 4,
    SC_PRECISION_ALL = 7
} sc_precision;

// "fp32", "static_quant" or "dynamic_quant".
const char *sc_precision_name(sc_precision precision);
// The sum of the precisions with these names; all of them for no names. SC_ERR_OPTION for an
// unknown name.
sc_status sc_precisions_read(sc_ctx *ctx, const sc_option_names *names, uint32_t *out);

// --- Which nodes ---------------------------------------------------------------------------------

// A backend's answer about one node. Either all nodes of one group go into the same part, or none
// of them does: a quantized node goes with its quantize and dequantize nodes.
typedef struct sc_claim {
    bool is_taken;
    uint32_t group;  // of the nodes with the same number; 0: the node alone
    sc_str reason;   // the reason why it is not taken: "the last dimension must be the softmax's"
    sc_str hint;     // the change that would make the backend take it; empty if unknown
} sc_claim;

// One graph, a method's own or a body in it, as a backend looks at it.
typedef struct sc_survey {
    sc_ctx *ctx;
    const sc_graph *graph;
    const sc_compile_spec *specs;
    uint32_t spec_count;
    const sc_options *options;
    uint32_t precisions;  // a sum of sc_precision, for a backend that has them
    sc_claim *claims;     // by node->mark, in graph order; initially refused without a reason
    bool *takes_input;    // by index of the graph's inputs: a constant that its parts contain,
                          // instead of an argument of their calls; by default all that are not
                          // written
} sc_survey;

static inline sc_claim *sc_claim_of(const sc_survey *survey, const sc_node *node) {
    return &survey->claims[node->mark];
}

// --- Bytes of parts ------------------------------------------------------------------------------

// The parts of one method, in graph order. Parts of bodies come after those of the graph around
// them.
typedef struct sc_method_parts {
    const sc_name *method;
    sc_part **parts;  // with their compile specs
    sc_str *paths;    // of the bodies that they were cut out of; empty: the method's own graph
    uint32_t count;
} sc_method_parts;

// The environment of a backend, which the caller of the lowering provides.
typedef struct sc_backend_env {
    const sc_options *options;
    // Progress of the round, reported part by part by a backend that makes many parts in one call.
    uint64_t parts_done, parts_total;
    bool is_draft;  // parts are found and cut out, but no backend compiles them
    // Writes the part as a .pte with one method, `forward`. Its inputs are all of the part's,
    // weights included; only state that the part keeps is inside.
    sc_status (*emit)(void *user, sc_ctx *ctx, const sc_part *part, sc_cord *pte);
    // Asks partitioner `number` of the host about the method. `items` gets the answer: partitioners
    // with tags, all of which take part in this round. NULL: the host has none.
    sc_status (*partition)(void *user, sc_ctx *ctx, sc_method *method, uint32_t number,
                           const sc_partitioner **items, uint32_t *count);
    void *user;
} sc_backend_env;

struct sc_backend {
    const char *name;  // the name that people use: "xnnpack"
    const char *id;    // the name that files use: "XnnpackBackend"
    // Nodes that decomposition must keep whole, chosen in the exported program; NULL: no nodes.
    // `claim` is empty. It gets a reason and a hint if a refusal should be reported.
    bool (*keeps)(const sc_backend *backend, const sc_options *options, const sc_node *node,
                  sc_claim *claim);
    // Fills in the claims, and changes nothing else.
    sc_status (*survey)(const sc_backend *backend, sc_survey *survey);
    // Fills in the results in sc_part: processed, events, data. A backend has this or
    // preprocess_multimethod.
    sc_status (*preprocess)(const sc_backend *backend, sc_ctx *ctx, const sc_backend_env *env,
                            sc_part *part);
    sc_status (*preprocess_multimethod)(const sc_backend *backend, sc_ctx *ctx,
                                        const sc_backend_env *env, const sc_method_parts *methods,
                                        uint32_t count);
    // Parts that only move elements (views, permutes) stay outside. There they often cost nothing,
    // while a call costs time.
    bool leaves_moves;
    bool has_precisions;  // takes only nodes of the precisions of a survey
    void *user;
};

typedef struct sc_backends {
    // Finds a backend by name or id; NULL if there is none.
    const sc_backend *(*find)(void *user, sc_str name);
    const sc_backend *(*at)(void *user, uint32_t index);  // NULL after the last one
    void *user;
} sc_backends;

#endif
