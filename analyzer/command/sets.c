/* SPDX-License-Identifier: GPL-3.0-only */
/* sets.c - runs by store, number and label. sets.h says how they are named. */
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>
#include "analyzer.h"
#include "query.h"
#include "sets.h"

/* An argument: a folder or a store that exists, and the word for some of its runs. */
struct place {
	char *path;
	const char *runs;        /* behind the colon; NULL: all */
	bool folder;
};

/* A path that is there goes before one with a colon. errno says ENOMEM where that is why it is
 * none. */
static bool place_of(const char *arg, struct place *p)
{
	const char *colon = strrchr(arg, ':');
	struct stat st;

	*p = (struct place){ 0 };
	errno = 0;
	if (!stat(arg, &st))
		p->path = strdup(arg);
	else if (colon && colon > arg && colon[1])
		p->path = strndup(arg, colon - arg);
	if (!p->path)
		return false;
	if (strcmp(p->path, arg)) {
		p->runs = colon + 1;
		if (stat(p->path, &st)) {
			free(p->path);
			p->path = NULL;
			return false;
		}
	}
	p->folder = S_ISDIR(st.st_mode);
	return true;
}

static int add_run(struct set_run **runs, size_t *n, const struct set_run *r)
{
	struct set_run *grown = reallocarray(*runs, *n + 1, sizeof(*grown));

	if (!grown)
		return fail_as(EXIT_DATA, ENOMEM, "%s", r->store);
	*runs = grown;
	grown[*n] = (struct set_run){ .store = strdup(r->store),
				      .label = strdup(r->label),
				      .uuid = strdup(r->uuid),
				      .run = r->run };
	++*n;
	return grown[*n - 1].store && grown[*n - 1].label && grown[*n - 1].uuid ?
		       0 :
		       fail_as(EXIT_DATA, ENOMEM, "%s", r->store);
}

static void free_runs(struct set *s)
{
	size_t i;

	for (i = 0; i < s->runs + s->idles; i++) {
		struct set_run *r = i < s->runs ? &s->run[i] : &s->idle[i - s->runs];

		free(r->store);
		free(r->label);
		free(r->uuid);
	}
	free(s->run);
	free(s->idle);
	free(s->name);
	*s = (struct set){ 0 };
}

/* All runs of a store, with the label that repeats have in common. */
static int read_store(struct set *s, const char *path)
{
	static const char sql[] =
		"SELECT run, CASE WHEN label GLOB 'sweep [a-z]* [a-z]* [0-9]* [0-9]*' THEN rtrim(rtrim(label, '0123456789'))"
		" ELSE COALESCE(label, '') END, COALESCE(uuid, '') FROM run ORDER BY run";
	struct store *store = NULL;
	struct grid t = { 0 };
	size_t i;
	int err = store_open(&store, path) ?: store_query(store, "runs", sql, NULL, &t);

	for (i = 0; !err && i < t.rows; i++)
		err = add_run(&s->run, &s->runs,
			      &(struct set_run){ .store = (char *)path,
						 .run = grid_cell(&t, i, 0)->i,
						 .label = grid_cell(&t, i, 1)->text,
						 .uuid = grid_cell(&t, i, 2)->text });
	grid_free(&t);
	store_close(store);
	return err;
}

static int is_store_name(const struct dirent *d)
{
	size_t n = strlen(d->d_name);

	return n > 7 && *d->d_name != '.' && !strcmp(d->d_name + n - 7, ".sqlite");
}

static int read_folder(struct set *s, const char *path)
{
	struct dirent **list = NULL;
	int n = scandir(path, &list, is_store_name, alphasort), i, err = 0;

	if (n < 0)
		return fail_as(EXIT_DATA, errno, "cannot read the folder %s", path);
	for (i = 0; i < n; i++) {
		auto_free char *file = NULL;

		if (!err && asprintf(&file, "%s/%s", path, list[i]->d_name) < 0)
			err = fail_as(EXIT_DATA, ENOMEM, "%s", path);
		err = err ?: read_store(s, !strncmp(file, "./", 2) ? file + 2 : file);
		free(list[i]);
	}
	free(list);
	return err ?: n ? err : fail_as(EXIT_DATA, 0, "no store (*.sqlite) is in the folder %s", path);
}

static int read_place(struct set *s, const struct place *p)
{
	return p->folder ? read_folder(s, p->path) : read_store(s, p->path);
}

static bool is_idle(const char *label)
{
	size_t n = strlen(label);

	return (n > 5 && !strcmp(label + n - 5, " idle")) ||
	       (!strncmp(label, "sweep ", 6) && strstr(label, " idle "));
}

/* Is the number one of "3", "3-7" or "1,3-7"? *good: whether the text is such a list. */
static bool in_list(const char *list, int64_t run, bool *good)
{
	bool found = false;
	char *end;

	for (*good = false; *list >= '0' && *list <= '9'; list = end + 1) {
		long long from = strtoll(list, &end, 10), upto = from;

		if (*end == '-' && end[1] >= '0' && end[1] <= '9')
			upto = strtoll(end + 1, &end, 10);
		found |= run >= from && run <= upto;
		*good = !*end;
		if (*end != ',')
			break;
	}
	return *good && found;
}

/* The controls of a set, by the label of its first run. */
static int add_idle(struct set *to, const struct set *from)
{
	size_t i, n = to->runs ? strlen(to->run[0].label) : 0;
	int err = 0;

	for (i = 0; n && !err && i < from->runs; i++)
		if (!strncmp(from->run[i].label, to->run[0].label, n) && !strcmp(from->run[i].label + n, " idle"))
			err = add_run(&to->idle, &to->idles, &from->run[i]);
	return err;
}

/* Those of `from` that `which` names: numbers, or else a label. where: their one place, or NULL. */
static int choose_runs(struct set *to, const struct set *from, const char *which, const char *where)
{
	bool good, listed;
	size_t i;
	int err = 0;

	for (i = 0; !err && i < from->runs; i++) {
		const struct set_run *r = &from->run[i];

		listed = in_list(which, r->run, &good);
		if (good ? listed : !strcmp(r->label, which))
			err = add_run(&to->run, &to->runs, r);
	}
	if (err || to->runs)
		return err;
	if (!where)
		return fail_as(EXIT_USAGE, 0,
			"'%s' is neither a store or folder that is there, nor the label of a run of these stores",
			which);
	return fail_as(EXIT_USAGE, 0, "%s has no run '%s' (`iot-analyze runs` lists them)", where, which);
}

/* A place without a word on its runs: all but controls, which must be repeats of each other. */
static int choose_all(struct set *to, const struct set *from, const char *where)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < from->runs; i++)
		if (!is_idle(from->run[i].label))
			err = add_run(&to->run, &to->runs, &from->run[i]);
	for (i = 1; !err && i < to->runs; i++)
		if (strcmp(to->run[i].label, to->run[0].label))
			err = fail_as(EXIT_USAGE, 0,
				"%s holds runs that are no repeats of each other, labelled '%s' and '%s': name one, as in %s:%s",
				where, to->run[0].label, to->run[i].label, where,
				to->run[*to->run[0].label ? 0 : i].label);
	return err ?: to->runs ? err : fail_as(EXIT_DATA, 0, "%s holds no run", where);
}

static struct set *add_set(struct sets *s, const char *name)
{
	struct set *grown = reallocarray(s->set, s->n + 1, sizeof(*grown));

	if (!grown)
		return NULL;
	s->set = grown;
	s->set[s->n] = (struct set){ .name = strdup(name) };
	return s->set[s->n].name ? &s->set[s->n++] : NULL;
}

static int no_memory(void)
{
	return fail_as(EXIT_DATA, ENOMEM, "sets of runs");
}

/* A set for each label of the place. */
static int each_label(struct sets *out, const struct set *all)
{
	size_t i, k;
	int err = 0;

	for (i = 0; !err && i < all->runs; i++) {
		struct set *s = NULL;

		if (is_idle(all->run[i].label))
			continue;
		for (k = 0; !s && k < out->n; k++)
			if (!strcmp(out->set[k].run[0].label, all->run[i].label))
				s = &out->set[k];
		s = s ?: add_set(out, *all->run[i].label ? all->run[i].label : "(no label)");
		err = s ? add_run(&s->run, &s->runs, &all->run[i]) : no_memory();
	}
	for (k = 0; !err && k < out->n; k++)
		err = add_idle(&out->set[k], all);
	return err;
}

/* A set for each argument that names its runs by a place, or by a place and what is behind the
 * colon. */
static int each_place(struct sets *out, const char *const *arg, const struct place *p, size_t n)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < n; i++) {
		struct set all = { 0 }, *s = add_set(out, arg[i]);

		err = !s ? no_memory() : read_place(&all, &p[i]);
		if (!err)
			err = (p[i].runs ? choose_runs(s, &all, p[i].runs, p[i].path) :
					   choose_all(s, &all, p[i].path)) ?:
			      add_idle(s, &all);
		free_runs(&all);
	}
	return err;
}

/* Refuses a word that looks like the name of a store and names none: it is no label. */
static int check_label(const char *arg)
{
	auto_free char *path = strndup(arg, strrchr(arg, ':') ? (size_t)(strrchr(arg, ':') - arg) :
								strlen(arg));
	size_t n = path ? strlen(path) : 0;

	if (n <= 7 || strcmp(path + n - 7, ".sqlite"))
		return 0;
	if (access(path, F_OK))
		return fail_as(EXIT_USAGE, errno, "'%s' is neither a store nor a folder that is there", path);
	return fail_as(EXIT_USAGE, 0,
		       "'%s' names no runs: a label or numbers stand behind the colon", arg);
}

/* Labels, of the stores in front of them. */
static int each_name(struct sets *out, const char *const *arg, const struct place *p,
		     size_t places, size_t n)
{
	static const struct place here = { .path = ".", .folder = true };
	struct set all = { 0 };
	size_t i;
	int err = 0;

	for (i = places; !err && i < n; i++)
		err = p[i].path ? 0 : check_label(arg[i]);
	err = err ?: places ? err : read_place(&all, &here);
	for (i = 0; !err && i < places; i++)
		err = p[i].runs ? fail_as(EXIT_USAGE, 0, "'%s' is neither a store nor a folder",
					  arg[places]) :
				  read_place(&all, &p[i]);
	for (i = places; !err && i < n; i++) {
		struct set *s = add_set(out, arg[i]);

		if (!s)
			err = no_memory();
		else if (p[i].path)
			err = fail_as(EXIT_USAGE, 0,
				"'%s' is neither a store nor a folder, and labels stand behind these",
				arg[places]);
		else
			err = choose_runs(s, &all, arg[i], places == 1 ? p[0].path : NULL) ?: add_idle(s, &all);
	}
	free_runs(&all);
	return err;
}

static bool is_same(const struct set_run *a, const struct set_run *b)
{
	return *a->uuid ? !strcmp(a->uuid, b->uuid) : a->run == b->run && !strcmp(a->store, b->store);
}

/* Refuses runs that are named twice, in one set or in two: they would make the sets alike. */
static int check_apart(const struct sets *s)
{
	size_t i, j, k, l;

	for (i = 0; i < s->n; i++)
		for (j = i; j < s->n; j++)
			for (k = 0; k < s->set[i].runs; k++)
				for (l = i == j ? k + 1 : 0; l < s->set[j].runs; l++) {
					const struct set_run *a = &s->set[i].run[k], *b = &s->set[j].run[l];

					if (is_same(a, b))
						return fail_as(EXIT_USAGE, 0,
							"run %lld of %s is there twice, as run %lld of %s",
							(long long)a->run, a->store,
							(long long)b->run, b->store);
				}
	return 0;
}

int sets_find(struct sets *out, const char *const *arg, size_t n)
{
	struct place *p = calloc(n + 1, sizeof(*p));
	struct set all = { 0 };
	size_t i, places = 0;
	int err = 0;

	*out = (struct sets){ 0 };
	if (!p)
		return no_memory();
	for (i = 0; i < n; i++) {
		places += place_of(arg[i], &p[i]) && places == i;
		err = err ?: errno == ENOMEM ? no_memory() : 0;
	}
	if (!err && places == n && n == 1 && !p[0].runs)
		err = read_place(&all, &p[0]) ?: each_label(out, &all);
	else if (!err)
		err = places == n ? each_place(out, arg, p, n) : each_name(out, arg, p, places, n);
	for (i = 0; i < n; i++)
		free(p[i].path);
	free(p);
	free_runs(&all);
	return err ?: check_apart(out);
}

void sets_free(struct sets *s)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		free_runs(&s->set[i]);
	free(s->set);
	*s = (struct sets){ 0 };
}
