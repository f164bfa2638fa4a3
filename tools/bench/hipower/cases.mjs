// What is measured. Each line's variants alternate, round by round, in the same processes.
const VARIANTS = {
  baseline: { confirmation: 'per-request' },
  pull: { confirmation: 'bitmap', mode: 'pull' },
  push: { confirmation: 'bitmap', mode: 'push' },
  'rested pull': { confirmation: 'bitmap', mode: 'pull', spinMs: 0, maxIdleMs: 1 },
  'rested push': { confirmation: 'bitmap', mode: 'push', spinMs: 0, maxIdleMs: 1 },
};
const COMPARED = ['baseline', 'pull', 'push'];
const SIZES = (process.env.RDMC_BENCH_SIZES ?? '64,256,512,1024,4096,16384,65536,262144,1048576')
  .split(',')
  .map(Number);
const SMALL = (process.env.RDMC_BENCH_SIZES ?? '64,512,1024,4096').split(',').map(Number);
const STREAM_SIZES = (process.env.RDMC_BENCH_SIZES ?? '512,1024,4096,16384,65536').split(',').map(Number);
/** Messages per second of a stream, at its master: a few in each millisecond, at the same time from all workers. */
const STREAM_RATE = 4000;
const DURATION_MS = Number(process.env.RDMC_BENCH_MS ?? 1000);
const POOL_BYTES = 64 << 20;
const SLOTS = Number(process.env.RDMC_BENCH_SLOTS ?? 256);
const slotsFor = (byteLength) => Math.max(4, Math.min(SLOTS, POOL_BYTES / byteLength));

export async function one(crew, rounds) {
  await throughput(crew, rounds, SIZES, [0], [1]);
}

export async function gather(crew, rounds) {
  const last = crew.size - 1;
  await throughput(crew, rounds, SMALL, range(last), [last]);
}

export async function broadcast(crew, rounds) {
  await throughput(crew, rounds, SMALL, [0], range(crew.size).slice(1));
}

async function throughput(crew, rounds, sizes, from, to) {
  heading([
    'size',
    'variant',
    'msg/s',
    'Gb/s',
    'requester µs',
    'NIC',
    'responder µs',
    'NIC',
    'msg/read',
    'fruitless',
    'msg/P read',
  ]);
  for (const size of sizes) {
    const results = await alternate(rounds, async (variant) => {
      await open(crew, variant, size, from, to);
      await Promise.all(
        from.map((id) => crew.call(id, 'send', { byteLength: size, durationMs: DURATION_MS / 3 })),
      );
      await Promise.all(to.map((id) => crew.call(id, 'mark')));
      const before = await Promise.all(from.map((id) => crew.call(id, 'idle', { durationMs: 0 })));
      const sent = await Promise.all(
        from.map((id) => crew.call(id, 'send', { byteLength: size, durationMs: DURATION_MS })),
      );
      const got = await Promise.all(to.map((id) => crew.call(id, 'report')));
      await crew.all('end');
      return summary(size, before, sent, got);
    });
    const base = results.baseline;
    for (const [name, r] of Object.entries(results)) {
      row([
        size,
        name,
        `${Math.round(r.rate)} (${(r.rate / base.rate).toFixed(2)})`,
        ((r.rate * size * 8) / 1e9).toFixed(2),
        ratio(r.requester, base.requester),
        r.requesterNic.toFixed(2),
        ratio(r.responder, base.responder),
        r.responderNic.toFixed(2),
        r.perRead,
        r.fruitless,
        r.perPRead,
      ]);
    }
  }
}

function summary(size, before, sent, got) {
  const seconds = Math.max(...sent.map((s) => s.seconds));
  const messages = sum(got.map((g) => g.messages));
  const looks = sum(got.map((g) => g.counters.reads + g.counters.looks - g.before.reads - g.before.looks));
  const fruitless = sum(
    got.map(
      (g) =>
        g.counters.fruitlessReads +
        g.counters.fruitlessLooks -
        g.before.fruitlessReads -
        g.before.fruitlessLooks,
    ),
  );
  const pReads = sum(sent.map((s, i) => s.counters.reads - before[i].counters.reads));
  return {
    rate: messages / seconds,
    requester: (1e6 * sum(sent.map((s) => s.cpuSeconds))) / messages,
    requesterNic: (1e6 * sum(sent.map((s) => s.nicSeconds))) / messages,
    responder: (1e6 * sum(got.map((g) => g.cpuSeconds))) / messages,
    responderNic: (1e6 * sum(got.map((g) => g.nicSeconds))) / messages,
    perRead: looks > fruitless ? messages / (looks - fruitless) : 0,
    fruitless: looks > 0 ? fruitless / looks : 0,
    perPRead: pReads > 0 ? messages / pReads : 0,
    size,
  };
}

/** At shares of what the baseline can do, the same load for all. */
export async function latency(crew, rounds) {
  heading(['size', 'load', 'msg/s', 'variant', 'p50 µs', 'p90 µs', 'p99 µs']);
  for (const size of SMALL) {
    const saturation = (
      await alternate(
        1,
        async (variant) => {
          await open(crew, variant, size, [0], [1]);
          await crew.call(0, 'send', { byteLength: size, durationMs: DURATION_MS });
          const { messages, seconds } = await crew.call(0, 'send', {
            byteLength: size,
            durationMs: DURATION_MS,
          });
          await crew.all('end');
          return { rate: messages / seconds };
        },
        ['baseline'],
      )
    ).baseline.rate;
    for (const [load, perSecond] of [
      ['unloaded', 1000],
      ['0.5', saturation * 0.5],
      ['0.7', saturation * 0.7],
      ['0.9', saturation * 0.9],
    ]) {
      const results = await alternate(rounds, async (variant) => {
        await open(crew, variant, size, [0], [1]);
        await crew.call(0, 'send', { byteLength: size, durationMs: DURATION_MS / 3 });
        await crew.call(1, 'mark');
        await crew.call(0, 'send', { byteLength: size, durationMs: DURATION_MS, perSecond });
        const { latencies } = await crew.call(1, 'report');
        await crew.all('end');
        return latencies;
      });
      for (const [name, r] of Object.entries(results)) {
        row([
          size,
          load,
          Math.round(perSecond),
          name,
          ratio(r.p50, results.baseline.p50),
          ratio(r.p90, results.baseline.p90),
          r.p99,
        ]);
      }
    }
  }
}

/** Latency of gathering and of broadcasting beside one to one, each at the same low rate at its master. */
export async function streams(crew, rounds) {
  heading(['size', 'stream', 'variant', 'p50 µs', 'p99 µs', 'requesters µs', 'responders µs']);
  const last = crew.size - 1;
  const kinds = {
    one: [[0], [last]],
    gather: [range(last), [last]],
    broadcast: [[0], range(crew.size).slice(1)],
  };
  for (const size of STREAM_SIZES) {
    for (const [name, [from, to]] of Object.entries(kinds)) {
      const results = await alternate(rounds, async (variant) => {
        await open(crew, variant, size, from, to);
        const send = (durationMs) => {
          const options = { byteLength: size, durationMs, perSecond: STREAM_RATE / from.length, tickMs: 1 };
          return Promise.all(from.map((id) => crew.call(id, 'send', options)));
        };
        await send(DURATION_MS / 3);
        await Promise.all(to.map((id) => crew.call(id, 'mark')));
        const sent = await send(DURATION_MS);
        const got = await Promise.all(to.map((id) => crew.call(id, 'report')));
        await crew.all('end');
        const mean = (key) => sum(got.map(({ latencies }) => latencies[key])) / got.length;
        const { requester, responder } = summary(size, sent, sent, got);
        return { p50: mean('p50'), p99: mean('p99'), requester, responder };
      });
      for (const [variant, r] of Object.entries(results)) {
        const { baseline } = results;
        const cpu = [ratio(r.requester, baseline.requester), ratio(r.responder, baseline.responder)];
        row([size, name, variant, ratio(r.p50, baseline.p50), r.p99, ...cpu]);
      }
    }
  }
}

/** Gathering at one load for all: what the responder's CPU spends per message. `rested` looks on timers only. */
export async function load(crew, rounds) {
  heading(['size', 'msg/s', 'variant', 'responder µs', 'NIC', 'p50 µs', 'p99 µs', 'msg/read']);
  const last = crew.size - 1;
  const from = range(last);
  for (const size of SMALL) {
    for (const perSecond of [20_000, 200_000]) {
      const results = await alternate(
        rounds,
        async (variant) => {
          await open(crew, variant, size, from, [last]);
          const send = (durationMs) =>
            Promise.all(
              from.map((id) =>
                crew.call(id, 'send', {
                  byteLength: size,
                  durationMs,
                  perSecond: perSecond / last,
                  tickMs: 1,
                }),
              ),
            );
          await send(DURATION_MS / 2);
          await crew.call(last, 'mark');
          const sent = await send(DURATION_MS);
          const got = await crew.call(last, 'report');
          await crew.all('end');
          const { p50, p99 } = got.latencies;
          return { ...summary(size, sent, sent, [got]), p50, p99 };
        },
        ['baseline', 'pull', 'push', 'rested pull', 'rested push'],
      );
      for (const [name, r] of Object.entries(results)) {
        const cpu = ratio(r.responder, results.baseline.responder);
        row([size, Math.round(r.rate), name, cpu, r.responderNic.toFixed(2), r.p50, r.p99, r.perRead]);
      }
    }
  }
}

/** A channel that stands idle, after the poll window is over. */
export async function idle(crew, rounds) {
  heading(['variant', 'requester CPU %', 'responder CPU %', 'NIC %', 'looks/s', 'reads/s']);
  const durationMs = 4000;
  const results = await alternate(rounds, async (variant) => {
    await open(crew, variant, 512, [0], [1]);
    await crew.call(0, 'send', { byteLength: 512, durationMs: 200 });
    await crew.all('idle', { durationMs: 1500 });
    const [req, res] = await crew.all('idle', { durationMs });
    await crew.all('end');
    const percent = (seconds) => (100_000 * seconds) / durationMs;
    return {
      requester: percent(req.cpuSeconds),
      responder: percent(res.cpuSeconds),
      nic: percent(req.nicSeconds + res.nicSeconds),
      looks: ((res.counters.looks - res.before.looks) * 1000) / durationMs,
      reads: ((res.counters.reads - res.before.reads) * 1000) / durationMs,
    };
  });
  for (const [name, r] of Object.entries(results))
    row([name, r.requester, r.responder, r.nic, r.looks, r.reads]);
}

let channel = 0;
export async function open(crew, variant, size, from, to, slots = slotsFor(size)) {
  channel += 1;
  const common = { channel: `c${channel}`, slots, slotBytes: size, ...VARIANTS[variant] };
  const toOptions = to.length === 1 ? to[0] : to;
  const fromOptions = from.length === 1 ? from[0] : from;
  await Promise.all([
    ...from.map((id) => crew.call(id, 'open', { options: { ...common, to: toOptions } })),
    ...to.map((id) => crew.call(id, 'open', { options: { ...common, from: fromOptions } })),
  ]);
}

/**
 * Runs every variant in turn, `rounds` times; the median of each number. A round before them is not counted: in it V8
 * compiles, which cost up to 0.4 µs a message and process.
 */
export async function alternate(rounds, run, names = COMPARED) {
  const all = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = -1; round < rounds; round += 1) {
    for (const name of names) {
      const result = await run(name);
      if (round >= 0) all[name].push(result);
    }
  }
  return Object.fromEntries(names.map((name) => [name, medians(all[name])]));
}

function medians(results) {
  return Object.fromEntries(
    Object.keys(results[0]).map((key) => [key, median(results.map((result) => result[key]))]),
  );
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

export const sum = (values) => values.reduce((total, value) => total + value, 0);
const range = (count) => Array.from({ length: count }, (_, index) => index);
export const ratio = (value, base) => `${value.toFixed(2)} (${(value / base).toFixed(2)})`;
const show = (value) =>
  typeof value === 'number' && !Number.isInteger(value) ? value.toFixed(2) : String(value);
export const row = (cells) => console.log(`| ${cells.map(show).join(' | ')} |`);
export function heading(cells) {
  row(cells);
  row(cells.map(() => '---'));
}
