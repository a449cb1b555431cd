/* SPDX-License-Identifier: GPL-3.0-only */
/* container.c - the container that a process runs in: its id by the control group, its name by the files of who made it. */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>
#include "rules.h"

/* Does one component of a cgroup path name a container? PREFIX, then 64 hex digits (or, with `name`, anything),
 * then SUFFIX. */
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
	{ "", "", false },
	{ "lxc.payload.", "", true },
	{ "machine-", ".scope", true },
};

static bool is_container(const char *part, size_t len, size_t form, char *out)
{
	size_t before = strlen(container_forms[form].prefix), behind = strlen(container_forms[form].suffix);
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

bool systems_container(const char *cgroup, char *out)
{
	bool found = false;

	out[0] = '\0';
	while (*cgroup) {
		size_t len = strcspn(cgroup, "/");

		/* the deepest wins: a container may run containers */
		for (size_t f = 0; f < sizeof(container_forms) / sizeof(container_forms[0]); f++)
			if (len && is_container(cgroup, len, f, out)) {
				found = true;
				break;
			}
		cgroup += len + (cgroup[len] == '/');
	}
	return found;
}

/* The text of a key in a small JSON file that holds an object, or a list of them of which one has this "id". */
static bool name_in(const char *path, const char *id, char *out)
{
	const char *why;
	size_t len;
	char *text = sys_read_small(path, &len, &why);
	cJSON *doc = text ? cJSON_Parse(text) : NULL;
	const cJSON *found = cJSON_IsArray(doc) ? NULL : doc, *name;

	for (const cJSON *e = cJSON_IsArray(doc) ? doc->child : NULL; e && !found; e = e->next) {
		const char *its = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(e, "id"));

		if (its && !strcmp(its, id))
			found = e;
	}
	name = cJSON_GetObjectItemCaseSensitive(found, "Name");
	if (!name)
		name = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(found, "names"), 0);
	if (cJSON_IsString(name))
		sys_text(out, SYS_CONTAINER_LEN, name->valuestring + (name->valuestring[0] == '/'));
	cJSON_Delete(doc);
	free(text);
	return out[0];
}

bool systems_container_name(const char *root, const char *id, char *out)
{
	static const char *const files[] = { "%s/var/lib/docker/containers/%s/config.v2.json",
		"%s/var/lib/containers/storage/overlay-containers/containers.json" };
	char path[4096];

	out[0] = '\0';
	if (strlen(id) != 64 || strspn(id, "0123456789abcdef") != 64)
		return false;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), files[i], root, id);
		if (name_in(path, id, out))
			return true;
	}
	return false;
}
