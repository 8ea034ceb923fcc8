import { harmfulScheme } from '../../../values/token-metadata.ts'
import { type Actor, recordChange } from '../../store/audit/audit.ts'
import {
  boundVariants,
  deleteItem,
  findItem,
  insertItem,
  isItemBound,
  updateItem,
} from '../../store/chips/items.ts'
import { findContractOfSymbol } from '../../store/contracts/contracts.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import type { ItemRow } from '../../store/schema/schema.ts'
import type { Credential } from '../access/credentials.ts'
import { assertMayTransfer, type Grantor } from '../access/grants.ts'
import { assertTeamIn } from '../access/teams.ts'
import { DomainError, invalid, notFound } from '../errors/errors.ts'
import { type Clock, iso } from '../time/time.ts'
import { getItem, type ItemView } from './items.ts'

export interface ItemFields {
  name?: string | undefined
  description?: string | undefined
  imageUrl?: string | undefined
  /** Symbol of the contract. */
  contract?: string | null | undefined
  media?: ItemView['media'] | undefined
  attributes?: ItemView['attributes'] | undefined
  variants?: ItemView['variants'] | undefined
}

export type NewItem = ItemFields & { id: string; name: string }

type Deps = { db: Db; clock: Clock }
interface Caller {
  teamId: number
  actor: Actor
}

/** @returns false if the team already has an item with this ID @throws DomainError invalid_input */
export async function ensureItemIn(
  trx: Queries,
  teamId: number,
  item: NewItem,
  at: string,
): Promise<boolean> {
  if (await findItem(trx, teamId, item.id)) return false
  await insertItem(trx, {
    description: '',
    imageUrl: '',
    contractId: null,
    media: '[]',
    attributes: '[]',
    variants: '[]',
    ...(await columnsOf(trx, teamId, item)),
    id: item.id,
    name: item.name,
    teamId,
    createdAt: at,
  })
  return true
}

/** @throws DomainError already_exists, invalid_input */
export async function createItem(deps: Deps, { teamId, actor }: Caller, item: NewItem): Promise<ItemView> {
  const at = iso(deps.clock.now())
  await deps.db.write(async (trx) => {
    await assertTeamIn(trx, teamId)
    if (!(await ensureItemIn(trx, teamId, item, at)))
      throw new DomainError(
        'already_exists',
        `The team already has an item with the ID ${item.id}. Choose another ID.`,
      )
    const detail = { name: item.name, contract: item.contract ?? null }
    await recordChange(trx, { at, actor, teamId, action: 'items.create', target: item.id, detail })
  })
  return getItem(deps, teamId, item.id)
}

/**
 * @param expected current values; others conflict unless the edit is already done @throws DomainError not_found,
 * invalid_input, in_use, conflict, scope_missing
 */
export async function editItem(
  deps: Deps,
  { teamId, actor, holder }: Caller & { holder: Credential },
  id: string,
  fields: ItemFields,
  expected: ItemFields = {},
): Promise<ItemView> {
  const at = iso(deps.clock.now())
  await deps.db.write(async (trx) => {
    const before = await findItem(trx, teamId, id)
    if (!before) throw notFound('item')
    const columns = await columnsOf(trx, teamId, fields)
    if (isOther(before, columns) && isOther(before, await columnsOf(trx, teamId, expected)))
      throw new DomainError('conflict', 'The item was changed in the meantime, so it was not edited.')
    const change = await itemChange(trx, { teamId, holder }, before, fields)
    // A repeated edit, such as in a resumed batch, changes nothing.
    if (isOther(before, change)) await changeItemIn(trx, { teamId, actor }, id, change, at)
  })
  return getItem(deps, teamId, id)
}

export type ItemChange = Columns

/**
 * Returns an existing or new item with these fields applied.
 * @throws DomainError invalid_input, in_use, scope_missing
 */
export async function itemChange(
  db: Queries,
  { teamId, holder }: { teamId: number; holder: Grantor | undefined },
  before: ItemRow | undefined,
  fields: ItemFields,
): Promise<ItemChange> {
  const change = await columnsOf(db, teamId, fields)
  if (!before) return change
  const { id } = before
  const { contractId = null } = change
  // Adding a contract causes tokens to be minted for the chips of the item.
  if (
    holder &&
    contractId !== null &&
    contractId !== before.contractId &&
    (await isItemBound(db, teamId, id))
  )
    assertMayTransfer(holder, 'giving an item that chips are bound to a contract')
  if (fields.variants && isOther(before, change))
    await assertVariantsStay(db, { teamId, id }, fields.variants)
  return change
}

/** A step of a larger write. */
export async function changeItemIn(
  trx: Queries,
  { teamId, actor }: Caller,
  id: string,
  change: ItemChange,
  at: string,
): Promise<void> {
  await updateItem(trx, { teamId, id }, change)
  const members = Object.keys(change).map((column) => (column === 'contractId' ? 'contract' : column))
  await recordChange(trx, { at, actor, teamId, action: 'items.edit', target: id, detail: { members } })
}

/** @throws DomainError not_found, in_use */
export async function removeItem({ db, clock }: Deps, { teamId, actor }: Caller, id: string): Promise<void> {
  const at = iso(clock.now())
  await db.write(async (trx) => {
    if (!(await findItem(trx, teamId, id))) throw notFound('item')
    if (await isItemBound(trx, teamId, id)) {
      throw new DomainError('in_use', `Chips are bound to the item ${id}. Unlink them first.`)
    }
    await deleteItem(trx, teamId, id)
    await recordChange(trx, { at, actor, teamId, action: 'items.delete', target: id })
  })
}

type Columns = Partial<Omit<ItemRow, 'teamId' | 'id' | 'createdAt'>>

const isOther = (item: ItemRow, columns: Columns): boolean =>
  Object.entries(columns).some(([column, value]) => item[column as keyof Columns] !== value)

/** @throws DomainError invalid_input */
async function columnsOf(trx: Queries, teamId: number, fields: ItemFields): Promise<Columns> {
  const { name, description, imageUrl, contract, media, attributes, variants } = fields
  assertHarmless('imageUrl', imageUrl)
  media?.forEach(({ url }, index) => {
    assertHarmless(`media.${index}.url`, url)
  })
  if (variants && new Set(variants.map(({ id }) => id)).size < variants.length) {
    throw invalid('variants', 'must have different ids')
  }
  return {
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
    ...(imageUrl === undefined ? {} : { imageUrl }),
    ...(contract === undefined ? {} : { contractId: await contractIdOf(trx, teamId, contract) }),
    ...(media === undefined ? {} : { media: JSON.stringify(media) }),
    ...(attributes === undefined ? {} : { attributes: JSON.stringify(attributes) }),
    ...(variants === undefined ? {} : { variants: JSON.stringify(variants) }),
  }
}

async function contractIdOf(trx: Queries, teamId: number, symbol: string | null): Promise<number | null> {
  if (symbol === null || symbol === '') return null
  const contract = await findContractOfSymbol(trx, teamId, symbol)
  if (!contract)
    throw invalid('contract', `must be the symbol of a contract of the team, and ${symbol} is not`)
  if (contract.kind !== 'phygital')
    throw invalid('contract', `must be a phygital contract, and ${symbol} is a guestbook contract`)
  return contract.id
}

function assertHarmless(field: string, url: string | undefined): void {
  const scheme = harmfulScheme(url ?? '')
  if (scheme !== undefined) throw invalid(field, `must not use the scheme ${scheme}:`)
}

async function assertVariantsStay(
  trx: Queries,
  { teamId, id }: { teamId: number; id: string },
  variants: ItemView['variants'],
): Promise<void> {
  const bound = await boundVariants(trx, teamId, id)
  const missing = bound.filter((variant) => !variants.some((other) => other.id === variant))
  if (missing.length === 0) return
  throw new DomainError(
    'in_use',
    `Chips are bound to variants that the edit would remove: ${missing.join(', ')}. Keep them, or unlink the chips first.`,
  )
}
