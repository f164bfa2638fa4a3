import { exitMeanings } from '../exit-codes.js';
import { allCommands, type CommandFacts, type OptionFacts } from './option-table.js';

/** The page `rdmc(1)` of the manual, in the macros of man(7), from the table of the options. */

/** A text without requests and escapes of its own. */
function plain(text: string): string {
  const escaped = text.replaceAll('\\', '\\e').replaceAll('-', '\\-');
  return /^[.']/.test(escaped) ? `\\&${escaped}` : escaped;
}

/** An argument of a macro: in quotes, in which a quote is doubled. */
function argument(text: string): string {
  return `"${plain(text).replaceAll('"', '""')}"`;
}

function optionLines({ flags, description, defaultValue }: OptionFacts): string[] {
  const fallback = defaultValue === undefined ? '' : ` (default: ${defaultValue})`;
  return ['.TP', `.B ${argument(flags)}`, plain(`${description}${fallback}`)];
}

function commandLines({ name, description, arguments: given, options, notes }: CommandFacts): string[] {
  const about = notes?.about ?? [];
  return [
    `.SS ${argument(`${name}${given ? ` ${given}` : ''}`)}`,
    plain(description),
    ...(about.length > 0 ? ['.PP', ...about.map(plain)] : []),
    ...options.flatMap(optionLines),
  ];
}

function exampleLines({ notes }: CommandFacts): string[] {
  return (notes?.examples ?? []).flatMap(([line, meaning]) => [
    '.TP',
    `.B ${argument(line)}`,
    plain(meaning),
  ]);
}

const ENVIRONMENT: readonly (readonly [name: string, meaning: string])[] = [
  ['RDMC_KEY', 'the key of sender and receivers, where no option gives one'],
  ['RDMC_DEVICE', 'replaces auto as the device'],
  ['RDMC_PORT, RDMC_GID_INDEX', 'port and GID of an RDMA device'],
  ['RDMC_CAST_…', 'facts of a cast, for the command of rdmc receive --exec'],
  ['NO_COLOR', 'no colours'],
];

/** @param program the facts of `rdmc` */
export function manualPage(program: CommandFacts): string {
  const commands = allCommands(program).slice(1);
  const codes = Object.entries(exitMeanings);
  const lines = [
    '.\\" Made by: npm run manual -w @rdmc/cli',
    '.TH RDMC 1 "" "rdmc" "User Commands"',
    '.SH NAME',
    'rdmc \\- files to many machines at once, over RDMA or TCP',
    '.SH SYNOPSIS',
    '.B rdmc',
    '.I command',
    '[\\fIoptions\\fR]',
    '.SH DESCRIPTION',
    plain(program.description),
    'rdmc cast and rdmc receive send and receive files; the other commands demonstrate, draw, check and measure.',
    '.SH COMMANDS',
    ...commands.flatMap(commandLines),
    '.SH EXAMPLES',
    ...commands.flatMap(exampleLines),
    '.SH EXIT STATUS',
    ...codes.flatMap(([code, meaning]) => ['.TP', `.B ${code}`, plain(meaning)]),
    '.SH ENVIRONMENT',
    ...ENVIRONMENT.flatMap(([name, meaning]) => ['.TP', `.B ${argument(name)}`, plain(meaning)]),
    '.SH FILES',
    '.TP',
    `.B ${argument('$XDG_CONFIG_HOME/rdmc/hosts, ~/.config/rdmc/hosts, /etc/rdmc/hosts')}`,
    plain('groups of hosts for rdmc cast --to @GROUP; the first file that exists is read'),
    '.SH SEE ALSO',
    '.BR ssh (1),',
    '.BR rsync (1)',
  ];
  return `${lines.join('\n')}\n`;
}
