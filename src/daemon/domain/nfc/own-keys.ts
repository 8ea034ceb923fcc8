import { type KeySource, type Plan, sameSource } from '../../../nfc/provision/plan.ts'
import type { Queries } from '../../store/database.ts'
import { hasPower } from '../chips/chip-power.ts'
import { DomainError } from '../errors.ts'
import type { KnownChip } from './known-chip.ts'

/**
 * Keeps what a registered chip carries from whoever lays a chip of their own down under its UID: a plan for it has to
 * begin with the keys that the registry has of it. Any other keys may be known to whoever brings the chip: the factory's
 * are no secret, and older ones, or those of another key set, may be their own.
 * @param mayBind whether the caller may give power over what chips carry @throws DomainError scope_missing
 */
export async function assertOwnKeys(
  db: Queries,
  { row }: Pick<KnownChip, 'row'>,
  { from, target }: Pick<Plan, 'from' | 'target'>,
  mayBind: boolean,
): Promise<void> {
  if (mayBind || !row || !(await hasPower(db, row))) return
  const { keySetId: keySet, generation } = row
  const isRegistered = (source: KeySource) =>
    source !== 'factory' && keySet !== null && sameSource(source, { keySet, generation })
  if ((from.length > 0 ? from : [target]).every(isRegistered)) return
  throw new DomainError(
    'scope_missing',
    `The chip ${row.uid} is registered with something that it carries, and the one on the reader has not the keys that it is registered with: whoever sets it up could be given what another chip stands for. It takes an admin token of the scopes provision and transfer. Or take off what it carries (tapchip chips unlink), set it up, and link it again.`,
  )
}
