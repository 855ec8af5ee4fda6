// Reads an ETDump (.etdp), the file of ExecuTorch's event tracer. Every part of a dump is checked
// before it is used. Parts that some writers leave out may be absent: the size prefix, vectors, the
// debug buffer.
// Prefix: sc_dump_ reads a dump; sc_etdump_ (etdump/etdump.h) writes one.
#ifndef SC_ETDUMP_READ_H
#define SC_ETDUMP_READ_H

#include "base/source.h"
#include "core/dtype.h"

typedef enum sc_dump_value_kind {
    SC_DUMP_NULL,
    SC_DUMP_INT,
    SC_DUMP_BOOL,
    SC_DUMP_FLOAT,
    SC_DUMP_DOUBLE,
    SC_DUMP_TENSOR,
    SC_DUMP_TENSOR_LIST,
    SC_DUMP_STRING  // without the text, which the format does not store
} sc_dump_value_kind;

typedef struct sc_dump_tensor {
    uint8_t dtype;  // a code of .pte files, perhaps an unknown one
    uint32_t rank;
    const int64_t *sizes;
    const int64_t *strides;  // in elements, not negative; row-major if the dump has no strides
    uint64_t numel;
    sc_extent data;  // all bytes that the strides reach; empty if they are not available
} sc_dump_tensor;

typedef struct sc_dump_value {
    sc_dump_value_kind kind;
    bool is_output;  // it is a result of the program
    int64_t i;       // INT, BOOL
    double d;        // FLOAT, DOUBLE
    const sc_dump_tensor *tensors;
    uint32_t tensor_count;
} sc_dump_value;

typedef enum sc_dump_event_kind {
    SC_DUMP_PROFILE,
    SC_DUMP_VALUE,
    SC_DUMP_ALLOCATION,
    SC_DUMP_NOTHING  // an event without content
} sc_dump_event_kind;

#define SC_DUMP_NO_ID (-1)

typedef struct sc_dump_event {
    sc_dump_event_kind kind;
    int32_t instruction;
    int64_t chain;  // -1: outside of instructions
    sc_str name;
    int32_t delegate_int;  // SC_DUMP_NO_ID: absent
    sc_str delegate_str;   // NULL data: absent
    uint64_t start, end;   // PROFILE, in ticks
    sc_str metadata;       // PROFILE, any bytes
    uint32_t threads;      // PROFILE: how many worked; 0: unknown
    const sc_dump_value *value;
    uint32_t allocator;  // ALLOCATION: index in the run's list, which may be shorter
    uint64_t bytes;
} sc_dump_event;

typedef struct sc_dump_run {
    sc_str name;
    int32_t bundled_index;  // -1: absent
    const sc_str *allocators;
    uint32_t allocator_count;
    const sc_dump_event *events;
    uint32_t event_count;
} sc_dump_run;

typedef struct sc_dump {
    uint32_t version;
    const sc_dump_run *runs;
    uint32_t run_count;
    uint64_t event_count, value_count;
    bool has_buffer;
    uint64_t buffer_bytes;
    uint64_t beyond_buffer;  // tensors whose bytes are outside of the buffer
} sc_dump;

// Reads all of the dump onto the context's arena. `buffer` is the debug buffer, or NULL. Neither
// may change while the dump is in use. SC_ERR_FORMAT for other files.
sc_status sc_dump_read(sc_ctx *ctx, sc_source *source, sc_source *buffer, sc_dump **out);

enum { SC_DUMP_HEAD_BYTES = 12 };
// True if the first bytes of a file are those of a dump.
bool sc_dump_is(const uint8_t *head, size_t size);

// Reads `numel` elements in row-major order as numbers; true is 1. `is_read` is false if the bytes
// are not available, or the dtype has no numbers.
sc_status sc_dump_tensor_read(sc_ctx *ctx, const sc_dump_tensor *tensor, double *out,
                              bool *is_read);

#endif
