import { urlPattern } from '../../../nfc/ntag424/template/file.ts'
import { type ShortForm, shortFormOf } from '../../../nfc/ntag424/template/parse.ts'
import { isKeySetSource, parsePlan, sourcesOf } from '../../../nfc/provision/plan.ts'
import { canSetUpChips } from '../../../values/diversifications.ts'
import { type Actor, recordChange } from '../../store/audit/audit.ts'
import {
  allKeySets,
  chipsByKeySet,
  deleteKeySet,
  findKeySet,
  insertKeySet,
  isKeySetUsed,
} from '../../store/chips/key-sets.ts'
import type { SecretBox } from '../../store/data-dir/secret-box.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import { chipsStillUsing, openNfcPlans } from '../../store/nfc/nfc-plans.ts'
import type { KeySetRow } from '../../store/schema/schema.ts'
import { DomainError, invalid, notFound } from '../errors/errors.ts'
import { type Clock, iso } from '../time/time.ts'
import { type KeyRing, keyContext, templateOf } from './key-ring.ts'
import { shortFormColumns, type TemplateFields, templateIn, warningsAbout } from './key-set-template.ts'

/** Keys are hex and are never returned in a response. */
export interface NewKeySet extends TemplateFields {
  id: number
  metaReadKey: string
  fileReadKey?: string | null | undefined
  appMasterKey?: string | null | undefined
  diversification: KeySetRow['diversification']
  systemIdentifier?: string | null | undefined
  /** The mode in which it sets chips up. Default: aes. */
  mode?: 'aes' | 'lrp' | null | undefined
}

export interface KeySetView {
  id: number
  diversification: KeySetRow['diversification']
  systemIdentifier: string
  template: string
  tamper: string | null
  mode: 'aes' | 'lrp'
  /** null where the template says more than the short form can. */
  macInputFrom: KeySetRow['macInputFrom']
  parameters: ShortForm['parameters'] | null
  canProvision: boolean
  /** What its chips show. */
  url: string
  chips: number
  createdAt: string
}

interface Deps {
  db: Db
  clock: Clock
  box: SecretBox
  keyRing: KeyRing
  baseUrl: string
}

/** Key sets are the daemon's. A caller for one team needs them to set up chips, and sees how many of its own they have. */
export async function listKeySets(
  { db, baseUrl }: { db: Pick<Db, 'read' | 'slow'>; baseUrl: string },
  { ofTeam }: Pick<Actor, 'ofTeam'>,
): Promise<KeySetView[]> {
  const chips = await chipsByKeySet(db.slow, ofTeam)
  return (await allKeySets(db.read)).map((row) => toView(row, chips.get(row.id) ?? 0, baseUrl))
}

/** Callers must reload the key ring after the transaction. @throws DomainError invalid_input, already_exists */
export async function createKeySetIn(
  trx: Queries,
  box: SecretBox,
  fields: NewKeySet,
  at: string,
): Promise<KeySetRow> {
  const { id, diversification } = fields
  assertFits(fields)
  const template = templateIn(fields)
  if (await findKeySet(trx, id)) {
    throw new DomainError(
      'already_exists',
      `The key set ${id} already exists, and key sets cannot be changed. Choose another ID.`,
    )
  }
  const seal = (hex: string | null | undefined, key: Parameters<typeof keyContext>[1]) =>
    hex == null ? null : box.seal(Buffer.from(hex, 'hex'), keyContext(id, key))
  return insertKeySet(trx, {
    id,
    metaReadKey: box.seal(Buffer.from(fields.metaReadKey, 'hex'), keyContext(id, 'metaRead')),
    fileReadKey: seal(fields.fileReadKey, 'fileRead'),
    appMasterKey: seal(fields.appMasterKey, 'appMaster'),
    diversification,
    systemIdentifier: (fields.systemIdentifier ?? '').toLowerCase(),
    template: template.text,
    tamperAt: template.tamperAt ?? null,
    mode: fields.mode ?? null,
    ...shortFormColumns(template),
    createdAt: at,
  })
}

/** @throws DomainError invalid_input, already_exists */
export async function createKeySet(
  { db, clock, box, keyRing, baseUrl }: Deps,
  actor: Actor,
  fields: NewKeySet,
): Promise<KeySetView & { warnings: string[] }> {
  const at = iso(clock.now())
  const row = await db.write(async (trx) => {
    const inserted = await createKeySetIn(trx, box, fields, at)
    const { chips: _, createdAt: __, url: ___, ...detail } = toView(inserted, 0, baseUrl)
    const target = String(inserted.id)
    await recordChange(trx, { at, actor, teamId: null, action: 'key-sets.create', target, detail })
    return inserted
  })
  await keyRing.load(db.read)
  const alike = keyRing.shapes().find(({ sets }) => sets.has(row.id))?.sets.size ?? 0
  return { ...toView(row, 0, baseUrl), warnings: warningsAbout(fields, alike) }
}

/** @throws DomainError not_found, in_use */
export async function removeKeySet(
  { db, clock, keyRing }: Omit<Deps, 'box' | 'baseUrl'>,
  actor: Actor,
  id: number,
): Promise<void> {
  const at = iso(clock.now())
  await db.write(async (trx) => {
    if (!(await findKeySet(trx, id))) throw notFound('key set')
    if (await isKeySetUsed(trx, id)) {
      throw new DomainError(
        'in_use',
        `Chips use the key set ${id} and cannot be verified without it. List them: tapchip chips list --where keySet=${id}`,
      )
    }
    if (await isKeySetPlanned(trx, id)) {
      throw new DomainError(
        'in_use',
        `A chip whose setup was not finished may have keys of the key set ${id} and would be unusable without it. Finish the setup first: tapchip nfc recover, or tapchip nfc reset. If the chip is lost: tapchip nfc recover --give-up UID`,
      )
    }
    const stillUsing = await chipsStillUsing(trx, id, leftNamed)
    if (stillUsing.count > 0) {
      const more = stillUsing.count > stillUsing.uids.length ? ', …' : ''
      throw new DomainError(
        'in_use',
        `${stillUsing.count === 1 ? 'A chip that is' : `${stillUsing.count} chips that are`} no longer registered still ${stillUsing.count === 1 ? 'has' : 'have'} keys of the key set ${id} and cannot be set up again without it (${stillUsing.uids.join(', ')}${more}). Reset each chip first: tapchip nfc reset. If a chip is lost or broken: tapchip nfc recover --give-up UID`,
      )
    }
    await deleteKeySet(trx, id)
    await recordChange(trx, { at, actor, teamId: null, action: 'key-sets.delete', target: String(id) })
  })
  await keyRing.load(db.read)
}

const leftNamed = 5
const aesKey = /^[0-9a-fA-F]{32}$/

function assertFits(fields: NewKeySet): void {
  for (const key of ['metaReadKey', 'fileReadKey', 'appMasterKey'] as const) {
    const value = fields[key]
    if (value != null && !aesKey.test(value)) throw invalid(key, 'must be an AES-128 key: 32 hex digits')
  }
  if (fields.fileReadKey == null && fields.diversification !== 'listed') {
    throw invalid('fileReadKey', `is required with the diversification ${fields.diversification}`)
  }
  if (fields.diversification === 'boltcard' && ![0, 8].includes(fields.systemIdentifier?.length ?? 0)) {
    throw invalid(
      'systemIdentifier',
      'must be the version of the bolt cards in four bytes, the lowest first, such as 01000000; empty: 0',
    )
  }
}

function toView(row: KeySetRow, chips: number, baseUrl: string): KeySetView {
  const template = templateOf(row)
  const short = shortFormOf(template)
  return {
    id: row.id,
    diversification: row.diversification,
    systemIdentifier: row.systemIdentifier,
    template: template.text,
    tamper: template.tamperAt ?? null,
    mode: row.mode ?? 'aes',
    macInputFrom: short?.macInputFrom ?? null,
    parameters: short?.parameters ?? null,
    canProvision: row.appMasterKey !== null && row.fileReadKey !== null && canSetUpChips(row.diversification),
    url: urlPattern({ template, baseUrl, keySet: row.id }),
    chips,
    createdAt: row.createdAt,
  }
}

/** True if a chip with an unfinished plan may have keys of this key set. */
async function isKeySetPlanned(trx: Queries, keySet: number): Promise<boolean> {
  const plans = await openNfcPlans(trx)
  return plans.some(({ plan }) =>
    sourcesOf(parsePlan(JSON.parse(plan))).some(
      (source) => isKeySetSource(source) && source.keySet === keySet,
    ),
  )
}
