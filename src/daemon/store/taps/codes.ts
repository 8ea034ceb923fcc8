import { hash, hkdfSync } from 'node:crypto'
import { holdChip } from '../chips/chip-records.ts'
import { SecretBox } from '../data-dir/secret-box.ts'
import type { Queries } from '../database/database.ts'
import { affected, exists, statement } from '../database/statement.ts'
import type { SpentCodeRow } from '../schema/schema.ts'

/** The subject of a code. */
export type CodeSubject =
  /** `tokenRow` null: the token that is minted for the chip. `round`: see ChipsTable.claimRound. */
  | { type: 'PHYGITAL_CLAIM'; tokenRow: number | null; round: number }
  | { type: 'POAP_EVENT'; badgeEventId: number; assignmentId: number }
  | { type: 'GUESTBOOK_EVENT'; guestbookEventId: number }

/** The codes that a tap made at once. Their ordinals follow those of the codes made before. */
export interface MadeCodes {
  /**
   * `find`: by the tap itself. `page`: by its own ref, on its page. `kept`: for a reservation; nobody is given these.
   * Otherwise the ordinal of the ref that was queried.
   */
  by: 'find' | 'page' | 'kept' | number
  /** ISO 8601 */
  until: string
  subjects: readonly CodeSubject[]
}

/** A key of the subject; using one code of a tap ends the others with the same key. */
export function subjectKey(subject: CodeSubject): string {
  switch (subject.type) {
    case 'PHYGITAL_CLAIM':
      return subject.tokenRow === null ? 'mint' : `token ${subject.tokenRow}`
    case 'POAP_EVENT':
      return `badge ${subject.badgeEventId}`
    case 'GUESTBOOK_EVENT':
      return `guestbook ${subject.guestbookEventId}`
  }
}

function stored(subject: CodeSubject): [kind: 'c' | 'b' | 'g', id: number | null, bound: number] {
  switch (subject.type) {
    case 'PHYGITAL_CLAIM':
      return ['c', subject.tokenRow, subject.round]
    case 'POAP_EVENT':
      return ['b', subject.badgeEventId, subject.assignmentId]
    case 'GUESTBOOK_EVENT':
      return ['g', subject.guestbookEventId, 0]
  }
}

function subjectOf([kind, id, bound]: ReturnType<typeof stored>): CodeSubject {
  if (kind === 'c') return { type: 'PHYGITAL_CLAIM', tokenRow: id, round: bound }
  if (kind === 'b') return { type: 'POAP_EVENT', badgeEventId: Number(id), assignmentId: bound }
  return { type: 'GUESTBOOK_EVENT', guestbookEventId: Number(id) }
}

type StoredCodes = [by: MadeCodes['by'], until: string, ...subjects: ReturnType<typeof stored>[]]

/** The text appended to `taps.codes`: an element of a JSON list with its trailing comma. */
export const storedCodes = ({ by, until, subjects }: MadeCodes): string =>
  `${JSON.stringify([by, until, ...subjects.map(stored)] satisfies StoredCodes)},`

/** In the order in which they were made; `first` is the ordinal of the first. @param codes see TapsTable.codes */
export function madeCodes(codes: string | null): (MadeCodes & { first: number })[] {
  if (codes === null) return []
  const list: StoredCodes[] = JSON.parse(`[${codes.slice(0, -1)}]`)
  let made = 0
  return list.map(([by, until, ...subjects]) => {
    const first = made
    made += subjects.length
    return { by, until, subjects: subjects.map(subjectOf), first }
  })
}

/** The stored form of a code. Codes are long and unguessable, so a plain hash is enough. */
export const hashCode = (code: string): string => hash('sha256', code, 'base64url')

const ofTap = statement<{ tapId: number }>()((db, p) =>
  db.selectFrom('spentCodes').selectAll().where('tapId', '=', p.tapId),
)

/** Codes of a tap that were used or deleted. */
export const spentCodesOf = (db: Queries, tapId: number): Promise<SpentCodeRow[]> => ofTap.all(db, { tapId })

interface CodeUse {
  codeHash: string
  chipUid: string
  tapId: number
  /** See subjectKey. */
  subject: string
  /** How many codes the tap has made. */
  made: number
}

const take = statement<Omit<CodeUse, 'chipUid'> & { now: string }>()((db, p) =>
  db
    .insertInto('spentCodes')
    .values({
      ...{ codeHash: p.codeHash, tapId: p.tapId, subject: p.subject, madeThen: p.made },
      takenAt: p.now,
      usedAt: p.now,
    })
    .onConflict((conflict) =>
      conflict
        .column('codeHash')
        .doUpdateSet({ takenAt: p.now, usedAt: p.now, madeThen: p.made })
        .where('spentCodes.usedAt', 'is', null)
        .where('spentCodes.deletedAt', 'is', null),
    ),
)

/**
 * Uses a code up, which also ends the other codes of its tap for the same subject. Call it in the write that records
 * the use, after checking that the code is valid. @returns false if another caller was first
 */
export async function takeCode(db: Queries, { chipUid, ...code }: CodeUse, now: string): Promise<boolean> {
  // A use may end all codes of its chip; without this lock, two concurrent uses would wait for each other.
  await holdChip(db, chipUid)
  return take.runOnce(db, { ...code, now })
}

const remove = statement<Omit<CodeUse, 'chipUid'> & { now: string }>()((db, p) =>
  db
    .insertInto('spentCodes')
    .values({
      ...{ codeHash: p.codeHash, tapId: p.tapId, subject: p.subject, madeThen: p.made },
      deletedAt: p.now,
    })
    .onConflict((conflict) =>
      conflict.column('codeHash').doUpdateSet({ deletedAt: p.now }).where('spentCodes.deletedAt', 'is', null),
    ),
)
/** @returns false if it was deleted before */
export const deleteCode = (db: Queries, { chipUid: _, ...code }: CodeUse, now: string): Promise<boolean> =>
  remove.runOnce(db, { ...code, now })

const sign = statement<{ codeHash: string; signature: Uint8Array }>()((db, p) =>
  db.updateTable('spentCodes').set({ signature: p.signature }).where('codeHash', '=', p.codeHash),
)

// The database and its backups reveal no signature: only the code decrypts it.
const boxOf = (code: string): SecretBox =>
  new SecretBox(new Uint8Array(hkdfSync('sha256', code, '', 'transfer signature', 32)))

/** Stores the signature for which a code is used up. @param signature any text, for `signatureOf` */
export const keepSignature = (db: Queries, code: string, signature: string): Promise<number> => {
  const codeHash = hashCode(code)
  return sign.run(db, { codeHash, signature: boxOf(code).seal(Buffer.from(signature), codeHash) })
}

/** Undefined if the code was not used for a signature. */
export const signatureOf = (
  { signature, codeHash }: { signature: Uint8Array | null; codeHash: string },
  code: string,
): string | undefined => (signature === null ? undefined : boxOf(code).open(signature, codeHash).toString())

/** Allows a used code to be presented again for the same thing. */
export const makeCodeGood = (db: Queries, codeHash: string) =>
  affected(db.updateTable('spentCodes').set({ usedAt: null }).where('codeHash', '=', codeHash))

/** Reverts makeCodeGood, if it was called. */
export const endCode = (db: Queries, codeHash: string, now: string) =>
  affected(
    db
      .updateTable('spentCodes')
      .set({ usedAt: now })
      .where('codeHash', '=', codeHash)
      .where('usedAt', 'is', null),
  )

/** Reverts takeCode, including the end of other codes. */
export const restoreCode = (db: Queries, codeHash: string) =>
  affected(db.updateTable('spentCodes').set({ takenAt: null, usedAt: null }).where('codeHash', '=', codeHash))

/** True if the code's event is still assigned to its chip. */
export const isAssigned = (db: Queries, assignmentId: number): Promise<boolean> =>
  exists(db.selectFrom('badgeAssignments').select('id').where('id', '=', assignmentId))

/** Deletes used codes of taps that are no longer stored. @returns the number of deleted rows */
export const pruneSpentCodes = (db: Queries, limit: number) =>
  affected(
    db.deleteFrom('spentCodes').where('codeHash', 'in', (of) =>
      of
        .selectFrom('spentCodes')
        .select('codeHash')
        .where('tapId', '<', (taps) => taps.selectFrom('taps').select((e) => e.fn.min('id').as('first')))
        .limit(limit),
    ),
  )
