#!/usr/bin/env node
import { createProgram } from './program.js';

try {
  await createProgram((line) => process.stdout.write(`${line}\n`)).parseAsync();
} catch (error) {
  const { code, message } = error as { code?: string; message: string };
  process.stderr.write(`error ${code ?? ''}: ${message}\n`);
  process.exitCode = 1;
}
