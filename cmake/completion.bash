# Completion for bash: `source` it, or put it into /usr/share/bash-completion/completions/heddle. What there is to complete is
# asked of the program itself: its commands, their options, the words that an option takes, and the element classes.

_heddle() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} at=1 choices= help commands
  local -a program=("${COMP_WORDS[0]}")
  # Functions do not expand aliases.
  if [ -n "${BASH_ALIASES[${program[0]}]}" ]; then read -ra program <<<"${BASH_ALIASES[${program[0]}]}"; fi
  local -a command=("${program[@]}")
  while
    help=$("${command[@]}" --help 2>/dev/null)
    commands=$(sed -n '/^Subcommands:/,$s/^  \([a-z]\{1,\}\) .*/\1/p' <<<"$help")
    [ "$at" -lt "$COMP_CWORD" ] && grep -qxFe "${COMP_WORDS[at]}" <<<"$commands"
  do
    command+=("${COMP_WORDS[at++]}")
  done
  [ "$at" -eq 1 ] && [ "$COMP_CWORD" -gt 1 ] && help=  # there is no such command
  if [ "${word#-}" != "$word" ]; then
    choices=$(grep '^  -' <<<"$help" | cut -c3-30 | grep -oE -- '-{1,2}[A-Za-z][A-Za-z0-9-]*')
  elif [ "${before#-}" != "$before" ]; then
    # TEXT:{one,other}
    choices=$(grep -E -- "(^  |,)$before( |,.* )[^ ]*:\{" <<<"$help" | sed 's/.*{\(.*\)}.*/\1/' | tr , ' ')
    [ "$before" = --device ] && choices="cpu gpu auto simt"
  elif [ "$at" -eq "$COMP_CWORD" ]; then
    choices=$commands
    [ "$at" -eq 1 ] && choices+=" --help --version"
    [ "${COMP_WORDS[1]}" = elements ] && choices=$("${program[@]}" elements 2>/dev/null | cut -d' ' -f1)
  fi
  mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$word")
}

complete -o default -F _heddle heddle
