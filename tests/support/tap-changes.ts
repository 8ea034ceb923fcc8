import type { UpdateObject } from 'kysely'
import type { Queries } from '../../src/daemon/store/database/database.ts'
import type { Database } from '../../src/daemon/store/schema/schema.ts'
import type { TapInsert } from '../../src/daemon/store/taps/tap-insert.ts'
import { uids } from './seeds.ts'

/** The response to a tap, by an app (`valid` or `refused`) or by a browser. */
export interface TapAnswer {
  kind: string
  token?: string | undefined
  badge?: string | undefined
  /** The type of its code. */
  code?: string | undefined
}

type Change = (trx: Queries, tap: TapInsert) => Promise<unknown>

/** A change of a chip of the sample data while one of its taps is being taken. */
export interface TapChange {
  /** One of `tapConditions`. */
  condition: string
  what: string
  hex: string
  isPage?: boolean
  /** The status of a seal. */
  t?: string
  /** Changes what this condition is about, and nothing else. */
  change: Change
  /** The outcome of the tap by the new state. */
  outcome: 'valid' | 'replayed' | 'caught-up' | 'wrong-mac' | 'disabled'
  answer: TapAnswer
}

const at = '2026-06-01T12:00:00.000Z'

const set =
  (values: UpdateObject<Database, 'chips'>): Change =>
  (trx, { seen }) =>
    trx.updateTable('chips').set(values).where('uid', '=', seen.uid).execute()

const idOf = async (trx: Queries, table: 'teams' | 'badgeEvents' | 'guestbookEvents', name: string) =>
  (await trx.selectFrom(table).select('id').where('name', '=', name).executeTakeFirstOrThrow()).id

export const addBadge =
  (to: 'chipUid' | 'tokenRow'): Change =>
  async (trx, { seen }) => {
    const of = { chipUid: null, tokenRow: null, [to]: to === 'chipUid' ? seen.uid : seen.tokenRow }
    const shown = { title: 'Launch', description: '', createdAt: at }
    const badgeEventId = await idOf(trx, 'badgeEvents', 'Launch')
    await trx
      .insertInto('badgeAssignments')
      .values({ badgeEventId, ...of, ...shown })
      .execute()
  }

const refused: TapAnswer = { kind: 'refused' }
const nothing: TapAnswer = { kind: 'valid' }
const ofToken: TapAnswer = { kind: 'valid', token: '1', code: 'PHYGITAL_CLAIM' }
const mint: TapAnswer = { kind: 'valid', code: 'PHYGITAL_CLAIM' }
const guestbook: TapAnswer = { kind: 'valid', code: 'GUESTBOOK_EVENT' }
const badge: TapAnswer = { kind: 'valid', badge: 'Launch', code: 'POAP_EVENT' }

export const tapChanges: readonly TapChange[] = [
  {
    ...{ condition: 'counter', what: 'a later tap was taken', hex: uids.blank },
    ...{ outcome: 'replayed', answer: refused },
    change: (trx, of) => set({ lastCounter: of.tap.counter })(trx, of),
  },
  {
    ...{ condition: 'disabled', what: 'the chip was switched off', hex: uids.blank },
    ...{ change: set({ disabledAt: at }), outcome: 'disabled', answer: refused },
  },
  {
    ...{ condition: 'disabled', what: 'the chip was switched off', hex: uids.blank, isPage: true },
    ...{ change: set({ disabledAt: at }), outcome: 'disabled', answer: { kind: 'disabled' } },
  },
  {
    ...{ condition: 'catchingUp', what: 'a backup was restored', hex: uids.blank },
    ...{ change: set({ catchesUp: 1 }), outcome: 'caught-up', answer: refused },
  },
  {
    ...{ condition: 'catchingUp', what: 'a backup was restored', hex: uids.blank, isPage: true },
    ...{ change: set({ catchesUp: 1 }), outcome: 'caught-up', answer: { kind: 'caught-up' } },
  },
  {
    ...{ condition: 'team', what: 'the chip came to another team', hex: uids.blank },
    ...{ outcome: 'valid', answer: nothing },
    change: async (trx, of) => set({ teamId: await idOf(trx, 'teams', 'Other') })(trx, of),
  },
  {
    ...{ condition: 'keySet', what: 'the chip got another key set', hex: uids.blank },
    ...{ change: set({ keySetId: 102 }), outcome: 'wrong-mac', answer: refused },
  },
  {
    ...{ condition: 'generation', what: 'the chip got new keys', hex: uids.blank },
    ...{ change: set({ generation: 1 }), outcome: 'wrong-mac', answer: refused },
  },
  {
    ...{ condition: 'token', what: 'the chip got a token', hex: uids.blank },
    ...{ outcome: 'valid', answer: ofToken },
    change: async (trx, of) => {
      const { id } = await trx.selectFrom('tokens').select('id').executeTakeFirstOrThrow()
      await set({ tokenRow: id })(trx, of)
    },
  },
  {
    ...{ condition: 'token', what: 'the chip lost its token', hex: uids.twin },
    ...{ change: set({ tokenRow: null }), outcome: 'valid', answer: nothing },
  },
  {
    ...{ condition: 'item', what: 'the chip got an item', hex: uids.blank },
    ...{ change: set({ itemId: 'jacket' }), outcome: 'valid', answer: mint },
  },
  {
    ...{ condition: 'item', what: 'the chip lost its item', hex: uids.unminted },
    ...{ change: set({ itemId: null }), outcome: 'valid', answer: nothing },
  },
  {
    ...{ condition: 'redirect', what: 'the chip redirects', hex: uids.blank, isPage: true },
    ...{ change: set({ redirectUrl: 'https://acme.example/' }) },
    ...{ outcome: 'valid', answer: { kind: 'redirect' } },
  },
  {
    ...{ condition: 'redirect', what: 'the chip redirects no more', hex: uids.jacket, isPage: true },
    ...{ change: set({ redirectUrl: null }), outcome: 'valid', answer: { kind: 'page' } },
  },
  {
    // Otherwise it would be told twice that the seal was opened.
    ...{ condition: 'seal', what: 'another tap told that it is open', hex: uids.blank, t: 'OO' },
    ...{ change: set({ tamper: 'open', openedAt: at }), outcome: 'valid', answer: nothing },
  },
  {
    // The code would be of a round that is over.
    ...{ condition: 'claims', what: 'its token was transferred', hex: uids.twin },
    ...{ change: set({ claimRound: 1, claimsEndedAt: at }), outcome: 'valid', answer: ofToken },
  },
  {
    // tests/daemon/halo-forms.test.ts has the chips that it decides about.
    ...{ condition: 'haloForm', what: 'a first tap decided its form', hex: uids.blank },
    ...{ change: set({ haloForm: 'cmd' }), outcome: 'valid', answer: nothing },
  },
  {
    ...{ condition: 'events', what: 'the chip got a badge', hex: uids.blank },
    ...{ change: addBadge('chipUid'), outcome: 'valid', answer: badge },
  },
  {
    ...{ condition: 'events', what: 'the chip lost its badges', hex: uids.events },
    ...{ outcome: 'valid', answer: guestbook },
    change: (trx) => trx.deleteFrom('badgeAssignments').execute(),
  },
  {
    ...{ condition: 'events', what: 'its token got a badge', hex: uids.twin },
    ...{ change: addBadge('tokenRow'), outcome: 'valid', answer: { ...ofToken, badge: 'Launch' } },
  },
  {
    ...{ condition: 'events', what: 'the chip got a guestbook', hex: uids.blank },
    ...{ outcome: 'valid', answer: guestbook },
    change: async (trx, { seen }) => {
      const guestbookEventId = await idOf(trx, 'guestbookEvents', 'Opening')
      const assigned = { guestbookEventId, chipUid: seen.uid, createdAt: at }
      await trx.insertInto('guestbookAssignments').values(assigned).execute()
    },
  },
  {
    ...{ condition: 'events', what: 'the chip lost its guestbook', hex: uids.events },
    ...{ outcome: 'valid', answer: badge },
    change: (trx) => trx.deleteFrom('guestbookAssignments').execute(),
  },
]
