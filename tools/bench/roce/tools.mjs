import { readFileSync } from 'node:fs';

export const ROUNDS = Number(process.env.RDMC_BENCH_ROUNDS ?? 5);
export const MIB = 1 << 20;

export const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];

/** Runs each of `rivals` ROUNDS times, in turn; resolves with the numbers of each. */
export async function alternating(rivals) {
  const results = Object.fromEntries(Object.keys(rivals).map((name) => [name, []]));
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [name, measure] of Object.entries(rivals)) results[name].push(await measure());
  }
  return results;
}

/** One line: the medians, their ratio, and every number. */
export function report(title, unit, { ours, theirs }) {
  const shown = (values) => values.map((value) => value.toFixed(1)).join(' ');
  const [a, b] = [median(ours), median(theirs)];
  console.log(
    `${title}: ${a.toFixed(1)} against ${b.toFixed(1)} ${unit}, ${(a / b).toFixed(2)}   (${shown(ours)} | ${shown(theirs)})`,
  );
}

const TICKS_PER_SECOND = 100;

/** Seconds that the machine's processors were busy, the kernel's own work (rxe's) included. */
export function busySeconds() {
  const [, user, nice, system, , , irq, softirq] = readFileSync('/proc/stat', 'utf8')
    .split(/\s+/)
    .map(Number);
  return (user + nice + system + irq + softirq) / TICKS_PER_SECOND;
}
