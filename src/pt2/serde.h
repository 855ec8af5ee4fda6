// Programs in the debugging records of ExecuTorch: the JSON of its exir.serde (schema 5) and three
// torch.save files. The JSON is close to that of a .pt2, but was frozen years ago. It has targets
// of the edge dialect, debug handles and histories in the metadata, and delegated parts inside the
// calls that run them.
// Prefix: sc_serde_ (serialize and deserialize, as PyTorch calls it) reads and writes such
// programs.
#ifndef SC_SERDE_H
#define SC_SERDE_H

#include "ir/part.h"

// The four files of a program, by the suffixes that their names have in a record.
typedef struct sc_serde_files {
    sc_extent program;         // JSON
    sc_extent state_dict;      // parameters and persistent buffers by name
    sc_extent constants;       // other buffers and lifted tensors
    sc_extent example_inputs;  // (args, kwargs)
} sc_serde_files;

// --- Writing (serde_write.c) ---------------------------------------------------------------------

typedef enum sc_serde_dialect {
    SC_SERDE_ATEN,  // targets of PyTorch itself: the program that was exported
    SC_SERDE_EDGE   // targets of the edge dialect, debug handles, and each node's origin
} sc_serde_dialect;

typedef struct sc_serde_options {
    sc_serde_dialect dialect;
    // export_graph_id of the record: positive, the same for all its programs, below 2^53, the limit
    // of JavaScript's integers. If it is set, every node of an edge program names its source node
    // in the recorded ATen program, meta.origin. With 0 no node names a source. Nodes of bodies
    // name graphs of their own, with the numbers after this one.
    uint64_t graph_id;
    const sc_method *source;  // the recorded ATen program, for the names of its operators; NULL:
                              // left out
    // No weights: the files besides the JSON stay empty, in delegated parts too. Parts keep the
    // bytes that their backend made of them, but not its named data.
    bool light;
} sc_serde_options;

// Writes the files that the official deserializer accepts, onto cords on ctx->arena. Weights are
// extents of their original files. Bytes of delegates become text only when they are read, so the
// method must outlive the result. Files that stay empty are empty extents.
//
// Operators, arguments and types that the format has no place for fail with a status that names
// method, node and operator. Example inputs that the official reader refuses are left out with a
// warning.
sc_status sc_serde_write(sc_ctx *ctx, const sc_method *method, const sc_serde_options *options,
                         sc_serde_files *out);

// --- Reading (serde_read.c) ----------------------------------------------------------------------

// Facts of a file about the whole program, for which a method has no member.
typedef struct sc_serde_info {
    bool is_edge;       // the verifier or an operator says so
    bool has_weights;   // false: constants have their specs, and no data
    uint64_t graph_id;  // the graph that most of its nodes name as their oldest; 0 if they name
                        // none
} sc_serde_info;

// Adds a program as the method `name`: any 5.x, and torch.export's own 8.x, too. Unknown operators
// are kept as foreign nodes, with their metadata. If a node names its oldest ancestor, meta.origin
// is that name. Delegated parts come with the bytes that their backend made and with the graph that
// it was given.
//
// Without `state_dict` and `constants` the program can be looked at, but not lowered: reading
// its constants fails with SC_ERR_TRUNCATED. The sources must live as long as the program. `info`
// may be NULL.
sc_status sc_serde_read(sc_ctx *ctx, const sc_serde_files *files, sc_str name, sc_program *program,
                        sc_serde_info *info);

#endif
