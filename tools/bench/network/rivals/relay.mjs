// `relay.c`: plain relays in C, memory to memory, connections open. Needs a C compiler.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { ended, listens, scratch, until } from '../tools.mjs';

const SOURCE = fileURLToPath(new URL('relay.c', import.meta.url));
const PORT = 7600;

let built;

function program() {
  if (built) return built;
  const path = join(scratch('relay').path, 'relay');
  execFileSync('cc', ['-O2', SOURCE, '-o', path]);
  built = path;
  return built;
}

function start(lab, name, args) {
  const child = lab.exec(name, program(), args.map(String), { stdio: ['pipe', 'pipe', 'inherit'] });
  const end = ended(child, `the relay at ${name}`);
  // Read by `report`, which may come after it.
  end.catch(() => {});
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => {
    const { value, done } = await lines.next();
    if (!done) return value;
    await end;
    throw new Error(`the relay at ${name} has ended`);
  };
  return { child, end, next };
}

async function report({ next }) {
  const [at, cpu] = (await next()).split(' ').map(Number);
  return { at, cpu };
}

/**
 * One object from the first host through all others.
 * @param begin called when all are ready, `measured` when all have the bytes
 * @returns seconds from the root's first byte to the last arrival, and the processor seconds of each host meanwhile
 */
export async function relayChain(lab, hosts, bytes, { begin = () => {}, measured = () => {} } = {}) {
  const addresses = hosts.map((name) => lab.host(name).ipv4);
  const relays = [];
  // From the far end, so that everybody finds its neighbour.
  for (let index = hosts.length - 1; index > 0; index -= 1) {
    const relay = start(lab, hosts[index], [bytes, PORT, ...addresses.slice(index + 1, index + 2)]);
    relays.unshift(relay);
    await until(() => listens(relay.child.pid, PORT), `the relay at ${hosts[index]}`);
  }
  const root = start(lab, hosts[0], [bytes, 0, addresses[1], PORT]);
  const all = [root, ...relays];
  for (const each of all) await each.next();
  begin();
  root.child.stdin.end('go\n');
  const reports = await Promise.all(all.map(report));
  measured();
  // Nobody checks its content while others still receive theirs.
  for (const { child } of relays) child.stdin.end('check\n');
  await Promise.all(all.map(({ end }) => end));
  const arrived = Math.max(...reports.slice(1).map(({ at }) => at));
  return { seconds: arrived - reports[0].at, cpu: reports.map(({ cpu }) => cpu) };
}
