/**
 * Measures the cost of the loop, as one line of JSON: commands per second one after the other and in a stream, the time
 * from sending a command to a sleeping worker until its answer arrives, and the processor time of an idle data plane.
 *
 * Usage: node bench/loop.mjs [--seconds 1] [--idle-seconds 10]
 */
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { isMainThread } from 'node:worker_threads';
import { bytes, call, DataPlane, nothing, protocolWorker, recordTable } from '@rdmc/dataplane';

const records = recordTable({ commands: { echo: call(bytes, bytes), signal: call(nothing) }, events: {} });

/** Runs in the worker. */
export default protocolWorker(records, () => ({ commands: { echo: (payload) => payload, signal() {} } }));

async function start(windowMs) {
  const plane = await DataPlane.open({
    windowMs,
    protocols: [{ name: 'echo', module: import.meta.url }],
  });
  return { plane, echo: plane.connect('echo', records, {}) };
}

async function perSecond(echo, batch, seconds) {
  const payload = new Uint8Array(16);
  const started = performance.now();
  let done = 0;
  while (performance.now() - started < seconds * 1000) {
    await Promise.all(Array.from({ length: batch }, () => echo.echo(payload)));
    done += batch;
  }
  return Math.round((done / (performance.now() - started)) * 1000);
}

async function wakeUpMicroseconds({ plane, echo }) {
  const samples = [];
  for (let i = 0; i < 200; i += 1) {
    const { sleeps, wakeups } = plane.counters();
    if (sleeps !== wakeups + 1) {
      await delay(1);
      continue;
    }
    const started = performance.now();
    await echo.signal();
    samples.push((performance.now() - started) * 1000);
    await delay(1);
  }
  samples.sort((a, b) => a - b);
  const at = (quantile) => Math.round(samples[Math.floor((samples.length - 1) * quantile)] * 10) / 10;
  return { samples: samples.length, median: at(0.5), p99: at(0.99) };
}

async function idle(plane, idleSeconds) {
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

async function main() {
  const { values } = parseArgs({
    options: { seconds: { type: 'string', default: '1' }, 'idle-seconds': { type: 'string', default: '10' } },
  });
  const seconds = Number(values.seconds);
  const result = { commandsPerSecond: {} };
  for (const windowMs of [50, 0, Number.POSITIVE_INFINITY]) {
    const { plane, echo } = await start(windowMs);
    await perSecond(echo, 1, seconds);
    result.commandsPerSecond[`window ${windowMs}`] = {
      oneAfterTheOther: await perSecond(echo, 1, seconds),
      inBatchesOf256: await perSecond(echo, 256, seconds),
    };
    if (windowMs === 0) result.wakeUpAndAnswerMicroseconds = await wakeUpMicroseconds({ plane, echo });
    if (windowMs === 50) result.idle = await idle(plane, Number(values['idle-seconds']));
    await plane.close();
  }
  console.log(JSON.stringify(result));
}

if (isMainThread) await main();
