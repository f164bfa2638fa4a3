// `rdmc cast`, file to file, with a key and the checksums it uses by itself (GMAC).
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { UNMEASURED } from '../meter.mjs';
import { ended, listens, nowSeconds, until } from '../tools.mjs';

const RDMC = fileURLToPath(new URL('../../../../apps/rdmc/dist/main.js', import.meta.url));
const PORT = 7411;

/** Whether the command is built and knows `cast`. */
export function haveCast() {
  return existsSync(RDMC);
}

/**
 * Casts one file or folder from the first host to the others. `seconds`: the command's own figure, from
 * its start until every receiver has said that all is stored; `sending`: the part of it after everybody had
 * connected, which is what the rivals' figures count; `command`: the whole command, Node's start included.
 */
export async function cast(lab, hosts, path, folderOf, { options = [], meter = UNMEASURED } = {}) {
  const keyFile = join(folderOf(hosts[0]), 'key');
  writeFileSync(keyFile, `${'0123456789abcdef'.repeat(4)}\n`, { mode: 0o600 });
  const receivers = hosts.slice(1).map((host) => {
    const listen = `${lab.host(host).ipv4}:${PORT}`;
    const args = [
      RDMC,
      'receive',
      '--listen',
      listen,
      '--dir',
      folderOf(host),
      '--key-file',
      keyFile,
      '--once',
    ];
    const command = meter.wrap(host, process.execPath, [...args, '--quiet']);
    const child = lab.exec(host, ...command, { stdio: ['ignore', 'ignore', 'inherit'] });
    return { host, child, end: ended(child, `rdmc receive at ${host}`) };
  });
  for (const { child, host } of receivers)
    await until(() => listens(child.pid, PORT), `rdmc receive at ${host}`);
  const to = hosts
    .slice(1)
    .map((host) => `${lab.host(host).ipv4}:${PORT}`)
    .join(',');
  const args = [RDMC, 'cast', path, '--to', to, '--key-file', keyFile, '--json', ...options];
  const started = nowSeconds();
  const sender = lab.exec(hosts[0], ...meter.wrap(hosts[0], process.execPath, args), {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const events = [];
  createInterface({ input: sender.stdout }).on('line', (line) =>
    events.push({ at: nowSeconds(), ...JSON.parse(line) }),
  );
  const closed = new Promise((resolve) => sender.stdout.once('close', resolve));
  const command = (await ended(sender, 'rdmc cast')) - started;
  await closed;
  await Promise.all(receivers.map(({ end }) => end));
  const finished = events.find((event) => event.event === 'finished');
  if (finished?.outcome !== 'all') throw new Error(`rdmc cast: ${JSON.stringify(finished ?? events.at(-1))}`);
  const sending = events.find(({ event, phase }) => event === 'progress' && phase === 'sending');
  return { seconds: finished.seconds, command, sending: finished.at - (sending ?? finished).at };
}
