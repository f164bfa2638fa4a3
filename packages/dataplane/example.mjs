// A protocol and its application in one file. The data plane imports this file in its worker as well, so the
// application's part runs in the main thread only.
import { isMainThread } from 'node:worker_threads';
import { DataPlane } from '@rdmc/dataplane';

const Command = { ECHO: 1 };
const Event = { HALFWAY: 1 };

/** Runs in the worker. */
export default function echo(context) {
  const echoed = context.counter('bytes');
  return {
    onCommand(kind, requestId, payload) {
      if (kind !== Command.ECHO) {
        context.fail(requestId, 'ERR_ECHO_UNKNOWN_COMMAND', `echo knows no command ${kind}`);
        return;
      }
      echoed.add(payload.byteLength);
      if (payload[0] === 50) context.emit(Event.HALFWAY, payload);
      context.reply(requestId, payload);
    },
  };
}

/** Runs in the application. */
async function main() {
  const plane = await DataPlane.start({
    protocols: [{ name: 'echo', module: import.meta.url }],
  });
  plane.onEvent('echo', (kind) => {
    if (kind === Event.HALFWAY) console.log('halfway');
  });
  for (let i = 0; i < 100; i += 1) {
    const answer = await plane.command('echo', Command.ECHO, Uint8Array.of(i));
    if (answer[0] !== i) throw new Error(`sent ${i}, got ${answer[0]}`);
  }
  await plane.command('echo', 99).catch((error) => console.log(`${error.code}: ${error.message}`));
  const { commands, replies, events, named } = plane.counters();
  console.log({ commands, replies, events, echoed: named['echo.bytes'] });
  await plane.close();
}

if (isMainThread) await main();
