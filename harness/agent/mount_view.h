/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file systems as a case's processes see them: all of the host's, read-only, but for temporary
 * folders of their own and a /proc in which only they are. What a case needs can be reached by
 * any user, whoever may enter the folders that it lies in.
 */
#ifndef HARNESS_MOUNT_VIEW_H
#define HARNESS_MOUNT_VIEW_H

/* Finds out what any case has to read: what DAT_OVERRIDE leads to, as the agent itself sees it. */
void mount_view_learn(void);

/*
 * Arranges this mount namespace, which is nobody else's, so. Returns NULL, or the first path that
 * it could not be done with, with errno; the others are done all the same.
 */
const char *mount_view_furnish(void);

/*
 * The files that any case has to read: the number of the first that the caller cannot, or -1; and
 * the path of one.
 */
int mount_view_unreadable(void);
const char *mount_view_file(int number);

#endif
