import { simulate, validate } from '@rdmc/simulator';

// Known results first: step counts, max-min shares, buckets, slow links, slack, racks, recoveries, conservation.
const properties = validate();
console.log(`${properties.length} properties of the simulator hold`);

const MIB = 2 ** 20;
const milliseconds = ({ microseconds }) => `${(microseconds / 1000).toFixed(2)} ms`;

// 256 MiB on Fractus, in blocks of 1 MiB.
for (const algorithm of ['sequential', 'binomial-tree', 'chain', 'binomial-pipeline']) {
  const report = simulate({ cluster: 'fractus', nodes: 16, algorithm, byteLength: 256 * MIB });
  console.log(`${algorithm}: ${milliseconds(report)}, ${report.gbitPerSecond.toFixed(1)} Gbit/s`);
}

// The transfer of Table 1 of the RDMC paper, with the windows of the paper's implementation.
const table1 = simulate({
  cluster: 'stampede',
  nodes: 4,
  byteLength: 256 * MIB,
  windows: 'paper',
  trace: true,
});
console.log(`Table 1: ${milliseconds(table1)}; the paper has 62.08 ms`);

// The processor of node 1 is away for 100 µs, just before a block arrives there. What did the root wait for?
const { received } = table1.trace.find(({ node, step }) => node === 1 && step === 126);
const preempted = simulate({
  cluster: 'stampede',
  nodes: 4,
  byteLength: 256 * MIB,
  windows: 'paper',
  preemptions: [{ node: 1, at: received - 1, lasts: 100 }],
  trace: true,
});
const longest = (report) => {
  // The first steps wait for the copy of the first block.
  const waits = report.trace.filter(({ node, step, posted }) => node === 0 && step > 8 && posted !== null);
  const gaps = waits.slice(1).map((record, i) => ({ record, gap: record.started - waits[i].finished }));
  return gaps.reduce((a, b) => (b.gap > a.gap ? b : a));
};
const { record, gap } = longest(preempted);
console.log(`preempted: ${milliseconds(preempted)}; longest wait of the root: ${gap.toFixed(0)} us`);
console.log(`  in step ${record.step}, for ${record.waitedFor} of node ${record.waitedForNode}`);
