import type { DeviceSource } from './agent/device-calls.js';
import type { ChapterName } from './chapters/names.js';
import type { DeviceFeatures, FeatureName } from './features.js';
import type { AbilityName, PlacementName } from './placement.js';
import type { Peer } from './rig/peer.js';

/** The suite's interface of a test runner: the functions of vitest and of node:test implement it. */
export interface TestRunner {
  /** Groups tests. */
  describe(name: string, body: () => void): unknown;
  /** Defines a test with a limit of time in milliseconds; `skip` defines a skipped one. */
  it: ((name: string, options: { timeout: number }, body: () => Promise<void>) => unknown) & {
    skip(name: string, body: () => void): unknown;
  };
  /** Runs before the tests of a group. */
  beforeAll(body: () => Promise<void>): unknown;
  /** Runs after the tests of a group. */
  afterAll(body: () => Promise<void>): unknown;
  /** Runs after each test of a group. */
  afterEach(body: () => Promise<void>): unknown;
}

/** The author's description of a device. */
export interface ComplianceSpec {
  /** Name of the device in test titles. */
  readonly name: string;
  /** What the device has; tests of a missing feature are skipped by name. */
  readonly features: DeviceFeatures;
  /** Where the second peer runs. */
  readonly placement: PlacementName;
  /** How both peers open their device, or each. Must be structured-cloneable. */
  readonly device: DeviceSource | { readonly a: DeviceSource; readonly b: DeviceSource };
  /** Chapters to run (default: all). */
  readonly chapters?: readonly ChapterName[];
  /** Longest time from a peer's death to RETRY_EXCEEDED, in milliseconds (default 2000). */
  readonly peerDeathLimitMs?: number;
  /**
   * A fifth of the rounds of tests that search for rare interleavings, for a suite that runs after each change (default:
   * false). All other tests are the same.
   */
  readonly brief?: boolean;
}

/** Conditions of one test. */
export interface TestOptions {
  readonly needs?: readonly (FeatureName | AbilityName)[];
  /** An environment variable that must be 1. */
  readonly variable?: string;
  /** Run it twice, with each peer as the first one. */
  readonly bothWays?: boolean;
  readonly timeoutMs?: number;
}

/** The interface with which a chapter defines its tests. */
export interface SuiteContext {
  readonly spec: ComplianceSpec;
  readonly peerDeathLimitMs: number;
  /** So many rounds of a search, or the part of a brief suite. */
  rounds(all: number): number;
  test(title: string, options: TestOptions, body: (a: Peer, b: Peer) => Promise<void>): void;
  /** Another peer in the placement of the second one; stopped after the test. */
  startPeer(): Promise<Peer>;
  /** How the second peer opens its device. */
  readonly sourceOfB: DeviceSource;
}
