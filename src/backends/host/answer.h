// Reads a host's answer: JSON in which a range [offset, size] means bytes that come with it. Both
// halves of the backend use it. Prefixes: sc_host_answer_ reads an answer, sc_host_put_ writes
// members of a question.
#ifndef SC_HOST_ANSWER_H
#define SC_HOST_ANSWER_H

#include "backends/host/host.h"
#include "format/json.h"

// Parses the JSON of the answer, in the context's scratch; SC_ERR_FORMAT if it is invalid.
sc_status sc_host_answer_parse(sc_host_question *question, const sc_json **json);
// The bytes that a range means; false if the answer has no such bytes.
bool sc_host_answer_range(const sc_host_question *question, const sc_json *range,
                          const uint8_t **bytes, uint64_t *size);
// Fails with SC_ERR_DELEGATE for an unsuitable answer: `what` completes "the backend gave".
sc_status sc_host_answer_malformed(const sc_host_question *question, const sc_host_backend *host,
                                   const char *what);
// Writes a member [address, size]: bytes of this memory that the host may read until it has
// answered.
void sc_host_put_bytes(sc_json_writer *w, const char *key, const void *bytes, uint64_t size);
// Writes one compile spec, whose value is such bytes.
void sc_host_put_spec(sc_json_writer *w, sc_str key, sc_str value);

#endif
