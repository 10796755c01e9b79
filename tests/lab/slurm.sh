#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# In a guest: a node of a Slurm cluster; the first one has the controller too. $1: the tree of the
# unpacked packages; $2: the folder with munge's key and slurm.conf; $3: this node's name. When the
# cluster is up it says "ready", and obeys the shell commands on its standard input.

set -eu

mount -t overlay usr -o "lowerdir=$1/usr:/usr" /usr
mkdir -p /run/munge /run/slurm /run/slurmd /etc/slurm /var/log/munge /var/lib/munge
chmod 755 /run/munge
chmod 700 /var/log/munge /var/lib/munge
install -m 400 "$2/munge.key" /run/munge/key
cp "$2/slurm.conf" "$2/cgroup.conf" /etc/slurm
munged --key-file /run/munge/key --seed-file /run/munge/seed

if [ "$3" = host1 ]; then
        slurmctld -i -D >/run/slurmctld.log 2>&1 &
fi
slurmd -D -N "$3" >/run/slurmd.log 2>&1 &

# Nobody tells when a node has come: so ask, which waits for an answer, until it has.
until [ "$(sinfo -h -n "$3" -o %T 2>/dev/null)" = idle ]; do
        kill -0 $! || { cat /run/slurmd.log >&2; exit 1; }
done
echo ready
exec sh
