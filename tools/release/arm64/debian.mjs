// Packages of Debian, unpacked into a folder: nothing is installed on this machine.
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DOWNLOAD } from '../../tasks/download.mjs';
import { attempt, folder, inside } from './folder.mjs';
import { Missing } from './missing.mjs';

/** As if no package were installed, so that each is unpacked here, whatever this machine has. */
const NOTHING_INSTALLED = ['-o', 'Dir::State::status=/dev/null'];
/** Parts of the cross compiler that no build here uses. */
const UNUSED = /^lib(asan|gomp|hwasan|itm|lsan|tsan|ubsan)\d/;

/** The packages that these need, as far as their names match. */
function closure(names, matching) {
  const args = ['install', '--simulate', '--no-install-recommends', ...NOTHING_INSTALLED, ...names];
  let { output, problem } = attempt('apt-get', args);
  if (problem && process.getuid() === 0) {
    attempt('apt-get', ['update', '-qq'], DOWNLOAD);
    ({ output, problem } = attempt('apt-get', args));
  }
  if (problem) throw new Missing(`apt-get does not find ${names.join(', ')}: ${problem}`);
  const all = [...output.matchAll(/^Inst (\S+) /gm)].map(([, name]) => name);
  return all.filter((name) => (matching.test(name) || names.includes(name)) && !UNUSED.test(name));
}

/**
 * Unpacks packages and those that they need, of which the names match; returns the folder.
 * @throws Missing without apt-get, or without its server
 */
export function unpack(into, names, matching = /^$/) {
  const target = inside(into);
  const done = join(target, '.unpacked');
  if (existsSync(done)) return target;
  const downloads = mkdtempSync(join(folder, 'download-'));
  try {
    const options = { ...DOWNLOAD, cwd: downloads };
    const { problem } = attempt('apt-get', ['download', ...closure(names, matching)], options);
    if (problem) throw new Missing(`apt-get download: ${problem}`);
    for (const name of readdirSync(downloads)) {
      const unpacked = attempt('dpkg', ['-x', join(downloads, name), target]);
      if (unpacked.problem) throw new Missing(`dpkg -x ${name}: ${unpacked.problem}`);
    }
  } finally {
    rmSync(downloads, { recursive: true, force: true });
  }
  writeFileSync(done, '');
  return target;
}
