/** What checks and types a value of unknown origin: the part of zod's schemas that programs use. */
export interface Schema<Value> {
  /** @throws an Error that lists what is wrong. */
  parse(value: unknown): Value;
  /** As `parse`, but returns the error instead of throwing it. */
  safeParse(
    value: unknown,
  ): { success: true; data: Value; error?: undefined } | { success: false; data?: undefined; error: Error };
}
