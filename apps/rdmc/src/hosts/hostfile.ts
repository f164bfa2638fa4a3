import { readFile } from 'node:fs/promises';
import { CliError, fileError, messageOf, usageError } from '../errors.js';
import { ExitCode } from '../exit-codes.js';
import { parseEndpoint } from './endpoint.js';
import type { Target } from './target.js';

const RACK = /^[\w.-]{1,64}$/;

function attribute(word: string, target: Target): Target {
  const [name, value = ''] = word.split(/=(.*)/s);
  if (name === 'port') {
    if (target.port !== undefined) throw usageError('the port is given twice');
    const port = Number(value);
    if (!/^\d{1,5}$/.test(value) || port < 1 || port > 65_535) {
      throw usageError(`port=${value}: expected a port from 1 to 65535`);
    }
    return { ...target, port };
  }
  if (name === 'rack') {
    if (target.rack !== undefined) throw usageError('the rack is given twice');
    if (!RACK.test(value)) throw usageError(`rack=${value}: expected letters, digits, '.', '_' and '-'`);
    return { ...target, rack: value };
  }
  throw usageError(`${JSON.stringify(word)} unknown; after the host, only port= and rack= are possible`);
}

/** One line of a host file; undefined where it has no host. @throws CliError ERR_RDMC_USAGE */
export function parseHostLine(line: string): Target | undefined {
  const [first, ...words] = line.replace(/#.*$/s, '').trim().split(/\s+/);
  if (!first) return undefined;
  return words.reduce<Target>((target, word) => attribute(word, target), parseEndpoint(first));
}

/**
 * One host per line: `host`, `host:port`, `[IPv6 address]:port`, then `port=` and `rack=`; `#` begins a comment.
 * @param name the file's name, for errors
 * @throws CliError ERR_RDMC_USAGE with the name and number of the line
 */
export function parseHostfile(text: string, name: string): Target[] {
  const targets: Target[] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    try {
      const target = parseHostLine(index === 0 ? line.replace(/^\uFEFF/, '') : line);
      if (target) targets.push(target);
    } catch (error) {
      const advice = error instanceof CliError ? error.advice : undefined;
      throw usageError(`${name}, line ${index + 1}: ${messageOf(error)}`, advice);
    }
  }
  if (targets.length === 0) throw usageError(`${name} does not contain a host`, 'write one host per line');
  return targets;
}

/** @throws CliError ENOENT and other errno codes */
export async function readHostfile(path: string): Promise<Target[]> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    throw fileError(`cannot read the host file ${path}`, error, { exitCode: ExitCode.USAGE });
  }
  return parseHostfile(text, path);
}
