import assert from 'node:assert/strict';
import type { DeviceSource } from './agent/device-calls.js';
import { CHAPTERS } from './chapters/index.js';
import { CHAPTER_NAMES } from './chapters/names.js';
import { ComplianceError } from './errors.js';
import type { FeatureName } from './features.js';
import { inThisThread, type Link } from './link.js';
import { type AbilityName, PLACEMENTS } from './placement.js';
import { Peer } from './rig/peer.js';
import type { ComplianceSpec, SuiteContext, TestOptions, TestRunner } from './suite-context.js';
import { LIMIT_MS } from './wait.js';

const SPEC_FIELDS = ['name', 'features', 'placement', 'device', 'chapters', 'peerDeathLimitMs', 'brief'];
/** A brief suite searches for rare interleavings in one of so many rounds. */
const BRIEF = 5;
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
    rounds: (all) => (spec.brief ? all / BRIEF : all),
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
    for (const name of spec.chapters ?? CHAPTER_NAMES) {
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
    if (!(chapter in CHAPTERS)) fail(`no chapter '${chapter}'; there are ${CHAPTER_NAMES.join(', ')}`);
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
