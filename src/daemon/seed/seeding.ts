import type { Context } from '../context.ts'
import type { TeamRow } from '../domain/access/teams.ts'
import { type ContractRow, createContractIn, type NewContract } from '../domain/contracts/contracts.ts'
import { DomainError } from '../domain/errors.ts'

/** Where a seed's parts are created, and when. */
export interface Seeding {
  trx: Parameters<Parameters<Context['db']['write']>[0]>[0]
  ctx: Context
  /** ISO 8601 */
  at: string
}

/** The same for what a team has. */
export interface TeamSeeding extends Seeding {
  team: TeamRow
  /** All that the team has so far, by symbol. */
  contracts: Map<string, ContractRow>
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

/** A team's contract of a symbol, made where it is missing. */
export async function ensureContract(
  { trx, team, contracts, at: now }: TeamSeeding,
  fields: NewContract,
  path: string,
): Promise<ContractRow> {
  const known = contracts.get(fields.symbol)
  if (known) return known
  const made = await at(path, () => createContractIn(trx, team, fields, now))
  contracts.set(made.symbol, made)
  return made
}
