// An endpoint for Prometheus, with a counter of the application beside the metrics of rdmc.
import { Metrics, serveMetrics } from '@rdmc/metrics';

const metrics = new Metrics({ watchNodes: true }); // every node that joins in this thread from now on
const jobs = metrics.counter('jobs_total', 'Jobs that have ended, by outcome.');
const server = await serveMetrics({ port: 0, metrics }); // 0: any free port; Prometheus' reader needs a fixed one

jobs.add(2, { outcome: 'ok' });
jobs.add(1, { outcome: 'failed' });

const response = await fetch(server.url);
const text = await response.text();
console.log(text.slice(text.indexOf('# HELP jobs_total')).trimEnd());

await server.close();
metrics.close();
