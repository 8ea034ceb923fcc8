import type { Context } from '../context.ts'
import { DomainError } from '../domain/errors.ts'
import type { Queries } from '../store/database.ts'

/** Where a seed's parts are created, and when. */
export interface Seeding {
  trx: Queries
  ctx: Context
  at: string
}

/** A seed file that cannot be loaded, with the path of what is wrong in it. */
export class SeedProblem extends Error {
  override readonly name = 'SeedProblem'
}

/** Says where in the seed a rule was broken. */
export async function at<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof DomainError)
      throw new SeedProblem(`The seed does not fit: ${path}: ${error.message}`)
    throw error
  }
}
