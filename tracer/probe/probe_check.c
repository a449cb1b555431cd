// SPDX-License-Identifier: GPL-3.0-only
/* probe_check.c - checks that the kernel side can be used at all: the kernel's types, and the
 * machine that the programs were compiled for.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include "clean.h"
#include "probe_parts.h"

#if defined(__aarch64__)
#define MACHINE "arm64"
#else
#define MACHINE "x86"
#endif

/* First line of the file that the build writes next to the objects: "clang 14.0.6, for x86". Absent
 * in builds without it. */
extern const char objects_made_by[] __attribute__((weak));

const char *probes_made_by(void)
{
	static char line[64];

	if (!*line)
		snprintf(line, sizeof(line), "%.*s", objects_made_by ?
			(int)strcspn(objects_made_by, "\n") : 0, objects_made_by ?: "");
	return *line ? line : "an unknown compiler";
}

const char *probes_wrong_machine(void)
{
	static char machine[16];
	const char *of = strstr(probes_made_by(), ", for ");

	if (!of || sscanf(of, ", for %15[a-z0-9_]", machine) != 1 || !strcmp(machine, MACHINE))
		return NULL;
	return machine;
}

const char *probes_wrong_types(void)
{
	auto_close int fd = open(TYPES_FILE, O_RDONLY | O_CLOEXEC);
	struct statfs fs;

	if (fd < 0)
		return errno == ENOENT ?
			"are not there: the kernel was built without CONFIG_DEBUG_INFO_BTF=y, or /sys is not mounted here" :
			"cannot be read";
	if (fstatfs(fd, &fs) || fs.f_type != SYSFS_MAGIC)
		return "are not the running kernel's own: something is mounted over that file, which is to be unmounted";
	return NULL;
}

/* lockdown=confidentiality withholds bpf_probe_read*() from programs (bpf_base_func_proto(),
 * LOCKDOWN_BPF_READ_KERNEL). A relocation against a type of a module that is not visible becomes an
 * instruction that the verifier refuses. */
const char *probes_cure(const struct probe_info *denied)
{
	if (strstr(denied->reason, "bpf_probe_read"))
		return "the kernel is locked down and lets no BPF program read its memory: boot with lockdown=integrity";
	if (strstr(denied->reason, "CO-RE relocation") && types_hide_modules())
		return "CAP_SYS_ADMIN is missing, without which types of kernel modules are not shown";
	return "take a build by a compiler that this kernel accepts (a release)";
}

int probes_check(void)
{
	const char *types = probes_wrong_types(), *machine = probes_wrong_machine();

	if (types)
		return fail(0, "the kernel's types (BTF) in " TYPES_FILE " %s", types);
	if (machine)
		return fail(0,
			"the kernel objects were made for %s, and this machine is " MACHINE ": build them for it (make clean all), or take a release for "
			    "it", machine);
	return 0;
}
