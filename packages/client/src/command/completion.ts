import type { Command } from './command.js'
import { UsageError } from './output.js'

export const shells = ['bash', 'zsh', 'fish']

type Commands = Record<string, Command>

export function createCompletionScript(shell: string, commands: Commands): string {
  if (shell === 'fish') return createFishScript(commands)
  if (shell === 'bash') return createBashScript(commands)
  if (shell === 'zsh') return `autoload -U +X bashcompinit && bashcompinit\n${createBashScript(commands)}`
  throw new UsageError(`Unknown shell '${shell}'. Use one of: ${shells.join(', ')}.`)
}

const getOptionNames = ({ options }: Command): string[] => [...Object.keys(options), 'json', 'help']

/** Creates a script that completes commands, subcommands and options. Bash completes all other words as file names. */
const createBashScript = (commands: Commands): string => `_assay() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words=''
  if [ "$COMP_CWORD" -eq 1 ]; then
    words='${Object.keys(commands).join(' ')} help'
  else
    case "\${COMP_WORDS[1]}" in
${Object.entries(commands)
  .map(
    ([name, command]) =>
      `      ${name}) words='${[...(command.actions ?? []), ...getOptionNames(command).map((option) => `--${option}`)].join(' ')}' ;;`,
  )
  .join('\n')}
      help) words='${Object.keys(commands).join(' ')}' ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _assay assay
`

const createFishScript = (commands: Commands): string => {
  const names = Object.keys(commands).join(' ')
  const lines = Object.entries(commands).flatMap(([name, command]) => {
    const isChosen = `-n '__fish_seen_subcommand_from ${name}'`
    return [
      `complete -c assay -f -n 'not __fish_seen_subcommand_from ${names}' -a ${name} -d ${quoteFishString(command.description)}`,
      ...(command.actions ? [`complete -c assay ${isChosen} -a '${command.actions.join(' ')}'`] : []),
      ...Object.entries(command.options).map(
        ([option, { description }]) => `complete -c assay ${isChosen} -l ${option} -r -d ${quoteFishString(description)}`,
      ),
    ]
  })
  return `${lines.join('\n')}\ncomplete -c assay -l json -d 'Prints each result as one line of JSON.'\ncomplete -c assay -l help -d 'Shows the help.'\n`
}

const quoteFishString = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
