import { type Actor, recordChange } from '../../store/audit/audit.ts'
import { type ChipRecordRow, voidSimulatedTaps } from '../../store/chips/chip-records.ts'
import { updateChip } from '../../store/chips/chips.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import { ensureToken, type TokenLocation } from '../../store/phygitals/tokens.ts'
import type { ChipRow } from '../../store/schema/schema.ts'
import { endClaimCodes } from '../../store/taps/recorded-taps.ts'
import { assertMayTransfer, type Operator } from '../access/grants.ts'
import { DomainError, invalid } from '../errors/errors.ts'
import { type Clock, iso } from '../time/time.ts'
import { Bindings } from './chip-bindings.ts'
import { chipOf, isMinting, type UidReadings } from './chip-record.ts'

type Deps = { db: Db; clock: Clock }
type Links = Partial<Pick<ChipRow, 'tokenRow' | 'itemId' | 'variantId'>>

/** Absent members are not changed. */
export interface ChipLinks {
  token?: TokenLocation | undefined
  item?: string | undefined
  variant?: string | undefined
}

/** @throws DomainError not_found, invalid_input, conflict, scope_missing */
export async function linkChip(
  { db, clock }: Deps,
  { actor, holder }: Operator,
  readings: UidReadings,
  links: ChipLinks,
): Promise<void> {
  const { token, item, variant } = links
  if (variant !== undefined && item === undefined) throw invalid('item', 'is required with variant')
  if (token === undefined && item === undefined) {
    throw new DomainError('invalid_input', 'Specify what to link the chip to: token, item, or both.')
  }
  if (token !== undefined) assertMayTransfer(holder, 'linking a chip to a token')
  const at = iso(clock.now())
  await db.write(async (trx) => {
    const chip = await chipOf(trx, actor, readings)
    if (item !== undefined && (await isMinting(trx, chip.teamId, item)))
      assertMayTransfer(holder, 'linking a chip to an item whose tokens are minted')
    if (chip.replacedBy !== null) {
      throw new DomainError(
        'conflict',
        `The chip was replaced by ${chip.replacedBy}. Link that chip instead.`,
      )
    }
    const bindings = new Bindings(trx, { teamId: chip.teamId, mayBind: true })
    const change: Links = {
      ...(token === undefined ? {} : { tokenRow: await tokenRow(trx, bindings, token, at) }),
      ...(item === undefined ? {} : await itemColumns(bindings, item, variant)),
    }
    const to: Partial<Bound> = {
      ...token,
      ...(item === undefined ? {} : { item, variant: variant ?? null }),
    }
    const detail = { ...links, changes: changesTo(chip, to) }
    await apply(trx, { chip, change, at, actor, action: 'chips.link', detail })
  })
}

/** Removes both if neither member is given. @throws DomainError not_found, scope_missing */
export async function unlinkChip(
  { db, clock }: Deps,
  { actor, holder }: Operator,
  readings: UidReadings,
  what: { token?: boolean | undefined; item?: boolean | undefined },
): Promise<void> {
  const both = what.token === undefined && what.item === undefined
  const change: Links = {
    ...(both || what.token ? { tokenRow: null } : {}),
    ...(both || what.item ? { itemId: null, variantId: null } : {}),
  }
  const at = iso(clock.now())
  await db.write(async (trx) => {
    const chip = await chipOf(trx, actor, readings)
    // A chip that keeps only its item would get a new token minted.
    const isLeftItem = change.tokenRow === null && !('itemId' in change) && chip.itemId !== null
    if (isLeftItem && chip.tokenRow !== null && (await isMinting(trx, chip.teamId, chip.itemId ?? '')))
      assertMayTransfer(holder, 'removing the token from a chip that keeps an item whose tokens are minted')
    const {
      linkedAddress: contractAddress,
      linkedChainId: chainId,
      linkedTokenId: tokenId,
      itemId: item,
    } = chip
    const detail = {
      ...('tokenRow' in change && contractAddress !== null
        ? { token: { contractAddress, chainId, tokenId } }
        : {}),
      ...('itemId' in change && item !== null ? { item, variant: chip.variantId } : {}),
      changes: changesTo(chip, {
        ...('tokenRow' in change ? { contractAddress: null, chainId: null, tokenId: null } : {}),
        ...('itemId' in change ? { item: null, variant: null } : {}),
      }),
    }
    await apply(trx, { chip, change, at, actor, action: 'chips.unlink', detail })
  })
}

async function tokenRow(trx: Queries, bindings: Bindings, token: TokenLocation, at: string): Promise<number> {
  const contractId = await bindings.contractOf(token)
  if (typeof contractId !== 'number') throw new DomainError('not_found', `token.${contractId.reason}.`)
  return ensureToken(trx, { contractId, tokenId: token.tokenId, createdAt: at })
}

async function itemColumns(bindings: Bindings, item: string, variant: string | undefined): Promise<Links> {
  const refusal = await bindings.refuseItem(item, variant)
  if (refusal) throw new DomainError('not_found', `${refusal.reason}.`)
  return { itemId: item, variantId: variant ?? null }
}

type Bound = Record<'contractAddress' | 'chainId' | 'tokenId' | 'item' | 'variant', string | number | null>

function changesTo(chip: ChipRecordRow, to: Partial<Bound>) {
  const from: Bound = {
    contractAddress: chip.linkedAddress,
    chainId: chip.linkedChainId,
    tokenId: chip.linkedTokenId,
    item: chip.itemId,
    variant: chip.variantId,
  }
  return Object.fromEntries(
    Object.entries(from).flatMap(([column, before]) => {
      const after = Object.entries(to).find(([name]) => name === column)?.[1]
      return after === undefined || after === before ? [] : [[column, { from: before, to: after }]]
    }),
  )
}

interface LinkChange {
  chip: ChipRecordRow
  change: Links
  at: string
  actor: Actor
  action: string
  detail: Record<string, unknown>
}

async function apply(trx: Queries, { chip, change, at, actor, action, detail }: LinkChange): Promise<void> {
  const { uid, teamId } = chip
  const { tokenRow = chip.tokenRow, itemId = chip.itemId, variantId = chip.variantId } = change
  const isOther = tokenRow !== chip.tokenRow || itemId !== chip.itemId
  if (!isOther && variantId === chip.variantId) return
  await updateChip(trx, uid, change)
  // Unused codes were issued for the previous token or item.
  if (isOther) await endClaimCodes(trx, uid, at)
  if (isOther && (tokenRow ?? itemId) !== null) await voidSimulatedTaps(trx, [uid])
  await recordChange(trx, { at, actor, teamId, action, target: uid, detail })
}
