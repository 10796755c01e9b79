#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# complete.bash TYPED: what an interactive bash makes of "udapl-cts TYPED" and a tab.

set -euo pipefail

set +u
. /usr/share/bash-completion/bash_completion
# bash-completion loads a command's completion with its first use, and returns 124 then.
_completion_loader udapl-cts || [ $? = 124 ]
function=$(complete -p udapl-cts | sed -n 's/.* -F \([^ ]*\) .*/\1/p')
COMP_WORDS=(udapl-cts $1)
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
COMP_LINE="udapl-cts $1"
COMP_POINT=${#COMP_LINE}
"$function" udapl-cts "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
echo "${COMP_WORDS[@]:0:COMP_CWORD}" "${COMPREPLY[@]}"
