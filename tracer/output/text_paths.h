/* SPDX-License-Identifier: GPL-3.0-only */
/* text_paths.h - paths for the lines of text.c, where a layer is traced whole that has them: of
 * files, and those that calls were given. All are escaped (text_escape()).
 */
#ifndef IOT_TRACER_TEXT_PATHS_H
#define IOT_TRACER_TEXT_PATHS_H

#include "stream.h"

#define TEXT_PATH_MAX 8192     /* bytes of a path that a line has, before they are escaped */

/* The path, the second path, and the name of an attribute; NULL: none. */
#define TEXT_PATHS 3

struct text_call;

struct text_paths {
	struct text_call *calls; /* calls whose events are to come, the oldest first */
	char **file;             /* by file id */
	size_t room_file;
};

/* Take a record. Return 0 or -ENOMEM without a message. */
int text_paths_call(struct text_paths *, const struct rec_event_path *);
int text_paths_file(struct text_paths *, const struct rec_file *);
void text_paths_free(struct text_paths *);

/* Fills in the paths of an event, which are those of its call, or else that of its file. Returns
 * the call, for text_paths_done(); NULL: the call was given no path. The texts live until then, or
 * until the next record. */
struct text_call *text_paths_of(const struct text_paths *, const struct iot_event *,
				const char *text[TEXT_PATHS]);

/* Forgets the paths of a call, whose event was written. */
void text_paths_done(struct text_paths *, struct text_call *);

#endif
