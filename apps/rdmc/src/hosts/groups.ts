import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { CliError, codeOf, fileError, messageOf, usageError } from '../errors.js';
import { ExitCode } from '../exit-codes.js';
import { parseHostLine } from './hostfile.js';
import type { Target } from './target.js';

/*
 * The configuration file: groups of hosts, each with lines as in a host file, or with the names of other groups.
 *
 *   # comment
 *   [rack1]                   the name of a group: letters, digits, '.', '_' and '-'. An IPv6 address has a colon.
 *   node1 rack=a
 *   [fd00::5]:7500 rack=a
 *   [all]
 *   @rack1                    the hosts of another group
 */
const GROUP_HEAD = /^\[([\w.-]+)\]$/;
const GROUP_NAME = /^[\w.-]+$/;

interface Group {
  readonly name: string;
  readonly line: number;
  readonly members: (Target | { readonly group: string; readonly line: number })[];
}

/** The groups of a configuration file. */
export interface HostGroups {
  /** The file's name, for errors. */
  readonly file: string;
  readonly groups: ReadonlyMap<string, Group>;
}

function wrong(file: string, line: number, what: string, advice?: string): CliError {
  return usageError(`${file}, line ${line}: ${what}`, advice);
}

/** @throws CliError ERR_RDMC_USAGE with the name and number of the line */
export function parseGroups(text: string, file: string): HostGroups {
  const groups = new Map<string, Group>();
  let group: Group | undefined;
  for (const [index, whole] of text.split(/\r?\n/).entries()) {
    const number = index + 1;
    const line = whole
      .replace(/^\uFEFF/, '')
      .replace(/#.*$/s, '')
      .trim();
    if (line === '') continue;
    const name = GROUP_HEAD.exec(line)?.[1];
    if (name !== undefined) {
      const other = groups.get(name);
      if (other) throw wrong(file, number, `the group ${name} begins in line ${other.line} already`);
      group = { name, line: number, members: [] };
      groups.set(name, group);
    } else if (!group) throw wrong(file, number, 'a host before the first group', 'begin a group: [NAME]');
    else group.members.push(memberOf(line, file, number));
  }
  return { file, groups };
}

function memberOf(line: string, file: string, number: number): Group['members'][number] {
  if (line.startsWith('@')) {
    const group = line.slice(1).trim();
    if (GROUP_NAME.test(group)) return { group, line: number };
    throw wrong(file, number, `${JSON.stringify(line)} is not @ and the name of a group`);
  }
  if (line.startsWith('[') && !line.includes(':'))
    throw wrong(
      file,
      number,
      `${JSON.stringify(line)} is not the name of a group in brackets, nor an IPv6 address`,
    );
  try {
    return parseHostLine(line)!;
  } catch (error) {
    throw wrong(file, number, messageOf(error), error instanceof CliError ? error.advice : undefined);
  }
}

/**
 * The hosts of a group, and of the groups in it, in their order.
 * @throws CliError ERR_RDMC_USAGE for a group that does not exist, has no host, or contains itself
 */
export function hostsOfGroup(name: string, { groups, file }: HostGroups): Target[] {
  const hosts = expand(name, [], groups, file);
  if (hosts.length > 0) return hosts;
  throw usageError(
    `the group ${name} in ${file} does not contain a host`,
    'write one host per line below its name',
  );
}

function expand(
  name: string,
  outer: readonly string[],
  groups: HostGroups['groups'],
  file: string,
  line?: number,
): Target[] {
  const where = line === undefined ? file : `${file}, line ${line}`;
  const path = [...outer, name];
  if (outer.includes(name)) throw usageError(`${where}: a group contains itself: ${path.join(' > ')}`);
  const group = groups.get(name);
  if (!group) {
    const known = [...groups.keys()];
    const advice = known.length > 0 ? `it has: ${known.join(', ')}` : 'it does not have a group';
    throw usageError(`${where}: no group has the name ${JSON.stringify(name)}`, advice);
  }
  return group.members.flatMap((member) =>
    'group' in member ? expand(member.group, path, groups, file, member.line) : [member],
  );
}

/** Where a configuration file is looked for, in this order. */
export function configPlaces(environment: NodeJS.ProcessEnv, home = homedir()): string[] {
  const own = environment.XDG_CONFIG_HOME || join(home, '.config');
  return [join(own, 'rdmc', 'hosts'), '/etc/rdmc/hosts'];
}

/**
 * Reads the groups of the given file, or of the first one that exists.
 * @throws CliError ENOENT and other errno codes; ERR_RDMC_USAGE where no configuration file exists, or a line is wrong
 */
export async function readGroups(given: string | undefined, places: readonly string[]): Promise<HostGroups> {
  for (const file of given === undefined ? places : [given]) {
    try {
      return parseGroups(await readFile(file, 'utf8'), file);
    } catch (error) {
      if (error instanceof CliError) throw error;
      if (given === undefined && codeOf(error) === 'ENOENT') continue;
      throw fileError(`cannot read the configuration file ${file}`, error, { exitCode: ExitCode.USAGE });
    }
  }
  throw usageError(
    `there is no configuration file with groups of hosts; looked for ${places.join(' and ')}`,
    'write one, with lines such as [rack1] and the hosts below it, or name it with --config',
  );
}
