// What a build depends on beside its sources. Make does not detect that a header of the system was installed or removed,
// nor another compiler, so a build with another configuration begins from nothing.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The addon has RDMA devices if libibverbs' header is installed. */
function hasIbverbs(compiler) {
  const input = '#include <infiniband/verbs.h>\n';
  const found = spawnSync(compiler, ['-E', '-x', 'c++', '-'], { input, stdio: ['pipe', 'ignore', 'ignore'] });
  return found.status === 0;
}

/** Removes a build of another configuration. */
export function startAnewIfChanged(folder, { compiler, processor, portable }) {
  const build = join(folder, 'build');
  const stamp = join(build, 'built');
  const settings = readFileSync(join(folder, 'binding.gyp'), 'utf8');
  const now = JSON.stringify({ compiler, processor, portable, ibverbs: hasIbverbs(compiler), settings });
  if (existsSync(build) && !(existsSync(stamp) && readFileSync(stamp, 'utf8') === now)) {
    rmSync(build, { recursive: true });
  }
  mkdirSync(build, { recursive: true });
  writeFileSync(stamp, now);
}
