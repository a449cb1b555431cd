/* SPDX-License-Identifier: GPL-3.0-only */
/* container.c - container of a process: its id from the control group, its name from the files of
 * the container engine.
 */
#include <cjson/cJSON.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "clean.h"
#include "mounts.h"
#include "procfs.h"
#include "rules.h"

/* Forms of a path component that names a container: PREFIX, then 64 hex digits (or, with `name`,
 * anything), then SUFFIX. Runtimes leave the suffix out when the driver is cgroupfs instead of
 * systemd. */
static const struct {
	const char *prefix, *suffix;
	bool name;
} container_forms[] = {
	{ "docker-", ".scope", false },
	{ "cri-containerd-", ".scope", false },
	{ "crio-", ".scope", false },
	{ "libpod-", ".scope", false },
	{ "libpod-conmon-", ".scope", false },
	{ "libpod-payload-", "", false },
	{ "nerdctl-", ".scope", false },
	{ "crio-", "", false },
	{ "libpod-", "", false },
	{ "", "", false },
	{ "lxc.payload.", "", true },
	{ "machine-", ".scope", true },
	{ "systemd-nspawn@", ".service", true },
};

static bool is_container(const char *part, size_t len, size_t form, char *out)
{
	size_t before = strlen(container_forms[form].prefix),
		behind = strlen(container_forms[form].suffix);
	const char *id = part + before;
	size_t n = len - before - behind;

	if (len <= before + behind || strncmp(part, container_forms[form].prefix, before) ||
	    strncmp(part + len - behind, container_forms[form].suffix, behind))
		return false;
	if (!container_forms[form].name && (n != 64 || strspn(id, "0123456789abcdef") < n))
		return false;
	snprintf(out, SYS_CONTAINER_LEN, "%.*s", (int)n, id);
	sys_text(out, SYS_CONTAINER_LEN, out);
	return true;
}

/* LXC before version 4 has one directory for all payloads, in which each group is named after its
 * container. */
static bool is_lxc_folder(const char *part, size_t len)
{
	return (len == 3 && !strncmp(part, "lxc", len)) ||
		(len == 11 && !strncmp(part, "lxc.payload", len));
}

bool systems_container(const char *cgroup, char *out)
{
	bool found = false, below_lxc = false;

	out[0] = '\0';
	while (*cgroup) {
		size_t len = strcspn(cgroup, "/");

		/* the deepest one: a container may run containers */
		for (size_t f = 0; f < sizeof(container_forms) / sizeof(container_forms[0]); f++)
			if (len && is_container(cgroup, len, f, out)) {
				found = true;
				break;
			}
		if (len && below_lxc) {
			snprintf(out, SYS_CONTAINER_LEN, "%.*s", (int)len, cgroup);
			sys_text(out, SYS_CONTAINER_LEN, out);
			found = true;
		}
		below_lxc = len && is_lxc_folder(cgroup, len);
		cgroup += len + (cgroup[len] == '/');
	}
	return found;
}

/* --- its name --- */

static const char *text_of(const cJSON *object, const char *key)
{
	return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
}

/* Docker, config.v2.json: an object with "Name". */
static const char *docker_name(const cJSON *doc, const char *id, char *out)
{
	return text_of(doc, "Name");
}

/* Podman, containers.json: a list of objects with "id" and "names". */
static const char *podman_name(const cJSON *doc, const char *id, char *out)
{
	const cJSON *e;

	cJSON_ArrayForEach(e, doc) {
		const char *its = text_of(e, "id");

		if (its && !strcmp(its, id))
			return cJSON_GetStringValue(cJSON_GetArrayItem(
				cJSON_GetObjectItemCaseSensitive(e, "names"), 0));
	}
	return NULL;
}

/* config.json of the OCI runtime: annotations of Kubernetes, of which the pod's own container has
 * no third one, or of nerdctl. */
static const char *annotated_name(const cJSON *doc, const char *id, char *out)
{
	static const char *const keys[][3] = {
		{ "io.kubernetes.cri.sandbox-namespace", "io.kubernetes.cri.sandbox-name",
			"io.kubernetes.cri.container-name" },
		{ "io.kubernetes.pod.namespace", "io.kubernetes.pod.name", "io.kubernetes.container.name" },
		{ "nerdctl/name", NULL, NULL },
	};
	const cJSON *notes = cJSON_GetObjectItemCaseSensitive(doc, "annotations");

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		size_t len = 0;

		for (size_t part = 0; part < 3 && keys[i][part]; part++) {
			const char *text = text_of(notes, keys[i][part]);

			if (text && *text && len < SYS_CONTAINER_LEN)
				len += snprintf(out + len, SYS_CONTAINER_LEN - len, "%s%s",
					len ? "/" : "", text);
		}
		if (len)
			return out;
	}
	return NULL;
}

/* Files in which runtimes describe a container, below the root of the machine: a pattern of glob(7)
 * with the id in it. */
static const struct {
	const char *pattern;
	const char *(*name)(const cJSON *, const char *id, char *out);
} container_files[] = {
	{ "/var/lib/docker/containers/%s/config.v2.json", docker_name },
	{ "/var/lib/containers/storage/overlay-containers/containers.json", podman_name },
	{ "/run/containers/storage/overlay-containers/%s/userdata/config.json", annotated_name },
	{ "/var/lib/containers/storage/overlay-containers/%s/userdata/config.json", annotated_name },
	{ "/run/containerd/io.containerd.runtime.v2.task/*/%s/config.json", annotated_name },
	{ "/run/k3s/containerd/io.containerd.runtime.v2.task/*/%s/config.json", annotated_name },
};

static bool name_in(const char *path, const char *(*name_of)(const cJSON *, const char *, char *),
	const char *id, char *out)
{
	char room[SYS_CONTAINER_LEN] = "";
	const char *why, *name;
	size_t len;
	char *text = sys_read_small(path, &len, &why);
	cJSON *doc = text ? cJSON_Parse(text) : NULL;

	name = doc ? name_of(doc, id, room) : NULL;
	if (name)
		sys_text(out, SYS_CONTAINER_LEN, name + (name[0] == '/'));
	cJSON_Delete(doc);
	free(text);
	return out[0];
}

/* Location, on this machine, of a directory that is bind-mounted into a process's namespace. */
struct bound {
	const char *tail;       /* end of the mounted path */
	char at[4096]; /* path inside its file system, then on this machine; "": not found */
	uint32_t dev;
};

static bool ends_with(const char *s, const char *tail)
{
	size_t len = strlen(s), end = strlen(tail);

	return len >= end && !strcmp(s + len - end, tail);
}

static bool is_bound(void *arg, const struct mount *m)
{
	struct bound *b = arg;

	if (strcmp(m->at, "/etc/hostname") || !ends_with(m->root, b->tail) ||
	    strlen(m->root) >= sizeof(b->at))
		return false;
	strcpy(b->at, m->root);
	b->dev = m->dev;
	return true;
}

/* True when a mount of this machine shows that file system from its root or from a directory above.
 * Translates the path. */
static bool is_shown(void *arg, const struct mount *m)
{
	struct bound *b = arg;
	size_t root = strcmp(m->root, "/") ? strlen(m->root) : 0;
	char path[sizeof(b->at)];

	if (m->dev != b->dev || strncmp(m->root, b->at, root) || b->at[root] != '/' ||
	    snprintf(path, sizeof(path), "%s%s", strcmp(m->at, "/") ? m->at : "",
	    b->at + root) >= (int)sizeof(path))
		return false;
	strcpy(b->at, path);
	return true;
}

/* Docker mounts /etc/hostname from the container's own directory, wherever its data root is. */
static bool name_by_mounts(uint32_t pid, const char *id, char *out)
{
	char tail[SYS_CONTAINER_LEN + 32], path[PROCFS_PATH];
	struct bound b = { .tail = tail };
	auto_close int fd = open(procfs_path(path, pid, "mountinfo"), O_RDONLY | O_CLOEXEC);

	snprintf(tail, sizeof(tail), "/containers/%s/hostname", id);
	if (!mounts_find(fd, is_bound, &b) || !mounts_find_ours(is_shown, &b))
		return false;
	strrchr(b.at, '/')[1] = '\0';
	if (strlen(b.at) + sizeof("config.v2.json") > sizeof(b.at))
		return false;
	strcat(b.at, "config.v2.json");
	return name_in(b.at, docker_name, id, out);
}

bool systems_container_name(const char *root, const char *id, uint32_t pid, char *out)
{
	char pattern[4096], file[256];
	glob_t found;

	out[0] = '\0';
	if (strlen(id) != 64 || strspn(id, "0123456789abcdef") != 64)
		return false;
	for (size_t i = 0; i < sizeof(container_files) / sizeof(container_files[0]) && !out[0];
	    i++) {
		snprintf(file, sizeof(file), container_files[i].pattern, id);
		snprintf(pattern, sizeof(pattern), "%s%s", root, file);
		if (glob(pattern, GLOB_NOSORT, NULL, &found))
			continue;
		for (size_t n = 0; n < found.gl_pathc && !out[0]; n++)
			name_in(found.gl_pathv[n], container_files[i].name, id, out);
		globfree(&found);
	}
	return out[0] || (pid && name_by_mounts(pid, id, out));
}
