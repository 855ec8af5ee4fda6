// A program and one of its methods, opened for a test. Every call checks what it does.
#ifndef SETUP_H
#define SETUP_H

#include "rt/rt.h"

typedef struct setup {
    sc_arena arena, scratch;
    sc_ctx ctx;
    sc_rt_program *program;
    sc_rt_method *method;
} setup;

void setup_begin(setup *s);
// NULL options: the default ones. The bytes stay the caller's.
bool setup_open(setup *s, const void *bytes, size_t size, const sc_rt_options *options);
// Bytes that are read as those of a file are, and cannot be used where they lie.
sc_source *setup_read(sc_arena *arena, const void *bytes, size_t size);
bool setup_load(setup *s, const char *method);
// All of the above with a file of tests/.
bool setup_open_file(setup *s, const char *file, const char *method);
void setup_end(setup *s);

sc_rt_input setup_floats(const float *data, uint8_t rank, const int64_t *sizes);
sc_status setup_set(setup *s, uint32_t index, sc_rt_input input);
// Gives every input what it was specialised on, or a tensor of the largest sizes: small numbers of
// both signs where it holds f32, else zeros.
void setup_fill(setup *s);

#endif
