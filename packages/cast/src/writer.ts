import { workerData } from 'node:worker_threads';
import { answerCalls } from './worker-calls.js';
import { systemSync } from './writer/sync-port.js';
import { writerCalls } from './writer/writer-calls.js';

/** The receiver's thread that checks, hashes and stores files. `workerData.signs`: see `WriterSigns`. */

const { signs } = workerData as { readonly signs: Int32Array };
const { calls, ahead } = writerCalls(signs, systemSync);
answerCalls(calls, undefined, ahead);
