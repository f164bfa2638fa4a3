// What both ends do in a measurement: loops on the fast path, which allocate nothing.
import { CompletionWord, Layout, Opcode, WorkRequestFlag } from '@rdmc/verbs';
import { DEPTH } from './end.mjs';

const RECEIVES = 512;
const PING_BYTES = 8;
const PING = new Uint8Array(PING_BYTES);
/** Of unsignalled sends one in so many is signalled, which gives back the slots before it. */
const SIGNAL_EVERY = 32;

function checked(cq, count) {
  for (let i = 0; i < count; i += 1) {
    const status = cq.words[i * Layout.COMPLETION_WORDS + CompletionWord.STATUS];
    if (status !== 0) throw new Error(`a completion of status ${status}`);
  }
  return count;
}

/** Posts `count` messages, as many at once as perftest, and resolves with the seconds until the last has completed. */
export function sendAll({ batch, cq, queuePair, region }, { opcode, byteLength, count, remote }) {
  const slots = Math.floor(region.byteLength / byteLength);
  let posted = 0;
  let completed = 0;
  const start = process.hrtime.bigint();
  while (completed < count) {
    while (posted < count && posted - completed < DEPTH) {
      const offset = (posted % slots) * byteLength;
      batch.begin(opcode, queuePair.number, posted, WorkRequestFlag.SIGNALED);
      batch.sge(region.address + offset, byteLength, region.lkey);
      if (remote) batch.remote(remote.address + offset, remote.rkey);
      posted += 1;
    }
    batch.flush();
    completed += checked(cq, cq.pollBatch());
  }
  return Number(process.hrtime.bigint() - start) / 1e9;
}

function prepareReceives({ batch, queuePair, region }, first, count, byteLength) {
  const slots = Math.floor(region.byteLength / byteLength);
  for (let i = first; i < first + count; i += 1) {
    batch.begin(Opcode.RECEIVE, queuePair.number, i, 0);
    batch.sge(region.address + (i % slots) * byteLength, byteLength, region.lkey);
  }
}

function postReceives(end, first, count, byteLength) {
  prepareReceives(end, first, count, byteLength);
  end.batch.flush();
}

/** Receives `count` messages, posting as many again as have come. */
export function receiveAll(end, { byteLength, count }, begun) {
  let posted = Math.min(RECEIVES, count);
  postReceives(end, 0, posted, byteLength);
  begun();
  for (let received = 0; received < count; ) {
    const come = checked(end.cq, end.cq.pollBatch());
    received += come;
    const more = Math.min(come, count - posted);
    if (more > 0) postReceives(end, posted, more, byteLength);
    posted += more;
  }
}

function write({ batch, queuePair }, word, round, remote) {
  const signaled = round % SIGNAL_EVERY === 0 ? WorkRequestFlag.SIGNALED : 0;
  batch.begin(Opcode.WRITE, queuePair.number, round, signaled);
  batch.inline(word);
  batch.remote(remote.address, remote.rkey);
  batch.flush();
}

const bytesOf = (word, round) => {
  word[0] = round;
  return new Uint8Array(word.buffer, 0, PING_BYTES);
};

/** Each writes a number into the other's memory and looks at its own: medians of half a round trip, in µs. */
export function pingByWrites(end, { rounds, remote }) {
  const own = new Int32Array(end.region.view(0, 64).buffer, end.region.view(0, 64).byteOffset, 16);
  const word = new Int32Array(2);
  const times = [];
  for (let round = 1; round <= rounds; round += 1) {
    const start = process.hrtime.bigint();
    write(end, bytesOf(word, round), round, remote);
    while (Atomics.load(own, 0) !== round);
    times.push(Number(process.hrtime.bigint() - start) / 2000);
    if (round % SIGNAL_EVERY === 0) checked(end.cq, end.cq.pollBatch());
  }
  own[0] = 0;
  return times;
}

export function answerWrites(end, { rounds, remote }, begun) {
  const own = new Int32Array(end.region.view(0, 64).buffer, end.region.view(0, 64).byteOffset, 16);
  const word = new Int32Array(2);
  own[0] = 0;
  begun();
  for (let round = 1; round <= rounds; round += 1) {
    while (Atomics.load(own, 0) !== round);
    write(end, bytesOf(word, round), round, remote);
    if (round % SIGNAL_EVERY === 0) checked(end.cq, end.cq.pollBatch());
  }
}

/** Messages among the `count` completions of the batch; the others are those of sends. */
function messagesIn({ words }, count) {
  let messages = 0;
  for (let i = 0; i < count; i += 1) {
    if (words[i * Layout.COMPLETION_WORDS + CompletionWord.OPCODE] >= 128) messages += 1;
  }
  return messages;
}

/** Blocks the thread until a message has come, as perftest does. */
function awaitMessage({ cq }) {
  while (messagesIn(cq, checked(cq, cq.waitBatch())) === 0);
}

/** Calls `take` for each received message; between them the thread sleeps in its event loop. */
function onMessages({ cq, channel }, take) {
  const look = () => {
    for (;;) {
      const count = checked(cq, cq.pollBatch());
      for (let left = messagesIn(cq, count); left > 0; left -= 1) take();
      // A batch that is not full was all there is.
      if (count < Layout.POLL_SLOTS) return;
    }
  };
  // Armed before it looks: what comes later makes an event, and one look is enough.
  channel.onEvent(() => {
    cq.arm();
    look();
  });
  cq.arm();
  look();
}

/** Inline, as perftest does with so few bytes. The receive goes with it in one call, ahead of the send. */
function send(end, round) {
  const { batch, queuePair } = end;
  if (round > 1) prepareReceives(end, round, 1, PING_BYTES);
  const signaled = round % SIGNAL_EVERY === 0 ? WorkRequestFlag.SIGNALED : 0;
  batch.begin(Opcode.SEND, queuePair.number, round, signaled);
  batch.inline(PING);
  batch.flush();
}

/** SENDs to and fro; both sides sleep until an event comes. */
export function pingByEvents(end, { rounds }) {
  const times = [];
  postReceives(end, 0, 8, PING_BYTES);
  return new Promise((resolve) => {
    let round = 1;
    let start = process.hrtime.bigint();
    onMessages(end, () => {
      times.push(Number(process.hrtime.bigint() - start) / 2000);
      if (round === rounds) return resolve(times);
      round += 1;
      start = process.hrtime.bigint();
      send(end, round);
    });
    send(end, round);
  });
}

export function answerByEvents(end, { rounds }, begun) {
  postReceives(end, 0, 8, PING_BYTES);
  return new Promise((resolve) => {
    let round = 0;
    onMessages(end, () => {
      round += 1;
      send(end, round);
      if (round === rounds) resolve();
    });
    begun();
  });
}

/** SENDs to and fro; both sides block their threads until a message comes. */
export function pingByWaits(end, { rounds }) {
  const times = [];
  postReceives(end, 0, 8, PING_BYTES);
  for (let round = 1; round <= rounds; round += 1) {
    const start = process.hrtime.bigint();
    send(end, round);
    awaitMessage(end);
    times.push(Number(process.hrtime.bigint() - start) / 2000);
  }
  return times;
}

export function answerByWaits(end, { rounds }, begun) {
  postReceives(end, 0, 8, PING_BYTES);
  begun();
  for (let round = 1; round <= rounds; round += 1) {
    awaitMessage(end);
    send(end, round);
  }
}
