import type { DeviceSource } from './agent/device-calls.js';
import type { ChapterName } from './chapters/names.js';
import type { DeviceFeatures, FeatureName } from './features.js';
import type { AbilityName, PlacementName } from './placement.js';
import type { Peer } from './rig/peer.js';

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
