import type { TeamRow } from '../domain/access/teams.ts'
import { type ContractRow, createContractIn, type NewContract } from '../domain/contracts/contracts.ts'
import { DomainError } from '../domain/errors/errors.ts'
import type { Context } from '../process/context.ts'

export interface SeedContext {
  trx: Parameters<Parameters<Context['db']['write']>[0]>[0]
  ctx: Context
  /** ISO 8601 */
  at: string
}

export interface TeamSeedContext extends SeedContext {
  team: TeamRow
  /** All of the team's contracts so far, by symbol. */
  contracts: Map<string, ContractRow>
}

/** A seed file that cannot be loaded; the message names the path. */
export class SeedProblem extends Error {
  override readonly name = 'SeedProblem'
}

/** Adds the path in the seed to an error. */
export async function at<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof DomainError) throw new SeedProblem(`The seed is invalid: ${path}: ${error.message}`)
    throw error
  }
}

/** Creates the contract if it is missing. */
export async function ensureContract(
  { trx, team, contracts, at: now }: TeamSeedContext,
  fields: NewContract,
  path: string,
): Promise<ContractRow> {
  const known = contracts.get(fields.symbol)
  if (known) return known
  const made = await at(path, () => createContractIn(trx, team, fields, now))
  contracts.set(made.symbol, made)
  return made
}
