import type { Violation } from '../checker/check.js';
import * as faults from './faults.js';
import type { Scenario } from './plan.js';
import * as restarts from './restarts.js';
import type { Run } from './run.js';

export const DEEDS: Record<Scenario, (run: Run) => Promise<Violation[]>> = {
  primary: faults.primary,
  'primary-and-backups': faults.primaryAndBackups,
  'backups-then-primary': faults.backupsThenPrimary,
  'stopped-primary': faults.stoppedPrimary,
  'torn-write': faults.tornWrite,
  'damaged-buffer': faults.damagedBuffer,
  'damaged-file': faults.damagedFile,
  'power-failure': restarts.powerFailure,
  coordinator: restarts.coordinator,
  'too-much': restarts.tooMuch,
  'stale-backup': restarts.staleBackup,
  'full-disk': faults.fullDisk,
  'cut-links': faults.cutLinks,
  'cut-backup': faults.cutBackup,
};
