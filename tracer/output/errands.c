// SPDX-License-Identifier: GPL-3.0-only
/* errands.c - asks the helper that keeps the rights of the tracer for what the tracer may no longer
 * do.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include "ask.h"
#include "errands.h"

int errand_remove(int dir, const char *name)
{
	char question[sizeof(dir) + NAME_MAX + 1];
	size_t len = strlen(name) + 1;

	if (len > sizeof(question) - sizeof(dir))
		return -ENAMETOOLONG;
	memcpy(mempcpy(question, &dir, sizeof(dir)), name, len);
	return ask_and_wait(ASK_ERRANDS, ASK_REMOVE, question, sizeof(dir) + len, NULL, 0);
}

int errand_report(void)
{
	return ask_job(ASK_ERRANDS, ASK_REPORT, "", 1);
}

int errand_report_over(void)
{
	return ask_job_answer(ASK_ERRANDS, NULL, 0);
}

void errand_report_end(void)
{
	ask_job_end(ASK_ERRANDS);
}

int errand_tidy(void)
{
	return ask_and_wait(ASK_ERRANDS, ASK_TIDY, "", 1, NULL, 0);
}
