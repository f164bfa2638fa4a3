// The protocol's worker, with a counter that holds its last answer to `waitsForSolicited`: 1 or 0.

import { protocolWorker } from '@rdmc/dataplane';
import hiPower from '../../dist/worker.js';

export default protocolWorker(hiPower.records, async (context) => {
  const protocol = await hiPower.start(context);
  const counter = context.counter('waitsForSolicited');
  const ask = protocol.waitsForSolicited.bind(protocol);
  let last = 0;
  protocol.waitsForSolicited = () => {
    const answer = ask();
    counter.add(Number(answer) - last);
    last = Number(answer);
    return answer;
  };
  return protocol;
});
