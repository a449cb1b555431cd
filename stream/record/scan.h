/* SPDX-License-Identifier: GPL-3.0-only */
/* scan.h - from a JSON line to a record: the fast scanner for events, the full parser for all
 * lines. */
#ifndef IOT_STREAM_SCAN_H
#define IOT_STREAM_SCAN_H

#include "table.h"

/* A line that was read: its type (REC_EVENT for an event) and its values. Strings live until the
 * next line. */
struct line {
	unsigned int type;
	union {
		u64 present;
		struct iot_event event;
#define RECORD(name, doc) struct rec_##name name;
#include "records.def"
	};
	void *keep;             /* what the strings point into */
	char *tame;             /* the full parser's copy of the line */
	size_t tame_size;
	char why[256];          /* why the line was refused */
	bool closed;            /* its object ends inside it */
	bool cut;               /* it was refused because it ends too early */
};

/* The fast scanner: reads an event line as iot writes it, keys in the order of fields.def, no
 * blanks. Returns false when the line is for the full parser. p: the line, followed by '\n' and
 * readable for LINE_SLACK bytes beyond its end. */
#define LINE_SLACK 64
bool scan_event(const char *p, const char *end, struct iot_event *e);

/* The full parser: reads any line. Returns 0, or -EINVAL or -ENOMEM with the reason in l->why. A
 * line holds:
 * - one JSON object (RFC 8259) and nothing behind it; keys in any order, `t` says the type; blanks
 *   are allowed between tokens.
 * - only known types and keys, each key once, all REQ keys, values of the type of their column.
 *   `null` means absent.
 * - integers as digits with an optional minus: no fraction, no exponent, no leading zero, within
 *   the column's range.
 * - strings of valid UTF-8 without NUL; \udc80 to \udcff outside a surrogate pair is one raw byte.
 * - names of kinds.def, device numbers as "major:minor".
 *
 * Everything else is refused: nothing is dropped silently, nothing is guessed. */
int parse_line(const char *p, const char *end, struct line *l);

void line_free(struct line *l);

/* jsonl_read() with a choice; careful: without the fast scanner. For tests that compare the two. */
int jsonl_read_by(int fd, const char *name, struct sink *to, bool careful);

#endif
