// HiPower against confirmation per work request, side by side.
// Usage: node tools/bench/hipower/run.mjs one|gather|broadcast|latency|streams|load|idle|flow|stream|sizes [shm|tcp] [rounds]
import { broadcast, gather, idle, latency, load, one, streams } from './cases.mjs';
import { Crew } from './crew.mjs';
import { flow, stream } from './flow.mjs';
import { sizes } from './sizes.mjs';

const [name = 'one', transport = 'shm', rounds = '3'] = process.argv.slice(2);
const cases = { one, gather, broadcast, latency, streams, load, idle, flow, stream, sizes };
if (!cases[name]) {
  console.error(`there is no benchmark '${name}'; there are ${Object.keys(cases).join(', ')}`);
  process.exit(2);
}
const kind = process.env.RDMC_BENCH_DEVICE ?? 'soft';
const lab = process.env.RDMC_BENCH_LAB;
const devices =
  kind === 'soft'
    ? [{ device: 'soft', transport: lab ? 'tcp' : transport }]
    : kind.split(',').map((device) => ({ device }));
const peers = Number(process.env.RDMC_BENCH_PEERS ?? 2);
const count = ['gather', 'broadcast', 'load', 'streams'].includes(name) ? 1 + peers : 2;
const crew = await (lab ? Crew.startInLab(count, devices, lab) : Crew.start(count, devices));
try {
  const way = lab ? ` over TCP between hosts, links of ${lab}` : kind === 'soft' ? ` over ${transport}` : '';
  console.log(`# ${name}, device ${kind}${way}, ${rounds} rounds, medians`);
  await cases[name](crew, Number(rounds));
} finally {
  await crew.stop();
}
