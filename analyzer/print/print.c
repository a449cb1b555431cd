/* SPDX-License-Identifier: GPL-3.0-only */
/* print.c - the formats of a report. What was not measured is n/a, and null in JSON. */
#include <cjson/cJSON.h>
#include <errno.h>
#include "analyzer.h"
#include "markup.h"
#include "near.h"
#include "print.h"
#include "print_text.h"
#include "table_writer.h"
#include "text.h"

static int print_lines(const struct grid *t, const struct table_markup *markup)
{
	struct table_markup m = *markup;
	size_t row;
	int err;

	m.terminal = isatty(STDOUT_FILENO);
	err = table_names(stdout, t, &m);
	for (row = 0; !err && row < t->rows; row++)
		err = table_row(stdout, t, row, &m);
	return err;
}

/* cJSON keeps numbers in doubles: integers go in as their own text, and so do strings that it
 * would not escape. */
static cJSON *json_cell(const struct cell *c)
{
	auto_free char *s = cell_exact(c, "null", text_json);

	return s ? cJSON_CreateRaw(s) : NULL;
}

static cJSON *json_row(const struct grid *t, size_t row)
{
	cJSON *object = cJSON_CreateObject(), *value;
	int col;

	for (col = 0; object && col < t->cols; col++) {
		value = json_cell(grid_cell(t, row, col));
		if (!value || !cJSON_AddItemToObject(object, t->col[col], value)) {
			cJSON_Delete(value);
			cJSON_Delete(object);
			return NULL;
		}
	}
	return object;
}

static bool json_rows(cJSON *parent, const char *name, const struct grid *t)
{
	cJSON *array = cJSON_AddArrayToObject(parent, name), *row;
	size_t r;

	for (r = 0; array && r < t->rows; r++) {
		row = json_row(t, r);
		if (!row)
			return false;
		cJSON_AddItemToArray(array, row);
	}
	return array;
}

static bool json_build(cJSON *root, const struct answer *a, const struct grid *only)
{
	cJSON *tables;
	int i;

	if (!cJSON_AddStringToObject(root, "report", a->name) ||
	    !cJSON_AddStringToObject(root, "title", a->title))
		return false;
	if (a->run.rows && !a->about_store && !cJSON_AddItemToObject(root, "run", json_row(&a->run, 0)))
		return false;
	if (!a->about_store && !json_rows(root, "lost", &a->lost))
		return false;
	tables = cJSON_AddObjectToObject(root, "tables");
	for (i = 0; tables && i < a->tables; i++) {
		if (!a->table[i].plot && (!only || only == &a->table[i]) &&
		    !json_rows(tables, a->table[i].name ?: "rows", &a->table[i]))
			return false;
	}
	return tables;
}

static int print_json(const struct answer *a, const struct grid *only)
{
	cJSON *root = cJSON_CreateObject();
	char *text = root && json_build(root, a, only) ? cJSON_Print(root) : NULL;

	if (text)
		printf("%s\n", text);
	cJSON_free(text);
	cJSON_Delete(root);
	return text ? 0 : -ENOMEM;
}

/* The cells of a row as attributes or text of XML: of the columns that name the case, or all
 * others, each with its name. */
static int put_cells(const struct grid *t, size_t row, bool named)
{
	int col, n = 0;

	for (col = 0; col < t->cols; col++) {
		auto_free char *s = NULL, *name = NULL;

		if (has_word(t->cases, t->col[col]) != named)
			continue;
		s = cell_string(grid_cell(t, row, col), ABSENT, text_xml);
		name = text_xml(t->col[col], strlen(t->col[col]));
		if (!s || !name)
			return -ENOMEM;
		printf("%s%s%s%s", n++ ? named ? " " : ", " : "", named ? "" : name, named ? "" : ": ", s);
	}
	return 0;
}

/* As the servers that run tests read it: a case a row, failed where something is wrong, skipped
 * where nothing can be said. */
static int print_junit(const struct answer *a, const struct grid *t)
{
	static const char *const words[] = { NULL, "skipped", "failure", "error" }; /* enum result */
	size_t row, n[RESULT_UNKNOWN + 1] = { 0 };
	int col = grid_find(t, "result"), err = 0;

	for (row = 0; row < t->rows; row++)
		n[result_of(grid_cell(t, row, col)->text ?: "")]++;
	printf("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"iot-analyze %s\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\""
	       " skipped=\"%zu\">\n",
	       a->name, t->rows, n[RESULT_FAILED], n[RESULT_UNKNOWN], n[RESULT_ABSENT]);
	for (row = 0; row < t->rows && !err; row++) {
		const char *word = words[result_of(grid_cell(t, row, col)->text ?: "")];

		printf("  <testcase classname=\"iot-analyze.%s\" name=\"", a->name);
		err = put_cells(t, row, true);
		printf(word ? "\"><%s message=\"" : "\"/>\n", word);
		if (word && !err)
			err = put_cells(t, row, false);
		if (word)
			printf("\"/></testcase>\n");
	}
	printf("</testsuite>\n");
	return err;
}

static const struct grid *choose(const struct answer *a, const char *only)
{
	int i;

	for (i = 0; i < a->tables; i++) {
		const struct grid *t = &a->table[i];

		if (only ? t->name && !strcmp(t->name, only) : !t->plot)
			return t;
	}
	return NULL;
}

/* Lists the tables of a report, for a user who named another one. */
static int fail_table(const struct answer *a, const char *only)
{
	struct near n = { .given = only };
	char hint[NEAR_HINT], all[400] = "";
	int i;

	for (i = 0; i < a->tables; i++) {
		const char *name = a->table[i].name;

		if (a->table[i].plot || !name)
			continue;
		near_try(&n, name);
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", *all ? ", " : "", name);
	}
	return fail_as(EXIT_USAGE, 0, "report '%s' has no table '%s'%s; there are: %s", a->name,
		       only, near_hint(&n, "", hint), all);
}

int print_answer(const struct answer *a, enum format format, const char *only)
{
	const struct grid *t = choose(a, only ?: a->main);
	int err = 0;

	if (!t)
		return fail_table(a, only ?: "");
	if (format == FORMAT_JUNIT && !t->cases)
		return fail_as(EXIT_USAGE, 0,
			"report '%s' has no cases that pass or fail: --format junit is for check and verify",
			a->name);
	switch (format) {
	case FORMAT_JUNIT:
		err = print_junit(a, t);
		break;
	case FORMAT_TEXT:
		err = print_text(a, only ? t : NULL);
		break;
	case FORMAT_CSV:
		err = print_lines(t, &markup_csv);
		break;
	case FORMAT_TSV:
		err = print_lines(t, &markup_tsv);
		break;
	case FORMAT_JSON:
		err = print_json(a, only ? t : NULL);
		break;
	case FORMAT_LATEX:
		err = print_latex(a, only ? t : NULL);
		break;
	case FORMAT_MARKDOWN:
		err = print_markdown(a, only ? t : NULL);
		break;
	}
	return err ? fail_as(EXIT_DATA, -err, "cannot print report '%s'", a->name) : 0;
}
