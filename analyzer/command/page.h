/* SPDX-License-Identifier: GPL-3.0-only */
/* page.h - one run as one page of HTML. */
#ifndef IOT_ANALYZER_PAGE_H
#define IOT_ANALYZER_PAGE_H

struct options;

/* Writes all that reports say about the run to -o FILE: text, tables, charts, and why something is
 * not there. It needs no network and no script. Returns 0 or an exit status; EXIT_DATA, with the
 * page written, when a check does not close or the run is incomplete. */
int page(const struct options *o);

#endif
