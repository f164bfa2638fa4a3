import { Buffer } from 'node:buffer';
import {
  AggregationTemporality,
  DataPointType,
  InMemoryMetricExporter,
  MeterProvider,
  type MetricData,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { RdmcNode } from '@rdmc/group';
import { Metrics } from '@rdmc/metrics';
import { observe } from '@rdmc/metrics/opentelemetry';
import { expect, it, onTestFinished } from 'vitest';

/** A meter of the real SDK, and what it collects, by name. */
function telemetry() {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  const provider = new MeterProvider({ readers: [reader] });
  onTestFinished(() => provider.shutdown());
  const collect = async (): Promise<Map<string, MetricData>> => {
    const { resourceMetrics, errors } = await reader.collect();
    expect(errors).toEqual([]);
    const all = resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics);
    return new Map(all.map((metric) => [metric.descriptor.name, metric]));
  };
  return { meter: provider.getMeter('rdmc'), collect };
}

it('OpenTelemetry gets counters, gauges and histograms, with units, until the end', async () => {
  const { meter, collect } = telemetry();
  using metrics = new Metrics({ watchNodes: true });
  const observation = observe(meter, metrics);
  expect((await collect()).get('rdmc.nodes')).toMatchObject({ dataPoints: [{ value: 0 }] });
  const nodes = await RdmcNode.loopback(2, { device: 'soft' });
  const groups = await Promise.all(nodes.map((node) => node.createGroup({ id: 1, members: [0, 1] })));
  await groups[0]!.send(Buffer.alloc(2000));
  await groups[0]!.close();
  await collect(); // finds the metrics of the first nodes
  const found = await collect();
  expect(found.get('rdmc.nodes')).toMatchObject({ dataPoints: [{ value: 2 }] });
  expect(found.get('rdmc.completions')).toMatchObject({
    descriptor: { unit: '1' },
    dataPointType: DataPointType.SUM,
    isMonotonic: true,
    dataPoints: [{ attributes: { node: '0' } }, { attributes: { node: '1' } }],
  });
  expect(found.get('rdmc.polling')?.descriptor.unit).toBe('s');
  expect(found.get('rdmc.command_ring')?.descriptor.unit).toBe('By');
  expect(found.get('rdmc.device_copied')?.descriptor.unit).toBe('By');
  const durations = found.get('rdmc.operation_duration')!;
  expect(durations).toMatchObject({ descriptor: { unit: 's' }, dataPointType: DataPointType.HISTOGRAM });
  const sends = durations.dataPoints.find(({ attributes }) => attributes.operation === 'group:send');
  expect(sends).toMatchObject({ attributes: { outcome: 'ok' }, value: { count: 1 } });
  const sizes = found.get('rdmc.message_size')!.dataPoints;
  expect(sizes).toMatchObject([{ attributes: { operation: 'group:send' }, value: { count: 1, sum: 2000 } }]);
  observation.close();
  await nodes.close();
  // The SDK repeats the last value; it is not read any more.
  expect((await collect()).get('rdmc.nodes')).toMatchObject({ dataPoints: [{ value: 2 }] });
});
