// The limits of expansions for the official runtime (limits.def), by name and by number; in words
// they are in trace/coverage.h. Prefixes SC_LIMIT_ for the names, SC_UP_TO_ for the numbers.
#ifndef SC_OFFICIAL_LIMITS_H
#define SC_OFFICIAL_LIMITS_H

// clang-format off
typedef enum sc_limit {
    SC_LIMIT_NONE,
#define LIMIT(id, calls, hint) SC_LIMIT_##id,
#define UP_TO(id, most, before, after, hint) SC_LIMIT_##id,
#include "trace/official/limits.def"
    SC_LIMIT_COUNT
} sc_limit;

enum {
#define LIMIT(id, calls, hint)
#define UP_TO(id, most, before, after, hint) SC_UP_TO_##id = (most),
#include "trace/official/limits.def"
};
// clang-format on

#endif
