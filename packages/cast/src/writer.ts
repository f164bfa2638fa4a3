import { workerData } from 'node:worker_threads';
import { answerCalls } from './worker-calls.js';
import { systemSync } from './writer/sync-port.js';
import { writerCalls } from './writer/writer-calls.js';

/** The thread that checks, hashes and stores what a receiver gets. `workerData.signs`: see `WriterSigns`. */

const { signs } = workerData as { readonly signs: Int32Array };
const { calls, ahead } = writerCalls(signs, systemSync);
answerCalls(calls, undefined, ahead);
