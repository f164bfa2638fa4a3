/** Entry of a peer in a worker thread or a process of its own. Ends when the test's side disconnects. */
import { parentPort } from 'node:worker_threads';
import { recordOf } from '../errors.js';
import { Agent, type CallMessage } from './agent.js';

const agent = new Agent();

async function answer(message: CallMessage, reply: (value: unknown) => void): Promise<void> {
  try {
    reply({ id: message.id, value: await agent.handle(message.name, message.args as never) });
  } catch (error) {
    reply({ id: message.id, error: recordOf(error) });
  }
}

if (parentPort) {
  const port = parentPort;
  port.on('message', (message: CallMessage) => void answer(message, (value) => port.postMessage(value)));
} else {
  process.on('message', (message: CallMessage) => void answer(message, (value) => process.send?.(value)));
  process.on('disconnect', () => process.exit(0));
}
