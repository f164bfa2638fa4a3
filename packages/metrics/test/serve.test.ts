import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { Metrics, PROMETHEUS_CONTENT_TYPE, parseMetricsAddress, serveMetrics } from '@rdmc/metrics';
import { rejection, thrown } from '@rdmc/testing';
import { describe, expect, it, onTestFinished } from 'vitest';

async function serve(options: Partial<Parameters<typeof serveMetrics>[0]> = {}) {
  const server = await serveMetrics({ port: 0, ...options });
  onTestFinished(() => server.close());
  return server;
}

describe('the endpoint', () => {
  it('answers with the metrics, on loopback', async () => {
    const metrics = new Metrics({ operations: [] });
    const server = await serve({ metrics });
    expect(server.host).toBe('127.0.0.1');
    expect(server.url).toBe(`http://127.0.0.1:${server.port}/metrics`);
    const response = await fetch(`${server.url}?a=b`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe(PROMETHEUS_CONTENT_TYPE);
    expect(await response.text()).toBe(metrics.text());
    const head = await fetch(server.url, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
  });

  it('refuses other paths and methods, and reports an error of a gauge', async () => {
    const metrics = new Metrics({ operations: [] });
    const server = await serve({ metrics });
    const other = await fetch(new URL('/', server.url));
    expect([other.status, await other.text()]).toEqual([404, 'The metrics are at /metrics\n']);
    const post = await fetch(server.url, { method: 'POST', body: 'x' });
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    metrics.gauge('broken', 'Throws.', () => {
      throw new Error('out of order');
    });
    const broken = await fetch(server.url);
    expect(broken.status).toBe(500);
    expect(await broken.text()).toContain('out of order');
  });

  it('has metrics of its own unless it gets some, and closes those alone', async () => {
    const server = await serve({ host: '::1' });
    expect(server.url).toBe(`http://[::1]:${server.port}/metrics`);
    expect(await (await fetch(server.url)).text()).toContain('rdmc_nodes 0\n');
    await server.close();
    await server.close();
    await expect(fetch(server.url)).rejects.toThrow();
  });

  it('names a port that is taken, and wrong options', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void taken.close());
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const error = await rejection(serveMetrics({ port }));
    expect(error).toMatchObject({ name: 'MetricsError', code: 'ERR_RDMC_METRICS_LISTEN_FAILED' });
    expect(error.cause).toMatchObject({ code: 'EADDRINUSE' });
    for (const options of [{}, { port: -1 }, { port: 1, host: '' }, { port: 1, metrics: {} }]) {
      expect(await rejection(serveMetrics(options as never))).toMatchObject({
        code: 'ERR_RDMC_INVALID_OPTION',
      });
    }
    expect(await rejection(serveMetrics({ port: 1, path: '/' } as never))).toMatchObject({
      code: 'ERR_RDMC_UNKNOWN_OPTION',
    });
  });
});

describe('an address on the command line', () => {
  it.each([
    ['9464', '127.0.0.1', 9464],
    ['0', '127.0.0.1', 0],
    ['0.0.0.0:65535', '0.0.0.0', 65_535],
    ['host.example:80', 'host.example', 80],
    ['[::1]:9464', '::1', 9464],
  ])('%s', (text, host, port) => expect(parseMetricsAddress(text)).toEqual({ host, port }));

  it.each(['', 'x', ':1', '65536', '1.5', '-1', 'a:b', '::1:9464', '[::1]', '[x]:1', 'a b:1', 'a:1:2'])(
    'not %j',
    (text) => {
      const error = thrown(() => parseMetricsAddress(text));
      expect(error).toMatchObject({ code: 'ERR_RDMC_INVALID_OPTION' });
      expect((error as Error).message).toContain(`'${text}'`);
    },
  );
});
