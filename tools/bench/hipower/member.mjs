// One member of a benchmark: makes channels, sends or receives as its parent says, and reports what it cost.
import { connect, createServer } from 'node:net';
import { performance } from 'node:perf_hooks';
import { HiPowerNode } from '@rdmc/hipower';
import { nicSeconds } from './nic.mjs';
import { Pace } from './pace.mjs';
import { readStamps, sendStamps } from './stamped-tcp.mjs';

let node;
let requester;
let responder;
let received = { promise: undefined, messages: 0 };

const actions = {
  async join({ id, members, device, options, server }) {
    node = await HiPowerNode.join({ id, members, device, ...options, ...(server && { server }) });
  },
  /** `to` or `from` says which end. */
  async open({ options }) {
    if (options.to !== undefined) requester = await node.createRequester(options);
    else {
      responder = await node.createResponder(options);
      received = { promise: consume(responder), messages: 0 };
    }
  },
  /** Sends for so long, as fast as it goes, or `perSecond`. */
  async send({ byteLength, durationMs, perSecond, tickMs }) {
    const before = usage();
    const started = performance.now();
    const messages = perSecond
      ? await produceAtRate(byteLength, durationMs, perSecond, tickMs)
      : await produce(byteLength, durationMs);
    await requester.drain();
    return {
      messages,
      seconds: (performance.now() - started) / 1000,
      ...since(before),
      counters: requester.counters(),
    };
  },
  /** Sends blocks of these sizes once, as fast as it goes. */
  async flow({ sizes }) {
    const before = usage();
    const started = performance.now();
    for (const size of sizes) {
      let slot = requester.reserve(size);
      while (slot < 0) {
        await requester.hasRoom();
        slot = requester.reserve(size);
      }
      new Float64Array(
        requester.memory.buffer,
        requester.memory.byteOffset + requester.offsetOf(slot),
        1,
      )[0] = 0;
      requester.commit(slot);
    }
    await requester.drain();
    return { seconds: (performance.now() - started) / 1000, ...since(before) };
  },
  /** Plain TCP: takes one connection after the other, and counts their bytes. */
  async listen() {
    tcp = { bytes: 0, ended: undefined };
    const server = createServer((socket) => {
      const before = usage();
      tcp.ended = new Promise((resolve) => {
        socket.on('data', (chunk) => {
          tcp.bytes += chunk.length;
        });
        socket.on('end', () => {
          socket.end('k');
          resolve(since(before));
        });
      });
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    server.unref();
    return { port: server.address().port };
  },
  async streamed() {
    const costs = await tcp.ended;
    const { bytes } = tcp;
    tcp.bytes = 0;
    return { bytes, ...costs };
  },
  async stream({ port, byteLength, durationMs }) {
    const socket = connect(port, '127.0.0.1');
    await new Promise((resolve) => socket.once('connect', resolve));
    const before = usage();
    const started = performance.now();
    const message = Buffer.alloc(byteLength);
    while (performance.now() - started < durationMs) {
      for (let i = 0; i < 64; i += 1) {
        if (socket.write(message)) continue;
        await new Promise((resolve) => socket.once('drain', resolve));
        break;
      }
    }
    const answered = new Promise((resolve) => socket.once('data', resolve));
    socket.end();
    await answered;
    return { seconds: (performance.now() - started) / 1000, ...since(before) };
  },
  /** Plain TCP: takes one connection, whose messages carry the times at which they were due. */
  async listenForStamps({ byteLength }) {
    const server = createServer((socket) => readStamps(socket, byteLength, record));
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    server.unref();
    return { port: server.address().port };
  },
  async sendStamps({ port, byteLength, durationMs, perSecond }) {
    await sendStamps({ port, byteLength, durationMs, perSecond, now });
  },
  latencies: () => takeLatencies(),
  mark() {
    mark = { usage: usage(), messages: received.messages, counters: responder?.counters() };
  },
  report() {
    const latencies = takeLatencies();
    const messages = received.messages - mark.messages;
    return {
      messages,
      ...since(mark.usage),
      before: mark.counters,
      counters: responder?.counters(),
      latencies,
    };
  },
  async end() {
    await requester?.end();
    if (responder) {
      await received.promise;
      await responder.close();
    }
    requester = undefined;
    responder = undefined;
  },
  async idle({ durationMs }) {
    const before = usage();
    const counters = (requester ?? responder).counters();
    await new Promise((resolve) => setTimeout(resolve, durationMs));
    return { ...since(before), before: counters, counters: (requester ?? responder).counters() };
  },
  async leave() {
    await node.close();
    process.disconnect();
  },
};
let mark;
let tcp;

/** Zero-copy both ways: a stamp is written and read, the device moves the rest. */
async function produce(byteLength, durationMs) {
  const words = new Float64Array(
    requester.memory.buffer,
    requester.memory.byteOffset,
    requester.memory.byteLength >> 3,
  );
  const end = performance.now() + durationMs;
  let messages = 0;
  while (performance.now() < end) {
    for (let i = 0; i < 64; i += 1) {
      const slot = requester.reserve(byteLength);
      if (slot < 0) {
        await requester.hasRoom();
        break;
      }
      words[requester.offsetOf(slot) >> 3] = 0;
      requester.commit(slot);
      messages += 1;
    }
  }
  return messages;
}

/** Sends at a rate, continuously or in one burst per tick; each message carries a time of its {@link Pace}. */
async function produceAtRate(byteLength, durationMs, perSecond, tickMs) {
  const words = new Float64Array(
    requester.memory.buffer,
    requester.memory.byteOffset,
    requester.memory.byteLength >> 3,
  );
  const started = now();
  const pace = new Pace(started, perSecond, Boolean(tickMs));
  let messages = 0;
  for (;;) {
    const woke = now();
    if (woke - started > durationMs) return messages;
    pace.beginBurst(woke);
    while (pace.isDue(messages)) {
      const slot = requester.reserve(byteLength);
      if (slot < 0) {
        await requester.hasRoom();
        continue;
      }
      words[requester.offsetOf(slot) >> 3] = pace.stamp(messages);
      requester.commit(slot);
      messages += 1;
    }
    pace.endBurst(now());
    await new Promise((resolve) => (tickMs ? setTimeout(resolve, tickMs) : setImmediate(resolve)));
  }
}

const LATENCIES = new Float64Array(1 << 20);
let latencies = 0;

async function consume(channel) {
  const words = new Float64Array(
    channel.memory.buffer,
    channel.memory.byteOffset,
    channel.memory.byteLength >> 3,
  );
  while (await channel.readable()) {
    for (let handle = channel.take(); handle >= 0; handle = channel.take()) {
      const due = words[channel.offsetOf(handle) >> 3];
      if (due > 0) record(due);
      channel.release(handle);
      received.messages += 1;
    }
  }
}

function record(due) {
  if (latencies < LATENCIES.length) LATENCIES[latencies++] = now() - due;
}

function takeLatencies() {
  if (latencies === 0) return undefined;
  const sorted = LATENCIES.slice(Math.floor(latencies / 4), latencies).sort();
  latencies = 0;
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] * 1000;
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99), count: sorted.length };
}

/** One clock for all processes of the machine, in milliseconds. */
function now() {
  return performance.timeOrigin + performance.now();
}

function usage() {
  const { user, system } = process.cpuUsage();
  return { all: (user + system) / 1e6, nic: nicSeconds() };
}

function since(before) {
  const after = usage();
  const nic = after.nic - before.nic;
  return { cpuSeconds: after.all - before.all - nic, nicSeconds: nic };
}

process.on('message', ({ call, name, ...rest }, server) => {
  Promise.resolve(actions[name]({ ...rest, server })).then(
    (result) => process.connected && process.send({ call, result: result ?? null }),
    (error) => process.connected && process.send({ call, error: `${error.stack}` }),
  );
});
