// Time and memory of large simulations: node bench/scale.mjs [case]. Each case runs in a process of its own.
import { execFileSync } from 'node:child_process';
import { simulate } from '@rdmc/simulator';

const MIB = 2 ** 20;
const CASES = {
  '1024 x 256, windows 1/1': { nodes: 1024, windows: 'single' },
  '2048 x 256, windows 1/1': { nodes: 2048, windows: 'single' },
  '4096 x 256, windows 1/1': { nodes: 4096, windows: 'single' },
  '512 x 256, windows 32/4': { nodes: 512, windows: 'shipped' },
};

const wanted = process.argv[2];
if (wanted === undefined) {
  for (const name of Object.keys(CASES)) {
    process.stdout.write(execFileSync(process.execPath, [import.meta.filename, name]));
  }
} else {
  const { nodes, windows } = CASES[wanted];
  const started = performance.now();
  const { transfers, events, microseconds } = simulate({
    cluster: 'sierra',
    nodes,
    windows,
    byteLength: 256 * MIB,
    blockBytes: MIB,
  });
  const seconds = (performance.now() - started) / 1000;
  const { user, system } = process.cpuUsage();
  const processor = (user + system) / 1e6;
  const peak = process.resourceUsage().maxRSS / 1024;
  const each = (1e6 * processor) / transfers;
  console.log(
    `${wanted}: ${seconds.toFixed(1)} s, processor ${processor.toFixed(1)} s, ${peak.toFixed(0)} MiB, ${events} events, ` +
      `${each.toFixed(1)} us of processor for each transfer; simulated ${(microseconds / 1000).toFixed(2)} ms`,
  );
}
