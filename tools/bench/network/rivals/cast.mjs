// `rdmc cast`, file to file, with a key and the checksums it uses by itself (GMAC).
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { UNMEASURED } from '../meter.mjs';
import { ended, listens, nowSeconds, say, spanOf, until } from '../tools.mjs';

const RDMC = fileURLToPath(new URL('../../../../apps/rdmc/dist/main.js', import.meta.url));
const PORT = 7411;

/** Whether the command is built and knows `cast`. */
export function haveCast() {
  return existsSync(RDMC);
}

/** What both ends need: the file of the key, and the addresses of the receivers. */
function castOf(lab, hosts, folderOf) {
  const keyFile = join(folderOf(hosts[0]), 'key');
  writeFileSync(keyFile, `${'0123456789abcdef'.repeat(4)}\n`, { mode: 0o600 });
  const to = hosts.slice(1).map((host) => `${lab.host(host).ipv4}:${PORT}`);
  return { keyFile, to: to.join(',') };
}

/** Starts `rdmc receive` at all hosts but the first; resolves when all of them listen. */
async function startReceivers(lab, hosts, folderOf, { keyFile, options = [], meter = UNMEASURED }) {
  const receivers = hosts.slice(1).map((host) => {
    const listen = `${lab.host(host).ipv4}:${PORT}`;
    const args = [RDMC, 'receive', '--listen', listen, '--dir', folderOf(host), '--key-file', keyFile];
    const command = meter.wrap(host, process.execPath, [...args, '--quiet', ...options]);
    const log = options.includes('--log-json') ? 'pipe' : 'inherit';
    return { host, child: lab.exec(host, ...command, { stdio: ['ignore', 'ignore', log] }) };
  });
  for (const { child, host } of receivers)
    await until(() => listens(child.pid, PORT), `rdmc receive at ${host}`);
  return receivers;
}

/** When a receiver had stored everything, by its own log, in seconds; its errors go to standard error. */
function storedAt({ child, host }) {
  let time;
  createInterface({ input: child.stderr }).on('line', (line) => {
    const { event, time: text, level } = line.startsWith('{') ? JSON.parse(line) : { level: 'error' };
    if (event === 'complete') time = Date.parse(text) / 1000;
    else if (level === 'error') say(`${host}: ${line}`);
  });
  return new Promise((resolve) => child.stderr.once('close', () => resolve(time)));
}

/** The whole command, Node's start included, at the first host: its seconds, and its events with their times. */
async function command(lab, hosts, path, { keyFile, to, options = [], meter = UNMEASURED }) {
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
  const seconds = (await ended(sender, 'rdmc cast')) - started;
  await closed;
  const finished = events.find((event) => event.event === 'finished');
  if (finished?.outcome !== 'all') throw new Error(`rdmc cast: ${JSON.stringify(finished ?? events.at(-1))}`);
  return { seconds, events, finished };
}

/**
 * Casts one file or folder from the first host to the others. `seconds`: the command's own figure, from
 * its start until every receiver has said that all is stored; `sending`: the part of it after everybody had
 * connected, which is what the rivals' figures count; `command`: the whole command, Node's start included; `skew`: from the
 * first receiver that had stored everything to the last one.
 */
export async function cast(lab, hosts, path, folderOf, { options = [], meter = UNMEASURED } = {}) {
  const facts = castOf(lab, hosts, folderOf);
  const single = ['--once', '--log-json'];
  const receivers = await startReceivers(lab, hosts, folderOf, { ...facts, meter, options: single });
  const stored = receivers.map(storedAt);
  const ends = receivers.map(({ host, child }) => ended(child, `rdmc receive at ${host}`));
  const { seconds, events, finished } = await command(lab, hosts, path, { ...facts, options, meter });
  await Promise.all(ends);
  const sending = events.find(({ event, phase }) => event === 'progress' && phase === 'sending');
  return {
    seconds: finished.seconds,
    command: seconds,
    sending: finished.at - (sending ?? finished).at,
    skew: spanOf(await Promise.all(stored)),
  };
}

/**
 * Receivers that run from now on. `cast(path, options)` resolves with the seconds of one whole command, Node's start
 * included; `end()` ends the receivers.
 */
export async function runningCast(lab, hosts, folderOf) {
  const facts = castOf(lab, hosts, folderOf);
  const receivers = await startReceivers(lab, hosts, folderOf, facts);
  return {
    cast: async (path, options) => (await command(lab, hosts, path, { ...facts, options })).seconds,
    async end() {
      const ends = receivers.map(({ child }) => once(child, 'exit'));
      for (const { child } of receivers) child.kill('SIGTERM');
      await Promise.all(ends);
    },
  };
}
