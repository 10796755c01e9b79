#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# In a guest: an sshd as a lab's host has it, on a network card of its own. $1: the tree of the
# unpacked packages; $2: the public key of who may come in. It says "ready" and runs until its
# standard input ends.

set -eu

mount -t overlay usr -o "lowerdir=$1/usr:/usr" /usr
# Of this machine's user the lab knows nothing: neither keys, nor what a login shell does here.
mount -t tmpfs home /root
# The card was plugged in a moment ago: the kernel may still be at it.
until ip link show eth1 >/dev/null 2>&1; do :; done
ip address add 10.0.2.15/24 dev eth1
ip link set eth1 up

getent passwd sshd >/dev/null ||
        echo 'sshd:x:101:65534::/run/sshd:/usr/sbin/nologin' >>/etc/passwd
mkdir -p /run/sshd /root/.ssh
chmod 700 /root /root/.ssh
printf '%s\n' "$2" >/root/.ssh/authorized_keys
ssh-keygen -q -t ed25519 -N '' -f /run/host_key
/usr/sbin/sshd -D -e -f /dev/null -o HostKey=/run/host_key -o UsePAM=no &
until ss -tln | grep -q ':22 '; do :; done
echo ready
cat >/dev/null
