import type { Command } from 'commander';
import type { Tell } from './run-member.js';
export function addBenchCommand(_program: Command, _tell: Tell): void {}
