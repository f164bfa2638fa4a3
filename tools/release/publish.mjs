// Publishes tarballs to the configured registry.
import { spawnSync } from 'node:child_process';
import { root } from '../tasks/setup.mjs';

function isPublished({ name, version }, options) {
  const { status, stdout } = spawnSync('npm', ['view', `${name}@${version}`, 'version'], {
    ...options,
    encoding: 'utf8',
  });
  return status === 0 && stdout.trim() === version;
}

/**
 * Publishes in the order given; a version that the registry has is left out, so that a release that failed half-way can be
 * repeated. `options` are those of the processes.
 */
export function publishAll(packed, options = {}) {
  for (const each of packed) {
    const label = `${each.name}@${each.version}`;
    if (isPublished(each, options)) {
      console.log(`${label} is already published`);
      continue;
    }
    // The terminal is npm's: it may ask for a one-time password.
    const args = ['publish', each.tarball, '--loglevel', 'warn'];
    const result = spawnSync('npm', args, { cwd: root, stdio: 'inherit', ...options });
    if (result.status !== 0)
      throw new Error(`${label} was not published; run the same command again to continue`);
    console.log(`${label} published`);
  }
}
