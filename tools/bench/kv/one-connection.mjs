// Head-of-line blocking: what small forwarded commands cost beside bulk data on one connection of the mesh, compared with a
// connection of its own for the bulk data: node tools/bench/kv/one-connection.mjs [--seconds 2] [--rounds 5] [--window 16]
//
// Two processes with the key of the user. One asks small things (64 bytes, so many at once) with mesh requests; beside
// them travel, by turns on the same connection (shared) and on a connection of KeyedSockets (separate):
//   set        values of 1 MiB, four of them unanswered at any time, each answered with a few bytes
//   set-paced  the same, one every 20 ms (50 MiB/s)
//   takeover   frames of 256 KiB, up to 8 MiB of them in the socket, not answered
// Heartbeats of the mesh go out every 100 ms. Prints each round's ratio, shared to separate, and the median of the ratios.
// Needs the built dist.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Mesh } from '@rdmc/mesh';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { encodeFrame, FrameReader, KeyedSockets } from '@rdmc/mesh/sockets';

const MIB = 1024 * 1024;
const PURPOSE = 'rdmc bench';
const MESH = { heartbeatMs: 100, maxFrameBytes: 4 * MIB, maxBufferedBytes: 64 * MIB };
const SMALL = new Uint8Array(64);
const OK = Buffer.from('+OK\r\n');
const TAKEOVER_WINDOW_BYTES = 8 * MIB;
const [ACK, NO_ACK] = [1, 2];
const LOADS = ['set', 'set-paced', 'takeover'];

/** Member 0: answers what is asked on the mesh and on the other port. */
async function serve(members) {
  const sockets = new KeyedSockets({ purpose: PURPOSE });
  const server = createServer(async (raw) => {
    raw.on('error', () => {});
    const socket = await sockets.accept(raw);
    socket.setNoDelay(true);
    const reader = new FrameReader(4 * MIB);
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      reader.push(chunk);
      for (let frame = reader.next(); frame; frame = reader.next()) {
        if (frame.type === ACK) socket.write(encodeFrame(ACK, OK));
      }
    });
    socket.resume();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const mesh = await Mesh.join({ ...MESH, id: 0, members, attributes: { port: server.address().port } });
  mesh.onRequest('small', (_from, body) => body);
  mesh.onRequest('bulk', () => OK);
  mesh.onMessage('bulk', () => {});
  mesh.onLeave(() => process.exit());
}

/** How bulk data travels: `ask` resolves when it is answered, `send` when there is room for more. */
const ways = {
  shared: async (mesh) => ({
    ask: (bytes) => mesh.request(0, 'bulk', bytes),
    send: async (bytes) => {
      mesh.send(0, 'bulk', bytes);
      while (mesh.bufferedBytes(0) > TAKEOVER_WINDOW_BYTES) await delay(1);
    },
    close() {},
  }),
  separate: async (mesh) => {
    const sockets = new KeyedSockets({ purpose: PURPOSE });
    const { port } = mesh.peers.get(0).attributes;
    const socket = await sockets.connect({ host: '127.0.0.1', port });
    socket.setNoDelay(true);
    const reader = new FrameReader(MIB);
    const waiting = [];
    socket.on('data', (chunk) => {
      reader.push(chunk);
      while (reader.next()) waiting.shift()();
    });
    return {
      ask: (bytes) =>
        new Promise((resolve) => {
          waiting.push(resolve);
          socket.write(encodeFrame(ACK, bytes));
        }),
      send: async (bytes) => {
        socket.write(encodeFrame(NO_ACK, bytes));
        while (socket.writableLength > TAKEOVER_WINDOW_BYTES) await once(socket, 'drain');
      },
      close: () => socket.destroy(),
    };
  },
};

/** Sends bulk data until it is told to stop; resolves with the bytes. */
async function bulk(load, way, state) {
  const bytes = Buffer.alloc(load === 'takeover' ? MIB / 4 : MIB, 7);
  let sent = 0;
  const senders = Array.from({ length: load === 'set' ? 4 : 1 }, async () => {
    while (!state.stopped) {
      const began = performance.now();
      if (load === 'takeover') {
        await way.send(bytes);
        // `send` may be done at once: the loop must turn, as it does while a segment is read.
        await new Promise((resolve) => setImmediate(resolve));
      } else await way.ask(bytes);
      sent += bytes.length;
      if (load === 'set-paced') await delay(Math.max(0, 20 - (performance.now() - began)));
    }
  });
  await Promise.all(senders);
  return sent;
}

/** Asks small things until the time is over; their latencies in milliseconds. */
async function small(mesh, count, milliseconds) {
  const end = performance.now() + milliseconds;
  const latencies = [];
  await Promise.all(
    Array.from({ length: count }, async () => {
      for (let now = performance.now(); now < end; ) {
        await mesh.request(0, 'small', SMALL);
        const then = performance.now();
        latencies.push(then - now);
        now = then;
      }
    }),
  );
  return latencies.sort((a, b) => a - b);
}

async function measure(mesh, load, name, { window, milliseconds }) {
  const way = await ways[name](mesh);
  const state = { stopped: false };
  const sending = bulk(load, way, state);
  await delay(100);
  const latencies = await small(mesh, window, milliseconds);
  state.stopped = true;
  const bytes = await sending;
  while (mesh.bufferedBytes(0) > 0) await delay(1);
  way.close();
  const at = (share) => latencies[Math.floor(latencies.length * share)];
  const seconds = milliseconds / 1000;
  return {
    perSecond: latencies.length / seconds,
    p50: at(0.5),
    p99: at(0.99),
    bulkMiB: bytes / MIB / seconds,
  };
}

const median = (numbers) => numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
const show = (result) =>
  `${result.perSecond.toFixed(0)}/s p50 ${result.p50.toFixed(2)} ms p99 ${result.p99.toFixed(2)} ms bulk ${result.bulkMiB.toFixed(0)} MiB/s`;

async function ask(options) {
  const reserved = await reserveLoopbackPorts(2);
  const members = reserved.map(({ host, port }, id) => ({ id, host, port }));
  reserved[0].server.close();
  await once(reserved[0].server, 'close');
  const child = fork(fileURLToPath(import.meta.url), {
    env: { ...process.env, MEMBERS: JSON.stringify(members) },
  });
  const mesh = await Mesh.join({ ...MESH, id: 1, members, server: reserved[1].server });
  await small(mesh, options.window, 500);
  for (const load of LOADS) {
    const ratios = { perSecond: [], p50: [], p99: [] };
    for (let round = 0; round < options.rounds; round += 1) {
      const order = round % 2 === 0 ? ['separate', 'shared'] : ['shared', 'separate'];
      const results = {};
      for (const name of order) results[name] = await measure(mesh, load, name, options);
      for (const key of Object.keys(ratios)) ratios[key].push(results.shared[key] / results.separate[key]);
      console.log(
        `${load} round ${round + 1}: shared ${show(results.shared)}; separate ${show(results.separate)}`,
      );
    }
    const [rate, p50, p99] = Object.values(ratios).map((all) => median(all).toFixed(2));
    console.log(`${load}: shared/separate, median of rounds: rate ${rate}, p50 ${p50}, p99 ${p99}`);
  }
  await mesh.close();
  child.disconnect();
}

if (process.env.MEMBERS) await serve(JSON.parse(process.env.MEMBERS));
else {
  const number = { type: 'string' };
  const { values } = parseArgs({ options: { seconds: number, rounds: number, window: number } });
  const { seconds = '2', rounds = '5', window = '16' } = values;
  await ask({ milliseconds: Number(seconds) * 1000, rounds: Number(rounds), window: Number(window) });
}
