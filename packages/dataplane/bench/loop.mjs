/**
 * What the loop costs, as one line of JSON: commands per second one after the other and in a stream, the time
 * from sending a command to a sleeping worker until its answer is here, and the processor time of an idle data plane.
 *
 * Usage: node bench/loop.mjs [--seconds 1] [--idle-seconds 10]
 */
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { DataPlane } from '@rdmc/dataplane';

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '1' }, 'idle-seconds': { type: 'string', default: '10' } },
});
const seconds = Number(values.seconds);
const idleSeconds = Number(values['idle-seconds']);

const ECHO = 1;
const protocol = `data:text/javascript,${encodeURIComponent(
  'export default (context) => ({ onCommand: (kind, id, payload) => context.reply(id, payload) });',
)}`;
const start = (windowMs) => DataPlane.start({ windowMs, protocols: [{ name: 'echo', module: protocol }] });

async function perSecond(plane, batch) {
  const payload = new Uint8Array(16);
  const started = performance.now();
  let done = 0;
  while (performance.now() - started < seconds * 1000) {
    await Promise.all(Array.from({ length: batch }, () => plane.command('echo', ECHO, payload)));
    done += batch;
  }
  return Math.round((done / (performance.now() - started)) * 1000);
}

async function wakeUpMicroseconds(plane) {
  const samples = [];
  for (let i = 0; i < 200; i += 1) {
    const { sleeps, wakeups } = plane.counters();
    if (sleeps !== wakeups + 1) {
      await delay(1);
      continue;
    }
    const started = performance.now();
    await plane.command('echo', ECHO);
    samples.push((performance.now() - started) * 1000);
    await delay(1);
  }
  samples.sort((a, b) => a - b);
  const at = (quantile) => Math.round(samples[Math.floor((samples.length - 1) * quantile)] * 10) / 10;
  return { samples: samples.length, median: at(0.5), p99: at(0.99) };
}

async function idle(plane) {
  await delay(200);
  const before = { cpu: process.cpuUsage(), counters: plane.counters(), at: performance.now() };
  await delay(idleSeconds * 1000);
  const { user, system } = process.cpuUsage(before.cpu);
  const elapsed = (performance.now() - before.at) * 1000;
  const after = plane.counters();
  return {
    seconds: idleSeconds,
    cpuPercent: Math.round(((user + system) / elapsed) * 100 * 10_000) / 10_000,
    wakeups: after.wakeups - before.counters.wakeups,
  };
}

const result = { commandsPerSecond: {} };
for (const windowMs of [50, 0, Number.POSITIVE_INFINITY]) {
  const plane = await start(windowMs);
  await perSecond(plane, 1);
  result.commandsPerSecond[`window ${windowMs}`] = {
    oneAfterTheOther: await perSecond(plane, 1),
    inBatchesOf256: await perSecond(plane, 256),
  };
  if (windowMs === 0) result.wakeUpAndAnswerMicroseconds = await wakeUpMicroseconds(plane);
  if (windowMs === 50) result.idle = await idle(plane);
  await plane.close();
}
console.log(JSON.stringify(result));
