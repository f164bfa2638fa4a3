// perftest's programs, from one device to another.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const FIRST_PORT = 18_600;
const LISTEN = '0A';
/** Acknowledgements are awaited as long as ours are: with perftest's 67 ms an emulated machine asks again for nothing. */
const COMMON = ['-x', '1', '-F', '-u', '16'];
let port = FIRST_PORT;

async function listening(at) {
  const local = `:${at.toString(16).toUpperCase().padStart(4, '0')}`;
  const here = () =>
    ['tcp', 'tcp6'].some((file) =>
      readFileSync(`/proc/net/${file}`, 'utf8')
        .split('\n')
        .some((line) => {
          const [, address, , state] = line.trim().split(/\s+/);
          return address?.endsWith(local) && state === LISTEN;
        }),
    );
  while (!here()) await delay(20);
}

async function output(child) {
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (part) => {
    text += part;
  });
  child.stderr.setEncoding('utf8').on('data', (part) => {
    text += part;
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${child.spawnargs.join(' ')} ended with ${code}: ${text}`);
  return text;
}

/** The two sides of a program, the one that listens first. */
async function start(program, args, from, to) {
  port += 1;
  const all = [...COMMON, '-p', String(port), ...args];
  const stdio = ['ignore', 'pipe', 'pipe'];
  const server = spawn(program, ['-d', `rxe${to}`, ...all], { stdio });
  const served = output(server);
  // Whoever wants to know awaits it.
  served.catch(() => {});
  await listening(port);
  const client = spawn(program, ['-d', `rxe${from}`, ...all, `10.0.0.${to + 1}`], { stdio });
  return { server, client, served };
}

/** Columns of the result's line, as numbers: bytes, iterations, and what the program measures. */
export async function perftest(program, args, from = 1, to = 0) {
  const { client, served } = await start(program, args, from, to);
  const [text] = await Promise.all([output(client), served]);
  const line = text.split('\n').find((each) => /^\s*\d+\s+\d+\s+[\d.]+\s/.test(each));
  if (!line) throw new Error(`${program} printed no result: ${text}`);
  return line.trim().split(/\s+/).map(Number);
}

/** Average of a bandwidth program, in MiB/s. */
export async function perftestBandwidth(program, byteLength, count, from, to) {
  return (await perftest(program, ['-s', String(byteLength), '-n', String(count)], from, to))[3];
}

/** Begins to send and goes on until the returned function is called, which resolves when both sides have ended. */
export async function perftestStream(program, byteLength, from, to) {
  const sides = Object.values(await start(program, ['-s', String(byteLength), '-D', '600'], from, to)).slice(
    0,
    2,
  );
  const ends = sides.map((side) => once(side, 'exit'));
  return async () => {
    for (const side of sides) side.kill('SIGKILL');
    await Promise.all(ends);
  };
}

/** Median of half a round trip, in microseconds. */
export async function perftestLatency(program, count, ...more) {
  return (await perftest(program, ['-s', '8', '-n', String(count), ...more]))[4];
}
