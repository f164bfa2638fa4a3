// The relay of bench/relay/run.mjs: sends on one queue pair what it receives on another. `worker`: its thread sleeps until
// a message has come, and posts it. `device`: it posts windows of requests that wait, and wakes up once for a window.
import { CompletionWord, Layout, Opcode, openDevice, WorkRequestFlag } from '@rdmc/verbs';

const [transport, mode, bytes] = process.argv.slice(2);
const size = Number(bytes);
const SLOTS = 64;
const WINDOW = 16;
const device = await openDevice({ device: 'soft', transport });
const domain = device.allocateProtectionDomain();
const channel = device.createCompletionChannel();
const woken = device.createCompletionQueue({ channel });
const silent = device.createCompletionQueue();
const byDevice = mode === 'device';
const depths = { sendDepth: 256, receiveDepth: SLOTS };
const incoming = domain.createQueuePair({
  sendQueue: silent,
  receiveQueue: byDevice ? silent : woken,
  ...depths,
});
const outgoing = domain.createQueuePair({
  sendQueue: byDevice ? woken : silent,
  receiveQueue: silent,
  ...depths,
});
const region = await domain.allocate(SLOTS * size);
const batch = device.createSubmissionQueue();
let posted = 0;

function entry(opcode, queuePair, message, flags) {
  batch.begin(opcode, queuePair.number, message, flags);
  batch.sge(region.address + (message % SLOTS) * size, size, region.lkey);
}

/** The next window: its last send is signalled, so that this thread wakes up once. */
function postWindow() {
  for (let i = 0; i < WINDOW; i += 1) entry(Opcode.RECEIVE, incoming, posted + i, 0);
  for (let i = 1; i <= WINDOW; i += 1, posted += 1) {
    entry(Opcode.SEND, outgoing, posted, i === WINDOW ? WorkRequestFlag.SIGNALED : 0);
    batch.waitFor(incoming.number, posted + 1);
  }
}

function relayMessage(message) {
  entry(Opcode.SEND, outgoing, message, 0);
  entry(Opcode.RECEIVE, incoming, message + SLOTS, 0);
}

function onEvent() {
  for (let armed = false; ; ) {
    while (silent.pollBatch() > 0);
    const count = woken.pollBatch();
    if (count === 0 && armed) return;
    if (count === 0) woken.arm();
    armed = count === 0;
    for (let i = 0; i < count; i += 1) {
      const base = i * Layout.COMPLETION_WORDS;
      if (woken.words[base + CompletionWord.STATUS] !== 0) process.exit(1);
      if (byDevice) postWindow();
      else relayMessage(woken.words[base + CompletionWord.ID_LOW]);
    }
    batch.flush();
  }
}

process.on('message', async (message) => {
  if (message.connect) {
    await Promise.all([
      incoming.connect(message.connect.incoming),
      outgoing.connect(message.connect.outgoing),
    ]);
    if (byDevice) for (let i = 0; i < SLOTS / WINDOW - 1; i += 1) postWindow();
    else for (let i = 0; i < SLOTS; i += 1) entry(Opcode.RECEIVE, incoming, i, 0);
    batch.flush();
    channel.onEvent(onEvent);
    onEvent();
    process.send({ ready: true });
  } else if (message.cpu) {
    const { user, system } = process.cpuUsage();
    process.send(user + system);
  } else {
    process.exit(0);
  }
});
process.on('disconnect', () => process.exit(0));
process.send({ incoming: incoming.address, outgoing: outgoing.address });
