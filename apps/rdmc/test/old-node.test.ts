import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryDirectory } from '@rdmc/testing';
import { expect, it } from 'vitest';

/** The commands of all packages; each is a file that Node runs. */
const COMMANDS = [
  ['rdmc', '../bin/rdmc'],
  ['kv', '../../kv/bin/kv'],
  ['rdmc-paramserver', '../../paramserver/bin/rdmc-paramserver'],
  ['rdmc-training', '../../training/bin/rdmc-training'],
  ['tailwind-scan', '../../../packages/tailwind/dist/cli.js'],
];

it.each(COMMANDS)('%s under a Node.js that is too old says so in one line', (name, path) => {
  const old = join(temporaryDirectory('rdmc-old-node'), 'old.cjs');
  writeFileSync(old, "Object.defineProperty(process, 'versions', { value: { node: '18.20.4' } });");
  const command = fileURLToPath(new URL(path, import.meta.url));
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--require', old, command, '--version'], {
    encoding: 'utf8',
  });
  expect({ status, stdout, stderr }).toEqual({
    status: 1,
    stdout: '',
    stderr: `error ERR_RDMC_OLD_NODE: ${name} needs Node.js 20.19 or newer, and this is 18.20.4: install a newer one\n`,
  });
});
