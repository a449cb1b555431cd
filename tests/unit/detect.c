/* SPDX-License-Identifier: GPL-3.0-only */
/* detect.c - asks the detection rules from a test: patterns, rule files, recorded processes and files, hostile input.
 *
 *   detect pattern PATTERN SUBJECT     prints yes or no, or why it is no pattern
 *   detect rules [FILE...]             loads the built-in rules and FILEs, prints one line a system
 *   detect name NAME                   prints the system that answers to NAME
 *   detect processes TSV               compares recorded processes with what the rules say
 *   detect threads TSV                 the same for threads
 *   detect bytes TSV                   bytes that iot and a substring match on thread names would each find
 *   detect file NAME[:ROLE][@PID] PATH...   prints system, component, engine, root and evidence of each path, in order,
 *                                           for a process of this name and role, in the mount namespace of PID;
 *                                           touch:FILE and sleep:SECONDS happen in between
 *   detect flood N                     N long and deep paths that do not exist
 *   detect container-name ROOT ID      prints the name of a container
 *   detect container CGROUP            prints the id of the container
 *   detect list [FILE...]              lists what runs now
 *   detect ident PID                   prints what a running process is, with what its files tell
 *   detect fuzz SEED N                 N rounds of damaged rules, processes and paths
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "pattern.h"
#include "systems/rules.h"

#define FIELDS 16
#define ROWS 512

static const char *const by_names[] = { "-", "comm", "argv", "exe", "cgroup", "args", "fork", "files" };
static const char *const sure_names[] = { "-", "claim", "group", "program", "files" };
static const char *const file_by_names[] = { "-", "root", "layout", "sibling", "user" };

static const char *or_dash(const char *s)
{
	return s && *s ? s : "-";
}

static const char *or_null(const char *s)
{
	return strcmp(s, "-") ? s : NULL;
}

static struct systems *rules(int n, char **files)
{
	struct systems *db;

	if (systems_builtin(&db))
		exit(1);
	for (int i = 0; i < n; i++)
		if (systems_add_file(db, files[i]))
			exit(1);
	return db;
}

static int name(const char *alias)
{
	struct systems *db = rules(0, NULL);
	int err = puts(or_dash(systems_name(db, alias))) < 0;

	systems_close(db);
	return err;
}

/* Splits a line at tabs; comments and empty lines give 0. */
static int fields(char *line, char **field)
{
	int n = 0;

	line[strcspn(line, "\n")] = '\0';
	if (!*line || *line == '#')
		return 0;
	for (char *at = line; at && n < FIELDS; n++)
		field[n] = strsep(&at, "\t");
	return n;
}

static FILE *table(const char *path)
{
	FILE *f = fopen(path, "r");

	if (f)
		return f;
	fprintf(stderr, "detect: cannot open %s: %s\n", path, strerror(errno));
	exit(1);
}

/* The system of a recorded executable: "PATH=SYSTEM" says so, else its name does. */
static const char *program_of(const struct systems *db, char *exe)
{
	char *system = strchr(exe, '=');

	if (!system)
		return sys_program_named(db, exe);
	*system++ = '\0';
	return systems_name(db, system);
}

/* One process of a table: id parent how comm exe argv env cgroup, then what is expected. */
static void read_process(const struct systems *db, char **f, struct sys_proc *p, const char **argv)
{
	memset(p, 0, sizeof(*p));
	p->forked = !strcmp(f[2], "fork");
	p->comm = or_null(f[3]);
	p->program = program_of(db, f[4]);
	p->exe = or_null(f[4]);
	p->argv = argv;
	for (char *at = strcmp(f[5], "-") ? f[5] : NULL; at;)
		argv[p->argc++] = strsep(&at, "|");
	p->env = or_null(f[6]);
	p->env_len = p->env ? strlen(p->env) : 0;
	p->cgroup = or_null(f[7]);
}

static void add(char *to, size_t size, const char *instance, const char *tested)
{
	size_t len = strlen(to);

	snprintf(to + len, size - len, " %s %s", instance, tested);
}

static int processes(char *path)
{
	static struct sys_match match[ROWS];
	static char id[ROWS][64];
	struct systems *db = rules(0, NULL);
	FILE *in = table(path);
	char line[8192], *f[FIELDS];
	int n = 0, wrong = 0;

	while (n < ROWS && fgets(line, sizeof(line), in)) {
		const char *argv[256];
		struct sys_proc p;
		char got[512], want[512];
		int columns = fields(line, f);

		if (columns < 12)
			continue;
		read_process(db, f, &p, argv);
		for (int i = 0; i < n; i++)
			if (!strcmp(id[i], f[1]))
				p.parent = &match[i];
		systems_match(db, &p, &match[n]);
		snprintf(id[n], sizeof(id[n]), "%s", f[0]);
		snprintf(got, sizeof(got), "%s %s %s %s",
			 match[n].claim ? match[n].claim->name : or_dash(match[n].system),
			 or_dash(match[n].claim ? match[n].claim_role : match[n].role),
			 by_names[match[n].by], sure_names[match[n].sure]);
		snprintf(want, sizeof(want), "%s %s %s %s", f[8], f[9], f[10], f[11]);
		if (columns > 13) {
			add(got, sizeof(got), or_dash(match[n].instance), match[n].tested ? "run" : "never run");
			add(want, sizeof(want), f[12], f[13]);
		}
		if (strcmp(got, want) && ++wrong)
			printf("%s: got %s, want %s (%s)\n", f[0], got, want, match[n].why);
		n++;
	}
	printf("%d processes, %d wrong\n", n, wrong);
	fclose(in);
	systems_close(db);
	return wrong || !n;
}

static bool match_as(struct systems *db, const char *comm, const char *argv_text,
		     struct sys_match *m)
{
	char args[1024], *at = args;
	const char *argv[64];
	struct sys_proc p = {
		.comm = comm, .exe = comm, .argv = argv, .program = sys_program_named(db, comm)
	};

	snprintf(args, sizeof(args), "%s", argv_text);
	while (at && p.argc < 64)
		argv[p.argc++] = strsep(&at, "|");
	return systems_match(db, &p, m);
}

/* leader argv thread role op direct file-component component */
static int threads(char *path)
{
	struct systems *db = rules(0, NULL);
	FILE *in = table(path);
	char line[4096], *f[FIELDS];
	int n = 0, wrong = 0;

	while (fgets(line, sizeof(line), in)) {
		struct sys_match m;
		const char *role, *component;
		struct sys_use use;

		if (fields(line, f) < 8)
			continue;
		match_as(db, f[0], f[1], &m);
		role = systems_thread_role(&m, f[2]);
		use = (struct sys_use){ f[4][0] == 'r' ? SYS_READ : SYS_WRITE,
					strcmp(f[5], "buffered"), or_null(f[6]),
					!strcmp(f[5], "mixed") };
		component = systems_thread_component(&m, f[2], &use);
		n++;
		if (strcmp(or_dash(role), f[3]) || strcmp(or_dash(component), f[7])) {
			wrong++;
			printf("%s %s %s %s: got role %s component %s, want %s %s\n", f[0], f[2],
			       f[4], f[5], or_dash(role), or_dash(component), f[3], f[7]);
		}
	}
	printf("%d threads, %d wrong\n", n, wrong);
	fclose(in);
	systems_close(db);
	return wrong || !n;
}

struct sum {
	char system[32];
	unsigned long long all, substring, iot;
};

static struct sum *sum_of(struct sum *sums, const char *system)
{
	while (sums->system[0] && strcmp(sums->system, system))
		sums++;
	snprintf(sums->system, sizeof(sums->system), "%s", system);
	return sums;
}

/* system substring leader argv thread bytes */
static int bytes(char *path)
{
	struct systems *db = rules(0, NULL);
	struct sum sums[64] = { 0 };
	FILE *in = table(path);
	char line[4096], *f[FIELDS];

	while (fgets(line, sizeof(line), in)) {
		unsigned long long n;
		struct sys_match m;
		struct sum *s;

		if (fields(line, f) < 6)
			continue;
		n = strtoull(f[5], NULL, 10);
		s = sum_of(sums, f[0]);
		s->all += n;
		s->substring += strstr(f[4], f[1]) ? n : 0;
		s->iot += match_as(db, f[2], f[3], &m) && !strcmp(m.system, f[0]) ? n : 0;
	}
	for (struct sum *s = sums; s->system[0]; s++)
		printf("%s all %llu substring %llu iot %llu\n", s->system, s->all, s->substring, s->iot);
	fclose(in);
	systems_close(db);
	return 0;
}

/* touch:FILE and sleep:SECONDS among the paths: something happens before the next one. */
static bool aside(const char *path)
{
	FILE *f = strncmp(path, "touch:", 6) ? NULL : fopen(path + 6, "w");

	if (f)
		fclose(f);
	if (!strncmp(path, "sleep:", 6))
		sleep(strtoul(path + 6, NULL, 10));
	return f || !strncmp(path, "sleep:", 6);
}

static int files(char *user, int n, char **paths)
{
	struct systems *db = rules(0, NULL);
	char *at = strchr(user, '@'), *role = strchr(user, ':');
	uint32_t pid = at ? strtoul(at + 1, NULL, 10) : 0;
	struct sys_match m = { 0 };
	struct sys_file f;

	if (role) {
		*role++ = '\0';
		match_as(db, user, user, &m);
		role[strcspn(role, "@")] = '\0';
		m.role = role;
	}
	for (int i = 0; i < n; i++) {
		if (aside(paths[i]))
			continue;
		systems_file(db, paths[i], (struct sys_view){ pid, !pid }, role ? &m : NULL, &f);
		printf("%s\t%s\t%s\t%s\t%s\n", or_dash(f.system), or_dash(f.component),
		       or_dash(f.engine), or_dash(f.root), file_by_names[f.by]);
	}
	systems_close(db);
	return 0;
}

static int list_rules(int n, char **paths)
{
	struct systems *db = rules(n, paths);
	const struct sys_about *a;

	for (size_t i = 0; (a = systems_about(db, i)); i++)
		printf("%s\t%s\t%s\t%s\n", a->name, a->title, a->tested ? "tested" : "never run", a->origin);
	systems_close(db);
	return 0;
}

static int flood(unsigned n)
{
	struct systems *db = rules(0, NULL);
	char path[4000];
	struct sys_file f;

	for (unsigned i = 0; i < n; i++) {
		size_t len = snprintf(path, sizeof(path), "/nowhere");

		while (len < sizeof(path) - 80)
			len += snprintf(path + len, sizeof(path) - len, "/%064u", i);
		systems_file(db, path, (struct sys_view){ 0, true }, NULL, &f);
	}
	printf("%u paths\n", n);
	systems_close(db);
	return 0;
}

static int container_name(const char *root, const char *id)
{
	char name[SYS_CONTAINER_LEN];

	puts(systems_container_name(root, id, 0, name) ? name : "none");
	return 0;
}

static int pattern(const char *text, const char *subject)
{
	const char *why;
	struct pattern *p = pattern_new(text, true, &why);

	puts(!p ? why : pattern_match(p, subject) ? "yes" : "no");
	pattern_free(p);
	return 0;
}

static int container(const char *cgroup)
{
	char id[SYS_CONTAINER_LEN];

	puts(systems_container(cgroup, id) ? id : "none");
	return 0;
}

static int list(int n, char **paths)
{
	struct systems *db = rules(n, paths);
	int err = systems_list(db, NULL, stdout);

	systems_close(db);
	return err ? 1 : 0;
}

static int ident(const char *pid)
{
	struct systems *db = rules(0, NULL);
	struct sys_match m = { 0 };
	struct sys_ident id;
	int err = systems_ident(strtoul(pid, NULL, 10), &id);

	if (!err)
		systems_match(db, &id.proc, &m);
	if (err)
		printf("gone\n");
	else
		printf("%s\t%s\t%s\t%s\t%s\t%s\n", m.claim ? m.claim->name : or_dash(m.system),
		       or_dash(m.claim ? m.claim_role : m.role), by_names[m.by], sure_names[m.sure],
		       or_dash(m.client_of), m.why);
	systems_ident_free(&id);
	systems_close(db);
	return 0;
}

/* --- hostile input --- */

static unsigned next(unsigned *seed)
{
	return *seed = *seed * 1103515245u + 12345u, *seed >> 8;
}

/* Text made of what patterns, names and paths are made of. */
static void scribble(unsigned *seed, char *to, size_t size)
{
	static const char *const bits[] = {
		"*",	       "**",	     "/",	   "**/",
		"[",	       "]",	     "{",	   "}",
		"{hex:24}",    "{uuid}",     "{digits}",   "{digits:999}",
		"\\",	       "a",	     "-",	   "!",
		"pg_wal",      ".minio.sys", "tmp",	   "part.1",
		"-wal",	       "-journal",   "postgres: ", "ceph-osd",
		"server",      "\x1b[2J",    "\xff",	   "0123456789abcdef",
		" ",	       ":",	     ".",	   "..",
		"member/wal/", "base/1/2",   " (deleted)", "member",
		"docker-",     ".scope"
	};
	size_t n = next(seed) % size;

	to[0] = '\0';
	while (strlen(to) < n) {
		const char *bit = bits[next(seed) % (sizeof(bits) / sizeof(bits[0]))];

		if (strlen(to) + strlen(bit) >= size)
			return;
		strcat(to, bit);
	}
}

static void fuzz_match(struct systems *db, unsigned *seed)
{
	char comm[40], exe[300], cgroup[300], args[4][5000], path[5000];
	const char *argv[] = { args[0], args[1], args[2], args[3] };
	struct sys_proc p = { .comm = comm,
			      .exe = exe,
			      .cgroup = cgroup,
			      .argv = argv,
			      .argc = next(seed) % 5,
			      .env = args[3] };
	struct sys_match parent, m;
	struct sys_file f;

	scribble(seed, comm, sizeof(comm));
	scribble(seed, exe, sizeof(exe));
	scribble(seed, cgroup, sizeof(cgroup));
	for (int i = 0; i < 4; i++)
		scribble(seed, args[i], next(seed) % 16 ? 200 : sizeof(args[i]));
	p.env_len = strlen(args[3]);
	systems_match(db, &p, &parent);
	p.forked = next(seed) % 2;
	p.parent = &parent;
	systems_match(db, &p, &m);
	path[0] = '/';
	scribble(seed, path + 1, next(seed) % 16 ? 200 : sizeof(path) - 1);
	systems_file(db, path, (struct sys_view){ 0, true }, &m, &f);
	systems_learn(db, &m, &f, 0);
	systems_thread_role(&m, comm);
	systems_thread_component(
		&m, comm,
		&(struct sys_use){ SYS_WRITE, next(seed) % 2, f.component, next(seed) % 2 });
}

/* The built-in rules with a few bytes damaged, given as a file. */
static void fuzz_rules(unsigned *seed, const char *path)
{
	extern const char systems_json[];
	size_t len = strlen(systems_json);
	char *text = strdup(systems_json);
	struct systems *db = rules(0, NULL);
	FILE *f = fopen(path, "w");

	for (unsigned i = next(seed) % 4 + 1; text && i; i--)
		text[next(seed) % len] = "{}[]\",:*\\0a\x01\xff"[next(seed) % 13];
	if (text && f) {
		fwrite(text, 1, next(seed) % 2 ? len : next(seed) % len, f);
		fclose(f);
		systems_add_file(db, path);
	}
	systems_close(db);
	free(text);
}

static int fuzz(unsigned seed, unsigned rounds)
{
	struct systems *db = rules(0, NULL);
	char path[] = "/tmp/detect-fuzz-XXXXXX", text[600], subject[600];
	int fd = mkstemp(path);

	for (unsigned i = 0; fd >= 0 && i < rounds; i++) {
		const char *why;
		struct pattern *p;

		scribble(&seed, text, sizeof(text));
		scribble(&seed, subject, sizeof(subject));
		p = pattern_new(text, true, &why);
		if (p)
			pattern_match(p, subject);
		pattern_free(p);
		fuzz_match(db, &seed);
		if (i % 16 == 0)
			fuzz_rules(&seed, path);
	}
	remove(path);
	systems_close(db);
	printf("%u rounds\n", rounds);
	return fd < 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "pattern") && argc == 4)
		return pattern(argv[2], argv[3]);
	if (!strcmp(what, "rules"))
		return list_rules(argc - 2, argv + 2);
	if (!strcmp(what, "name") && argc == 3)
		return name(argv[2]);
	if (!strcmp(what, "processes") && argc == 3)
		return processes(argv[2]);
	if (!strcmp(what, "threads") && argc == 3)
		return threads(argv[2]);
	if (!strcmp(what, "bytes") && argc == 3)
		return bytes(argv[2]);
	if (!strcmp(what, "file") && argc > 3)
		return files(argv[2], argc - 3, argv + 3);
	if (!strcmp(what, "container") && argc == 3)
		return container(argv[2]);
	if (!strcmp(what, "flood") && argc == 3)
		return flood(strtoul(argv[2], NULL, 10));
	if (!strcmp(what, "container-name") && argc == 4)
		return container_name(argv[2], argv[3]);
	if (!strcmp(what, "list"))
		return list(argc - 2, argv + 2);
	if (!strcmp(what, "ident") && argc == 3)
		return ident(argv[2]);
	if (!strcmp(what, "fuzz") && argc == 4)
		return fuzz(strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10));
	fprintf(stderr, "detect: unknown test \"%s\"\n", what);
	return 2;
}
