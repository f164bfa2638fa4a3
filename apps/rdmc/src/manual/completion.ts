import { allCommands, type CommandFacts, type OptionFacts } from './option-table.js';
import type { Shell } from './shells.js';

/** Scripts that complete the command line of `rdmc` in a shell, from the table of its options. */

/** A text in single quotes, for bash, zsh and the POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function flagsOf({ short, long }: OptionFacts): string[] {
  return [short, long].filter((flag): flag is string => flag !== undefined);
}

/** The words after `rdmc`: `bench latency`; empty for `rdmc` itself. */
function pathOf({ name }: CommandFacts): string {
  return name.split(' ').slice(1).join(' ');
}

function namesOf(commands: readonly CommandFacts[]): string {
  return commands.map(({ name }) => name.split(' ').at(-1)!).join(' ');
}

/** Cases of `command:word`, which find the command in the words of the line; for bash and zsh. */
function wordCases([, ...commands]: readonly CommandFacts[]): string[] {
  return commands.map((facts) => {
    const path = pathOf(facts).split(' ');
    const key = `${path.slice(0, -1).join(' ')}:${path.at(-1)}`;
    return `      ${quoted(key)}) command=${quoted(path.join(' '))} ;;`;
  });
}

/** Cases of the value of an option, for `case $previous in`. */
function bashValues(options: readonly OptionFacts[]): string[] {
  return options.flatMap((option) => {
    if (!option.takesValue) return [];
    const values = option.values;
    const reply =
      values === 'path'
        ? 'COMPREPLY=($(compgen -f -- "$current"))'
        : `COMPREPLY=($(compgen -W ${quoted((values ?? []).join(' '))} -- "$current"))`;
    return [`        ${flagsOf(option).join('|')}) ${reply}; return ;;`];
  });
}

function bashCase(facts: CommandFacts): string[] {
  const words = facts.options.flatMap(flagsOf).join(' ');
  const values = bashValues(facts.options);
  return [
    `    ${quoted(pathOf(facts))})`,
    ...(values.length > 0 ? ['      case $previous in', ...values, '      esac'] : []),
    `      options=${quoted(words)}; commands=${quoted(namesOf(facts.commands))} ;;`,
  ];
}

function bash(program: CommandFacts): string[] {
  const all = allCommands(program);
  return [
    '# Completion of rdmc for bash: eval "$(rdmc completion bash)"',
    '_rdmc() {',
    `  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} command= options= commands= word`,
    `  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do`,
    '    case $command:$word in',
    ...wordCases(all),
    '    esac',
    '  done',
    '  case $command in',
    ...all.flatMap(bashCase),
    '  esac',
    '  if [[ $current == -* ]]; then COMPREPLY=($(compgen -W "$options" -- "$current"))',
    `  elif [[ -n $commands ]]; then COMPREPLY=($(compgen -W "$commands" -- "$current"))`,
    '  else COMPREPLY=($(compgen -f -- "$current")); fi',
    '}',
    'complete -o filenames -F _rdmc rdmc',
  ];
}

/** `--to:receivers`: a colon separates an option from its description. */
function zshWords(options: readonly OptionFacts[]): string {
  return options
    .flatMap((option) =>
      flagsOf(option).map((flag) => quoted(`${flag}:${option.description.replaceAll(':', '\\:')}`)),
    )
    .join(' ');
}

function zshCase(facts: CommandFacts): string[] {
  const commands = facts.commands.map(({ name, description }) =>
    quoted(`${name.split(' ').at(-1)}:${description.replaceAll(':', '\\:')}`),
  );
  const values = facts.options.flatMap((option) => {
    if (!option.takesValue) return [];
    const action =
      option.values === 'path'
        ? '_files'
        : option.values
          ? `compadd -- ${option.values.join(' ')}`
          : 'return';
    return [`        ${flagsOf(option).join('|')}) ${action}; return ;;`];
  });
  return [
    `    ${quoted(pathOf(facts))})`,
    ...(values.length > 0 ? ['      case $previous in', ...values, '      esac'] : []),
    `      options=(${zshWords(facts.options)}); commands=(${commands.join(' ')}) ;;`,
  ];
}

function zsh(program: CommandFacts): string[] {
  const all = allCommands(program);
  return [
    '#compdef rdmc',
    '# Completion of rdmc for zsh: eval "$(rdmc completion zsh)", or this text as _rdmc in a folder of fpath',
    '_rdmc() {',
    `  local command= previous=\${words[CURRENT-1]} word`,
    '  local -a options commands',
    `  for word in \${words[2,CURRENT-1]}; do`,
    '    case $command:$word in',
    ...wordCases(all),
    '    esac',
    '  done',
    '  case $command in',
    ...all.flatMap(zshCase),
    '  esac',
    `  if [[ \${words[CURRENT]} == -* ]]; then _describe 'option' options`,
    `  elif (( \${#commands} )); then _describe 'command' commands`,
    '  else _files; fi',
    '}',
    'compdef _rdmc rdmc',
  ];
}

function fishOption(condition: string, option: OptionFacts): string {
  const { short, long, takesValue, values, description } = option;
  const argument = !takesValue
    ? ''
    : values === 'path'
      ? ' -r -F'
      : ` -x${values ? ` -a ${fishQuoted(values.join(' '))}` : ''}`;
  const names = `${short ? ` -s ${short.slice(1)}` : ''}${long ? ` -l ${long.slice(2)}` : ''}`;
  return `complete -c rdmc -n ${fishQuoted(condition)}${names}${argument} -d ${fishQuoted(description)}`;
}

function fishQuoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

/** Whether the words of a command, and none of a command below it, are on the line. */
function fishCondition(facts: CommandFacts): string {
  const words = pathOf(facts).split(' ').filter(Boolean);
  const seen = words.map((word) => `__fish_seen_subcommand_from ${word}`);
  const below = namesOf(facts.commands);
  return [...seen, ...(below === '' ? [] : [`not __fish_seen_subcommand_from ${below}`])].join('; and ');
}

function fish(program: CommandFacts): string[] {
  return [
    '# Completion of rdmc for fish: rdmc completion fish | source',
    ...allCommands(program).flatMap((facts) => {
      const condition = fishCondition(facts);
      const commands = facts.commands.map(
        ({ name, description }) =>
          `complete -c rdmc -f -n ${fishQuoted(condition)} -a ${name.split(' ').at(-1)} -d ${fishQuoted(description)}`,
      );
      return [...commands, ...facts.options.map((option) => fishOption(condition, option))];
    }),
  ];
}

/** The script of a shell. @param program the facts of `rdmc` */
export function completionScript(shell: Shell, program: CommandFacts): string {
  return { bash, zsh, fish }[shell](program).join('\n');
}
