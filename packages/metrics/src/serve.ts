import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { messageOf } from '@rdmc/common';
import { MetricsError } from './errors.js';
import { Metrics } from './metrics.js';
import { integerOption, invalidOption, onlyKnownOptions, textOption } from './options.js';
import { PROMETHEUS_CONTENT_TYPE } from './prometheus-text.js';

const PATH = '/metrics';
/** A reader is one program or a few; more connections are refused. */
const MOST_CONNECTIONS = 32;
const REQUEST_TIMEOUT_MS = 10_000;

/** The options of {@link serveMetrics}. */
export interface ServeMetricsOptions {
  /** TCP port; 0: any. */
  readonly port: number;
  /** Address to listen at (default 127.0.0.1). Beyond loopback, any host that can connect to it can read the metrics. */
  readonly host?: string;
  /** Default: a new `Metrics({ watchNodes: true })`, closed with the server. */
  readonly metrics?: Metrics;
}

/** An HTTP endpoint for Prometheus. Does not keep the process alive. */
export class MetricsServer implements AsyncDisposable {
  /** The address that it listens at; a name that was given is resolved. */
  readonly host: string;
  /** The port, also where 0 was given. */
  readonly port: number;
  #closing: Promise<void> | undefined;

  /** @internal `serveMetrics` */
  constructor(
    private readonly server: Server,
    /** The metrics that are served. */
    readonly metrics: Metrics,
    private readonly onClosed: () => void,
  ) {
    const { address, port } = server.address() as AddressInfo;
    this.host = address;
    this.port = port;
  }

  /** Where Prometheus reads: `http://127.0.0.1:9464/metrics`. */
  get url(): string {
    const host = this.host.includes(':') ? `[${this.host}]` : this.host;
    return `http://${host}:${this.port}${PATH}`;
  }

  /** Ends all connections, and stops listening. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
    this.onClosed();
  }
}

/**
 * Serves metrics by HTTP: `GET /metrics` answers with the text format of Prometheus.
 * @throws MetricsError ERR_RDMC_METRICS_LISTEN_FAILED with the system's error as `cause`, ERR_RDMC_INVALID_OPTION,
 *   ERR_RDMC_UNKNOWN_OPTION
 */
export async function serveMetrics(options: ServeMetricsOptions): Promise<MetricsServer> {
  onlyKnownOptions('serveMetrics', options, ['port', 'host', 'metrics']);
  const port = integerOption('serveMetrics', 'port', options.port, 0, 65_535);
  const host = textOption('serveMetrics', 'host', options.host ?? '127.0.0.1');
  if (options.metrics !== undefined && !(options.metrics instanceof Metrics)) {
    throw invalidOption('serveMetrics: metrics must be a Metrics of this package');
  }
  const metrics = options.metrics ?? new Metrics({ watchNodes: true });
  const own = options.metrics === undefined ? metrics : undefined;
  // Loaded here, because programs with metrics that nobody serves need no HTTP.
  const { createServer } = await import('node:http');
  const server = createServer((request, response) => answer(metrics, request, response));
  server.maxConnections = MOST_CONNECTIONS;
  server.requestTimeout = REQUEST_TIMEOUT_MS;
  server.headersTimeout = REQUEST_TIMEOUT_MS;
  try {
    server.listen({ host, port });
    await once(server, 'listening');
  } catch (error) {
    own?.close();
    throw new MetricsError(
      'ERR_RDMC_METRICS_LISTEN_FAILED',
      `Metrics cannot be served at ${host}, port ${port}: ${messageOf(error)}; choose another port or address`,
      { cause: error },
    );
  }
  server.unref();
  return new MetricsServer(server, metrics, () => own?.close());
}

function answer(metrics: Metrics, request: IncomingMessage, response: ServerResponse): void {
  const { method, url = '' } = request;
  const [path] = url.split('?');
  response.setHeader('X-Content-Type-Options', 'nosniff');
  if (path !== PATH) {
    reply(response, 404, `The metrics are at ${PATH}\n`);
    return;
  }
  if (method !== 'GET' && method !== 'HEAD') {
    response.setHeader('Allow', 'GET, HEAD');
    reply(response, 405, 'Use GET\n');
    return;
  }
  try {
    const text = metrics.text();
    response.setHeader('Content-Type', PROMETHEUS_CONTENT_TYPE);
    response.end(text);
  } catch (error) {
    reply(response, 500, `The metrics cannot be read: ${messageOf(error)}\n`);
  }
}

function reply(response: ServerResponse, status: number, text: string): void {
  response.statusCode = status;
  response.setHeader('Content-Type', 'text/plain; charset=utf-8');
  response.end(text);
}
