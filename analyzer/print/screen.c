// SPDX-License-Identifier: GPL-3.0-only
/* screen.c - text on a terminal. */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "screen.h"
#include "text.h"
#include "unit.h"

#define WIDTH 80 /* of a terminal that does not say */
#define CUT ".."

/* Columns of reports that are bytes; those whose name ends in _bytes are too, unless they are
 * shares. To add one: a word. */
static const char byte_columns[] =
	" S T D W F B V L S_r V_r W_r B_r bytes absorbed cancelled dirty_end dirty_start copied missed readahead unused missed_fault readahead_fault"
	" missed_write written read written_again read_again touched dirtied direct unexpected residual residual_r journal wal metadata data other"
	" B_data B_journal B_metadata B_rest reach bytes_per_commit journal_per_fsync per_txn per_fsync touched_from touched_to"
	" from_byte to_byte sent received sent_loopback received_loopback received_unknown client_socket_in client_socket_out logged ";

static size_t terminal_width(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size = { 0 };

	if (columns && atoi(columns) > 0)
		return atoi(columns);
	return !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col ? size.ws_col : WIDTH;
}

struct screen screen_find(bool exact)
{
	const char *term = getenv("TERM"), *none = getenv("NO_COLOR");
	bool is_tty = isatty(STDOUT_FILENO),
	     sequences = is_tty && !(none && *none) && term && strcmp(term, "dumb");

	return (struct screen){ .width = is_tty ? terminal_width() : 0,
				.units = is_tty && !exact,
				.bold = sequences ? "\033[1m" : "",
				.alarm = sequences ? "\033[1;31m" : "",
				.plain = sequences ? "\033[0m" : "" };
}

static bool ends_in(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n > m && !strcmp(s + n - m, end);
}

static bool is_bytes(const char *column)
{
	size_t n = strlen(column);
	const char *p;

	for (p = byte_columns; (p = strstr(p, column)); p++)
		if (p[-1] == ' ' && p[n] == ' ')
			return true;
	return ends_in(column, "_bytes") && strncmp(column, "share", strlen("share"));
}

char *screen_number(const char *column, const struct cell *c)
{
	bool us = ends_in(column, "_us");
	char text[UNIT_TEXT];

	if ((c->type != CELL_INT && c->type != CELL_REAL) || !*column || (!us && !is_bytes(column)))
		return NULL;
	return strdup(unit_text(text, c->type == CELL_INT ? (double)c->i : c->r,
				us ? UNIT_US : UNIT_BYTES));
}

/* Behind the character at p. */
static char *next_char(char *p)
{
	for (p += *p != '\0'; ((unsigned char)*p & 0xc0) == 0x80; p++)
		;
	return p;
}

void screen_cut(char *s, size_t width, size_t head)
{
	size_t have = text_width(s);
	char *from = s, *to = s, kept;

	if (have <= width || width <= strlen(CUT))
		return;
	for (; head && *from;
	     from = next_char(from)) { /* the longest beginning that is at most `head` wide */
		char *next = next_char(from);

		kept = *next;
		*next = '\0';
		have = text_width(s);
		*next = kept;
		if (have > head)
			break;
	}
	kept = *from;
	*from = '\0';
	head = text_width(s);
	*from = kept;
	for (to = from; *to && text_width(to) > width - head - strlen(CUT); to = next_char(to))
		;
	if ((size_t)(to - from) < strlen(CUT))
		return;
	memcpy(from, CUT, strlen(CUT));
	memmove(from + strlen(CUT), to, strlen(to) + 1);
}

void screen_cut_around(char *s, size_t width, size_t at)
{
	size_t room = width > 2 * strlen(CUT) ? width - 2 * strlen(CUT) : 0;
	char *from = s, *to = s + strlen(s), kept;

	while (from < s + at && text_width(from) - text_width(s + at) > room / 2)
		from = next_char(from);
	for (; to > from; to--) {
		kept = *to;
		*to = '\0';
		if (((unsigned char)kept & 0xc0) != 0x80 && text_width(from) <= room)
			break;
		*to = kept;
	}
	if (!room ||
	    (size_t)(from - s) <
		    strlen(CUT)) /* there is no room for the mark that something is missing */
		return;
	memmove(s + strlen(CUT), from, to - from);
	memcpy(s, CUT, strlen(CUT));
	strcpy(s + strlen(CUT) + (to - from), CUT);
}
