// The other process of a measurement.
import { openEnd } from './end.mjs';
import { answerByEvents, answerByWaits, answerWrites, receiveAll } from './loops.mjs';

const end = await openEnd(process.argv[2]);
const tasks = { receiveAll, answerWrites, answerByEvents, answerByWaits };

process.on('message', async ({ connect, task, options }) => {
  if (connect) {
    await end.connect(connect);
    process.send('connected');
    return;
  }
  await tasks[task](end, options, () => process.send('begun'));
  process.send('ended');
});
process.on('disconnect', () => process.exit(0));
process.send({ address: end.queuePair.address, region: end.region.remote() });
