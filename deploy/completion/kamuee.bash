# SPDX-License-Identifier: BSD-3-Clause
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
