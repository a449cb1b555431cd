// SPDX-License-Identifier: GPL-3.0-only
/* static.c - what static programs have instead of glibc's dlopen(3), which would look for shared
 * libraries of this very version.
 *
 * SQLite asks for it to load extensions, which iot never does. */
#include <dlfcn.h>
#include <stddef.h>

void *__wrap_dlopen(const char *file, int mode)
{
	(void)file;
	(void)mode;
	return NULL;
}

void *__wrap_dlsym(void *handle, const char *name)
{
	(void)handle;
	(void)name;
	return NULL;
}

int __wrap_dlclose(void *handle)
{
	(void)handle;
	return -1;
}

char *__wrap_dlerror(void)
{
	return (char *)"a static program loads no libraries";
}
