// Lowering parts of a program to backends: all methods are partitioned first, then each backend
// gets the parts of all of them at once.
// Prefix: sc_lower_ works on all methods of a program.
#ifndef SC_BACKEND_LOWER_H
#define SC_BACKEND_LOWER_H

#include "backend/delegation.h"

// Nodes that whoever asks has put together, by name; one of a body by the path of that:
// "true_graph_0/mul". A tag with nodes of several graphs is a part in each.
typedef struct sc_tagged {
    sc_str tag;
    const sc_str *nodes;
    uint32_t node_count;
    const sc_compile_spec *specs;
    uint32_t spec_count;
} sc_tagged;

// The request for one method and one backend.
struct sc_partitioner {
    const sc_backend *backend;  // NULL: the host's own partitioner answers in place of this one
    uint32_t number;            // by which the host knows that
    const sc_op *const *kept;   // operators that decomposition leaves whole for it
    uint32_t kept_count;
    const sc_compile_spec *specs;
    uint32_t spec_count;
    bool is_whole;            // every node as one part; a failure otherwise
    bool has_tags;            // these parts and no others; else by capability
    const sc_tagged *tagged;  // what the backend refuses of them is an error
    uint32_t tagged_count;
    // A list of passes over the program as it was exported, before anything else is done to it; up
    // to whoever decomposes. NULL: no pass.
    const struct sc_json *passes;
};

// The partitioners of a method, in the order of the rounds that they take part in.
typedef struct sc_method_partitioners {
    sc_str method;
    const sc_partitioner *items;
    uint32_t count;
} sc_method_partitioners;

// Rewrites the program, which is the caller's to change. Methods that are not named stay as they
// are. `delegation` is filled in or, where it has rows from an earlier call, brought up to date.
// SC_ERR_NOT_FOUND for a method that does not exist, SC_ERR_ARGUMENT for tags that cannot be cut
// out, SC_ERR_DELEGATE when a backend does not do what it has to.
sc_status sc_lower_to_backends(sc_ctx *ctx, sc_program *program,
                               const sc_method_partitioners *methods, uint32_t method_count,
                               const sc_backend_env *env, sc_delegation *delegation);

#endif
