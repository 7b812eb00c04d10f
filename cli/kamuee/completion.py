# SPDX-License-Identifier: BSD-3-Clause
"""Completion in bash and zsh: both ask the program itself (--complete), so names are live.

deploy/completion/ holds the same text for packages; a test compares.
"""
from __future__ import annotations

from kamuee.errors import KamueeError
from kamuee.session import Session
from kamuee.suggest import suggest

BASH = r'''# SPDX-License-Identifier: BSD-3-Clause
# bash completion for kamuee(1): source <(kamuee completion bash)
_kamuee()
{
    local line=${COMP_LINE:0:COMP_POINT} word=${COMP_WORDS[COMP_CWORD]}
    local whole=${line##*[[:space:]]}
    [[ $word == [:=] ]] && word=
    mapfile -t COMPREPLY < <("${COMP_WORDS[0]}" --complete "${line#*[[:space:]]}" 2>/dev/null | cut -f1)
    # bash breaks words at ':' and '=' too: give back only what follows the last of them
    COMPREPLY=("${COMPREPLY[@]#"${whole%"$word"}"}")
}
complete -o default -F _kamuee kamuee
'''

ZSH = r'''#compdef kamuee
# SPDX-License-Identifier: BSD-3-Clause
# zsh completion for kamuee(1): source <(kamuee completion zsh), or as _kamuee in a folder of $fpath
_kamuee()
{
    local -a found
    local entry
    for entry in ${(f)"$(${words[1]} --complete "${(j: :)words[2,CURRENT-1]} ${PREFIX}" 2>/dev/null)"}; do
        found+=("${${entry%%$'\t'*}//:/\\:}:${entry#*$'\t'}")
    done
    if (( $#found )); then
        _describe -t words kamuee found
    else
        _files
    fi
}
if [[ $funcstack[1] == _kamuee ]]; then
    _kamuee "$@"
else
    compdef _kamuee kamuee
fi
'''

SCRIPTS = {"bash": BASH, "zsh": ZSH}


def candidates(session: Session, line: str) -> list[str]:
    """'word TAB meaning' for each word that may stand at the end of the line; none on any error."""
    try:
        return [f"{word}\t{help_}" for word, help_ in suggest(session, line, program=True).words]
    except KamueeError:
        return []
