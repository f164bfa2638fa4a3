// HiPower against confirmation per work request, side by side.
// Usage: node tools/bench/hipower/run.mjs one|gather|broadcast|latency|load|idle [shm|tcp] [rounds]
import { broadcast, gather, idle, latency, load, one } from './cases.mjs';
import { Crew } from './crew.mjs';

const [name = 'one', transport = 'shm', rounds = '3'] = process.argv.slice(2);
const cases = { one, gather, broadcast, latency, load, idle };
if (!cases[name]) {
  console.error(`there is no benchmark '${name}'; there are ${Object.keys(cases).join(', ')}`);
  process.exit(2);
}
const kind = process.env.RDMC_BENCH_DEVICE ?? 'soft';
const device = kind === 'soft' ? { device: 'soft', transport } : { device: kind };
const crew = await Crew.start(['gather', 'broadcast', 'load'].includes(name) ? 3 : 2, device);
try {
  console.log(
    `# ${name}, device ${kind}${kind === 'soft' ? ` over ${transport}` : ''}, ${rounds} rounds, medians`,
  );
  await cases[name](crew, Number(rounds));
} finally {
  await crew.stop();
}
