// SPDX-License-Identifier: GPL-3.0-only
/* options_output.c - the format of each output, by its name and by --format. */
#include <string.h>
#include "fail.h"
#include "options.h"

static bool has_suffix(const char *path, const char *suffix)
{
	size_t a = strlen(path), b = strlen(suffix);

	return a > b && !strcmp(path + a - b, suffix);
}

/* A name that ends in / is a folder of CSV streams. */
static int check_streams(const struct options *o)
{
	size_t folders = 0;

	for (size_t i = 0; i < o->n_outputs; i++)
		folders += has_suffix(o->outputs[i].path, "/");
	if (folders > 1)
		return fail_usage("two folders of CSV streams: give one");
	if (folders && o->no_events)
		return fail_usage("CSV streams are events: --no-events and --light have none");
	if (o->format == FORMAT_STREAMS && !folders)
		return fail_usage("csv-streams are files in a folder: give it with -o FOLDER/");
	return 0;
}

/* Returns the format that a name says; FORMAT_NONE: any. */
static enum format format_of(const char *path)
{
	if (has_suffix(path, "/"))
		return FORMAT_STREAMS;
	return has_suffix(path, ".sqlite") || has_suffix(path, ".db") ? FORMAT_STORE : FORMAT_NONE;
}

/* A store is recognised by its file name. Any other output has the format that was asked for, or is
 * JSON Lines by its file name. */
int options_outputs(struct options *o)
{
	enum format asked = o->format == FORMAT_STREAMS ? FORMAT_NONE : o->format;
	size_t streams = 0;
	int status = check_streams(o);

	if (status)
		return status;
	for (size_t i = 0; i < o->n_outputs; i++) {
		struct output *out = &o->outputs[i];
		bool standard = !strcmp(out->path, "-");

		out->format = format_of(out->path);
		if (out->format != FORMAT_NONE)
			continue;
		if (asked != FORMAT_NONE)
			out->format = asked;
		else if (standard || has_suffix(out->path, ".jsonl"))
			out->format = FORMAT_JSONL;
		else
			return fail_usage("output '%s' is neither FILE.sqlite, FILE.jsonl nor -, and no format is given", out->path);
		streams++;
	}
	for (size_t i = 0; o->wide && i < o->n_outputs; i++)
		if (o->outputs[i].format == FORMAT_JSONL)
			o->outputs[i].format = FORMAT_JSONL_WIDE;
	if (asked == FORMAT_NONE || streams)
		return 0;
	if (o->n_outputs == MAX_OUTPUTS)
		return fail_usage("more than %d outputs", MAX_OUTPUTS);
	o->outputs[o->n_outputs++] = (struct output){ "-",
		o->wide && asked == FORMAT_JSONL ? FORMAT_JSONL_WIDE : asked };
	return 0;
}
