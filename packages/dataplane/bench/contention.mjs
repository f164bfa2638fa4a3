/**
 * Compares hybrid polling with pure interrupts, also with more processes than processors: tokens go round a ring of
 * processes, with the two windows in turn. Prints one line of JSON: thousands of hops per second (medians), the median
 * ratio of hybrid to interrupts over the rounds, and how often the first worker found its processor contested.
 *
 * Usage: node bench/contention.mjs [--processes 2,4,8] [--bytes 64,65536] [--tokens 4] [--rounds 15] [--milliseconds 200]
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { DataPlane } from '@rdmc/dataplane';
import { tokenRecords } from './token-ring.mjs';

const windows = [50, 0];
/** A pause in which all workers go to sleep. */
const SETTLE_MS = 80;

async function member() {
  const { windowMs, ...data } = JSON.parse(process.env.TOKEN_RING);
  const plane = await DataPlane.open({
    windowMs,
    protocols: [{ name: 'ring', module: new URL('./token-ring.mjs', import.meta.url), data }],
  });
  const ring = plane.connect('ring', tokenRecords, {});
  process.on('message', async ({ command, argument }) => {
    if (command === 'close') {
      process.disconnect();
      await plane.close();
      return;
    }
    const started = performance.now();
    const answer = await ring[command](argument);
    const milliseconds = performance.now() - started;
    process.send({ answer, milliseconds, counters: plane.counters() });
  });
  process.send('ready');
}

async function ask(child, message) {
  child.send(message);
  return (await once(child, 'message'))[0];
}

class Ring {
  static async start(processes, windowMs, tokenBytes, tokens) {
    const ring = new Ring();
    ring.children = Array.from({ length: processes }, (_, i) =>
      fork(fileURLToPath(import.meta.url), {
        env: {
          ...process.env,
          TOKEN_RING: JSON.stringify({
            windowMs,
            tokenBytes,
            tokens,
            first: i === 0,
          }),
        },
      }),
    );
    await Promise.all(ring.children.map((child) => once(child, 'message')));
    const replies = await Promise.all(ring.children.map((child) => ask(child, { command: 'addresses' })));
    await Promise.all(
      ring.children.map((child, i) => {
        const before = replies.at(i - 1).answer[1];
        const after = replies[(i + 1) % processes].answer[0];
        return ask(child, { command: 'connect', argument: [before, after] });
      }),
    );
    return ring;
  }

  /** Hops per second, all processes together. */
  async run(laps) {
    const { milliseconds, counters } = await ask(this.children[0], { command: 'start', argument: laps });
    this.counters = counters;
    return (laps * this.children.length * 1000) / milliseconds;
  }

  async close() {
    const exits = this.children.map((child) => once(child, 'exit'));
    for (const child of this.children) child.send({ command: 'close' });
    await Promise.all(exits);
  }
}

const thousands = (rate) => Math.round(rate / 100) / 10;
const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

/** Runs the rings in turn, so that other work of the machine affects all of them equally. */
async function compare(processes, tokenBytes, { tokens, rounds, milliseconds }) {
  const rings = [];
  for (const windowMs of windows) rings.push(await Ring.start(processes, windowMs, tokenBytes, tokens));
  const rates = rings.map(() => []);
  for (const ring of rings)
    ring.laps = Math.ceil(((await ring.run(500)) / processes) * (milliseconds / 1000));
  for (let round = 0; round < rounds; round += 1) {
    for (const [i, ring] of rings.entries()) {
      await delay(SETTLE_MS);
      rates[i].push(await ring.run(ring.laps));
    }
  }
  for (const ring of rings) await ring.close();
  const [hybrid, interrupts] = rates;
  return {
    processes,
    tokenBytes,
    hybrid: thousands(median(hybrid)),
    interrupts: thousands(median(interrupts)),
    ratio: Math.round(median(hybrid.map((rate, i) => rate / interrupts[i])) * 100) / 100,
    contested: rings[0].counters.contested,
    sleeps: rings[0].counters.sleeps,
  };
}

async function main() {
  const { values } = parseArgs({
    options: {
      processes: { type: 'string', default: '2,4,8' },
      bytes: { type: 'string', default: '64,65536' },
      tokens: { type: 'string', default: '4' },
      rounds: { type: 'string', default: '15' },
      milliseconds: { type: 'string', default: '200' },
    },
  });
  const settings = {
    tokens: Number(values.tokens),
    rounds: Number(values.rounds),
    milliseconds: Number(values.milliseconds),
  };
  const results = [];
  for (const processes of values.processes.split(',').map(Number)) {
    for (const tokenBytes of values.bytes.split(',').map(Number)) {
      results.push(await compare(processes, tokenBytes, settings));
    }
  }
  console.log(JSON.stringify(results));
}

if (process.env.TOKEN_RING) await member();
else await main();
