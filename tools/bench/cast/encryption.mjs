/**
 * What the encryption of casts costs, in CPU seconds per GiB.
 *
 *   node tools/bench/cast/encryption.mjs [--mib 1024] [--receivers 2] [--rounds 5] [--transport tcp] [--directory /dev/shm]
 *   node tools/bench/cast/encryption.mjs --calls [--rounds 5]
 *
 * The first form casts a file to receivers of this machine, each in a process of its own, with and without encryption,
 * alternating; it prints the CPU time of the sender, and of a receiver on average. Needs built packages. With `--calls` it
 * measures the calls of `node:crypto` alone, in one thread and in memory: AES-256-GCM as casts use it, in pieces of several
 * sizes, with and without copying the result into the memory of the message; and GMAC, where all bytes are associated data.
 */
import { fork } from 'node:child_process';
import { createCipheriv, createDecipheriv, createSecretKey, randomBytes, randomFillSync } from 'node:crypto';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { isMainThread, Worker } from 'node:worker_threads';

const KIB = 1024;
const MIB = 1024 * KIB;
const GIB = 1024 * MIB;
const SELF = fileURLToPath(import.meta.url);
const RECORD_BYTES = MIB;
const MESSAGE_BYTES = 64 * MIB;
const OPTIONS = { authTagLength: 16 };

/** CPU seconds of all threads of this process. */
function cpuSeconds() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

function spread(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted[Math.floor(sorted.length / 2)];
  return `${middle.toFixed(3)} (${sorted[0].toFixed(3)}-${sorted.at(-1).toFixed(3)})`;
}

// ---------------------------------------------------------------- Calls of node:crypto

function nonceOf(message, record) {
  const nonce = Buffer.alloc(12);
  nonce.writeUInt32LE(message, 0);
  nonce.writeUInt32LE(record, 4);
  return nonce;
}

/** The calls of `node:crypto` over one message in memory, as casts make them. */
class Calls {
  #key = createSecretKey(randomBytes(32));
  #message = 0;
  #tags = [];

  constructor(memory) {
    this.memory = memory;
  }

  /** @param copies whether the result is copied into the message */
  encrypt(pieceBytes, copies) {
    this.#message += 1;
    for (const [record, bytes] of this.#records()) {
      const cipher = createCipheriv('aes-256-gcm', this.#key, nonceOf(this.#message, record), OPTIONS);
      for (let at = 0; at < bytes.length; at += pieceBytes) {
        const sealed = cipher.update(bytes.subarray(at, at + pieceBytes));
        if (copies) bytes.set(sealed, at);
      }
      cipher.final();
      this.#tags[record] = cipher.getAuthTag();
    }
  }

  /** Decrypts what `encrypt` encrypted last. */
  decrypt(pieceBytes) {
    for (const [record, bytes] of this.#records()) {
      const cipher = createDecipheriv('aes-256-gcm', this.#key, nonceOf(this.#message, record), OPTIONS);
      cipher.setAuthTag(this.#tags[record]);
      const pieces = [];
      for (let at = 0; at < bytes.length; at += pieceBytes)
        pieces.push(cipher.update(bytes.subarray(at, at + pieceBytes)));
      cipher.final();
      for (const [index, piece] of pieces.entries()) bytes.set(piece, index * pieceBytes);
    }
  }

  gmac() {
    this.#message += 1;
    for (const [record, bytes] of this.#records()) {
      const cipher = createCipheriv('aes-256-gcm', this.#key, nonceOf(this.#message, record), OPTIONS);
      cipher.setAAD(bytes);
      cipher.final();
      this.#tags[record] = cipher.getAuthTag();
    }
  }

  copy() {
    const other = Buffer.alloc(RECORD_BYTES);
    for (const [, bytes] of this.#records()) other.set(bytes);
  }

  *#records() {
    for (let at = 0; at < this.memory.length; at += RECORD_BYTES)
      yield [at / RECORD_BYTES, this.memory.subarray(at, at + RECORD_BYTES)];
  }
}

function callCases(calls) {
  const sizes = [16 * KIB, 64 * KIB, 256 * KIB, MIB];
  const each = (name, make) =>
    sizes.map((bytes) => ({ name: `${name}, pieces of ${bytes / KIB} KiB`, ...make(bytes) }));
  return [
    ...each('encrypt in place', (bytes) => ({ run: () => calls.encrypt(bytes, true) })),
    ...each('encrypt, result not copied', (bytes) => ({ run: () => calls.encrypt(bytes, false) })),
    ...each('decrypt in place', (bytes) => ({
      before: () => calls.encrypt(bytes, true),
      run: () => calls.decrypt(bytes),
    })),
    { name: 'GMAC: all bytes are associated data', run: () => calls.gmac() },
    { name: 'copy, 1 MiB at a time', run: () => calls.copy() },
  ];
}

function measureCalls(rounds) {
  const memory = randomFillSync(Buffer.alloc(MESSAGE_BYTES));
  const cases = callCases(new Calls(memory)).map((each) => ({ ...each, seconds: [] }));
  for (let round = 0; round <= rounds; round += 1) {
    for (const { before, run, seconds } of cases) {
      before?.();
      const began = cpuSeconds();
      run();
      // The first round warms up.
      if (round > 0) seconds.push(((cpuSeconds() - began) * GIB) / MESSAGE_BYTES);
    }
  }
  for (const { name, seconds } of cases) console.log(`| ${name} | ${spread(seconds)} |`);
}

// ---------------------------------------------------------------- Whole casts

const library = () => import('../../../packages/cast/dist/index.js');

/** A member's process: answers each message of its parent. */
async function member(role, argument) {
  const { castFile, receiveFiles } = await library();
  process.on('disconnect', () => process.exit(0));
  if (role === 'receive') {
    const receiver = await receiveFiles({ ...argument, port: 0, fsync: false });
    process.on('message', () => process.send({ cpu: cpuSeconds() }));
    process.send({ to: receiver.address });
    return;
  }
  process.on('message', async ({ path, options }) => {
    const began = cpuSeconds();
    const cast = castFile(path, { ...argument, ...options });
    const { seconds } = await cast.finished;
    process.send({ cpu: cpuSeconds() - began, seconds });
  });
  process.send({});
}

class Member {
  #answers = [];
  #waiting = [];

  constructor(role, argument) {
    this.child = fork(SELF, ['--member', role, JSON.stringify(argument)]);
    this.child.on('message', (answer) => {
      const waiting = this.#waiting.shift();
      if (waiting) waiting(answer);
      else this.#answers.push(answer);
    });
  }

  answer() {
    if (this.#answers.length > 0) return Promise.resolve(this.#answers.shift());
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  ask(question) {
    this.child.send(question);
    return this.answer();
  }
}

function makeFile(path, mib) {
  const file = openSync(path, 'w');
  const bytes = Buffer.alloc(MIB);
  for (let number = 0; number < mib; number += 1) writeSync(file, randomFillSync(bytes));
  closeSync(file);
}

const CASES = [
  { name: 'with encryption', options: { encrypt: true } },
  { name: 'without encryption', options: { encrypt: false } },
];

/** Casts a file in all cases, in rounds. Returns CPU seconds per GiB of the sender and of a receiver, and seconds. */
async function castRounds(sender, receivers, { path, to, mib, rounds }) {
  const cases = CASES.map((each) => ({ ...each, sender: [], receiver: [], seconds: [] }));
  const gib = (mib * MIB) / GIB;
  const receiversCpu = async () => {
    const answers = await Promise.all(receivers.map((receiver) => receiver.ask({})));
    return answers.reduce((sum, { cpu }) => sum + cpu, 0);
  };
  for (let round = 0; round <= rounds; round += 1) {
    for (const each of cases) {
      const before = await receiversCpu();
      const sent = await sender.ask({ path, options: { to, ...each.options } });
      const after = await receiversCpu();
      // The first round warms up.
      if (round === 0) continue;
      each.sender.push(sent.cpu / gib);
      each.receiver.push((after - before) / receivers.length / gib);
      each.seconds.push(sent.seconds);
    }
  }
  return cases;
}

async function measureCasts({ mib, receivers: count, rounds, transport, directory }) {
  const folder = mkdtempSync(join(directory, 'rdmc-bench-encryption-'));
  const path = join(folder, 'file');
  makeFile(path, mib);
  const receivers = Array.from({ length: count }, (_, number) => {
    const into = join(folder, `${number}`);
    mkdirSync(into);
    return new Member('receive', { directory: into, transport });
  });
  const sender = new Member('send', { transport, compare: 'none' });
  try {
    const to = [];
    for (const receiver of receivers) to.push((await receiver.answer()).to);
    await sender.answer();
    const cases = await castRounds(sender, receivers, { path, to, mib, rounds });
    console.log(`| ${mib} MiB, ${count} receivers, ${transport} | sender | receiver | seconds of the cast |`);
    for (const { name, sender: ofSender, receiver, seconds } of cases)
      console.log(`| ${name} | ${spread(ofSender)} | ${spread(receiver)} | ${spread(seconds)} |`);
  } finally {
    for (const { child } of [...receivers, sender]) child.disconnect();
    rmSync(folder, { recursive: true });
  }
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    calls: { type: 'boolean', default: false },
    member: { type: 'boolean', default: false },
    mib: { type: 'string', default: '1024' },
    receivers: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '5' },
    transport: { type: 'string', default: 'tcp' },
    directory: { type: 'string', default: '/dev/shm' },
  },
});
const numbers = {
  mib: Number(values.mib),
  receivers: Number(values.receivers),
  rounds: Number(values.rounds),
};
if (values.member) await member(positionals[0], JSON.parse(positionals[1]));
else if (values.calls && isMainThread) new Worker(SELF, { argv: process.argv.slice(2) });
else if (values.calls) measureCalls(numbers.rounds);
else await measureCasts({ ...numbers, transport: values.transport, directory: values.directory });
