// Checks calls of bundles against the declarations of methods, for reading, verifying and writing.
// An error names the method, the case and the place in its call. Private to src/api.
// Prefix: sc_bundle_ checks one call of a bundled program.
#ifndef SC_API_BUNDLE_H
#define SC_API_BUNDLE_H

#include "api/run/running.h"
#include "rt/look/look.h"

// A place in the calls.
typedef struct sc_bundle_spot {
    sc_ctx *ctx;
    sc_str method;
    uint32_t test_case;
    const char *list;  // "input" or "expected output"
    uint32_t index;
} sc_bundle_spot;

// Fails for the value at this place.
sc_status sc_bundle_refuse(const sc_bundle_spot *at, sc_status code, const char *hint,
                           const char *what);
sc_status sc_bundle_check_count(const sc_bundle_spot *at, uint32_t count, uint32_t declared);
// Checks counts, kinds, dtypes and sizes.
sc_status sc_bundle_check_case(sc_bundle_spot *at, const sc_bundled_case *test_case,
                               const sc_rt_method_info *info);
// SC_ERR_STATE if no program is open, SC_ERR_NOT_FOUND if it lacks the method.
sc_status sc_bundle_method(sc_job *job, sc_str name, sc_rt_method_info *info);
// A view of the value; strides are made on `arena`.
sc_tensor sc_bundle_tensor(sc_arena *arena, const sc_bundled_value *value);

#endif
