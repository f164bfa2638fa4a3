import { type Algorithm, createSchedule, type Schedule } from '@rdmc/schedule';
import { formatCount, plural } from '../ui/units.js';

const HOW: Readonly<Record<Algorithm, string>> = {
  sequential: 'The root sends the whole message to one member after the other: only its link is busy.',
  chain: 'Each member forwards each block to the next one: all links are busy once the chain is filled.',
  'binomial-tree':
    'Each member with the whole message sends it to another: their number doubles each round, and the others wait.',
  'binomial-pipeline':
    'Members exchange blocks along the edges of a hypercube: after the first few steps all members send and receive.',
  hybrid:
    'A binomial pipeline among the racks, and one in each rack: a block enters a rack once, and idle members forward it.',
};

/** Steps of the other algorithms for the same message. */
function comparison(schedule: Schedule): string {
  const { nodes, blocks, racks } = schedule;
  const names: Algorithm[] = ['sequential', 'chain', 'binomial-tree', 'binomial-pipeline'];
  if (racks) names.push('hybrid');
  const others = names.filter((algorithm) => algorithm !== schedule.algorithm);
  const steps = others.map((algorithm) => {
    const other = createSchedule({ algorithm, nodes, blocks, racks });
    return `${algorithm} ${formatCount(other.steps)}`;
  });
  return `Steps of the other algorithms: ${steps.join(', ')}.`;
}

/** A few sentences below a drawing. */
export function summarise(schedule: Schedule): string[] {
  const { nodes, blocks, steps, algorithm } = schedule;
  const least = blocks + Math.ceil(Math.log2(nodes)) - 1;
  const verdict =
    steps === least
      ? 'no schedule with one send and one receive per step needs fewer'
      : `the least possible is ${formatCount(least)}`;
  return [
    `${algorithm}: ${plural(nodes, 'member')}, ${plural(blocks, 'block')}, ${plural(steps, 'step')}; ${verdict}.`,
    HOW[algorithm],
    comparison(schedule),
  ];
}
