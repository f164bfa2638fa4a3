import { averageSlack, createSchedule, rackTraffic } from '@rdmc/schedule';

// Eight members, a message of three blocks: what happens in each step.
const schedule = createSchedule({ algorithm: 'binomial-pipeline', nodes: 8, blocks: 3 });
for (let step = 0; step < schedule.steps; step += 1) {
  const sends = [...schedule.at(step)].map(({ from, to, block }) => `${from}→${to} block ${block}`);
  console.log(`step ${step}: ${sends.join(', ')}`);
}
console.log(`average slack in step 3: ${averageSlack(schedule, 3).toFixed(3)} steps`);

// One member's part of a large group, computed without the tables of the others.
const large = createSchedule({ algorithm: 'binomial-pipeline', nodes: 100_000, blocks: 64 });
const { sends, receives } = large.rank(99_999);
const { firstFrom } = large.neighbours(99_999);
console.log(`100,000 members, 64 blocks: ${large.steps} steps`);
console.log(
  `rank 99,999 receives ${receives.length} blocks, the first from ${firstFrom}, and sends ${sends.length}`,
);

// Four racks of four: each block enters each rack once.
const racks = Array.from({ length: 16 }, (_, rank) => `rack ${Math.floor(rank / 4)}`);
for (const algorithm of ['binomial-pipeline', 'hybrid']) {
  const racked = createSchedule({ algorithm, nodes: 16, blocks: 64, racks });
  const entering = rackTraffic(racked).map((traffic) => traffic.entering);
  console.log(`${algorithm}: ${racked.steps} steps; blocks entering each rack: ${entering.join(', ')}`);
}
