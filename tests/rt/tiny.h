// Builds a small .pte byte by byte, with a knob for everything that can be wrong with it. As it
// comes the program is: forward(x f32[2,3]) = x + constant, in four values and one instruction.
#ifndef TINY_H
#define TINY_H

#include "format/flatbuf.h"

enum { TINY_INPUT, TINY_CONSTANT, TINY_ALPHA, TINY_OUT, TINY_EXTRA, TINY_MORE };

typedef struct tiny_tensor {
    int8_t dtype, dynamism;
    int32_t storage_offset;
    int32_t sizes[20];
    uint8_t order[20];
    uint32_t rank, order_rank;
    uint32_t buffer;  // data_buffer_idx
    bool planned;
    uint32_t memory_id, offset_low, offset_high;
    const char *external;  // fully qualified name
    bool absent;           // no sizes, no dim order
} tiny_tensor;

// An instruction: kind as in the schema; `a`, `b` are op and argument count, from and to, ...
typedef struct tiny_instruction {
    uint8_t kind;
    int32_t a, b;
    int32_t args[16];
    uint32_t arg_count;
} tiny_instruction;

typedef struct tiny {
    // The file around the FlatBuffer.
    bool has_header;
    uint32_t header_length;
    uint64_t program_bytes;  // 0: as it is
    uint64_t segment_base;   // 0: as it is
    uint64_t segment_bytes;
    const char *identifier;
    uint32_t version;
    // Segments and constants: one segment of `segment_size` bytes.
    uint32_t segment_count;
    uint64_t segment_offset[3], segment_size[3];
    uint32_t constant_segment;
    uint64_t constant_offset[4];
    uint32_t constant_count;
    bool inline_constant, named_data, drop_segments;
    uint32_t named_segment;
    const char *named_key[2];
    uint32_t mutable_count;
    // The method.
    bool no_name, no_memory_sizes, no_chain, twin;
    int64_t memory_size;
    tiny_tensor input, constant, out, extra;
    uint8_t extra_kind;  // of value TINY_EXTRA, 0: a tensor as `extra`
    int32_t extra_item;  // when that is a list
    int32_t inputs[2], outputs[2];
    uint32_t input_count, output_count;
    const char *op, *overload, *delegate;
    const char *more_op[3], *more_overload[3];  // operators 1 to 3
    tiny_tensor more[8];                        // values from TINY_MORE on
    uint32_t more_count;
    uint32_t bool_count;  // values behind those: false, true, false, ...
    tiny_instruction code[32];
    uint32_t code_count;
    uint32_t second_chain;  // begins with this instruction; 0: there is only one
    // Filled by tiny_build.
    uint8_t *data;
    size_t size;
} tiny;

static inline tiny_instruction tiny_code(uint8_t kind, int32_t a, int32_t b) {
    tiny_instruction in = {.kind = kind, .a = a, .b = b};
    return in;
}

void tiny_init(tiny *t);
// `data` is 64-byte aligned test memory of exactly `size` bytes.
void tiny_build(tiny *t);

#endif
