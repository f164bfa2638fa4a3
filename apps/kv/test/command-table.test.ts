/** COMMAND, made of the command table. */
import { describe, expect, it } from 'vitest';
import { COMMAND_DOCS } from '../src/commands/docs.js';
import { createCommandTable } from '../src/commands/table.js';
import { CommandRunner } from './support/command-runner.js';
import { ManualLog } from './support/manual-server.js';

const names = createCommandTable()
  .all.map(({ name }) => name)
  .sort();

it('each command has its documentation, and nothing else has', () => {
  expect([...COMMAND_DOCS.keys()].sort()).toEqual(names);
});

describe('the replies', () => {
  const run = (...words: string[]): string => new CommandRunner(new ManualLog()).run('COMMAND', ...words);

  it('COUNT and LIST', () => {
    expect(run('COUNT')).toBe(`:${names.length}\r\n`);
    expect(run('LIST').startsWith(`*${names.length}\r\n$3\r\nget\r\n`)).toBe(true);
  });

  it('INFO says where the keys are', () => {
    const head = (name: string, arity: number, flags: string[], keys: number[]): string => {
      const words = flags.map((flag) => `+${flag}\r\n`).join('');
      const numbers = keys.map((key) => `:${key}\r\n`).join('');
      return `*1\r\n*10\r\n$${name.length}\r\n${name}\r\n:${arity}\r\n*${flags.length}\r\n${words}${numbers}`;
    };
    expect(run('INFO', 'GET')).toBe(
      `${head('get', 2, ['readonly', 'fast'], [1, 1, 1])}*3\r\n+@read\r\n+@string\r\n+@fast\r\n*0\r\n*0\r\n*0\r\n`,
    );
    expect(run('INFO', 'mset').startsWith(head('mset', -3, ['write', 'denyoom'], [1, -1, 2]))).toBe(true);
    expect(run('INFO', 'object').startsWith(head('object', -2, ['readonly'], [2, 2, 1]))).toBe(true);
    expect(run('INFO', 'ping').startsWith(head('ping', -1, ['fast'], [0, 0, 0]))).toBe(true);
    expect(run('INFO', 'nosuch')).toBe('*1\r\n$-1\r\n');
  });

  it('DOCS says what a command does, and leaves out what is not one', () => {
    expect(run('DOCS', 'nosuch', 'HLEN')).toBe(
      '*2\r\n$4\r\nhlen\r\n*8\r\n$7\r\nsummary\r\n$39\r\nReturns the number of fields of a hash.\r\n' +
        '$5\r\nsince\r\n$5\r\n2.0.0\r\n$5\r\ngroup\r\n$4\r\nhash\r\n$10\r\ncomplexity\r\n$4\r\nO(1)\r\n',
    );
  });

  it('HELP names the subcommands', () => {
    const help = new CommandRunner(new ManualLog()).run('OBJECT', 'HELP');
    expect(help).toContain(
      '+OBJECT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:\r\n+ENCODING <key>\r\n',
    );
    expect(help.endsWith('+HELP\r\n+    Print this help.\r\n')).toBe(true);
  });
});
