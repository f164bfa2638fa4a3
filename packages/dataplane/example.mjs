// A protocol and its application in one file. The data plane imports this file in its worker as well, so the
// application's part runs in the main thread only.
import { isMainThread } from 'node:worker_threads';
import { bytes, call, DataPlane, numbers, post, protocolWorker, recordTable } from '@rdmc/dataplane';

/** The commands and events between the application and the protocol. */
const records = recordTable({
  commands: {
    echo: call(bytes, bytes),
    add: post(numbers(2)),
    sum: call(numbers(0), numbers(1)),
  },
  events: { large: numbers(1) },
});

/** Runs in the worker. */
export default protocolWorker(records, (context) => {
  const echoed = context.counter('bytes');
  let sum = 0;
  return {
    commands: {
      echo(payload) {
        if (payload.byteLength === 0) {
          throw Object.assign(new Error('nothing to echo'), { code: 'ERR_ECHO_EMPTY' });
        }
        echoed.add(payload.byteLength);
        return payload;
      },
      add(a, b) {
        sum += a + b;
        if (sum > 100) context.events.large(sum);
      },
      sum: () => sum,
    },
  };
});

/** Runs in the application. */
async function main() {
  const plane = await DataPlane.open({
    protocols: [{ name: 'echo', module: import.meta.url }],
  });
  const echo = plane.connect('echo', records, {
    large: (sum) => console.log(`${sum} is a lot`),
  });
  for (let i = 0; i < 100; i += 1) {
    const [answer] = await echo.echo(Uint8Array.of(i));
    if (answer !== i) throw new Error(`sent ${i}, got ${answer}`);
  }
  echo.add(0.5, 41.5);
  echo.add(30, 30);
  console.log(`the sum is ${await echo.sum()}`);
  await echo.echo(new Uint8Array()).catch((error) => console.log(`${error.code}: ${error.message}`));
  const { commands, replies, events, named } = plane.counters();
  console.log({ commands, replies, events, echoed: named['echo.bytes'] });
  await plane.close();
}

if (isMainThread) await main();
