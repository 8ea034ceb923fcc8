/** A seed file that cannot be loaded, with the path of what is wrong in it. */
export class SeedProblem extends Error {
  override readonly name = 'SeedProblem'
}
