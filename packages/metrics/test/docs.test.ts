import { readFileSync } from 'node:fs';
import { RdmcNode } from '@rdmc/group';
import { Metrics, metricsErrors } from '@rdmc/metrics';
import { expectExample } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';

const root = new URL('..', import.meta.url);
const readme = readFileSync(new URL('README.md', root), 'utf8');

/** The first cells of the table rows that are in backticks. */
function listed(pattern: RegExp): string[] {
  return [...readme.matchAll(/^\| (`[^|]*`) +\|/gm)].flatMap(([, cell]) => cell!.match(pattern) ?? []);
}

describe('the README', () => {
  it('shows the example, and what it prints', () => expectExample(root));
  it('shows the example with nodes, and what it prints', () => expectExample(root, 'node-example.mjs'));

  it('lists every metric of a node, and no other', async () => {
    using metrics = new Metrics({ watchNodes: true });
    const nodes = await RdmcNode.loopback(2, { device: 'soft' });
    const names = metrics.families().map(({ name }) => name);
    await nodes.close();
    // Groups have no counters of their own.
    expect(listed(/rdmc_\w+/g).sort()).toEqual([...names, 'rdmc_protocol_counter_total'].sort());
  });

  it('lists every error code', () => {
    expect(listed(/ERR_RDMC_\w+/g).sort()).toEqual(Object.keys(metricsErrors).sort());
  });
});
