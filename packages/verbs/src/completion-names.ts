import { CompletionOpcode, type CompletionOpcodeName, Status, type StatusName } from './constants.js';

function invert<Name extends string>(table: Readonly<Record<Name, number>>): Map<number, Name> {
  return new Map(Object.entries(table).map(([name, value]) => [value as number, name as Name]));
}
const STATUS_NAMES = invert<StatusName>(Status);
const OPCODE_NAMES = invert<CompletionOpcodeName>(CompletionOpcode);

/** The name of a numeric completion status. */
export function statusName(status: number): StatusName {
  return STATUS_NAMES.get(status) ?? 'GENERAL_ERROR';
}

/** The name of a numeric operation of a completion. */
export function completionOpcodeName(opcode: number): CompletionOpcodeName {
  return OPCODE_NAMES.get(opcode) ?? 'SEND';
}
