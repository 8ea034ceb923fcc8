/** A setting that does not fit. The message names it and says what it must be. */
export class ConfigProblem extends Error {
  override readonly name = 'ConfigProblem'
}
