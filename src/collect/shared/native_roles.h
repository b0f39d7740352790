/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_NATIVE_ROLES_H
#define SD_COLLECT_NATIVE_ROLES_H
/* native_roles: which native functions belong to CPython's own machinery. */

enum sd_native_role { /* native_names.def says what each is */
                      SD_NATIVE_PLAIN,
                      SD_NATIVE_EVALUATOR,
                      SD_NATIVE_START,
                      SD_NATIVE_PLUMBING,
};

/* enum sd_native_role, by the name of the function. */
unsigned sd_native_judge(const char *name);
#endif
