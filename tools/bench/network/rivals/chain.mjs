// `nc | tee`: every host keeps what it hears and passes it on. No checks, no failures handled, one stream only:
// the least a chain can do. Debian: netcat-openbsd, bash.
import { join } from 'node:path';
import { UNMEASURED } from '../meter.mjs';
import { ended, listens, nowSeconds, until } from '../tools.mjs';

const PORT = 7500;
const listen = `nc -l ${PORT}`;
const connect = (address) => `nc -N ${address} ${PORT}`;

/** What a host runs, its own folder being $1. `next` is undefined at the last one. */
const FILE = {
  source: (path) => `cat '${path}'`,
  host: (next) => (next ? `${listen} | tee "$1/file" | ${connect(next)}` : `${listen} > "$1/file"`),
};
const TREE = {
  source: (path) => `tar -C '${path}' -cf - .`,
  // bash does not wait for what >( ) started unless told so.
  host: (next) =>
    next ? `${listen} | tee >(${connect(next)}) | tar -C "$1" -xf -; wait` : `${listen} | tar -C "$1" -xf -`,
};

async function through({ source, host }, lab, hosts, path, folderOf, { meter = UNMEASURED } = {}) {
  const addresses = hosts.map((name) => lab.host(name).ipv4);
  const run = (name, command, stdin) =>
    lab.exec(
      name,
      ...meter.wrap(name, 'bash', ['-c', `set -o pipefail; ${command}`, 'chain', folderOf(name)]),
      { stdio: [stdin, 'ignore', 'inherit'] },
    );
  const ends = [];
  // From the far end, so that everybody finds its neighbour.
  for (let index = hosts.length - 1; index > 0; index -= 1) {
    const child = run(hosts[index], host(addresses[index + 1]), 'ignore');
    ends.push(ended(child, `the chain at ${hosts[index]}`));
    await until(() => listens(child.pid, PORT), `nc at ${hosts[index]}`);
  }
  const root = run(hosts[0], `read go; ${source(path)} | ${connect(addresses[1])}`, 'pipe');
  ends.push(ended(root, 'the root of the chain'));
  const started = nowSeconds();
  root.stdin.end('go\n');
  return { seconds: Math.max(...(await Promise.all(ends))) - started };
}

/** One file; seconds from the root's start until the slowest host has closed its copy, `fileAt(its folder)`. */
export const chainFile = (...args) => through(FILE, ...args);

/** A folder by tar; seconds until the slowest host has unpacked it into its own. */
export const chainTree = (...args) => through(TREE, ...args);

export const fileAt = (folder) => join(folder, 'file');
