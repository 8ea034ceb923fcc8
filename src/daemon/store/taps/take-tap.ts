import { type Expression, type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Queries } from '../database/database.ts'
import { statement } from '../database/statement.ts'
import { insertMessage } from '../webhooks/webhook-deliveries.ts'
import { eventsOfChip } from './events-of-chip.ts'
import type { TapInsert } from './tap-insert.ts'

/** One value each, with their PostgreSQL types. */
export const takenValues = {
  uid: 'text',
  teamId: 'bigint',
  keySetId: 'bigint',
  generation: 'bigint',
  tokenRow: 'bigint',
  redirectUrl: 'text',
  itemId: 'text',
  disabledAt: 'text',
  catchesUp: 'bigint',
  seal: 'text',
  claimRound: 'bigint',
  knownForm: 'text',
  haloForm: 'text',
  events: 'text',
  at: 'text',
  counter: 'bigint',
  outcome: 'text',
  via: 'text',
  tamper: 'text',
  fileData: 'text',
  refsUntil: 'text',
  pageUntil: 'text',
  links: 'text',
  codes: 'text',
} as const

type Value = keyof typeof takenValues
type Values = Record<Value, unknown>
/** Parameters, or columns of a list of values. */
export type ValueRefs = Readonly<Record<Value, unknown>>

// Listed by name, because copying both objects takes a fifth of the write.
export const valuesOf = ({ seen, events, haloForm, tap }: TapInsert): Values => ({
  uid: seen.uid,
  teamId: seen.teamId,
  keySetId: seen.keySetId,
  generation: seen.generation,
  tokenRow: seen.tokenRow,
  redirectUrl: seen.redirectUrl,
  itemId: seen.itemId,
  disabledAt: seen.disabledAt,
  catchesUp: seen.catchesUp,
  seal: seen.tamper,
  claimRound: seen.claimRound,
  knownForm: seen.haloForm,
  haloForm,
  events,
  at: tap.at,
  counter: tap.counter,
  outcome: tap.outcome,
  via: tap.via,
  tamper: tap.tamper,
  fileData: tap.fileData,
  refsUntil: tap.refsUntil,
  pageUntil: tap.pageUntil,
  links: tap.links,
  codes: tap.codes,
})

const isUnchanged = (column: string, value: unknown): RawBuilder<SqlBool> =>
  sql`chips.${sql.ref(column)} is not distinct from ${value}`

/**
 * Everything that a tap depends on, checked by the write itself, so that a tap always fits the chip's state when
 * recorded. (PostgreSQL reads assignments as of the statement's beginning, so a concurrent change counts as later.)
 */
export const tapConditions: Record<string, (p: ValueRefs) => Expression<SqlBool>> = {
  counter: (p) => sql`chips."lastCounter" < ${p.counter}`,
  disabled: (p) => isUnchanged('disabledAt', p.disabledAt),
  catchingUp: (p) => isUnchanged('catchesUp', p.catchesUp),
  team: (p) => isUnchanged('teamId', p.teamId),
  keySet: (p) => isUnchanged('keySetId', p.keySetId),
  generation: (p) => isUnchanged('generation', p.generation),
  token: (p) => isUnchanged('tokenRow', p.tokenRow),
  item: (p) => isUnchanged('itemId', p.itemId),
  redirect: (p) => isUnchanged('redirectUrl', p.redirectUrl),
  seal: (p) => isUnchanged('tamper', p.seal),
  claims: (p) => isUnchanged('claimRound', p.claimRound),
  haloForm: (p) => isUnchanged('haloForm', p.knownForm),
  events: (p) => sql`(${p.events} is null or ${eventsOfChip} = ${p.events})`,
}

/**
 * Records a tap as the next one in its chip's chain, if the chip is unchanged.
 * @param source chips, and how they are locked
 */
export const recordTap = (
  p: ValueRefs,
  source: { from: RawBuilder<unknown>; lock: RawBuilder<unknown> },
) => sql<{
  id: number
}>`
  insert into taps (at, "chipUid", "teamId", "keySetId", counter, outcome, via, tamper, "fileData", previous,
    "refsUntil", "pageUntil", links, codes)
  select ${p.at}, chips.uid, chips."teamId", chips."keySetId", ${p.counter}, ${p.outcome}, ${p.via}, ${p.tamper},
    ${p.fileData}, chips."lastTap", ${p.refsUntil}, ${p.pageUntil}, ${p.links}, ${p.codes}
  from ${source.from} where chips.uid = ${p.uid}
    and ${sql.join(
      Object.values(tapConditions).map((condition) => condition(p)),
      sql` and `,
    )} ${source.lock}`

type RecordedTap = Readonly<
  Record<'id' | 'chipUid' | 'counter' | 'at' | 'outcome' | 'tamper' | 'haloForm', unknown>
>

/**
 * Uses the tap up. An open seal stays open. Only valid taps form the chain, since the oldest of the others are
 * deleted.
 */
export const advanceCounter = (tap: RecordedTap, from: RawBuilder<unknown>) => sql`
  update chips set "lastCounter" = ${tap.counter}, "lastTapAt" = ${tap.at}, "catchesUp" = 0,
    "lastTap" = case when ${tap.outcome} = 'valid' then ${tap.id} else chips."lastTap" end,
    "haloForm" = coalesce(chips."haloForm", ${tap.haloForm}),
    "tagTamper" = case when ${tap.tamper} is null then chips."tagTamper" else 1 end,
    tamper = case when chips."openedAt" is null then coalesce(${tap.tamper}, chips.tamper) else chips.tamper end,
    "openedAt" = case when ${tap.tamper} = 'open' then coalesce(chips."openedAt", ${tap.at}) else chips."openedAt" end
  ${from} where chips.uid = ${tap.chipUid}`

const nothing = sql``

const record = statement<Values>()((db, p) => ({
  compile: () =>
    sql<{ id: number }>`${recordTap(p, { from: sql`chips`, lock: nothing })} returning id`.compile(db),
}))
const raise = statement<{
  id: number
  chipUid: string
  counter: number
  at: string
  outcome: string
  tamper: string | null
  haloForm: string | null
}>()((db, p) => ({ compile: () => advanceCounter(p, nothing).compile(db) }))

/**
 * Part of a write. @returns the ID of the tap; undefined if nothing was written, because it is used up or its chip
 * has changed
 */
export async function takeTapIn(db: Queries, insert: TapInsert): Promise<number | undefined> {
  const recorded = await record.first(db, valuesOf(insert))
  if (!recorded) return undefined
  const { at, counter, outcome, tamper } = insert.tap
  const { seen, haloForm } = insert
  await raise.run(db, { id: recorded.id, chipUid: seen.uid, counter, at, outcome, tamper, haloForm })
  for (const message of insert.messages) await insertMessage(db, message)
  return recorded.id
}
