import assert from 'node:assert/strict';
import type { DeviceSource } from './agent/device-calls.js';
import { CHAPTERS, type ChapterName } from './chapters/index.js';
import { ComplianceError } from './errors.js';
import type { DeviceFeatures, FeatureName } from './features.js';
import { inThisThread, type Link } from './link.js';
import { type AbilityName, PLACEMENTS, type PlacementName } from './placement.js';
import { Peer } from './rig/peer.js';
import { LIMIT_MS } from './wait.js';

/** What the suite needs of a test runner: vitest's functions fit, and so do node:test's. */
export interface TestRunner {
  describe(name: string, body: () => void): unknown;
  it: ((name: string, options: { timeout: number }, body: () => Promise<void>) => unknown) & {
    skip(name: string, body: () => void): unknown;
  };
  beforeAll(body: () => Promise<void>): unknown;
  afterAll(body: () => Promise<void>): unknown;
  afterEach(body: () => Promise<void>): unknown;
}

/** What the author of a device says about it. */
export interface ComplianceSpec {
  /** Name of the device in test titles. */
  readonly name: string;
  readonly features: DeviceFeatures;
  /** Where the second peer runs. */
  readonly placement: PlacementName;
  /** How both peers open their device, or each. Must be structured-cloneable. */
  readonly device: DeviceSource | { readonly a: DeviceSource; readonly b: DeviceSource };
  /** Chapters to run (default: all). */
  readonly chapters?: readonly ChapterName[];
  /** Longest time from a peer's death to RETRY_EXCEEDED, in milliseconds (default 2000). */
  readonly peerDeathLimitMs?: number;
}

/** Conditions of one test. */
export interface TestOptions {
  readonly needs?: readonly (FeatureName | AbilityName)[];
  /** An environment variable that must be 1. */
  readonly variable?: string;
  /** Run it twice, each peer being the first one once. */
  readonly bothWays?: boolean;
  readonly timeoutMs?: number;
}

/** What a chapter writes its tests with. */
export interface SuiteContext {
  readonly spec: ComplianceSpec;
  readonly peerDeathLimitMs: number;
  test(title: string, options: TestOptions, body: (a: Peer, b: Peer) => Promise<void>): void;
  /** One more peer where the second one runs; stopped after the test. */
  startPeer(): Promise<Peer>;
  /** How the second peer opens its device. */
  readonly sourceOfB: DeviceSource;
}

const SPEC_FIELDS = ['name', 'features', 'placement', 'device', 'chapters', 'peerDeathLimitMs'];
const TEST_TIMEOUT_MS = 2 * LIMIT_MS;

/**
 * Defines the tests every device must pass, for one device and one placement of its two peers.
 * @throws ComplianceError ERR_RDMC_COMPLIANCE_SPEC
 */
export function defineComplianceSuite(spec: ComplianceSpec, runner: TestRunner): void {
  checkSpec(spec);
  const placement = PLACEMENTS[spec.placement];
  const sources = 'a' in spec.device ? spec.device : { a: spec.device, b: spec.device };
  const rig = new Rig(placement.start, sources);
  const context: SuiteContext = {
    spec,
    peerDeathLimitMs: spec.peerDeathLimitMs ?? 2_000,
    sourceOfB: sources.b,
    startPeer: () => rig.startPeer(),
    test(title, options, body) {
      const missing = missingFor(spec, options);
      if (missing) {
        runner.it.skip(`${title} [skipped: ${missing}]`, () => undefined);
        return;
      }
      const timeout = options.timeoutMs ?? TEST_TIMEOUT_MS;
      runner.it(options.bothWays ? `${title}, A to B` : title, { timeout }, () => body(rig.a, rig.b));
      if (options.bothWays) runner.it(`${title}, B to A`, { timeout }, () => body(rig.b, rig.a));
    },
  };
  runner.describe(`${spec.name}, ${placement.title}`, () => {
    runner.beforeAll(() => rig.open());
    runner.afterEach(() => rig.reset());
    runner.afterAll(() => rig.close());
    for (const name of spec.chapters ?? (Object.keys(CHAPTERS) as ChapterName[])) {
      runner.describe(name, () => CHAPTERS[name](context));
    }
  });
}

function missingFor(spec: ComplianceSpec, options: TestOptions): string | undefined {
  const placement = PLACEMENTS[spec.placement];
  for (const need of options.needs ?? []) {
    if (need in placement.abilities) {
      if (!placement.abilities[need as AbilityName]) return `${placement.title} have no ${need}`;
    } else if (!spec.features[need as FeatureName]) return `${spec.name} has no ${need}`;
  }
  const { variable } = options;
  return variable && process.env[variable] !== '1' ? `set ${variable}=1 to run it` : undefined;
}

function checkSpec(spec: ComplianceSpec): void {
  const fail = (message: string): never => {
    throw new ComplianceError('ERR_RDMC_COMPLIANCE_SPEC', `defineComplianceSuite: ${message}`);
  };
  for (const field of Object.keys(spec)) {
    if (!SPEC_FIELDS.includes(field)) fail(`unknown field '${field}'; known are ${SPEC_FIELDS.join(', ')}`);
  }
  if (!(spec.placement in PLACEMENTS)) {
    fail(`placement must be ${Object.keys(PLACEMENTS).join(', ')}, not '${spec.placement}'`);
  }
  for (const chapter of spec.chapters ?? []) {
    if (!(chapter in CHAPTERS))
      fail(`no chapter '${chapter}'; there are ${Object.keys(CHAPTERS).join(', ')}`);
  }
}

/** The peers of one suite, kept open from test to test. */
class Rig {
  #a: Peer | undefined;
  #b: Peer | undefined;
  #extra: Peer[] = [];

  constructor(
    private readonly start: () => Promise<Link>,
    private readonly sources: { readonly a: DeviceSource; readonly b: DeviceSource },
  ) {}

  get a(): Peer {
    assert.ok(this.#a, 'peer A could not be opened');
    return this.#a;
  }
  get b(): Peer {
    assert.ok(this.#b, 'peer B could not be opened');
    return this.#b;
  }

  async open(): Promise<void> {
    this.#a = await Peer.open('A', await inThisThread(), this.sources.a);
    this.#b = await Peer.open('B', await this.start(), this.sources.b);
  }

  async startPeer(): Promise<Peer> {
    const peer = await Peer.open('C', await this.start(), this.sources.b);
    this.#extra.push(peer);
    return peer;
  }

  async reset(): Promise<void> {
    const extra = this.#extra.splice(0);
    await Promise.all(extra.map((peer) => peer.link.stop()));
    await Promise.all([this.#a?.reset(), this.#b?.reset()]);
  }

  async close(): Promise<void> {
    await this.#a?.link.stop();
    await this.#b?.link.stop();
  }
}
