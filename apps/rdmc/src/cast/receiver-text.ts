/** A message about a receiver, for a line that begins with the name of the receiver: without the name at its beginning. */
export function withoutName(message: string, name: string): string {
  if (!message.startsWith(name)) return message;
  const rest = message.slice(name.length);
  // Not the beginning of another name, as node1:74 of node1:7411.
  return /^:? /.test(rest) ? rest.replace(/^:? /, '') : message;
}
