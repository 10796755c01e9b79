#!/usr/bin/zsh
# SPDX-License-Identifier: BSD-2-Clause
#
# complete.zsh TYPED: what an interactive zsh makes of "udapl-cts TYPED" and a tab.

zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'autoload -U compinit && compinit -u; PS1=; stty -echo'
zpty -w shell 'told() { print -r -- "<$BUFFER>"; zle send-break }; zle -N told; bindkey "^X" told'
zpty -w shell 'print -r -- re""ady'
zpty -r shell line '*ready*'
zpty -n -w shell "udapl-cts $1"$'\t\x18'
zpty -r shell line '*<udapl-cts*>*'
print -r -- "${${line##*<}%%>*}"
