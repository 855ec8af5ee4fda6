// Bytes as text that JSON can contain: RFC 4648, with padding, without line breaks.
// Prefix: sc_base64_ decodes text; sc_source_base64 encodes bytes when they are read.
#ifndef SC_BASE64_H
#define SC_BASE64_H

#include "base/source.h"

// Makes a source whose bytes are `base` as text. Each read encodes the bytes that it needs.
sc_source *sc_source_base64(sc_arena *arena, sc_extent base);
// Decodes a text. SC_ERR_FORMAT if it is not Base64. `what` names it in messages.
sc_status sc_base64_decode(sc_ctx *ctx, sc_arena *arena, sc_str text, const char *what,
                           sc_str *out);

#endif
