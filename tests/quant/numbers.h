// Tensors as the files of tests/quant hold them: as numbers or as the recipe for them. Those files,
// with what PyTorch makes of the tensors, are written by tests/make/make_*_data.py.
#ifndef NUMBERS_H
#define NUMBERS_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "setup.h"

static inline float numbers_float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint32_t numbers_bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double numbers_next_number(uint32_t *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) / 16777216.0;
}

static inline double numbers_bell(uint32_t *seed, double a, double b) {
    double sum = numbers_next_number(seed);
    for (int i = 0; i < 3; i++) sum += numbers_next_number(seed);
    return a + b * (sum - 2);
}

static inline double numbers_item(const char *recipe, uint32_t *seed, double a, double b) {
    if (!strcmp(recipe, "bell")) return numbers_bell(seed, a, b);
    if (!strcmp(recipe, "positive")) return fmax(0, numbers_bell(seed, a, b));
    const double u = numbers_next_number(seed), v = 2 * u - 1;
    if (!strcmp(recipe, "cubed")) return a + b * (v * v * v);
    if (!strcmp(recipe, "steps")) return a + b * floor(8 * u);
    return a + (b - a) * u;
}

static inline float *numbers_make_tensor(setup *s, const char *line, size_t *count) {
    char recipe[16];
    uint32_t seed;
    double a, b;
    if (!CHECK(sscanf(line, "make %15s %zu %u %lf %lf", recipe, count, &seed, &a, &b) == 5))
        return NULL;
    float *x = sc_new_array(&s->arena, float, *count);
    for (size_t i = 0; i < *count; i++) x[i] = (float)numbers_item(recipe, &seed, a, b);
    return x;
}

static inline float *numbers_read_tensor(setup *s, const char *line, size_t *count) {
    float *x = sc_new_array(&s->arena, float, strlen(line) / 9 + 1);
    *count = 0;
    for (const char *at = line + strlen("values"); *at == ' '; at += 9)
        x[(*count)++] = numbers_float_of((uint32_t)strtoul(at + 1, NULL, 16));
    return x;
}

// A digest, as the scripts make it.
static inline uint64_t numbers_digest(const void *data, size_t bytes) {
    const uint8_t *byte = data;
    uint64_t h = 0xcbf29ce484222325;
    for (size_t i = 0; i < bytes; i++) h = (h ^ byte[i]) * 0x100000001b3;
    return h;
}

#endif
