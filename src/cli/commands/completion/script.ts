import { defineCommand } from '../../command/define.ts'
import { argument } from '../../command/options.ts'
import { UsageError } from '../../errors.ts'

/** The scripts ask the program at each Tab, so they never become outdated. */
const scripts: Readonly<Record<string, string>> = {
  bash: `_tapchip() {
  local IFS=$'\\n' line
  local -a found
  mapfile -t found < <(tapchip __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  COMPREPLY=()
  if [[ "\${found[0]}" == ":files" ]]; then
    compopt -o default
    return
  fi
  for line in "\${found[@]}"; do
    COMPREPLY+=("$(printf '%q' "\${line%%$'\\t'*}")")
  done
}
complete -F _tapchip tapchip
`,
  zsh: `#compdef tapchip
_tapchip() {
  local -a found described
  local line
  found=("\${(@f)$(tapchip __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ "\${found[1]}" == ":files" ]]; then
    _files
    return
  fi
  for line in "\${found[@]}"; do
    [[ -n "$line" ]] && described+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  _describe 'tapchip' described
}
if [[ "\${funcstack[1]}" == "_tapchip" ]]; then
  _tapchip "$@"
else
  compdef _tapchip tapchip
fi
`,
  fish: `function __tapchip_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l found (tapchip __complete -- $words[2..] 2>/dev/null)
  if test "$found[1]" = ":files"
    __fish_complete_path (commandline -ct)
  else
    printf '%s\\n' $found
  end
end
complete -c tapchip -f -a '(__tapchip_complete)'
`,
}

const shells = Object.keys(scripts)

export const verb = defineCommand({
  name: 'completion',
  summary: `Print the completion script of a shell: ${shells.join(', ')}`,
  examples: [
    'completion bash > ~/.local/share/bash-completion/completions/tapchip',
    'completion zsh > ~/.zfunc/_tapchip   # with ~/.zfunc in fpath',
    'completion fish > ~/.config/fish/completions/tapchip.fish',
  ],
  args: { shell: argument('shell', shells.join(', '), shells) },
  run: async (ctx, { args }) => {
    const script = scripts[args.shell]
    if (script === undefined)
      throw new UsageError(`There is no script for "${args.shell}".`, `Available: ${shells.join(', ')}`)
    await ctx.io.raw(script)
  },
})
