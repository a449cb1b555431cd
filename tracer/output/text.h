/* SPDX-License-Identifier: GPL-3.0-only */
/* text.h - sinks for people: the text trace of working_trace.sh, and the older table. */
#ifndef IOT_TEXT_H
#define IOT_TEXT_H

#include "stream.h"

enum text_style { TEXT_TRACE, TEXT_TABLE };

/* Writes lines to a descriptor, which the sink does not close, in the order of time: they are held
 * back for 100 ms. -EPIPE is returned without a message: the reader left. */
int sink_text(struct sink **out, int fd, const char *name, enum text_style style);

#endif
