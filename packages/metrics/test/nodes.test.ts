import { Buffer } from 'node:buffer';
import { RdmcNode } from '@rdmc/group';
import { type MeasuredNode, Metrics, type ScalarFamily } from '@rdmc/metrics';
import { rejection } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';

function family(metrics: Metrics, name: string): ScalarFamily {
  const found = metrics.families().find((each) => each.name === name);
  if (!found || found.type === 'histogram') throw new Error(`no ${name}`);
  return found;
}

function valueIn(metrics: Metrics, name: string, labels: Record<string, string>): number | undefined {
  const wanted = Object.entries(labels);
  const samples = family(metrics, name).samples.filter((sample) =>
    wanted.every(([label, value]) => sample.labels[label] === value),
  );
  return samples.length === 0 ? undefined : samples.reduce((sum, { value }) => sum + value, 0);
}

/** Sends messages of these sizes from the first node to the others. */
async function send(nodes: readonly RdmcNode[], sizes: readonly number[]): Promise<void> {
  const members = nodes.map(({ id }) => id);
  const [root] = await Promise.all(nodes.map((node) => node.createGroup({ id: 1, members })));
  await Promise.all(sizes.map((size) => root!.send(Buffer.alloc(size))));
  await root!.close();
}

describe('the metrics of nodes', () => {
  it('are those of the workers, devices and meshes, also after the nodes have closed', async () => {
    using metrics = new Metrics({ watchNodes: true });
    const nodes = await RdmcNode.loopback(2, { device: 'soft' });
    await send(nodes, [100_000, 5]);
    expect(valueIn(metrics, 'rdmc_nodes', {})).toBe(2);
    expect(valueIn(metrics, 'rdmc_mesh_peers', { node: '0', state: 'connected' })).toBe(1);
    expect(valueIn(metrics, 'rdmc_mesh_peers', { node: '0', state: 'failed' })).toBe(0);
    expect(valueIn(metrics, 'rdmc_node_info', { node: '1', kind: 'soft' })).toBe(1);
    const { completions, pollingMicroseconds } = nodes[1]!.counters();
    expect(valueIn(metrics, 'rdmc_completions_total', { node: '1' })).toBeGreaterThanOrEqual(completions);
    expect(valueIn(metrics, 'rdmc_polling_seconds_total', { node: '1' })).toBeGreaterThanOrEqual(
      pollingMicroseconds / 1e6,
    );
    expect(valueIn(metrics, 'rdmc_device_copied_bytes_total', {})).toBeGreaterThan(100_000);
    await nodes.close();
    expect(valueIn(metrics, 'rdmc_nodes', {})).toBe(0);
    expect(valueIn(metrics, 'rdmc_completions_total', { node: '1' })).toBeGreaterThanOrEqual(completions);
    expect(valueIn(metrics, 'rdmc_device_copied_bytes_total', {})).toBeGreaterThan(100_000);
    expect(metrics.families().some(({ name }) => name === 'rdmc_mesh_peers')).toBe(false);
  });

  it('have the counters of protocols, and keep those of a device that is closed', async () => {
    using metrics = new Metrics({ operations: [] });
    const [node] = await RdmcNode.loopback(1, { device: 'soft' });
    const end = new AbortController();
    let close!: () => void;
    const closed = new Promise<void>((resolve) => {
      close = resolve;
    });
    let isOpen = true;
    const fake: MeasuredNode = {
      id: 5,
      counters: () => ({ ...node!.counters(), named: { 'tailwind.writes.posted': 7 } }),
      device: {
        kind: 'soft',
        name: 'soft',
        counters: () => {
          if (isOpen) return { requests: 3, mappedBytes: 9 };
          throw new Error('closed');
        },
      },
      mesh: { peers: new Map([[1, { state: 'failed' }]]) },
      signal: end.signal,
      closed,
    };
    metrics.add(fake);
    end.abort();
    isOpen = false;
    const protocol = { node: '5', protocol: 'tailwind', counter: 'writes.posted' };
    expect(valueIn(metrics, 'rdmc_protocol_counter_total', protocol)).toBe(7);
    expect(valueIn(metrics, 'rdmc_device_mapped_bytes', { node: '5' })).toBe(9);
    close();
    await closed;
    expect(valueIn(metrics, 'rdmc_nodes', {})).toBe(0);
    expect(valueIn(metrics, 'rdmc_protocol_counter_total', protocol)).toBe(7);
    expect(valueIn(metrics, 'rdmc_device_requests_total', { node: '5' })).toBe(3);
    expect(metrics.families().some(({ name }) => name === 'rdmc_device_mapped_bytes')).toBe(false);
    await node!.close();
  });

  it('do not decrease when further nodes with the same labels come and go', async () => {
    using metrics = new Metrics({ operations: [] });
    let last = 0;
    for (let round = 0; round < 3; round += 1) {
      const nodes = await RdmcNode.loopback(2, { device: 'soft' });
      for (const node of nodes) metrics.add(node, { pool: 'a' });
      metrics.add(nodes[0]!, { pool: 'twice' });
      await send(nodes, [1000]);
      const now = valueIn(metrics, 'rdmc_completions_total', { pool: 'a' })!;
      expect(now).toBeGreaterThan(last);
      await nodes.close();
      last = valueIn(metrics, 'rdmc_completions_total', { pool: 'a' })!;
      expect(last).toBeGreaterThanOrEqual(now);
    }
    expect(valueIn(metrics, 'rdmc_completions_total', { pool: 'twice' })).toBeUndefined();
  });

  it('end when they are not wanted any more', async () => {
    const metrics = new Metrics({ watchNodes: true });
    const [node] = await RdmcNode.loopback(1, { device: 'soft' });
    const other = metrics.add(node!);
    other.close();
    expect(valueIn(metrics, 'rdmc_nodes', {})).toBe(1);
    metrics.close();
    const [late] = await RdmcNode.loopback(1, { device: 'soft' });
    expect(valueIn(metrics, 'rdmc_nodes', {})).toBe(1);
    const subscription = metrics.add(late!, { node: 'late' });
    expect(valueIn(metrics, 'rdmc_nodes', {})).toBe(2);
    subscription.close();
    expect(valueIn(metrics, 'rdmc_nodes', {})).toBe(1);
    await Promise.all([node!.close(), late!.close()]);
  });
});

describe('the durations of operations', () => {
  it('are counted by operation and outcome, with the codes of errors and the sizes of messages', async () => {
    using metrics = new Metrics();
    const nodes = await RdmcNode.loopback(2, { device: 'soft' });
    await send(nodes, [3000, 5]);
    const members = [0, 1];
    const [root, receiver] = await Promise.all(nodes.map((node) => node.createGroup({ id: 2, members })));
    await rejection(receiver!.send(Buffer.alloc(1)));
    await rejection(nodes[0]!.createGroup({ id: 2, members: [0] }));
    await root!.close();
    const text = metrics.text();
    const count = (operation: string, outcome: string) =>
      `rdmc_operation_duration_seconds_count{operation="${operation}",outcome="${outcome}"}`;
    expect(text).toContain(`${count('group:send', 'ok')} 2\n`);
    expect(text).toContain(`${count('group:send', 'error')} 1\n`);
    expect(text).toContain(
      'rdmc_operation_errors_total{operation="group:send",code="ERR_RDMC_NOT_ROOT"} 1\n',
    );
    expect(text).toContain(`${count('node:join', 'ok')} 2\n`);
    expect(text).toContain(`${count('group:create', 'ok')} 4\n`);
    expect(text).toContain('rdmc_message_size_bytes_bucket{operation="group:send",le="1024"} 1\n');
    expect(text).toContain('rdmc_message_size_bytes_sum{operation="group:send"} 3005\n');
    await nodes.close();
  });

  it('are not taken after the end, nor of other operations', async () => {
    const metrics = new Metrics({ operations: ['node:join'] });
    const nodes = await RdmcNode.loopback(2, { device: 'soft' });
    metrics.close();
    await (await RdmcNode.loopback(1, { device: 'soft' })).close();
    await send(nodes, [1]);
    const counts = metrics
      .text()
      .split('\n')
      .filter((line) => line.includes('_seconds_count'));
    expect(counts).toEqual(['rdmc_operation_duration_seconds_count{operation="node:join",outcome="ok"} 2']);
    await nodes.close();
  });
});
