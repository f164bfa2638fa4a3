/** A word that a POSIX shell reads as exactly this text. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
