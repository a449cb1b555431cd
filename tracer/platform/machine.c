// SPDX-License-Identifier: GPL-3.0-only
/* machine.c - facts about the machine: memory, kernel, distribution, settings, network interfaces.
 * Processors, disks and file systems have files of their own (machine_*.c).
 *
 * Facts are kept as one text, four strings each: part, name, key, value.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include "machine.h"
#include "machine_parts.h"
#include "memory.h"

#define LINKS_MAX 64            /* network interfaces */

struct machine {
	char *text;
	size_t size;
};

/* --- memory, kernel, distribution --- */

static void put_memory(FILE *to)
{
	static const struct { const char *key, *word; } rows[] = {
		{ "bytes", "MemTotal:" },
		{ "swap_bytes", "SwapTotal:" },
		{ "huge_pages", "HugePages_Total:" },
	};
	static const struct machine_file files[] = {
		{ "transparent_huge_pages", "kernel/mm/transparent_hugepage/enabled", FORM_CHOSEN },
		{ "transparent_huge_pages_defrag", "kernel/mm/transparent_hugepage/defrag",
			FORM_CHOSEN },
		{ "zswap", "module/zswap/parameters/enabled" },
		{ "numa_nodes", "devices/system/node/online" },
	};
	struct machine_part p = { to, "memory", "" };
	char text[8192], *at;

	machine_number(&p, "page_bytes", sysconf(_SC_PAGESIZE));
	if (read_file("/proc/meminfo", text, sizeof(text)) > 0)
		for (size_t i = 0; i < N_OF(rows); i++)
			if ((at = strstr(text, rows[i].word)))
				machine_number(&p, rows[i].key,
					strtoull(at + strlen(rows[i].word), NULL, 10) *
					(strstr(rows[i].key, "bytes") ? 1024 : 1));
	machine_files(&p, "/sys", files, N_OF(files));
}

static const char *cgroup_version(void)
{
	struct statfs all, unified;

	if (statfs("/sys/fs/cgroup", &all))
		return NULL;
	if (all.f_type == CGROUP2_SUPER_MAGIC)
		return "2";
	if (all.f_type != TMPFS_MAGIC)
		return NULL;
	return !statfs("/sys/fs/cgroup/unified", &unified) &&
		unified.f_type == CGROUP2_SUPER_MAGIC ? "1 and 2" : "1";
}

static void put_kernel(FILE *to)
{
	static const struct machine_file files[] = {
		{ "command_line", "proc/cmdline" },
		{ "clocksource",
			"sys/devices/system/clocksource/clocksource0/current_clocksource" },
		{ "lockdown", "sys/kernel/security/lockdown", FORM_CHOSEN },
		{ "tainted", "proc/sys/kernel/tainted" },
	};
	struct machine_part p = { to, "kernel", "" };
	struct utsname u;

	if (!uname(&u)) {
		machine_fact(&p, "release", u.release);
		machine_fact(&p, "version", u.version);
		machine_fact(&p, "architecture", u.machine);
	}
	machine_files(&p, "", files, N_OF(files));
	machine_fact(&p, "cgroup_version", cgroup_version());
}

/* Takes the quotes and backslashes of os-release(5) from a value, in place. */
static char *unquote(char *value)
{
	char quote = *value == '"' || *value == '\'' ? *value : 0, *to = value;

	for (char *from = value + !!quote; *from && *from != quote; from++) {
		if (*from == '\\' && quote == '"' && from[1])
			from++;
		*to++ = *from;
	}
	*to = '\0';
	return value;
}

static void put_distribution(FILE *to)
{
	static const struct { const char *key, *word; } rows[] = {
		{ "name", "PRETTY_NAME=" }, { "id", "ID=" }, { "version", "VERSION_ID=" },
	};
	struct machine_part p = { to, "os", "" };
	char text[8192], *next = text, *line;

	if (read_file("/etc/os-release", text, sizeof(text)) <= 0 &&
	    read_file("/usr/lib/os-release", text, sizeof(text)) <= 0)
		return;
	while ((line = strsep(&next, "\n")))
		for (size_t i = 0; i < N_OF(rows); i++)
			if (!strncmp(line, rows[i].word, strlen(rows[i].word)))
				machine_fact(&p, rows[i].key,
					unquote(line + strlen(rows[i].word)));
}

static void put_settings(FILE *to)
{
	static const struct machine_file files[] = {
		{ "vm.dirty_background_bytes", "dirty_background_bytes" },
		{ "vm.dirty_background_ratio", "dirty_background_ratio" },
		{ "vm.dirty_bytes", "dirty_bytes" },
		{ "vm.dirty_ratio", "dirty_ratio" },
		{ "vm.dirty_expire_centisecs", "dirty_expire_centisecs" },
		{ "vm.dirty_writeback_centisecs", "dirty_writeback_centisecs" },
		{ "vm.dirtytime_expire_seconds", "dirtytime_expire_seconds" },
		{ "vm.laptop_mode", "laptop_mode" },
		{ "vm.overcommit_memory", "overcommit_memory" },
		{ "vm.swappiness", "swappiness" },
		{ "vm.vfs_cache_pressure", "vfs_cache_pressure" },
	};

	machine_files(&(struct machine_part){ to, "sysctl", "" }, "/proc/sys/vm", files,
		N_OF(files));
}

/* --- network interfaces: neither their addresses nor their names of the hardware --- */

static void put_links(FILE *to)
{
	static const char all[] = "/sys/class/net";
	static const struct machine_file files[] = {
		{ "driver", "device/driver", FORM_LINK },
		{ "mtu", "mtu" },
		{ "speed_mbit", "speed" },
		{ "duplex", "duplex" },
		{ "state", "operstate" },
		{ "tx_queue_length", "tx_queue_len" },
	};
	char folder[PATH_MAX];
	DIR *dir = opendir(all);
	struct dirent *e;
	size_t n = 0;

	while (dir && (e = readdir(dir))) {
		if (e->d_name[0] == '.' || n++ >= LINKS_MAX)
			continue;
		snprintf(folder, sizeof(folder), "%s/%s", all, e->d_name);
		machine_files(&(struct machine_part){ to, "net", e->d_name }, folder, files,
			N_OF(files));
	}
	if (dir)
		closedir(dir);
	machine_left_out(to, "net", n > LINKS_MAX ? n - LINKS_MAX : 0);
}

/* --- all of it --- */

int machine_new(struct machine **out)
{
	struct machine *m = *out = calloc(1, sizeof(*m));
	FILE *to = m ? memory_open(&m->text, &m->size) : NULL;

	if (!to)
		return fail(ENOMEM, "facts about the machine");
	machine_cpus(to);
	put_memory(to);
	put_kernel(to);
	put_distribution(to);
	put_settings(to);
	machine_disks(to);
	machine_mounts(to);
	put_links(to);
	return fclose(to) ? fail(ENOMEM, "facts about the machine") : 0;
}

void machine_free(struct machine *m)
{
	if (m)
		free(m->text);
	free(m);
}

static const char *next_string(const char **at)
{
	const char *s = *at;

	*at += strlen(s) + 1;
	return s;
}

int machine_give(const struct machine *m, int (*give)(void *arg, const struct rec_machine *),
		 void *arg)
{
	const char *at = m->text, *end = at + m->size;
	int err = 0;

	while (!err && at < end) {
		struct rec_machine r = { .part = next_string(&at) };

		r.name = next_string(&at);
		r.key = next_string(&at);
		r.value = next_string(&at);
		r.name = *r.name ? r.name : NULL;
		err = give(arg, &r);
	}
	return err;
}
