# Completion for bash: `source` it, or put it into /usr/share/bash-completion/completions/heddle. What there is to complete is
# asked of the program itself: its commands, their options, the words that an option takes, and the element classes.

# The help of a command ("": of the program).
_heddle_help() { "$1" ${2:+"$2"} --help 2>/dev/null; }

_heddle() {
  local program=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
  local choices=
  if [ "$COMP_CWORD" -eq 1 ]; then
    choices="$(_heddle_help "$program" | sed -n '/^Subcommands:/,$s/^  \([a-z]\{1,\}\) .*/\1/p') --help --version"
  elif [ "${word#-}" != "$word" ]; then
    choices=$(_heddle_help "$program" "$command" | grep '^  -' | cut -c3-30 | grep -oE -- '-{1,2}[A-Za-z][A-Za-z-]*')
  elif [ "${before#-}" != "$before" ]; then
    # TEXT:{one,other}
    choices=$(_heddle_help "$program" "$command" | grep -E -- "(^  |,)$before( |,.* )[A-Z]*:\{" | sed 's/.*{\(.*\)}.*/\1/' | tr , ' ')
    [ "$before" = --device ] && choices="cpu gpu simt"
  elif [ "$command" = elements ]; then
    choices=$("$program" elements 2>/dev/null | cut -d' ' -f1)
  fi
  mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$word")
}

complete -o default -F _heddle heddle
