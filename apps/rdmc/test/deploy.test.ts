import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryDirectory } from '@rdmc/testing';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { castSchema } from '../src/commands/cast.js';
import { receiveSchema } from '../src/commands/receive.js';
import { hostsOfGroup, parseGroups } from '../src/hosts/groups.js';
import { createProgram } from '../src/program.js';
import { splitWords } from '../src/remote/words.js';
import { createTerminal } from '../src/ui/terminal.js';
import { parseOptions } from '../src/values.js';

const DEPLOY = fileURLToPath(new URL('../../../deploy/', import.meta.url));
const read = (name: string): string => readFileSync(join(DEPLOY, name), 'utf8');

const schemas = { cast: castSchema, receive: receiveSchema };

/** Checks a command line by the parser of its command, without running it. */
async function check(words: readonly string[]): Promise<void> {
  const [name = '', ...args] = words;
  const program = await createProgram({ terminal: createTerminal(), exitCode: 0 }, ['node', 'rdmc', name]);
  const command = program.commands.find((each: Command) => each.name() === name);
  if (!command) throw new Error(`rdmc has no command ${name}`);
  const { operands, unknown } = command.parseOptions([...args]);
  expect(unknown, words.join(' ')).toEqual([]);
  const needed = command.registeredArguments.filter(({ required }) => required).length;
  expect(operands.length, words.join(' ')).toBeGreaterThanOrEqual(needed);
  if (command.registeredArguments.length === 0) expect(operands).toEqual([]);
  if (name === 'cast' || name === 'receive') parseOptions(schemas[name], command.opts());
}

describe('the check of command lines', () => {
  it.each([
    [['receive', '--dri', '/x'], /--dri/],
    [['receive', '--mesh-ports', '9-1'], /expected ports/],
    [['cast', '--to', 'a'], /greater than or equal to 1|toBeGreaterThanOrEqual|>= 1/],
    [['receive', '/x'], /x/],
    [['sned', 'x'], /no command sned/],
  ])('refuses %j', async (words, message) => {
    await expect(check(words)).rejects.toThrow(message);
  });
});

describe('units of systemd', () => {
  const units = readdirSync(join(DEPLOY, 'systemd')).filter((name) => /\.(service|timer)$/.test(name));

  it.each(units.filter((name) => name.endsWith('.service')))(
    '%s has a command that rdmc takes',
    async (name) => {
      const [, line] = /^ExecStart=(.*)$/m.exec(read(`systemd/${name}`))!;
      const [program, ...words] = splitWords(line!, name);
      expect(program).toBe('/usr/bin/rdmc');
      await check(words);
    },
  );

  const hasAnalyze = spawnSync('systemd-analyze', ['--version']).status === 0;
  it.skipIf(!hasAnalyze)('are accepted by systemd-analyze verify (needs systemd-analyze)', () => {
    const folder = temporaryDirectory();
    const program = join(folder, 'rdmc');
    writeFileSync(program, '#!/bin/sh\n');
    chmodSync(program, 0o755);
    for (const name of units) {
      copyFileSync(join(DEPLOY, 'systemd', name), join(folder, name));
      // The program must exist for the check.
      const text = readFileSync(join(folder, name), 'utf8').replace('/usr/bin/rdmc', program);
      writeFileSync(join(folder, name), text);
    }
    const paths = units.map((name) => join(folder, name));
    const { stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', ...paths], {
      encoding: 'utf8',
    });
    const about = `${stdout}${stderr}`
      .split('\n')
      .filter((line) => line.includes(folder) || /rdmc-/.test(line));
    expect(about).toEqual([]);
  });

  it('the groups of hosts are read as rdmc reads them', () => {
    const groups = parseGroups(read('systemd/hosts'), 'hosts');
    expect(hostsOfGroup('models', groups).map(({ host }) => host)).toEqual([
      'node1',
      'node2',
      'node3',
      'node4',
    ]);
  });
});

describe('the image', () => {
  const text = read('container/Dockerfile');
  const list = (word: string): string[] =>
    JSON.parse(new RegExp(`^${word} (\\[.*\\])$`, 'm').exec(text)![1]!);

  it('runs a command that rdmc takes, as another user than root', async () => {
    expect(list('ENTRYPOINT')).toEqual(['rdmc']);
    await check(list('CMD'));
    expect(text.indexOf('\nUSER node\n')).toBeLessThan(text.indexOf('\nENTRYPOINT'));
    const { name } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
    expect(text).toContain(`npm install --global "${name}@`);
  });

  it('exposes the ports of its command', () => {
    const [listen, mesh] = ['--listen', '--mesh-ports'].map(
      (option) => list('CMD')[list('CMD').indexOf(option) + 1]!,
    );
    expect(text).toContain(`EXPOSE ${listen!.split(':')[1]} ${mesh}`);
  });

  it('has instructions of Dockerfiles only, and shell lines without errors', () => {
    const known = ['FROM', 'ARG', 'RUN', 'USER', 'VOLUME', 'EXPOSE', 'STOPSIGNAL', 'ENTRYPOINT', 'CMD'];
    for (const line of text.split('\n').filter((each) => each !== '' && !each.startsWith('#'))) {
      const [word, ...rest] = line.split(' ');
      expect(known).toContain(word);
      if (word === 'RUN') execFileSync('sh', ['-n', '-c', rest.join(' ')]);
    }
  });
});

describe('manifests of Kubernetes', () => {
  interface Container {
    readonly args?: readonly string[];
    readonly envFrom?: readonly { readonly secretRef: { readonly name: string } }[];
    readonly volumeMounts?: readonly { readonly name: string }[];
  }

  it.each([
    ['receive-daemonset.yaml', 'DaemonSet', 'apps/v1'],
    ['cast-job.yaml', 'Job', 'batch/v1'],
  ])('%s is a %s with a command that rdmc takes', async (name, kind, apiVersion) => {
    const documents = parseAllDocuments(read(`kubernetes/${name}`));
    expect(documents).toHaveLength(1);
    for (const { errors, warnings } of documents) expect([...errors, ...warnings]).toEqual([]);
    const manifest = documents[0]!.toJS();
    expect(manifest).toMatchObject({ kind, apiVersion });
    const { containers, volumes, initContainers = [] } = manifest.spec.template.spec;
    const [container] = containers as Container[];
    await check(container!.args!);
    expect(container!.envFrom![0]!.secretRef.name).toBe('rdmc-key');
    const known = volumes.map((volume: { name: string }) => volume.name);
    for (const each of [...containers, ...initContainers] as Container[])
      for (const mount of each.volumeMounts ?? []) expect(known).toContain(mount.name);
    if (kind === 'DaemonSet')
      expect(manifest.spec.template.metadata.labels).toMatchObject(manifest.spec.selector.matchLabels);
  });
});
