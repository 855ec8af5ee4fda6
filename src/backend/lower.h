// Lowers parts of a program to backends: all methods are partitioned first, then each backend gets
// the parts of all of them at once.
// Prefix: sc_lower_ works on all methods of a program.
#ifndef SC_BACKEND_LOWER_H
#define SC_BACKEND_LOWER_H

#include "backend/delegation.h"

// Nodes that the caller has grouped, by name. A node of a body has its path: "true_graph_0/mul". A
// tag with nodes of several graphs becomes a part in each graph.
typedef struct sc_tagged {
    sc_str tag;
    const sc_str *nodes;
    uint32_t node_count;
    const sc_compile_spec *specs;
    uint32_t spec_count;
} sc_tagged;

// The request for one method and one backend.
struct sc_partitioner {
    const sc_backend *backend;  // NULL: the host's own partitioner answers instead
    uint32_t number;            // the number by which the host knows that partitioner
    const sc_op *const *kept;   // operators that decomposition leaves whole for it
    uint32_t kept_count;
    const sc_compile_spec *specs;
    uint32_t spec_count;
    uint32_t precisions;       // a sum of sc_precision; 0: as the options say
    bool has_mode, is_per_op;  // a part for each node; without `has_mode` as the options say
    bool is_whole;             // the whole method as one part; a failure otherwise
    bool has_tags;             // these parts only; else parts by capability
    const sc_tagged *tagged;   // the backend's refusals of their nodes are errors
    uint32_t tagged_count;
    // A list of passes over the exported program, which run before any other change. The caller
    // that decomposes runs them. NULL: no pass.
    const struct sc_json *passes;
};

// The partitioners of a method, in the order of the rounds that they take part in.
typedef struct sc_method_partitioners {
    sc_str method;
    const sc_partitioner *items;
    uint32_t count;
} sc_method_partitioners;

// Rewrites the program, which the caller must own. Methods that are not named stay as they are.
// `delegation` is filled in, or updated if it has rows from an earlier call. SC_ERR_NOT_FOUND for
// an unknown method, SC_ERR_ARGUMENT for tags that cannot be cut out, SC_ERR_DELEGATE if a backend
// breaks its contract.
sc_status sc_lower_to_backends(sc_ctx *ctx, sc_program *program,
                               const sc_method_partitioners *methods, uint32_t method_count,
                               const sc_backend_env *env, sc_delegation *delegation);

#endif
