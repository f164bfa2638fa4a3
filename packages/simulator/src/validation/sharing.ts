import { Clock } from '../clock.js';
import { Flow, Link } from '../flow.js';
import { Network } from '../network.js';
import type { Check } from './check.js';

/** A flow of which only the rate is wanted: the clock does not run. */
class RatedFlow extends Flow {
  fire(): void {}
}

/** The max-min fair rates of flows over these paths; a path is a list of indices of `capacities`. */
export function fairRates(capacities: readonly number[], paths: readonly (readonly number[])[]): number[] {
  const links = capacities.map((capacity, index) => new Link(String(index), capacity));
  const network = new Network(new Clock(), 0);
  const flows = paths.map((path) => {
    return new RatedFlow(
      path.map((index) => links[index]!),
      1,
    );
  });
  for (const flow of flows) network.start(flow);
  network.settle();
  return flows.map(({ rate }) => rate);
}

function rateChecks(what: string, rates: readonly number[], expected: readonly number[]): Check[] {
  return rates.map((found, flow) => ({
    what: `${what}, flow ${flow}`,
    expected: expected[flow]!,
    found,
    relation: 'equal',
  }));
}

/** m flows, each from its own port, into one sink get an m-th of it each. */
export function sinkChecks(flows: number): Check[] {
  const capacities = Array<number>(flows + 1).fill(100);
  const paths = Array.from({ length: flows }, (_, flow) => [flow + 1, 0]);
  const rates = fairRates(capacities, paths);
  return rateChecks(
    `${flows} flows into one sink`,
    rates,
    rates.map(() => 100 / flows),
  );
}

/** The parking lot: one flow over all links in a row, and one flow over each of them. */
export function parkingLotChecks(links: number): Check[] {
  const capacities = Array.from({ length: links }, (_, link) => 100 + 10 * link);
  const paths = [capacities.map((_, link) => link), ...capacities.map((_, link) => [link])];
  const expected = [50, ...capacities.map((capacity) => capacity - 50)];
  return rateChecks(`a parking lot of ${links} links`, fairRates(capacities, paths), expected);
}

/** Two racks: some flows cross an uplink of 40, and one stays inside and gets the rest of a port that it shares. */
export function rackChecks(crossing: number): Check[] {
  const capacities = [40, ...Array<number>(2 * crossing + 1).fill(100)];
  const across = Array.from({ length: crossing }, (_, flow) => [1 + flow, 0, 1 + crossing + flow]);
  const paths = [...across, [1, 1 + 2 * crossing]];
  const share = 40 / crossing;
  const expected = [...across.map(() => share), 100 - share];
  return rateChecks(`two racks with ${crossing} flows between them`, fairRates(capacities, paths), expected);
}
