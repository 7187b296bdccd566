/* What the programs share that let a spec try the library on many documents in one run: records
 * come in on stdin, a line of JSON goes out for each. A record is a line of words, then so many
 * bytes as its last words say; a word is NAME=VALUE or NAME. */
#ifndef MOONPLAN_SPEC_CASES_H
#define MOONPLAN_SPEC_CASES_H

#include "../../src/core/build.h"

typedef struct record {
    char *line; /* words, each with a NUL behind it */
    size_t length;
    moonplan_options options; /* limits from limit:NAME=VALUE, transports=N, implements of
                                 everything there is */
} record;

/* The next record's line; false at the end of the input. */
bool record_next(record *out);
/* The value of a word, "" for one without, NULL where there is none. */
const char *record_word(const record *from, const char *name);
/* As many bytes as the word says, read from stdin and put into *bytes, which is freed by the next
 * call with the same pointer. {NULL, 0} where there is no such word. */
moonplan_text record_bytes(const record *from, const char *name, char **bytes);

/* An answer: {"accept":...,...}. The faults come from the list, or the one error when it is NULL.
 */
void answer_text(mpl_builder *out, const char *name, moonplan_text text);
void answer_hex(mpl_builder *out, const char *name, const uint8_t *bytes, size_t length);
void answer_errors(mpl_builder *out, moonplan_error_list *list, const moonplan_error *err);
/* Print the built document as one line. */
void answer_print(mpl_builder *out);

#endif
