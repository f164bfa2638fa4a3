import { usageError } from '../errors.js';
import { parseEndpoint } from './endpoint.js';
import { MAX_HOSTS } from './limits.js';
import type { Target } from './target.js';

/*
 * Slurm's node lists:
 *
 *   list   = name *("," name)
 *   name   = 1*(text | "[" ranges "]")          several brackets are combined: rack[1-2]n[1-3] are six nodes
 *   ranges = range *("," range)
 *   range  = number | number "-" number         the width of the first number is kept: 08-11 is 08, 09, 10, 11
 */

function wrong(list: string, what: string): never {
  throw usageError(`node list ${JSON.stringify(list)}: ${what}`, 'example of a list: node[01-16,20],gpu3');
}

/** Names separated by the commas outside of brackets. */
function splitNames(list: string): string[] {
  const names: string[] = [];
  let name = '';
  let inside = false;
  for (const character of list) {
    if (character === '[' && inside) wrong(list, 'a bracket within brackets');
    if (character === ']' && !inside) wrong(list, "']' without '['");
    if (character === '[') inside = true;
    if (character === ']') inside = false;
    if (character === ',' && !inside) {
      names.push(name);
      name = '';
    } else name += character;
  }
  if (inside) wrong(list, "'[' without ']'");
  return [...names, name];
}

function expandRange(range: string, list: string): string[] {
  const match = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(range);
  if (!match) wrong(list, `${JSON.stringify(range)} is neither a number nor a range of numbers`);
  const [, first, last = first] = match as unknown as [string, string, string?];
  const [low, high] = [Number(first), Number(last)];
  if (high < low) wrong(list, `the range ${range} ends before it begins`);
  if (high - low >= MAX_HOSTS) wrong(list, `the range ${range} has more than ${MAX_HOSTS} numbers`);
  return Array.from({ length: high - low + 1 }, (_, i) => String(low + i).padStart(first.length, '0'));
}

function expandName(name: string, list: string): string[] {
  if (name === '') wrong(list, 'an empty name');
  let names = [''];
  // Text and brackets alternate: the odd parts were in brackets.
  for (const [index, part] of name.split(/[[\]]/).entries()) {
    const endings = index % 2 === 0 ? [part] : part.split(',').flatMap((range) => expandRange(range, list));
    if (names.length * endings.length > MAX_HOSTS) wrong(list, `more than ${MAX_HOSTS} nodes`);
    names = names.flatMap((start) => endings.map((ending) => start + ending));
  }
  return names;
}

/**
 * The nodes of a Slurm node list, in its order. A node that is listed twice is returned twice.
 * @throws CliError ERR_RDMC_USAGE
 */
export function expandNodeList(list: string): string[] {
  const names = splitNames(list.trim()).flatMap((name) => expandName(name.trim(), list));
  if (names.length > MAX_HOSTS) wrong(list, `${names.length} nodes; at most ${MAX_HOSTS}`);
  return names;
}

/** The nodes of the Slurm job this process runs in. */
export function slurmTargets(environment: NodeJS.ProcessEnv): Target[] {
  const list = environment.SLURM_JOB_NODELIST ?? environment.SLURM_NODELIST;
  if (!list) {
    throw usageError(
      '--slurm: SLURM_JOB_NODELIST is not set, so this is not a Slurm job',
      'run it in a job (salloc or sbatch), or give the hosts with --to or --hostfile',
    );
  }
  return expandNodeList(list).map(parseEndpoint);
}
