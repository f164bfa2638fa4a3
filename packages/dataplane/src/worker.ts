/** The worker thread. DataPlane starts it; it sends `ready` once all protocols have started. */
import { parentPort, workerData } from 'node:worker_threads';
import {
  type CompletionChannel,
  type Device,
  type OpenDeviceOptions,
  openDevice,
  type ProtectionDomain,
} from '@rdmc/verbs';
import { eventfdSignaller, FdWatcher, FineTimer, yieldProcessor } from '@rdmc/verbs/loop';
import { DEFAULT_COMPLETION_QUEUE_DEPTH, NAP_MICROSECONDS } from './constants.js';
import { ControlWord } from './control.js';
import { CounterBlock } from './counters.js';
import { DataPlaneError } from './errors.js';
import { EventOutbox } from './event-outbox.js';
import { PollPolicy } from './poll-policy.js';
import type { ProtocolWorker } from './protocol.js';
import { ProtocolHost } from './protocol-host.js';
import { RingReader, RingWriter } from './ring.js';
import { nameThisThread, THREAD_NAME } from './thread-name.js';
import { TraceRecorder } from './trace/recorder.js';
import { WorkerDriver } from './worker-driver.js';
import type { ReadyMessage, WorkerInput } from './worker-input.js';
import { WorkerLoop } from './worker-loop.js';

async function workerOf(name: string, module: string): Promise<ProtocolWorker> {
  const loaded = (await import(module)) as { default?: Partial<ProtocolWorker> };
  if (typeof loaded.default?.start !== 'function' || typeof loaded.default.records !== 'object') {
    throw new DataPlaneError(
      'ERR_RDMC_INVALID_PROTOCOL',
      `Protocol '${name}': the default export of ${module} must be the result of protocolWorker()`,
    );
  }
  return loaded.default as ProtocolWorker;
}

function createQueue(device: Device, channel: CompletionChannel, depth: number | undefined) {
  const limit = device.attributes.maxCompletionQueueDepth;
  return device.createCompletionQueue({
    depth: depth ?? Math.min(DEFAULT_COMPLETION_QUEUE_DEPTH, limit),
    channel,
  });
}

/** The options of the device: the only message of the application. It may come much later than the worker's start. */
function deviceOptions(): Promise<OpenDeviceOptions> {
  return new Promise((resolve) => parentPort!.once('message', resolve));
}

function ringsOf({ commandRing, eventRing }: WorkerInput, words: Int32Array) {
  const { COMMAND_HEAD, COMMAND_TAIL, EVENT_HEAD, EVENT_TAIL } = ControlWord;
  return {
    commands: new RingReader({ data: commandRing, words, head: COMMAND_HEAD, tail: COMMAND_TAIL }),
    events: new RingWriter({ data: eventRing, words, head: EVENT_HEAD, tail: EVENT_TAIL }),
  };
}

async function main(input: WorkerInput): Promise<void> {
  const words = new Int32Array(input.control);
  const counters = new CounterBlock(input.control);
  const trace = input.trace && new TraceRecorder(input.trace.memory, input.trace.member);
  const wanted = deviceOptions();
  const protocols = await Promise.all(
    input.protocols.map(async ({ name, module, data }) => {
      return { name, data, worker: await workerOf(name, module) };
    }),
  );
  const device = await openDevice(await wanted);
  const protectionDomain = device.allocateProtectionDomain();
  const channel = device.createCompletionChannel();
  const completionQueue = createQueue(device, channel, input.completionQueueDepth);
  const { commands, events } = ringsOf(input, words);
  const signalApplication = eventfdSignaller(input.applicationEventFd);
  const outbox = new EventOutbox(events, words, signalApplication);

  const shutDown = async (): Promise<void> => {
    await host.stop();
    await loop.stop();
    napTimer.close();
    await device.close();
    process.exit(0);
  };
  const host: ProtocolHost = new ProtocolHost({
    device,
    protectionDomain,
    completionQueue,
    counters,
    trace,
    wake: () => loop.askTurn(),
    look: (mayNap) => loop.askLook(mayNap),
    onFailure: (hosted, error) => driver.reportFailure(hosted, error),
  });
  const driver: WorkerDriver = new WorkerDriver(host, {
    counters,
    outbox,
    sent: (delivered) => loop.sent(delivered),
    onStop: () => void shutDown(),
  });
  const napTimer = FineTimer.open(() => loop.endNap());
  const loop: WorkerLoop = new WorkerLoop({
    words,
    counters: counters.values,
    trace,
    commands,
    outbox,
    policy: new PollPolicy(input.windowMs, performance.now()),
    pollBatch: completionQueue.pollBatch,
    armChannel: () => completionQueue.arm({ solicitedOnly: host.waitsForSolicited() }),
    yieldProcessor,
    startNap: () => napTimer.start(NAP_MICROSECONDS),
    signalApplication,
    dispatchCompletions: host.dispatchCompletions,
    dispatchRefused: host.dispatchRefused,
    dispatchCommand: driver.dispatchCommand,
    afterWork: host.afterWork,
    ringDoorbell: host.ringDoorbell,
  });
  channel.onEvent(loop.wakeUp);
  FdWatcher.open(input.workerEventFd, loop.wakeUp);
  for (const { name, data, worker } of protocols) await driver.add(name, data, worker);
  loop.start();
  parentPort!.postMessage(readyMessage(device, protectionDomain));
}

function readyMessage(device: Device, { handle: protectionDomain }: ProtectionDomain): ReadyMessage {
  return { device: device.handle, protectionDomain, choice: device.choice };
}

nameThisThread(THREAD_NAME);
await main(workerData as WorkerInput);
